from __future__ import annotations

import pytest

from treeanon.errors import SchemaError
from treeanon.schema import ClassSpec, InputSpec, Layout, Schema, parse_path

Declared = tuple[str, str | None] | tuple[str, str | None, str | None]


def schema_of(*classes: Declared, form: str = "ndjson", hidden: tuple[str, ...] = ()) -> Schema:
    specs = []
    for name, path, *under in classes:
        field = parse_path(path, slashed=form == "xml") if path is not None else None
        role = "identifier" if name in hidden else "quasi"
        specs.append(ClassSpec(name, field, under=under[0] if under else None, role=role))
    return Schema(InputSpec(form), tuple(specs), "s.toml")


def parents(layout: Layout) -> dict[str, str]:
    named = [published.name for published in layout.classes]
    return {c.name: named[c.parent] if c.parent >= 0 else "/" for c in layout.classes}


def lies_under(*classes: Declared, form: str = "ndjson") -> dict[str, str]:
    return parents(schema_of(*classes, form=form).layout)


def problems(schema: Schema) -> list[str]:
    with pytest.raises(SchemaError) as caught:
        _ = schema.layout
    return [str(problem).removeprefix("s.toml, ") for problem in caught.value.problems]


def test_classes_of_the_record_lie_under_the_root() -> None:
    assert lies_under(("age", "age"), ("zip", "address.zip")) == {"age": "/", "zip": "/"}


def test_the_first_class_of_a_container_is_its_head() -> None:
    found = lies_under(("date", "visits[].date"), ("ward", "visits[].place.ward"), ("age", "age"))
    assert found == {"date": "/", "ward": "date", "age": "/"}


def test_heads_lie_under_the_head_of_the_enclosing_container() -> None:
    found = lies_under(("drug", "v[].d[].drug"), ("hospital", "v[].h"), ("disease", "v[].d[].name"))
    assert found == {"drug": "hospital", "hospital": "/", "disease": "drug"}


def test_containers_without_classes_are_passed_over() -> None:
    assert lies_under(("a", "x[].a"), ("b", "x[].y[].z[].b")) == {"a": "/", "b": "a"}
    assert lies_under(("b", "x[].y[].b"), ("c", "x[].y[].c")) == {"b": "/", "c": "b"}


def test_under_names_an_outer_class_or_the_root() -> None:
    found = lies_under(("a", "x[].a"), ("b", "x[].b"), ("c", "x[].y[].c", "b"), ("d", "x[].y[].d", "/"))
    assert found == {"a": "/", "b": "a", "c": "b", "d": "/"}
    assert lies_under(("age", "age"), ("a", "x[].a", "age")) == {"age": "/", "a": "age"}


def test_parents_come_before_children() -> None:
    layout = schema_of(("c", "x[].c", "b"), ("b", "x[].b", "a"), ("a", "x[].a", "/")).layout
    assert [c.name for c in layout.classes] == ["a", "b", "c"]
    assert [container.path for container in layout.containers] == ["", "x[]"]
    assert layout.is_below(2, 0) and layout.is_below(2, -1) and not layout.is_below(0, 2)
    assert layout.class_index("c") == 2
    with pytest.raises(KeyError):
        layout.class_index("d")


def test_each_predicate_makes_a_container_of_its_own() -> None:
    layout = schema_of(("c", "e[r.t=C].r.code"), ("d", "e[r.t=C].r.date"), ("p", "e[r.t=P].r.code")).layout
    assert parents(layout) == {"c": "/", "p": "/", "d": "c"}
    assert [container.path for container in layout.containers] == ["", "e[r.t=C]", "e[r.t=P]"]
    constants = {s.name: s.constant for s in layout.containers[1].shape.walk()}
    assert constants == {"e": None, "r": None, "t": "C", "code": None, "date": None}


def test_xml_elements_hold_text_attributes_and_elements_together() -> None:
    layout = schema_of(("t", "visit[]"), ("a", "visit[]/@at"), ("w", "visit[]/w/@x"), form="xml").layout
    shape = layout.containers[1].shape
    assert parents(layout) == {"t": "/", "a": "t", "w": "t"}
    assert (shape.name, shape.held, [a.name for a in shape.attributes]) == ("visit", 0, ["at"])
    assert not shape.is_scalar and shape.wrappers[0].attributes[0].held == layout.class_index("w")
    constant = schema_of(("t", "s[@code=1]/x"), form="xml").layout.containers[1].shape.attributes[0]
    assert (constant.name, constant.held, constant.constant) == ("code", -1, "1")


def test_arrays_of_scalars_and_arrays_in_arrays() -> None:
    layout = schema_of(("tag", "tags[]"), ("cell", "grid[][]")).layout
    assert parents(layout) == {"tag": "/", "cell": "/"}
    assert [c.path for c in layout.containers] == ["", "tags[]", "grid[]", "grid[][]"]
    assert layout.containers[1].shape.is_scalar and layout.containers[1].held == (0,)
    assert layout.containers[3].name is None
    assert [c.path for c in schema_of(("x", "w.e[].x")).layout.containers] == ["", "w.e[]"]


def test_classes_without_paths_lie_where_under_says() -> None:
    layout = schema_of(("a", None), ("b", None, "a"), form="trees").layout
    assert parents(layout) == {"a": "/", "b": "a"}
    assert [c.container for c in layout.classes] == [-1, -1]


def test_what_is_not_published_has_no_place() -> None:
    layout = schema_of(("ssn", "v[].ssn"), ("a", "v[].a"), ("b", "v[].b"), hidden=("ssn",)).layout
    assert parents(layout) == {"a": "/", "b": "a"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (schema_of(("a", "x"), ("b", "x")), ["class 'b': path: is the path of another class too"]),
        (
            schema_of(("a", "x/@i"), ("b", "x/@i"), form="xml"),
            ["class 'b': path: is the path of another class too"],
        ),
        (schema_of(("a", "x[].a"), ("b", "x.b")), ["paths: 'x' is marked [] in one path and not in another"]),
        (
            schema_of(("a", "r[].x[].a"), ("b", "r[].x.b")),
            ["paths in r[]: 'x' is marked [] in one path and not in another"],
        ),
        (schema_of(("a", "x"), ("b", "x.b")), ["paths: 'x' cannot be a value and hold further fields"]),
        (schema_of(("a", "x[]"), ("b", "x[].b")), ["paths in x[]: 'x' cannot be a value and hold"]),
        (
            schema_of(("a", "x[][]"), ("b", "x[].b")),
            ["paths in x[]: an array item cannot be an array and an object"],
        ),
        (
            schema_of(("a", "e[t=1].a"), ("b", "e[].a")),
            ["class 'b': path: may read the same values as class 'a'"],
        ),
        (
            schema_of(("a", "e[].t"), ("b", "e[t=1].b")),
            ["class 'a': path: reads the field that a predicate holds fixed"],
        ),
        (
            schema_of(("a", "x[].a", "c")),
            ["class 'a': under: 'c' is no class of this schema; choose from none (or \"/\")"],
        ),
        (
            schema_of(("a", "a", "b"), ("b", "b"), ("c", "c"), hidden=("b",)),
            ["class 'a': under: 'b' is not published; choose from c"],
        ),
        (
            schema_of(("a", "x[].a"), ("b", "y[].b", "a"), ("c", "c", "b")),
            [
                "class 'b': under: 'a' lies in x[], which does not enclose",
                "class 'c': under: 'b' lies in y[], which does not enclose",
            ],
        ),
        (schema_of(("a", "a", "a")), ["class 'a': under: goes round in a circle: a under a"]),
        (
            schema_of(("a", "x[].a", "b"), ("b", "x[].b")),
            ["class 'a': under: goes round in a circle: a under b under a"],
        ),
    ],
)
def test_contradictions_are_told_all_at_once(schema: Schema, expected: list[str]) -> None:
    found = problems(schema)
    assert len(found) == len(expected), found
    for problem, start in zip(found, expected, strict=True):
        assert problem.startswith(start)


def test_a_circle_is_blamed_on_a_class_in_it() -> None:
    found = problems(schema_of(("a", "a", "b"), ("b", "b", "c"), ("c", "c", "b")))
    assert found == ["class 'b': under: goes round in a circle: b under c under b"]


def test_the_path_of_a_constant_is_told_once() -> None:
    assert len(problems(schema_of(("a", "e[t=1].t")))) == 1

from __future__ import annotations

import datetime
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.paths import ROOT
from treeanon.formats import names_of
from treeanon.hierarchy import parse_builder
from treeanon.schema import ClassSpec, FieldPath, InputSpec, RecordPath, Schema, Step, parse_path
from treeanon.schema.dump import dump_schema, record_text
from treeanon.schema.model import ROLES, TYPES
from treeanon.schema.paths import parse_record
from treeanon.schema.relational import resolve

SHIPPED = ROOT / "schemas"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
DOTTED_NAMES = st.text('ab.[]= é\n\t\\\x00\x7f"', min_size=1, max_size=5)
XML_NAMES = st.from_regex(r"(h:|xml:)?[a-zé_][a-z0-9_.-]{0,4}", fullmatch=True)
BUILDERS = {
    "text": [{"groups": 5}, {"prefix": [3, 2, 1]}, {"flat": True}],
    "integer": [{"intervals": [5, 10], "min": -10, "max": 120}],
    "number": [{"intervals": [0.5, 1e20], "min": -1.5}],
    "date": [{"dates": ["month", "year"]}],
}


@st.composite
def unique_paths(draw: st.DrawFn, number: int, slashed: bool) -> FieldPath:
    """A path that no other class meets: its first name has a number."""
    names = XML_NAMES if slashed else DOTTED_NAMES
    steps = [Step(f"{draw(names)}{number}", draw(st.booleans()))]
    steps += [Step(name, draw(st.booleans())) for name in draw(st.lists(names, max_size=2))]
    if draw(st.booleans()):
        steps.append(parse_path("x['k'='it]s']", slashed=slashed).steps[0])
        steps.append(Step("leaf"))
    return FieldPath(tuple(steps), draw(st.none() | XML_NAMES) if slashed else None)


@st.composite
def classes(draw: st.DrawFn, number: int, form: str) -> ClassSpec:
    value_type = draw(st.sampled_from(TYPES))
    source = draw(st.none() | st.sampled_from([*BUILDERS[value_type], {"flat": True}]))
    role = draw(st.sampled_from(ROLES))
    without = form == "trees" and draw(st.booleans())
    chosen = {} if source is None else {"hierarchy": parse_builder(source, value_type)[0]}
    return ClassSpec(
        name=f"{draw(TEXT)}{number}",
        path=None if without else draw(unique_paths(number, form == "xml")),
        type=value_type,
        under=draw(st.sampled_from([None, "/"])),
        role=role,
        hierarchy_source=source,
        on_unknown=draw(st.sampled_from(["error", "suppress"])),
        pseudonym=role == "identifier" and draw(st.booleans() | TEXT.filter(bool)),
        **chosen,
    )


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    form = draw(st.sampled_from(names_of("documents")))
    record = None
    if form in ("json", "yaml"):
        record = RecordPath(tuple(draw(st.lists(DOTTED_NAMES, max_size=2))), True)
    elif form == "xml":
        names = tuple(draw(st.lists(XML_NAMES, max_size=3)))
        record = RecordPath(names, len(names) > 1)
    spaces = {"h": "urn:h", "": draw(TEXT)} if form == "xml" else {}
    count = draw(st.integers(1, 4))
    declared = [draw(classes(number, form)) for number in range(count)]
    return Schema(InputSpec(form, record, spaces), tuple(declared))


@given(schemas())
def test_a_schema_reads_back_from_its_text(schema: Schema) -> None:
    again = Schema.loads(dump_schema(schema))
    assert again.input == schema.input
    assert again.classes == schema.classes
    assert dump_schema(again) == dump_schema(schema)


@pytest.mark.parametrize("name", sorted(path.name for path in SHIPPED.glob("*.toml")))
def test_shipped_schemas_read_back(name: str) -> None:
    schema = Schema.load(SHIPPED / name)
    again = Schema.loads(dump_schema(schema), folder=SHIPPED)
    assert (again.input, again.classes) == (schema.input, schema.classes)


@given(st.lists(DOTTED_NAMES, max_size=3), st.lists(XML_NAMES, max_size=3))
def test_record_paths_read_back(keys: list[str], elements: list[str]) -> None:
    array = RecordPath(tuple(keys), True)
    element = RecordPath(tuple(elements), len(elements) > 1)
    file = RecordPath((), False)
    for record, slashed in ((array, False), (element, True), (file, False), (file, True)):
        assert parse_record(record_text(record, slashed), slashed=slashed) == record


MOMENT = datetime.datetime(2020, 1, 2, 3, 4, 5, 678)
SOURCES = st.recursive(
    TEXT | st.booleans() | st.integers(-9, 10**18) | st.floats(allow_nan=False) | st.dates() | st.just(MOMENT),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=5,
)


@given(st.dictionaries(TEXT, SOURCES))
def test_any_source_of_a_hierarchy_is_written_as_it_is(source: dict[str, object]) -> None:
    text = dump_schema(Schema(InputSpec(), (ClassSpec("a", hierarchy_source=source),)))
    assert tomllib.loads(text)["class"][0]["hierarchy"] == source


def test_what_toml_has_no_form_for_is_refused() -> None:
    with pytest.raises(TypeError, match="TOML has no object"):
        dump_schema(Schema(InputSpec(), (ClassSpec("a", hierarchy_source={"x": object()}),)))


@pytest.mark.parametrize("form", names_of("relational"))
@pytest.mark.parametrize("objects", ["auto", "whole", "merged"])
def test_a_schema_of_tables_reads_back_from_its_text(form: str, objects: str) -> None:
    text = f"""version = 1

[input]
format = "{form}"
record = "the people"
key = ["trip.(a, 'b c') -> 'the people'.(x, y)", "trip.start -> port.id", "trip.end -> port.id"]
objects = "{objects}"

[[class]]
name = "from"
path = "trip.port(start).town"

[[class]]
name = "to"
path = "trip.port(end).town"

[[class]]
name = "deck"
path = "trip[kind=sea].'deck(no)'"
"""
    schema = Schema.loads(text)
    assert dump_schema(schema) == text
    again = Schema.loads(dump_schema(resolve(schema)))
    assert (again.input.keys, again.input.record) == (schema.input.keys, schema.input.record)
    assert [c.path for c in resolve(again).classes] == [c.path for c in resolve(schema).classes]

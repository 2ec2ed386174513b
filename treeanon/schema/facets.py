"""Facets of a class: further fields that say the same as its value, such as the display and the text of a code.

A facet is a function of its class's value. It is no class of the trees: it counts nothing of its own in m, and nothing
is known by it that the value does not tell. Readers and writers find it at a class of its own, in a schema made of this
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from treeanon.errors import Problem, SchemaError, UsageError
from treeanon.schema.model import ClassSpec
from treeanon.schema.paths import FieldPath, Step

if TYPE_CHECKING:
    from treeanon.schema.layout import Layout
    from treeanon.schema.model import Schema

MARK = " facet "
"""What stands between the name of a class and that of its facet in the name of the facet's class."""

ELLIPSIS = "…"
"""What a path of a facet may begin with: it stands for the beginning of the path of its class."""


def facet_class(name: str, facet: str) -> str:
    """Return the name of the class that stands for a facet."""
    return f"{name}{MARK}{facet}"


def facets_of(schema: Schema) -> Iterator[tuple[ClassSpec, str, FieldPath]]:
    """Yield each facet: its class, its name and its path."""
    for spec in schema.classes:
        if spec.published:
            yield from ((spec, facet, path) for facet, path in spec.facets.items())


def has_facets(schema: Schema) -> bool:
    """Return whether a schema has any facet."""
    return next(facets_of(schema), None) is not None


def without_facets(schema: Schema) -> Schema:
    """Return a schema by which no facet is read."""
    if not has_facets(schema):
        return schema
    return replace(schema, classes=tuple(replace(spec, facets={}) for spec in schema.classes))


def refuse_facets(schema: Schema, by: str) -> None:
    """UsageError for facets, which whoever is named does not read."""
    if has_facets(schema):
        raise UsageError(f"facets: {by} does not read them; use the local engine, or leave facets out of the schema")


def through_facets(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """Return what a function of the paths of classes makes of a schema, the paths of facets changed as well."""
    if not has_facets(schema):
        return change(schema)
    listed = [ClassSpec(facet_class(spec.name, facet), path, role="keep") for spec, facet, path in facets_of(schema)]
    bare = tuple(replace(spec, facets={}) if spec.published else spec for spec in schema.classes)
    changed = change(replace(schema, classes=(*bare, *listed)))
    paths = {spec.name: spec.path for spec in changed.classes[len(bare) :]}

    def whole(spec: ClassSpec, before: ClassSpec) -> ClassSpec:
        if not before.published:
            return spec
        found = {facet: paths[facet_class(before.name, facet)] for facet in before.facets}
        return replace(spec, facets={facet: path for facet, path in found.items() if path is not None})

    classes = tuple(map(whole, changed.classes[: len(bare)], schema.classes))
    return replace(changed, classes=classes)


def facet_schema(schema: Schema) -> Schema:
    """Return the schema by which documents are read and written: each facet is a class of its own.

    Facets stand between their class and what that lies under, those of objects around first: where writing repeats a
    value it repeats what stands above it, and a value says what its facets are, so that nothing is pulled apart. All
    classes say what they lie under.
    SchemaError for a facet that can be in neither place.

    >>> from treeanon.schema import Schema
    >>> schema = Schema.loads('''
    ... version = 1
    ... [input]
    ... format = "ndjson"
    ... objects = "merged"
    ... [[class]]
    ... name = "illness"
    ... path = "conditions[].coding[].code"
    ... facets = { display = "…coding[].display", text = "conditions[].text" }
    ... ''')
    >>> layout = facet_schema(schema).layout
    >>> [(held.name, held.parent) for held in layout.classes]
    [('illness facet text', -1), ('illness facet display', 0), ('illness', 1)]
    """
    if not has_facets(schema):
        return schema
    layout, whole = schema.layout, schema.input.keeps_objects
    problems: list[Problem] = []
    classes: list[ClassSpec] = []
    for spec in schema.classes:
        if not spec.published:
            classes.append(spec)
            continue
        parent = layout.classes[layout.class_index(spec.name)].parent
        under = "/" if parent < 0 else layout.classes[parent].name
        inner, outer = _placed(spec, schema.source, problems)
        if schema.input.is_relational and not _in_one_row(spec):
            what = "must be columns of the table that has the class's own"
            problems.append(Problem(f"{schema.source}, class {spec.name!r}: facets", what))
        elif outer and not whole:
            _check_around(spec, parent, outer[0][1], layout, schema, problems)
        for name, path in (*outer, *inner):
            classes.append(ClassSpec(name, path, under=None if whole else under, role="keep"))
            under = name
        classes.append(replace(spec, facets={}, under=None if whole else under))
    if problems:
        raise SchemaError(problems)
    return replace(schema, classes=tuple(classes))


def _in_one_row(spec: ClassSpec) -> bool:
    return spec.path is None or all(path.steps[:-1] == spec.path.steps[:-1] for path in spec.facets.values())


Placed = list[tuple[str, FieldPath]]


def _placed(spec: ClassSpec, source: str, problems: list[Problem]) -> tuple[Placed, Placed]:
    """Return the facets in the object of their class, and those in objects around it, the outermost first."""
    inner: Placed = []
    outer: Placed = []
    own = _object(spec.path) if spec.path is not None else ()
    for facet, path in spec.facets.items():
        where, name = _object(path), facet_class(spec.name, facet)
        if where == own:
            inner.append((name, path))
        elif where == own[: len(where)]:
            outer.append((name, path))
        else:
            what = "must be in the object that holds the class, or in one around it: a value has one of each facet"
            problems.append(Problem(f"{source}, class {spec.name!r}: facets.{facet}", what))
    return inner, sorted(outer, key=lambda each: len(_object(each[1])))


def _object(path: FieldPath) -> tuple[Step, ...]:
    """Return the steps to the repeated object that holds a path; none for the record."""
    last = max((at for at, step in enumerate(path.steps, start=1) if step.repeated), default=0)
    return path.steps[:last]


def _check_around(
    spec: ClassSpec, parent: int, path: FieldPath, layout: Layout, schema: Schema, problems: list[Problem]
) -> None:
    """Note a facet around its class where the class lies under another one inside of that."""
    if parent < 0:
        return
    above = schema.spec(layout.classes[parent].name)
    if above.path is not None and len(_object(above.path)) > len(_object(path)):
        what = (
            f"stands around {above.name!r}, under which the class lies: declare the class first in its object, or leave"
            " the facet out"
        )
        problems.append(Problem(f"{schema.source}, class {spec.name!r}: facets", what))


def facet_path(text: str, spec_path: FieldPath | None, parsed: Callable[[str], FieldPath | None]) -> FieldPath | None:
    """Return the path of a facet; one that begins with … goes on where its first name is first on the class's path."""
    found = parsed(text.removeprefix(ELLIPSIS))
    if found is None or not text.startswith(ELLIPSIS) or spec_path is None or not found.steps:
        return found
    first = found.steps[0]
    same = (at for at, step in enumerate(spec_path.steps) if step.name == first.name)
    at = next(same, len(spec_path.steps))
    # The class's own step says whether it repeats, and of which kind it is.
    is_inside = len(found.steps) > 1 or found.attribute is not None
    joined = spec_path.steps[at : at + 1] if is_inside and at < len(spec_path.steps) else (first,)
    return FieldPath((*spec_path.steps[:at], *joined, *found.steps[1:]), found.attribute)

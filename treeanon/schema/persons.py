"""Schemas whose rows are not persons: a field says whose each row is, and rows of one person are one record.

Such a schema has two layouts. That of the *records* has one container more, the row, around everything that a row
holds. That of the *rows* is the one of a schema without `person`, with the key of the person as a class of its own;
readers and writers work by it, and know nothing of persons.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from treeanon.errors import Problem, SchemaError, UsageError
from treeanon.formats import NESTED
from treeanon.schema.facets import refuse_facets, through_facets
from treeanon.schema.layout import Layout, compile_layout
from treeanon.schema.model import ClassSpec, ValueType
from treeanon.schema.paths import FieldPath, Step
from treeanon.schema.references import refuse_references

if TYPE_CHECKING:
    from treeanon.schema.model import ClassSpec, Schema

KEY_CLASS = "treeanon person"
"""The class of a schema of rows that holds the key of the person."""

ROW = "rows"
"""The name of the container that a row is, inside the record of its person."""


def by_row(schema: Schema, kind: ValueType = "text") -> Schema:
    """Return the schema by which rows are read or written one by one, with the key of the person as a class.

    >>> from treeanon.schema import Schema
    >>> schema = Schema.loads('''
    ... version = 1
    ... [input]
    ... format = "csv"
    ... person = "patient_id"
    ... [[class]]
    ... name = "disease"
    ... path = "disease"
    ... ''')
    >>> [spec.name for spec in by_row(schema).classes], schema.layout.containers[1].path
    (['disease', 'treeanon person'], 'rows[]')
    """
    assert schema.input.person is not None
    key = ClassSpec(KEY_CLASS, schema.input.person, kind, under="/", role="keep")
    return replace(schema, input=replace(schema.input, person=None), classes=(*schema.classes, key))


def with_rows(schema: Schema) -> Schema:
    """Return the schema of the same records as documents of their own, where each holds its rows in an array."""

    def inside(spec: ClassSpec) -> ClassSpec:
        if spec.path is None:
            return spec
        return replace(spec, path=FieldPath((Step(ROW, True), *spec.path.steps), spec.path.attribute))

    return through_facets(
        replace(schema, input=replace(schema.input, person=None)),
        lambda whole: replace(whole, classes=tuple(inside(spec) for spec in whole.classes)),
    )


def as_lines(schema: Schema) -> Schema:
    """Return the schema by which rows of no file, such as dicts, are read: each is a document of its columns."""
    if not schema.input.is_flat or schema.input.person is None:
        return schema
    return replace(schema, input=replace(schema.input, format=NESTED, delimiter=""))


def refuse_persons(schema: Schema, by: str, *, but_rows: bool = False) -> None:
    """UsageError for rows of persons, and for facets, which whoever is named cannot read.

    With `but_rows`, rows of one kind are read, and only files of several kinds are not.
    """
    refuse_facets(schema, by)
    refuse_references(schema, by)
    if but_rows and schema.files:
        raise UsageError(f"several files of one person ([[file]]): {by} reads one kind of rows; use the local engine")
    if (schema.input.person is not None and not but_rows) or schema.files:
        raise UsageError(f"person: {by} takes each row for a person; use the local engine, or one record per person")


def of_merged_trees(schema: Schema, by: str) -> Schema:
    """Return the schema of merged trees, which whoever is named needs; UsageError if objects are to stay whole."""
    if not schema.input.keeps_objects:
        return schema
    if not schema.input.objects_open:
        raise UsageError(f'{by}; use objects = "merged" in [input]')
    return schema.merged


def refuse_shift(specs: Iterable[ClassSpec], by: str) -> None:
    """UsageError for dates that are to move, which whoever is named would publish as they are."""
    found = [spec.name for spec in specs if spec.shift and spec.published]
    if found:
        raise UsageError(f"shift: {by} cannot move the dates of class {found[0]!r}; use the default search of trees")


def person_layout(schema: Schema) -> Layout:
    """Return the layout of the records; SchemaError also where a class would publish the key."""
    own = {spec.name: spec for spec in schema.classes}
    for spec in schema.classes:
        if spec.published and spec.path == schema.input.person:
            what = "reads the key of the person, which is not published: leave the class out"
            raise SchemaError([Problem(f"{schema.source}, class {spec.name!r}: path", what)])
    _ = by_row(schema).layout
    found = compile_layout(with_rows(schema))
    return replace(found, classes=tuple(replace(held, spec=own.get(held.name, held.spec)) for held in found.classes))

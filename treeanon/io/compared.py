"""Read rows of any input, and a release together with its original, in the terms of which it is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypedDict

from treeanon.errors import UsageError
from treeanon.formats import Format
from treeanon.io.columns.read_table import read_table
from treeanon.io.columns.write_table import table_schema
from treeanon.io.interface import format_of_name
from treeanon.io.reading import input_format, read
from treeanon.progress import Progress, stage
from treeanon.schema import Schema
from treeanon.table import Table
from treeanon.table.compared import in_terms_of, schema_as_published
from treeanon.table.reductions import flatten


class HowToRead(TypedDict, total=False):
    """How inputs are read: the options of `treeanon.io.read`."""

    format: str | None
    delimiter: str
    on_error: Literal["error", "skip"]
    strict: bool
    show_values: bool
    jobs: int


def read_rows(
    source: str,
    schema: Schema,
    reductions: Mapping[str, str],
    how: HowToRead,
    *,
    progress: Progress | None = None,
    published: bool = False,
    called: str | None = None,
) -> Table:
    """Return an input as a table: its rows, or its records reduced to a row each."""
    if not input_format(source, schema, how.get("format")).is_rows:
        return flatten(read(source, schema, progress=progress, called=called, **how), reductions)
    if reductions:
        raise UsageError("--reduce applies to records with repeated classes; a row has one value of each class")
    return read_table(source, schema, progress=progress, published=published, called=called, **how)


def rows_format(source: str, schema: Schema, format: str | None) -> Format | None:
    """Return the format of a file of rows, by its name first; None for other inputs."""
    form = format_of_name(source) or input_format(source, schema, format)
    return form if form.is_rows else None


def read_both(
    before: str,
    after: str,
    schema: Schema,
    reductions: Mapping[str, str],
    how: HowToRead,
    *,
    progress: Progress | None = None,
    population: bool = False,
) -> tuple[Table, Table, Mapping[str, int]]:
    """Return both tables, the published one in terms of the original, and its unexplained rows by column.

    An original that is a `population` may lack all but the quasi-identifiers: a register of people has no sensitive
    columns.
    """
    kinds = [rows_format(source, schema, how.get("format")) for source in (before, after)]
    without: HowToRead = {**how, "delimiter": ""}
    # If one of both is CSV, the delimiter is for that one.
    delimited = [kind is not None and kind.delimited for kind in kinds]
    of_before, of_after = (how if own or not any(delimited) else without for own in delimited)
    rows = None if kinds[1] is None else kinds[1].name
    less = population and None not in kinds
    known = _quasi_only(schema) if less else schema
    original = read_rows(before, known, reductions, of_before, progress=progress)
    progress = stage(progress, "reading")
    if rows is None:
        raw = read_rows(after, schema_as_published(schema), reductions, of_after, progress=progress)
    else:
        as_is = schema_as_published(schema if less else table_schema(original, rows))
        raw = read_rows(after, as_is, {}, {**of_after, "format": rows}, progress=progress)
    return original, *in_terms_of(original, raw)


def _quasi_only(schema: Schema) -> Schema:
    # A column is below no other class, least of all one that is not read.
    known = tuple(replace(spec, under=None) for spec in schema.classes if spec.role == "quasi")
    return replace(schema, classes=known)


def refuse_more(before: str, had: int, after: str, has: int, things: str = "rows") -> None:
    """Refuse a release with more records than its original."""
    if has > had:
        raise UsageError(f"{after} has {has:,} {things} and {before} only {had:,}: it is not a release of it")

"""Rows that are persons, read as trees of one level and written again: CSV and Parquet files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from treeanon.errors import DataError, UsageError
from treeanon.forest import Batch, Forest, ReadReport
from treeanon.forest.classes import STAR
from treeanon.forest.tables import MovedNodes
from treeanon.io.columns.row_files import STAR_COLUMN
from treeanon.io.columns.write_table import delimiter_for, write_rows
from treeanon.io.interface import ReadOptions
from treeanon.io.output import Check, open_output
from treeanon.io.relational.arrow_tables import TableOut, table_out
from treeanon.io.relational.fresh_keys import KeyedTable, Shuffled
from treeanon.io.relational.key_constraints import find_needs
from treeanon.io.relational.layout import Rows, lay_out
from treeanon.io.relational.plan import make_plan
from treeanon.io.relational.reading import read_tables, resolved
from treeanon.io.relational.source import TableSource
from treeanon.progress import Progress
from treeanon.schema import RecordPath, Schema
from treeanon.schema.relational import resolve

if TYPE_CHECKING:
    import pyarrow as pa

_TABLE = "rows"


class RowSource(TableSource, Protocol):
    """A source with one table, called `table`; see `OneTable`."""

    table: str

    def stars(self) -> pa.ChunkedArray | None:
        """Return the column that has `*` for persons of whom not even a class is published, if there is one."""


def as_tables(schema: Schema, table: str) -> Schema:
    """Return the schema by which the rows are read as a relational input with one table."""
    spec = replace(schema.input, format="tables", record=RecordPath((table,), True), keys=(), relations=None)
    return replace(schema, input=spec)


def read_rows(source: RowSource, schema: Schema, options: ReadOptions, report: ReadReport) -> Batch:
    """Return a batch of all persons of a source of rows."""
    batch = read_tables(source, resolved(as_tables(schema, source.table), source), options, report, record_column="")
    report.is_relational = False
    stars = source.stars()
    return batch if stars is None else replace(batch, moved=_stars(source, stars))


def _stars(source: RowSource, column: pa.ChunkedArray) -> MovedNodes:
    """Return a node `*` for each row that is marked in the column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = column.cast(pa.string())
    there = np.asarray(texts.is_valid().combine_chunks())
    right = np.asarray(pc.fill_null(pc.equal(texts, STAR), True).combine_chunks())
    if not right.all():
        place = source.place(source.table, int(np.argmin(right)))
        raise DataError(f"must be {STAR} or empty", source=place.source, place=place.place, path=STAR_COLUMN)
    row = np.flatnonzero(there).astype(np.int32)
    none = np.full(len(row), -1, np.int32)
    return MovedNodes(none, np.zeros(len(row), np.int32), none, none, row)


def make_rows(forest: Forest, schema: Schema, shuffled: Shuffled, progress: Any = None) -> TableOut:
    """Return the table of a forest of rows, without any key, its rows in random order."""
    twin = resolve(as_tables(schema, _TABLE))
    if not twin.layout.classes:
        raise UsageError("the schema publishes no class, so there is no column to write")
    if any(spec.path is not None and spec.path.steps[-1].name == STAR_COLUMN for spec in twin.classes):
        raise UsageError(f"column {STAR_COLUMN!r} has a meaning of its own in a release")
    needs = find_needs(make_plan(twin, record_column=""))
    rows = lay_out(forest, needs, progress)
    keyed = KeyedTable(_TABLE, {0: slice(0, len(forest))}, shuffled(len(forest)) + 1)
    made = table_out(forest, needs.plan, rows, keyed)
    return _with_stars(made, rows, keyed)


def _with_stars(made: TableOut, rows: Rows, keyed: KeyedTable) -> TableOut:
    import pyarrow as pa

    moved = rows.moved.get(0)
    if moved is None:
        return made
    if any(moved.label):
        raise UsageError(
            "a record holds a class more than once, which a row cannot; `treeanon flatten` makes rows of it"
        )
    marks = np.zeros(len(keyed.serial), bool)
    marks[moved.row] = True
    marks = marks[np.argsort(keyed.serial)]
    column = pa.array(np.where(marks, STAR, ""), pa.string(), mask=~marks)
    return replace(made, data=made.data.append_column(STAR_COLUMN, column), kinds={**made.kinds, STAR_COLUMN: "text"})


def write_forest(
    forest: Forest,
    target: str | Path,
    schema: Schema,
    shuffled: Shuffled,
    *,
    force: bool,
    progress: Progress | None,
    check: Check | None,
) -> None:
    """Write a forest of rows as one file, in the schema's format."""
    with open_output(target, force=force, check=check) as stream:
        made = make_rows(forest, schema, shuffled, progress)
        write_rows(made, schema.input.format, delimiter_for(target, schema.input.delimiter), stream)

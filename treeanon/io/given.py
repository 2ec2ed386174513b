"""Data as the public functions take them: of any supported kind, read by a schema, and returned as the same kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.io.beyond.findings import Findings
from treeanon.io.beyond.look import look_beyond
from treeanon.io.columns.arrow import ArrowFrame, DictSource, FrameSource
from treeanon.io.columns.frames import as_rows
from treeanon.io.columns.read_table import read_table, table_of_rows
from treeanon.io.interface import ReadOptions
from treeanon.io.memory import (
    Records,
    forest_of_nested,
    forest_of_records,
    forest_of_tables,
)
from treeanon.io.reading import holds_rows, read
from treeanon.schema import Schema
from treeanon.schema.derive import as_released
from treeanon.schema.load import SchemaLike, schema_of
from treeanon.table import Table
from treeanon.table.reductions import flatten

Frame = TypeVar("Frame", bound=ArrowFrame)

Data = Records | ArrowFrame | Mapping[str, ArrowFrame] | Mapping[str, Records] | str | Path
"""Data that need a schema: records as dicts, a frame, tables by their names, or the path of an input."""

Kind = Literal["path", "records", "frame", "tables"]

TAKEN = (
    "a Forest, a Table, the path of an input, a list of dicts, a frame of pandas, polars, pyarrow or DuckDB, or a dict"
    " of such frames by the names of tables"
)


def kind_of(data: object) -> Kind:
    """Return what kind of data these are; UsageError says what is taken.

    >>> kind_of([{"age": 34}]), kind_of("people.csv")
    ('records', 'path')
    >>> kind_of(34)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    treeanon.errors.UsageError: data must be a Forest, a Table, the path of an input, ...; not int
    """
    if isinstance(data, str | Path):
        return "path"
    if isinstance(data, Mapping):
        if data and all(isinstance(name, str) for name in data) and all(map(_is_table, data.values())):
            return "tables"
        raise UsageError(f"data must be {TAKEN}; this is a dict of something else, or an empty one")
    if _is_frame(data):
        return "frame"
    if isinstance(data, Sequence) and not isinstance(data, bytes | bytearray):
        if all(isinstance(record, Mapping) for record in data):
            return "records"
        raise UsageError(f"data must be {TAKEN}; this is a list of something else")
    raise UsageError(f"data must be {TAKEN}; not {_type_name(data)}")


def _is_frame(data: object) -> bool:
    return hasattr(data, "__arrow_c_stream__") and not isinstance(data, type)


def _is_table(data: object) -> bool:
    is_list = isinstance(data, Sequence) and not isinstance(data, str | bytes | bytearray)
    return _is_frame(data) or (is_list and all(isinstance(row, Mapping) for row in data))  # type: ignore[attr-defined]


def _type_name(data: object) -> str:
    kind = type(data)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


@dataclass(frozen=True)
class Given:
    """Data with their schema, and what kind they are; `released` data were published, so they may hold ranges."""

    data: Any
    schema: Schema
    kind: Kind
    released: bool = False
    jobs: int = 1

    @classmethod
    def of(cls, data: Any, schema: SchemaLike | None, *, released: bool = False, jobs: int | None = None) -> Given:
        """Return data of any kind with their schema; UsageError if they are of none."""
        kind = kind_of(data)
        found = schema_of(schema)
        return cls(data, as_released(found) if released else found, kind, released, jobs or 1)

    @property
    def is_rows(self) -> bool:
        """Whether these are rows, one for each person, by the schema, the name of the file or the plain columns."""
        if self.kind == "path":
            return holds_rows(self.data, self.schema)
        if self.schema.input.person is not None or self.schema.files:
            return False
        return self.schema.input.is_flat or (self.kind == "frame" and _in_columns(self.schema))

    def read(self, *, rows: bool) -> Forest | Table:
        """Return the data as a table or as a forest."""
        return self.table() if rows else self.forest()

    def beyond(self, read: Forest | Table) -> Findings:
        """Return what the data hold beyond what was read of them."""
        if self.kind == "path":
            return look_beyond(self.data, self.schema, read)
        found = Findings()
        if read.report is not None:
            found.add_report(read.report)
        return found

    def table(self) -> Table:
        """Return the data as a table; UsageError where a class occurs several times in a record."""
        if self.kind == "path":
            return read_table(self.data, self.schema, jobs=self.jobs, published=self.released)
        if not self.is_rows and not self.schema.input.is_flat:
            if self.kind == "tables":
                raise UsageError("several frames are tables tied by keys, not one row for each person")
            return flatten(self.forest())
        source = DictSource(self.data) if self.kind == "records" else FrameSource(self.data)
        return table_of_rows(source, as_rows(self.schema), ReadOptions(), published=self.released)

    def forest(self) -> Forest:
        """Return the data as a forest; UsageError for rows in memory, which are read as a table."""
        if self.kind == "path":
            return read(self.data, self.schema, jobs=self.jobs)
        if self.schema.input.is_of_rows:
            raise UsageError(
                f"the schema is one of rows (format {self.schema.input.format}), which are no trees: give one of"
                ' documents (format = "ndjson"), or read a file with treeanon.read'
            )
        if self.kind == "tables":
            return forest_of_tables(self.data, self.schema, jobs=self.jobs)
        read_trees = forest_of_records if self.kind == "records" else forest_of_nested
        return read_trees(self.data, self.schema, jobs=self.jobs)


def _in_columns(schema: Schema) -> bool:
    try:
        as_rows(schema)
    except UsageError:
        return False
    return True

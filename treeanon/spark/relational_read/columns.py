"""Columns of tables as the joins need them: values and keys as texts, and what keys hold.

Two keys are equal where their texts are: whole numbers are digits, whatever type they have.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as of

from treeanon.io.columns.texts import Unreadable, coded
from treeanon.io.relational.join import kind_text
from treeanon.schema.keys import columns_text

ROW, REPORT = "row", "told"
"""The column that numbers rows, and that of what a partition tells of itself."""

_EXACT = 1 << 53
"""Whole numbers up to this are what they are in floating point."""


@dataclass(frozen=True)
class TableSelection:
    """What is wanted of a table: columns of keys, columns of values, and the one that says which rows are persons.

    By the columns of `holder` the table of what was moved from its rows names them.
    """

    table: str
    keys: tuple[str, ...]
    values: tuple[str, ...]
    mark: str = ""
    holder: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns to read, each once."""
        return tuple(dict.fromkeys((*self.keys, *self.holder, *self.values)))

    @property
    def names(self) -> dict[tuple[str, str], str]:
        """The name that each has in the joins, by what it is and its own name: these can be anything."""
        keys = {("key", name): f"k{number}" for number, name in enumerate(dict.fromkeys((*self.keys, *self.holder)))}
        return keys | {("value", name): f"v{number}" for number, name in enumerate(self.values)}

    @property
    def kind(self) -> str:
        """The Spark type of its rows."""
        return ", ".join([f"{ROW} long", f"{REPORT} binary", *(f"{name} string" for name in self.names.values())])


@dataclass
class ColumnSummary:
    """What was seen of a column: the types it has in files, and of its numbers, whether all are whole, and the bounds.

    Bounds, and `filled`, are those of columns of keys.
    """

    types: set[pa.DataType] = field(default_factory=set)
    filled: int = 0
    whole: bool = True
    low: int = 0
    high: int = 0

    def add(self, other: ColumnSummary) -> None:
        """Adds what was seen of other rows."""
        if other.filled:
            self.low, self.high = (
                (min(self.low, other.low), max(self.high, other.high)) if self.filled else (other.low, other.high)
            )
        self.types |= other.types
        self.filled += other.filled
        self.whole &= other.whole

    @property
    def kind(self) -> pa.DataType:
        """The one type of the column: texts, where some files have texts and others whole numbers."""
        if len(self.types) == 1:
            return next(iter(self.types))
        return pa.string() if pa.string() in self.types or not self.types else pa.int64()

    @property
    def is_mixed(self) -> bool:
        """Whether files have types that cannot be one."""
        texts = self.types <= {pa.string(), pa.int64()}
        return len(self.types) > 1 and not texts and not all(map(of.is_integer, self.types))

    @property
    def is_whole(self) -> bool:
        """Whether all values are whole numbers of 64 bits."""
        return _is_number(self.kind) and self.whole

    def clash(self, target: ColumnSummary) -> tuple[str, str] | None:
        """What both columns hold, in words, if one cannot refer to the other."""
        if not self.filled or not target.filled or self._fits(target):
            return None
        return kind_text(self.kind), kind_text(target.kind)

    def _fits(self, other: ColumnSummary) -> bool:
        a, b = self.kind, other.kind
        if a == b or (self.is_whole and other.is_whole):
            return True
        if of.is_decimal(a) and of.is_decimal(b):
            return True
        if self.is_whole or other.is_whole:
            some, rest = (self, other) if self.is_whole else (other, self)
            if of.is_decimal(rest.kind):
                return True
            return bool(of.is_floating(rest.kind)) and some.low >= -_EXACT and some.high <= _EXACT
        return bool(of.is_floating(a) and of.is_floating(b))


def texts_of(found: pa.Table, row: int, selection: TableSelection, seen: dict[str, ColumnSummary]) -> pa.RecordBatch:
    """The rows as Spark has them, numbered from `row` on; what was seen of their columns is added.

    Unreadable is met by `refused`.
    """
    columns: list[pa.Array] = [
        pa.array(np.arange(row, row + found.num_rows)),
        pa.nulls(found.num_rows, pa.binary()),
    ]
    for (what, name), _ in selection.names.items():
        column = found.column(name)
        own = seen.setdefault(name, ColumnSummary())
        own.types.add(_type(column.type))
        try:
            columns.append(_key(column, own) if what == "key" else _values(column))
        except Unreadable as problem:
            raise InvalidTable(f"holds {problem.what}", columns_text(selection.table, [name]), problem.row) from None
    if selection.mark:
        _check_mark(columns[2 + list(selection.names).index(("value", selection.mark))], selection)
    return pa.RecordBatch.from_arrays(columns, names=[ROW, REPORT, *selection.names.values()])


class InvalidTable(Exception):
    """What is wrong, the path of a column, and the row (from 0) among those that were looked at."""

    def __init__(self, what: str, path: str, row: int) -> None:
        super().__init__(what, path, row)
        self.what, self.path, self.row = what, path, row


def report_row(selection: TableSelection, content: bytes) -> pa.RecordBatch:
    """A row that holds what a partition tells of itself."""
    columns = [
        pa.nulls(1, pa.int64()),
        pa.array([content], pa.binary()),
        *(pa.nulls(1, pa.string()) for _ in selection.names),
    ]
    return pa.RecordBatch.from_arrays(columns, names=[ROW, REPORT, *selection.names.values()])


def _values(column: pa.ChunkedArray) -> pa.Array:
    """The texts of the values; null where there is none."""
    codes, texts = coded(column)
    places = pa.array(codes, mask=codes < 0)
    return pa.array(list(texts), pa.string()).take(places) if len(texts) else pa.nulls(len(codes), pa.string())


def _key(column: pa.ChunkedArray, seen: ColumnSummary) -> pa.Array:
    """The texts of keys, of which the empty one is one too."""
    kind = _type(column.type)
    seen.filled += (filled := len(column) - column.null_count)
    if of.is_string(kind):
        return _one(column.cast(pa.string()))
    if of.is_floating(kind):
        column = column.cast(pa.float64())
    if filled and seen.whole and _is_number(kind):
        try:
            bounds = pc.min_max(column.cast(pa.int64()))
            part = ColumnSummary(set(), filled, True, bounds["min"].as_py(), bounds["max"].as_py())
            before = ColumnSummary(set(), seen.filled - filled, True, seen.low, seen.high)
            before.add(part)
            seen.low, seen.high = before.low, before.high
        except pa.ArrowInvalid:  # fractions, or beyond 64 bits
            seen.whole = False
    return _values(column)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _type(kind: pa.DataType) -> pa.DataType:
    """The type of a column, however its texts are kept."""
    kind = kind.value_type if of.is_dictionary(kind) else kind
    is_text = of.is_string(kind) or of.is_large_string(kind) or of.is_string_view(kind)
    return pa.string() if is_text else kind


def _is_number(kind: pa.DataType) -> bool:
    return bool(of.is_integer(kind) or of.is_floating(kind) or of.is_decimal(kind))


def _check_mark(marks: pa.Array, selection: TableSelection) -> None:
    right = pc.fill_null(pc.is_in(marks, value_set=pa.array(["0", "1"])), False)
    wrong = right.index(False).as_py()
    if wrong >= 0:
        what = "must be 1 for a person, and 0 for other rows"
        raise InvalidTable(what, columns_text(selection.table, [selection.mark]), wrong)

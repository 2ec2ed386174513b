"""Columns of tables as the joins need them: values and keys as texts, with summaries of the keys.

Two keys are equal if their texts are: integers are written as digits, whatever their type.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as of

from treeanon.io.columns.texts import Unreadable, coded
from treeanon.io.relational.plan import kind_text
from treeanon.schema.keys import columns_text

ROW, REPORT = "row", "report"
"""The column of row numbers, and that of the partitions' summaries."""

_EXACT = 1 << 53
"""Floating point represents all integers up to this one exactly."""


@dataclass(frozen=True)
class TableSelection:
    """The columns to read of a table: keys, values, and the `mark` that says which rows are persons.

    `holder` are the columns by which the table of disassociated nodes refers to its rows.
    """

    table: str
    keys: tuple[str, ...]
    values: tuple[str, ...]
    mark: str = ""
    holder: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns to read, without duplicates."""
        return tuple(dict.fromkeys((*self.keys, *self.holder, *self.values)))

    @property
    def names(self) -> dict[tuple[str, str], str]:
        """The names in the joins by kind and own name, as own names can be arbitrary."""
        keys = {("key", name): f"k{number}" for number, name in enumerate(dict.fromkeys((*self.keys, *self.holder)))}
        return keys | {("value", name): f"v{number}" for number, name in enumerate(self.values)}

    @property
    def kind(self) -> str:
        """The Spark type of its rows."""
        return ", ".join([f"{ROW} long", f"{REPORT} binary", *(f"{name} string" for name in self.names.values())])


@dataclass
class ColumnSummary:
    """A summary of a column: its types in the files, whether all numbers are integers, and their bounds.

    Bounds and `filled`, the number of values, are known of key columns only.
    """

    types: set[pa.DataType] = field(default_factory=set)
    filled: int = 0
    whole: bool = True
    low: int = 0
    high: int = 0

    def add(self, other: ColumnSummary) -> None:
        """Add the summary of other rows."""
        if other.filled:
            self.low, self.high = (
                (min(self.low, other.low), max(self.high, other.high)) if self.filled else (other.low, other.high)
            )
        self.types |= other.types
        self.filled += other.filled
        self.whole &= other.whole

    @property
    def kind(self) -> pa.DataType:
        """The common type of the column: text if some files have texts and others integers."""
        if len(self.types) == 1:
            return next(iter(self.types))
        return pa.string() if pa.string() in self.types or not self.types else pa.int64()

    @property
    def is_mixed(self) -> bool:
        """Whether the files have types without a common one."""
        texts = self.types <= {pa.string(), pa.int64()}
        return len(self.types) > 1 and not texts and not all(map(of.is_integer, self.types))

    @property
    def is_whole(self) -> bool:
        """Whether all values are 64-bit integers."""
        return _is_number(self.kind) and self.whole

    def clash(self, target: ColumnSummary) -> tuple[str, str] | None:
        """Return the types of both columns, in words, if one cannot refer to the other."""
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
    """Return the rows as Spark reads them, numbered from `row`, and add to the summaries of their columns.

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
    """Invalid rows: what is wrong, the path of the column, and the row (from 0) among those read."""

    def __init__(self, what: str, path: str, row: int) -> None:
        super().__init__(what, path, row)
        self.what, self.path, self.row = what, path, row


def report_row(selection: TableSelection, content: bytes) -> pa.RecordBatch:
    """Return a row that holds the summary of a partition."""
    columns = [
        pa.nulls(1, pa.int64()),
        pa.array([content], pa.binary()),
        *(pa.nulls(1, pa.string()) for _ in selection.names),
    ]
    return pa.RecordBatch.from_arrays(columns, names=[ROW, REPORT, *selection.names.values()])


def _values(column: pa.ChunkedArray) -> pa.Array:
    """Return the texts of the values; null if missing."""
    codes, texts = coded(column)
    places = pa.array(codes, mask=codes < 0)
    return pa.array(list(texts), pa.string()).take(places) if len(texts) else pa.nulls(len(codes), pa.string())


def _key(column: pa.ChunkedArray, seen: ColumnSummary) -> pa.Array:
    """Return the texts of keys, which may be empty."""
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
    """Return the type of a column, the same for all encodings of texts."""
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

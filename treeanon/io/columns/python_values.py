"""Columns made of Python values, chunk by chunk, as SQLite and database drivers give them.

Before them come the checks of every column that is read: it exists, its texts are valid, its numbers are finite or
null.
"""

from __future__ import annotations

import datetime
import math
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treeanon.errors import DataError
from treeanon.hierarchy.numbers import number_text
from treeanon.io.relational.source import TableInfo, listed

Wrong = Callable[[str, int, str], DataError]
"""The error to raise, given a column, a row (from 0) and what is wrong there."""

DICTIONARY = pa.dictionary(pa.int32(), pa.string())
NO_TEXT = "is not UTF-8"
NUL = "holds a NUL character"
NO_NUMBER = "is not a number (NaN) or infinite"


def check_columns_exist(tables: Mapping[str, TableInfo], table: str, columns: Sequence[str], source: str) -> None:
    """Check that a table and columns exist; the error lists those that do."""
    if table not in tables:
        raise DataError(f"unknown table {table!r}; choose from {listed(tables)}", source=source)
    known = tables[table].columns
    missing = [column for column in columns if column not in known]
    if missing:
        message = f"unknown column {listed(missing)}; choose from {listed(known)}"
        raise DataError(message, source=source, place=f"table {table}")


def check_names(names: Sequence[str], source: str) -> None:
    """Check that every column has a name, and no two have the same."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice or "" in names:
        raise DataError(
            f"has columns without a name or with the same name: {listed(sorted(twice) or [''])}", source=source
        )


def row_errors(source: str, table: str = "", start: int = 0) -> Wrong:
    """Return a function that makes errors which name a row by its number (from 1), or no row for -1, and the table if
    there are several.

    `start` rows are before those that are looked at.
    """

    def wrong(column: str, row: int, message: str) -> DataError:
        place = [*([f"table {table}"] if table else ()), *([f"row {start + row + 1}"] if row >= 0 else ())]
        return DataError(message, source=source, place=", ".join(place), path=column)

    return wrong


def check_texts(column: str, array: pa.Array, start: int, wrong: Wrong) -> None:
    """Check that texts (or a dictionary of texts) are UTF-8 without NUL, which no other format could hold."""
    texts = array.dictionary if pa.types.is_dictionary(array.type) else array
    try:
        texts.validate(full=True)
        array.validate(full=True)
    except pa.ArrowInvalid:
        raise wrong(column, start + _first_broken(array), NO_TEXT) from None
    if _may_hold_nul(texts):
        held = pc.fill_null(pc.match_substring(texts, "\0"), False)
        if pa.types.is_dictionary(array.type):
            held = pc.fill_null(held.take(array.indices), False)
        found = held.index(True).as_py()
        if found >= 0:
            raise wrong(column, start + found, NUL)


def _may_hold_nul(texts: pa.Array) -> bool:
    """Return whether the bytes under an array of texts hold a NUL; those of a slice also hold what lies outside it."""
    content = texts.buffers()[2] if len(texts) else None
    return content is not None and not bool(np.frombuffer(content, np.uint8).all())


def _first_broken(array: pa.Array) -> int:
    """Return the first row whose text is not UTF-8 (0 if it is the array that is broken)."""
    if pa.types.is_dictionary(array.type):
        broken = _first_broken(array.dictionary)
        found: int = array.indices.index(pa.scalar(broken, array.indices.type)).as_py()
        return max(found, 0)
    large = pa.types.is_large_string(array.type)
    for row, value in enumerate(array.view(pa.large_binary() if large else pa.binary())):
        try:
            (value.as_py() or b"").decode()
        except UnicodeDecodeError:
            return row
    return 0


def check_numbers(column: str, array: pa.Array, start: int, wrong: Wrong) -> None:
    """Check that no floating-point number is NaN or infinite."""
    bad = pc.fill_null(pc.invert(pc.is_finite(array)), False)
    found = bad.index(True).as_py()
    if found >= 0:
        raise wrong(column, start + found, NO_NUMBER)


def same_types(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Return parts of one table with the same type for each column: where others are texts, dictionaries and
    integers become texts.
    """
    wanted = []
    for field in tables[0].schema:
        types = {part.schema.field(field.name).type for part in tables}
        if len(types) == 1 or types - {pa.string(), pa.int64(), DICTIONARY}:
            wanted.append(field)
        else:
            wanted.append(field.with_type(pa.string()))
    return [part if part.schema.equals(pa.schema(wanted)) else _cast(part, wanted) for part in tables]


def _cast(part: pa.Table, wanted: Sequence[pa.Field]) -> pa.Table:
    columns = [
        part[field.name].cast(pa.string()) if field.type == pa.string() else part[field.name] for field in wanted
    ]
    return pa.table(columns, names=[field.name for field in wanted])


_NONE = type(None)
_PLAIN: dict[type, pa.DataType] = {
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime.date: pa.date32(),
    str: pa.string(),
}
_AS_TEXT = frozenset({datetime.time, uuid.UUID})
_KNOWN = frozenset(_PLAIN) | _AS_TEXT | {Decimal, datetime.datetime}


def value_text(value: Any) -> str:
    """Return the text of a value as documents have it; ValueError for NaN and infinity.

    >>> [value_text(v) for v in (7, 1.50, True, Decimal("1.500"), datetime.date(2024, 2, 29))]
    ['7', '1.5', 'true', '1.5', '2024-02-29']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError
        return number_text(value)
    if isinstance(value, Decimal):
        return _decimal_text(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def _decimal_text(value: Decimal) -> str:
    if not value.is_finite():
        raise ValueError
    text = format(value, "f")
    text = text.rstrip("0").removesuffix(".") if "." in text else text
    return "0" if text in ("-0", "") else text


class GrowingColumn:
    """One column that grows by chunks of Python values; errors are made by `wrong`.

    Values of one kind keep their kind; a column of several kinds becomes texts.
    """

    def __init__(self, name: str, wrong: Wrong) -> None:
        self.name, self.wrong = name, wrong
        self.chunks: list[pa.Array] = []
        self.rows = 0
        self.repeats: bool | None = None

    def add(self, values: Sequence[Any]) -> None:
        """Append the values of further rows."""
        kinds = set(map(type, values))
        kinds.discard(_NONE)
        if kinds - _KNOWN:
            raise self._refusal(values)
        self.chunks.append(self._array(values, kinds))
        self.rows += len(values)

    def _refusal(self, values: Sequence[Any]) -> Exception:
        row, kind = next((i, type(v)) for i, v in enumerate(values) if type(v) not in _KNOWN and v is not None)
        binary = kind in (bytes, bytearray, memoryview)
        what = "binary data cannot be a value" if binary else f"values of the kind {kind.__name__} are not supported"
        return self.wrong(self.name, self.rows + row, what)

    def _array(self, values: Sequence[Any], kinds: set[type]) -> pa.Array:
        if not kinds:
            return pa.nulls(len(values))
        kind = next(iter(kinds))
        if len(kinds) == 1 and kind in _PLAIN:
            try:
                return self._checked(pa.array(values, _PLAIN[kind]))
            except (pa.ArrowException, OverflowError, UnicodeEncodeError):
                return self._texts(values)
        if kinds == {datetime.datetime}:
            return self._timestamps(values)
        return self._decimals(values) if kinds == {Decimal} else self._texts(values)

    def _checked(self, array: pa.Array) -> pa.Array:
        if pa.types.is_floating(array.type):
            check_numbers(self.name, array, self.rows, self.wrong)
        elif pa.types.is_string(array.type):
            if self.repeats is not False:
                coded = array.dictionary_encode()
                if self.repeats is None:
                    self.repeats = 2 * len(coded.dictionary) <= len(coded)
                array = coded if self.repeats else array
            check_texts(self.name, array, self.rows, self.wrong)
        return array

    def _texts(self, values: Sequence[Any]) -> pa.Array:
        texts: list[str | None] = []
        for row, value in enumerate(values):
            try:
                texts.append(None if value is None else value_text(value))
            except ValueError:
                raise self.wrong(self.name, self.rows + row, NO_NUMBER) from None
        try:
            array = pa.array(texts, pa.string())
        except UnicodeEncodeError:
            bad = next(i for i, text in enumerate(texts) if text and not _is_text(text))
            raise self.wrong(self.name, self.rows + bad, "is not Unicode text") from None
        check_texts(self.name, array, self.rows, self.wrong)
        return array

    def _timestamps(self, values: Sequence[Any]) -> pa.Array:
        aware = {value.tzinfo is not None for value in values if value is not None}
        if len(aware) > 1:
            return self._texts(values)
        try:
            return pa.array(values, pa.timestamp("us", tz="UTC" if True in aware else None))
        except (pa.ArrowException, OverflowError):
            return self._texts(values)

    def _decimals(self, values: Sequence[Any]) -> pa.Array:
        try:
            # NaN and infinite ones have no precision: they are refused here, and named below.
            return pa.array(values)
        except (pa.ArrowException, TypeError, OverflowError):
            return self._texts(values)

    def finish(self) -> pa.ChunkedArray:
        """Return the whole column, of one type."""
        types = {chunk.type for chunk in self.chunks if not pa.types.is_null(chunk.type)}
        if len(types) > 1:
            return self._united(types)
        wanted = next(iter(types), pa.string())
        chunks = [pa.nulls(len(c), wanted) if pa.types.is_null(c.type) else c for c in self.chunks]
        return pa.chunked_array(chunks, wanted).unify_dictionaries()

    def _united(self, types: set[pa.DataType]) -> pa.ChunkedArray:
        if all(pa.types.is_decimal(kind) for kind in types):
            scale = max(kind.scale for kind in types)
            whole = max(kind.precision - kind.scale for kind in types)
            if whole + scale <= 76:
                make = pa.decimal128 if whole + scale <= 38 else pa.decimal256
                wanted = make(whole + scale, scale)
                return pa.chunked_array([chunk.cast(wanted) for chunk in self.chunks], wanted)
        return pa.chunked_array([_as_texts(chunk) for chunk in self.chunks], pa.string())


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _as_texts(array: pa.Array) -> pa.Array:
    """Return the texts of values of any kind; each distinct value is converted once."""
    if pa.types.is_null(array.type) or pa.types.is_string(array.type) or array.type == DICTIONARY:
        return array.cast(pa.string())
    coded = array.dictionary_encode()
    texts = pa.array([value_text(value) for value in coded.dictionary.to_pylist()], pa.string())
    return pc.take(texts, coded.indices)

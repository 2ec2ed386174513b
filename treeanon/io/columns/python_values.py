"""Columns made of Python values, chunk by chunk, as SQLite and database drivers give them."""

from __future__ import annotations

import datetime
import math
import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from treeanon.hierarchy.numbers import number_text
from treeanon.io.columns.column_checks import DICTIONARY, NO_NUMBER, Wrong, check_numbers, check_texts

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

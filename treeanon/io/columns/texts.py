"""Columns of tables as codes and texts: integers exactly, other numbers in shortest form, dates as in ISO 8601.

Whole numbers, decimals and dates are coded by sorting, which is faster than hashing; arrays of whole numbers become
NumPy views without `to_numpy`, which imports pandas.

Also texts of CSV files that spreadsheets would take as formulas, and the apostrophe that keeps them from it.

A spreadsheet runs what begins with one of a few marks, whoever wrote it. With `csv_safe` such texts are written with an
apostrophe before them, which the reader takes off again. So that this is exact, texts get one more that begin with
apostrophes before such a mark.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints
from treeanon.formats import TABLE_FILES
from treeanon.hierarchy.numbers import NumberTexts, number_text
from treeanon.shown import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from treeanon.io.relational.arrow_tables import TableOut
    from treeanon.schema.model import ClassSpec


LOG = logging.getLogger("treeanon.warnings")

_NUMBER = r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?"
_FORMULA = re.compile(rf"(?!{_NUMBER}\Z)[=+\-@\t\r\n＝＋－＠]")
_SHIELDED = re.compile(rf"'+{_FORMULA.pattern}")
_ANY = re.compile(rf"'*{_FORMULA.pattern}")


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet may take a text as a formula; plain numbers are none.

    >>> [is_formula(text) for text in ("=1+1", "-5", "-5 … 3", "+49 170", "@x", "a=b", "'=1")]
    [True, False, True, True, True, False, False]
    """
    return _FORMULA.match(text) is not None


def shielded(text: str) -> str:
    """Return how a text is written so that no spreadsheet takes it as a formula.

    >>> print(shielded("=1+1"), shielded("'=1+1"), shielded("-5"), shielded("'a"))
    '=1+1 ''=1+1 -5 'a
    """
    return f"'{text}" if _ANY.match(text) else text


def unshielded(text: str) -> str:
    """Return the text that was written so.

    >>> all(unshielded(shielded(text)) == text for text in ("=1", "'=1", "''@", "-5", "'-5", "a", ""))
    True
    """
    return text[1:] if _SHIELDED.match(text) else text


def are_shielded(specs: Iterable[ClassSpec]) -> bool:
    """Return whether the values of a schema's classes are written so."""
    return any(spec.csv_safe for spec in specs)


def shield(data: pa.Table) -> pa.Table:
    """Return a table whose texts no spreadsheet takes as formulas."""
    import pyarrow as pa

    columns = []
    for column in data.columns:
        if pa.types.is_string(column.type):
            coded = column.combine_chunks().dictionary_encode()
            texts = coded.dictionary.to_pylist()
            if any(map(_ANY.match, texts)):
                column = pa.array(map(shielded, texts), pa.string()).take(coded.indices)
        columns.append(column)
    return pa.table(columns, names=data.column_names)


def warn_of_formulas(table: TableOut) -> None:
    """Log how many texts of which columns of a table a spreadsheet would take as formulas, if there are any."""
    import pyarrow as pa

    found = {}
    prefix = f"{table.name}." if table.primary or table.foreign else ""
    for column, values in zip(table.data.column_names, table.data.columns, strict=True):
        if pa.types.is_string(values.type):
            coded = values.combine_chunks().dictionary_encode()
            wrong = np.array([is_formula(text) for text in coded.dictionary.to_pylist()], bool)
            if wrong.any():
                found[prefix + column] = int(wrong[np.asarray(coded.indices.drop_null())].sum())
    if found:
        where = ", ".join(f"{column} ({times:,})" for column, times in found.items())
        LOG.warning(
            "a spreadsheet would take %s as formulas: %s; --csv-safe, or csv_safe = true in [output] of the schema,"
            " writes them so that it does not",
            counted(sum(found.values()), "text"),
            where,
        )


_COMPACT = 4
"""Numbers in a range of so many times their count, or less, are numbered by a table of the range."""


def distinct(column: pa.ChunkedArray) -> tuple[Ints, np.ndarray] | None:
    """Return a code for every row (-1: null), and the distinct values in ascending order; None for other types.

    Decimals come as numbers of their last place, dates as numbers of days.

    >>> import pyarrow as pa
    >>> codes, values = distinct(pa.chunked_array([[7, None, 3], [7]]))
    >>> codes.tolist(), values.tolist()
    ([1, -1, 0, 1], [3, 7])
    """
    import pyarrow as pa
    import pyarrow.types as of

    kind = column.type
    if of.is_decimal128(kind) and kind.precision <= 18:
        parts = [(_unscaled(chunk), _valid(chunk)) for chunk in column.chunks]
    elif of.is_integer(kind) and kind != pa.uint64():
        parts = [(np.asarray(_filled(chunk)), _valid(chunk)) for chunk in column.chunks]
    elif of.is_date32(kind):
        parts = [(np.asarray(_filled(chunk.cast(pa.int32()))), _valid(chunk)) for chunk in column.chunks]
    else:
        return None
    return _factorized(parts)


def as_array(values: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Return the values that `distinct` gave for a column of this type, as an array of that type."""
    import pyarrow as pa
    import pyarrow.types as of

    if of.is_decimal(kind):
        words = np.stack([values, values >> 63], axis=1)
        return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(words.tobytes())])
    return pa.array(values).cast(pa.int32()).cast(kind) if of.is_date32(kind) else pa.array(values)


def _filled(chunk: pa.Array) -> pa.Array:
    return chunk.fill_null(0) if chunk.null_count else chunk


def _valid(chunk: pa.Array) -> np.ndarray | None:
    """Return a mask of the values that are not null; None where all are."""
    return np.asarray(chunk.is_valid()) if chunk.null_count else None


def _unscaled(chunk: pa.Array) -> np.ndarray:
    """Return decimals as whole numbers of their last place: the lower halves of 128 bits each."""
    words = np.frombuffer(chunk.buffers()[1], np.int64)
    numbers: np.ndarray = words[2 * chunk.offset : 2 * (chunk.offset + len(chunk)) : 2]
    return numbers


def _factorized(parts: list[tuple[np.ndarray, np.ndarray | None]]) -> tuple[Ints, np.ndarray]:
    """Return codes and ascending values of numbers that come in parts, each with a mask of valid ones (None: all)."""
    chosen = [numbers if valid is None else numbers[valid] for numbers, valid in parts]
    counted = np.concatenate([np.empty(0, bool), *(_counted(numbers, valid) for numbers, valid in parts)])
    codes = np.full(len(counted), -1, np.int32)
    if not counted.any():
        return codes, np.empty(0, np.int64)
    some = [numbers for numbers in chosen if len(numbers)]
    low, high = min(int(numbers.min()) for numbers in some), max(int(numbers.max()) for numbers in some)
    if high - low >= _COMPACT * len(counted):
        values, found = np.unique(np.concatenate(some).astype(np.int64), return_inverse=True)
        codes[counted] = found
        return codes, values
    present = np.zeros(high - low + 1, bool)
    for numbers in some:
        present[numbers.astype(np.int64) - low] = True
    place = (np.cumsum(present) - 1).astype(np.int32)
    at = 0
    for (numbers, valid), own in zip(parts, chosen, strict=True):
        into = codes[at : at + len(numbers)]
        into[slice(None) if valid is None else valid] = place[own.astype(np.int64) - low]
        at += len(numbers)
    return codes, np.flatnonzero(present) + low


def _counted(numbers: np.ndarray, valid: np.ndarray | None) -> np.ndarray:
    return np.ones(len(numbers), bool) if valid is None else valid


def viewed(numbers: pa.Array) -> npt.NDArray[np.integer]:
    """Return the numbers of an array of integers without nulls; they share its memory.

    Arrow's own way imports pandas if that is installed, which takes longer than reading a small file.

    >>> import pyarrow as pa
    >>> viewed(pa.array([3, 4, 5], pa.int32()).slice(1)).tolist()
    [4, 5]
    """
    kind = np.dtype(numbers.type.to_pandas_dtype())
    buffer = numbers.buffers()[1]
    if numbers.null_count or kind.kind not in "iu" or buffer is None:
        return np.asarray(numbers)
    return np.frombuffer(buffer, kind)[numbers.offset : numbers.offset + len(numbers)]


def indices(codes: npt.NDArray[np.integer]) -> pa.Array:
    """Return codes as an Arrow array, with null for those below 0.

    >>> indices(np.array([1, -1, 0])).to_pylist()
    [1, None, 0]
    """
    import pyarrow as pa

    data = np.ascontiguousarray(codes, np.int32)
    there = data >= 0
    bits = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(pa.int32(), len(data), [bits, pa.py_buffer(data)])


def strings(texts: Sequence[str]) -> pa.Array:
    """Return texts as an Arrow array; UnicodeEncodeError if one holds a lone surrogate.

    >>> strings(["a", "", "ü"]).to_pylist()
    ['a', '', 'ü']
    """
    import pyarrow as pa

    data = [text.encode() for text in texts]
    ends = np.zeros(len(data) + 1, np.int64)
    np.cumsum([len(one) for one in data], out=ends[1:])
    long = pa.Array.from_buffers(pa.large_string(), len(data), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(data))])
    return long.cast(pa.string())


_MANY = 10_000
"""With this many distinct numbers, texts are made only on request."""

_NO_DATE = "\0date"
"""Stands for a date that has no text. No text that is read holds NUL."""


class Unreadable(Exception):
    """A column holds something that cannot be the value of a class: what, and the first such row (-1: all)."""

    def __init__(self, what: str, row: int = -1) -> None:
        super().__init__(what, row)
        self.what, self.row = what, row


def coded(column: pa.ChunkedArray) -> tuple[Ints, Sequence[str]]:
    """Return a code for every row (-1: no value), and the texts that the codes stand for.

    >>> import pyarrow as pa
    >>> codes, texts = coded(pa.chunked_array([[1.50, None, 2.0, 1.5]]))
    >>> codes.tolist(), texts
    ([0, -1, 1, 0], ['1.5', '2'])
    """
    import pyarrow as pa
    import pyarrow.types as of

    if of.is_null(column.type):
        return np.full(len(column), -1, np.int32), []
    if (found := distinct(column)) is not None:
        codes, values = found
        kind = column.type
        if len(values) >= _MANY and not of.is_date32(kind):
            decimals = kind.scale if of.is_decimal(kind) else 0
            return codes, NumberTexts(values, decimals)
        texts = _texts(as_array(values, kind))
        if of.is_date32(kind):
            _refuse(as_array(values, kind), texts, codes)
        return codes, texts
    if not of.is_dictionary(column.type):
        if of.is_nested(column.type) or of.is_binary(column.type) or of.is_large_binary(column.type):
            raise Unreadable(f"values of type {column.type}, which no class can have")
        try:
            column = column.dictionary_encode()
        except pa.ArrowNotImplementedError:
            raise Unreadable(f"values of type {column.type}, which no class can have") from None
    codes, values = _codes_and_values(column)
    texts = _texts(values)
    _refuse(values, texts, codes)
    if "" in texts:
        absent = np.array([text == "" for text in texts])
        codes = np.where(absent[codes] & (codes >= 0), -1, codes).astype(np.int32)
    return codes, texts


def coded_in(files: str, specs: Iterable[ClassSpec], column: pa.ChunkedArray) -> tuple[Ints, Sequence[str]]:
    """Return the same of a column of files of a kind, without what keeps spreadsheets from taking texts as formulas."""
    codes, texts = coded(column)
    kind = TABLE_FILES.get(files)
    if kind is None or kind.by_column or not are_shielded(specs):
        return codes, texts
    return codes, list(map(unshielded, texts))


def _codes_and_values(column: pa.ChunkedArray) -> tuple[Ints, pa.Array]:
    import pyarrow as pa

    if column.num_chunks > 1:
        try:
            column = column.unify_dictionaries()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # nulls in dictionaries, or codes of too few bits
            column = column.cast(column.type.value_type).dictionary_encode()
    if not column.num_chunks:
        return np.empty(0, np.int32), pa.array([], column.type.value_type)
    codes = np.empty(len(column), np.int32)
    at = 0
    for chunk in column.chunks:
        indices = chunk.indices
        codes[at : at + len(chunk)] = viewed(indices.fill_null(-1) if indices.null_count else indices)
        at += len(chunk)
    values = column.chunk(0).dictionary
    if values.null_count:
        codes = np.where(np.append(np.asarray(values.is_null()), False)[codes], -1, codes).astype(np.int32)
    return codes, values


def _texts(values: pa.Array) -> list[str]:
    """Return the texts of distinct values; null is ""."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as of

    kind = values.type
    if of.is_string(kind) or of.is_large_string(kind) or of.is_string_view(kind):
        found = values.cast(pa.large_string())
    elif of.is_boolean(kind):
        found = pc.if_else(values, "true", "false")
    elif of.is_floating(kind):
        return [number_text(value) if math.isfinite(value) else "" for value in _floats(values)]
    elif of.is_decimal(kind):
        found = _decimal_texts(values)
    elif of.is_temporal(kind) and not of.is_duration(kind) and not of.is_interval(kind):
        found = _time_texts(values)
    elif of.is_integer(kind):
        found = values.cast(pa.string())
    else:
        raise Unreadable(f"values of type {kind}, which no class can have")
    texts: list[str] = (pc.fill_null(found, "") if found.null_count else found).to_pylist()
    return texts


def _floats(values: pa.Array) -> list[float]:
    """Return the numbers, null as NaN; those of fewer bits than 64 as they are written, not as they are converted."""
    numbers = np.asarray(values)
    return [float(text) for text in numbers.astype(str)] if numbers.dtype.itemsize < 8 else numbers.tolist()


def _time_texts(values: pa.Array) -> Any:
    """Return dates and times as in ISO 8601, the fraction without trailing zeros."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as of

    found = values.cast(pa.string())
    zoned = of.is_timestamp(values.type) and values.type.tz is not None
    # Arrow says that a date is beyond the calendar only where it has no zone.
    known = values.cast(pa.timestamp(values.type.unit)).cast(pa.string()) if zoned else found
    if not of.is_date(values.type):
        found = pc.replace_substring(found, " ", "T", max_replacements=1)
        found = pc.replace_substring_regex(found, r"(\.\d*?)0+(Z|[+-]\d{4}|)$", r"\1\2")
        found = pc.replace_substring_regex(found, r"\.(Z|[+-]\d{4}|)$", r"\1")
    if zoned:
        found = pc.replace_substring_regex(found, r"([+-]\d\d)(\d\d)$", r"\1:\2")
    return pc.if_else(pc.starts_with(known, "<"), _NO_DATE, found)


def _decimal_texts(values: pa.Array) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = values.cast(pa.string())
    if not pc.any(pc.match_substring(found, "E")).as_py():
        has_point = pc.match_substring(found, ".")
        return pc.if_else(has_point, pc.utf8_rtrim(pc.utf8_rtrim(found, "0"), "."), found)
    plain = [None if value is None else format(value, "f") for value in values.to_pylist()]
    return pa.array([text.rstrip("0").rstrip(".") if text and "." in text else text for text in plain], pa.string())


def _refuse(values: pa.Array, texts: list[str], codes: Ints) -> None:
    """Raise Unreadable with the first row whose value has no text."""
    import pyarrow.types as of

    if of.is_floating(values.type):
        is_wrong = ~np.isfinite(np.asarray(values)) & np.asarray(values.is_valid())
        wrong = np.flatnonzero(is_wrong)
    else:
        wrong = np.array([number for number, text in enumerate(texts) if "\0" in text], np.int64)
    rows = np.flatnonzero(np.isin(codes, wrong)) if len(wrong) else wrong
    if not len(rows):
        return
    what = "a date that no calendar has" if texts[codes[rows[0]]] == _NO_DATE else "a NUL character, which no value may"
    what = "a number that is not finite (NaN or infinity)" if of.is_floating(values.type) else what
    raise Unreadable(what, int(rows[0]))

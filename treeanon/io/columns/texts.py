"""Columns of tables as codes and texts: integers exactly, other numbers in shortest form, dates as ISO has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treeanon.hierarchy.number_texts import NumberTexts
from treeanon.hierarchy.numbers import number_text
from treeanon.io.columns.distinct_values import as_array, distinct
from treeanon.io.columns.numpy_views import viewed
from treeanon.kernels.tree.forest import Ints

if TYPE_CHECKING:
    import pyarrow as pa


_MANY = 10_000
"""For so many different numbers no texts are made before they are asked for."""

_NO_DATE = "\0date"
"""Stands for a date that has no text. No text that is read holds NUL."""


class Unreadable(Exception):
    """A column holds what cannot be the value of a class: what that is, and the first row that has it (-1: all)."""

    def __init__(self, what: str, row: int = -1) -> None:
        super().__init__(what, row)
        self.what, self.row = what, row


def coded(column: pa.ChunkedArray) -> tuple[Ints, Sequence[str]]:
    """A code for every row (-1: no value), and the texts that the codes stand for.

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
    """The texts of different values; null is ""."""
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
    """The numbers, null as NaN; those of fewer bits than 64 as they are written, not as they are converted."""
    numbers = np.asarray(values)
    return [float(text) for text in numbers.astype(str)] if numbers.dtype.itemsize < 8 else numbers.tolist()


def _time_texts(values: pa.Array) -> Any:
    """Dates and times as ISO 8601 has them, the fraction without needless zeros."""
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
    """Unreadable, with the first row that has it, for what no text can stand for."""
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

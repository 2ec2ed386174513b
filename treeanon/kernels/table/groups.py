"""Rows of codes numbered by the group they are in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeanon.kernels.tree.forest import Ints, Longs

_ROOM = 1 << 62


def group_numbers(columns: Sequence[Ints], sizes: Sequence[int], rows: int) -> tuple[Longs, int]:
    """The number of each row's group, from 0, and how many groups there are: rows of a group are equal in all columns.

    Codes of column i lie between 0 and sizes[i] - 1. Groups are numbered in the order of their codes. Without columns
    all rows are one group.

    >>> group_numbers([np.array([1, 0, 1]), np.array([5, 5, 5])], [2, 6], 3)
    (array([1, 0, 1]), 2)
    """
    key = np.zeros(rows, np.int64)
    room = 1
    for codes, size in zip(columns, sizes, strict=True):
        if room * size >= _ROOM:
            found, key = np.unique(key, return_inverse=True)
            room = len(found)
        key = key * size + codes
        room *= size
    found, numbers = np.unique(key, return_inverse=True)
    return numbers.astype(np.int64), len(found)

"""Rows of codes numbered by the group they are in.

Anatomy's loop: groups of as many different values as are asked for, of those that are left most often.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.kernels.jit import njit

_ROOM = 1 << 62


def group_numbers(columns: Sequence[Ints], sizes: Sequence[int], rows: int) -> tuple[Longs, int]:
    """Return the number of each row's group, from 0, and how many groups there are: rows of a group are equal in all
    columns.

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


@njit
def draw_groups(rows: Longs, sizes: Longs, size: int, group: Longs) -> tuple[int, Longs]:
    """Write the group of every row that gets one; return how many groups there are, and what is left of each bucket.

    `rows` lists buckets of rows with equal values, the largest first: bucket b ends where its sizes say. Each group
    takes the last row left of the `size` buckets that have most.
    """
    left, ends = sizes.copy(), np.cumsum(sizes)
    buckets, groups = len(sizes), 0
    while size <= buckets and left[size - 1] > 0:
        least = left[size - 1]
        # Of equal buckets the last are taken, so that they stay in order of what is left.
        low, high = size - 1, size
        while low > 0 and left[low - 1] == least:
            low -= 1
        while high < buckets and left[high] == least:
            high += 1
        for i in range(size):
            b = i if i < low else high - 1 - (i - low)
            left[b] -= 1
            group[rows[ends[b] - sizes[b] + left[b]]] = groups
        groups += 1
    return groups, left

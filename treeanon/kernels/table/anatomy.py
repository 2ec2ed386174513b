"""Anatomy's loop: groups of as many different values as are asked for, of those that are left most often."""

from __future__ import annotations

import numpy as np

from treeanon.kernels.jit import njit
from treeanon.kernels.tree.forest import Longs


@njit
def draw_groups(rows: Longs, sizes: Longs, size: int, group: Longs) -> tuple[int, Longs]:
    """Writes the group of every row that gets one; returns how many groups there are, and what is left of each bucket.

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

"""Kernels of joins: rows grouped by the row that owns them, and circles of rows that refer to each other."""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.kernels.jit import njit


@njit
def group_rows(owner: Ints, owners: int) -> tuple[Longs, Ints]:
    """Where the rows of each owner start, and the rows in the order of their owners; rows of owner -1 are left out."""
    starts = np.zeros(owners + 1, np.int64)
    for row in range(len(owner)):
        if owner[row] >= 0:
            starts[owner[row] + 1] += 1
    for x in range(owners):
        starts[x + 1] += starts[x]
    at = starts[:-1].copy()
    order = np.empty(starts[owners], np.int32)
    for row in range(len(owner)):
        x = owner[row]
        if x >= 0:
            order[at[x]] = row
            at[x] += 1
    return starts, order


@njit
def in_circles(target: Ints) -> Ints:
    """The rows that come back to themselves when every row leads to its target (below 0: to none)."""
    seen = np.zeros(len(target), np.int32)
    found = np.empty(len(target), np.int32)
    count = 0
    for start in range(len(target)):
        at = start
        while at >= 0 and seen[at] == 0:
            seen[at] = start + 1
            at = target[at]
        if at < 0 or seen[at] != start + 1:
            continue
        # The walk from here met itself: `at` is the first row of a circle not seen before.
        first = at
        while True:
            found[count] = at
            count += 1
            at = target[at]
            if at == first:
                break
    return found[:count].copy()


@njit
def take_at(values: Ints, rows: Ints) -> Ints:
    """The values at rows; -1 where there is no row (below 0), and where the value is below 0."""
    found = np.empty(len(rows), np.int32)
    for i in range(len(rows)):
        row = rows[i]
        found[i] = max(values[row], np.int32(-1)) if row >= 0 else np.int32(-1)
    return found

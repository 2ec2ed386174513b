"""The best groups of rows with different sensitive values, among those that take the rows of each value in order."""

from __future__ import annotations

import numpy as np

from treeanon.kernels.jit import njit
from treeanon.kernels.table.onedim_diversity_loss import Floats, Prices, box_of, price_of
from treeanon.kernels.tree.forest import Ints, Longs


@njit
def best_groups(
    cells: Ints, starts: Longs, places: Longs, masks: Longs, sizes: Longs, levels: Longs, p: Prices
) -> tuple[Floats, Ints]:
    """The least loss of the first rows of every value, for each level; and the mask of the last group taken, or -1.

    The rows of value v are places[starts[v]:starts[v + 1]]. A state says how many rows of each value are in groups
    already; its number is Σ taken[v]·step[v], where step[v] is the product of the (rows + 1) of the values before v.
    A group takes the next row of each value whose bit its mask has. Groups of level l have `sizes` of l to 2l - 1.
    """
    count = len(starts) - 1
    step = np.ones(count + 1, np.int64)
    for v in range(count):
        step[v + 1] = step[v] * (starts[v + 1] - starts[v] + 1)
    loss = np.full((step[count], len(levels)), np.inf)
    last = np.full((step[count], len(levels)), -1, np.int32)
    loss[0] = 0.0
    taken = np.empty(count, np.int64)
    members = np.empty(count, np.int64)
    box = np.empty((4, cells.shape[1]), np.int32)
    for state in range(step[count]):
        if loss[state].min() == np.inf:
            continue
        open_mask = 0
        for v in range(count):
            taken[v] = state % step[v + 1] // step[v]
            if starts[v] + taken[v] < starts[v + 1]:
                open_mask |= 1 << v
        for i in range(len(masks)):
            if masks[i] & ~open_mask:
                continue
            size, following = 0, state
            for v in range(count):
                if masks[i] >> v & 1:
                    members[size] = places[starts[v] + taken[v]]
                    size += 1
                    following += step[v]
            box_of(cells, box, members, 0, size, -1, p)
            price = size * price_of(box, p)
            for level in range(len(levels)):
                if not levels[level] <= sizes[i] < 2 * levels[level]:
                    continue
                if loss[state, level] + price < loss[following, level]:
                    loss[following, level] = loss[state, level] + price
                    last[following, level] = i
    return loss, last

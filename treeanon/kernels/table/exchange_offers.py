"""What every tuple would pay for what every tuple gives away, one member each."""

from __future__ import annotations

import numpy as np

from treeanon.kernels.jit import njit
from treeanon.kernels.table.freeform_prices import Floats, Prices, fill_steps
from treeanon.kernels.tree.forest import Ints, Longs

NEVER = 1e9
"""What is asked for a member that a tuple may not take."""


@njit
def fill_offers(prices: Prices, members: Ints, given: Longs, most: Ints, costs: Floats) -> None:
    """costs[t, u]: by how much tuple t, without the member given[t], grows by the member given[u] of tuple u; NEVER if
    it covers all rows of that class already.
    """
    count, k = members.shape
    steps, held = np.zeros(len(prices.held), np.float64), np.zeros(len(most), np.int32)
    others = np.empty(k, np.int32)
    for t in range(count):
        kept = 0
        for j in range(k):
            if j != given[t]:
                others[kept] = members[t, j]
                held[others[kept]] += 1
                kept += 1
        fill_steps(prices, others, kept, steps)
        for u in range(count):
            offered = members[u, given[u]]
            cost = 0.0
            for c in range(prices.cells.shape[1]):
                cost += steps[prices.cells[offered, c]]
            costs[t, u] = cost if held[offered] < most[offered] else NEVER
        for j in range(kept):
            held[others[j]] = 0

"""Which tuples, of all that could be published, are worth most: their members are worth something, and they cost.

What every tuple would pay for what every tuple gives away, one member each.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Floats, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.table.freeform_prices import Prices, fill_steps, rows_cost

_SWEEPS = 4
_NEVER = 1e300


@njit
def _best_class(
    cells: Ints, room: Ints, worth: Floats, by_worth: Longs, steps: Floats, least: float
) -> tuple[int, float]:
    """Return the class with room that leaves least when what it is worth is taken from its steps: less than `least`, or
    -1.
    """
    best = -1
    for at in range(len(by_worth)):
        v = by_worth[at]
        left = -worth[v]
        if left >= least:
            # All others are worth less, and no step is negative.
            break
        if room[v] <= 0:
            continue
        for c in range(cells.shape[1]):
            left += steps[cells[v, c]]
            if left >= least:
                break
        if left < least:
            best, least = v, left
    return best, least


@njit
def _improve(
    prices: Prices, worth: Floats, by_worth: Longs, members: Ints, others: Ints, room: Ints, steps: Floats
) -> None:
    """Replace members one by one as long as that pays, a few times at most."""
    k = len(members)
    for _sweep in range(_SWEEPS):
        is_better = False
        for j in range(k):
            count = 0
            for i in range(k):
                if i != j:
                    others[count] = members[i]
                    count += 1
            fill_steps(prices, others, count, steps)
            own = members[j]
            now = -worth[own]
            for c in range(prices.cells.shape[1]):
                now += steps[prices.cells[own, c]]
            found, _left = _best_class(prices.cells, room, worth, by_worth, steps, now - 1e-9)
            if found >= 0:
                room[own] += 1
                room[found] -= 1
                members[j] = found
                is_better = True
        if not is_better:
            return


@njit
def worthwhile(prices: Prices, most: Ints, worth: Floats, begin: Longs, k: int) -> tuple[Ints, Floats, Floats]:
    """Return for each class to begin with a tuple of k members that is worth much: these ascending, its cost, and what
    is left of the cost when what its members are worth is taken from it.

    Members are added greedily, then replaced one by one. No class comes more often than `most` says. There are k
    members to be had, and k is more than 1.
    """
    out = np.empty((len(begin), k), np.int32)
    costs, left = np.empty(len(begin), np.float64), np.empty(len(begin), np.float64)
    steps = np.zeros(len(prices.held), np.float64)
    by_worth = np.argsort(-worth)
    others = np.empty(k, np.int32)
    room = most.copy()
    for q in range(len(begin)):
        members = out[q]
        members[0] = begin[q]
        room[begin[q]] -= 1
        for j in range(1, k):
            fill_steps(prices, members, j, steps)
            found, _left = _best_class(prices.cells, room, worth, by_worth, steps, _NEVER)
            members[j] = found
            room[found] -= 1
        _improve(prices, worth, by_worth, members, others, room, steps)
        costs[q] = rows_cost(prices, members, k)
        left[q] = costs[q]
        for j in range(k):
            left[q] -= worth[members[j]]
            room[members[j]] += 1
        members.sort()
    return out, costs, left


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

"""Rounds of greedy choices in which originals take tuples: each original, in its order, the free tuple whose cost grows
least.

After K. Doka, M. Xue, D. Tsoumakos and P. Karras, "k-anonymization by freeform generalization" (ASIA CCS 2015),
Algorithm 1, in the direction in which it is published.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.table.freeform_prices import Prices
from treeanon.kernels.table.freeform_rounds import may_cover
from treeanon.kernels.table.orders import NODES, RANGES

_NONE = -1
_EQUAL = 1e-12


class Covered(NamedTuple):
    """What every tuple covers before a round, by column: the least and the greatest value (of nodes: the lowest above
    all), -1 without any; whether some are missing; how many different ones there are; and what that costs.
    """

    low: Ints
    high: Ints
    missing: Flags
    distinct: Ints
    now: Floats


@njit
def _joined(
    prices: Prices, c: int, low: int, high: int, missing: bool, distinct: int, value: int, is_in: bool
) -> tuple[int, int, bool, int]:
    """Return a column of a tuple with one value more, which `is_in` already or not."""
    if value < 0:
        return low, high, True, distinct
    if high < 0:
        return value, value, missing, 1
    if prices.kinds[c] == NODES:
        at = prices.starts[c]
        while value < low or value >= prices.end[at + low]:
            low = int(prices.parent[at + low])
        return low, max(high, low), missing, distinct
    return min(low, value), max(high, value), missing, distinct + (0 if is_in else 1)


@njit
def _cost(prices: Prices, c: int, low: int, high: int, missing: bool, distinct: int) -> float:
    """Return what a column of a tuple costs."""
    at = prices.starts[c]
    if high < 0:
        return 0.0
    if missing:
        return float(prices.mixed[c])
    if prices.kinds[c] == RANGES:
        return float(prices.shares[at + high] - prices.shares[at + low])
    if prices.kinds[c] == NODES:
        return float(prices.shares[at + low])
    return float((distinct - 1) * prices.shares[at])


@njit
def _is_in(prices: Prices, edges: Ints, number: int, j: int, c: int, value: int) -> bool:
    """Return whether a tuple covers an original with this value."""
    for e in range(number):
        if prices.values[edges[j, e], c] == value:
            return True
    return False


@njit
def _covered(prices: Prices, edges: Ints, number: int) -> Covered:
    """Return what the tuples cover by their first `number` edges."""
    rows, columns = len(edges), prices.values.shape[1]
    lows, highs = np.empty((rows, columns), np.int32), np.empty((rows, columns), np.int32)
    gaps, counts = np.empty((rows, columns), np.bool_), np.empty((rows, columns), np.int32)
    now = np.empty((rows, columns), np.float64)
    for j in range(rows):
        for c in range(columns):
            low, high, missing, distinct = _NONE, _NONE, False, 0
            for e in range(number):
                value = int(prices.values[edges[j, e], c])
                is_in = _is_in(prices, edges, e, j, c, value)
                low, high, missing, distinct = _joined(prices, c, low, high, missing, distinct, value, is_in)
            lows[j, c], highs[j, c], gaps[j, c], counts[j, c] = low, high, missing, distinct
            now[j, c] = _cost(prices, c, low, high, missing, distinct)
    return Covered(lows, highs, gaps, counts, now)


@njit
def _growth(prices: Prices, covered: Covered, edges: Ints, number: int, j: int, i: int, least: float) -> float:
    """Return by how much a tuple grows by an original; anything above `least` if it is more than that."""
    found = 0.0
    for c in range(prices.values.shape[1]):
        value = int(prices.values[i, c])
        is_in = _is_in(prices, edges, number, j, c, value)
        if is_in:
            continue
        low, high, missing, distinct = _joined(
            prices,
            c,
            int(covered.low[j, c]),
            int(covered.high[j, c]),
            bool(covered.missing[j, c]),
            int(covered.distinct[j, c]),
            value,
            False,
        )
        found += _cost(prices, c, low, high, missing, distinct) - float(covered.now[j, c])
        if found > least:
            return found
    return found


@njit
def _cheapest(prices: Prices, covered: Covered, edges: Ints, number: int, after: Ints, i: int) -> int:
    """Return the free tuple that grows least by an original, the first of several; -1 if all cover it already.

    after[j] is the free tuple after tuple j, after[-1] the first one; -1 where there is none.
    """
    best, found = np.inf, _NONE
    j = after[-1]
    while j >= 0:
        if may_cover(edges, number, j, i):
            cost = _growth(prices, covered, edges, number, j, i, best)
            if cost < best - _EQUAL:
                best, found = cost, j
        j = after[j]
    return found


@njit
def _take(after: Ints, j: int) -> None:
    """A tuple is no longer free."""
    at = len(after) - 1
    while after[at] != j:
        at = after[at]
    after[at] = after[j]


@njit
def _go_back(prices: Prices, covered: Covered, edges: Ints, number: int, after: Ints, taken: Ints, i: int) -> int:
    """Give an original whose free tuples all cover it already the tuple of one before it, which takes a free one.

    Gone back to is the first whose tuple does not cover the original, and which a free tuple does not cover. Returns
    how far that was; -1 if in vain.
    """
    for back in range(1, i + 1):
        other = i - back
        own = taken[other]
        if not may_cover(edges, number, own, i):
            continue
        instead = _cheapest(prices, covered, edges, number, after, other)
        if instead >= 0:
            _take(after, instead)
            taken[other], taken[i] = instead, own
            return back
    return _NONE


@njit
def _pass_on(edges: Ints, number: int, after: Ints, taken: Ints, i: int) -> None:
    """The same by as many others as it takes, each of which takes the tuple of the next: a shortest such chain.

    There is one: as many tuples may take an original as originals a tuple, all the same.
    """
    rows = len(edges)
    is_free, owner = np.zeros(rows, np.bool_), np.full(rows, _NONE, np.int32)
    j = after[-1]
    while j >= 0:
        is_free[j] = True
        j = after[j]
    for other in range(i):
        owner[taken[other]] = other
    came, queue = np.full(rows, _NONE, np.int32), np.empty(rows, np.int32)
    queue[0] = i
    filled, at = 1, 0
    while at < filled:
        original = queue[at]
        at += 1
        for j in range(rows):
            if came[j] >= 0 or not may_cover(edges, number, j, original):
                continue
            came[j] = original
            if not is_free[j]:
                queue[filled] = owner[j]
                filled += 1
                continue
            _take(after, j)
            # Along the chain everybody takes the tuple of the next.
            free = j
            while True:
                taker = came[free]
                former = taken[taker]
                taken[taker] = free
                if taker == i:
                    return
                free = former


@njit
def original_rounds(prices: Prices, edges: Ints, counts: Longs) -> None:
    """Fill the edges, of which the first column is there: round by round, original by original, by the free tuple that
    grows least.

    counts: how often there was a dead end, how many originals were gone back at most, and how often that was not
    enough.
    """
    rows = len(edges)
    for number in range(1, edges.shape[1]):
        covered = _covered(prices, edges, number)
        # A list of the free tuples in their order, with one entry more at its head.
        after = np.arange(1, rows + 2).astype(np.int32)
        after[rows - 1], after[rows] = _NONE, 0
        taken = np.full(rows, _NONE, np.int32)
        for i in range(rows):
            found = _cheapest(prices, covered, edges, number, after, i)
            if found >= 0:
                _take(after, found)
                taken[i] = found
                continue
            counts[0] += 1
            back = _go_back(prices, covered, edges, number, after, taken, i)
            counts[1] = max(counts[1], back)
            if back < 0:
                counts[2] += 1
                _pass_on(edges, number, after, taken, i)
        for i in range(rows):
            edges[taken[i], number] = i

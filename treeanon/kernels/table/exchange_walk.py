"""The tuple that is worth most of all, found by looking at all that could be: a walk that leaves out what cannot be it.

Tuples are made member by member, each no more worth than the one before. What such a beginning comes to at least is
known from its cost, and from what every class that could follow is worth and makes it cost more: r more members make
it cost more by what each of them alone does at least, and so also by the r-th part of what all of them alone do.

What every tuple would pay for what every tuple gives away, one member each, is here, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.sorting import sort
from treeanon.kernels.table.freeform_prices import Prices, fill_column_steps, fill_steps, rows_cost
from treeanon.kernels.table.orders import SETS

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


def worthwhile(prices: Prices, most: Ints, worth: Floats, begin: Longs, k: int) -> tuple[Ints, Floats, Floats]:
    """Return for each class to begin with a tuple of k members that is worth much: these ascending, its cost, and what
    is left of the cost when what its members are worth is taken from it.

    Members are added greedily, then replaced one by one. No class comes more often than `most` says. There are k
    members to be had, and k is more than 1.
    """
    return _worthwhile(prices, most, worth, begin, k, np.argsort(-worth, kind="stable"))


@njit
def _worthwhile(
    prices: Prices, most: Ints, worth: Floats, begin: Longs, k: int, by_worth: Longs
) -> tuple[Ints, Floats, Floats]:
    """As `worthwhile`, with the classes in the order of their worth."""
    out = np.empty((len(begin), k), np.int32)
    costs, left = np.empty(len(begin), np.float64), np.empty(len(begin), np.float64)
    steps = np.zeros(len(prices.held), np.float64)
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
        sort(members, 0, k)
    return out, costs, left


NEVER = 1e9
"""What is asked for a member that a tuple may not take."""

HARD: Floats = np.zeros(0)
"""What has `fill_offers` ask for what tuples really grow by."""


@njit
def _soften(prices: Prices, c: int, others: Ints, count: int, soft: Floats, times: Ints, steps: Floats) -> None:
    """Have a value that is in a set already cost soft[n] of what a new one does, where n of the rows have it.

    `times` is empty room for a number of every value, and so it is left.
    """
    for i in range(count):
        times[prices.cells[others[i], c]] += 1
    for i in range(count):
        v = prices.cells[others[i], c]
        if times[v] > 0:
            steps[v] = prices.shares[prices.starts[c]] * soft[times[v]]
            times[v] = 0


@njit
def fill_offers(prices: Prices, members: Ints, given: Longs, most: Ints, soft: Floats, costs: Floats) -> None:
    """costs[t, u]: by how much tuple t, without the member given[t], grows by the member given[u] of tuple u; NEVER if
    it covers all rows of that class already.

    soft[n] says what share of a new value's cost is asked for one that n of the others have, in sets; without any of
    it that is nothing, as it is. What is rare in a tuple then costs more than what is frequent, so that values leave
    tuples in which they are rare, though that saves nothing before the last one has left. Columns of one value alone
    are left out: they would cost all the same.
    """
    count, k = members.shape
    steps, held = np.zeros(len(prices.held), np.float64), np.zeros(len(most), np.int32)
    times, others = np.zeros(len(prices.held), np.int32), np.empty(k, np.int32)
    columns, asked = np.empty(len(prices.kinds), np.int64), 0
    for c in range(len(columns)):
        if prices.bounds[c + 1] - prices.bounds[c] > 1:
            columns[asked] = c
            asked += 1
    offered, cells = np.empty(count, np.int32), np.empty((count, asked), np.int32)
    for u in range(count):
        offered[u] = members[u, given[u]]
        for i in range(asked):
            cells[u, i] = prices.cells[offered[u], columns[i]]
    for t in range(count):
        kept = 0
        for j in range(k):
            if j != given[t]:
                others[kept] = members[t, j]
                held[others[kept]] += 1
                kept += 1
        for i in range(asked):
            fill_column_steps(prices, columns[i], others, kept, steps)
            if len(soft) > 0 and prices.kinds[columns[i]] == SETS:
                _soften(prices, columns[i], others, kept, soft, times, steps)
        for u in range(count):
            cost = 0.0
            for i in range(asked):
                cost += steps[cells[u, i]]
            costs[t, u] = cost if held[offered[u]] < most[offered[u]] else NEVER
        for j in range(kept):
            held[others[j]] = 0


class _Walk(NamedTuple):
    """Where a walk is: the members so far, how often each class may still come, and by the number of members what it
    comes to, and the classes that can follow, of which the first at[m] have been tried.
    """

    members: Ints
    room: Ints
    left: Floats
    listed: Ints
    counts: Longs
    at: Longs
    growth: Floats
    steps: Floats
    least: Floats


@njit
def _begun(prices: Prices, most: Ints, k: int) -> _Walk:
    return _Walk(
        np.empty(k, np.int32),
        most.copy(),
        np.empty(k),
        np.empty((k + 1, len(most)), np.int32),
        np.zeros(k + 1, np.int64),
        np.zeros(k + 1, np.int64),
        np.empty(len(most)),
        np.zeros(len(prices.held)),
        np.empty(k),
    )


@njit
def _look(prices: Prices, worth: Floats, walk: _Walk, m: int) -> None:
    """What the first m members come to, which classes have room yet, and by how much each would make them cost more."""
    fill_steps(prices, walk.members, m, walk.steps)
    walk.left[m] = rows_cost(prices, walk.members, m)
    for i in range(m):
        walk.left[m] -= worth[walk.members[i]]
    listed, kept = walk.listed[m], 0
    for i in range(walk.counts[m]):
        v = listed[i]
        if walk.room[v] > 0:
            listed[kept] = v
            walk.growth[kept] = 0.0
            for c in range(prices.cells.shape[1]):
                walk.growth[kept] += walk.steps[prices.cells[v, c]]
            kept += 1
    walk.counts[m] = kept


@njit
def _most_worth(worth: Floats, walk: _Walk, m: int, r: int) -> tuple[float, float]:
    """Return what the r classes that are worth most are worth together, and the least of them; -inf if there are
    not r.
    """
    total, last = 0.0, 0.0
    for i in range(walk.counts[m]):
        v = walk.listed[m, i]
        taken = min(walk.room[v], r)
        total, last = total + taken * worth[v], worth[v]
        r -= taken
        if r == 0:
            return total, last
    return -np.inf, last


@njit
def _least_shares(worth: Floats, walk: _Walk, m: int, r: int) -> float:
    """Return the sum of the r least of what classes come to if each pays the r-th part of its growth: walk.least has
    them.
    """
    least, count = walk.least, 0
    for i in range(walk.counts[m]):
        v = walk.listed[m, i]
        share = walk.growth[i] / r - worth[v]
        for _copy in range(min(walk.room[v], r)):
            if count == r and share >= least[r - 1]:
                break
            # Insertion into the sorted least shares.
            j = count if count < r else r - 1
            count = min(count + 1, r)
            while j > 0 and least[j - 1] > share:
                least[j] = least[j - 1]
                j -= 1
            least[j] = share
    return float(least[:r].sum())


@njit
def _narrow(worth: Floats, walk: _Walk, m: int, below: float) -> bool:
    """Drop the classes with which no tuple comes to less than `below`; return whether there were any."""
    r, left, before = len(walk.members) - m, walk.left[m], walk.counts[m]
    total, last = _most_worth(worth, walk, m, r)
    kept = 0
    if total > -np.inf:
        shares = _least_shares(worth, walk, m, r)
        greatest = walk.least[r - 1]
        if left + shares < below:
            for i in range(before):
                v = walk.listed[m, i]
                share = walk.growth[i] / r - worth[v]
                # Two bounds of what a tuple with the class comes to: by shares of the growth, and by its own growth
                # alone.
                one = left + shares + max(share - greatest, 0.0)
                other = left + walk.growth[i] - total + max(last - worth[v], 0.0)
                if one < below and other < below:
                    walk.listed[m, kept], walk.growth[kept] = v, walk.growth[i]
                    kept += 1
    walk.counts[m] = kept
    return bool(kept < before)


@njit
def _best(prices: Prices, worth: Floats, walk: _Walk, members: Ints, below: float, looks: int) -> tuple[float, bool]:
    """Walks from the first member on; puts the best tuple that comes to less than `below` into `members`, and returns
    what it comes to (`below` if there is none), and whether all have been looked at.
    """
    k, m, is_new = len(members), 1, True
    while m > 0:
        if is_new:
            looks -= 1
            if looks < 0:
                for i in range(m):
                    walk.room[walk.members[i]] += 1
                return below, False
            _look(prices, worth, walk, m)
            while _narrow(worth, walk, m, below):
                pass
            walk.at[m] = 0
        # The last member needs no further level: the best class for it is found in one pass.
        if m == k - 1:
            for i in range(walk.counts[m]):
                v = walk.listed[m, i]
                found = walk.left[m] + walk.growth[i] - worth[v]
                if found < below:
                    below = found
                    members[:m], members[m] = walk.members[:m], v
            walk.counts[m] = 0
        if walk.at[m] < walk.counts[m]:
            at = walk.at[m]
            walk.at[m] += 1
            walk.members[m] = walk.listed[m, at]
            walk.room[walk.members[m]] -= 1
            # Members come in the order of the list, so that no combination comes twice.
            walk.counts[m + 1] = walk.counts[m] - at
            walk.listed[m + 1, : walk.counts[m + 1]] = walk.listed[m, at : walk.counts[m]]
            m, is_new = m + 1, True
        else:
            m, is_new = m - 1, False
            walk.room[walk.members[m]] += 1
    return below, True


def worthiest(
    prices: Prices, most: Ints, worth: Floats, begin: Longs, k: int, below: float, looks: int
) -> tuple[Ints, Floats, Flags]:
    """Return for each class to begin with the tuple of k members, none worth more than it, of which least is left when
    what they are worth is taken from the cost; what is left, which is `below` if none comes to less; and whether that
    is sure, as no more than so many `looks` were needed.

    `begin` are all classes, or some of them, and k is more than 1.
    """
    order = np.argsort(-worth, kind="stable")
    return _worthiest(prices, most, worth, begin, k, below, looks, order, np.argsort(order))


@njit
def _worthiest(
    prices: Prices,
    most: Ints,
    worth: Floats,
    begin: Longs,
    k: int,
    below: float,
    looks: int,
    order: Longs,
    place: Longs,
) -> tuple[Ints, Floats, Flags]:
    """As `worthiest`, with the classes in the order of their worth, and the place of each in it."""
    out = np.empty((len(begin), k), np.int32)
    left, is_sure = np.empty(len(begin)), np.empty(len(begin), np.bool_)
    walk = _begun(prices, most, k)
    for q in range(len(begin)):
        first = place[begin[q]]
        walk.members[0] = begin[q]
        walk.room[begin[q]] -= 1
        walk.counts[1] = len(order) - first
        walk.listed[1, : walk.counts[1]] = order[first:]
        left[q], is_sure[q] = _best(prices, worth, walk, out[q], below, looks)
        if left[q] < below:
            sort(out[q], 0, k)
    return out, left, is_sure

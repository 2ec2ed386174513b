"""The best groups of a one-dimensional order of which none loses more than a bound, by dynamic programming."""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.table.onedim_bounds import Pair, clear_box, grow, pair_of
from treeanon.kernels.table.onedim_diversity_loss import Prices, price_of
from treeanon.kernels.table.orders import SETS


@njit
def first_fitting(cells: Ints, p: Prices, limit: float) -> Longs:
    """Return for every place the first one before it, or itself, from which on all rows to it fit into one group; one
    more than the place where not even its own row fits.
    """
    rows = len(cells)
    out = np.empty(rows, np.int64)
    pair = pair_of(rows, 1, cells.shape[1], len(p.shares))
    # Boxes of all rows from a place to the pivot; the group of the pair has those after the pivot.
    back = np.empty((rows + 1, 4, cells.shape[1]), np.int64)
    whole = np.empty((4, cells.shape[1]), np.int64)
    first, pivot = 0, 0
    has_sets = (p.kinds == SETS).any()
    for place in range(rows):
        grow(cells, place, pair, 0, p)
        while first <= place:
            if has_sets:
                price = price_of(pair.box[0], p)
            elif first < pivot:
                _joined(back[first], pair.box[0], whole)
                price = price_of(whole, p)
            else:
                price = price_of(pair.box[0], p)
            if price <= limit:
                break
            first += 1
            if has_sets:
                _shrink(cells, first, place, pair, p)
            elif first >= pivot:
                pivot = place + 1
                clear_box(pair, 0)
                for at in range(place, first - 1, -1):
                    grow(cells, at, pair, 0, p)
                    back[at] = pair.box[0]
                clear_box(pair, 0)
        out[place] = first
    return out


@njit
def _shrink(cells: Ints, first: int, place: int, pair: Pair, p: Prices) -> None:
    """Make the box that of the rows from `first` to `place`: sets are counted down, all else is looked at again."""
    for c in range(cells.shape[1]):
        cell = cells[first - 1, c]
        if cell < 0:
            pair.box[0, 3, c] -= 1
        elif p.kinds[c] == SETS:
            pair.held[0, p.starts[c] + cell] -= 1
            pair.box[0, 2, c] -= pair.held[0, p.starts[c] + cell] == 0
        if cell == pair.box[0, 0, c] or cell == pair.box[0, 1, c]:
            low, high = np.int64(2147483647), np.int64(-1)
            for at in range(first, place + 1):
                if cells[at, c] >= 0:
                    low, high = min(low, cells[at, c]), max(high, cells[at, c])
            pair.box[0, 0, c], pair.box[0, 1, c] = low, high


@njit
def _joined(one: Longs, other: Longs, out: Longs) -> None:
    for c in range(one.shape[1]):
        out[0, c] = min(one[0, c], other[0, c])
        out[1, c] = max(one[1, c], other[1, c])
        out[2, c] = 0
        out[3, c] = one[3, c] + other[3, c]


@njit
def largest_pieces(first: Longs, k: int, last: Longs) -> bool:
    """Return whether the rows can be cut into groups of k and more of which each fits; `last` gets where the group
    begins that ends before a place.
    """
    rows = len(first)
    last[0] = 0
    newest = np.empty(rows + 1, np.int64)
    newest[0] = 0
    for i in range(1, rows + 1):
        last[i] = -1
        if i >= k:
            begin = newest[i - k]
            if begin >= first[i - 1]:
                last[i] = begin
        newest[i] = i if last[i] >= 0 else newest[i - 1]
    return bool(last[rows] >= 0)


@njit
def _next_group(take: Longs, room: Longs, must: int) -> bool:
    """Make `take` the next choice of how many rows of each value a group has; False after the last one."""
    for v in range(len(take)):
        if take[v] < room[v]:
            take[v] += 1
            return True
        take[v] = 1 if v == must else 0
    return False


@njit
def most_private(starts: Longs, places: Longs, reach: Longs) -> tuple[Longs, Longs, Longs]:
    """Return the most privacy that the first rows of every value can have, as numerators and denominators, and which
    rows were there before the last group.

    The rows of value v are places[starts[v]:starts[v + 1]]; a group whose first row is at p may have rows to reach[p].
    States are numbered as in `best_groups`.
    """
    count = len(starts) - 1
    step = np.ones(count + 1, np.int64)
    for v in range(count):
        step[v + 1] = step[v] * (starts[v + 1] - starts[v] + 1)
    over, under = np.zeros(step[count], np.int64), np.ones(step[count], np.int64)
    before = np.full(step[count], -1, np.int64)
    over[0], under[0] = 1, 0
    taken, room, take = np.empty(count, np.int64), np.empty(count, np.int64), np.zeros(count, np.int64)
    for state in range(step[count] - 1):
        if over[state] == 0:
            continue
        first = -1
        for v in range(count):
            taken[v] = starts[v] + state % step[v + 1] // step[v]
            if taken[v] < starts[v + 1] and (first < 0 or places[taken[v]] < places[taken[first]]):
                first = v
        for v in range(count):
            room[v], take[v] = 0, 0
            while taken[v] + room[v] < starts[v + 1] and places[taken[v] + room[v]] <= reach[places[taken[first]]]:
                room[v] += 1
        if room[first] == 0:
            continue
        take[first] = 1
        while True:
            size, most, following = take.sum(), take.max(), state + (take * step[:count]).sum()
            if over[state] * most < size * under[state]:
                size, most = over[state], under[state]
            if size * under[following] > over[following] * most:
                over[following], under[following], before[following] = size, most, state
            if not _next_group(take, room, first):
                break
    return over, under, before

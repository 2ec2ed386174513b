"""Groups of rows none of which loses more than a bound, as private as can be: the accuracy-constrained problem.

`cells[p, c]` says which value the row at place p of an order has in column c, as in `onedim_diversity_loss`, and
`values[p]` is its sensitive value. The privacy of a group is its size divided by the count of its most frequent
sensitive value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.table.onedim_diversity_loss import Prices, column_price
from treeanon.kernels.table.orders import SETS


class Pair(NamedTuple):
    """Two groups side by side, the previous one and the current one, which take turns as number 0 and 1.

    Of group g: `size[g]` rows `members[g]`, `counts[g, v]` of which have value v, `alike[g, n]` values with n rows each
    and `most[g]` rows of the most frequent; `box[g]` has the least and the greatest cell of a column, the number of
    different ones (of SETS, each counted in `held[g]`), and how many are missing; it is `stale` after rows have left.
    `came[p]` says of a row that it was moved already, `barred[g, v]` that no row of value v fits into group g. The
    others are work space.
    """

    members: Longs
    size: Longs
    counts: Longs
    alike: Longs
    most: Longs
    box: Longs
    held: Longs
    stale: Flags
    came: Flags
    moved: Longs
    barred: Flags
    head: Longs
    after: Longs


@njit
def pair_of(rows: int, count: int, columns: int, shares: int) -> Pair:
    """Return two empty groups."""
    pair = Pair(
        np.empty((2, rows + 1), np.int64),
        np.zeros(2, np.int64),
        np.zeros((2, count), np.int64),
        np.zeros((2, rows + 2), np.int64),
        np.zeros(2, np.int64),
        np.zeros((2, 4, columns), np.int64),
        np.zeros((2, shares), np.int64),
        np.zeros(2, np.bool_),
        np.zeros(rows, np.bool_),
        np.zeros(count, np.int64),
        np.zeros((2, count), np.bool_),
        np.full(count, -1, np.int64),
        np.empty(rows + 1, np.int64),
    )
    for g in range(2):
        clear_box(pair, g)
    return pair


@njit
def clear_box(pair: Pair, g: int) -> None:
    """Make the box of a group that of no row."""
    pair.box[g, 0], pair.box[g, 1], pair.box[g, 2], pair.box[g, 3] = 2147483647, -1, 0, 0
    pair.stale[g] = False


@njit
def grow(cells: Ints, place: int, pair: Pair, g: int, p: Prices) -> None:
    """Make the box of a group that of one more row."""
    box = pair.box[g]
    for c in range(cells.shape[1]):
        cell = cells[place, c]
        if cell < 0:
            box[3, c] += 1
            continue
        if p.kinds[c] == SETS:
            at = p.starts[c] + cell
            box[2, c] += pair.held[g, at] == 0
            pair.held[g, at] += 1
        box[0, c] = min(box[0, c], cell)
        box[1, c] = max(box[1, c], cell)


@njit
def _forget_sets(cells: Ints, pair: Pair, g: int, p: Prices) -> None:
    """Make the counts of SETS zero for the members that there are."""
    for c in range(cells.shape[1]):
        if p.kinds[c] == SETS:
            for i in range(pair.size[g]):
                cell = cells[pair.members[g, i], c]
                if cell >= 0:
                    pair.held[g, p.starts[c] + cell] = 0


@njit
def price_added(cells: Ints, place: int, pair: Pair, g: int, p: Prices, limit: float) -> float:
    """Return what a group and one more row lose, added up over the columns; infinite where that is above a limit."""
    total = 0.0
    box = pair.box[g]
    for c in range(cells.shape[1]):
        cell = cells[place, c]
        if cell < 0 and box[1, c] < 0:
            continue
        if cell < 0 or box[3, c] > 0:
            total += p.mixed[c]
        else:
            # Only sets count what is different.
            different = box[2, c]
            if p.kinds[c] == SETS:
                different += pair.held[g, p.starts[c] + cell] == 0
            total += column_price(c, min(box[0, c], cell), max(box[1, c], cell), different, p)
        if total > limit:
            return np.inf
    return total


@njit
def _count(pair: Pair, g: int, v: int, by: int) -> None:
    """Count a row of value v more or less."""
    was = pair.counts[g, v]
    pair.counts[g, v] = was + by
    if was:
        pair.alike[g, was] -= 1
    if was + by:
        pair.alike[g, was + by] += 1
    if was + by > pair.most[g]:
        pair.most[g] = was + by
    while pair.most[g] and pair.alike[g, pair.most[g]] == 0:
        pair.most[g] -= 1


@njit
def _put(cells: Ints, values: Ints, place: int, pair: Pair, g: int, p: Prices) -> None:
    pair.members[g, pair.size[g]] = place
    pair.size[g] += 1
    _count(pair, g, values[place], 1)
    grow(cells, place, pair, g, p)


@njit
def _emit(cells: Ints, values: Ints, pair: Pair, g: int, p: Prices, group: Ints, number: int) -> int:
    """Write the number of a group to its rows, and empty it; return the next number."""
    _forget_sets(cells, pair, g, p)
    for i in range(pair.size[g]):
        place = pair.members[g, i]
        group[place] = number
        _count(pair, g, values[place], -1)
    filled = pair.size[g] > 0
    pair.size[g] = 0
    clear_box(pair, g)
    return number + 1 if filled else number


@njit
def _renew(cells: Ints, pair: Pair, g: int, p: Prices) -> None:
    """Make the box that of the members that are left."""
    # What has left is still counted among the sets.
    for c in range(cells.shape[1]):
        if p.kinds[c] == SETS:
            pair.held[g, p.starts[c] : p.starts[c + 1]] = 0
    clear_box(pair, g)
    for i in range(pair.size[g]):
        grow(cells, pair.members[g, i], pair, g, p)


@njit
def _keeps_privacy(pair: Pair, source: int, target: int, v: int) -> bool:
    """Return whether the lesser privacy of two groups does not fall when a row of value v goes to the other one."""
    size_s, most_s, size_t, most_t = pair.size[source], pair.most[source], pair.size[target], pair.most[target]
    # The lesser of two fractions, as numerator and denominator.
    over, under = (size_s, most_s) if size_s * most_t <= size_t * most_s else (size_t, most_t)
    here = pair.counts[source, v]
    left = most_s - 1 if here == most_s and pair.alike[source, here] == 1 else most_s
    if left and (size_s - 1) * under < over * left:
        return False
    return bool((size_t + 1) * under >= over * max(most_t, pair.counts[target, v] + 1))


@njit
def _pass(cells: Ints, values: Ints, pair: Pair, source: int, p: Prices, limit: float) -> int:
    """Move one row of each sensitive value to the other group, where that may be; return how many were."""
    target = 1 - source
    if pair.stale[target]:
        _renew(cells, pair, target, p)
    kinds = 0
    found = np.empty(pair.size[source], np.int64)
    for i in range(pair.size[source]):
        place = pair.members[source, i]
        v = values[place]
        if pair.head[v] < 0:
            found[kinds] = v
            kinds += 1
        pair.after[i] = pair.head[v]
        pair.head[v] = i
    found = found[:kinds]
    often = np.empty(kinds, np.int64)
    for j in range(kinds):
        often[j] = -pair.counts[source, found[j]] * (len(values) + 1) + j
    count = 0
    for j in np.argsort(often):
        v = found[j]
        if pair.moved[v] == target + 1 or pair.barred[target, v] or not _keeps_privacy(pair, source, target, v):
            continue
        moved = _move_nearest(cells, values, v, pair, source, p, limit)
        count += moved
        # What does not fit will not fit before a row has left the group.
        pair.barred[target, v] = moved == 0
    for j in range(kinds):
        pair.head[found[j]] = -1
    if count:
        kept = 0
        for i in range(pair.size[source]):
            if pair.members[source, i] >= 0:
                pair.members[source, kept] = pair.members[source, i]
                kept += 1
        pair.size[source] = kept
        pair.barred[source] = False
        pair.stale[source] = True
    return count


@njit
def _move_nearest(cells: Ints, values: Ints, v: int, pair: Pair, source: int, p: Prices, limit: float) -> int:
    """Move that row of value v by which the other group loses least; 0 if none may go."""
    best, best_at = limit, -1
    i = pair.head[v]
    while i >= 0:
        place = pair.members[source, i]
        if place >= 0 and not pair.came[place]:
            price = price_added(cells, place, pair, 1 - source, p, best)
            # Later in the list is earlier in the group: of equal rows the first.
            if price <= best:
                best, best_at = price, i
        i = pair.after[i]
    if best_at < 0:
        return 0
    place = pair.members[source, best_at]
    _count(pair, source, v, -1)
    _put(cells, values, place, pair, 1 - source, p)
    pair.members[source, best_at] = -1
    pair.came[place] = True
    pair.moved[v] = source + 1
    return 1


@njit
def adjust(cells: Ints, values: Ints, pair: Pair, previous: int, p: Prices, limit: float) -> int:
    """Move rows between the two groups, in both directions, until a pass moves nothing; return how many were moved."""
    pair.moved[:] = 0
    pair.barred[:] = False
    moves = 0
    while True:
        here = 0
        for source in (previous, 1 - previous):
            size = pair.size[source]
            here += _pass(cells, values, pair, source, p, limit) if size else 0
        moves += here
        if not here:
            break
    for g in range(2):
        if pair.stale[g]:
            _renew(cells, pair, g, p)
    return moves


@njit
def bounded_groups(cells: Ints, values: Ints, count: int, p: Prices, limit: float) -> tuple[Ints, int]:
    """Return the group of every place, and how many rows were moved: places one after the other, while they fit."""
    rows = len(values)
    group = np.full(rows, -1, np.int32)
    pair = pair_of(rows, count, cells.shape[1], len(p.shares))
    current, number, moves = 0, 0, 0
    for place in range(rows):
        if price_added(cells, place, pair, current, p, limit) > limit and pair.size[current]:
            previous = 1 - current
            if pair.size[previous]:
                moves += adjust(cells, values, pair, previous, p, limit)
                number = _emit(cells, values, pair, previous, p, group, number)
            current = previous
        _put(cells, values, place, pair, current, p)
    if pair.size[1 - current] and pair.size[current]:
        moves += adjust(cells, values, pair, 1 - current, p, limit)
    number = _emit(cells, values, pair, 1 - current, p, group, number)
    _emit(cells, values, pair, current, p, group, number)
    return group, moves


@njit
def adjusted_groups(
    cells: Ints, values: Ints, count: int, offsets: Longs, members: Longs, p: Prices, limit: float
) -> tuple[Ints, int]:
    """The same, beginning with groups that there are, which lie near those before and after them."""
    group = np.full(len(values), -1, np.int32)
    pair = pair_of(len(values), count, cells.shape[1], len(p.shares))
    number, moves, current = 0, 0, 0
    for g in range(len(offsets) - 1):
        for i in range(offsets[g], offsets[g + 1]):
            _put(cells, values, members[i], pair, current, p)
        previous = 1 - current
        if pair.size[previous]:
            moves += adjust(cells, values, pair, previous, p, limit)
            number = _emit(cells, values, pair, previous, p, group, number)
        current = previous
    number = _emit(cells, values, pair, 1 - current, p, group, number)
    _emit(cells, values, pair, current, p, group, number)
    return group, moves

"""Groups of rows in an order, each with different sensitive values, taken in one pass.

`values` has the sensitive value of every place in the order, from 0 on. A group of n rows in which no value has more
than one row is n-diverse: no value has more than 1/n of it.

The best groups of rows with different sensitive values, among those that take the rows of each value in order.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.table.onedim_diversity_loss import Prices, box_of, price_of


@njit
def queues(values: Ints, count: int) -> tuple[Longs, Longs]:
    """Return the places of every value in order: those of v are places[starts[v]:starts[v + 1]]."""
    starts = np.zeros(count + 1, np.int64)
    for i in range(len(values)):
        starts[values[i] + 1] += 1
    for v in range(count):
        starts[v + 1] += starts[v]
    free = starts[:-1].copy()
    places = np.empty(len(values), np.int64)
    for i in range(len(values)):
        places[free[values[i]]] = i
        free[values[i]] += 1
    return starts, places


@njit
def ranked_values(left: Longs) -> tuple[Longs, Longs, Longs]:
    """Return values by how many rows they have left: those with c are ranked[first[c]:first[c + 1]].

    Gives `first`, `ranked`, and where in it each value is.
    """
    most = 0
    for v in range(len(left)):
        most = max(most, left[v])
    first = np.zeros(most + 2, np.int64)
    for v in range(len(left)):
        first[left[v] + 1] += 1
    for c in range(most + 1):
        first[c + 1] += first[c]
    free = first.copy()
    ranked = np.empty(len(left), np.int64)
    rank = np.empty(len(left), np.int64)
    for v in range(len(left)):
        rank[v] = free[left[v]]
        ranked[rank[v]] = v
        free[left[v]] += 1
    return first, ranked, rank


@njit
def one_less(v: int, left: Longs, first: Longs, ranked: Longs, rank: Longs) -> None:
    """Take one row from those that value v has left."""
    # It goes to the front of those with as many, which then belongs to those with one less.
    front = first[left[v]]
    other = ranked[front]
    ranked[rank[v]], rank[other] = other, rank[v]
    ranked[front], rank[v] = v, front
    first[left[v]] += 1
    left[v] -= 1


@njit
def critical_values(rest: int, ell: int, first: Longs) -> int:
    """Return how many values have as many of the `rest` rows as any may have: those from ranked[first[rest // ell]]
    on.
    """
    most = rest // ell
    return first[most + 1] - first[most] if most < len(first) - 1 else 0


@njit
def _set_key(least: Longs, leaf: int, key: int) -> None:
    """Give a leaf of the tree of least keys another key."""
    at = len(least) // 2 + leaf
    least[at] = key
    while at > 1:
        at //= 2
        low = min(least[2 * at], least[2 * at + 1])
        if least[at] == low:
            break
        least[at] = low


@njit
def _rest_is_eligible(
    size: int, rest: int, ell: int, critical: int, inside: int, first: Longs, inside_below: int
) -> bool:
    """Return whether no value has more than 1/ℓ of what is left when a group of `size` rows goes.

    `critical` values have as many rows as any may have, `inside` of them have one in the group; of those with one row
    less `inside_below` have one in it.
    """
    most = rest // ell
    after = (rest - size) // ell
    if after >= most:
        return True
    if after == most - 1:
        return inside == critical
    if after < most - 2 or critical > 0:
        return False
    top = len(first) - 2
    below = first[most] - first[most - 1] if most <= top + 1 else 0
    return inside_below == below


@njit
def diverse_groups(values: Ints, count: int, ell: int) -> tuple[Ints, int, int]:
    """Return the group of every place, their number, and how many of them were made by falling back.

    No value may have more than 1/ℓ of all rows. Groups have ℓ to 2ℓ - 1 rows of different values.

    Greedy step: the first rows in order whose values differ, ℓ of them, and more while the rest is not eligible. Where
    that does not help, fall-back step: the first rows of all values that would be too frequent in the rest, filled up
    with the first of others. That suffices: of n = q·ℓ + r rows at most ℓ + r/q values have q, and without one row of
    each of these (or of any ℓ values that include them) none has more than 1/ℓ of the rest.
    """
    rows = len(values)
    group = np.full(rows, -1, np.int32)
    starts, places = queues(values, count)
    head = starts[:-1].copy()
    left = np.diff(starts)
    first, ranked, rank = ranked_values(left)
    # Tells the value whose first row is the first of all, and so on: row numbers as leaves of a tree of least ones.
    width = 1
    while width < count:
        width *= 2
    least = np.full(2 * width, rows, np.int64)
    for v in range(count):
        _set_key(least, v, places[head[v]] if left[v] else rows)
    taken = np.empty(2 * ell, np.int64)
    chosen = np.zeros(count, np.bool_)
    rest, groups, fallen = rows, 0, 0
    while rest > 0:
        size = _greedy(taken, ell, rest, values, left, first, least)
        if size < 0:
            fallen += 1
            size = _fall_back(taken, -size, ell, rest, ranked, first, chosen, least, head, places)
        for i in range(size):
            v = taken[i]
            group[places[head[v]]] = groups
            head[v] += 1
            one_less(v, left, first, ranked, rank)
            _set_key(least, v, places[head[v]] if left[v] else rows)
        rest -= size
        groups += 1
    return group, groups, fallen


@njit
def _greedy(taken: Longs, ell: int, rest: int, values: Ints, left: Longs, first: Longs, least: Longs) -> int:
    """Write the values of the first rows that differ to `taken`, out of the tree; how many, negative if in vain."""
    most = rest // ell
    critical = critical_values(rest, ell, first)
    size, inside, inside_below = 0, 0, 0
    while size < 2 * ell - 1 and least[1] < len(values):
        v = values[least[1]]
        _set_key(least, v, len(values))
        taken[size] = v
        size += 1
        inside += left[v] == most
        inside_below += left[v] == most - 1
        if size < ell:
            continue
        if size == rest:
            return size
        if rest >= 2 * ell and _rest_is_eligible(size, rest, ell, critical, inside, first, inside_below):
            return size
    return -size


@njit
def _fall_back(
    taken: Longs,
    size: int,
    ell: int,
    rest: int,
    ranked: Longs,
    first: Longs,
    chosen: Flags,
    least: Longs,
    head: Longs,
    places: Longs,
) -> int:
    """Write the values of the fall-back step to `taken`, which has what was taken greedily; return their number."""
    most = rest // ell
    critical = critical_values(rest, ell, first)
    for i in range(critical):
        chosen[ranked[first[most] + i]] = True
    kept, spare = 0, max(0, ell - critical)
    for i in range(size):
        v = taken[i]
        if chosen[v]:
            continue
        if spare == 0:
            _set_key(least, v, places[head[v]])
            continue
        spare -= 1
        taken[kept] = v
        kept += 1
    for i in range(critical):
        v = ranked[first[most] + i]
        chosen[v] = False
        _set_key(least, v, len(places))
        taken[kept] = v
        kept += 1
    return kept


@njit
def best_groups(
    cells: Ints, starts: Longs, places: Longs, masks: Longs, sizes: Longs, levels: Longs, p: Prices, by_most: bool
) -> tuple[Floats, Ints]:
    """Return the least loss of the first rows of every value, for each level; and the mask of the last group taken, or
    -1.

    The rows of value v are places[starts[v]:starts[v + 1]]. A state says how many rows of each value are in groups
    already; its number is Σ taken[v]·step[v], where step[v] is the product of the (rows + 1) of the values before v.
    With `by_most` the loss is that of the group that loses most, else that of all rows.
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
            price = price_of(box, p) * (1 if by_most else size)
            for level in range(len(levels)):
                if not levels[level] <= sizes[i] < 2 * levels[level]:
                    continue
                whole = max(loss[state, level], price) if by_most else loss[state, level] + price
                if whole < loss[following, level]:
                    loss[following, level] = whole
                    last[following, level] = i
    return loss, last

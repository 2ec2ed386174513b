"""Groups of rows with different sensitive values, put together from rows that are near in an order by what is lost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.table.onedim_diversity import critical_values, one_less, ranked_values
from treeanon.kernels.table.onedim_diversity_loss import Prices, clear, grow, price_with


class Lists(NamedTuple):
    """The rows that are left as linked lists: all in order (ends: -1 and the number of rows), and those of each value.

    `heads` has the first row of each value, -1 for none.
    """

    after: Longs
    before: Longs
    own_after: Longs
    own_before: Longs
    heads: Longs


@njit
def _add(cells: Ints, place: int, box: Ints, group: Longs, size: int, p: Prices) -> None:
    """Put one more row into the group, at index `size`."""
    grow(cells, place, box, group, 0, size, -1, p)
    group[size] = place


@njit
def _nearest(
    cells: Ints,
    values: Ints,
    begin: int,
    following: Longs,
    window: int,
    inside: Flags,
    box: Ints,
    group: Longs,
    size: int,
    p: Prices,
) -> int:
    """Of the first `window` rows of a list the one that makes the group lose least, -1 if it has all their values."""
    best, chosen, at = np.inf, -1, begin
    for _ in range(window):
        if at < 0 or at >= len(values):
            break
        if not inside[values[at]]:
            price = price_with(cells, at, box, group, 0, size, -1, p, best)
            if price < best:
                best, chosen = price, at
        at = following[at]
    return chosen


@njit
def _linked(values: Ints, count: int) -> tuple[Lists, Longs]:
    """Return the lists of all rows, and how many there are of each value."""
    rows = len(values)
    own_after = np.full(rows, -1, np.int64)
    own_before = np.full(rows, -1, np.int64)
    heads = np.full(count, -1, np.int64)
    left = np.zeros(count, np.int64)
    for i in range(rows - 1, -1, -1):
        v = values[i]
        own_after[i] = heads[v]
        if heads[v] >= 0:
            own_before[heads[v]] = i
        heads[v] = i
        left[v] += 1
    return Lists(np.arange(1, rows + 1), np.arange(-1, rows - 1), own_after, own_before, heads), left


@njit
def _unlink(lists: Lists, at: int, v: int) -> None:
    """Take a row of value v out of the lists."""
    following, former = lists.after[at], lists.before[at]
    if former >= 0:
        lists.after[former] = following
    if following < len(lists.after):
        lists.before[following] = former
    own_following, own_former = lists.own_after[at], lists.own_before[at]
    if own_former >= 0:
        lists.own_after[own_former] = own_following
    else:
        lists.heads[v] = own_following
    if own_following >= 0:
        lists.own_before[own_following] = own_former


@njit
def near_groups(cells: Ints, values: Ints, count: int, ell: int, window: int, p: Prices) -> tuple[Ints, int, int]:
    """Return the group of every place, their number, and how many of them had values that had to be in them.

    No value may have more than 1/ℓ of all rows. Groups have ℓ to 2ℓ - 1 rows of different values.

    A group begins with the first row that is left, and grows by the row that makes it lose least: first of the first
    `window` rows of each value that would be too frequent in the rest, then of the first `window` rows that are left.
    Of n = q·ℓ + r rows at most ℓ + r/q values have q, and without one row of each of these (or of any ℓ values that
    include them) none has more than 1/ℓ of the rest: so it never gets stuck.
    """
    rows = len(values)
    group_of = np.full(rows, -1, np.int32)
    lists, left = _linked(values, count)
    first, ranked, rank = ranked_values(left)
    box = np.empty((4, cells.shape[1]), np.int32)
    group = np.empty(2 * ell, np.int64)
    inside = np.zeros(count, np.bool_)
    start, rest, groups, forced = 0, rows, 0, 0
    while rest > 0:
        # Values that would be too frequent in the rest must be in this group.
        clear(box)
        critical = critical_values(rest, ell, first)
        forced += critical > 0
        size = 0
        # A last group of less than 2ℓ rows has all that is left.
        wanted = ell if rest >= 2 * ell else rest
        if critical < ell or left[values[start]] == rest // ell:
            _add(cells, start, box, group, 0, p)
            inside[values[start]] = True
            size = 1
        for i in range(critical):
            v = ranked[first[rest // ell] + i]
            if not inside[v]:
                at = _nearest(cells, values, lists.heads[v], lists.own_after, window, inside, box, group, size, p)
                _add(cells, at, box, group, size, p)
                inside[v] = True
                size += 1
        while size < wanted:
            at = _nearest(cells, values, start, lists.after, window, inside, box, group, size, p)
            if at < 0:
                # All rows near have values that the group has: the first row of the most frequent other one.
                i = count - 1
                while inside[ranked[i]]:
                    i -= 1
                at = lists.heads[ranked[i]]
            _add(cells, at, box, group, size, p)
            inside[values[at]] = True
            size += 1
        # The rows leave all lists, and the counts of their values go down, before the next group begins.
        for i in range(size):
            v = values[group[i]]
            inside[v] = False
            group_of[group[i]] = groups
            if group[i] == start:
                start = lists.after[start]
            _unlink(lists, group[i], v)
            one_less(v, left, first, ranked, rank)
        rest -= size
        groups += 1
    return group_of, groups, forced

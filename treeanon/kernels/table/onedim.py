"""Loops over rows in a one-dimensional order."""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Floats, Ints, Longs
from treeanon.kernels.jit import njit


@njit
def turn_back(rows: Longs, points: Ints, columns: Longs) -> None:
    """Turn lexicographically ordered rows, in place, so that every column goes on from where it is.

    Among the rows that are equal in the columns before it, a column runs up or down, whichever begins nearer to its
    value in the row before them.
    """
    count = len(rows)
    for level in range(1, len(columns)):
        column = columns[level]
        start = 0
        while start < count:
            stop = start + 1
            same = True
            while stop < count and same:
                for before in range(level):
                    if points[rows[stop], columns[before]] != points[rows[start], columns[before]]:
                        same = False
                        break
                if same:
                    stop += 1
            if start:
                here = points[rows[start - 1], column]
                if abs(points[rows[stop - 1], column] - here) < abs(points[rows[start], column] - here):
                    rows[start:stop] = rows[start:stop][::-1].copy()
            start = stop


@njit
def walked(rows: Longs, points: Ints, scale: Floats) -> Floats:
    """Return how far it is along the rows in their order to each of them; a step in column c counts scale[c]."""
    out = np.zeros(len(rows), np.float64)
    for i in range(1, len(rows)):
        out[i] = out[i - 1]
        for c in range(points.shape[1]):
            out[i] += abs(points[rows[i], c] - points[rows[i - 1], c]) * scale[c]
    return out


@njit
def add_range_costs(values: Ints, places: Floats, mixed: float, k: int, first: int, costs: Floats) -> None:
    """Add to costs[i, s - k] what a column costs in the s rows from first + i on: the way from its least rank to its
    greatest, by the places of the ranks. Negative values are missing: nothing if all are, `mixed` among others.
    """
    for i in range(len(costs)):
        low, high, missing = len(places), -1, False
        for at in range(first + i, min(first + i + 2 * k - 1, len(values))):
            value = values[at]
            if value < 0:
                missing = True
            else:
                low, high = min(low, value), max(high, value)
            size = at - first - i + 1
            if size >= k and high >= 0:
                costs[i, size - k] += mixed if missing else places[high] - places[low]


@njit
def add_node_costs(
    values: Ints, shares: Floats, parent: Ints, end: Ints, mixed: float, k: int, first: int, costs: Floats
) -> None:
    """The same for a column of nodes of a hierarchy: the share of the lowest node that covers all of them."""
    for i in range(len(costs)):
        above, missing = np.int32(-1), False
        for at in range(first + i, min(first + i + 2 * k - 1, len(values))):
            value = values[at]
            if value < 0:
                missing = True
            elif above < 0:
                above = value
            else:
                while value < above or value >= end[above]:
                    above = parent[above]
            size = at - first - i + 1
            if size >= k and above >= 0:
                costs[i, size - k] += mixed if missing else shares[above]


@njit
def add_set_costs(values: Ints, ranks: int, step: float, mixed: float, k: int, first: int, costs: Floats) -> None:
    """The same for a column of which the distinct values cost a step each after the first; `mixed` if some are
    missing.
    """
    seen = np.full(ranks, -1, np.int64)
    for i in range(len(costs)):
        distinct, missing = 0, False
        for at in range(first + i, min(first + i + 2 * k - 1, len(values))):
            value = values[at]
            if value < 0:
                missing = True
            elif seen[value] != i:
                seen[value] = i
                distinct += 1
            size = at - first - i + 1
            if size >= k and distinct:
                costs[i, size - k] += mixed if missing else (distinct - 1) * step


@njit
def add_extent_costs(places: Floats, k: int, first: int, costs: Floats) -> None:
    """The same for how far the first row's place is from the last one's."""
    for i in range(len(costs)):
        for at in range(first + i + k - 1, min(first + i + 2 * k - 1, len(places))):
            costs[i, at - first - i + 1 - k] += places[at] - places[first + i]


@njit
def extend_cuts(costs: Floats, k: int, first: int, best: Floats, size: Longs) -> None:
    """Go on with the least cost `best[j]` of cutting the first j rows into groups of k to 2k - 1, over the groups that
    begin at `first` and after; size[j] is that of the last of these groups. A group's cost counts for each row.
    """
    rows = len(best) - 1
    for i in range(len(costs)):
        here = best[first + i]
        if here == np.inf:
            continue
        for s in range(k, min(2 * k, rows - first - i + 1)):
            cost = here + s * costs[i, s - k]
            if cost < best[first + i + s]:
                best[first + i + s] = cost
                size[first + i + s] = s


@njit
def cut_groups(rows: Longs, size: Longs) -> tuple[Longs, int]:
    """Return the group of every row, and the number of groups, where size[j] is that of the last group of the first
    j.
    """
    out = np.empty(len(rows), np.int64)
    groups, stop = 0, len(rows)
    while stop > 0:
        for at in range(stop - size[stop], stop):
            out[rows[at]] = groups
        stop -= size[stop]
        groups += 1
    return out, groups

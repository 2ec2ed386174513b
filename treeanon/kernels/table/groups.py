"""Loops over groups of rows: their numbers, their values, their answers to queries.

- Rows of codes are numbered by the group they are in.
- Anatomy: groups of as many different values as are asked for, of those that are left most often.
- t-closeness: how much mass has to move, and how far, to make a group's values be distributed as the whole's. All is
  counted in units of one person of a group and one of the whole, so numbers are whole ones; or doubles throughout,
  where those would be too large.
- Queries: rows spread evenly over boxes of cells, added up in the cells that a query looks at. The cells looked at are
  a tree: nodes are numbered level by level, node n is one cell of its level's column, and its children are the nodes
  child[n] .. child[n + 1] - 1, in ascending order; nodes of the last level have none. A path from the top is a cell of
  the query.
- k-Optimize: what each value would bring that may still be added to an anonymization.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.kernels.jit import njit, read_only

_ROOM = 1 << 62


def group_numbers(columns: Sequence[Ints], sizes: Sequence[int], rows: int) -> tuple[Longs, int]:
    """Return the number of each row's group, from 0, and how many groups there are: rows of a group are equal in all
    columns.

    Codes of column i lie between 0 and sizes[i] - 1. Groups are numbered in the order of their codes. Without columns
    all rows are one group.

    >>> group_numbers([np.array([1, 0, 1]), np.array([5, 5, 5])], [2, 6], 3)
    (array([1, 0, 1]), 2)
    """
    key = np.zeros(rows, np.int64)
    room = 1
    for codes, size in zip(columns, sizes, strict=True):
        if room * size >= _ROOM:
            key, room = _ranks(key)
        key = key * size + codes
        room *= size
    return _ranks(key)


def _ranks(key: Longs) -> tuple[Longs, int]:
    """Return the rank of each number among the different ones, and how many these are."""
    order = np.argsort(key)
    ascending = key[order]
    ranks = np.zeros(len(key), np.int64)
    np.cumsum(ascending[1:] != ascending[:-1], out=ranks[1:])
    numbers = np.empty_like(ranks)
    numbers[order] = ranks
    return numbers, int(ranks[-1]) + 1 if len(key) else 0


@njit
def draw_groups(rows: Longs, sizes: Longs, size: int, group: Longs) -> tuple[int, Longs]:
    """Write the group of every row that gets one; return how many groups there are, and what is left of each bucket.

    `rows` lists buckets of rows with equal values, the largest first: bucket b ends where its sizes say. Each group
    takes the last row left of the `size` buckets that have most.
    """
    left, ends = sizes.copy(), np.cumsum(sizes)
    buckets, groups = len(sizes), 0
    while size <= buckets and left[size - 1] > 0:
        least = left[size - 1]
        # Of equal buckets the last are taken, so that they stay in order of what is left.
        low, high = size - 1, size
        while low > 0 and left[low - 1] == least:
            low -= 1
        while high < buckets and left[high] == least:
            high += 1
        for i in range(size):
            b = i if i < low else high - 1 - (i - low)
            left[b] -= 1
            group[rows[ends[b] - sizes[b] + left[b]]] = groups
        groups += 1
    return groups, left


Numbers = npt.NDArray[Any]

_SMALL = 24


@njit
def add_over_edges(
    starts: Longs,
    values: Ints,
    counts: Longs,
    above: Longs,
    length: Longs,
    there: Numbers,
    persons: Numbers,
    everybody: Numbers,
    far: Numbers,
) -> None:
    """Adds, for each group, what goes over the edges of one depth of a tree, times their lengths.

    `above` is the node at that depth for each value, such that values below one node lie side by side; `there` is what
    the whole has below each node. Of the nodes that a group has nothing below, all the whole's goes over the edge: this
    is taken to be in `far` for every node already.
    """
    for group in range(len(starts) - 1):
        here = persons[group]
        at = starts[group]
        while at < starts[group + 1]:
            node = above[values[at]]
            own = counts[at]
            at += 1
            while at < starts[group + 1] and above[values[at]] == node:
                own += counts[at]
                at += 1
            if length[node]:
                without = there[node] * here
                far[group] += (abs(own * everybody[0] - without) - without) * length[node]


@njit
def _in_order(at: Longs, begin: int, end: int, order: Longs) -> None:
    """Write which of the places from begin to end come first, second, …"""
    if end - begin > _SMALL:
        order[: end - begin] = np.argsort(at[begin:end]) + begin
        return
    for i in range(begin, end):
        j = i - begin
        while j > 0 and at[order[j - 1]] > at[i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i


@njit
def add_over_gaps(
    starts: Longs,
    at: Longs,
    counts: Longs,
    seen: Numbers,
    sums: Numbers,
    persons: Numbers,
    everybody: Numbers,
    far: Numbers,
) -> None:
    """Adds, for each group, what goes over all the gaps between places in a row; `at` is where its values are.

    `seen` is what the whole has before each gap, `sums` what that is for all gaps before. Between two values of a group
    what it has seen stays, and what the whole has seen only grows: so the gaps where that is less come first.
    """
    largest = 0
    for group in range(len(starts) - 1):
        largest = max(largest, starts[group + 1] - starts[group])
    order = np.empty(largest, np.int64)
    for group in range(len(starts) - 1):
        several = starts[group + 1] - starts[group]
        _in_order(at, starts[group], starts[group + 1], order)
        here = persons[group]
        own = np.int64(0)
        gap = np.int64(0)
        for i in range(several + 1):
            until = at[order[i]] if i < several else np.int64(len(seen))
            mass = own * everybody[0]
            low, high = gap, until
            while low < high:
                middle = (low + high) // 2
                if seen[middle] * here <= mass:
                    low = middle + 1
                else:
                    high = middle
            far[group] += (low - gap) * mass - here * (sums[low] - sums[gap])
            far[group] += here * (sums[until] - sums[low]) - (until - low) * mass
            gap = until
            if i < several:
                own += counts[order[i]]


def spread(
    lines: Longs, weights: Floats, starts: Longs, low: Ints, high: Ints, cell: Ints, child: Longs, last: int
) -> Floats:
    """Return what falls into each cell of the query, a node of the last level, which begins at node `last`.

    Line i is a box, lines[i, j] its value in column j; each of its cells gets weights[i]. Value v is the cells from
    low[r] to high[r] for all r of starts[v] .. starts[v + 1] - 1.

    >>> lines, starts = np.array([[0, 2], [1, 2]]), np.array([0, 1, 2, 3])
    >>> low, high = np.array([[0, 2, 1], [1, 2, 1]], np.int32)
    >>> cells, child = np.array([0, 2, 1, 0], np.int32), np.array([2, 3, 4])
    >>> spread(lines, np.array([0.5, 1.0]), starts, low, high, cells, child, 2).tolist()
    [0.5, 0.0]
    """
    return _spread(last, *read_only(lines, weights, starts, low, high, cell, child))


@njit
def _spread(
    last: int, lines: Longs, weights: Floats, starts: Longs, low: Ints, high: Ints, cell: Ints, child: Longs
) -> Floats:
    columns = lines.shape[1]
    # What is no child of another is at the top; of a single level that is all.
    top = child[0] if columns > 1 else len(cell)
    out = np.zeros(len(cell) - last, np.float64)
    run = np.empty(columns, np.int64)
    at = np.empty(columns, np.int64)
    end = np.empty(columns, np.int64)
    for i in range(len(lines)):
        depth = 0
        run[0] = starts[lines[i, 0]]
        end[0] = top
        at[0] = _first(cell, 0, end[0], low[run[0]])
        while depth >= 0:
            if at[depth] == end[depth] or cell[at[depth]] > high[run[depth]]:
                run[depth] += 1
                if run[depth] == starts[lines[i, depth] + 1]:
                    depth -= 1
                else:
                    at[depth] = _first(cell, at[depth], end[depth], low[run[depth]])
                continue
            node = at[depth]
            at[depth] += 1
            if depth == columns - 1:
                out[node - last] += weights[i]
                continue
            depth += 1
            run[depth] = starts[lines[i, depth]]
            end[depth] = child[node + 1]
            at[depth] = _first(cell, child[node], end[depth], low[run[depth]])
    return out


@njit
def _first(cell: Ints, begin: int, end: int, least: int) -> int:
    """Return the first node from begin on whose cell is no less than the least."""
    while begin < end:
        middle = (begin + end) // 2
        if cell[middle] < least:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit
def try_values(
    ranks: Ints,
    weights: Longs,
    labels: Longs,
    floor: Longs,
    group: Longs,
    groups: int,
    column: Longs,
    bound: Longs,
    k: int,
    penalty: int,
) -> tuple[Longs, Longs, Longs, Longs, Flags]:
    """Return for each value (a column and the rank from which on it is another interval) what comes of adding it.

    Gives a lower bound of the cost of all that holds it, its own cost, the rows suppressed, how many groups it splits,
    and whether it is of use: whether it leaves one of these with a part of at least k.

    Each tuple stands for `weights` rows, of which `labels` have each label (no columns: cost DM), is in a group, and
    costs at least its `floor` unless its group is suppressed; then a row costs `penalty`.
    """
    values, tuples, kinds = len(column), len(weights), labels.shape[1]
    lower, cost = np.zeros(values, np.int64), np.zeros(values, np.int64)
    out, splits = np.zeros(values, np.int64), np.zeros(values, np.int64)
    is_useful = np.zeros(values, np.bool_)
    sizes = np.zeros((groups, 2), np.int64)
    held = np.zeros((groups, 2, kinds), np.int64)
    for t in range(values):
        c, b = column[t], bound[t]
        # One pass over the tuples splits every group by this value alone.
        sizes[:] = 0
        held[:] = 0
        for i in range(tuples):
            side = 1 if ranks[i, c] >= b else 0
            sizes[group[i], side] += weights[i]
            for j in range(kinds):
                held[group[i], side, j] += labels[i, j]
        for g in range(groups):
            if sizes[g, 0] and sizes[g, 1]:
                splits[t] += 1
                # A value of which both parts are always too small splits nothing that is published.
                if sizes[g, 0] >= k or sizes[g, 1] >= k:
                    is_useful[t] = True
            for side in range(2):
                size = sizes[g, side]
                if size < k:
                    out[t] += size
                elif kinds:
                    cost[t] += size - held[g, side].max()
                else:
                    cost[t] += size * size
        # The bound counts the floor of every row that need not be suppressed, the cost what its group costs now.
        cost[t] += out[t] * penalty
        lower[t] = out[t] * penalty
        for i in range(tuples):
            side = 1 if ranks[i, c] >= b else 0
            if sizes[group[i], side] >= k:
                lower[t] += floor[i]
    return lower, cost, out, splits, is_useful

"""Loops of cell suppression: the forest of nearest neighbors, where its trees are cut, and groups merged after it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit

_LOOKS = 20_000_000
"""So many pairs of rows are looked at before it is told how far that is."""


@njit
def _top(up: Longs, v: int) -> int:
    """Return the root of v's tree; what lies on the way there points further up from now on."""
    while up[v] != v:
        up[v] = up[up[v]]
        v = up[v]
    return v


def grow_forest(
    values: Ints, weights: Longs, counts: Longs, k: int, tell: Callable[[int, int], None] | None = None
) -> Longs:
    """Return for each distinct row the one it is linked to, or -1: trees of at least k rows, each row of `counts` equal
    ones. Rows are as far apart as the `weights` of the columns in which they differ.

    A link goes from the one row of a tree of fewer than k that has none yet to the nearest row outside of the tree.
    There must be k rows. Now and then `tell` is told how many rows have been looked at, of how many.
    """
    rows = len(values)
    link, up, size = np.full(rows, -1, np.int64), np.arange(rows), counts.copy()
    step = max(_LOOKS // max(rows, 1), 1)
    for first in range(0, rows, step):
        _link(values, weights, k, first, min(first + step, rows), link, up, size)
        if tell is not None:
            tell(min(first + step, rows), rows)
    return link


@njit
def _link(values: Ints, weights: Longs, k: int, begin: int, end: int, link: Longs, up: Longs, size: Longs) -> None:
    """Link the rows from begin to end, where their trees are too small."""
    rows, columns = values.shape
    furthest, least = weights.sum() + 1, weights.min() if columns else 0
    for first in range(begin, end):
        u = _top(up, first)
        # A tree that is too small is linked to the nearest row outside of it, as often as needed.
        while size[u] < k:
            best, near = -1, furthest
            for v in range(rows):
                apart = np.int64(0)
                for c in range(columns):
                    apart += weights[c] * (values[u, c] != values[v, c])
                    if apart >= near:
                        break
                if apart < near and _top(up, v) != u:
                    best, near = v, apart
                    # Distinct rows differ in one column at least: none can be nearer.
                    if near <= least:
                        break
            link[u] = best
            up[u] = _top(up, best)
            size[up[u]] += size[u]
            u = up[u]


@njit
def cut_trees(parent: Longs, k: int) -> tuple[Longs, Longs, Longs, Longs]:
    """Return the trees cut at every edge that leaves at least k nodes on both sides.

    Gives the parents that are left, the nodes in an order in which children come before their parents, how many nodes
    each has below and with it, and for each its tree, which has the number of its root.
    """
    nodes = len(parent)
    up = np.where(parent < 0, np.arange(nodes), parent)
    rest = np.zeros(nodes, np.int64)
    waits = np.zeros(nodes, np.int64)
    for v in range(nodes):
        rest[_top(up, v)] += 1
        if parent[v] >= 0:
            waits[parent[v]] += 1
    order = np.empty(nodes, np.int64)
    done = 0
    for v in range(nodes):
        if waits[v] == 0:
            order[done] = v
            done += 1
    left = parent.copy()
    below = np.ones(nodes, np.int64)
    for at in range(nodes):
        v = order[at]
        p = parent[v]
        if p < 0:
            continue
        root = _top(up, v)
        if below[v] >= k and rest[root] - below[v] >= k:
            rest[root] -= below[v]
            left[v] = -1
        else:
            below[p] += below[v]
        waits[p] -= 1
        if waits[p] == 0:
            order[done] = p
            done += 1
    tree = np.empty(nodes, np.int64)
    for at in range(nodes - 1, -1, -1):
        v = order[at]
        tree[v] = v if left[v] < 0 else tree[left[v]]
    return left, order, below, tree


@njit
def merge_nearest(shared: Ints, weights: Longs, sizes: Longs, fails: Flags) -> Longs:
    """Return for each group the one that it is in now: those that fail are merged, each with the one that is nearest.

    `shared` has the values that the rows of a group share, -1 where they share none; near is what lets the least weight
    of cells go. A group that something was merged with does not look for another one. Sizes and shared values become
    those of the groups that are left. There must be two groups.
    """
    groups, columns = shared.shape
    into = np.arange(groups)
    waits = fails.copy()
    for u in range(groups):
        if not waits[u]:
            continue
        best, least = -1, np.int64(0)
        for v in range(groups):
            if v == u or into[v] != v:
                continue
            cells = np.int64(0)
            for c in range(columns):
                if shared[u, c] != shared[v, c]:
                    cells += weights[c] * sizes[u] if shared[u, c] >= 0 else 0
                    cells += weights[c] * sizes[v] if shared[v, c] >= 0 else 0
                    if best >= 0 and cells >= least:
                        break
            if best < 0 or cells < least:
                best, least = v, cells
        for c in range(columns):
            if shared[u, c] != shared[best, c]:
                shared[best, c] = -1
        sizes[best] += sizes[u]
        into[u] = best
        waits[u] = waits[best] = False
    return into

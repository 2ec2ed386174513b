"""CS: cell suppression. As few single values as possible are suppressed (CHAP): the approximations of Aggarwal et al.

"Approximation algorithms for k-anonymity" (2005) takes rows as the vertices of a graph whose edges weigh the columns
in which two rows differ. Groups of at least k rows are made alike in every column in which they differ.

- FOREST links rows to near ones until every tree has k of them; the trees weigh no more than the best solution costs.
  DECOMPOSE-COMPONENT takes them apart: at most max(2k - 1, 3k - 5) times the cells that must be suppressed.
- For k = 2 a [1,2]-factor of least weight, every row with one or two edges: at most 1.5 times the cells that must be
  suppressed where each column has two values, and twice them otherwise. That is what the paper's proof gives: of three
  rows that differ in a column, two edges see it where there are two values, and all three where there are more.

Where we differ: DECOMPOSE-COMPONENT cuts every edge that leaves k rows on both sides first. Then all but k - 1 rows of
a tree that is still too large hang on one vertex in subtrees of fewer than k, which are bundled in one go; the paper
goes case by case and needs Steiner vertices. The bound is the same, and our trees get smaller.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count

import numpy as np

from treeanon.algorithms.flat.suppression import Suppression, checked_k, one_row_each, suppressed_code
from treeanon.errors import UsageError
from treeanon.kernels.cell_suppression import cut_trees, grow_forest
from treeanon.kernels.trees import Ints, Longs
from treeanon.loss.flat.groups import groups_of, shifted
from treeanon.table import Table

MATCHED = 200
"""So many rows are matched in seconds; the time grows with their cube."""


def search(table: Table, k: int, *, method: str | None = None) -> Suppression:
    """The k-anonymous table with few cells suppressed.

    `method` is "forest", or "matching" for k = 2; without one it is the matching for k = 2 and up to 200 rows.

    >>> from treeanon.hierarchy import Hierarchy
    >>> sexes, zips = Hierarchy.flat(["f", "m"]), Hierarchy.flat(["1", "2"])
    >>> table = Table.of_texts({"sex": (["f", "f", "m", "m"], sexes), "zip": (["1", "2", "2", "2"], zips)})
    >>> found = search(table, 2)
    >>> found.cells, list(found.table.rows())
    (2, [('f', '*'), ('f', '*'), ('m', '2'), ('m', '2')])
    """
    checked_k(table, k)
    one_row_each(table, "cell suppression")
    if method is None:
        method = "matching" if k == 2 and len(table) <= MATCHED else "forest"
    if method not in ("forest", "matching"):
        raise UsageError("the method of cell suppression must be forest or matching")
    if method == "matching" and k != 2:
        raise UsageError("matching is for k = 2; forest is for every k")
    values = np.array([shifted(column) for column in table.quasi], np.int32).reshape(len(table.quasi), len(table)).T
    if k == 1 or not len(table):
        group = np.arange(len(table))
    elif method == "matching":
        group = one_two_factor(values)
    else:
        group = _forest(table, values, k)
    return _suppressed(table, values, group)


def _suppressed(table: Table, values: Ints, group: Longs) -> Suppression:
    """The table in which the rows of a group are alike: what they do not share is suppressed."""
    if not len(table):
        return Suppression("CS", table)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(group[order]) > 0))
    sizes = np.diff(np.append(starts, len(table)))
    codes, cells = {}, 0
    for i, column in enumerate(table.quasi):
        ordered = values[order, i]
        differ = np.minimum.reduceat(ordered, starts) < np.maximum.reduceat(ordered, starts)
        gone = np.zeros(len(table), np.bool_)
        gone[order] = np.repeat(differ, sizes)
        codes[column.name] = np.where(gone, suppressed_code(column), column.codes).astype(np.int32)
        cells += int(gone.sum())
    return Suppression("CS", table.with_codes(codes), cells=cells, is_optimal=cells == 0, checked=len(starts))


def _forest(table: Table, values: Ints, k: int) -> Longs:
    """For every row its group: FOREST, then DECOMPOSE-COMPONENT."""
    numbers, _ = groups_of(table)
    _, first, counts = np.unique(numbers, return_index=True, return_counts=True)
    counts = counts.astype(np.int64)
    link = grow_forest(np.ascontiguousarray(values[first]), counts, k)
    # Equal rows are a chain, whose last row has the link of them all, and whose first one is linked to.
    starts = np.append(0, np.cumsum(counts))
    parent = np.arange(1, len(table) + 1)
    parent[starts[1:] - 1] = np.where(link < 0, -1, starts[link])
    group = np.empty(len(table), np.int64)
    group[np.argsort(numbers, kind="stable")] = decompose(parent, k)
    return group


def decompose(parent: Longs, k: int) -> Longs:
    """For every vertex of a forest its part: k to max(2k - 1, 3k - 5) of one tree, given trees of at least k.

    >>> decompose(np.array([-1, 0, 1, 2]), 2).tolist(), decompose(np.array([-1, 0, 0, 0, 0]), 2).tolist()
    ([0, 0, 2, 2], [4, 2, 2, 4, 4])
    """
    left, order, below, tree = cut_trees(parent, k)
    sizes = np.bincount(tree, minlength=len(parent))
    # Trees that are too large, their vertices together, and children before their parents.
    large = order[sizes[tree[order]] >= 2 * k]
    large = large[np.argsort(tree[large], kind="stable")]
    for vertices in np.split(large, np.flatnonzero(np.diff(tree[large])) + 1):
        if len(vertices):
            _bundle(vertices, left, below, tree, k)
    return tree


def _bundle(vertices: Longs, left: Longs, below: Longs, tree: Longs, k: int) -> None:
    """Splits a tree that no cut splits: what hangs on its centre is bundled, and parts get the number of a vertex."""
    centre = int(vertices[np.argmax(below[vertices] > len(vertices) - k)])
    hangs: dict[int, list[int]] = {}
    part_of = {centre: centre}
    for v in vertices[::-1].tolist():
        if v != centre:
            # What lies beyond the centre is one subtree, that of the root.
            up = int(left[v])
            part_of[v] = v if up == centre else part_of[up] if up >= 0 else v
            hangs.setdefault(part_of[v], []).append(v)
    trees = list(hangs.values())
    for number, bundle in enumerate(bundled([len(part) for part in trees], k)):
        members = [v for i in bundle for v in trees[i]] + ([centre] if number == 0 else [])
        tree[members] = members[0]


def bundled(sizes: list[int], k: int) -> list[list[int]]:
    """Subtrees, each smaller than k, in bundles of at least k; the first one takes their centre, a vertex more.

    No bundle has more than max(2k - 1, 3k - 5) vertices. All together there must be 2k.

    >>> bundled([2, 2, 2, 2, 1], 3)
    [[3], [4, 0], [1, 2]]
    """
    order = count()
    heap = [(size, next(order), [i]) for i, size in enumerate(sizes)]
    heapify(heap)
    while len(heap) > 1:
        small = heappop(heap)
        if small[0] + heap[0][0] >= k:
            heappush(heap, small)
            break
        other = heappop(heap)
        heappush(heap, (small[0] + other[0], next(order), small[2] + other[2]))
    # Now any two make a bundle: 2k - 2 at most, and one more with the centre.
    left = sorted(heap)
    bundles = []
    if len(left) % 2:
        # The odd one makes k with the centre, or is small enough for three of them and the centre.
        first = [left.pop()] if left[-1][0] == k - 1 else [left.pop(0) for _ in range(3)]
        bundles.append([i for _, _, part in first for i in part])
    bundles += [a[2] + b[2] for a, b in zip(left[::2], left[1::2], strict=True)]
    return bundles


def one_two_factor(values: Ints) -> Longs:
    """For every row its group of two or three: the components of a [1,2]-factor of least weight, by a matching.

    Every row has two copies, of which the first must be matched: to the first copy of another row, or to its second
    one, which so gets its second edge. Of edges between rows that have two each, none is needed.

    >>> one_two_factor(np.array([[1, 1], [1, 2], [7, 7], [7, 7]])).tolist()
    [1, 1, 3, 3]
    """
    import networkx as nx

    rows, columns = values.shape
    graph: nx.Graph[int] = nx.Graph()
    # More than all edges weigh together, so that no first copy stays alone for the sake of the others.
    must = rows * columns + 1
    for u in range(rows):
        apart = (values != values[u]).sum(axis=1).tolist()
        graph.add_weighted_edges_from((u, v, 2 * must - apart[v]) for v in range(u))
        graph.add_weighted_edges_from((u, rows + v, must - apart[v]) for v in range(rows) if v != u)
    edges = sorted({tuple(sorted((u % rows, v % rows))) for u, v in nx.max_weight_matching(graph)})
    degree = np.bincount(np.array(edges).ravel(), minlength=rows)
    group = np.arange(rows)
    for u, v in edges:
        if degree[u] > 1 and degree[v] > 1:
            degree[[u, v]] -= 1
        else:
            hub, end = (u, v) if degree[u] > 1 else (v, u)
            group[end] = hub
    return group

"""CS and CG: cell suppression, and cell generalization. Single values lose as little as possible, by approximation.

After G. Aggarwal, T. Feder, K. Kenthapadi, R. Motwani, R. Panigrahy, D. Thomas and A. Zhu, "Approximation algorithms
for k-anonymity" (Journal of Privacy Technology 2005), which takes rows as the vertices of a graph whose edges weigh the
columns in which two rows differ. Groups of at least k rows are made alike in every column in which they differ.

- FOREST links rows to near ones until every tree has k of them; the trees weigh no more than the best solution costs.
  DECOMPOSE-COMPONENT takes them apart: at most max(2k - 1, 3k - 5) times the cells that must be suppressed.
- For k = 2 a [1,2]-factor of least weight, every row with one or two edges: at most 1.5 times the cells that must be
  suppressed where each column has two values, and twice them otherwise. That is what the paper's proof gives: of three
  rows that differ in a column, two edges see it where there are two values, and all three where there are more.

Where we differ: DECOMPOSE-COMPONENT cuts every edge that leaves k rows on both sides first. Then all but k - 1 rows of
a tree that is still too large hang on one vertex in subtrees of fewer than k, which are bundled in one go; the paper
goes case by case and needs Steiner vertices. The bound is the same, and our trees get smaller.

- For k = 3 the cycles of a 2-factor (see below): at most twice with two values in each column, three times
  otherwise.

Cells may be generalized instead of suppressed (V. Ciriani, S. De Capitani di Vimercati, S. Foresti and P. Samarati,
"k-Anonymity", 2007, Section 3.2.3): then an edge weighs h / l for every column, where h is the level on which two
values are one and l the number of levels (`Steps`). All bounds hold for what the cells lose alike, as every
level is a column of its own that is suppressed or not.

The papers are about k-anonymity, and so is the bound. Groups that fail other models are merged with those nearest to
them, until all hold.

Also groups of three to five rows along the cycles of a 2-factor of least weight, for k = 3.

After G. Aggarwal and others, "Approximation algorithms for k-anonymity" (2005), as V. Ciriani and others tell it in the
chapter "k-Anonymity" (2007), Section 3.2.3: every row gets two edges, so that all lie on cycles, which are cut into
groups. With two values in each column at most twice what the best groups cost, as the paper has it; three times
otherwise:

- A column in which a cycle is not constant changes along two of its edges at least. So a whole cycle of 3, 4 or 5 rows
  as a group costs at most 3/2, 2 or 5/2 of its weight. A longer one is cut into paths of 3 and 4 rows, of all places to
  begin where that costs least: at most 3 times its weight, which 8 rows come nearest to.
- The best groups have 3 to 5 rows; of a cycle through one, taken at random, a column of two values changes along 2/3 of
  the rows in the mean, or fewer, and one of more values along all of them.

Where we differ: the 2-factor is found as an integer program, not by the matching that it can be reduced to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from math import lcm
from typing import Literal

import numpy as np

from treeanon.algorithms.table.group_checker import GroupChecker, RowGroupChecker
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.result import SUPPRESSED, Recoding, one_row_each, released, require_any, unreachable
from treeanon.arrays import Flags, Ints, Longs
from treeanon.errors import UsageError
from treeanon.kernels.table.cell_suppression import cut_trees, grow_forest, merge_nearest
from treeanon.kernels.table.groups import group_numbers
from treeanon.metrics.table.groups import groups_of
from treeanon.table import Column, Table
from treeanon.table.covers import level_maps


def two_factor_groups(values: Ints, weights: Longs) -> Longs:
    """Return for every row its group of three to five, in which rows share what they have in common.

    >>> two_factor_groups(np.array([[1], [1], [1], [2], [2], [2]], np.int32), np.ones(1, np.int64)).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    group = np.zeros(len(values), np.int64)
    parts = [part for cycle in cycles(two_factor(values, weights)) for part in cut(cycle, values, weights)]
    for number, part in enumerate(sorted(parts, key=min)):
        group[part] = number
    return group


def two_factor(values: Ints, weights: Longs) -> list[tuple[int, int]]:
    """Return the edges of a 2-factor of least weight; there must be three rows.

    >>> sorted(two_factor(np.array([[1], [1], [2]], np.int32), np.ones(1, np.int64)))
    [(0, 1), (0, 2), (1, 2)]
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    rows = len(values)
    one, other = np.triu_indices(rows, 1)
    costs = ((values[one] != values[other]) * weights).sum(axis=1).astype(np.float64)
    edges = np.arange(len(one))
    ends = (np.concatenate([one, other]), np.concatenate([edges, edges]))
    degrees = csr_array((np.ones(2 * len(one)), ends), shape=(rows, len(one)))
    found = milp(
        costs,
        integrality=np.ones(len(one)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(degrees, 2, 2),
        options={"mip_rel_gap": 0.0},
    )
    chosen = np.flatnonzero(found.x > 0.5)
    return list(zip(one[chosen].tolist(), other[chosen].tolist(), strict=True))


def cycles(edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the cycles that edges form, two at each vertex, in the order of their vertices.

    >>> cycles([(0, 1), (1, 2), (0, 2)])
    [[0, 1, 2]]
    """
    beside: dict[int, list[int]] = {}
    for u, v in edges:
        beside.setdefault(u, []).append(v)
        beside.setdefault(v, []).append(u)
    found, seen = [], set[int]()
    for start in sorted(beside):
        cycle: list[int] = []
        at: int | None = start
        while at is not None and at not in seen:
            seen.add(at)
            cycle.append(at)
            at = next((v for v in beside[at] if v not in seen), None)
        if cycle:
            found.append(cycle)
    return found


def cut(cycle: Sequence[int], values: Ints, weights: Longs) -> list[list[int]]:
    """Return a cycle in groups: itself if it has five rows or fewer, else paths of three and four.

    >>> cut([0, 1, 2, 3, 4, 5], np.array([[1], [2], [2], [2], [1], [1]], np.int32), np.ones(1, np.int64))
    [[1, 2, 3], [4, 5, 0]]
    """
    rows = len(cycle)
    if rows <= 5:
        return [list(cycle)]
    sizes = [4] * (rows % 3) + [3] * (rows // 3 - rows % 3)
    ways = []
    for first in range(rows):
        turned = [*cycle[first:], *cycle[:first]]
        ends = np.cumsum(sizes).tolist()
        ways.append([turned[end - size : end] for end, size in zip(ends, sizes, strict=True)])
    return min(ways, key=lambda way: sum(_cost(part, values, weights) for part in way))


def _cost(part: Sequence[int], values: Ints, weights: Longs) -> int:
    own = values[list(part)]
    return len(part) * int(((own != own[0]).any(axis=0) * weights).sum())


GONE = -1
"""In place of the value of a step: not shared, so that the step must be gone."""


@dataclass(frozen=True)
class Steps:
    """The steps of all columns, side by side: `values` of each row, the `weights` of steps, and how many values each
    can have. `firsts` has the first step of every column, and the number of steps; `unit` is the weight of a cell.
    """

    values: Ints
    weights: Longs
    sizes: tuple[int, ...]
    firsts: tuple[int, ...]
    unit: int

    @classmethod
    def of(cls, table: Table, *, generalize: bool) -> Steps:
        """Return the steps of the quasi columns of a table: one for each cell, or one for each level.

        >>> from treeanon.hierarchy import Hierarchy
        >>> ages = Hierarchy.from_paths([["31", "30-39", "*"], ["34", "30-39", "*"]])
        >>> steps = Steps.of(Table.of_texts({"age": (["31", "34"], ages)}), generalize=True)
        >>> steps.values.tolist(), steps.weights.tolist()
        ([[2, 1], [3, 1]], [1, 1])
        """
        columns = table.quasi
        heights = [max(column.hierarchy.height, 1) if generalize else 1 for column in columns]
        unit = lcm(*heights)
        found = [_levels(column, height) for column, height in zip(columns, heights, strict=True)]
        values = np.concatenate([*found, np.zeros((0, len(table)), np.int32)])
        weights = np.repeat([unit // height for height in heights], heights).astype(np.int64)
        sizes = tuple(column.size + 1 for column, height in zip(columns, heights, strict=True) for _ in range(height))
        firsts = (0, *np.cumsum(heights).tolist())
        return cls(np.ascontiguousarray(values.T, np.int32), weights, sizes, firsts, unit)

    def published(self, table: Table, shared: Ints) -> dict[str, Ints]:
        """Return the codes of every column, from what the group of each row shares: the lowest value that is there."""
        found = {}
        for column, first, end in zip(table.quasi, self.firsts, self.firsts[1:], strict=False):
            codes = np.full(len(shared), SUPPRESSED, np.int32)
            for step in reversed(range(first, end)):
                codes = np.where(shared[:, step] == GONE, codes, shared[:, step])
            found[column.name] = np.where(codes == column.size, -1, codes).astype(np.int32)
        return found


def _levels(column: Column, height: int) -> Ints:
    """Return what the values of a column are on its lowest levels, a missing one after all others."""
    if height == 1:
        return column.places[None, :]
    return np.ascontiguousarray(level_maps(column.hierarchy)[:height, column.places], np.int32)


MATCHED = 200
"""So many rows are matched in seconds; the time grows with their cube."""

FACTORED = 60
"""Of so many rows a 2-factor is found in a second."""

Method = Literal["auto", "forest", "matching", "factor"]
METHODS: tuple[Method, ...] = ("auto", "forest", "matching", "factor")
_FOR = {"matching": 2, "factor": 3}


def search(problem: Problem, *, method: Method = "auto", cells: str = "suppress") -> Recoding:
    """Return the table with few cells suppressed, and with all of its rows: no person is left out.

    `method` is forest, matching for k = 2, or factor for k = 3; auto is one of the latter where rows are few. k is the
    size that models of size alone ask for: what their cells lose is bounded, and what other models ask for comes on
    top. `cells` is "suppress", or "generalize": as far as the rows of a group need to become alike.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> sexes, zips = Hierarchy.flat(["f", "m"]), Hierarchy.flat(["1", "2"])
    >>> table = Table.of_texts({"sex": (["f", "f", "m", "m"], sexes), "zip": (["1", "2", "2", "2"], zips)})
    >>> found = search(Problem(table, (KAnonymity(2),)))
    >>> found.counts["cells"], list(found.table.rows())
    (2, [('f', '*'), ('f', '*'), ('m', '2'), ('m', '2')])
    """
    table = problem.table
    one_row_each(table, "cell suppression")
    # Models that are of another kind are kept by merging alone.
    k = GroupChecker(problem).least or 1
    method = _method(method, k, len(table))
    require_any(problem)
    if 0 < len(table) < k:
        raise unreachable(problem)
    steps = Steps.of(table, generalize=cells == "generalize")
    if k == 1 or not len(table):
        group = groups_of(table)[0]
    elif method == "matching":
        group = one_two_factor(steps.values, steps.weights)
    elif method == "factor":
        group = two_factor_groups(steps.values, steps.weights)
    else:
        group = _forest(problem, steps, k)
    found = _Groups(problem, steps, group)
    merged = found.merge_until_all_hold()
    lost = int(found.sizes @ ((found.shared == GONE) @ steps.weights))
    # A cell that has lost all of its levels counts one.
    counts = {"method": method, "cells": lost // steps.unit if cells == "suppress" else lost / steps.unit}
    counts |= {"groups": len(found.sizes), "merged": merged}
    published = table.with_codes(steps.published(table, found.shared[found.group]))
    return released(problem, "suppress-cells", published, np.ones(len(table), np.bool_), **counts)


def _method(method: str, k: int, rows: int) -> Method:
    for known in METHODS[1:]:
        if method == known:
            if _FOR.get(known, k) != k:
                raise UsageError(f"{known} is for k = {_FOR[known]}; forest is for every k")
            return known
    if method != "auto":
        raise UsageError(f"unknown method {method!r} of cell suppression; choose from {', '.join(METHODS)}")
    if k == 3 and k <= rows <= FACTORED:
        return "factor"
    return "matching" if k == 2 and rows <= MATCHED else "forest"


class _Groups:
    """Groups of rows: `group` of each row, and for each group its size and the values that its rows share."""

    def __init__(self, problem: Problem, steps: Steps, group: Longs) -> None:
        self.problem, self.steps = problem, steps
        values = steps.values
        numbers = np.unique(group, return_inverse=True)[1].astype(np.int64)
        self.sizes = np.bincount(numbers).astype(np.int64)
        self.shared = np.zeros((0, values.shape[1]), np.int32)
        if len(values):
            order = np.argsort(numbers, kind="stable")
            starts = np.append(0, np.cumsum(self.sizes)[:-1])
            low = np.minimum.reduceat(values[order], starts)
            self.shared = np.where(low == np.maximum.reduceat(values[order], starts), low, GONE).astype(np.int32)
        self.group = numbers
        self._join_equal()

    def merge_until_all_hold(self) -> int:
        """Return how many groups go up in others: those that fail, each in the one that costs the fewest cells."""
        checker, before = RowGroupChecker(self.problem), len(self.sizes)
        fails = ~checker.holds(self.group, before)
        while fails.any():
            if len(self.sizes) == 1:
                raise unreachable(self.problem)
            into = merge_nearest(self.shared, self.steps.weights, self.sizes, fails)
            changed = np.bincount(into, minlength=len(into)) > 1
            kept, number = np.unique(into, return_inverse=True)
            self.group, self.sizes, self.shared = number[self.group], self.sizes[kept], self.shared[kept]
            # None looks like another one now: that one would have been nearer.
            fails = self._failing(checker, changed[kept])
            self.problem.report_progress(before - len(self.sizes))
        return before - len(self.sizes)

    def _join_equal(self) -> None:
        """Make groups one that look alike."""
        columns = [np.ascontiguousarray(column + 1) for column in self.shared.T]
        sizes = [size + 1 for size in self.steps.sizes]
        numbers, groups = group_numbers(columns, sizes, len(self.sizes))
        shared = np.empty((groups, self.shared.shape[1]), np.int32)
        shared[numbers] = self.shared
        joined = np.zeros(groups, np.int64)
        np.add.at(joined, numbers, self.sizes)
        self.group, self.sizes, self.shared = numbers[self.group], joined, shared

    def _failing(self, checker: RowGroupChecker, changed: Flags) -> Flags:
        """Return which groups fail: of those that have changed, for all others held before."""
        rows = np.flatnonzero(changed[self.group])
        number = np.cumsum(changed) - 1
        fails = np.zeros(len(self.sizes), np.bool_)
        fails[changed] = ~checker.holds(number[self.group[rows]], int(changed.sum()), rows)
        return fails


def _forest(problem: Problem, steps: Steps, k: int) -> Longs:
    """Return for every row its group: FOREST, then DECOMPOSE-COMPONENT."""
    values = steps.values
    numbers, _ = groups_of(problem.table)
    _, first, counts = np.unique(numbers, return_index=True, return_counts=True)
    counts = counts.astype(np.int64)
    link = grow_forest(np.ascontiguousarray(values[first]), steps.weights, counts, k, problem.report_progress)
    # Equal rows are a chain, whose last row has the link of them all, and whose first one is linked to.
    starts = np.append(0, np.cumsum(counts))
    parent = np.arange(1, len(values) + 1)
    parent[starts[1:] - 1] = np.where(link < 0, -1, starts[link])
    group = np.empty(len(values), np.int64)
    group[np.argsort(numbers, kind="stable")] = decompose(parent, k)
    return group


def decompose(parent: Longs, k: int) -> Longs:
    """Return for every vertex of a forest its part: k to max(2k - 1, 3k - 5) of one tree, given trees of at least k.

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
    """Split a tree that no cut splits: what hangs on its center is bundled, and parts get the number of a vertex."""
    center = int(vertices[np.argmax(below[vertices] > len(vertices) - k)])
    hangs: dict[int, list[int]] = {}
    part_of = {center: center}
    for v in vertices[::-1].tolist():
        if v != center:
            # What lies beyond the center is one subtree, that of the root.
            up = int(left[v])
            part_of[v] = v if up == center else part_of[up] if up >= 0 else v
            hangs.setdefault(part_of[v], []).append(v)
    trees = list(hangs.values())
    for number, bundle in enumerate(bundled([len(part) for part in trees], k)):
        members = [v for i in bundle for v in trees[i]] + ([center] if number == 0 else [])
        tree[members] = members[0]


def bundled(sizes: list[int], k: int) -> list[list[int]]:
    """Return subtrees, each smaller than k, in bundles of at least k; the first one takes their center, a vertex more.

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
    # Now any two make a bundle: 2k - 2 at most, and one more with the center.
    left = sorted(heap)
    bundles = []
    if len(left) % 2:
        # The odd one makes k with the center, or is small enough for three of them and the center.
        first = [left.pop()] if left[-1][0] == k - 1 else [left.pop(0) for _ in range(3)]
        bundles.append([i for _, _, part in first for i in part])
    bundles += [a[2] + b[2] for a, b in zip(left[::2], left[1::2], strict=True)]
    return bundles


def one_two_factor(values: Ints, weights: Longs | None = None) -> Longs:
    """Return for every row its group of two or three: the components of a [1,2]-factor of least weight, by a matching.

    Every row has two copies, of which the first must be matched: to the first copy of another row, or to its second
    one, which so gets its second edge. Of edges between rows that have two each, none is needed.

    >>> one_two_factor(np.array([[1, 1], [1, 2], [7, 7], [7, 7]])).tolist()
    [1, 1, 3, 3]
    """
    import networkx as nx

    rows, columns = values.shape
    graph: nx.Graph[int] = nx.Graph()
    weights = np.ones(columns, np.int64) if weights is None else weights
    # More than all edges weigh together, so that no first copy stays alone for the sake of the others.
    must = rows * int(weights.sum()) + 1
    for u in range(rows):
        apart = ((values != values[u]) @ weights).tolist()
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

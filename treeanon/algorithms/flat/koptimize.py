"""k-Optimize: the best way to cut ordered columns into intervals, by a set enumeration that bounds and prunes.

After Bayardo and Agrawal, "Data privacy through optimal k-anonymization" (ICDE 2005). The values of every column are
ordered; an anonymization is the set of values at which a new interval begins, the head set H. Below H in the search are
the sets that add values of the tail set T; the finest of them, H with all of T, is its allset A. Rows of groups smaller
than k are suppressed, and cost: DM, each the whole table, others the size of their group; CM, each 1, as do others
that do not have the commonest label of their group.

Where we differ: all values of a tail are costed at once, so that each look at a node tries its children too; greedy
ascents and exchanges give the first solution; PRUNE looks at the children of a node, not at theirs; and
`max_suppressed` cuts what suppresses too much, for adding values never suppresses less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Literal

import numpy as np

from treeanon.algorithms.flat.intervals import released_intervals
from treeanon.algorithms.flat.suppression import checked_k, one_row_each
from treeanon.errors import UsageError
from treeanon.kernels.flat_losses import group_numbers
from treeanon.kernels.koptimize import try_values
from treeanon.kernels.trees import Flags, Ints, Longs
from treeanon.loss.flat.groups import groups_of, shifted
from treeanon.table import Column, Table

Metric = Literal["dm", "cm"]
Values = list[tuple[int, int]]
"""Values at which an interval begins: column, and rank among the values that occur in it."""


@dataclass(frozen=True)
class KOptimum:
    """The best anonymization found: at which codes a column's second, third, … interval begins, by its name.

    Codes are those of the columns' hierarchies, whose order is the values' own; a missing value comes last. No
    anonymization costs less than `lower_bound`; `checked` counts the nodes of the search looked at.
    """

    table: Table
    starts: Mapping[str, tuple[int, ...]]
    k: int
    metric: Metric
    cost: int
    lower_bound: int
    suppressed: int
    checked: int

    @property
    def is_optimal(self) -> bool:
        """Whether nothing can cost less."""
        return self.lower_bound >= self.cost

    def apply(self) -> Table:
        """The release: intervals, without the rows of groups smaller than k."""
        return released_intervals(self.table, self.starts, self.k)


@dataclass(frozen=True)
class Problem:
    """Ordered columns as ranks of the values that occur: distinct rows, how often they occur, and with which labels."""

    ranks: Ints
    weights: Longs
    labels: Longs
    codes: tuple[Ints, ...]
    k: int
    metric: Metric
    most: int

    @classmethod
    def of(cls, table: Table, k: int, metric: Metric, label: str | None, max_suppressed: int | None) -> Problem:
        """The problem of a table; the label's column is none of the ordered ones."""
        if metric not in ("dm", "cm") or (metric == "cm") != (label is not None):
            raise UsageError("the metric must be dm, or cm with the column of a label")
        checked_k(table, k)
        one_row_each(table, "k-Optimize")
        columns = ordered_columns(table, label)
        numbers, groups = groups_of(table, columns)
        _, first = np.unique(numbers, return_index=True)
        found = [np.unique(shifted(column), return_inverse=True) for column in columns]
        ranks = np.array([rank[first] for _, rank in found], np.int32).reshape(len(columns), groups).T
        labels = np.zeros((groups, 0), np.int64)
        if label is not None:
            _, kind = np.unique(table.column(label).codes, return_inverse=True)
            labels = np.zeros((groups, int(kind.max(initial=0)) + 1), np.int64)
            np.add.at(labels, (numbers, kind), 1)
        weights = np.bincount(numbers, minlength=groups).astype(np.int64)
        codes = tuple(codes for codes, _ in found)
        most = len(table) if max_suppressed is None else max_suppressed
        return cls(np.ascontiguousarray(ranks), weights, labels, codes, k, metric, most)

    @property
    def penalty(self) -> int:
        """What a suppressed row costs."""
        return 1 if self.metric == "cm" else int(self.weights.sum())


def ordered_columns(table: Table, label: str | None = None) -> list[Column]:
    """The quasi columns but for that of the label; an error if values are no leaves, which have no order."""
    columns = [column for column in table.quasi if column.name != label]
    for column in columns:
        if (column.hierarchy.leaf_count[np.unique(column.codes[column.codes >= 0])] > 1).any():
            raise UsageError(f"column {column.name!r}: k-Optimize orders leaves, and there are values that are none")
    return columns


def search(
    table: Table,
    k: int,
    *,
    metric: Metric = "dm",
    label: str | None = None,
    max_suppressed: int | None = None,
    seconds: float | None = None,
) -> KOptimum:
    """The anonymization of least cost, or the best one found when the time is over.

    >>> from treeanon.hierarchy import Hierarchy
    >>> ages = Hierarchy.flat(["20", "21", "30", "31", "40"])
    >>> found = search(Table.of_texts({"age": (["20", "21", "30", "30", "40"], ages)}), 2)
    >>> found.cost, found.is_optimal, sorted(found.apply().rows())
    (13, True, [('20 … 21',), ('20 … 21',), ('30 … 40',), ('30 … 40',), ('30 … 40',)])
    """
    problem = Problem.of(table, k, metric, label, max_suppressed)
    run = _Search(problem, None if seconds is None else monotonic() + seconds)
    if len(table):
        run.run()
    starts = {
        column.name: tuple(int(problem.codes[i][rank]) for c, rank in sorted(run.best) if c == i)
        for i, column in enumerate(ordered_columns(table, label))
    }
    return KOptimum(table, starts, k, metric, run.cost, run.bound(), run.out, run.checked)


@dataclass
class _Node:
    """A head set and its tail; distinct rows of its allset, and the groups that the head puts them in."""

    head: Values
    tail: Values
    ranks: Ints
    weights: Longs
    labels: Longs
    group: Longs
    groups: int
    is_merged: bool = True

    def child(self, value: tuple[int, int]) -> _Node:
        """The node that has the value in its head and is left with the tail."""
        column, bound = value
        pair = [self.group.astype(np.int32), (self.ranks[:, column] >= bound).astype(np.int32)]
        group, groups = group_numbers(pair, [self.groups, 2], len(self.group))
        rows = (self.ranks, self.weights, self.labels)
        return _Node([*self.head, value], list(self.tail), *rows, group, groups)

    def merge(self) -> None:
        """Makes rows equal that the allset does not tell apart any more."""
        if self.is_merged:
            return
        ranks = np.zeros_like(self.ranks)
        for column in range(ranks.shape[1]):
            bounds = np.array([0, *sorted(b for c, b in (*self.head, *self.tail) if c == column)], np.int32)
            ranks[:, column] = bounds[np.searchsorted(bounds, self.ranks[:, column], "right") - 1]
        sizes = [int(ranks[:, c].max()) + 1 for c in range(ranks.shape[1])]
        numbers, groups = group_numbers(list(ranks.T), sizes, len(ranks))
        if groups < len(ranks):
            _, first = np.unique(numbers, return_index=True)
            weights, labels = np.zeros(groups, np.int64), np.zeros((groups, self.labels.shape[1]), np.int64)
            np.add.at(weights, numbers, self.weights)
            np.add.at(labels, numbers, self.labels)
            self.ranks, self.weights, self.labels = np.ascontiguousarray(ranks[first]), weights, labels
            self.group = self.group[first]
        self.is_merged = True


class _Search:
    """The walk: the best head set so far, and the nodes that are open."""

    def __init__(self, problem: Problem, until: float | None) -> None:
        self.problem, self.until = problem, until
        self.best: Values = []
        rows = int(problem.weights.sum())
        self.cost, self.out, self.checked = 0, 0, 0
        self.open: list[_Node] = []
        if rows:
            whole = problem.labels.sum(axis=0)
            self.cost = rows - int(whole.max()) if problem.metric == "cm" else rows * rows

    def run(self) -> None:
        """K-OPTIMIZE, with a stack in place of recursion: heads may be long."""
        problem = self.problem
        tail = [(c, rank) for c, codes in enumerate(problem.codes) for rank in range(1, len(codes))]
        none = np.zeros(len(problem.weights), np.int64)
        root = _Node([], tail, problem.ranks, problem.weights, problem.labels, none, 1)
        self.open = [root]
        self._ascend(root)
        for without in range(len(problem.codes)):
            # Steps that each cost least may lead to a column that is better left alone.
            self._ascend(replace(root, tail=[value for value in tail if value[0] != without]))
        self._exchange(root)
        while self.open and not self._is_late():
            node = self.open[-1]
            self._prune(node)
            if not node.tail:
                self.open.pop()
                continue
            value = node.tail.pop(0)
            child = node.child(value)
            node.is_merged = False
            self.open.append(child)

    def bound(self) -> int:
        """What no anonymization costs less than: the least bound of what is still open."""
        return min([self.cost, *(self._lower(node) for node in self.open)])

    def _ascend(self, node: _Node) -> None:
        """A first solution: the value that costs least joins the head as long as that costs less than without."""
        least = np.iinfo(np.int64).max
        while node.tail and not self._is_late():
            costs = self._try(node)[-1]
            at = int(np.argmin(costs))
            if costs[at] >= least:
                return
            least = costs[at]
            value = node.tail[at]
            node = node.child(value)
            node.tail.remove(value)

    def _exchange(self, root: _Node) -> None:
        """A better first solution: values of the head go, alone or for others, as long as that costs less."""
        before = -1
        while before != self.cost and not self._is_late():
            before, head = self.cost, list(self.best)
            for value in head:
                rest = [other for other in head if other != value]
                if len(rest) > 1:
                    self._try(self._with_head(root, rest[:-1], rest[-1:]))
                self._ascend(self._with_head(root, rest, [v for v in root.tail if v not in head]))
                if self.cost < before:
                    break

    def _with_head(self, root: _Node, head: Values, tail: Values) -> _Node:
        node = root
        for value in head:
            node = node.child(value)
        return replace(node, tail=list(tail))

    def _prune(self, node: _Node) -> None:
        """PRUNE-USELESS-VALUES, PRUNE and REORDER-TAIL: the tail without what cannot be part of anything better."""
        while True:
            node.merge()
            if not node.tail or self._lower(node) >= self.cost:
                node.tail = []
                return
            lower, out, splits, is_useful, _ = self._try(node)
            keep = is_useful & (lower < self.cost) & (out <= self.problem.most)
            order = np.argsort(-splits, kind="stable")
            node.tail = [node.tail[i] for i in order[keep[order]].tolist()]
            if keep.all() or self._is_late():
                return
            node.is_merged = False

    def _try(self, node: _Node) -> tuple[Longs, Longs, Longs, Flags, Longs]:
        """What adding each value of the tail brings; the best may be the best so far."""
        self.checked += len(node.tail)
        column, bound = np.array(node.tail, np.int64).T
        values = (np.ascontiguousarray(column), np.ascontiguousarray(bound))
        rows = (node.ranks, node.weights, node.labels, self._floor(node), node.group, node.groups)
        lower, cost, out, splits, is_useful = try_values(*rows, *values, self.problem.k, self.problem.penalty)
        allowed = np.where(out <= self.problem.most, cost, np.iinfo(np.int64).max)
        at = int(np.argmin(allowed))
        if allowed[at] < self.cost:
            self.cost, self.out, self.best = int(cost[at]), int(out[at]), [*node.head, node.tail[at]]
        return lower, out, splits, is_useful, allowed

    def _floor(self, node: _Node) -> Longs:
        """What each distinct row of an allset costs at least, all that are equal to it together, if not suppressed."""
        if self.problem.metric == "cm":
            fewer: Longs = node.weights - node.labels.max(axis=1, initial=0)
            return fewer
        floor: Longs = node.weights * np.maximum(node.weights, self.problem.k)
        return floor

    def _lower(self, node: _Node) -> int:
        """COMPUTE-LOWER-BOUND: no head set from this node on costs less."""
        sizes = np.zeros(node.groups, np.int64)
        np.add.at(sizes, node.group, node.weights)
        is_out = sizes[node.group] < self.problem.k
        return int(np.where(is_out, node.weights * self.problem.penalty, self._floor(node)).sum())

    def _is_late(self) -> bool:
        return self.until is not None and monotonic() > self.until

"""k-Optimize: the best way to cut ordered columns into intervals, by a set enumeration that bounds and prunes.

After R. J. Bayardo and R. Agrawal, "Data privacy through optimal k-anonymization" (ICDE 2005). The values of every
column are ordered; an anonymization is the set of values at which a new interval begins, the head set H. Below H in the
search are the sets that add values of the tail set T; the finest of them, H with all of T, is its allset A. Rows of
groups smaller than k are suppressed, and cost: DM, each the whole table, others the size of their group; CM, each 1, as
do others that do not have the commonest label of their group.

Where we differ: all values of a tail are costed at once, so that each look at a node tries its children too; greedy
ascents and exchanges give the first solution; PRUNE looks at the children of a node, not at theirs; and
`max_suppressed` cuts what suppresses too much. Models other than k-anonymity suppress groups that they fail in too.
Then what sizes cost is a lower bound of what an anonymization costs: bounds and pruning go by sizes, and all models are
asked only where sizes leave a chance to be better.

Also columns published as intervals of their values, in the order of numbers or of the hierarchy; a missing value last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Literal, NamedTuple

import numpy as np

from treeanon.algorithms.table.group_checker import GroupChecker, Tuples
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.result import Recoding, one_row_each, released, require_any, unreachable
from treeanon.arrays import Flags, Ints, Longs, unique_values
from treeanon.errors import GuaranteeError, UsageError
from treeanon.kernels.table.groups import group_numbers, try_values
from treeanon.table import Column
from treeanon.table.covers import Covers, value_ranks
from treeanon.table.table import MISSING


def places_of(column: Column) -> Ints:
    """Return the place of every row's value, which is a leaf: its rank, or one more than all ranks if it is missing.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["9", None, "10"], Hierarchy.flat(["10", "9"]))})
    >>> places_of(table.columns[0]).tolist()
    [0, 2, 1]
    """
    return np.append(value_ranks(column.hierarchy), len(column.hierarchy.leaf_nodes)).astype(np.int32)[column.codes]


def cut_column(column: Column, starts: Sequence[int]) -> Column:
    """Return the column cut into intervals, where `starts` has the places of the first value of the second, third, …
    one.

    An interval covers all values of the hierarchy between the ends, whether they occur or not; a value alone in its
    interval stays as it is, and one interval of everything is the root.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["1", "2", "5", None], Hierarchy.flat(["1", "2", "3", "5"]))})
    >>> [cut_column(table.columns[0], starts).texts() for starts in ([2], [1, 4], [])]
    [['1 … 2', '1 … 2', '3 … 5 or missing', '3 … 5 or missing'], ['1', '2 … 5', '2 … 5', None], ['*', '*', '*', '*']]
    """
    leaves, places = len(column.hierarchy.leaf_nodes), places_of(column)
    missing = bool((places == leaves).any())
    if not starts and leaves + missing > 1 and column.hierarchy.height:
        return Column(column.spec, column.hierarchy, np.zeros(len(places), np.int32))
    bounds = np.array([0, *starts, leaves + 1])
    # Only intervals that rows are in: what nobody has is not told.
    used, number = np.unique(np.searchsorted(bounds, places, "right") - 1, return_inverse=True)
    low, high = bounds[used], np.minimum(bounds[used + 1] - 1, leaves - 1 + missing)
    if (low == high).all():
        return column
    is_alone = low == leaves
    held = [
        (a,) if a == b else (a, b) for a, b in zip(low.tolist(), np.minimum(high, leaves - 1).tolist(), strict=True)
    ]
    with_missing = high == leaves
    kept = [ranks for ranks, alone in zip(held, is_alone.tolist(), strict=True) if not alone]
    covers = Covers.of(column.hierarchy, kept, with_missing[~is_alone].tolist(), is_range=True)
    codes = np.where(is_alone, MISSING, np.cumsum(~is_alone) - 1)
    return Column(column.spec, column.hierarchy, codes[number].astype(np.int32), covers)


Metric = Literal["dm", "cm"]
Values = list[tuple[int, int]]
"""Values at which an interval begins: column, and rank among the values that occur in it."""

SECONDS = 60.0
"""How long a search takes at most by default: with hundreds of values the end would never come."""

NEVER = int(np.iinfo(np.int64).max)
"""The cost of what suppresses more than is allowed."""


def search(
    problem: Problem, *, metric: Metric = "dm", label: str | None = None, seconds: float | None = SECONDS
) -> Recoding:
    """Return the table cut into intervals at the least cost, or at the least one found when the time is over.

    `metric` is dm, or cm with the column of a label, which is no quasi column. No anonymization costs less than the
    count `lower_bound` says, and `optimal` is true where that is what ours costs. It always is without a limit of
    `seconds` (None), but the time may double with every value.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> ages = Hierarchy.flat(["20", "21", "30", "31", "40"])
    >>> table = Table.of_texts({"age": (["20", "21", "30", "30", "40"], ages)})
    >>> found = search(Problem(table, (KAnonymity(2),)))
    >>> found.counts["cost"], found.counts["optimal"], sorted(found.table.rows())
    (13, True, [('20 … 21',), ('20 … 21',), ('30 … 40',), ('30 … 40',), ('30 … 40',)])
    """
    if seconds is not None and not seconds >= 0:
        raise UsageError("the seconds of a search must be a number that is not negative")
    ordered = Ordered.of(problem, metric, label)
    run = _Search(ordered, seconds)
    if not problem.max_suppressed:
        require_any(problem)
    if len(problem.table):
        run.run()
    if run.cost == NEVER:
        raise GuaranteeError(f"nothing was found in {seconds} seconds") if run.open else unreachable(problem)
    bound = run.bound()
    counts = {"metric": metric, "cost": run.cost, "lower_bound": bound, "optimal": bound >= run.cost}
    counts |= {"values": sum(len(places) - 1 for places in ordered.places), "checked": run.checked}
    return _published(ordered, run.best, counts)


def _published(ordered: Ordered, head: Values, counts: Mapping[str, object]) -> Recoding:
    """Return the recoding that a head set stands for."""
    problem, table = ordered.problem, ordered.problem.table
    number, _, holds = ordered.groups_of(head)
    # Columns are cut once what is suppressed is gone, so that nothing of it shows; only the rows kept count.
    kept = holds[number[ordered.tuples.tuple_of]]
    shown = released(problem, "koptimize", table, kept, **counts)
    starts = {
        column.name: [int(ordered.places[i][rank]) for c, rank in sorted(head) if c == i]
        for i, column in enumerate(table.quasi)
    }
    columns = tuple(cut_column(c, starts[c.name]) if c.name in starts else c for c in shown.table.columns)
    return replace(shown, table=replace(shown.table, columns=columns, report=table.report))


@dataclass(frozen=True)
class Ordered:
    """The quasi columns as ranks of the values that occur: distinct rows, how often they occur, and with which labels.

    `places` has the place of every rank among all values of the column's hierarchy.
    """

    problem: Problem
    checker: GroupChecker
    tuples: Tuples
    ranks: Ints
    labels: Longs
    places: tuple[Ints, ...]
    metric: Metric

    @classmethod
    def of(cls, problem: Problem, metric: Metric, label: str | None) -> Ordered:
        """Return the ordered columns of a problem; errors if options or values are of the wrong kind."""
        if metric not in ("dm", "cm") or (metric == "cm") != (label is not None):
            raise UsageError("the metric must be dm, or cm with the column of a label")
        table = problem.table
        one_row_each(table, "k-Optimize")
        for column in table.quasi:
            if (value_ranks(column.hierarchy)[unique_values(column.codes[column.codes >= 0])] < 0).any():
                raise UsageError(
                    f"column {column.name!r}: k-Optimize orders leaves, and there are values that are none"
                )
        checker = GroupChecker(problem)
        tuples = Tuples.of(table, checker.columns)
        found = [np.unique(places_of(column), return_inverse=True) for column in table.quasi]
        ranks = np.empty((len(tuples), len(found)), np.int32)
        for c, (_, rank) in enumerate(found):
            ranks[tuples.tuple_of, c] = rank
        labels = _labels(problem, tuples, label)
        return cls(problem, checker, tuples, ranks, labels, tuple(places for places, _ in found), metric)

    @property
    def k(self) -> int:
        """The size from which on sizes alone suppress no group."""
        return self.checker.least or 1

    @property
    def by_size(self) -> bool:
        """Whether sizes are all that models look at."""
        return self.checker.least is not None and not self.checker.columns

    @property
    def most(self) -> int:
        """How many rows may be suppressed."""
        return self.problem.max_suppressed

    @property
    def penalty(self) -> int:
        """What a suppressed row costs."""
        return 1 if self.metric == "cm" else len(self.problem.table)

    def groups_of(self, head: Values) -> tuple[Ints, Longs, Flags]:
        """Return the group of each distinct row, how many rows each group has, and whether it satisfies all models."""
        codes, sizes = [], []
        for column in range(self.ranks.shape[1]):
            bounds = np.array(sorted(rank for c, rank in head if c == column), np.int32)
            codes.append(np.searchsorted(bounds, self.ranks[:, column], "right").astype(np.int32))
            sizes.append(len(bounds) + 1)
        numbers, groups = group_numbers(codes, sizes, len(self.ranks))
        number = numbers.astype(np.int32)
        rows = np.zeros(groups, np.int64)
        np.add.at(rows, number, self.tuples.rows)
        return number, rows, self.checker.holds(self.tuples, rows, number)

    def priced(self, head: Values) -> tuple[int, int]:
        """Return what a head set costs, and how many rows it suppresses."""
        number, rows, holds = self.groups_of(head)
        out = int(rows[~holds].sum())
        if out > self.most:
            return NEVER, out
        if self.metric == "dm":
            return int(rows[holds] @ rows[holds]) + out * self.penalty, out
        labels = np.zeros((len(rows), self.labels.shape[1]), np.int64)
        np.add.at(labels, number, self.labels)
        return int((rows - labels.max(axis=1))[holds].sum()) + out, out


def _labels(problem: Problem, tuples: Tuples, label: str | None) -> Longs:
    """Return how many rows of each distinct one have each label; no columns without a label."""
    if label is None:
        return np.zeros((len(tuples), 0), np.int64)
    column = problem.table.column(label)
    if column.role == "quasi":
        raise UsageError(f"column {label!r} cannot be the label: it is a quasi column, and so is generalized itself")
    kinds, kind = np.unique(column.codes, return_inverse=True)
    labels = np.zeros((len(tuples), max(len(kinds), 1)), np.int64)
    np.add.at(labels, (tuples.tuple_of, kind), 1)
    return labels


class _Tried(NamedTuple):
    """What comes of adding each value of a tail, by sizes alone: as `try_values` has it."""

    lower: Longs
    cost: Longs
    out: Longs
    splits: Longs
    is_useful: Flags


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
        """Return the node that has the value in its head and is left with the tail."""
        column, bound = value
        pair = [self.group.astype(np.int32), (self.ranks[:, column] >= bound).astype(np.int32)]
        group, groups = group_numbers(pair, [self.groups, 2], len(self.group))
        rows = (self.ranks, self.weights, self.labels)
        return _Node([*self.head, value], list(self.tail), *rows, group, groups)

    def merge(self) -> None:
        """Make rows equal that the allset does not tell apart any more."""
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

    def __init__(self, ordered: Ordered, seconds: float | None) -> None:
        self.ordered, self.seconds, self.begun = ordered, seconds, monotonic()
        self.best: Values = []
        self.cost, self.checked = 0, 0
        self.open: list[_Node] = []
        if len(ordered.ranks):
            self.cost = ordered.priced([])[0]

    def run(self) -> None:
        """K-OPTIMIZE, with a stack in place of recursion: heads may be long."""
        ordered = self.ordered
        tail = [(c, rank) for c, places in enumerate(ordered.places) for rank in range(1, len(places))]
        none = np.zeros(len(ordered.ranks), np.int64)
        root = _Node([], tail, ordered.ranks, ordered.tuples.rows, ordered.labels, none, 1)
        self.open = [root]
        self._ascend(root)
        for without in range(len(ordered.places)):
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
        """Return what no anonymization costs less than: the least bound of what is still open."""
        return min([self.cost, *(self._lower(node) for node in self.open)])

    def _ascend(self, node: _Node) -> None:
        """A first solution: the value that costs least joins the head as long as that costs less than without."""
        least = NEVER
        while node.tail and not self._is_late():
            found = self._cheapest(node, self._try(node), least)
            if found is None:
                return
            at, least = found
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
                    node = self._with_head(root, rest[:-1], rest[-1:])
                    self._cheapest(node, self._try(node), self.cost)
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
            tried = self._try(node)
            self._cheapest(node, tried, self.cost)
            if self._is_late():
                return
            keep = tried.is_useful & (tried.lower < self.cost) & (tried.out <= self.ordered.most)
            order = np.argsort(-tried.splits, kind="stable")
            node.tail = [node.tail[i] for i in order[keep[order]].tolist()]
            if keep.all():
                return
            node.is_merged = False

    def _try(self, node: _Node) -> _Tried:
        """Return what adding each value of the tail brings by sizes alone, which is no more than it costs."""
        self.checked += len(node.tail)
        column, bound = np.array(node.tail, np.int64).T
        values = (np.ascontiguousarray(column), np.ascontiguousarray(bound))
        rows = (node.ranks, node.weights, node.labels, self._floor(node), node.group, node.groups)
        return _Tried(*try_values(*rows, *values, self.ordered.k, self.ordered.penalty))

    def _cheapest(self, node: _Node, tried: _Tried, below: int) -> tuple[int, int] | None:
        """Return which value of the tail costs least by all models, and how much, if less than asked for: perhaps the
        best.
        """
        allowed = np.where(tried.out <= self.ordered.most, tried.cost, NEVER)
        found = None
        for at in [int(allowed.argmin())] if self.ordered.by_size else np.argsort(allowed, kind="stable").tolist():
            cost = int(allowed[at])
            if cost >= below:
                break
            head = [*node.head, node.tail[at]]
            if not self.ordered.by_size:
                if self._is_late():
                    break
                cost, _ = self.ordered.priced(head)
            if cost < below:
                found, below = (at, cost), cost
                if cost < self.cost:
                    self.cost, self.best = cost, head
        return found

    def _floor(self, node: _Node) -> Longs:
        """Return what each distinct row of an allset costs at least, all that are equal to it together, if not
        suppressed.
        """
        if self.ordered.metric == "cm":
            fewer: Longs = node.weights - node.labels.max(axis=1, initial=0)
            return fewer
        floor: Longs = node.weights * np.maximum(node.weights, self.ordered.k)
        return floor

    def _lower(self, node: _Node) -> int:
        """COMPUTE-LOWER-BOUND: no head set from this node on costs less."""
        sizes = np.zeros(node.groups, np.int64)
        np.add.at(sizes, node.group, node.weights)
        is_out = sizes[node.group] < self.ordered.k
        return int(np.where(is_out, node.weights * self.ordered.penalty, self._floor(node)).sum())

    def _is_late(self) -> bool:
        """Return whether the time is over. Of that it is told how much is gone; without a limit how many values were
        tried.
        """
        report = self.ordered.problem.report_progress
        if self.seconds is None:
            report(self.checked)
            return False
        gone = monotonic() - self.begun
        report(int(1000 * min(gone, self.seconds)), int(1000 * self.seconds))
        return gone > self.seconds

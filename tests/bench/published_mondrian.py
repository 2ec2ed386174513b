"""Mondrian as it is published for taxonomies, slow and plain: what our own is measured against.

A group is cut along the column in which it loses most: numbers at their median, categories into the children of the
lowest node above the group, all at once. Where a part would not satisfy the model, the next column is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.result import Partition
from treeanon.arrays import Floats, Ints, Longs
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table import node_ncp
from treeanon.metrics.table.ncp import lowest_common, rank_places
from treeanon.privacy.models import FrequencyDiversity, KAnonymity
from treeanon.table import Column
from treeanon.table.covers import value_ranks

Holds = Callable[[Longs], bool]


def published(problem: Problem) -> Partition:
    """Its groups, for k-anonymity or frequency ℓ-diversity of a table without missing values."""
    holds, axes = _rule(problem), [_axis(column) for column in problem.table.quasi]
    group = np.zeros(len(problem.table), np.int64)
    todo, groups = [np.arange(len(group))], 0
    while todo:
        rows = todo.pop()
        parts = _cut(rows, axes, holds)
        if parts is None:
            group[rows] = groups
            groups += 1
        else:
            todo += parts
    return Partition("published", problem.models, group)


def _rule(problem: Problem) -> Holds:
    (model,) = problem.models
    if isinstance(model, KAnonymity):
        k = model.k
        return lambda rows: len(rows) >= k
    assert isinstance(model, FrequencyDiversity)
    ell, secret = model.l, problem.table.sensitive[0].codes
    return lambda rows: len(rows) > 0 and int(np.bincount(secret[rows]).max()) * ell <= len(rows)


@dataclass(frozen=True)
class _Axis:
    """A column's values in order; `prices` are where numbers lie, or what nodes lose."""

    values: Ints
    prices: Floats
    hierarchy: Hierarchy | None

    def above(self, low: int, high: int) -> int:
        assert self.hierarchy is not None
        return int(lowest_common(self.hierarchy, np.array([low]), np.array([high]))[0])

    def width(self, rows: Longs) -> float:
        """What a group loses in the column."""
        low, high = int(self.values[rows].min()), int(self.values[rows].max())
        if self.hierarchy is None:
            return float(self.prices[high] - self.prices[low])
        return float(self.prices[self.above(low, high)])

    def cuts(self, rows: Longs) -> Iterator[list[Longs]]:
        """The ways to cut a group of more than one value: numbers before or behind the median."""
        own = self.values[rows]
        if self.hierarchy is None:
            middle = np.sort(own)[len(own) // 2]
            sides = sorted((own < middle, own <= middle), key=lambda side: abs(2 * int(side.sum()) - len(own)))
            yield from ([rows[side], rows[~side]] for side in sides if 0 < side.sum() < len(own))
            return
        children = np.flatnonzero(self.hierarchy.parent == self.above(int(own.min()), int(own.max())))
        part = np.searchsorted(children, own, side="right")
        yield [rows[part == p] for p in np.unique(part)]


def _axis(column: Column) -> _Axis:
    places = rank_places(column)
    if places is not None:
        return _Axis(value_ranks(column.hierarchy)[column.codes], places, None)
    return _Axis(column.codes, node_ncp(column), column.hierarchy)


def _cut(rows: Longs, axes: list[_Axis], holds: Holds) -> list[Longs] | None:
    for axis in sorted(axes, key=lambda axis: -axis.width(rows)):
        if axis.width(rows) > 0:
            for parts in axis.cuts(rows):
                if all(map(holds, parts)):
                    return parts
    return None

"""Which groups of tuples satisfy all models of a problem.

Which groups of rows satisfy all models of a problem, for searches that put rows together themselves.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.tuples import Cells, Tuples
from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.table.groups import group_numbers
from treeanon.kernels.table.tuples import distinct, histogram, persons_in, persons_losing
from treeanon.privacy.models.model import Model
from treeanon.table import Column, Groups, Histogram
from treeanon.table.histograms import groups_of, whole_of


class GroupChecker:
    """The models, sorted by what they look at.

    `columns` are the sensitive columns that any model looks at. `least` is the size from which on a group satisfies the
    models that look at none; None where they are not of that kind.
    """

    def __init__(self, problem: Problem) -> None:
        self._models, self._limit = problem.models, problem.max_suppressed
        self._by_size = [model for model in problem.models if model.sensitive is None]
        looks_at = [(model, problem.columns_of(model)) for model in problem.models if model.sensitive is not None]
        self.columns: tuple[Column, ...] = tuple(
            column for column in problem.table.sensitive if any(column in columns for _, columns in looks_at)
        )
        self._by_column: list[list[Model]] = [
            [model for model, columns in looks_at if column in columns] for column in self.columns
        ]
        self.least = self._least_size(problem.table.persons)

    def _least_size(self, persons: int) -> int | None:
        # A group has at most all persons: beyond that one size stands for all.
        flags = np.ones(persons + 1, np.bool_)
        for model in self._by_size:
            flags &= model.holds(Groups(np.arange(persons + 1, dtype=np.int64)))
        flags[:1] = False
        least = int(flags.argmax()) if flags.any() else persons + 1
        return least if flags[least:].all() else None

    def holds(self, tuples: Tuples, rows: Longs, number: Ints) -> Flags:
        """Return whether each group satisfies all models; `number` has the group of every tuple, `rows` their rows."""
        sizes = self.sizes(tuples, rows, number)
        if self.least is not None:
            holds = sizes >= self.least
        else:
            holds = np.ones(len(rows), np.bool_)
            for model in self._by_size:
                holds &= model.holds(Groups(sizes))
        for cells, models in zip(tuples.cells, self._by_column, strict=True):
            _check_column(cells, models, number, holds)
        return holds

    def sizes(self, tuples: Tuples, rows: Longs, number: Ints) -> Longs:
        """Return the number of persons of each group."""
        if not len(tuples.pair_tuple):
            return rows
        return persons_in(tuples.pair_tuple, tuples.pair_person, number, len(rows))

    def is_monotone(self, tuples: Tuples) -> bool:
        """Return whether no generalization suppresses more than those below it.

        With nothing suppressed it is enough that unions of groups hold, if they have different persons. Else groups
        must hold whatever is added, and no other sensitive columns may be joined, by which new parts would be added.
        """
        if self._limit == 0 and not len(tuples.pair_tuple):
            return all(model.is_monotone for model in self._models)
        grows = all(model.holds_when_grown for models in self._by_column for model in models)
        return self.least is not None and grows and all(cells.combos == 1 for cells in tuples.cells)

    def lost(self, tuples: Tuples, number: Ints, holds: Flags) -> int:
        """Return how many persons have a row in a group that does not hold."""
        if len(tuples.pair_tuple):
            return int(persons_losing(tuples.pair_tuple, tuples.pair_person, number, holds))
        return int(tuples.rows[~holds[number]].sum())


def _check_column(cells: Cells, models: list[Model], number: Ints, holds: Flags) -> None:
    """Take back `holds` of the groups in which a model fails for one sensitive column.

    The other sensitive columns are joined to the quasi-identifier (V. Ciriani et al., "k-anonymity", 2007, Section 5):
    a group is published if all of the parts that they divide it into satisfy the models. What has failed already is not
    looked at again.
    """
    group = number[cells.tuple_of]
    parts, above = len(holds), np.arange(len(holds), dtype=np.int32)
    part = group
    if cells.combos > 1:
        keys = (group.astype(np.int64) * cells.combos + cells.combo).reshape(-1, 1)
        first, _, part = distinct(keys)
        parts, above = len(first), group[first]
    part = np.where(holds[group], part, np.int32(-1)).astype(np.int32)
    starts, values, counts, sizes = histogram(part, parts, cells.value, cells.counts, cells.person)
    counted = np.flatnonzero(np.diff(starts) > 0)
    if cells.person.size:
        sizes = _sizes_of_parts(part, parts, cells)
    starts = np.append(starts[:-1][counted], starts[-1])
    whole = Histogram(cells.column.name, starts, values, counts, cells.whole, cells.column.hierarchy)
    groups = Groups(sizes[counted], (whole,))
    for model in models:
        holds[above[counted[~model.holds(groups)]]] = False


def _sizes_of_parts(part: Ints, parts: int, cells: Cells) -> Longs:
    """Return the number of different persons of each part, where one person may have several values in it."""
    kept = part >= 0
    pairs = np.unique((part[kept].astype(np.int64) << 32) | cells.person[kept])
    return np.bincount(pairs >> 32, minlength=parts).astype(np.int64)


class RowGroupChecker:
    """The models of a problem, asked about groups of its rows.

    Shares of values are compared with those of the whole table. The other sensitive columns are joined to the quasi
    columns (Section 5 there), as in every check: a group holds if all of the parts that they divide it into do.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"sex": (["f", "m", "m"], Hierarchy.flat(["f", "m"]))})
    >>> RowGroupChecker(Problem(table, (KAnonymity(2),))).holds(np.array([0, 1, 1]), 2).tolist()
    [False, True]
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        table = problem.table
        self._by_size = [model for model in problem.models if model.sensitive is None]
        self._by_column: list[tuple[Column, list[Model], Longs]] = []
        for column in table.sensitive:
            asks = [model for model in problem.models if column in problem.columns_of(model)]
            if asks:
                self._by_column.append((column, asks, whole_of(column, table.person)))

    def holds(self, numbers: Longs, groups: int, rows: Longs | None = None) -> Flags:
        """Return whether each group satisfies all models; `numbers` has the group of every row, or of these rows
        alone.
        """
        table = self.problem.table if rows is None else self.problem.table.take(rows)
        flags = np.ones(groups, np.bool_)
        if self._by_size:
            found = groups_of(table, numbers, ())
            for model in self._by_size:
                flags &= model.holds(found)
        for column, models, whole in self._by_column:
            own = table.column(column.name)
            others = [c for c in table.sensitive if c.name != column.name]
            part, parts, above = numbers, groups, np.arange(groups)
            if others:
                sizes = [groups, *(c.size + 1 for c in others)]
                part, parts = group_numbers(
                    [numbers.astype(np.int32), *(other.places for other in others)], sizes, len(table)
                )
                above = np.zeros(parts, np.int64)
                above[part] = numbers
            found = groups_of(table, part, [own])
            counted = Groups(found.sizes, (replace(found.sensitive[0], whole=whole),))
            for model in models:
                flags[above[~model.holds(counted)]] = False
        return flags

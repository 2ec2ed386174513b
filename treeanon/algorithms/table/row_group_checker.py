"""Which groups of rows satisfy all models of a problem, for searches that put rows together themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treeanon.algorithms.table.problem import Problem
from treeanon.kernels.table.groups import group_numbers
from treeanon.kernels.tree.forest import Flags, Longs
from treeanon.privacy.models.model import Model
from treeanon.table import Column, Groups
from treeanon.table.histograms import groups_of, whole_of


class RowJudge:
    """The models of a problem, asked about groups of its rows.

    Shares of values are compared with those of the whole table. The other sensitive columns are joined to the quasi
    columns (CHAP §5), as in every check: a group holds if all of the parts that they divide it into do.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"sex": (["f", "m", "m"], Hierarchy.flat(["f", "m"]))})
    >>> RowJudge(Problem(table, (KAnonymity(2),))).holds(np.array([0, 1, 1]), 2).tolist()
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
        """Whether each group satisfies all models; `numbers` has the group of every row, or of these rows alone."""
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
            judged = Groups(found.sizes, (replace(found.sensitive[0], whole=whole),))
            for model in models:
                flags[above[~model.holds(judged)]] = False
        return flags

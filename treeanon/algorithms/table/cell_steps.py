"""What single cells lose, as steps: a cell that becomes one step more general than it was loses one.

To suppress a cell is one step. To generalize it takes as many steps as its hierarchy has levels, each of which costs
one by that number, so that a column costs the same in either way when it goes altogether. Two rows are as far apart as
it costs to make one cell like the other in every column: the sum over the columns of h / l, where h is the level on
which both values are one and l the number of levels (Section 3.2.3 of the chapter).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

import numpy as np

from treeanon.algorithms.table.result import SUPPRESSED
from treeanon.arrays import Ints, Longs
from treeanon.table import Column, Table
from treeanon.table.covers import level_maps

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

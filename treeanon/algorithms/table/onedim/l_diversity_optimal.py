"""Optimal one-dimensional ℓ-diversity, by dynamic programming over what has been taken of each sensitive value.

After G. Ghinita, P. Karras, P. Kalnis and N. Mamoulis, "A framework for efficient data anonymization under privacy and
accuracy constraints" (ACM TODS 34(2), 2009), Section 5. Groups of 2ℓ rows or more can be divided, so that groups of ℓ
to 2ℓ - 1 rows of different values suffice. Among all partitions into such groups that can follow one another so that
the rows of each value are taken in order, the best is found. Where rows count, as in GCP, that need not be the best of
all, not even for one numeric column: a small group may lie within the extent of a larger one.

What groups of rows lose, as kernels want to know it: GCP in either form, for every style of publishing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from treeanon.algorithms.table.onedim.costs import scales_of, table_costs
from treeanon.algorithms.table.registry import Style
from treeanon.arrays import Ints, Longs
from treeanon.errors import UsageError
from treeanon.kernels.table.onedim_diversity import best_groups, queues
from treeanon.kernels.table.onedim_diversity_loss import Prices, partition_price
from treeanon.metrics.table.ncp import Form
from treeanon.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Costs:
    """The cells of a table's quasi columns in an order of its rows, and the price of having them in one group.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"x": (["a", "b", "d"], Hierarchy.flat(["a", "b", "c", "d"]))})
    >>> costs = Costs.of(table, np.array([0, 1, 2]), "set", "sets")
    >>> costs.gcp(np.array([0, 0, 1]))
    0.2222222222222222
    """

    cells: Ints
    prices: Prices

    @classmethod
    def of(cls, table: Table, rows: Longs, form: Form = "taxonomy", style: Style = "auto") -> Costs:
        """Return the costs of groups of these rows, for a form of GCP and the style in which groups are published."""
        columns = table_costs(table, form, style)
        values, scales = scales_of(columns)
        mixed = np.array([column.mixed for column in columns])
        return cls(values[rows], Prices(scales.kinds, scales.starts, scales.shares, scales.parent, scales.end, mixed))

    def gcp(self, group: Ints) -> float:
        """Return the GCP of the groups published; `group` has that of every place, from 0 on."""
        offsets, members = listed(group)
        whole = partition_price(self.cells, offsets, members, self.prices)
        return float(whole / max(1, self.cells.size))


def listed(group: Ints) -> tuple[Longs, Longs]:
    """Return where each group begins, and the places group by group, each in order."""
    members = np.argsort(group, kind="stable").astype(np.int64)
    return np.append(0, np.cumsum(np.bincount(group))).astype(np.int64), members


_VALUES = 16
_CELLS = 20_000_000
_WORK = 1_000_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Optimal:
    """The best groups for several levels of diversity at once.

    `gcp` has the least loss for each of `levels`, infinite where there is none.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["a", "b", "c", "c"], Hierarchy.flat(["a", "b", "c"]))})
    >>> costs = Costs.of(table, np.arange(4), "set", "sets")
    >>> best = Optimal.of(costs, np.array([0, 0, 1, 1], np.int32), 2, [1, 2])
    >>> best.gcp, best.groups(2).tolist()
    ([0.0, 0.5], [0, 1, 0, 1])
    """

    levels: tuple[int, ...]
    gcp: list[float]
    values: Ints
    masks: Longs
    last: Ints

    @classmethod
    def of(cls, costs: Costs, values: Ints, count: int, levels: list[int]) -> Optimal:
        """Return the best for these levels; UsageError where that would take too long."""
        sizes = np.bincount(values, minlength=count)
        states = prod(size + 1 for size in sizes.tolist())
        if count > _VALUES or states * len(levels) > _CELLS or states * 2**count > _WORK:
            raise UsageError(
                f"the optimal search is for small tables with few sensitive values: {len(values):,} rows with {count:,}"
                " values are too many; ask for the method heuristic or near"
            )
        masks = np.arange(1, 2**count)
        bits = np.array([int(mask).bit_count() for mask in masks.tolist()], np.int64)
        used = np.any([(bits >= level) & (bits < 2 * level) for level in levels], axis=0)
        masks, bits = masks[used], bits[used]
        starts, places = queues(values, count)
        loss, last = best_groups(costs.cells, starts, places, masks, bits, np.array(levels, np.int64), costs.prices)
        gcp = (loss[-1] / max(1, costs.cells.size)).tolist()
        return cls(tuple(levels), gcp, values, masks, last)

    def groups(self, level: int) -> Ints:
        """Return the group of every place in the best for a level."""
        at = self.levels.index(level)
        count = int(self.values.max(initial=-1)) + 1
        starts, places = queues(self.values, count)
        left = np.diff(starts)
        step = np.append(1, np.cumprod(left + 1))
        group = np.full(len(self.values), -1, np.int32)
        state, number = len(self.last) - 1, 0
        while state:
            mask = int(self.masks[self.last[state, at]])
            for v in range(count):
                if mask >> v & 1:
                    left[v] -= 1
                    state -= int(step[v])
                    group[places[starts[v] + left[v]]] = number
            number += 1
        return (number - 1 - group).astype(np.int32)


def largest(best: Optimal, max_loss: float) -> int:
    """Return the most diverse level that loses no more than what is allowed; 0 where there is none."""
    return max((level for level, loss in zip(best.levels, best.gcp, strict=True) if loss <= max_loss), default=0)

"""What groups of rows lose, as kernels want to know it: GCP in either form, for every style of publishing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.algorithms.table.onedim.costs import scales_of, table_costs
from treeanon.algorithms.table.options import Style
from treeanon.kernels.table.onedim_diversity_loss import Prices, partition_price
from treeanon.kernels.tree.forest import Ints, Longs
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
        """The costs of groups of these rows, for a form of GCP and the style in which groups are published."""
        columns = table_costs(table, form, style)
        values, scales = scales_of(columns)
        mixed = np.array([column.mixed for column in columns])
        return cls(values[rows], Prices(scales.kinds, scales.starts, scales.shares, scales.parent, scales.end, mixed))

    def gcp(self, group: Ints) -> float:
        """The GCP of the groups published; `group` has that of every place, from 0 on."""
        offsets, members = listed(group)
        whole = partition_price(self.cells, offsets, members, self.prices)
        return float(whole / max(1, self.cells.size))


def listed(group: Ints) -> tuple[Longs, Longs]:
    """Where each group begins, and the places group by group, each in order."""
    members = np.argsort(group, kind="stable").astype(np.int64)
    return np.append(0, np.cumsum(np.bincount(group))).astype(np.int64), members

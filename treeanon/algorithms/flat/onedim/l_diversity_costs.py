"""What groups of rows lose, as kernels want to know it: GCP in either form, for every style of publishing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.algorithms.flat.options import Style
from treeanon.algorithms.flat.recoding import style_of
from treeanon.kernels.onedim_diversity_loss import NODE, SET, SPAN, Floats, Prices, partition_price
from treeanon.kernels.trees import Ints, Longs
from treeanon.loss.flat.ncp import Form, node_ncp
from treeanon.loss.flat.ranges import rank_places
from treeanon.table import Column, Table
from treeanon.table.covers import value_ranks


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
        columns = table.quasi
        cells = np.empty((len(rows), len(columns)), np.int32)
        parts = []
        for c, column in enumerate(columns):
            kind, shares = _priced(column, form, style)
            codes = column.codes[rows]
            ranked = column.hierarchy if kind == NODE else None
            cells[:, c] = codes if ranked is not None else np.append(value_ranks(column.hierarchy), -1)[codes]
            none = np.zeros(len(shares), np.int32)
            parents, ends = (none, none) if ranked is None else (ranked.parent, ranked.end)
            mixed = float(node_ncp(column, form)[0]) if style_of(column, style) == "hierarchy" else 1.0
            parts.append((kind, shares, parents, ends, mixed))
        starts = np.append(0, np.cumsum([len(part[1]) for part in parts]))[:-1].astype(np.int64)
        prices = Prices(
            np.array([part[0] for part in parts], np.int32),
            starts,
            np.concatenate([part[1] for part in parts]),
            np.concatenate([part[2] for part in parts]).astype(np.int32),
            np.concatenate([part[3] for part in parts]).astype(np.int32),
            np.array([part[4] for part in parts]),
        )
        return cls(cells, prices)

    def gcp(self, group: Ints) -> float:
        """The GCP of the groups published; `group` has that of every place, from 0 on."""
        offsets, members = listed(group)
        whole = partition_price(self.cells, offsets, members, self.prices)
        return float(whole / max(1, self.cells.size))


def _priced(column: Column, form: Form, style: Style) -> tuple[int, Floats]:
    """How a column is priced, and the shares for that."""
    style = style_of(column, style)
    if style == "hierarchy":
        return NODE, node_ncp(column, form)[:-1]
    values = len(column.hierarchy.leaf_nodes)
    steps = np.arange(values) / max(1, values - 1)
    if form == "set":
        return (SPAN if style == "ranges" else SET), steps
    places = rank_places(column)
    if places is not None:
        return SPAN, places
    leaves = column.hierarchy.leaf_count.astype(np.float64)
    return NODE, np.where(leaves > 1, leaves / leaves[0], 0.0)


def listed(group: Ints) -> tuple[Longs, Longs]:
    """Where each group begins, and the places group by group, each in order."""
    members = np.argsort(group, kind="stable").astype(np.int64)
    return np.append(0, np.cumsum(np.bincount(group))).astype(np.int64), members

"""What rows would cost when published as a group: the NCP of their values, column by column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.algorithms.table.onedim.points import Floats
from treeanon.algorithms.table.options import Style
from treeanon.algorithms.table.recoding import style_of
from treeanon.errors import UsageError
from treeanon.kernels.table.adaptive import NODES, RANGES, SETS, Scales
from treeanon.kernels.table.onedim import add_node_costs, add_range_costs, add_set_costs
from treeanon.kernels.tree.forest import Ints, Longs
from treeanon.metrics.table.ncp import Form, node_ncp
from treeanon.metrics.table.ranges import rank_places
from treeanon.table import Column, Table
from treeanon.table.covers import value_ranks


@dataclass(frozen=True, eq=False)
class ColumnCosts:
    """A column's values by row, negative where missing, and what groups of them cost.

    By `kind`, RANGES: values are ranks, and `shares` has their places, so that a group costs how far its last place is
    from its first. NODES: values are nodes, and a group costs the share of the lowest node that covers it. SETS: values
    are nodes, and each distinct one after the first costs what `shares` says. Groups in which some values are missing
    cost `mixed`, those in which all are nothing.
    """

    kind: int
    values: Ints
    shares: Floats
    parent: Ints
    end: Ints
    mixed: float = 1.0

    @classmethod
    def of(cls, column: Column, form: Form, style: Style) -> ColumnCosts:
        """The costs of what is published of a column in this style, in this form of NCP.

        They are the NCP of the release, but for ranges of a column of texts whose values are numbers: there the values
        themselves are counted, not all that are between.
        """
        tree = column.hierarchy
        leaves, count = tree.leaf_count, len(tree.leaf_nodes)
        style = style_of(column, style)
        if style == "hierarchy":
            shares = node_ncp(column, form)[:-1]
            return cls(NODES, column.codes, shares, tree.parent, tree.end, float(shares[0]))
        if form == "set" and style == "sets":
            step = np.full(len(tree), 1.0 / max(count - 1, 1))
            return cls(SETS, column.codes, step, tree.parent, tree.end)
        places = np.arange(count) / max(count - 1, 1) if form == "set" else rank_places(column)
        if places is None:
            shares = np.where(leaves > 1, leaves / leaves[0], 0.0)
            return cls(NODES, column.codes, shares, tree.parent, tree.end)
        none = np.zeros(count, np.int32)
        ranks = np.append(value_ranks(tree), np.int32(-1))[column.codes]
        return cls(RANGES, ranks, places, none, none)

    def add(self, values: Ints, k: int, first: int, costs: Floats) -> None:
        """Adds to costs[i, s - k], for all s from k to 2k - 1, what the s values from number first + i on cost."""
        if self.kind == RANGES:
            add_range_costs(values, self.shares, self.mixed, k, first, costs)
        elif self.kind == NODES:
            add_node_costs(values, self.shares, self.parent, self.end, self.mixed, k, first, costs)
        else:
            add_set_costs(values, len(self.shares), float(self.shares[0]), k, first, costs)


def table_costs(table: Table, form: Form, style: Style) -> list[ColumnCosts]:
    """The costs of all quasi columns."""
    if form not in ("taxonomy", "set"):
        raise UsageError("the form of NCP must be taxonomy or set")
    return [ColumnCosts.of(column, form, style) for column in table.quasi]


def scales_of(columns: list[ColumnCosts]) -> tuple[Ints, Scales]:
    """The values of all columns, a row each, and what they cost."""
    values = np.stack([column.values for column in columns], axis=1).astype(np.int32)
    starts: Longs = np.append(0, np.cumsum([len(column.shares) for column in columns])).astype(np.int64)
    kinds = np.array([column.kind for column in columns], np.int64)
    shares, parent, end = (
        np.concatenate([getattr(column, name) for column in columns]) for name in ("shares", "parent", "end")
    )
    return np.ascontiguousarray(values), Scales(kinds, starts, shares, parent, end)

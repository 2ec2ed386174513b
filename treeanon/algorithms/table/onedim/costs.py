"""What rows would cost when published as a group: the NCP of their values, column by column.

The best way to cut an order of rows into groups of k to 2k - 1, by dynamic programming.

After G. Ghinita, P. Karras, P. Kalnis and N. Mamoulis, "A framework for efficient data anonymization under privacy and
accuracy constraints" (ACM TODS 34(2), 2009), Section 4: some best cut has no group of 2k rows or more, for its halves
cost no more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from treeanon.algorithms.table.registry import Style
from treeanon.algorithms.table.result import style_of
from treeanon.arrays import Floats, Ints, Longs
from treeanon.kernels.jit import for_rows
from treeanon.kernels.table.onedim import add_extent_costs, add_node_costs, add_range_costs, add_set_costs, extend_cuts
from treeanon.kernels.table.onedim_diversity_loss import Prices, partition_price
from treeanon.kernels.table.orders import NODES, RANGES, SETS, Scales
from treeanon.metrics.table.ncp import Form, form_of, node_ncp, rank_places
from treeanon.table import Column, Table
from treeanon.table.controls import column_weights
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
        """Return the costs of what is published of a column in this style, in this form of NCP.

        They are the NCP of the release, but for ranges of a column of texts whose values are numbers: there the values
        themselves are counted, not all that are between.
        """
        tree = column.hierarchy
        leaves, count = tree.leaf_count, len(tree.leaf_nodes)
        style = style_of(column, style)
        if style == "hierarchy":
            shares = node_ncp(column, form)[:-1]
            return cls(NODES, column.codes, shares, tree.parent, tree.end, float(shares[0]))
        form = form_of(column, form)
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

    def times(self, weight: float) -> ColumnCosts:
        """Return the costs, each times a weight."""
        return self if weight == 1 else replace(self, shares=self.shares * weight, mixed=self.mixed * weight)

    def add(self, values: Ints, k: int, first: int, costs: Floats) -> None:
        """Add to costs[i, s - k], for all s from k to 2k - 1, what the s values from number first + i on cost."""
        if self.kind == RANGES:
            for_rows(add_range_costs, len(values))(values, self.shares, self.mixed, k, first, costs)
        elif self.kind == NODES:
            for_rows(add_node_costs, len(values))(
                values, self.shares, self.parent, self.end, self.mixed, k, first, costs
            )
        else:
            for_rows(add_set_costs, len(values))(
                values, len(self.shares), float(self.shares[0]), self.mixed, k, first, costs
            )


def table_costs(table: Table, form: Form, style: Style) -> list[ColumnCosts]:
    """Return the costs of all quasi columns, each times its weight."""
    weights = column_weights(table.quasi).tolist()
    return [ColumnCosts.of(column, form, style).times(w) for w, column in zip(weights, table.quasi, strict=True)]


def scales_of(columns: list[ColumnCosts]) -> tuple[Ints, Scales]:
    """Return the values of all columns, a row each, and what they cost."""
    values = np.stack([column.values for column in columns], axis=1).astype(np.int32)
    starts: Longs = np.append(0, np.cumsum([len(column.shares) for column in columns])).astype(np.int64)
    kinds = np.array([column.kind for column in columns], np.int64)
    shares, parent, end = (
        np.concatenate([getattr(column, name) for column in columns]) for name in ("shares", "parent", "end")
    )
    return np.ascontiguousarray(values), Scales(kinds, starts, shares, parent, end)


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


_CELLS = 1 << 21
_SAMPLED, _PART, _GROUPS = 1 << 25, 512, 6

GroupCosts = Callable[[int, int, int], Floats]
"""The costs of groups by (k, first, last): those that begin at rows from `first` to before `last`, of k to 2k - 1."""


def best_cuts(costs: GroupCosts, rows: int, k: int) -> tuple[float, Longs]:
    """Return the least cost of a cut, and for every j the size of the last group of the best cut of the first j rows.

    The cost of a group counts for each of its rows. There are k rows at least, or none.
    """
    best = np.full(rows + 1, np.inf)
    best[0] = 0.0
    size = np.zeros(rows + 1, np.int64)
    step = max(_CELLS // k, 1)
    starts = range(0, max(rows - k + 1, 0), step)

    def block(start: int) -> Floats:
        return costs(k, start, min(start + step, rows - k + 1))

    for start, found in zip(starts, _few_ahead(block, starts), strict=True):
        for_rows(extend_cuts, rows)(found, k, start, best, size)
    return float(best[-1]), size


def _few_ahead(task: Callable[[int], Floats], starts: range) -> Iterator[Floats]:
    """Return what the task makes of each start, on all cores, as many at a time as there are: each takes much room."""
    jobs = os.cpu_count() or 1
    if len(starts) < 2:
        yield from map(task, starts)
        return
    with ThreadPoolExecutor(jobs) as pool:
        for wave in range(0, len(starts), jobs):
            yield from pool.map(task, starts[wave : wave + jobs])


def ncp_costs(columns: list[ColumnCosts], rows: Longs) -> GroupCosts:
    """Return the NCP of groups in this order of rows, added up over the columns."""
    held = [(np.ascontiguousarray(column.values[rows]), column.add) for column in columns]

    def costs(k: int, first: int, last: int) -> Floats:
        out = np.zeros((last - first, k))
        for values, add in held:
            add(values, k, first, out)
        return out

    return costs


def extent_costs(places: Floats) -> GroupCosts:
    """Return how far it is in the order from the first row of a group to its last."""

    def costs(k: int, first: int, last: int) -> Floats:
        out = np.zeros((last - first, k))
        add_extent_costs(places, k, first, out)
        return out

    return costs


def sampled_loss(columns: list[ColumnCosts], rows: Longs, k: int) -> float:
    """Return what a row is expected to lose by the best cut of an order: the NCP of all columns.

    Where there are many rows, short parts of the order are looked at: samples of rows would lie less close.
    """
    length = max(_GROUPS * k, _PART)
    parts = _SAMPLED // (k * length)
    if max(parts, 1) * length >= len(rows):
        parts, length = 1, len(rows)
    starts = np.linspace(0, len(rows) - length, max(parts, 1)).astype(np.int64).tolist()
    found = [best_cuts(ncp_costs(columns, rows[start : start + length]), length, k)[0] for start in starts]
    return sum(found) / max(length * len(starts), 1)

"""Losses of 1D (Ghinita et al., TODS 34(2), 2009, §7.2) that look at groups: IL₁, IL∞, maximum and average NCP, volume.

The extent of a published value is how far it is from the least to the greatest leaf that it covers, as a share of the
whole column: by numbers where the column has these, else by their ranks. What may also be missing has the extent 1.
The extent of a group is the mean over its quasi columns.

A group is what a reader sees as one: rows that are published alike. Groups of a search whose boxes are equal count as
one group.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Floats, Longs
from treeanon.metrics.table.groups import groups_of
from treeanon.metrics.table.ncp import Form, Weights, mean_of, value_ncp
from treeanon.metrics.table.ranges import node_ends, rank_places
from treeanon.table import Column, Table


def mean_extent(released: Table, weights: Weights | None = None) -> float:
    """Return IL₁: the mean over the groups of their extents, each group counted once, whatever its size.

    >>> from treeanon.hierarchy import Hierarchy
    >>> hierarchy = Hierarchy.from_paths([[x, "low" if x < "3" else "high", "*"] for x in "12345"])
    >>> table = Table.of_texts({"x": (["low", "low", "5", None], hierarchy)})
    >>> round(mean_extent(table), 4), largest_extent(table)
    (0.0833, 0.25)
    """
    extents, _ = _by_group(released, {c.name: value_extents(c) for c in released.quasi}, weights)
    return float(extents.mean()) if len(extents) else 0.0


def largest_extent(released: Table, weights: Weights | None = None) -> float:
    """Return IL∞: the largest extent of a group."""
    extents, _ = _by_group(released, {c.name: value_extents(c) for c in released.quasi}, weights)
    return float(extents.max(initial=0.0))


def average_ncp(released: Table, form: Form = "taxonomy", weights: Weights | None = None) -> float:
    """Return the mean over the groups of their NCP, each group counted once, whatever its size.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"sex": (["*", "*", "*", "m"], Hierarchy.flat(["f", "m"]))})
    >>> average_ncp(table), weighted_maximum_ncp(table), weighted_maximum_share(table)
    (0.5, 3.0, 0.75)
    """
    prices, _ = _by_group(released, {c.name: value_ncp(c, form) for c in released.quasi}, weights)
    return float(prices.mean()) if len(prices) else 0.0


def largest_ncp(released: Table, form: Form = "taxonomy", weights: Weights | None = None) -> float:
    """Return the greatest NCP of a group."""
    prices, _ = _by_group(released, {c.name: value_ncp(c, form) for c in released.quasi}, weights)
    return float(prices.max(initial=0.0))


def weighted_maximum_ncp(released: Table, form: Form = "taxonomy", weights: Weights | None = None) -> float:
    """Return the NCP of the group that has the greatest, times its rows; of several such groups, of the largest."""
    prices, sizes = _by_group(released, {c.name: value_ncp(c, form) for c in released.quasi}, weights)
    if not len(prices):
        return 0.0
    # Equal sums of other columns may differ in the last digit.
    greatest = prices >= prices.max() - 1e-12
    return float((prices * sizes)[greatest].max())


def weighted_maximum_share(released: Table, form: Form = "taxonomy", weights: Weights | None = None) -> float:
    """Return the same with the group's share of the rows, 0 to 1: what it adds to the GCP."""
    return weighted_maximum_ncp(released, form, weights) / max(1, len(released))


def value_extents(column: Column) -> Floats:
    """Return the extent of every published value of a column, by code; at the end 0, of a missing value.

    >>> from treeanon.hierarchy import Hierarchy
    >>> value_extents(Table.of_texts({"x": (["a"], Hierarchy.flat("abc"))}).columns[0]).tolist()
    [1.0, 0.0, 0.0, 0.0, 0.0]
    """
    places = rank_places(column)
    if places is None:
        values = len(column.hierarchy.leaf_nodes)
        places = np.arange(values) / max(1, values - 1)
    if column.covers is not None:
        low, high = column.covers.low, column.covers.high
        return np.append(np.where(column.covers.missing, 1.0, places[high] - places[low]), 0.0)
    low, high = node_ends(column)
    return np.append(places[high] - places[low], 0.0)


def _by_group(released: Table, prices: dict[str, Floats], weights: Weights | None) -> tuple[Floats, Longs]:
    """Return the weighted mean over the columns of each group's price, and how many rows each group has."""
    numbers, groups = groups_of(released)
    sizes = np.bincount(numbers, minlength=groups).astype(np.int64)
    first = np.zeros(groups, np.int64)
    first[numbers] = np.arange(len(released))
    total = np.zeros(groups)
    for column in released.quasi:
        # Its share of the mean over the columns.
        share = mean_of({name: float(name == column.name) for name in prices}, weights)
        total += share * prices[column.name][column.codes[first]]
    return total, sizes


def weighted_average_volume(released: Table) -> float:
    """Return the row mean of the volumes of boxes: products over the quasi columns of the NCP, or of 1 / (number of all
    values) for a column of which the row tells a single value.

    >>> from treeanon.hierarchy import Hierarchy
    >>> sexes = Hierarchy.flat(["f", "m"])
    >>> weighted_average_volume(Table.of_texts({"a": (["*", "f"], sexes), "b": (["*", "*"], sexes)}))
    0.75
    """
    if not len(released):
        return 0.0
    volume = np.ones(len(released))
    for column in released.quasi:
        prices = value_ncp(column)
        sides = np.where(prices > 0, prices, 1 / max(1, len(column.hierarchy.leaf_nodes)))
        volume *= sides[column.codes]
    return float(volume.mean())

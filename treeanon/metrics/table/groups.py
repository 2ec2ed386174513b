"""The groups of a table: rows that look alike in what an attacker is taken to know.

The classification metric: what a release takes from somebody who learns to tell one column from the others.

Losses that look at the sizes of groups: the discernibility metric and the average class size.

Losses that count steps up the hierarchies: precision and height.

Also losses of 1D (Ghinita et al., TODS 34(2), 2009, §7.2) that look at groups: IL₁, IL∞, maximum and average NCP,
volume.

The extent of a published value is how far it is from the least to the greatest leaf that it covers, as a share of the
whole column: by numbers where the column has these, else by their ranks. What may also be missing has the extent 1.
The extent of a group is the mean over its quasi columns.

A group is what a reader sees as one: rows that are published alike. Groups of a search whose boxes are equal count as
one group.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeanon.arrays import Floats, Ints, Longs
from treeanon.errors import UsageError
from treeanon.kernels.table.groups import group_numbers
from treeanon.metrics.table.ncp import (
    Form,
    Weights,
    cover_ends,
    lowest_common,
    mean_of,
    node_ends,
    rank_places,
    value_ncp,
)
from treeanon.table import Column, Table
from treeanon.table.covers import ranked_nodes


def groups_of(table: Table, columns: Sequence[Column] | None = None) -> tuple[Longs, int]:
    """Return each row's group number and the number of groups, by the quasi columns unless others are given.

    >>> from treeanon.hierarchy import Hierarchy
    >>> sexes = Hierarchy.flat(["f", "m"])
    >>> groups_of(Table.of_texts({"sex": (["m", None, "f", "m"], sexes)}))
    (array([1, 2, 0, 1]), 3)
    """
    used = table.quasi if columns is None else columns
    return group_numbers([c.places for c in used], [c.size + 1 for c in used], len(table))


def row_counts(table: Table) -> Longs:
    """Return how many rows each group of a table has."""
    numbers, groups = groups_of(table)
    return np.bincount(numbers, minlength=groups).astype(np.int64)


def classification(released: Table, label: str, suppressed: int = 0) -> float:
    """Return CM (Iyengar 2002): the share of rows suppressed, or with a minority label in their group.

    The groups are those of the quasi columns other than `label`, which is a column of the release.

    >>> from treeanon.hierarchy import Hierarchy
    >>> yes = Hierarchy.flat(["yes", "no"])
    >>> columns = {"sex": (["f", "f", "f"], Hierarchy.flat(["f", "m"])), "ill": (["yes", "yes", "no"], yes)}
    >>> classification(Table.of_texts(columns, roles={"ill": "sensitive"}), "ill", suppressed=1)
    0.5
    """
    rows = len(released) + suppressed
    if not rows:
        return 0.0
    column = released.column(label)
    group, groups = groups_of(released, [c for c in released.quasi if c.name != label])
    sizes = [groups, column.size + 1]
    pair, pairs = group_numbers([group.astype(np.int32), column.places], sizes, len(released))
    commonest = np.zeros(groups, np.int64)
    group_of = np.zeros(pairs, np.int64)
    group_of[pair] = group
    np.maximum.at(commonest, group_of, np.bincount(pair, minlength=pairs))
    return (rows - int(commonest.sum())) / rows


def discernibility(released: Table, suppressed: int = 0, sizes: Longs | None = None) -> int:
    """Return DM (Bayardo and Agrawal 2005): a row costs its group's size, a suppressed one all rows.

    `sizes` are those of the groups, where they have been counted.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"sex": (["f", "f", "m"], Hierarchy.flat(["f", "m"]))})
    >>> discernibility(table), discernibility(table, suppressed=2)
    (5, 15)
    """
    sizes = row_counts(released) if sizes is None else sizes
    return int(sizes @ sizes) + suppressed * (len(released) + suppressed)


def average_class_size(released: Table, k: int = 1, sizes: Longs | None = None) -> float:
    """Return C_avg (LeFevre et al. 2006): published rows / groups / k; 0 if nothing is published.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"sex": (["f", "f", "m", "m"], Hierarchy.flat(["f", "m"]))})
    >>> average_class_size(table), average_class_size(table, k=2)
    (2.0, 1.0)
    """
    if k < 1:
        raise UsageError("k must be a whole number from 1")
    sizes = row_counts(released) if sizes is None else sizes
    return float(np.mean(sizes)) / k if len(sizes) else 0.0


def node_levels(column: Column) -> Ints:
    """Return the lowest level at which each node of a column's hierarchy stands for its leaves.

    A leaf is published at level 0, however near to the root it is; so is a missing value, the last one.

    >>> from treeanon.hierarchy import Hierarchy
    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["41", "*", "*"]])
    >>> node_levels(Table.of_texts({"age": (["34"], ages)}).columns[0]).tolist()
    [2, 1, 0, 0, 0]
    """
    hierarchy = column.hierarchy
    is_leaf = hierarchy.end == np.arange(1, len(hierarchy) + 1)
    return np.append(np.where(is_leaf, 0, hierarchy.height - hierarchy.depth), 0).astype(np.int32)


def precision(released: Table, suppressed: int = 0) -> float:
    """Return Prec (Sweeney 2002): 1 - the mean share of the hierarchy's height that values went up.

    A value of a suppressed row has gone up all of it; hierarchies without any height are left out.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"sex": (["f", "*"], Hierarchy.flat(["f", "m"]))})
    >>> precision(table), precision(table, suppressed=2)
    (0.5, 0.25)
    """
    rows = len(released) + suppressed
    columns = [column for column in released.quasi if column.hierarchy.height]
    if not rows or not columns:
        return 1.0
    lost = [(_levels(c).sum() / c.hierarchy.height + suppressed) / rows for c in columns]
    return 1.0 - float(np.mean(lost))


def height(released: Table) -> int:
    """Return the sum over the quasi columns of the highest level at which a value is published.

    Of a full-domain release that is the height of the least vector that gives it. A release without rows is as high as
    can be.

    >>> from treeanon.hierarchy import Hierarchy
    >>> sexes = Hierarchy.flat(["f", "m"])
    >>> height(Table.of_texts({"a": (["*", "*"], sexes), "b": (["f", "m"], sexes)}))
    1
    """
    if not len(released):
        return sum(column.hierarchy.height for column in released.quasi)
    return sum(int(_levels(column).max()) for column in released.quasi)


def _levels(column: Column) -> Ints:
    """Return the level of every row's value; for a range or set, of the lowest node that covers it."""
    levels = node_levels(column)
    if column.covers is None:
        return levels[column.codes]
    covers = column.covers
    low, high = cover_ends(covers, ranked_nodes(column.hierarchy))
    of_covers = np.where(covers.missing, column.hierarchy.height, levels[lowest_common(column.hierarchy, low, high)])
    return np.append(of_covers, 0)[column.codes].astype(np.int32)


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

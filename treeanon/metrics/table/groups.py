"""The groups of a table: rows that look alike in what an attacker is taken to know.

The classification metric: what a release takes from somebody who learns to tell one column from the others.

Losses that look at the sizes of groups: the discernibility metric and the average class size.

Losses that count steps up the hierarchies: precision and height.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.errors import UsageError
from treeanon.kernels.table.groups import group_numbers
from treeanon.metrics.table.ncp import cover_ends, lowest_common
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

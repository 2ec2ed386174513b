"""Losses that count steps up the hierarchies: precision and height."""

from __future__ import annotations

import numpy as np

from treeanon.kernels.tree.forest import Ints
from treeanon.metrics.table.ncp import cover_ends, lowest_common
from treeanon.table import Column, Table
from treeanon.table.covers import ranked_nodes


def node_levels(column: Column) -> Ints:
    """The lowest level at which each node of a column's hierarchy is published for what lies below it.

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
    """Prec (Sweeney 2002): 1 - the mean share of its hierarchy's height that a value has gone up.

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
    """The sum over the quasi columns of the highest level at which a value is published.

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
    """The level of every row's value: of a range or set that of the lowest node that covers it."""
    levels = node_levels(column)
    if column.covers is None:
        return levels[column.codes]
    covers = column.covers
    low, high = cover_ends(covers, ranked_nodes(column.hierarchy))
    of_covers = np.where(covers.missing, column.hierarchy.height, levels[lowest_common(column.hierarchy, low, high)])
    return np.append(of_covers, 0)[column.codes].astype(np.int32)

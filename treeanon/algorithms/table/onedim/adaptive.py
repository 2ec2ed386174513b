"""Rows in the order of splitting them: every block by the column for which that pays most."""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.table.onedim.costs import ColumnCosts, scales_of
from treeanon.kernels.table.adaptive import adaptive_rows
from treeanon.kernels.tree.forest import Longs


def adaptive_order(columns: list[ColumnCosts], k: int) -> Longs:
    """The rows in an order made for groups of k rows.

    All rows are one block at first. A block is split by one column, in the middle of its range or by the children of
    the lowest node that covers it: that with the most gain for a bit of the entropy of the parts, where the gain is how
    much less k random rows of a part are expected to lose in that column than k of the whole block.

    >>> from treeanon.algorithms.table.onedim.costs import table_costs
    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["a", "b", "a", "b"], Hierarchy.flat(["a", "b"]))})
    >>> adaptive_order(table_costs(table, "taxonomy", "auto"), 2).tolist()
    [0, 2, 1, 3]
    """
    values, scales = scales_of(columns)
    return adaptive_rows(values, scales, k) if len(values) else np.zeros(0, np.int64)

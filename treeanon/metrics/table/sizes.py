"""Losses that look at the sizes of groups: the discernibility metric and the average class size."""

from __future__ import annotations

import numpy as np

from treeanon.errors import UsageError
from treeanon.metrics.table.groups import row_counts
from treeanon.table import Table


def discernibility(released: Table, suppressed: int = 0) -> int:
    """DM (Bayardo and Agrawal 2005): each row costs the size of its group, a suppressed one the whole input's.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"sex": (["f", "f", "m"], Hierarchy.flat(["f", "m"]))})
    >>> discernibility(table), discernibility(table, suppressed=2)
    (5, 15)
    """
    sizes = row_counts(released)
    return int(sizes @ sizes) + suppressed * (len(released) + suppressed)


def average_class_size(released: Table, k: int = 1) -> float:
    """C_avg (LeFevre et al. 2006): rows / groups / k of what is published; 0 if nothing is.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"sex": (["f", "f", "m", "m"], Hierarchy.flat(["f", "m"]))})
    >>> average_class_size(table), average_class_size(table, k=2)
    (2.0, 1.0)
    """
    if k < 1:
        raise UsageError("k must be a whole number from 1")
    sizes = row_counts(released)
    return float(np.mean(sizes)) / k if len(sizes) else 0.0

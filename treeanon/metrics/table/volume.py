"""The weighted average volume of a release (1D: Ghinita et al., TODS 34(2), 2009, §7.2)."""

from __future__ import annotations

import numpy as np

from treeanon.metrics.table.ncp import Floats
from treeanon.table import Column, Table


def weighted_average_volume(released: Table) -> float:
    """The mean over the rows of the volume published for them: the share of all combinations of values that it covers.

    That is the product over the quasi columns of (values covered) / (all values of the column), where a missing value
    is one more value if the column has it.

    >>> from treeanon.hierarchy import Hierarchy
    >>> sexes = Hierarchy.flat(["f", "m"])
    >>> weighted_average_volume(Table.of_texts({"a": (["*", "f"], sexes), "b": (["*", "*"], sexes)}))
    0.75
    """
    if not len(released):
        return 0.0
    volume = np.ones(len(released))
    for column in released.quasi:
        volume *= covered_shares(column)[column.codes]
    return float(volume.mean())


def covered_shares(column: Column) -> Floats:
    """The share of a column's values that each published value covers, by code; at the end that of a missing one.

    >>> from treeanon.hierarchy import Hierarchy
    >>> covered_shares(Table.of_texts({"x": (["a", None], Hierarchy.flat("abc"))}).columns[0]).tolist()
    [0.75, 0.25, 0.25, 0.25, 0.25]
    """
    covers = column.covers
    has_missing = bool((column.codes < 0).any()) or (covers is not None and bool(covers.missing.any()))
    counts = column.hierarchy.leaf_count if covers is None else covers.counts + covers.missing
    whole = len(column.hierarchy.leaf_nodes) + has_missing
    return np.append(counts, 1) / max(1, whole)

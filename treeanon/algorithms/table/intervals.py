"""Columns published as intervals of their values, in the order of numbers or of the hierarchy; a missing value last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeanon.arrays import Ints
from treeanon.table import Column
from treeanon.table.covers import Covers, value_ranks
from treeanon.table.table import MISSING


def places_of(column: Column) -> Ints:
    """Return the place of every row's value, which is a leaf: its rank, or one more than all ranks if it is missing.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["9", None, "10"], Hierarchy.flat(["10", "9"]))})
    >>> places_of(table.columns[0]).tolist()
    [0, 2, 1]
    """
    return np.append(value_ranks(column.hierarchy), len(column.hierarchy.leaf_nodes)).astype(np.int32)[column.codes]


def cut_column(column: Column, starts: Sequence[int]) -> Column:
    """Return the column cut into intervals, where `starts` has the places of the first value of the second, third, …
    one.

    An interval covers all values of the hierarchy between the ends, whether they occur or not; a value alone in its
    interval stays as it is, and one interval of everything is the root.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["1", "2", "5", None], Hierarchy.flat(["1", "2", "3", "5"]))})
    >>> [cut_column(table.columns[0], starts).texts() for starts in ([2], [1, 4], [])]
    [['1 … 2', '1 … 2', '3 … 5 or missing', '3 … 5 or missing'], ['1', '2 … 5', '2 … 5', None], ['*', '*', '*', '*']]
    """
    leaves, places = len(column.hierarchy.leaf_nodes), places_of(column)
    missing = bool((places == leaves).any())
    if not starts and leaves + missing > 1 and column.hierarchy.height:
        return Column(column.spec, column.hierarchy, np.zeros(len(places), np.int32))
    bounds = np.array([0, *starts, leaves + 1])
    # Only intervals that rows are in: what nobody has is not told.
    used, number = np.unique(np.searchsorted(bounds, places, "right") - 1, return_inverse=True)
    low, high = bounds[used], np.minimum(bounds[used + 1] - 1, leaves - 1 + missing)
    if (low == high).all():
        return column
    is_alone = low == leaves
    held = [
        (a,) if a == b else (a, b) for a, b in zip(low.tolist(), np.minimum(high, leaves - 1).tolist(), strict=True)
    ]
    with_missing = high == leaves
    kept = [ranks for ranks, alone in zip(held, is_alone.tolist(), strict=True) if not alone]
    covers = Covers.of(column.hierarchy, kept, with_missing[~is_alone].tolist(), is_range=True)
    codes = np.where(is_alone, MISSING, np.cumsum(~is_alone) - 1)
    return Column(column.spec, column.hierarchy, codes[number].astype(np.int32), covers)

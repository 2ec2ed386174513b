"""Rows sorted by one column after the other."""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.table.onedim.points import Floats, Points, sorted_rows, tuple_keys
from treeanon.kernels.table.onedim import turn_back, walked
from treeanon.kernels.tree.forest import Longs


def lexicographic_order(points: Points, columns: Longs) -> tuple[Longs, Floats]:
    """The rows sorted by these columns, the first of which counts most; and how far along the way each of them is.

    A column need not begin anew where one before it has moved: it goes up or down, whichever begins nearer.

    >>> square = Points(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32), np.array([2, 2]))
    >>> [found.tolist() for found in lexicographic_order(square, np.array([0, 1]))]
    [[0, 1, 3, 2], [0.0, 1.0, 2.0, 3.0]]
    """
    rows = sorted_rows(tuple_keys(points, columns))
    turn_back(rows, points.points, columns)
    return rows, walk(points, rows)


def walk(points: Points, rows: Longs) -> Floats:
    """How far it is along the rows to each of them: the steps in all columns, each column being 1 long."""
    return walked(rows, points.points, points.scale)


def few_values_first(points: Points) -> Longs:
    """The columns, those with fewer distinct values first.

    >>> few_values_first(Points(np.array([[0, 5], [1, 5]], np.int32), np.array([2, 9]))).tolist()
    [1, 0]
    """
    return np.argsort([np.count_nonzero(np.bincount(column)) for column in points.points.T], kind="stable")

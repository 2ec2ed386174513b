"""Loops over rows in a one-dimensional order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.kernels.jit import njit
from treeanon.kernels.trees import Ints, Longs

Floats = npt.NDArray[np.float64]


@njit
def turn_back(rows: Longs, points: Ints, columns: Longs) -> None:
    """Turns lexicographically ordered rows, in place, so that every column goes on from where it is.

    Among the rows that are equal in the columns before it, a column runs up or down, whichever begins nearer to its
    value in the row before them.
    """
    count = len(rows)
    for level in range(1, len(columns)):
        column = columns[level]
        start = 0
        while start < count:
            stop = start + 1
            same = True
            while stop < count and same:
                for before in range(level):
                    if points[rows[stop], columns[before]] != points[rows[start], columns[before]]:
                        same = False
                        break
                if same:
                    stop += 1
            if start:
                here = points[rows[start - 1], column]
                if abs(points[rows[stop - 1], column] - here) < abs(points[rows[start], column] - here):
                    rows[start:stop] = rows[start:stop][::-1].copy()
            start = stop


@njit
def walked(rows: Longs, points: Ints, scale: Floats) -> Floats:
    """How far it is along the rows in their order to each of them; a step in column c counts scale[c]."""
    out = np.zeros(len(rows), np.float64)
    for i in range(1, len(rows)):
        out[i] = out[i - 1]
        for c in range(points.shape[1]):
            out[i] += abs(points[rows[i], c] - points[rows[i - 1], c]) * scale[c]
    return out

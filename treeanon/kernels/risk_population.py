"""Counts for every published row the persons of a population whom it may be of."""

from __future__ import annotations

import numpy as np

from treeanon.kernels.jit import njit
from treeanon.kernels.tree.forest import Flags, Ints, Longs


@njit
def count_fitting(
    begin: Longs, end: Longs, rows: Ints, people: Ints, persons: Longs, fits: Flags, first: Longs, width: Longs
) -> Longs:
    """For row i how many of people begin[i] to end[i] fit it in all columns, each counted as so many persons.

    `rows` and `people` have a value for each column. Value v of a row and w of somebody fit in column c if
    fits[first[c] + v * width[c] + w] says so.
    """
    out = np.zeros(len(begin), np.int64)
    for i in range(len(begin)):
        for j in range(begin[i], end[i]):
            fine = True
            for c in range(len(first)):
                if not fits[first[c] + rows[i, c] * width[c] + people[j, c]]:
                    fine = False
                    break
            if fine:
                out[i] += persons[j]
    return out

"""Points and centres: which is the nearest, and how far it is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.kernels.jit import njit
from treeanon.kernels.tree.forest import Ints, Longs

Floats = npt.NDArray[np.float64]


@njit
def nearest_centres(points: Ints, scale: Floats, centres: Floats, nearest: Longs, distance: Floats) -> None:
    """Writes for every point its nearest centre, the first of several, and the squared distance to it.

    Coordinate c of a point counts scale[c] a step.
    """
    rows, columns = points.shape
    for r in range(rows):
        least, found = np.inf, 0
        for centre in range(len(centres)):
            apart = 0.0
            for c in range(columns):
                step = points[r, c] * scale[c] - centres[centre, c]
                apart += step * step
            if apart < least:
                least, found = apart, centre
        nearest[r] = found
        distance[r] = least

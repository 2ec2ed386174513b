"""Which of many centers is the nearest to a point: by a k-d tree, so that most of them need not be looked at."""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Floats, Ints, Longs
from treeanon.kernels.jit import njit

_LEAF = 8


@njit
def center_tree(centers: Floats) -> tuple[Longs, Longs, Floats]:
    """Return the numbers of the centers in the order of a tree, its parts, and where each of them is cut.

    parts[n] has where part n begins and ends, the column that it is cut by, and its lower half; the upper half is the
    next one. Parts that are not cut have a lower half of -1.
    """
    order = np.arange(len(centers))
    parts = np.full((2 * len(centers) + 1, 4), -1, np.int64)
    cuts = np.zeros(len(parts))
    parts[0, 0], parts[0, 1] = 0, len(centers)
    made, at = 1, 0
    while at < made:
        start, stop = int(parts[at, 0]), int(parts[at, 1])
        widest, best = 0, -1.0
        for c in range(centers.shape[1]):
            low, high = np.inf, -np.inf
            for i in range(start, stop):
                low, high = min(low, centers[order[i], c]), max(high, centers[order[i], c])
            if high - low > best:
                widest, best = c, high - low
        if stop - start > _LEAF and best > 0:
            values = np.empty(stop - start)
            for i in range(start, stop):
                values[i - start] = centers[order[i], widest]
            ranked = np.argsort(values)
            own = order[start:stop].copy()
            for i in range(start, stop):
                order[i] = own[ranked[i - start]]
            middle = (start + stop) // 2
            parts[at, 2], parts[at, 3] = widest, made
            cuts[at] = centers[order[middle], widest]
            parts[made, 0], parts[made, 1] = start, middle
            parts[made + 1, 0], parts[made + 1, 1] = middle, stop
            made += 2
        at += 1
    return order, parts[:made], cuts[:made]


@njit
def nearest_centers(
    points: Ints,
    scale: Floats,
    centers: Floats,
    order: Longs,
    parts: Longs,
    cuts: Floats,
    nearest: Longs,
    distance: Floats,
) -> None:
    """Write for every point its nearest center, the first of several, and the squared distance to it.

    Coordinate c of a point counts scale[c] a step; `order`, `parts` and `cuts` are the tree of the centers.
    """
    rows, columns = points.shape
    waiting, bound = np.empty(128, np.int64), np.empty(128)
    place = np.empty(columns)
    for r in range(rows):
        for c in range(columns):
            place[c] = points[r, c] * scale[c]
        least, found = np.inf, 0
        waiting[0], bound[0], open_ = 0, 0.0, 1
        while open_:
            open_ -= 1
            part = waiting[open_]
            if bound[open_] > least:
                continue
            below = parts[part, 3]
            if below >= 0:
                # The half on the point's own side comes first: it is put on top.
                step = place[parts[part, 2]] - cuts[part]
                near, far = (below, below + 1) if step < 0 else (below + 1, below)
                waiting[open_], bound[open_] = far, step * step
                waiting[open_ + 1], bound[open_ + 1] = near, 0.0
                open_ += 2
                continue
            for i in range(parts[part, 0], parts[part, 1]):
                apart = 0.0
                for c in range(columns):
                    step = place[c] - centers[order[i], c]
                    apart += step * step
                if apart < least or (apart == least and order[i] < found):
                    least, found = apart, order[i]
        nearest[r] = found
        distance[r] = least

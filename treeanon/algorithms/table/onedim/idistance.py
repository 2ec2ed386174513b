"""Rows by the centre they are nearest to, and then by how far they are from it."""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.table.onedim.hilbert import hilbert_order
from treeanon.algorithms.table.onedim.points import Floats, Points, in_blocks, sorted_rows, tuple_keys
from treeanon.errors import UsageError
from treeanon.kernels.table.idistance import nearest_centres
from treeanon.kernels.tree.forest import Ints, Longs

CENTRES = 64

_SAMPLE, _ROUNDS, _SIDE = 20_000, 10, 1 << 10


def idistance_order(points: Points, centres: int = CENTRES, seed: int = 0) -> tuple[Longs, Floats]:
    """The rows in the order of iDistance, and where each of them is, from 0 to 1.

    The centres are those of k-means on a sample of the rows, in the order of a Hilbert curve; every centre has as much
    of the way as any other. `seed` draws the sample and the first centres.

    >>> line = Points(np.array([[0], [9], [1], [8]], np.int32), np.array([10]))
    >>> idistance_order(line, centres=2)[0].tolist() in ([0, 2, 1, 3], [0, 2, 3, 1], [2, 0, 1, 3], [2, 0, 3, 1])
    True
    """
    if centres < 1:
        raise UsageError("iDistance needs at least one centre")
    if not len(points):
        return np.zeros(0, np.int64), np.zeros(0)
    middle = _sorted_centres(_means(points, centres, seed))
    nearest, distance = _nearest(points, middle)
    keys = [nearest, distance, *tuple_keys(points, np.arange(len(points.sizes)))]
    rows = sorted_rows(list(keys))
    whole = np.sqrt(distance.max(initial=0)) or 1.0
    return rows, ((nearest + np.sqrt(distance) / whole) / len(middle))[rows]


def _nearest(points: Points, centres: Floats) -> tuple[Longs, Floats]:
    nearest, distance = np.empty(len(points), np.int64), np.empty(len(points))

    def task(block: slice) -> None:
        nearest_centres(points.points[block], points.scale, centres, nearest[block], distance[block])

    in_blocks(task, len(points))
    return nearest, distance


def _means(points: Points, wanted: int, seed: int) -> Floats:
    """The centres of k-means on a sample; those that lose all their rows are dropped."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(points), min(_SAMPLE, len(points)), replace=False)
    sample = Points(points.points[chosen], points.sizes)
    distinct = _distinct(sample)
    centres = distinct[rng.permutation(len(distinct))[:wanted]] * points.scale
    for _round in range(_ROUNDS):
        nearest = _nearest(sample, centres)[0]
        counts = np.bincount(nearest, minlength=len(centres))
        sums = [np.bincount(nearest, column, len(centres)) for column in (sample.points * points.scale).T]
        centres = np.array(sums).T[counts > 0] / counts[counts > 0, None]
    return centres


def _distinct(points: Points) -> Ints:
    """The points without repetition, sorted."""
    found = points.points[sorted_rows(tuple_keys(points, np.arange(len(points.sizes))))]
    kept: Ints = found[np.append(True, (found[1:] != found[:-1]).any(axis=1))]
    return kept


def _sorted_centres(centres: Floats) -> Floats:
    """The centres in the order of a Hilbert curve."""
    cells = np.clip(np.rint(centres * (_SIDE - 1)), 0, _SIDE - 1).astype(np.int32)
    sizes = np.full(centres.shape[1], _SIDE, np.int64)
    return centres[hilbert_order(Points(cells, sizes))[0]]

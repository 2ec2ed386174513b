"""What becomes of the tuples that are in no class when a walk of local recoding ends: too few for one."""

from __future__ import annotations

import numpy as np

from treeanon.kernels.table.local import Floats
from treeanon.kernels.table.local_moves import Classes, Ground, described, partners, place_rest
from treeanon.kernels.tree.forest import Ints


def paid_by(ground: Ground, classes: Classes) -> Floats:
    """What each row of a tuple loses; one that is left out loses all of its columns."""
    return np.append(classes.costs, float(ground.codes.shape[1]))[classes.of]


def with_rest(ground: Ground, class_of: Ints, count: int, least: int, room: int) -> Classes:
    """The classes with the rest in them, in the best of three ways; without classes the rest stays out.

    Each tuple goes where it costs least, or is left out if there is room and that costs less; or all of them go to one
    class; or they are one, filled up with tuples that others can spare.
    """
    rest = np.flatnonzero(class_of < 0).astype(np.int32)
    placed = described(class_of.copy(), count, ground)
    if not count or not len(rest):
        return placed
    place_rest(rest, room, ground, placed)
    own = class_of.copy()
    own[rest] = count
    filled = described(own, count + 1, ground)
    joined = own.copy()
    joined[rest] = partners(np.array([count], np.int32), ground, filled)[0][0]
    ways = [placed, described(joined, count, ground)]
    if _fill(ground, filled, count, least):
        ways.append(described(filled.of, count + 1, ground))
    return min(ways, key=lambda way: float(ground.weights @ paid_by(ground, way)))


def _fill(ground: Ground, classes: Classes, g: int, least: int) -> bool:
    """Gives a class the tuples that cost most of those that others can spare; whether it then is large enough."""
    of = classes.of
    sizes = classes.sizes.copy()
    spare = np.flatnonzero((of != g) & (sizes[of] - ground.weights >= least))
    for t in spare[np.argsort(-classes.costs[of[spare]], kind="stable")].tolist():
        if sizes[g] >= least:
            break
        weight = ground.weights[t]
        if sizes[of[t]] - weight >= least:
            sizes[of[t]] -= weight
            sizes[g] += weight
            of[t] = g
    return bool(sizes[g] >= least)

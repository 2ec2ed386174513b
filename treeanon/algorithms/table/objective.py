"""Losses of vectors, as searches need them: a cost of every level of every column, and what suppression adds.

Which of several k-minimal vectors is preferred (P. Samarati, "Protecting respondents' identities in microdata release",
IEEE TKDE 2001, Section 6), and by what weights of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from treeanon.algorithms.table.lattice import Lattice
from treeanon.algorithms.table.rollup import Vector
from treeanon.arrays import Floats
from treeanon.errors import UsageError
from treeanon.metrics.table import Form, node_ncp

Weights = Mapping[str, float]

_FORMS: dict[str, Form] = {"gcp": "taxonomy", "gcp_set": "set"}


class Objective(Protocol):
    """A loss that is a sum over columns, to which suppressed rows may add."""

    @property
    def name(self) -> str:
        """Its name."""

    def level_costs(self, lattice: Lattice) -> list[Floats]:
        """Return for every column the cost of each of its levels if nothing is suppressed; it never falls."""

    def loss(self, lattice: Lattice, vector: Vector, base: float) -> float:
        """Return the loss of a vector, whose levels cost `base` together: at least that."""


@dataclass(frozen=True)
class Height:
    """The sum of the levels, each times the weight of its column. Suppressed rows add nothing."""

    weights: Weights | None = None
    name: str = "height"

    def level_costs(self, lattice: Lattice) -> list[Floats]:
        """Return each level, weighed."""
        return [w * own for w, own in zip(weights_of(lattice, self.weights), _levels(lattice), strict=True)]

    def loss(self, lattice: Lattice, vector: Vector, base: float) -> float:
        """Return the height of the vector."""
        return base


@dataclass(frozen=True)
class Shares:
    """The mean over all rows and columns of what a value has lost, 0 to 1; suppressed rows have lost everything.

    `gcp`: NCP in its `taxonomy` form; `gcp_set`: in its `set` form.
    `precision`: the share of the height of its hierarchy that a column has gone up.
    """

    name: str
    weights: Weights | None = None

    def level_costs(self, lattice: Lattice) -> list[Floats]:
        """Return the share that each level has lost in the mean."""
        if self.name in _FORMS:
            return lattice.rollup.level_costs(self._nodes(lattice))
        parts = zip(self._parts(lattice), _levels(lattice), lattice.full_heights, strict=True)
        return [w * own / max(h, 1) for w, own, h in parts]

    def loss(self, lattice: Lattice, vector: Vector, base: float) -> float:
        """Return the loss of all rows; a suppressed one counts 1 instead of what its level costs."""
        rows = max(1, int(lattice.tuples.rows.sum()))
        if not lattice.evaluate(vector).suppressed:
            return base
        if self.name in _FORMS:
            lost, cost = lattice.suppressed_cost(vector, self._nodes(lattice))
            return base + (lost - cost) / rows
        lost, _ = lattice.suppressed_cost(vector, [np.zeros(len(c.hierarchy) + 1) for c in lattice.problem.table.quasi])
        return base + lost * (1 - base) / rows

    def _parts(self, lattice: Lattice) -> list[float]:
        weights = weights_of(lattice, self.weights)
        if self.name == "precision":
            # Columns without any height have nothing to lose.
            weights = [w if h else 0.0 for w, h in zip(weights, lattice.full_heights, strict=True)]
        whole = sum(weights)
        return [w / whole if whole else 0.0 for w in weights]

    def _nodes(self, lattice: Lattice) -> list[Floats]:
        columns = lattice.problem.table.quasi
        return [
            w * node_ncp(column, _FORMS[self.name]) for w, column in zip(self._parts(lattice), columns, strict=True)
        ]


def _levels(lattice: Lattice) -> list[Floats]:
    """Return the levels of each column that the lattice has, as the hierarchy counts them."""
    return [low + np.arange(h + 1.0) for low, h in zip(lattice.lowest, lattice.heights, strict=True)]


def weights_of(lattice: Lattice, weights: Weights | None) -> list[float]:
    """Return the weight of every column, 1 if none is given; UsageError for one that is no weight of a column."""
    given = dict(weights or {})
    for name, weight in given.items():
        if name not in lattice.names:
            raise UsageError(f"unknown quasi column {name!r} to weigh; choose from {', '.join(lattice.names)}")
        if not 0 <= weight < float("inf"):
            raise UsageError(f"the weight of column {name!r} must be a number that is not negative")
    return [float(given.get(name, 1.0)) for name in lattice.names]


def objective_named(name: str, weights: Weights | None = None) -> Objective:
    """Return the loss of that name; UsageError lists what there is.

    >>> objective_named("gcp").name
    'gcp'
    """
    if name == "height":
        return Height(weights)
    if name == "precision" or name in _FORMS:
        return Shares(name, weights)
    raise UsageError(f"unknown loss {name!r} to search by; choose from height, gcp, gcp_set, precision")


Rank = Callable[[Lattice, Vector, Sequence[float]], float]


def _absolute(lattice: Lattice, vector: Vector, weights: Sequence[float]) -> float:
    return sum(w * level for w, level in zip(weights, vector, strict=True))


def _relative(lattice: Lattice, vector: Vector, weights: Sequence[float]) -> float:
    return sum(w * level / max(h, 1) for w, level, h in zip(weights, vector, lattice.full_heights, strict=True))


def _distribution(lattice: Lattice, vector: Vector, weights: Sequence[float]) -> float:
    return -lattice.evaluate(vector).groups


def _suppression(lattice: Lattice, vector: Vector, weights: Sequence[float]) -> float:
    return lattice.evaluate(vector).suppressed


def _peak(lattice: Lattice, vector: Vector, weights: Sequence[float]) -> float:
    return max((w * level for w, level in zip(weights, vector, strict=True)), default=0.0)


def _generalized(lattice: Lattice, vector: Vector, weights: Sequence[float]) -> float:
    return float(sum(level > 0 for level in vector))


def _untouched(lattice: Lattice, vector: Vector, weights: Sequence[float]) -> float:
    return -_generalized(lattice, vector, weights)


PREFERENCES: dict[str, Rank] = {
    "minimum_absolute_distance": _absolute,
    "minimum_relative_distance": _relative,
    "maximum_distribution": _distribution,
    "minimum_suppression": _suppression,
    "minimum_distance_peak": _peak,
    "fewest_generalized": _generalized,
    "most_generalized": _untouched,
}
"""The smallest sum of levels; of their shares of the heights; the most groups published; the fewest suppressed; the
smallest of the greatest levels; the fewest, and the most, columns generalized.
"""


def preferred(
    lattice: Lattice, minimal: Sequence[Vector], preference: str, weights: Mapping[str, float] | None = None
) -> list[Vector]:
    """Return all of these vectors that are best by a preference; `weights` multiply the levels in the distances."""
    if preference not in PREFERENCES:
        raise UsageError(f"unknown preference {preference!r}; choose from {', '.join(PREFERENCES)}")
    if weights and "distance" not in preference:
        raise UsageError(f"the preference {preference!r} takes no weights; the distances do")
    factors = weights_of(lattice, weights)
    ranks = [PREFERENCES[preference](lattice, vector, factors) for vector in minimal]
    least = min(ranks)
    return [vector for vector, rank in zip(minimal, ranks, strict=True) if rank <= least + 1e-9]


def choose(
    lattice: Lattice, minimal: Sequence[Vector], preference: str, weights: Mapping[str, float] | None = None
) -> Vector:
    """Return the one of the preferred vectors that suppresses the fewest, then is lowest, then comes first."""
    best = preferred(lattice, minimal, preference, weights)
    return min(best, key=lambda vector: (lattice.evaluate(vector).suppressed, sum(vector), vector))

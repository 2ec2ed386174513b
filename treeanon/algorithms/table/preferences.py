"""Which of several k-minimal vectors is preferred (Samarati 2001, Section 3), and by what weights of the columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from treeanon.algorithms.table.lattice import Lattice
from treeanon.algorithms.table.objective import weights_of
from treeanon.algorithms.table.rollup import Vector
from treeanon.errors import UsageError

Rank = Callable[[Lattice, Vector, Sequence[float]], float]


def _absolute(lattice: Lattice, vector: Vector, weights: Sequence[float]) -> float:
    return sum(w * level for w, level in zip(weights, vector, strict=True))


def _relative(lattice: Lattice, vector: Vector, weights: Sequence[float]) -> float:
    return sum(w * level / max(h, 1) for w, level, h in zip(weights, vector, lattice.heights, strict=True))


def _distribution(lattice: Lattice, vector: Vector, weights: Sequence[float]) -> float:
    return -lattice.evaluate(vector).groups


def _suppression(lattice: Lattice, vector: Vector, weights: Sequence[float]) -> float:
    return lattice.evaluate(vector).suppressed


PREFERENCES: dict[str, Rank] = {
    "minimum_absolute_distance": _absolute,
    "minimum_relative_distance": _relative,
    "maximum_distribution": _distribution,
    "minimum_suppression": _suppression,
}
"""The smallest sum of levels; of their shares of the heights; the most groups published; the fewest suppressed."""


def preferred(
    lattice: Lattice, minimal: Sequence[Vector], preference: str, weights: Mapping[str, float] | None = None
) -> list[Vector]:
    """All of these vectors that are best by a preference; `weights` multiply the levels in the two distances."""
    if preference not in PREFERENCES:
        raise UsageError(f"there is no preference {preference!r}; there is: {', '.join(PREFERENCES)}")
    if weights and "distance" not in preference:
        raise UsageError(f"the preference {preference!r} takes no weights; the distances do")
    factors = weights_of(lattice, weights)
    ranks = [PREFERENCES[preference](lattice, vector, factors) for vector in minimal]
    least = min(ranks)
    return [vector for vector, rank in zip(minimal, ranks, strict=True) if rank <= least + 1e-9]


def choose(
    lattice: Lattice, minimal: Sequence[Vector], preference: str, weights: Mapping[str, float] | None = None
) -> Vector:
    """The one of the preferred vectors that suppresses the fewest, then is lowest, then comes first."""
    best = preferred(lattice, minimal, preference, weights)
    return min(best, key=lambda vector: (lattice.evaluate(vector).suppressed, sum(vector), vector))

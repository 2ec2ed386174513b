"""Datafly (L. Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, 2002).

While more persons would have to be suppressed than is allowed, the column with the most distinct values goes up a
level. The paper allows for k persons: we for `max_suppressed`. Equals are decided by the order of the columns.
"""

from __future__ import annotations

from treeanon.algorithms.table.lattice import FullDomainResult, Lattice
from treeanon.algorithms.table.problem import Problem
from treeanon.arrays import unique_values


def search(problem: Problem) -> FullDomainResult:
    """Return the vector that the greedy steps come to: satisfied, but often more general than it would have to be."""
    lattice = Lattice(problem)
    lattice.require_top()
    values = _distinct_values(lattice)
    vector = lattice.bottom
    while lattice.evaluate(vector, 0).suppressed > problem.max_suppressed:
        lattice.rollup.stage(vector)
        if vector == lattice.top:
            raise lattice.unsolvable()
        free = [c for c, level in enumerate(vector) if level < lattice.heights[c]]
        chosen = max(free, key=lambda c: (values[c][vector[c]], -c))
        vector = tuple(level + (c == chosen) for c, level in enumerate(vector))
    return FullDomainResult.of(lattice, "datafly", vector)


def _distinct_values(lattice: Lattice) -> list[list[int]]:
    """Return how many values each column has at each level."""
    out = []
    for c, levels in enumerate(lattice.tuples.level_maps):
        codes = unique_values(lattice.tuples.fields.unpack(lattice.tuples.keys, c))
        out.append([len(unique_values(level[codes])) for level in levels])
    return out

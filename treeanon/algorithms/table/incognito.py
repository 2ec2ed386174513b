"""Incognito (K. LeFevre, D. DeWitt, R. Ramakrishnan, Incognito: efficient full-domain k-anonymity, SIGMOD 2005).

Subset property: a vector can be satisfied only if its levels are for every subset of the columns. So subsets are gone
through by size, and of each only the candidates that all of its subsets leave. Generalization property: what lies above
a satisfied vector is satisfied, and is not checked.

Where we differ: tuples may be suppressed, as the paper's Section 5 suggests: joining groups never suppresses more
persons, so both properties hold for the count as well. Models that a group can lose by growing are only asked for the
whole set of columns, and there of every candidate. Candidates are marked in an array of the whole subset, not
joined from lists. A subset is counted as the vector with all other columns at their top.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import numpy.typing as npt

from treeanon.algorithms.table.lattice import FullDomainResult, Lattice
from treeanon.algorithms.table.objective import choose
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.rollup import Vector
from treeanon.errors import UsageError
from treeanon.table.controls import weights_by_name

Subset = tuple[int, ...]
Marks = npt.NDArray[np.bool_]

_MOST = 1 << 24


def search(problem: Problem, *, preference: str = "minimum_absolute_distance") -> FullDomainResult:
    """Return all k-minimal vectors, and of these the one preferred."""
    lattice = Lattice(problem)
    if lattice.size > _MOST:
        raise UsageError(f"the lattice has more than {_MOST} nodes, which is too many for incognito: try optimal")
    lattice.require_top()
    columns = range(len(lattice.top))
    holds: dict[Subset, Marks] = {(): np.array(True)}
    for size in range(1, len(columns) + 1):
        # Of the subsets before only the last size is looked at again.
        holds = {subset: _satisfied(lattice, subset, holds) for subset in combinations(columns, size)}
    satisfied = holds[tuple(columns)]
    minimal = [tuple(map(int, v)) for v in np.argwhere(satisfied & ~_above_any(satisfied))]
    if not minimal:
        raise lattice.unsolvable()
    vector = choose(lattice, minimal, preference, weights_by_name(problem.table))
    return FullDomainResult.of(
        lattice, "incognito", vector, minimal, preference=preference, satisfied=int(satisfied.sum())
    )


def _satisfied(lattice: Lattice, subset: Subset, smaller: Mapping[Subset, Marks]) -> Marks:
    """Return which levels of a subset of the columns are satisfied, in a search from the bottom up."""
    shape = [lattice.heights[c] + 1 for c in subset]
    candidates = np.ones(shape, np.bool_)
    for i in range(len(subset)):
        candidates &= np.expand_dims(smaller[subset[:i] + subset[i + 1 :]], i)
    satisfied = np.zeros(shape, np.bool_)
    levels = np.argwhere(candidates)
    is_whole = len(subset) == len(lattice.top)
    for node in levels[np.argsort(levels.sum(1), kind="stable")].tolist():
        if satisfied[tuple(node)]:
            continue
        vector = _vector(lattice, subset, node)
        if lattice.satisfies(vector) if is_whole else lattice.may_hold(vector):
            if lattice.is_monotone or not is_whole:
                satisfied[tuple(slice(level, None) for level in node)] = True
            else:
                satisfied[tuple(node)] = True
    return satisfied


def _vector(lattice: Lattice, subset: Subset, node: list[int]) -> Vector:
    levels = list(lattice.top)
    for c, level in zip(subset, node, strict=True):
        levels[c] = level
    return tuple(levels)


def _above_any(satisfied: Marks) -> Marks:
    """Return which nodes have a satisfied one below them."""
    closed, above = satisfied, np.zeros_like(satisfied)
    for axis in range(satisfied.ndim):
        closed = np.logical_or.accumulate(closed, axis)
    for axis in range(satisfied.ndim):
        upper, lower = [slice(None)] * satisfied.ndim, [slice(None)] * satisfied.ndim
        upper[axis], lower[axis] = slice(1, None), slice(None, -1)
        above[tuple(upper)] |= closed[tuple(lower)]
    return above

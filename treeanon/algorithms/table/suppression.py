"""TS and AS: suppression of the rows that too few persons share, and of as few columns as possible.

After V. Ciriani, S. De Capitani di Vimercati, S. Foresti and P. Samarati, "k-anonymity" (Secure Data Management in
Decentralized Systems, Springer 2007), TS and AS.

Sets of columns form a lattice: that of full-domain generalization where every hierarchy has one step, from a value to
nothing. A vector has 1 for a column that is suppressed. Which set is best is NP-hard to say, so all sets are looked at
for few columns only.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from treeanon.algorithms.table.group_checker import RowGroupChecker
from treeanon.algorithms.table.lattice import Lattice
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.result import SUPPRESSED, Recoding, released, unreachable
from treeanon.algorithms.table.rollup import Vector
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table.groups import groups_of
from treeanon.schema.controls import Controls
from treeanon.table import Column, Table
from treeanon.table.controls import is_bounded


def tuple_suppression(problem: Problem) -> Recoding:
    """Return the table without the groups of equal rows that do not satisfy all models; that is the least that can go.

    GuaranteeError if more persons than allowed lose a row by that. Models that look at shares of the whole table take
    those of the input.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"sex": (["f", "m", "f"], Hierarchy.flat(["f", "m"]))})
    >>> found = tuple_suppression(Problem(table, (KAnonymity(2),), max_suppressed=1))
    >>> list(found.table.rows()), found.counts
    ([('f',), ('f',)], {'groups': 2, 'published': 1, 'rows_suppressed': 1})
    """
    numbers, groups = groups_of(problem.table)
    holds = RowGroupChecker(problem).holds(numbers, groups)
    counts = {"groups": groups, "published": int(holds.sum())}
    return released(problem, "suppress-tuples", problem.table, holds[numbers], **counts)


EXACT = 14
"""For so many columns all sets of them can be looked at."""


def attribute_suppression(problem: Problem, *, exact: int = EXACT) -> Recoding:
    """Return the table with the fewest columns suppressed, and without the rows of groups that still fail.

    Among sets of as few columns the one that suppresses the fewest persons, then the one that leaves the most groups.
    With more than `exact` columns a greedy choice: a smaller set may do, or a set where none is found.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> sexes, zips = Hierarchy.flat(["f", "m"]), Hierarchy.flat(["1", "2"])
    >>> table = Table.of_texts({"sex": (["f", "m", "f", "m"], sexes), "zip": (["1", "1", "2", "2"], zips)})
    >>> found = attribute_suppression(Problem(table, (KAnonymity(2),)))
    >>> found.counts["columns"], list(found.table.rows())
    (('zip',), [('f', '*'), ('m', '*'), ('f', '*'), ('m', '*')])
    """
    table = problem.table
    lattice = Lattice(replace(problem, table=_flat(table)))
    if lattice.bound(lattice.top) > problem.max_suppressed:
        raise unreachable(problem)
    is_exact = len(table.quasi) <= exact
    vector = _fewest(lattice) if is_exact else _greedy(lattice)
    if vector is None:
        raise unreachable(problem)
    gone = [column for column, level in zip(table.quasi, vector, strict=True) if level]
    whole = table.with_codes({c.name: np.full(len(table), SUPPRESSED, np.int32) for c in gone})
    _, number, holds = lattice.groups(vector)
    return released(
        problem,
        "suppress-columns",
        whole,
        holds[number[lattice.tuples.tuple_of]],
        lattice=lattice.size,
        checked=lattice.checked,
        columns=tuple(column.name for column in gone),
        optimal=is_exact or not gone,
    )


def _flat(table: Table) -> Table:
    """Return the table whose quasi columns have nothing but their values, a missing one among them, below the root."""
    columns = []
    for column in table.columns:
        if column.role == "quasi":
            values, ranks = np.unique(column.codes, return_inverse=True)
            hierarchy = Hierarchy.flat(str(value) for value in range(max(len(values), 1)))
            # What may not become the root may not be suppressed.
            controls = Controls(max_level=0 if is_bounded(column) else None)
            column = Column(replace(column.spec, controls=controls), hierarchy, (ranks + 1).astype(np.int32))
        columns.append(column)
    return replace(table, columns=tuple(columns), report=None)


def _fewest(lattice: Lattice) -> Vector | None:
    """Return the best of the vectors with the fewest columns suppressed that are satisfied."""
    columns = len(lattice.heights)
    for size in (1, 2):
        for kept in combinations(range(columns), size):
            # Where few columns published are too many already, the lattice marks all sets that hold them.
            lattice.satisfies(tuple(0 if c in kept else height for c, height in enumerate(lattice.heights)))
    for height in range(columns + 1):
        fit = [vector for vector in lattice.at_height(height) if lattice.satisfies(vector)]
        if fit:
            return min(fit, key=lambda vector: (*_worth(lattice, vector), vector))
    return None


def _greedy(lattice: Lattice) -> Vector | None:
    """Return a greedy choice: columns go one by one, each time the one that helps most; those not needed come back."""
    vector = lattice.bottom
    gone: list[int] = []
    while not lattice.satisfies(vector):
        if vector == lattice.top:
            return None
        vector = min(lattice.above(vector), key=lambda v: (*_worth(lattice, v), v[::-1]))
        gone += [c for c, level in enumerate(vector) if level and c not in gone]
    for c in gone:
        without = (*vector[:c], 0, *vector[c + 1 :])
        if lattice.satisfies(without):
            vector = without
    return vector


def _worth(lattice: Lattice, vector: Vector) -> tuple[int, int]:
    """Return the persons that a vector suppresses, and minus the groups that it leaves."""
    found = lattice.evaluate(vector)
    return found.suppressed, -found.groups

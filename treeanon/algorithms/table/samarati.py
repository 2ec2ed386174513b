"""Samarati's search over the heights of the lattice.

After P. Samarati, "Protecting respondents' identities in microdata release" (IEEE TKDE 2001), Sections 4 and 5.

A binary search over the heights of the lattice finds the lowest at which a vector is satisfied. The paper decides that
from a matrix VT of distance vectors, between each outlier (a tuple that occurs less than k times) and every tuple: the
least levels at which the two become equal. An outlier is suppressed by a vector if fewer than k rows are that near.

Where we differ: the matrix is built only while it is small (`matrix`), and for models other than k-anonymity not at
all; the counts of the lattice say the same, and for more than some thousand outliers much sooner. The search does not
end at the lowest height, but goes on to all k-minimal vectors, so that a preference has all of them to choose from.
`required ≤ MaxSup` as in the paper's text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from treeanon.algorithms.table.lattice import OTHER_COLUMNS, FullDomainResult, Lattice
from treeanon.algorithms.table.objective import choose, preferred
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.rollup import Vector
from treeanon.arrays import Longs
from treeanon.errors import UsageError
from treeanon.kernels.table.tuples import meeting_levels, required_suppression
from treeanon.privacy.models.population import refuse_whole
from treeanon.table.controls import weights_by_name

_MOST = 1 << 22
"""The largest matrix, in pairs of an outlier and a tuple, that is built unasked."""

Satisfies = Callable[[Vector], bool]


def search(
    problem: Problem,
    *,
    preference: str = "minimum_absolute_distance",
    matrix: bool | None = None,
    suppressed: str = "none",
) -> FullDomainResult:
    """Return all k-minimal vectors, and of these the one preferred.

    Of the rows that it suppresses the other columns may be published, with `*` for all quasi values (Section 4).
    """
    if suppressed == OTHER_COLUMNS:
        refuse_whole(problem.models, "samarati with suppressed=other_columns")
    lattice = Lattice(problem)
    lattice.require_top()
    vt = VT.of(lattice, matrix)
    satisfies: Satisfies = lattice.satisfies if vt is None else vt.satisfies
    # Where a satisfied vector may lie below one that is not, halves of the heights say nothing: all are gone through.
    minimal = _minimal(lattice, satisfies, _lowest_height(lattice, satisfies) if lattice.is_monotone else 0)
    if not minimal:
        raise lattice.unsolvable()
    weights = weights_by_name(problem.table)
    vector = choose(lattice, minimal, preference, weights)
    liked = [lattice.named(v) for v in preferred(lattice, minimal, preference, weights)]
    counts = {
        "lowest_height": sum(lattice.lowest) + min(map(sum, minimal)),
        "preference": preference,
        "preferred": liked,
    }
    checked = lattice.checked if vt is None else len(vt.checked)
    found = FullDomainResult.of(
        lattice, "samarati", vector, minimal, **{"checked": checked, "matrix": vt is not None, **counts}
    )
    return replace(found, keeps_others=suppressed == OTHER_COLUMNS)


def _lowest_height(lattice: Lattice, satisfies: Satisfies) -> int:
    low, high = 0, sum(lattice.top)
    while low < high:
        try_ = (low + high) // 2
        if any(satisfies(vector) for vector in lattice.at_height(try_)):
            high = try_
        else:
            low = try_ + 1
    return low


def _minimal(lattice: Lattice, satisfies: Satisfies, lowest: int) -> list[Vector]:
    """Return the satisfied vectors above no other: on the way up, those above a vector found already are passed
    over.
    """
    found: list[Vector] = []
    for height in range(lowest, sum(lattice.top) + 1):
        known = np.array(found, np.int32).reshape(-1, len(lattice.top))
        free = [v for v in lattice.at_height(height) if not len(known) or not (known <= v).all(1).any()]
        if not free:
            break
        found += [vector for vector in free if satisfies(vector)]
    return found


class VT:
    """The matrix of distance vectors, outliers × tuples × columns."""

    def __init__(self, lattice: Lattice, k: int, outliers: Longs) -> None:
        self.lattice, self.k, self.outliers = lattice, k, outliers
        tuples = lattice.tuples
        self.rows = tuples.rows
        self.distances: npt.NDArray[np.int8] = np.empty((len(outliers), len(tuples), len(lattice.top)), np.int8)
        for c, levels in enumerate(tuples.level_maps):
            meeting_levels(levels, tuples.fields.unpack(tuples.keys, c), outliers, self.distances[:, :, c])
        self.checked: dict[Vector, bool] = {}

    @classmethod
    def of(cls, lattice: Lattice, wanted: bool | None) -> VT | None:
        """Return the matrix, if it is wanted, or if nobody says that it is not and it is small; None otherwise."""
        k, tuples = lattice.checker.least, lattice.tuples
        usable = k is not None and lattice.sizes_decide and not len(tuples.pair_tuple)
        if wanted and not usable:
            raise UsageError("the distance matrix is for k-anonymity of tables with one row a person")
        if k is None or not usable or wanted is False:
            return None
        outliers = np.flatnonzero(tuples.rows < k)
        return cls(lattice, k, outliers) if wanted or len(outliers) * len(tuples) <= _MOST else None

    def satisfies(self, vector: Vector) -> bool:
        """Return whether a vector needs no more suppression than is allowed (the paper's Satisfies)."""
        found = self.checked.get(vector)
        if found is None:
            levels = np.array(vector, np.int8)
            required = required_suppression(self.distances, self.rows, self.outliers, levels, self.k)
            found = self.checked[vector] = bool(required <= self.lattice.problem.max_suppressed)
            self.lattice.looked()
        return found

"""What a search of a lattice finds: the level of every column, what that suppresses, and how to apply it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treeanon.algorithms.table.lattice import Lattice
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.result import scattered
from treeanon.algorithms.table.rollup import Vector
from treeanon.arrays import Longs
from treeanon.privacy.models.model import Model
from treeanon.table import Table
from treeanon.table.covers import level_maps


@dataclass(frozen=True)
class FullDomainResult:
    """A full-domain recoding: `vector` has the level of every quasi column by name.

    `suppressed` counts the persons left out, who have a row in a group that does not satisfy all models. `minimal` has
    all k-minimal vectors where the algorithm gives them (satisfied, and nothing below them is), with what each
    suppresses. `counts` has the lattice's size, the nodes checked, and what else the algorithm reports.
    """

    algorithm: str
    models: tuple[Model, ...]
    vector: Mapping[str, int]
    suppressed: int
    minimal: tuple[tuple[Mapping[str, int], int], ...] = ()
    counts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, lattice: Lattice, algorithm: str, vector: Vector, minimal: Iterable[Vector] = (), **counts: Any
    ) -> FullDomainResult:
        """The solution that a vector of a lattice is."""
        found = tuple((lattice.named(v), lattice.evaluate(v).suppressed) for v in minimal)
        suppressed = lattice.evaluate(vector).suppressed
        counts = {"lattice": lattice.size, "checked": lattice.checked, **counts}
        return cls(algorithm, lattice.problem.models, lattice.named(vector), suppressed, found, counts)

    @property
    def height(self) -> int:
        """The sum of the levels."""
        return sum(self.vector.values())

    def apply(self, table: Table) -> Table:
        """The release of a table: generalized, without the rows of groups that do not satisfy the models.

        Rows come in random order, and persons are numbered anew: neither says where a row was.
        """
        return scattered(self.recoded(table)[0])

    def recoded(self, table: Table) -> tuple[Table, Longs]:
        """The rows of a table that are published, generalized; and their numbers in the table."""
        lattice = Lattice(Problem(table, self.models))
        _, number, holds = lattice.groups(tuple(self.vector[name] for name in lattice.names))
        generalized = {}
        for column in table.quasi:
            # The last entry of a level's map is of a missing value, which is code -1 in a table.
            codes = level_maps(column.hierarchy)[self.vector[column.name]][column.codes]
            generalized[column.name] = np.where(codes == len(column.hierarchy), -1, codes).astype(np.int32)
        rows = np.flatnonzero(holds[number[lattice.tuples.tuple_of]])
        return table.with_codes(generalized).take(rows), rows

    def as_dict(self) -> dict[str, Any]:
        """The level of every column."""
        return {"levels": dict(self.vector)}

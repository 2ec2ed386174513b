"""Groups of rows as what a search has found: each is published with one value a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from treeanon.algorithms.table.recoding import recoded_groups
from treeanon.algorithms.table.registry import Style
from treeanon.arrays import Longs
from treeanon.privacy.models.model import Model
from treeanon.table import Table


@dataclass(frozen=True, repr=False)
class Partition:
    """The group of every row, from 0 on; -1 for one that is left out. `style` says how values are published.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"x": (["1", "2", "4"], Hierarchy.flat(["1", "2", "3", "4"]))})
    >>> found = Partition("mine", (), np.array([0, 0, -1]), suppressed=1)
    >>> released, rows = found.recoded(table)
    >>> list(released.rows()), rows.tolist()
    ([('["1","2"]',), ('["1","2"]',)], [0, 1])
    """

    algorithm: str
    models: tuple[Model, ...]
    group: Longs
    suppressed: int = 0
    counts: Mapping[str, Any] = field(default_factory=dict)
    style: Style = "auto"

    def __repr__(self) -> str:
        return f"<Partition by {self.algorithm}: {int(self.group.max(initial=-1)) + 1:,} groups>"

    def recoded(self, table: Table) -> tuple[Table, Longs]:
        """The rows of the table that are published, as they are published; and their numbers in the table."""
        rows = np.flatnonzero(self.group >= 0)
        if not len(rows):
            return table.take(rows), rows
        numbers = np.unique(self.group[rows], return_inverse=True)[1].astype(np.int64)
        return recoded_groups(table.take(rows), numbers, self.style), rows

    def as_of(self, rows: Longs) -> Partition:
        """The same in the numbers that the rows had before they came in another order: row r had rows[r].

        >>> Partition("mine", (), np.array([0, 0, 1])).as_of(np.array([2, 1, 0])).group.tolist()
        [1, 0, 0]
        """
        group = np.empty_like(self.group)
        group[rows] = self.group
        return replace(self, group=group)

    def as_dict(self) -> dict[str, Any]:
        """Nothing: groups are of the rows of one table."""
        return {}

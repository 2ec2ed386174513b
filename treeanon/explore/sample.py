"""What is explored: a sample of the persons of an input, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treeanon.explore.settings import Kind
from treeanon.forest import Forest
from treeanon.kernels.tree.forest import Longs
from treeanon.previews.preview import sampled
from treeanon.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Ground:
    """The records of `persons` sampled persons, of `total` in the input.

    Record i is record of[i] of the `records` in the input; `of` is None where all are there. `source` and `schema` are
    the names by which the command line knows them, `reading` the options of reading that were given.
    """

    data: Forest | Table
    records: int
    persons: int
    total: int
    of: Longs | None = None
    source: str = "INPUT"
    schema: str = "SCHEMA"
    reading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        """Whether trees or rows are explored."""
        return "trees" if isinstance(self.data, Forest) else "table"

    @property
    def whole(self) -> bool:
        """Whether all persons of the input are in the sample."""
        return self.of is None

    def place(self, number: int) -> int | None:
        """Where a record of the input is in the sample, if it is."""
        if self.of is None:
            return number if 0 <= number < self.records else None
        found = np.flatnonzero(self.of == number)
        return int(found[0]) if len(found) else None

    def of_role(self, role: str) -> tuple[str, ...]:
        """The published classes of a role."""
        if isinstance(self.data, Table):
            return tuple(column.name for column in self.data.columns if column.role == role)
        return tuple(spec.name for spec in self.data.schema.classes if spec.published and spec.role == role)


def ground_of(data: Forest | Table, sample: int, **named: Any) -> Ground:
    """The ground of at most so many persons of an input, always the same ones.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"age": (["34", "41"], Hierarchy.flat(["34", "41"]))})
    >>> ground = ground_of(table, 1)
    >>> len(ground.data), ground.persons, ground.total, ground.whole
    (1, 1, 2, False)
    """
    part, of = sampled(data, sample)
    return Ground(part, len(data), _persons(part), _persons(data), of, **named)


def _persons(data: Forest | Table) -> int:
    return data.persons if isinstance(data, Table) else len(data)

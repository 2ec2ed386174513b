"""What every search of a table gives back, and how its rows become fit to be published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from treeanon.arrays import Longs
from treeanon.privacy.models.model import Model
from treeanon.table import Table


class Result(Protocol):
    """What a search has found: which rows to publish, and with which values."""

    @property
    def algorithm(self) -> str:
        """The search's name."""

    @property
    def models(self) -> tuple[Model, ...]:
        """The models that every published group satisfies."""

    @property
    def suppressed(self) -> int:
        """How many persons have a row that is left out."""

    @property
    def counts(self) -> Mapping[str, Any]:
        """What the search tells of itself, without a value of the data."""

    def recoded(self, table: Table) -> tuple[Table, Longs]:
        """Return the rows of the table that are published, as they are published; and their numbers in the table."""

    def as_dict(self) -> dict[str, Any]:
        """Return how to do the same to other tables, as plain data: this may hold values. Empty if that cannot be."""


@runtime_checkable
class RowResult(Result, Protocol):
    """What says of each row by its number what becomes of it."""

    def as_of(self, rows: Longs) -> Result:
        """Return the same in the numbers that the rows had before they came in another order: row r had rows[r]."""


@dataclass(frozen=True, repr=False)
class Recoding:
    """Rows recoded one by one: `table` has those published, `rows` their numbers in the input."""

    algorithm: str
    models: tuple[Model, ...]
    table: Table
    rows: Longs
    suppressed: int = 0
    counts: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Recoding by {self.algorithm}: {len(self.rows):,} rows>"

    def recoded(self, table: Table) -> tuple[Table, Longs]:
        """Return the rows published: always those of the table that was searched."""
        return self.table, self.rows

    def as_of(self, rows: Longs) -> Recoding:
        """Return the same in the numbers that the rows had before they came in another order: row r had rows[r]."""
        return replace(self, rows=rows[self.rows])

    def as_dict(self) -> dict[str, Any]:
        """Nothing: every row was recoded by itself."""
        return {}


def scattered(table: Table, seed: int | None = None) -> Table:
    """Return the rows in random order, persons numbered anew: neither says where a row was. `seed` is for tests.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"sex": (["f", "m", "m"], Hierarchy.flat(["f", "m"]))})
    >>> scattered(table) == table
    True
    """
    shuffled = table.take(np.random.default_rng(seed).permutation(len(table)))
    person = shuffled.person
    if person is not None:
        numbers, first, of = np.unique(person, return_index=True, return_inverse=True)
        all_alone = len(numbers) == len(person) and not table.person_header
        person = None if all_alone else np.argsort(np.argsort(first))[of].astype(np.int32)
    return replace(shuffled, person=person, report=None)

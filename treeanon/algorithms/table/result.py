"""What every search of a table gives back, and how its rows become fit to be published.

Last, what the three forms of suppression without generalization share, as they are classified by V. Ciriani, S. De
Capitani di Vimercati, S. Foresti and P. Samarati, "k-anonymity" (Secure Data Management in Decentralized Systems,
Springer 2007): whole tuples (TS), whole attributes (AS), or single cells (CS). Each form is a file of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from treeanon.algorithms.table.group_checker import RowGroupChecker
from treeanon.algorithms.table.problem import Problem
from treeanon.arrays import Flags, Longs, unique_values
from treeanon.errors import GuaranteeError, UsageError
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


SUPPRESSED = 0
"""The code that says nothing: the root, which stands for every value and for a missing one."""


def released(problem: Problem, algorithm: str, table: Table, kept: Flags, **counts: Any) -> Recoding:
    """Return what a search gives that publishes the rows kept of a recoded table.

    GuaranteeError if more persons would lose a row than may.
    """
    lost = left_out(table, ~kept)
    if lost > problem.max_suppressed:
        raise unreachable(problem)
    rows = np.flatnonzero(kept)
    counts["rows_suppressed"] = len(table) - len(rows)
    return Recoding(algorithm, problem.models, table.take(rows), rows, lost, counts)


def left_out(table: Table, is_out: Flags) -> int:
    """Return how many persons lose a row when these rows go."""
    return int(is_out.sum()) if table.person is None else len(unique_values(table.person[is_out]))


def unreachable(problem: Problem) -> GuaranteeError:
    """Return what to raise where suppression of the form asked for is not enough."""
    names = ", ".join(model.name for model in problem.models)
    return GuaranteeError(
        f"this suppression does not give {names} with at most {problem.max_suppressed:,} of "
        f"{problem.table.persons:,} persons left out"
    )


def require_any(problem: Problem) -> None:
    """Raise GuaranteeError if nothing satisfies the models where no row may go: not even all rows together do.

    That holds for monotone models, and where nobody has several rows.
    """
    rows = len(problem.table)
    if not rows or not all(model.is_monotone for model in problem.models):
        return
    if not RowGroupChecker(problem).holds(np.zeros(rows, np.int64), 1).all():
        raise unreachable(problem)


def one_row_each(table: Table, name: str) -> None:
    """Nothing; an error if a person may have several rows."""
    if table.person is not None and table.persons < len(table):
        raise UsageError(f"{name} needs one row a person: flatten the input, or use another algorithm")

"""The problem that a search of a table solves: which models must hold, and how many persons may be left out for that.

Searches get the rows in an order that says no more of them than their quasi columns do. A file's rows may come in an
order that tells of what is sensitive: sorted by diagnosis, say. Searches must decide between rows that are alike, and
between tuples that cost the same, and do so by the numbers of the rows. Who knows both could tell which ways to match
rows and tuples such a file can not have led to. So rows are sorted by their values first, and those that are alike come
in random order: then no graph, and no partition by a search that looks at quasi columns alone, depends on more than
these and chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from treeanon.arrays import Floats, Longs, narrowed
from treeanon.errors import GuaranteeError, UsageError
from treeanon.privacy.models.model import Model, asks_for_size, refuse_sets
from treeanon.progress import Progress
from treeanon.randomness import Randomness
from treeanon.table import Column, Table
from treeanon.table.controls import column_weights


@dataclass(frozen=True, repr=False)
class Problem:
    """A table, the models that every published group must satisfy, and the number of persons that may be suppressed.

    What is asked of single columns is in the `controls` of their classes: their levels, spans and styles; `weights` has
    their weights. Only what a search declares to honor (`TableAlgorithm.honors`) gets to it.

    `whole` is the table that this one is a part of, with which models compare shares of values. `max_group_loss` is
    the greatest NCP that any published group may have.

    `progress` is told how far a search is, if anybody wants to know; see `report_progress`.
    """

    table: Table
    models: tuple[Model, ...]
    max_suppressed: int = 0
    progress: Progress | None = field(default=None, compare=False)
    whole: Table | None = field(default=None, compare=False)
    max_group_loss: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", tuple(self.models))
        if not self.table.quasi:
            raise UsageError("the table has no quasi column: there is nothing to generalize")
        if self.max_suppressed < 0:
            raise UsageError("the number of persons to suppress must not be negative")
        for model in self.models:
            self.columns_of(model)

    @property
    def weights(self) -> Floats:
        """Return what a loss counts for in each quasi column; in the mean 1."""
        return column_weights(self.table.quasi)

    def report_progress(self, done: int, total: int | None = None) -> None:
        """Say how much is done, and of how much if that is known; a search that nobody waits for ends here."""
        if self.progress is not None:
            self.progress(done, total)

    def columns_of(self, model: Model) -> tuple[Column, ...]:
        """Return the sensitive columns that a model looks at."""
        if model.sensitive is None:
            return ()
        columns = tuple(map(self.table.column, model.sensitive)) if model.sensitive else self.table.sensitive
        if not columns or any(column.role != "sensitive" for column in columns):
            raise UsageError(f"{model.name} needs columns with the role sensitive")
        for column in columns:
            refuse_sets(model, column)
        return columns


def unordered_rows(table: Table, randomness: Randomness) -> Longs:
    """Return the numbers of the rows, sorted by the quasi columns; those of rows that are alike in random order.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"x": ("bab", Hierarchy.flat("ab"))})
    >>> unordered_rows(table, Randomness()).tolist() in ([1, 0, 2], [1, 2, 0])
    True
    """
    rows = randomness.order(len(table))
    return rows[np.lexsort([narrowed(column.codes)[rows] for column in table.quasi])]


def requested_k(problem: Problem, searches: str) -> int:
    """Return the k that groups or tuples must have; an error if more is asked for, or there are too few rows for it.

    `searches` says what kind of searches asks.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"x": ("aab", Hierarchy.flat("ab"))})
    >>> from treeanon.privacy.models import KAnonymity
    >>> requested_k(Problem(table, (KAnonymity(2), KAnonymity(3))), "1-D")
    3
    """
    k = 1
    for model in problem.models:
        if not asks_for_size(model):
            raise UsageError(f"this search is for k-anonymity alone, not for {model.name}; try 'local' or 'onedim-l'")
        k = max(k, model.limits.persons)
    one_row_each(problem.table, searches)
    rows = len(problem.table)
    if 0 < rows < k:
        raise GuaranteeError(f"a table of {rows:,} persons cannot be {k:,}-anonymous")
    return k


def one_row_each(table: Table, searches: str) -> None:
    """Raise UsageError where somebody has several rows."""
    if table.persons < len(table):
        raise UsageError(f"{searches} searches are for one row a person; reduce the rows of each person to one first")

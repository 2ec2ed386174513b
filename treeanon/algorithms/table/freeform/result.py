"""What a freeform search gives back: a graph, and the original behind each published tuple, which nobody else knows.

What a freeform search is asked for: how many originals a tuple covers, and nothing of sensitive values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from treeanon.algorithms.table.freeform.graph import Graph
from treeanon.algorithms.table.problem import Problem, requested_k
from treeanon.algorithms.table.registry import Style
from treeanon.arrays import Ints, Longs
from treeanon.errors import UsageError
from treeanon.privacy.models.model import Model
from treeanon.table import Table


@dataclass(frozen=True, repr=False)
class Freeform:
    """A graph over the rows of a table, and `original`, the row behind every published tuple.

    What is not generalized is published with the tuple that has its row behind it. A release has as many tuples as the
    table has rows, one for each; it is k-anonymous by the graph, not by rows that look alike.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"x": (["1", "2", "4"], Hierarchy.flat(["1", "2", "3", "4"]))})
    >>> graph = Graph(np.array([[0, 1], [1, 2], [2, 0]], np.int32))
    >>> found = Freeform("mine", (), graph, np.array([1, 2, 0], np.int32), style="ranges")
    >>> released, rows = found.recoded(table)
    >>> list(released.rows()), rows.tolist()
    ([('1 … 4',), ('1 … 2',), ('2 … 4',)], [0, 1, 2])
    """

    algorithm: str
    models: tuple[Model, ...]
    graph: Graph
    original: Ints
    counts: Mapping[str, Any] = field(default_factory=dict)
    style: Style = "auto"
    suppressed: int = 0

    def __repr__(self) -> str:
        return f"<Freeform by {self.algorithm}: {len(self.graph):,} tuples, each covering {self.graph.k:,}>"

    def recoded(self, table: Table) -> tuple[Table, Longs]:
        """Return the rows of the table as they are published, in its order; and their numbers in the table: all of
        them.
        """
        rows = np.arange(len(table))
        if not len(table):
            return table, rows
        tuple_ = np.empty(len(table), np.int64)
        tuple_[self.original] = rows
        published = {column.name: column for column in self.graph.published(table, self.style)}
        columns = tuple(
            column
            if (own := published.get(column.name)) is None
            else replace(column, codes=own.codes[tuple_], covers=own.covers)
            for column in table.columns
        )
        return replace(table, columns=columns), rows

    def as_of(self, rows: Longs) -> Freeform:
        """Return the same in the numbers that the rows had before they came in another order: row r had rows[r].

        >>> found = Freeform("mine", (), Graph(np.array([[0, 1], [1, 2], [2, 0]], np.int32)), np.array([1, 2, 0]))
        >>> before = found.as_of(np.array([1, 0, 2]))
        >>> before.graph.edges.tolist(), before.original.tolist()
        ([[0, 2], [1, 0], [2, 1]], [2, 0, 1])
        """
        numbers = rows.astype(np.int32)
        edges, original = np.empty_like(self.graph.edges), np.empty_like(self.original)
        edges[rows], original[rows] = numbers[self.graph.edges], numbers[self.original]
        return replace(self, graph=Graph(edges), original=original)

    def as_dict(self) -> dict[str, Any]:
        """Nothing: a graph is of the rows of one table."""
        return {}


def refuse_sensitive(algorithm: str, models: Iterable[Model]) -> None:
    """Raise UsageError if a model looks at sensitive values, which freeform releases cannot be made to satisfy."""
    if any(model.sensitive is not None for model in models):
        raise UsageError(
            f"{algorithm} gives k-anonymity alone: whoever knows that the persons behind a row were chosen to"
            " be diverse can rule some of them out; ask a search of groups for models of sensitive classes"
        )


def requested_freeform_k(algorithm: str, problem: Problem) -> int:
    """Return the k that a problem asks for; an error if a freeform release cannot have it, or never of these rows.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> requested_freeform_k("ring", Problem(Table.of_texts({"x": ("aab", Hierarchy.flat("ab"))}), (KAnonymity(2),)))
    2
    """
    refuse_sensitive(algorithm, problem.models)
    return requested_k(problem, "freeform")

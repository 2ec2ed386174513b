"""Which originals every published tuple covers: a k-regular bipartite graph.

After K. Doka, M. Xue, D. Tsoumakos and P. Karras, "k-anonymization by freeform generalization" (ASIA CCS 2015): every
published tuple covers k originals, and every original is covered by k published tuples, so that each of them can be its
own.

The privacy step: which original is behind each published tuple, drawn so that each of its k is equally likely.

A regular bipartite graph falls into k perfect matchings without a common edge. One such way to divide it is drawn at
random, and then one of the k matchings for each connected part of the graph, all equally likely. Every edge of the
graph is in exactly one of the k: so whatever way it was divided, and even to somebody who knows which, each of the k
originals of a tuple is its own with probability 1/k, and so is each of the k tuples of an original.

That the way is random, too, and that connected parts are drawn for apart from each other, is for those who know already
whose some tuples are. For k of 3 and more a graph has very many perfect matchings (by Schrijver's bound, 4/3 to the
power of n and more for k = 3, and 2 to the power of n for k = 5), so that whose one tuple is tells of few others. But
it tells of these: a tuple has k - 1 originals left at most without that one, and fewer where others cannot give theirs
up. With k = 2 a connected part has two matchings alone, so that whose one tuple is tells whose all of them are. The
same goes for those who know how sensitive values go with quasi columns: where two matchings differ in many rows, that
may be enough to tell which is the true one.

Draws come from the operating system's randomness.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from treeanon.algorithms.table.partition import recoded_members
from treeanon.algorithms.table.problem import Problem, requested_k
from treeanon.algorithms.table.registry import Style
from treeanon.arrays import Ints, Longs
from treeanon.errors import UsageError
from treeanon.kernels.table.freeform_prices import Prices, tuple_costs
from treeanon.kernels.table.freeform_rounds import component_of, go_on_matching, set_aside
from treeanon.privacy.models.model import Model
from treeanon.randomness import Randomness
from treeanon.table import Column, Table


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """edges[j] has the k originals, by their row, that published tuple j covers; each original is in k of them.

    Which original is behind a published tuple is not said here.

    >>> graph = Graph(np.array([[0, 1], [1, 2], [2, 0]], np.int32))
    >>> graph, graph.is_regular
    (<Graph: 3 tuples, each covering 2>, True)
    >>> Graph(np.array([[0, 0], [1, 1]], np.int32)).is_regular
    False
    """

    edges: Ints

    def __repr__(self) -> str:
        return f"<Graph: {len(self):,} tuples, each covering {self.k:,}>"

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def k(self) -> int:
        """How many originals a published tuple covers."""
        return int(self.edges.shape[1])

    @property
    def is_regular(self) -> bool:
        """Whether every published tuple covers k different originals, and each of them is covered by k."""
        if not self.edges.size:
            return True
        inside = self.edges.min() >= 0 and self.edges.max() < len(self)
        own = np.sort(self.edges, axis=1)
        return bool(
            inside
            and (own[:, 1:] != own[:, :-1]).all()
            and (np.bincount(self.edges.ravel(), minlength=len(self)) == self.k).all()
        )

    def published(self, table: Table, style: Style = "auto") -> tuple[Column, ...]:
        """Return the quasi columns of the published tuples: each has a value that covers its originals.

        >>> from treeanon.hierarchy import Hierarchy
        >>> table = Table.of_texts({"x": (["1", "2", "4"], Hierarchy.flat(["1", "2", "3", "4"]))})
        >>> Graph(np.array([[0, 1], [1, 2], [2, 0]], np.int32)).published(table, "ranges")[0].texts()
        ['1 … 2', '2 … 4', '1 … 4']
        """
        offsets = np.arange(0, self.edges.size + 1, self.k, dtype=np.int64)
        return recoded_members(table, offsets, self.edges.ravel().astype(np.int64), style)

    def gcp(self, prices: Prices) -> float:
        """Return the mean NCP of the published tuples, 0 to 1, by the prices of the table's rows."""
        columns = max(len(prices.kinds), 1)
        return float(tuple_costs(prices, self.edges).sum()) / (max(len(self), 1) * columns)


def rings(rows: Longs, sizes: Longs, k: int) -> Ints:
    """Return the edges of rings: rows in an order, cut into groups of these sizes, each at least k, in each of which a
    tuple covers a row and the k - 1 after it, and the last rows are followed by the first.

    >>> rings(np.array([3, 1, 2, 0, 4]), np.array([2, 3]), 2).tolist()
    [[0, 4], [1, 3], [2, 0], [3, 1], [4, 2]]
    """
    place = np.arange(len(rows))
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    within = (place - starts)[:, None] + np.arange(k)
    found = rows[starts[:, None] + within % np.repeat(sizes, sizes)[:, None]]
    edges = np.empty((len(rows), k), np.int32)
    edges[rows] = found
    return edges


_ROOM = 1 << 12


@dataclass(frozen=True, eq=False)
class Matchings:
    """k perfect matchings of a graph without a common edge: original[j, r] is that of tuple j in the r-th of them.

    part[j] is the connected part of the graph, of `parts`, that tuple j belongs to.
    """

    original: Ints
    part: Ints
    parts: int

    def chosen(self, randomness: Randomness) -> Ints:
        """Return the original behind every tuple: those of one matching for every connected part, all equally
        likely.
        """
        rows, k = self.original.shape
        which = randomness.below(k, self.parts)[self.part] if rows else np.zeros(0, np.int64)
        return self.original[np.arange(rows), which]


def drawn_matchings(graph: Graph, randomness: Randomness) -> Matchings:
    """Return a random way to divide a regular graph into k perfect matchings.

    >>> graph = Graph(np.array([[0, 1], [1, 2], [2, 0]], np.int32))
    >>> sorted(drawn_matchings(graph, Randomness()).original.T.tolist())
    [[0, 1, 2], [1, 2, 0]]
    """
    part, parts = component_of(np.ascontiguousarray(graph.edges))
    edges = graph.edges.copy()
    for degree in range(graph.k, 1, -1):
        set_aside(edges, degree, _drawn_slots(edges, degree, randomness))
    return Matchings(edges, part, parts)


def drawn_originals(graph: Graph, randomness: Randomness) -> Ints:
    """Return the original behind every published tuple, each of its k equally likely; a permutation of the rows.

    >>> graph = Graph(np.array([[0, 1], [1, 2], [2, 0]], np.int32))
    >>> drawn_originals(graph, Randomness(1)).tolist() in ([0, 1, 2], [1, 2, 0])
    True
    """
    return drawn_matchings(graph, randomness).chosen(randomness)


def _drawn_slots(edges: Ints, degree: int, randomness: Randomness) -> Ints:
    """Return the edge of every tuple, of its first `degree`, that is in a random perfect matching."""
    rows = len(edges)
    owner, slot = np.full(rows, -1, np.int32), np.full(rows, -1, np.int32)
    order = randomness.order(rows)
    done = 0
    while done < rows:
        done = go_on_matching(edges, degree, order, done, owner, slot, randomness.draws(4 * rows + _ROOM))
    return slot


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

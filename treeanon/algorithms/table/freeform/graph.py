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

Also freeform searches of tables of any size: rows that are alike make blocks, each of which has a graph of its own.

What published tuples cost that cover rows of a table, as arrays for the kernels.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from treeanon.algorithms.table.onedim.costs import scales_of, table_costs
from treeanon.algorithms.table.onedim.orders import Order, Points, few_values_first, ordered, sorted_rows, tuple_keys
from treeanon.algorithms.table.problem import Problem, requested_k
from treeanon.algorithms.table.registry import Style
from treeanon.algorithms.table.result import recoded_members
from treeanon.arrays import Floats, Ints, Longs
from treeanon.errors import UsageError
from treeanon.kernels.jit import for_rows
from treeanon.kernels.table.freeform_prices import Prices, tuple_costs
from treeanon.kernels.table.freeform_rounds import component_of, go_on_matching, set_aside
from treeanon.kernels.table.orders import Scales
from treeanon.metrics.table.ncp import Form
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
    part, parts = for_rows(component_of, len(graph))(np.ascontiguousarray(graph.edges))
    edges = graph.edges.copy()
    for degree in range(graph.k, 1, -1):
        for_rows(set_aside, len(graph))(edges, degree, _drawn_slots(edges, degree, randomness))
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
        done = for_rows(go_on_matching, rows)(
            edges, degree, order, done, owner, slot, randomness.draws(4 * rows + _ROOM)
        )
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


def prices_of(table: Table, form: Form = "taxonomy", style: Style = "auto") -> Prices:
    """Return the NCP, in this form, of what is published in this style of sets of the table's rows.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.kernels.table.freeform_prices import tuple_costs
    >>> table = Table.of_texts({"x": (["1", "2", "4"], Hierarchy.flat(["1", "2", "3", "4", "5"]))})
    >>> prices = prices_of(table, "set", "ranges")
    >>> tuple_costs(prices, np.array([[0, 1], [1, 2], [2, 0]], np.int32)).tolist()
    [0.25, 0.5, 0.75]
    """
    columns = table_costs(table, form, style)
    values, scales = scales_of(columns)
    return _numbered(values, scales, np.array([column.mixed for column in columns]))


def prices_within(prices: Prices, rows: Longs) -> Prices:
    """Return the prices of some of the rows alone, which are numbered from 0 on."""
    scales = Scales(prices.kinds, prices.starts, prices.shares, prices.parent, prices.end)
    return _numbered(np.ascontiguousarray(prices.values[rows]), scales, prices.mixed)


def _numbered(values: Ints, scales: Scales, mixed: Floats) -> Prices:
    """Return the prices of these rows, their distinct values numbered."""
    cells = np.empty_like(values)
    held, bounds = [], [0]
    for c in range(values.shape[1]):
        known, number = np.unique(values[:, c], return_inverse=True)
        cells[:, c] = number + bounds[-1]
        held.append(known)
        bounds.append(bounds[-1] + len(known))
    kinds, starts, shares, parent, end = scales
    return Prices(
        values, cells, np.concatenate(held), np.array(bounds, np.int64), kinds, starts, shares, parent, end, mixed
    )


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows, sorted by one column after the other, those with few values first; what they cost, and how many of
    them every tuple must cover.
    """

    prices: Prices
    k: int

    def __len__(self) -> int:
        return len(self.prices.values)

    @property
    def classes(self) -> Ints:
        """A number for every row, ascending: the same for rows that are alike."""
        values = self.prices.values
        return np.append(np.int32(0), np.cumsum((values[1:] != values[:-1]).any(axis=1)).astype(np.int32))[: len(self)]

    def begun(self) -> Ints:
        """Return edges by which every tuple covers one row, the next, and room for the others."""
        edges = np.empty((len(self), self.k), np.int32)
        edges[:, 0] = np.arange(len(self))
        return edges


Solved = tuple[Ints, dict[str, Any]]
"""The edges for the rows of a block, and what there is to tell: numbers, of which the largest is told of all blocks."""


def search_blocks(
    name: str,
    problem: Problem,
    solve: Callable[[Block], Solved],
    *,
    form: Form,
    style: Style,
    order: Order,
    block: int,
    seed: int | None,
) -> Freeform:
    """Return what a search finds block by block, of at most `block` rows each, on all cores.

    Blocks follow each other in an order of the rows.
    """
    k = requested_freeform_k(name, problem)
    prices = prices_of(problem.table, form, style)
    edges, counts = edges_by_blocks(problem, prices, k, solve, form=form, style=style, order=order, block=block)
    graph = Graph(edges)
    counts["gcp"] = graph.gcp(prices)
    return Freeform(name, problem.models, graph, drawn_originals(graph, Randomness(seed)), counts, style)


def edges_by_blocks(
    problem: Problem,
    prices: Prices,
    k: int,
    solve: Callable[[Block], Solved],
    *,
    form: Form,
    style: Style,
    order: Order,
    block: int,
) -> Solved:
    """Return the edges of all rows, and what there is to tell of the blocks."""
    if block < 2:
        raise UsageError("a block must have room for two rows at least")
    table = problem.table
    points = Points.of(table)
    sorted_ = sorted_rows([*tuple_keys(points, few_values_first(points)), np.arange(len(table))])
    rank = np.empty(len(table), np.int64)
    rank[sorted_] = np.arange(len(table))
    parts = max(min(-(-len(table) // block), len(table) // k), 1)
    along = sorted_ if parts == 1 else ordered(table, order, k=k, form=form, style=style).rows
    rows = [part[np.argsort(rank[part])] for part in np.array_split(along, parts)]
    edges = np.empty((len(table), k), np.int32)
    counts: dict[str, Any] = {"blocks": parts}
    for own, (part, found) in zip(rows, _solved(problem, prices, k, rows, solve), strict=True):
        edges[own] = own[part]
        for key, value in found.items():
            counts[key] = max(counts.get(key, value), value)
    return edges, counts


def _solved(
    problem: Problem, prices: Prices, k: int, parts: list[Longs], solve: Callable[[Block], Solved]
) -> Iterator[Solved]:
    """Return what comes out for the rows of each block, in turn."""

    def task(rows: Longs) -> Solved:
        return solve(Block(prices_within(prices, rows), k))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, one in enumerate(pool.map(task, parts), 1):
            problem.report_progress(number, len(parts))
            yield one

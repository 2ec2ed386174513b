"""Freeform searches of tables of any size: rows that are alike make blocks, each of which has a graph of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeanon.algorithms.table.freeform.graph import Graph
from treeanon.algorithms.table.freeform.matchings import Randomness, drawn_originals
from treeanon.algorithms.table.freeform.prices import prices_of, prices_within
from treeanon.algorithms.table.freeform.requested_k import asked_k
from treeanon.algorithms.table.freeform.result import Freeform
from treeanon.algorithms.table.onedim.lexicographic import few_values_first
from treeanon.algorithms.table.onedim.orders import Order, ordered
from treeanon.algorithms.table.onedim.points import Points, sorted_rows, tuple_keys
from treeanon.algorithms.table.options import Style
from treeanon.algorithms.table.problem import Problem
from treeanon.errors import UsageError
from treeanon.kernels.table.freeform_prices import Prices
from treeanon.kernels.tree.forest import Ints, Longs
from treeanon.metrics.table.ncp import Form


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
        """Edges by which every tuple covers one row, the next, and room for the others."""
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
    """What a search finds block by block, of at most `block` rows each, on all cores.

    Blocks follow each other in an order of the rows.
    """
    k = asked_k(name, problem)
    if block < 2:
        raise UsageError("a block must have room for two rows at least")
    table = problem.table
    prices = prices_of(table, form, style)
    points = Points.of(table)
    sorted_ = sorted_rows([*tuple_keys(points, few_values_first(points)), np.arange(len(table))])
    rank = np.empty(len(table), np.int64)
    rank[sorted_] = np.arange(len(table))
    parts = max(min(-(-len(table) // block), len(table) // k), 1)
    along = sorted_ if parts == 1 else ordered(table, order, k=k, form=form, style=style).rows
    rows = [part[np.argsort(rank[part])] for part in np.array_split(along, parts)]
    edges = np.empty((len(table), k), np.int32)
    counts: dict[str, Any] = {"blocks": parts}
    for own, (part, told) in zip(rows, _solved(problem, prices, k, rows, solve), strict=True):
        edges[own] = own[part]
        for key, value in told.items():
            counts[key] = max(counts.get(key, value), value)
    graph = Graph(edges)
    counts["gcp"] = graph.gcp(prices)
    return Freeform(name, problem.models, graph, drawn_originals(graph, Randomness(seed)), counts, style)


def _solved(
    problem: Problem, prices: Prices, k: int, parts: list[Longs], solve: Callable[[Block], Solved]
) -> Iterator[Solved]:
    """What comes out for the rows of each block, in turn."""

    def task(rows: Longs) -> Solved:
        return solve(Block(prices_within(prices, rows), k))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, one in enumerate(pool.map(task, parts), 1):
            problem.tell(number, len(parts))
            yield one

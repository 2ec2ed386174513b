"""Freeform searches of tables of any size: rows that are alike make blocks, each of which has a graph of its own.

What published tuples cost that cover rows of a table, as arrays for the kernels.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeanon.algorithms.table.freeform.graph import Freeform, Graph, drawn_originals, requested_freeform_k
from treeanon.algorithms.table.onedim.costs import scales_of, table_costs
from treeanon.algorithms.table.onedim.orders import Order, Points, few_values_first, ordered, sorted_rows, tuple_keys
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import Style
from treeanon.arrays import Floats, Ints, Longs
from treeanon.errors import UsageError
from treeanon.kernels.table.freeform_prices import Prices
from treeanon.kernels.table.orders import Scales
from treeanon.metrics.table.ncp import Form
from treeanon.randomness import Randomness
from treeanon.table import Table


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

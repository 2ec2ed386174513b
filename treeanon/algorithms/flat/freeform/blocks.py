"""Freeform searches of tables of any size: rows that are alike make blocks, each of which has a graph of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeanon.algorithms.flat.freeform.asked import Asked, asked_of
from treeanon.algorithms.flat.freeform.found import Freeform
from treeanon.algorithms.flat.freeform.graph import Graph
from treeanon.algorithms.flat.freeform.matchings import Randomness
from treeanon.algorithms.flat.freeform.owners import drawn_owners
from treeanon.algorithms.flat.freeform.prices import prices_of, prices_within
from treeanon.algorithms.flat.onedim.lexicographic import few_values_first
from treeanon.algorithms.flat.onedim.orders import Order, ordered
from treeanon.algorithms.flat.onedim.points import Points, sorted_rows, tuple_keys
from treeanon.algorithms.flat.options import Style
from treeanon.algorithms.flat.problem import Problem
from treeanon.errors import GuaranteeError, UsageError
from treeanon.kernels.freeform_prices import Prices
from treeanon.kernels.freeform_rounds import Rule
from treeanon.kernels.trees import Ints, Longs
from treeanon.loss.flat.ncp import Form

_MOST_DIVERSE = 5_000


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows, sorted by one column after the other, those with few values first; what they cost, and how many of
    them every tuple must cover.
    """

    prices: Prices
    k: int
    rule: Rule

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


Solve = Callable[[Block], tuple[Ints, dict[str, Any]] | None]
"""The edges for the rows of a block, and what there is to tell (numbers, of which the largest is told of all blocks);
None if the rule leaves no way that could be found."""


def search_blocks(
    name: str,
    problem: Problem,
    solve: Solve,
    *,
    form: Form,
    style: Style,
    order: Order,
    block: int,
    seed: int | None,
    in_rounds: bool = True,
) -> Freeform:
    """What a search finds block by block, of at most `block` rows each, on all cores.

    Blocks follow each other in an order of the rows. Where the diversity asked for is not to be had in a block, blocks
    become larger. `in_rounds` says that every column of edges is a matching that keeps the rule (see `owners`).
    """
    asked = asked_of(problem)
    if block < 2:
        raise UsageError("a block must have room for two rows at least")
    # Where values must be diverse, dead ends are frequent, and a way out of one is looked for among all rows.
    block = min(block, _MOST_DIVERSE) if asked.is_diverse else block
    table = problem.table
    prices = prices_of(table, form, style)
    points = Points.of(table)
    sorted_ = sorted_rows([*tuple_keys(points, few_values_first(points)), np.arange(len(table))])
    rank = np.empty(len(table), np.int64)
    rank[sorted_] = np.arange(len(table))
    while True:
        parts = max(min(-(-len(table) // block), len(table) // asked.k), 1)
        along = sorted_ if parts == 1 else ordered(table, order, k=asked.k, form=form, style=style).rows
        rows = [part[np.argsort(rank[part])] for part in np.array_split(along, parts)]
        solved = _solved(problem, [(prices, asked, own) for own in rows], solve)
        if solved is not None:
            break
        if parts == 1:
            raise GuaranteeError("the search did not find originals as diverse as asked for every tuple")
        block *= 2
    edges = np.empty((len(table), asked.k), np.int32)
    counts: dict[str, Any] = {"blocks": parts}
    for own, (part, told) in zip(rows, solved, strict=True):
        edges[own] = own[part]
        for key, value in told.items():
            counts[key] = max(counts.get(key, value), value)
    graph = Graph(edges)
    counts["gcp"] = graph.gcp(prices)
    original, drawn = drawn_owners(graph, asked, Randomness(seed), in_rounds=in_rounds)
    return Freeform(name, problem.models, graph, original, counts | drawn, style)


def _solved(
    problem: Problem, parts: list[tuple[Prices, Asked, Longs]], solve: Solve
) -> list[tuple[Ints, dict[str, Any]]] | None:
    """What comes out for each block; None if there is nothing for one."""

    def task(part: tuple[Prices, Asked, Longs]) -> tuple[Ints, dict[str, Any]] | None:
        prices, asked, rows = part
        return solve(Block(prices_within(prices, rows), asked.k, asked.rule(rows)))

    found = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for one in pool.map(task, parts):
            found.append(one)
            problem.tell(len(found), len(parts))
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else None

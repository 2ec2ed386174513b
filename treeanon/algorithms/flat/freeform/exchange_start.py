"""Where exchanges begin: the best of several groupings, a ring in each group; and rows as classes of those alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeanon.algorithms.flat import mondrian
from treeanon.algorithms.flat.freeform import greedy
from treeanon.algorithms.flat.freeform.asked import Asked
from treeanon.algorithms.flat.freeform.exchange_parts import Tuples
from treeanon.algorithms.flat.freeform.graph import rings
from treeanon.algorithms.flat.freeform.prices import prices_within
from treeanon.algorithms.flat.onedim.costs import table_costs
from treeanon.algorithms.flat.onedim.cuts import best_cuts, ncp_costs
from treeanon.algorithms.flat.onedim.orders import Order, ordered
from treeanon.algorithms.flat.options import Style
from treeanon.algorithms.flat.problem import Problem
from treeanon.kernels.flat_losses import group_numbers
from treeanon.kernels.freeform_prices import Prices, tuple_costs
from treeanon.kernels.freeform_rounds import Rule
from treeanon.kernels.onedim import cut_groups
from treeanon.kernels.trees import Ints, Longs
from treeanon.loss.flat.ncp import Form

_TRIED: tuple[Order, ...] = ("adaptive", "lexicographic", "hilbert")
_ORDERS = 12


@dataclass(frozen=True, eq=False)
class Classes:
    """Rows that are alike, also in the sensitive value where that must be diverse: `of` has the class of every row, and
    rows[starts[v]:starts[v + 1]] are those of class v.
    """

    of: Ints
    starts: Longs
    rows: Longs

    @classmethod
    def of_rows(cls, prices: Prices, asked: Asked) -> Classes:
        """The classes of all rows."""
        columns = [*prices.cells.T, *([asked.values + 1] if asked.is_diverse else [])]
        numbers, count = group_numbers(columns, [int(own.max()) + 1 for own in columns], len(prices.values))
        starts = np.append(0, np.cumsum(np.bincount(numbers, minlength=count))).astype(np.int64)
        return cls(numbers.astype(np.int32), starts, np.argsort(numbers, kind="stable").astype(np.int64))

    def tuples(self, prices: Prices, asked: Asked, edges: Ints) -> Tuples:
        """The tuples that cover the rows of `edges`, as exchanges see them."""
        first = self.rows[self.starts[:-1]]
        rule = asked.rule(first)
        own = prices_within(prices, first)
        return Tuples(
            own,
            np.ascontiguousarray(self.of[edges]),
            np.diff(self.starts).astype(np.int32),
            Rule(np.ascontiguousarray(rule.values), rule.most, rule.least),
            asked.is_diverse,
            _places(own),
        )


def _places(prices: Prices) -> Ints:
    """Where classes are when sorted by one column after the other, those with few values first, but each time another
    one last.
    """
    columns: list[Ints] = list(prices.cells.T)
    few_first = np.argsort(np.diff(prices.bounds), kind="stable").tolist()
    orders = []
    for last in few_first[: -_ORDERS - 1 : -1]:
        others: list[Ints] = [columns[last], *(columns[c] for c in reversed(few_first) if c != last)]
        orders.append(np.lexsort(others))
    return np.stack(orders).argsort(axis=1).astype(np.int32)


def best_start(
    problem: Problem, asked: Asked, prices: Prices, *, form: Form, style: Style, order: Order
) -> tuple[Ints, dict[str, Any]]:
    """The edges of the rings that cost least, and which grouping they are of."""
    best, least, best_name = None, np.inf, ""
    for name, edges in _starts(problem, asked, form, style, order):
        cost = float(tuple_costs(prices, edges).sum())
        if cost < least:
            best, least, best_name = edges, cost, name
    if best is None:
        found = greedy.search(problem, form=form, style=style)
        best, best_name = found.graph.edges, found.algorithm
    return best, {"start": best_name}


def _starts(problem: Problem, asked: Asked, form: Form, style: Style, order: Order) -> Iterator[tuple[str, Ints]]:
    """Edges of rings by the grouping they are of, those alone that are as diverse as asked."""
    found = ((name, rows, sizes) for name, rows, sizes in _groupings(problem, asked, form, style, order))
    for name, rows, sizes in found:
        edges = rings(rows, sizes, asked.k)
        if not asked.is_diverse or _is_diverse(asked, edges):
            yield name, edges


def _groupings(
    problem: Problem, asked: Asked, form: Form, style: Style, order: Order
) -> Iterator[tuple[str, Longs, Longs]]:
    """Groupings by name: the rows, group by group, and the sizes of the groups."""
    if not asked.is_diverse:
        costs = table_costs(problem.table, form, style)
        for name in _TRIED if order == "best" else (order,):
            made = ordered(problem.table, name, k=asked.k, form=form, style=style)
            group, _ = cut_groups(made.rows, best_cuts(ncp_costs(costs, made.rows), len(made.rows), asked.k)[1])
            yield made.name, *_by_group(group, made.rows)
    for mode in ("relaxed", "strict"):
        group = mondrian.search(problem, mode=mode, split="ncp", style=style).group
        yield f"mondrian {mode}", *_by_group(group, _spread(asked, group))


def _by_group(group: Longs, rows: Longs) -> tuple[Longs, Longs]:
    """The rows group by group, in the order given within each; and the sizes of the groups."""
    own = group[rows]
    return rows[np.argsort(own, kind="stable")], np.bincount(group)


def _spread(asked: Asked, group: Longs) -> Longs:
    """The rows in an order in which the sensitive values of each group are as far from their equals as can be."""
    if not asked.is_diverse:
        return np.arange(len(group))
    order = np.lexsort(np.stack([asked.values, group]))
    keys = np.stack([group[order], asked.values[order]])
    starts = np.flatnonzero(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)))
    sizes = np.diff(np.append(starts, len(order)))
    within = np.arange(len(order)) - np.repeat(starts, sizes)
    return order[np.argsort((within + 0.5) / np.repeat(sizes, sizes), kind="stable")]


def _is_diverse(asked: Asked, edges: Ints) -> bool:
    """Whether what every tuple covers is as diverse as asked."""
    own = np.sort(asked.values[edges], axis=1)
    run, longest = np.ones(len(own), np.int64), np.ones(len(own), np.int64)
    for j in range(1, own.shape[1]):
        run = np.where(own[:, j] == own[:, j - 1], run + 1, 1)
        longest = np.maximum(longest, run)
    distinct = 1 + (own[:, 1:] != own[:, :-1]).sum(axis=1)
    return bool((longest <= asked.most).all() and (distinct >= asked.least).all())

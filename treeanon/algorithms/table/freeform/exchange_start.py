"""Where exchanges begin: the best of several groupings, a ring in each group; and rows as classes of those alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from treeanon.algorithms.table import local, mondrian
from treeanon.algorithms.table.freeform.exchange_parts import Tuples
from treeanon.algorithms.table.freeform.graph import rings
from treeanon.algorithms.table.freeform.prices import prices_within
from treeanon.algorithms.table.onedim.costs import table_costs
from treeanon.algorithms.table.onedim.cuts import best_cuts, ncp_costs
from treeanon.algorithms.table.onedim.orders import Order, ordered
from treeanon.algorithms.table.options import Style
from treeanon.algorithms.table.problem import Problem
from treeanon.kernels.table.freeform_prices import Prices, tuple_costs
from treeanon.kernels.table.groups import group_numbers
from treeanon.kernels.table.onedim import cut_groups
from treeanon.kernels.tree.forest import Ints, Longs
from treeanon.metrics.table.ncp import Form

_TRIED: tuple[Order, ...] = ("adaptive", "lexicographic", "hilbert", "idistance")
_MODES: tuple[mondrian.Mode, ...] = ("relaxed", "strict")
_SPLITS: tuple[mondrian.Split, ...] = ("ncp", "median")
_ORDERS = 12


@dataclass(frozen=True, eq=False)
class Classes:
    """Rows that are alike: `of` has the class of every row, and rows[starts[v]:starts[v + 1]] are those of class v."""

    of: Ints
    starts: Longs
    rows: Longs

    @classmethod
    def of_rows(cls, prices: Prices) -> Classes:
        """The classes of all rows."""
        columns = list(prices.cells.T)
        numbers, count = group_numbers(columns, [int(own.max()) + 1 for own in columns], len(prices.values))
        starts = np.append(0, np.cumsum(np.bincount(numbers, minlength=count))).astype(np.int64)
        return cls(numbers.astype(np.int32), starts, np.argsort(numbers, kind="stable").astype(np.int64))

    def tuples(self, prices: Prices, edges: Ints) -> Tuples:
        """The tuples that cover the rows of `edges`, as exchanges see them."""
        own = prices_within(prices, self.rows[self.starts[:-1]])
        return Tuples(
            own,
            np.ascontiguousarray(self.of[edges]),
            np.diff(self.starts).astype(np.int32),
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
    problem: Problem, k: int, prices: Prices, *, form: Form, style: Style, order: Order
) -> tuple[Ints, dict[str, Any]]:
    """The edges of the rings that cost least, and which grouping they are of."""
    best, least, best_name = np.empty((0, k), np.int32), np.inf, ""
    for name, rows, sizes in _groupings(problem, k, form, style, order):
        edges = rings(rows, sizes, k)
        cost = float(tuple_costs(prices, edges).sum())
        if cost < least:
            best, least, best_name = edges, cost, name
    return best, {"start": best_name}


def _groupings(problem: Problem, k: int, form: Form, style: Style, order: Order) -> Iterator[tuple[str, Longs, Longs]]:
    """Groupings by name: the rows, group by group, and the sizes of the groups."""
    costs = table_costs(problem.table, form, style)
    for name in _TRIED if order == "best" else (order,):
        made = ordered(problem.table, name, k=k, form=form, style=style)
        group, _ = cut_groups(made.rows, best_cuts(ncp_costs(costs, made.rows), len(made.rows), k)[1])
        yield made.name, *_by_group(group, made.rows)
    for mode, split in product(_MODES, _SPLITS):
        group = mondrian.search(problem, mode=mode, split=split, style=style).group
        yield f"mondrian {mode} {split}", *_by_group(group, np.arange(len(group)))
    group = local.search(replace(problem, max_suppressed=0, progress=None)).group
    yield "local", *_by_group(group, np.arange(len(group)))


def _by_group(group: Longs, rows: Longs) -> tuple[Longs, Longs]:
    """The rows group by group, in the order given within each; and the sizes of the groups."""
    own = group[rows]
    return rows[np.argsort(own, kind="stable")], np.bincount(group)

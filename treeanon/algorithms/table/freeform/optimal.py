"""Optimal: the graph with the least NCP of all, for a few dozen rows.

First come exchanges, as in `freeform`, and a bound that no graph costs less than (`least_cost`). Where what exchanges
have found costs no more, it is the optimum, without any further search: so it often is of some dozens of rows.
Otherwise a mixed integer program of up to 40 rows has the time that is left; it seldom suffices for more than fifteen.

The program is after K. Doka, M. Xue, D. Tsoumakos and P. Karras, "k-anonymization by freeform generalization" (ASIA CCS
2015), Section 4: a variable says of every pair whether tuple j covers original i; every row and column of them adds up
to k. Every tuple and column has a variable for its NCP. Where values are published as ranges, that is at least how far
its upper end is from its lower one, which are at least and at most the places of all originals covered; where they are
sets, it is a step for each value that is held. Where we differ: a regular graph has a perfect matching, so that tuple j
may be taken to cover original j, whichever is behind it later. This leaves fewer graphs to look at, and makes the cost
of a node linear: the lowest node above several is the highest of those above j and one of the others.

The program is given to HiGHS. It may take any time: after `seconds`, or of more rows at once, the best graph found so
far is taken, and `gap` says how far it may be from the least, as a share.
"""

from __future__ import annotations

import time

import numpy as np

from treeanon.algorithms.table.freeform.exchange import Report, exchanged
from treeanon.algorithms.table.freeform.exchange_parts import least_cost
from treeanon.algorithms.table.freeform.graph import Block, Freeform, Solved, search_blocks
from treeanon.algorithms.table.freeform.heuristics import solved_greedily, solved_hungarian
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import Style
from treeanon.arrays import Ints, unique_values
from treeanon.errors import UsageError
from treeanon.kernels.table.freeform_prices import Prices, rows_cost, tuple_costs
from treeanon.kernels.table.orders import NODES, RANGES
from treeanon.metrics.table.ncp import Form


class Program:
    """Variables with a cost each, and linear conditions of them.

    The first n² variables say whether tuple j covers original i (at j·n + i): 0 or 1. All others are at least 0 and
    need not be whole.
    """

    def __init__(self, block: Block) -> None:
        self._block = block
        self._n = len(block)
        self._columns = [_column_of(block.prices, c) for c in range(len(block.prices.kinds))]
        self._costs: list[float] = [0.0] * self._n**2
        self._entries: tuple[list[int], list[int], list[float]] = ([], [], [])
        self._least: list[float] = []
        self._most: list[float] = []
        self._add_regularity()
        for c in range(len(self._columns)):
            for j in range(self._n):
                self._add_cost(c, j)

    def _variable(self, cost: float = 0.0) -> int:
        self._costs.append(cost)
        return len(self._costs) - 1

    def _condition(self, terms: dict[int, float], least: float, most: float = np.inf) -> None:
        rows, columns, factors = self._entries
        rows += [len(self._least)] * len(terms)
        columns += terms
        factors += terms.values()
        self._least.append(least)
        self._most.append(most)

    def _covers(self, j: int, i: int) -> int:
        return j * self._n + i

    def _add_regularity(self) -> None:
        n, k = self._n, self._block.k
        for j in range(n):
            self._condition({self._covers(j, i): 1.0 for i in range(n)}, k, k)
            self._condition({self._covers(i, j): 1.0 for i in range(n)}, k, k)

    def _add_cost(self, c: int, j: int) -> None:
        """A variable that is at least what a column of a tuple costs."""
        kind, values, own = self._columns[c].kinds[0], self._columns[c].values[:, 0], self._columns[c].values[j, 0]
        cost = self._variable(1.0)
        for i in range(self._n):
            # A pair with its own original: all there is to it for nodes, and for missing values.
            if kind == NODES or (own < 0) != (values[i] < 0):
                worth = rows_cost(self._columns[c], np.array([j, i], np.int32), 2)
                if worth > 0:
                    self._condition({cost: 1.0, self._covers(j, i): -worth}, 0.0)
        if own >= 0 and kind == RANGES:
            self._add_ends(c, j, cost)
        elif own >= 0 and kind != NODES:
            self._add_held(c, j, cost)

    def _add_ends(self, c: int, j: int, cost: int) -> None:
        """The cost of a range: how far it goes up from the tuple's own original, and how far down."""
        column = self._columns[c]
        values, places = column.values[:, 0], column.shares[column.starts[0] :]
        up, down = self._variable(), self._variable()
        self._condition({cost: 1.0, up: -1.0, down: -1.0}, 0.0)
        for i in np.flatnonzero(values >= 0).tolist():
            way = float(places[values[i]] - places[values[j]])
            if way:
                self._condition({up if way > 0 else down: 1.0, self._covers(j, i): -abs(way)}, 0.0)

    def _add_held(self, c: int, j: int, cost: int) -> None:
        """The cost of a set: a step for each value that is held besides the tuple's own."""
        column = self._columns[c]
        values, step = column.values[:, 0], float(column.shares[column.starts[0]])
        terms = {cost: 1.0}
        for value in unique_values(values[values >= 0]).tolist():
            if value != values[j]:
                held = self._variable()
                terms[held] = -step
                for i in np.flatnonzero(values == value).tolist():
                    self._condition({held: 1.0, self._covers(j, i): -1.0}, 0.0)
        self._condition(terms, 0.0)

    def solved(self, seconds: float) -> tuple[Ints | None, float]:
        """Return the best edges found in the time, if any, and what any edges cost at least."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        n, size = self._n, len(self._costs)
        rows, columns, factors = self._entries
        matrix = csr_array((factors, (rows, columns)), shape=(len(self._least), size))
        low, high, whole = np.zeros(size), np.full(size, np.inf), np.zeros(size)
        high[: n * n] = whole[: n * n] = 1.0
        low[[self._covers(j, j) for j in range(n)]] = 1.0
        found = milp(
            np.array(self._costs),
            integrality=whole,
            bounds=Bounds(low, high),
            constraints=LinearConstraint(matrix, self._least, self._most),
            options={"time_limit": seconds, "mip_rel_gap": 0.0},
        )
        bound = 0.0 if found.mip_dual_bound is None else float(found.mip_dual_bound)
        if found.x is None:
            return None, bound
        chosen = found.x[: n * n].reshape(n, n) > 0.5
        return np.nonzero(chosen)[1].reshape(n, self._block.k).astype(np.int32), bound


def _column_of(prices: Prices, c: int) -> Prices:
    """Return the prices of one column alone."""
    return prices._replace(
        values=np.ascontiguousarray(prices.values[:, c : c + 1]),
        kinds=prices.kinds[c : c + 1],
        starts=prices.starts[c : c + 2],
        mixed=prices.mixed[c : c + 1],
    )


MOST_ROWS = 400
_SECONDS = 60.0
_SHARE = 1 / 3
"""The time for exchanges, and that for a bound, of the whole."""
_LOOKS = 10_000
_MOST_WHOLE = 40
"""The program of more rows comes to no end: of 100, not even its first relaxation within a minute."""
_EXACT = 1e-6


def search(
    problem: Problem,
    *,
    form: Form = "taxonomy",
    style: Style = "auto",
    seconds: float = _SECONDS,
    seed: int | None = None,
) -> Freeform:
    """Return the graph with the least loss, or the best found in so many seconds; no row is left out. `seed` is for
    tests.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["1", "3", "2", "4", "2"], Hierarchy.flat(["1", "2", "3", "4"]))})
    >>> counts = search(Problem(table, (KAnonymity(2),)), form="set", style="ranges").counts
    >>> round(counts["gcp"], 4), counts["gap"], counts["is_optimal"]
    (0.2667, 0.0, True)
    """
    if len(problem.table) > MOST_ROWS:
        raise UsageError(f"freeform-optimal is for at most {MOST_ROWS} rows; try freeform-hungarian")

    def solve(block: Block) -> Solved:
        return solved(block, seconds, problem.report_progress)

    return search_blocks(
        "freeform-optimal",
        problem,
        solve,
        form=form,
        style=style,
        order="lexicographic",
        block=MOST_ROWS,
        seed=seed,
    )


def solved(block: Block, seconds: float, report: Report) -> Solved:
    """Return the best edges found in the time, and how far from the least they may be."""
    known, begun = [solved_hungarian(block)[0], solved_greedily(block)[0]], time.monotonic()
    if block.k == 1 or not len(block):
        return known[0], {"gap": 0.0, "is_optimal": True}
    part = _SHARE * seconds

    def told(done: int, whole: int) -> None:
        report(done, int(whole / _SHARE))

    edges, tuples, _ = exchanged(block.prices, _cheapest(block, known)[0], part, told, begun, is_new=True)
    known.append(edges)
    proven = least_cost(tuples, part, looks=_LOOKS)
    found = _told(block, known, proven)
    left = seconds - (time.monotonic() - begun)
    if found[1]["is_optimal"] or left <= 0 or len(block) > _MOST_WHOLE:
        return found
    best, bound = Program(block).solved(left)
    return _told(block, known if best is None else [*known, best], max(bound, proven))


def _cheapest(block: Block, known: list[Ints]) -> tuple[Ints, float]:
    """Return the edges that cost least, and what they cost."""
    costs = [float(tuple_costs(block.prices, edges).sum()) for edges in known]
    least = min(costs)
    return known[costs.index(least)], least


def _told(block: Block, known: list[Ints], bound: float) -> Solved:
    """Return the edges that cost least, and how far from the least they may be where nothing costs less than that."""
    edges, least = _cheapest(block, known)
    gap = max(least - bound, 0.0) / least if least > 0 else 0.0
    gap = gap if gap > _EXACT else 0.0
    return edges, {"gap": gap, "is_optimal": gap == 0.0}

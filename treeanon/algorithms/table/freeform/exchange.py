"""Freeform: the best grouping that is found, as rings, then improved by exchanging what its tuples cover.

Every grouping of rows into groups of k or more has a graph in it by which every published tuple covers k rows and every
row is covered by k tuples: a ring in each group. The search begins with the best of several groupings, each a ring, and
only ever replaces tuples by others that cost less together and cover each row as often. So it never loses more than the
best of these groupings.

Where we differ from K. Doka, M. Xue, D. Tsoumakos and P. Karras, "k-anonymization by freeform generalization" (ASIA CCS
2015), whose searches build graphs round by round, the last tuples of a round being left with what no other one took:
tuples exchange rows with tuples near to them, at first at a little heat, so that some exchanges cost something; parts
of the tuples give all their rows away and are made anew by assignments; and parts are solved as linear programs, whose
columns are tuples, and made whole again. That goes on, in parts with other borders every time, until a time is over or
nothing is gained. `bound` tells, of a table of few rows, how far from the least the result can be.

What somebody learns who knows the program: the search looks at the quasi columns of all rows at once, as every search
does that makes loss least, and never at sensitive values, nor at which row is behind a tuple. That is drawn afterwards,
by chance, as in `matchings`. Nor does the order of the rows in a file matter, which may tell of sensitive values: they
come sorted by their quasi columns, those that are alike in random order, as in `unordered`. The graph is a function of
the quasi columns, chance, and the time there was. So even who knew the quasi columns of all rows, and the graph itself,
has that and nothing more: k tuples for every row, each equally likely to be its own. Who knows less believes a mean of
what could be believed by those who know all, and so is never surer. That some graphs would have cost more than this one
tells of the quasi columns what the published values show anyway: that no better was found. Who knows some of the
sensitive values has more than that: what follows from them for other rows is said in `matchings`.

Why models of sensitive values are refused: each of the k candidates of a row is as likely as the others only because
neither the graph nor the draw depends on sensitive values. Were a graph or a draw rejected because what a row is seen
among is not diverse, somebody could ask of each way to match all rows whether the program would have come to this
release from it. Where it would not, that way is ruled out, and a row is left with fewer candidates, perhaps with one.
Nor does it help to draw blindly and only look at what would be published anyway, if it is drawn again where that is not
diverse: such a draw speaks for those tables of which few draws are diverse, each of which comes up the more often. A
draw that is given up for good where it fails would tell nothing; but nobody can see that it was not repeated.

Where exchanges begin: the best of several groupings, a ring in each group; and rows as classes of those alike.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from threading import Lock
from typing import Any

import numpy as np

from treeanon.algorithms.table import local, mondrian
from treeanon.algorithms.table.freeform.exchange_parts import (
    Deadline,
    Programs,
    Tuples,
    along,
    by_assignments,
    by_exchanges,
    by_giving,
    cut_by_classes,
    cut_by_count,
    improved,
)
from treeanon.algorithms.table.freeform.graph import (
    Freeform,
    Graph,
    drawn_originals,
    edges_by_blocks,
    prices_of,
    prices_within,
    requested_freeform_k,
    rings,
)
from treeanon.algorithms.table.freeform.heuristics import HUNGARIAN_BLOCK, solved_hungarian
from treeanon.algorithms.table.onedim.costs import best_cuts, ncp_costs, table_costs
from treeanon.algorithms.table.onedim.orders import Order, ordered
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import Style
from treeanon.arrays import Ints, Longs
from treeanon.errors import UsageError
from treeanon.kernels.jit import for_rows
from treeanon.kernels.table.exchange import dealt
from treeanon.kernels.table.freeform_prices import Prices, tuple_costs
from treeanon.kernels.table.groups import group_numbers
from treeanon.kernels.table.onedim import cut_groups
from treeanon.metrics.table.ncp import Form
from treeanon.randomness import Randomness

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
        """Return the classes of all rows."""
        columns = list(prices.cells.T)
        numbers, count = group_numbers(columns, [int(own.max()) + 1 for own in columns], len(prices.values))
        starts = np.append(0, np.cumsum(np.bincount(numbers, minlength=count))).astype(np.int64)
        return cls(numbers.astype(np.int32), starts, np.argsort(numbers, kind="stable").astype(np.int64))

    def tuples(self, prices: Prices, edges: Ints) -> Tuples:
        """Return the tuples that cover the rows of `edges`, as exchanges see them."""
        own = prices_within(prices, self.rows[self.starts[:-1]])
        return Tuples(
            own,
            np.ascontiguousarray(self.of[edges]),
            np.diff(self.starts).astype(np.int32),
            _places(own),
        )


def _places(prices: Prices) -> Ints:
    """Return where classes are when sorted by one column after the other, those with few values first, but each time
    another one last.
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
    """Return the edges of the rings that cost least, and which grouping they are of."""
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
        group, _ = for_rows(cut_groups, len(made.rows))(
            made.rows, best_cuts(ncp_costs(costs, made.rows), len(made.rows), k)[1]
        )
        yield made.name, *_by_group(group, made.rows)
    for mode, split in product(_MODES, _SPLITS):
        group = mondrian.search(problem, mode=mode, split=split, style=style).group
        yield f"mondrian {mode} {split}", *_by_group(group, np.arange(len(group)))
    group = local.search(replace(problem, max_suppressed=0, progress=None)).group
    yield "local", *_by_group(group, np.arange(len(group)))


def _by_group(group: Longs, rows: Longs) -> tuple[Longs, Longs]:
    """Return the rows group by group, in the order given within each; and the sizes of the groups."""
    own = group[rows]
    return rows[np.argsort(own, kind="stable")], np.bincount(group)


Report = Callable[[int, int], None]

_SECONDS = 30.0
_HEATS = 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.0
_COOL = 2
_TRIES, _MOST_TRIES = 12, 60
_PACE, _SHARE = 1_500_000, 0.2
_SEARCHED = 20_000
_SOLVED, _MOST_SOLVED, _FEW = 80, 600, 2_500
_WHOLE, _ASSIGNED, _GIVING, _MOST_ANEW = 1_200, 400, 100, 3_000_000
_FIRST, _WORTH = 1 / 3, 2e-3
_ENOUGH, _SMALL = 1e-4, 1e-9


def search(
    problem: Problem,
    *,
    form: Form = "taxonomy",
    style: Style = "auto",
    order: Order = "best",
    seconds: float = _SECONDS,
    seed: int | None = None,
) -> Freeform:
    """Return a graph that loses no more than the best of the groupings tried; no row is left out.

    `order` is that of the groupings in one dimension, `seconds` the time for improving on them, after which the best is
    taken that has been found until then. `seed` is for tests.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["1", "9", "2", "8"], Hierarchy.flat(["1", "2", "8", "9"]))})
    >>> found = search(Problem(table, (KAnonymity(2),)))
    >>> sorted(found.recoded(table)[0].rows())
    [('["1","2"]',), ('["1","2"]',), ('["8","9"]',), ('["8","9"]',)]
    """
    if not seconds >= 0:
        raise UsageError("the seconds must be a number from 0")
    k = requested_freeform_k("freeform", problem)
    table = problem.table
    prices = prices_of(table, form, style)
    if not len(table):
        return Freeform("freeform", problem.models, Graph(np.empty((0, k), np.int32)), np.zeros(0, np.int32))
    edges, counts = best_start(problem, k, prices, form=form, style=style, order=order)
    before = float(tuple_costs(prices, edges).sum())
    begun = time.monotonic()
    by_hungarian = _hungarian(replace(problem, progress=None), prices, k, form, style, begun + _FIRST * seconds)
    begun_anew = by_hungarian is not None and float(tuple_costs(prices, by_hungarian).sum()) < before
    edges = by_hungarian if by_hungarian is not None and begun_anew else edges
    edges, _, rounds = exchanged(prices, edges, seconds, problem.report_progress, begun, is_new=begun_anew)
    counts |= rounds | {"begun_by_hungarian": begun_anew}
    graph = Graph(edges)
    whole = len(table) * len(table.quasi)
    counts |= {"start_gcp": before / whole, "gcp": graph.gcp(prices)}
    return Freeform("freeform", problem.models, graph, drawn_originals(graph, Randomness(seed)), counts, style)


def _hungarian(problem: Problem, prices: Prices, k: int, form: Form, style: Style, end: float) -> Ints | None:
    """Return the edges of `freeform-hungarian`, as it is unless told otherwise; None if there is no time for it."""

    def is_over() -> bool:
        return time.monotonic() >= end

    if len(problem.table) * k > _MOST_ANEW or is_over():
        return None
    solve = partial(solved_hungarian, is_over=is_over)
    with suppress(TimeoutError):
        return edges_by_blocks(
            problem, prices, k, solve, form=form, style=style, order="adaptive", block=HUNGARIAN_BLOCK
        )[0]
    return None


def exchanged(
    prices: Prices, edges: Ints, seconds: float, report: Report, begun: float, *, is_new: bool
) -> tuple[Ints, Tuples, dict[str, Any]]:
    """Return edges that cost no more than these, their tuples of classes, and what there is to tell; see `improve`."""
    classes = Classes.of_rows(prices)
    tuples = classes.tuples(prices, edges)
    rounds = improve(tuples, seconds, report, begun, is_new)
    found = for_rows(dealt, len(edges))(tuples.members, classes.starts, classes.rows)
    is_better = float(tuple_costs(prices, found).sum()) < float(tuple_costs(prices, edges).sum())
    return found if is_better else edges, tuples, rounds


def improve(tuples: Tuples, seconds: float, report: Report, begun: float, is_new: bool) -> dict[str, Any]:
    """Improve the tuples in place as long as that pays, or until the time, begun then, is over; return what there is
    to tell.

    How much of the time is gone is told: it may end sooner, when nothing is gained any more. `is_new` says that the
    tuples were made by assignments, so that it would be in vain to begin with these.
    """
    telling = Lock()

    def is_over() -> bool:
        gone = time.monotonic() - begun
        # All threads come here: one at a time tells.
        with telling:
            report(int(1000 * min(gone, seconds)), int(1000 * seconds))
        return gone >= seconds

    rounds = {"giving_rounds": 0, "exchange_rounds": 0, "program_rounds": 0}
    if tuples.members.shape[1] == 1:
        return rounds
    tries = _tries(tuples, seconds)
    shifts = np.random.default_rng(1).random(10_000)
    whole, turn = float(tuples.costs.sum()), 0
    programs, idle = Programs(), 0
    # There is no time to make very many tuples anew. To begin at a heat would be in vain where they are.
    is_anew = tuples.members.size <= _MOST_ANEW
    if is_anew and not is_new:
        whole -= _by_assignments(tuples, is_over)
    while whole > _SMALL and not is_over() and idle < len(tuples.places):
        gained, shift = 0.0, float(shifts[turn])
        if is_anew:
            gained += _by_giving(tuples, turn, shift, is_over)
            rounds["giving_rounds"] += 1
        # Of many tuples others take longer for the same gain.
        if gained < _WORTH * whole and not is_over():
            gained += _by_exchanges(tuples, turn, tries, is_anew or turn > 0, shift, is_over)
            rounds["exchange_rounds"] += 1
            if not is_over():
                gained += _by_programs(programs, tuples, turn, shift, is_over)
                rounds["program_rounds"] += 1
        idle = idle + 1 if gained < _ENOUGH * whole else 0
        whole -= gained
        turn += 1
    return rounds


def _tries(tuples: Tuples, seconds: float) -> int:
    """Return how many exchanges to try at each heat, for every member of a costly tuple, to take a share of the
    time.
    """
    members = int((tuples.costs > _SMALL).sum()) * tuples.members.shape[1] * len(_HEATS)
    return min(max(int(_SHARE * seconds * _PACE * (os.cpu_count() or 1) / max(members, 1)), _TRIES), _MOST_TRIES)


def _by_exchanges(tuples: Tuples, turn: int, tries: int, is_cold: bool, shift: float, is_over: Deadline) -> float:
    """Let tuples exchange members, at some heat unless all is cold; returns what is gained."""
    costs = tuples.costs
    mean = float(costs.sum()) / max(int((costs > _SMALL).sum()), 1)
    # With few tries what great heat makes worse would not be made good again.
    first = _COOL if tries < _MOST_TRIES else 0
    heats = [mean * heat for heat in (_HEATS[-1:] if is_cold else _HEATS[first:])]
    parts = cut_by_count(along(tuples, turn), min(_SEARCHED, -(-len(tuples) // 2)), shift)

    def work(part: Tuples, number: int) -> Ints:
        return by_exchanges(part, heats, tries, turn * len(parts) + number + 1, is_over)

    return improved(tuples, parts, work, is_over)


def _by_assignments(tuples: Tuples, is_over: Deadline) -> float:
    """Make parts of the tuples anew, member by member; return the gain. To do it again would bring nothing more."""
    size = _WHOLE if len(tuples) <= _WHOLE else _ASSIGNED
    parts = _costly(tuples, cut_by_count(along(tuples, 0), size, 0.0))
    return improved(tuples, parts, lambda part, number: by_assignments(part, is_over), is_over)


def _by_giving(tuples: Tuples, turn: int, shift: float, is_over: Deadline) -> float:
    """Let parts of the tuples give all members out again; return the gain."""
    parts = _costly(tuples, cut_by_count(along(tuples, turn), _GIVING, shift))
    return improved(
        tuples, parts, lambda part, number: by_giving(part, turn * len(parts) + number + 1, is_over), is_over
    )


def _costly(tuples: Tuples, parts: list[Longs]) -> list[Longs]:
    """Return the parts that cost anything, those that cost most first."""
    costs = tuples.costs
    return sorted((part for part in parts if costs[part].sum() > _SMALL), key=lambda part: -costs[part].sum())


def _by_programs(programs: Programs, tuples: Tuples, turn: int, shift: float, is_over: Deadline) -> float:
    """Solve parts of the tuples as linear programs, and gives out again what comes of them; returns the gain."""
    # Large parts take long, and bring more: where there are many classes, small ones come first.
    size = _MOST_SOLVED if len(tuples.most) <= _FEW else min(_SOLVED * 2 ** min(turn, 9), _MOST_SOLVED)
    # There may be no time for all.
    parts = _costly(tuples, cut_by_classes(tuples, along(tuples, turn), size, shift))

    def work(part: Tuples, number: int) -> Ints | None:
        return programs.improved(part, turn * len(parts) + number + 1, is_over)

    return improved(tuples, parts, work, is_over)

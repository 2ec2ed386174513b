"""Optimal: the graph with the least NCP of all, by mixed integer programming, for a few dozen rows.

After FREE, §4: a variable says of every pair whether tuple j covers original i; every row and column of them adds up to
k. Every tuple and column has a variable for its NCP. Where values are published as ranges, that is at least how far its
upper end is from its lower one, which are at least and at most the places of all originals covered; where they are
sets, it is a step for each value that is held. Where we differ: a regular graph has a perfect matching, so that tuple j
may be taken to cover original j, whichever is behind it later. This leaves fewer graphs to look at, and makes the cost
of a node linear: the lowest node above several is the highest of those above j and one of the others.

The program is given to HiGHS. It may take any time: after `seconds`, the best graph found so far is taken, or that of
Hungarian or Greedy where these are better, and `gap` says how far it may be from the least, as a share.
"""

from __future__ import annotations

from treeanon.algorithms.table.freeform import greedy, hungarian
from treeanon.algorithms.table.freeform.blocks import Block, Solved, search_blocks
from treeanon.algorithms.table.freeform.program import Program
from treeanon.algorithms.table.freeform.result import Freeform
from treeanon.algorithms.table.options import Style
from treeanon.algorithms.table.problem import Problem
from treeanon.errors import UsageError
from treeanon.kernels.table.freeform_prices import tuple_costs
from treeanon.metrics.table.ncp import Form

MOST_ROWS = 400
_SECONDS = 60.0
_EXACT = 1e-6


def search(
    problem: Problem,
    *,
    form: Form = "taxonomy",
    style: Style = "auto",
    seconds: float = _SECONDS,
    seed: int | None = None,
) -> Freeform:
    """The graph with the least loss, or the best found in so many seconds; no row is left out. `seed` is for tests.

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
        return solved(block, seconds)

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


def solved(block: Block, seconds: float) -> Solved:
    """The best edges found in the time, and how far from the least they may be."""
    known = [hungarian.solved(block)[0], greedy.solved(block)[0]]
    if block.k == 1 or not len(block):
        return known[0], {"gap": 0.0, "is_optimal": True}
    edges, bound = Program(block).solved(seconds)
    known += [] if edges is None else [edges]
    costs = [float(tuple_costs(block.prices, edges).sum()) for edges in known]
    least = min(costs)
    gap = max(least - bound, 0.0) / least if least > 0 else 0.0
    gap = gap if gap > _EXACT else 0.0
    return known[costs.index(least)], {"gap": gap, "is_optimal": gap == 0.0}

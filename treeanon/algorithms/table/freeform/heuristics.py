"""Greedy, Hungarian and rings: freeform searches that need not find the best, for tables of any size.

After K. Doka, M. Xue, D. Tsoumakos and P. Karras, "k-anonymization by freeform generalization" (ASIA CCS 2015).

Greedy, Algorithm 1: in each of k - 1 rounds every tuple is generalized to one more original, that which costs it least.
Tuples come in the order of their values, columns with few values first; in a round, each takes from the originals that
are left the one by which its NCP grows least, and never one that it covers already. At the end of a round, a tuple may
be left with nothing but such: a dead end. Then it takes that of a tuple before it, which takes what is left: the lemma
says that one of the 2r last can be found so in round r, if there are 3r tuples. Where there are fewer, the tuples pass
originals on in a chain; there always is one.

Where we differ: in the paper originals take tuples, each original in its order the free tuple that grows least by it,
and at a dead end it is gone back to the first original before whose tuple does not cover this one, and which takes a
free tuple instead. That is `by="original"`; by default tuples take originals, which loses less, and meets more dead
ends. Rows that are alike are looked at once, and of several originals that cost the same any one is taken. Tables of
many rows are cut into blocks.

SortGreedy: in each of k - 1 rounds the edges are taken in the order of what they cost.

The companion of Greedy in the same paper: in a round, an edge is taken if neither its tuple nor its original has one
yet. Where we differ: the edges of a round are not all sorted, which takes room for n² of them. A heap has the cheapest
edge of each tuple instead, which is looked for anew when another tuple took it: that takes the same edges in the same
order.

Hungarian: in each round every tuple is given one more original by an optimal assignment, in O(kn³). The cost of an
assignment is by how much the NCP of all tuples grows. Each round is optimal, all of them together need not be. Where we
differ: tables of many rows are cut into blocks.

Rings: every tuple covers a row and the k - 1 after it, in an order in which rows that are alike lie side by side.
`ring` makes one ring of all rows along a Hilbert curve: the graph does not depend on the data but by the order. The
last k - 1 tuples pay for that, as the first rows come after the last. `freeform-nh` is a baseline in the manner of
"Non-homogeneous generalization in privacy preserving data publishing" (W. K. Wong, N. Mamoulis and D. W. Cheung, ACM
SIGMOD 2010): the order is first cut into groups of at least k at the least loss, and every group has a ring. It never
costs more than the groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from treeanon.algorithms.table.freeform.graph import (
    Block,
    Freeform,
    Graph,
    Solved,
    drawn_originals,
    prices_of,
    requested_freeform_k,
    rings,
    search_blocks,
)
from treeanon.algorithms.table.onedim.costs import best_cuts, ncp_costs, table_costs
from treeanon.algorithms.table.onedim.orders import Order, ordered
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import Style
from treeanon.arrays import Longs
from treeanon.kernels.jit import for_rows
from treeanon.kernels.table.exchange_walk import HARD, fill_offers
from treeanon.kernels.table.freeform_originals import original_rounds
from treeanon.kernels.table.freeform_rounds import all_free, greedy_rounds, sorted_rounds
from treeanon.metrics.table.ncp import Form
from treeanon.randomness import Randomness

By = Literal["tuple", "original"]

_BLOCK, _SORTED_BLOCK = 20_000, 10_000


def greedy(
    problem: Problem,
    *,
    form: Form = "taxonomy",
    style: Style = "auto",
    order: Order = "adaptive",
    by: By = "tuple",
    block: int = _BLOCK,
    seed: int | None = None,
) -> Freeform:
    """Return a graph found greedily; no row is left out. `order` says how rows become blocks, `by` who takes whom,
    `seed` is for tests.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["1", "9", "2", "8"], Hierarchy.flat(["1", "2", "8", "9"]))})
    >>> found = greedy(Problem(table, (KAnonymity(2),)))
    >>> sorted(found.recoded(table)[0].rows())
    [('["1","2"]',), ('["1","2"]',), ('["8","9"]',), ('["8","9"]',)]
    """
    solve = solved_by_originals if by == "original" else solved_greedily
    return search_blocks("freeform-greedy", problem, solve, form=form, style=style, order=order, block=block, seed=seed)


def solved_greedily(block: Block) -> Solved:
    """Return the edges of a block's tuples."""
    edges, counts = block.begun(), np.zeros(3, np.int64)
    free = for_rows(all_free, len(block))(block.classes, block.prices.cells)
    for_rows(greedy_rounds, len(block))(block.prices, free, np.arange(len(block)), edges, counts)
    return edges, dead_ends(counts)


def solved_by_originals(block: Block) -> Solved:
    """Return the edges of a block's tuples, as its originals take them."""
    edges, counts = block.begun(), np.zeros(3, np.int64)
    original_rounds(block.prices, edges, counts)
    return edges, dead_ends(counts)


def dead_ends(counts: Longs) -> dict[str, Any]:
    """Return what there is to tell of dead ends: how many there were, how far it was gone back, how many took a
    chain.
    """
    return dict(zip(("dead_ends", "gone_back", "chains"), counts.tolist(), strict=True))


def greedy_sorted(
    problem: Problem,
    *,
    form: Form = "taxonomy",
    style: Style = "auto",
    order: Order = "adaptive",
    block: int = _SORTED_BLOCK,
    seed: int | None = None,
) -> Freeform:
    """Return a graph of cheap edges; no row is left out. `order` says how rows become blocks, `seed` is for tests."""
    return search_blocks(
        "freeform-sort", problem, solved_sorted, form=form, style=style, order=order, block=block, seed=seed
    )


def solved_sorted(block: Block) -> Solved:
    """Return the edges of a block's tuples by SortGreedy."""
    edges, counts = block.begun(), np.zeros(3, np.int64)
    free = all_free(block.classes, block.prices.cells)
    sorted_rounds(block.prices, free, edges, counts)
    return edges, dead_ends(counts)


HUNGARIAN_BLOCK = 1_000


def hungarian(
    problem: Problem,
    *,
    form: Form = "taxonomy",
    style: Style = "auto",
    order: Order = "adaptive",
    block: int = HUNGARIAN_BLOCK,
    seed: int | None = None,
) -> Freeform:
    """Return a graph of k - 1 best assignments; no row is left out. `order` says how rows become blocks, `seed` is for
    tests.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["1", "9", "2", "8"], Hierarchy.flat(["1", "2", "8", "9"]))})
    >>> round(hungarian(Problem(table, (KAnonymity(2),)), form="set").counts["gcp"], 3)
    0.333
    """
    return search_blocks(
        "freeform-hungarian", problem, solved_hungarian, form=form, style=style, order=order, block=block, seed=seed
    )


def solved_hungarian(block: Block, is_over: Callable[[], bool] = lambda: False) -> Solved:
    """Return the edges of a block's tuples; TimeoutError when the time is over before."""
    from scipy.optimize import linear_sum_assignment

    edges = block.begun()
    once, all_rows, costs = np.ones(len(block), np.int32), np.arange(len(block)), np.empty((len(block), len(block)))
    for number in range(1, block.k):
        if is_over():
            raise TimeoutError
        edges[:, number] = all_rows
        given = np.full(len(block), number)
        # No tuple is given what it covers, as there is a way without.
        fill_offers(block.prices, np.ascontiguousarray(edges[:, : number + 1]), given, once, HARD, costs)
        edges[:, number] = linear_sum_assignment(costs)[1]
    return edges, {}


def ring(
    problem: Problem,
    *,
    form: Form = "taxonomy",
    style: Style = "auto",
    order: Order = "hilbert",
    grouped: bool = False,
    seed: int | None = None,
) -> Freeform:
    """Return a ring of all rows, or one of each group; no row is left out. `seed` is for tests.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["1", "9", "2", "8"], Hierarchy.flat(["1", "2", "8", "9"]))})
    >>> problem = Problem(table, (KAnonymity(2),))
    >>> [round(ring(problem, form="set", grouped=grouped).counts["gcp"], 3) for grouped in (False, True)]
    [0.333, 0.333]
    """
    table, name = problem.table, "freeform-nh" if grouped else "ring"
    k = requested_freeform_k(name, problem)
    rows = ordered(table, order, k=k, form=form, style=style).rows
    sizes = np.array([len(table)], np.int64)
    if grouped and len(table):
        sizes = _cut(best_cuts(ncp_costs(table_costs(table, form, style), rows), len(rows), k)[1])
    graph = Graph(rings(rows, sizes, k))
    counts = {"groups": len(sizes), "gcp": graph.gcp(prices_of(table, form, style))}
    original = drawn_originals(graph, Randomness(seed))
    return Freeform(name, problem.models, graph, original, counts, style)


def _cut(size: Longs) -> Longs:
    """Return the sizes of all groups, where size[j] is that of the last group of the first j rows."""
    found, stop = [], len(size) - 1
    while stop > 0:
        found.append(int(size[stop]))
        stop -= found[-1]
    return np.array(found[::-1], np.int64)

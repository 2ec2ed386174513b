"""Greedy: in each of k - 1 rounds every tuple is generalized to one more original, that which costs it least.

After K. Doka, M. Xue, D. Tsoumakos and P. Karras, "k-anonymization by freeform generalization" (ASIA CCS 2015),
Algorithm 1. Tuples come in the order of their values, columns with few values first; in a round, each takes from the
originals that are left the one by which its NCP grows least, and never one that it covers already. At the end of a
round, a tuple may be left with nothing but such: a dead end. Then it takes that of a tuple before it, which takes what
is left: the lemma says that one of the 2r last can be found so in round r, if there are 3r tuples. Where there are
fewer, the tuples pass originals on in a chain; there always is one.

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
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from treeanon.algorithms.table.freeform.graph import Block, Freeform, Solved, search_blocks
from treeanon.algorithms.table.onedim.orders import Order
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import Style
from treeanon.arrays import Longs
from treeanon.kernels.table.freeform_originals import original_rounds
from treeanon.kernels.table.freeform_rounds import all_free, greedy_rounds, sorted_rounds
from treeanon.metrics.table.ncp import Form

By = Literal["tuple", "original"]

_BLOCK, _SORTED_BLOCK = 20_000, 10_000


def search(
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
    >>> found = search(Problem(table, (KAnonymity(2),)))
    >>> sorted(found.recoded(table)[0].rows())
    [('["1","2"]',), ('["1","2"]',), ('["8","9"]',), ('["8","9"]',)]
    """
    solve = solved_by_originals if by == "original" else solved
    return search_blocks("freeform-greedy", problem, solve, form=form, style=style, order=order, block=block, seed=seed)


def solved(block: Block) -> Solved:
    """Return the edges of a block's tuples."""
    edges, counts = block.begun(), np.zeros(3, np.int64)
    free = all_free(block.classes, block.prices.cells)
    greedy_rounds(block.prices, free, np.arange(len(block)), edges, counts)
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


def search_sorted(
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

"""SortGreedy: in each of k - 1 rounds the edges are taken in the order of what they cost.

The companion of Greedy in FREE: in a round, an edge is taken if neither its tuple nor its original has one yet. Where
we differ: the edges of a round are not all sorted, which takes room for n² of them. A heap has the cheapest edge of
each tuple instead, which is looked for anew when another tuple took it: that takes the same edges in the same order.
"""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.table.freeform.blocks import Block, Solved, search_blocks
from treeanon.algorithms.table.freeform.greedy import dead_ends
from treeanon.algorithms.table.freeform.result import Freeform
from treeanon.algorithms.table.onedim.orders import Order
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import Style
from treeanon.kernels.table.freeform_rounds import all_free, sorted_rounds
from treeanon.metrics.table.ncp import Form

_BLOCK = 10_000


def search(
    problem: Problem,
    *,
    form: Form = "taxonomy",
    style: Style = "auto",
    order: Order = "adaptive",
    block: int = _BLOCK,
    seed: int | None = None,
) -> Freeform:
    """A graph of cheap edges; no row is left out. `order` says how rows become blocks, `seed` is for tests."""
    return search_blocks("freeform-sort", problem, solved, form=form, style=style, order=order, block=block, seed=seed)


def solved(block: Block) -> Solved:
    """The edges of a block's tuples."""
    edges, counts = block.begun(), np.zeros(3, np.int64)
    free = all_free(block.classes, block.prices.cells)
    sorted_rounds(block.prices, free, edges, counts)
    return edges, dead_ends(counts)

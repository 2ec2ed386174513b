"""Hungarian: in each of k - 1 rounds every tuple is given one more original by an optimal assignment.

After K. Doka, M. Xue, D. Tsoumakos and P. Karras, "k-anonymization by freeform generalization" (ASIA CCS 2015), in
O(kn³): the cost of an assignment is by how much the NCP of all tuples grows. Each round is optimal, all of them
together need not be. Where we differ: tables of many rows are cut into blocks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from treeanon.algorithms.table.freeform.graph import Block, Freeform, Solved, search_blocks
from treeanon.algorithms.table.onedim.orders import Order
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import Style
from treeanon.kernels.table.freeform_rounds import step_matrix
from treeanon.metrics.table.ncp import Form

BLOCK = 1_000


def search(
    problem: Problem,
    *,
    form: Form = "taxonomy",
    style: Style = "auto",
    order: Order = "adaptive",
    block: int = BLOCK,
    seed: int | None = None,
) -> Freeform:
    """Return a graph of k - 1 best assignments; no row is left out. `order` says how rows become blocks, `seed` is for
    tests.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["1", "9", "2", "8"], Hierarchy.flat(["1", "2", "8", "9"]))})
    >>> round(search(Problem(table, (KAnonymity(2),)), form="set").counts["gcp"], 3)
    0.333
    """
    return search_blocks(
        "freeform-hungarian", problem, solved, form=form, style=style, order=order, block=block, seed=seed
    )


def solved(block: Block, is_over: Callable[[], bool] = lambda: False) -> Solved:
    """Return the edges of a block's tuples; TimeoutError when the time is over before."""
    from scipy.optimize import linear_sum_assignment

    edges = block.begun()
    # More than all tuples together can grow in a round: none is given what it covers, as there is a way without.
    forbidden = 2.0 * len(block.prices.kinds) * len(block) + 1.0
    costs = np.empty((len(block), len(block)))
    for number in range(1, block.k):
        if is_over():
            raise TimeoutError
        step_matrix(block.prices, edges, number, forbidden, costs)
        edges[:, number] = linear_sum_assignment(costs)[1]
    return edges, {}

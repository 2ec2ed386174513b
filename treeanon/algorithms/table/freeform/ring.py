"""Rings: every tuple covers a row and the k - 1 after it, in an order in which rows that are alike lie side by side.

`ring` makes one ring of all rows along a Hilbert curve: the graph does not depend on the data but by the order. The
last k - 1 tuples pay for that, as the first rows come after the last. `freeform-nh` is a baseline in the manner of
"Non-homogeneous generalization in privacy preserving data publishing" (W. K. Wong, N. Mamoulis and D. W. Cheung, ACM
SIGMOD 2010): the order is first cut into groups of at least k at the least loss, and every group has a ring. It never
costs more than the groups.
"""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.table.freeform.graph import (
    Freeform,
    Graph,
    drawn_originals,
    prices_of,
    requested_freeform_k,
    rings,
)
from treeanon.algorithms.table.onedim.costs import best_cuts, ncp_costs, table_costs
from treeanon.algorithms.table.onedim.orders import Order, ordered
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import Style
from treeanon.arrays import Longs
from treeanon.metrics.table.ncp import Form
from treeanon.randomness import Randomness


def search(
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
    >>> [round(search(problem, form="set", grouped=grouped).counts["gcp"], 3) for grouped in (False, True)]
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

"""k-anonymity in one dimension: rows in an order, cut into groups of k to 2k - 1 where that loses least.

After G. Ghinita, P. Karras, P. Kalnis and N. Mamoulis, "A framework for efficient data anonymization under privacy and
accuracy constraints" (ACM TODS 34(2), 2009), Sections 3 and 4: the quasi columns are mapped to one dimension, and
dynamic programming finds the best of all partitions into groups of rows that follow each other, in time O(kN). Losses
are the NCP of what is published. It is the best of that order, not of all partitions: even of one column of numbers the
best can have a group within the range of another (0, 1, 1, 1, 2 with k = 2: the two ends together lose less). `fast`
takes how far it is along the order from the first row of a group to its last instead.

That is for k-anonymity alone, and one row a person. Anything else is for `any_model`, along the same orders.

Where we differ: see `orders` for more orders; values may be published as ranges and sets, and then cost what these do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeanon.algorithms.table.onedim.any_model import Line, grouped
from treeanon.algorithms.table.onedim.costs import Costs, best_cuts, extent_costs, ncp_costs, table_costs
from treeanon.algorithms.table.onedim.l_diversity import swapped
from treeanon.algorithms.table.onedim.orders import Order, ordered
from treeanon.algorithms.table.problem import Problem, requested_k
from treeanon.algorithms.table.registry import Style
from treeanon.algorithms.table.result import Partition
from treeanon.arrays import Longs
from treeanon.errors import UsageError
from treeanon.kernels.jit import for_rows
from treeanon.kernels.table.onedim import cut_groups
from treeanon.metrics.table.ncp import Form
from treeanon.privacy.models.model import asks_for_size


def search(
    problem: Problem,
    *,
    order: Order = "best",
    form: Form = "taxonomy",
    style: Style = "auto",
    fast: bool = False,
    columns: str | Sequence[str] | None = None,
    bits: int | None = None,
    centers: int | None = None,
    look_back: int = 0,
) -> Partition:
    """Return the best partition of an order of the rows; no row is left out. See `ordered` for what the options say of
    orders. With `look_back` rows of each group are then swapped with rows of so many groups before it, where that
    loses less. That and `fast` are for k-anonymity alone, with one row a person.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import KAnonymity
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["1", "9", "2", "8"], Hierarchy.flat(["1", "2", "8", "9"]))})
    >>> search(Problem(table, (KAnonymity(2),))).group.tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])
    True
    """
    name = (order if order in ("hilbert", "idistance") else "onedim") + ("-fast" if fast else "")
    if not (all(map(asks_for_size, problem.models)) and problem.table.persons == len(problem.table)):
        if fast or look_back:
            what = name if fast else "look_back"
            raise UsageError(f"{what} is for k-anonymity alone, and one row a person; leave it out for other models")
        how = {"bits": bits, "centers": centers}
        return grouped(problem, name, order=order, form=form, style=style, columns=columns, **how)
    k = requested_k(problem, "1-D")
    found = ordered(problem.table, order, k=k, form=form, style=style, columns=columns, bits=bits, centers=centers)
    costs = extent_costs(found.places) if fast else ncp_costs(table_costs(problem.table, form, style), found.rows)
    loss, size = best_cuts(costs, len(found.rows), k)
    group, groups = for_rows(cut_groups, len(found.rows))(found.rows, size)
    counts: dict[str, str | float] = {"order": found.name, "groups": groups}
    if look_back:
        group, loss, counts["swaps"] = _swapped(problem, found.rows, group, look_back, form, style)
    if not fast:
        counts["gcp"] = loss / max(len(found.rows) * len(problem.table.quasi), 1)
    return Partition(name, problem.models, group, 0, counts, style)


def _swapped(
    problem: Problem, rows: Longs, group: Longs, look_back: int, form: Form, style: Style
) -> tuple[Longs, float, int]:
    """Return the groups after rows were swapped between near ones, what all rows then lose, and how often that was."""
    costs = Costs.of(problem.table, rows, form, style)
    # No two rows have one value, so that any may change places.
    line = Line(rows, np.arange(len(rows), dtype=np.int32), len(rows), costs)
    numbers = np.unique(group[rows], return_inverse=True)[1].astype(np.int32)
    swapped_groups, swaps = swapped(line, numbers, look_back, 1)
    return line.by_row(swapped_groups), costs.gcp(swapped_groups) * max(costs.cells.size, 1), swaps

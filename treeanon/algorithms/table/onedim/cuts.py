"""The best way to cut an order of rows into groups of k to 2k - 1, by dynamic programming.

After 1D (Ghinita et al., TODS 2009, §4): some best cut has no group of 2k rows or more, for its halves cost no more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from treeanon.algorithms.table.onedim.costs import ColumnCosts
from treeanon.algorithms.table.onedim.points import Floats
from treeanon.kernels.table.onedim import add_extent_costs, extend_cuts
from treeanon.kernels.tree.forest import Longs

_CELLS = 1 << 21
_SAMPLED, _PART, _GROUPS = 1 << 25, 512, 6

GroupCosts = Callable[[int, int, int], Floats]
"""The costs of groups by (k, first, last): those that begin at rows from `first` to before `last`, of k to 2k - 1."""


def best_cuts(costs: GroupCosts, rows: int, k: int) -> tuple[float, Longs]:
    """The least cost of a cut, and for every j the size of the last group of the best cut of the first j rows.

    The cost of a group counts for each of its rows. There are k rows at least, or none.
    """
    best = np.full(rows + 1, np.inf)
    best[0] = 0.0
    size = np.zeros(rows + 1, np.int64)
    step = max(_CELLS // k, 1)
    starts = range(0, max(rows - k + 1, 0), step)

    def block(start: int) -> Floats:
        return costs(k, start, min(start + step, rows - k + 1))

    for start, found in zip(starts, _few_ahead(block, starts), strict=True):
        extend_cuts(found, k, start, best, size)
    return float(best[-1]), size


def _few_ahead(task: Callable[[int], Floats], starts: range) -> Iterator[Floats]:
    """What the task makes of each start, on all cores, as many at a time as there are: each takes much room."""
    jobs = os.cpu_count() or 1
    if len(starts) < 2:
        yield from map(task, starts)
        return
    with ThreadPoolExecutor(jobs) as pool:
        for wave in range(0, len(starts), jobs):
            yield from pool.map(task, starts[wave : wave + jobs])


def ncp_costs(columns: list[ColumnCosts], rows: Longs) -> GroupCosts:
    """The NCP of groups in this order of rows, added up over the columns."""
    held = [(np.ascontiguousarray(column.values[rows]), column.add) for column in columns]

    def costs(k: int, first: int, last: int) -> Floats:
        out = np.zeros((last - first, k))
        for values, add in held:
            add(values, k, first, out)
        return out

    return costs


def extent_costs(places: Floats) -> GroupCosts:
    """How far it is in the order from the first row of a group to its last."""

    def costs(k: int, first: int, last: int) -> Floats:
        out = np.zeros((last - first, k))
        add_extent_costs(places, k, first, out)
        return out

    return costs


def sampled_loss(columns: list[ColumnCosts], rows: Longs, k: int) -> float:
    """What a row is expected to lose by the best cut of an order: the NCP of all columns.

    Where there are many rows, short parts of the order are looked at: samples of rows would lie less close.
    """
    length = max(_GROUPS * k, _PART)
    parts = _SAMPLED // (k * length)
    if max(parts, 1) * length >= len(rows):
        parts, length = 1, len(rows)
    starts = np.linspace(0, len(rows) - length, max(parts, 1)).astype(np.int64).tolist()
    found = [best_cuts(ncp_costs(columns, rows[start : start + length]), length, k)[0] for start in starts]
    return sum(found) / max(length * len(starts), 1)

"""The best way to cut an order of rows into groups of k to 2k - 1, by dynamic programming.

After 1D (Ghinita et al., TODS 2009, §4): some best cut has no group of 2k rows or more, for its halves cost no more.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from treeanon.algorithms.flat.onedim.costs import ColumnCosts
from treeanon.algorithms.flat.onedim.points import Floats
from treeanon.kernels.onedim import add_extent_costs, extend_cuts
from treeanon.kernels.trees import Longs

_CELLS = 1 << 21
_SAMPLED, _WINDOW = 1 << 22, 40

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
    jobs = (os.cpu_count() or 1) if len(starts) > 1 else 1
    with ThreadPoolExecutor(jobs) as pool:
        for wave in range(0, len(starts), jobs):
            # Blocks are cut when they come, so that few of them take room at a time.
            blocks = starts[wave : wave + jobs]
            found = pool.map(lambda start: costs(k, start, min(start + step, rows - k + 1)), blocks)
            for start, block in zip(blocks, found, strict=True):
                extend_cuts(block, k, start, best, size)
    return float(best[-1]), size


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

    Where there are many rows, parts of the order are looked at: samples of rows would lie less close.
    """
    count = min(len(rows), max(_SAMPLED // k, _WINDOW * k))
    if count < k:
        return 0.0
    windows = 1 if count == len(rows) else count // (_WINDOW * k)
    length = count // windows
    starts = np.linspace(0, len(rows) - length, windows).astype(np.int64)
    found = [best_cuts(ncp_costs(columns, rows[start : start + length]), length, k)[0] for start in starts.tolist()]
    return sum(found) / (length * windows)

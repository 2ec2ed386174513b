"""How much mass has to move, and how far, to make a group's values be distributed as the whole's.

All is counted in units of one person of a group and one of the whole, so numbers are whole ones; or doubles throughout,
where those would be too large.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints, Longs
from treeanon.kernels.jit import njit

Numbers = npt.NDArray[Any]

_SMALL = 24


@njit
def add_over_edges(
    starts: Longs,
    values: Ints,
    counts: Longs,
    above: Longs,
    length: Longs,
    there: Numbers,
    persons: Numbers,
    everybody: Numbers,
    far: Numbers,
) -> None:
    """Adds, for each group, what goes over the edges of one depth of a tree, times their lengths.

    `above` is the node at that depth for each value, such that values below one node lie side by side; `there` is what
    the whole has below each node. Of the nodes that a group has nothing below, all the whole's goes over the edge: this
    is taken to be in `far` for every node already.
    """
    for group in range(len(starts) - 1):
        here = persons[group]
        at = starts[group]
        while at < starts[group + 1]:
            node = above[values[at]]
            own = counts[at]
            at += 1
            while at < starts[group + 1] and above[values[at]] == node:
                own += counts[at]
                at += 1
            if length[node]:
                without = there[node] * here
                far[group] += (abs(own * everybody[0] - without) - without) * length[node]


@njit
def _in_order(at: Longs, begin: int, end: int, order: Longs) -> None:
    """Write which of the places from begin to end come first, second, …"""
    if end - begin > _SMALL:
        order[: end - begin] = np.argsort(at[begin:end]) + begin
        return
    for i in range(begin, end):
        j = i - begin
        while j > 0 and at[order[j - 1]] > at[i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i


@njit
def add_over_gaps(
    starts: Longs,
    at: Longs,
    counts: Longs,
    seen: Numbers,
    sums: Numbers,
    persons: Numbers,
    everybody: Numbers,
    far: Numbers,
) -> None:
    """Adds, for each group, what goes over all the gaps between places in a row; `at` is where its values are.

    `seen` is what the whole has before each gap, `sums` what that is for all gaps before. Between two values of a group
    what it has seen stays, and what the whole has seen only grows: so the gaps where that is less come first.
    """
    largest = 0
    for group in range(len(starts) - 1):
        largest = max(largest, starts[group + 1] - starts[group])
    order = np.empty(largest, np.int64)
    for group in range(len(starts) - 1):
        several = starts[group + 1] - starts[group]
        _in_order(at, starts[group], starts[group + 1], order)
        here = persons[group]
        own = np.int64(0)
        gap = np.int64(0)
        for i in range(several + 1):
            until = at[order[i]] if i < several else np.int64(len(seen))
            mass = own * everybody[0]
            low, high = gap, until
            while low < high:
                middle = (low + high) // 2
                if seen[middle] * here <= mass:
                    low = middle + 1
                else:
                    high = middle
            far[group] += (low - gap) * mass - here * (sums[low] - sums[gap])
            far[group] += here * (sums[until] - sums[low]) - (until - low) * mass
            gap = until
            if i < several:
                own += counts[order[i]]

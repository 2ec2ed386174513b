"""Counting, part of the records after part, how many persons hold two labels, and one above the other.

A node can stand for two labels at once: the one that it is published as, and a finer one that it might be.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.kernels.jit import njit
from treeanon.kernels.tree.forest import Ints, Longs

Counts = npt.NDArray[np.int32]


@njit
def count_pairs(offsets: Longs, parent: Ints, coarse: Ints, fine: Ints, shared: Counts, related: Counts) -> None:
    """Adds the pairs of some records: shared[x, y] and related[x, y] for x < y, and the holders of x at shared[x, x].

    `coarse` and `fine` have a slot for every node, or -1; slots are places in the tables.
    """
    slots = len(shared)
    seen = np.full(slots, -1, np.int64)
    held = np.empty(slots, np.int32)
    keys = np.empty(1024, np.int64)
    for r in range(len(offsets) - 1):
        base, many, pairs = offsets[r], 0, 0
        for i in range(base, offsets[r + 1]):
            for x in (coarse[i], fine[i]):
                if x < 0:
                    continue
                if seen[x] != r:
                    seen[x] = r
                    held[many] = x
                    many += 1
                up = parent[i]
                while up >= 0:
                    for y in (coarse[base + up], fine[base + up]):
                        if y >= 0 and y != x:
                            if pairs == len(keys):
                                grown = np.empty(2 * pairs, np.int64)
                                grown[:pairs] = keys
                                keys = grown
                            keys[pairs] = np.int64(min(x, y)) * slots + max(x, y)
                            pairs += 1
                    up = parent[base + up]
        for i in range(many):
            shared[held[i], held[i]] += 1
            for j in range(i):
                shared[min(held[i], held[j]), max(held[i], held[j])] += 1
        found = np.sort(keys[:pairs])
        for i in range(pairs):
            if i == 0 or found[i] != found[i - 1]:
                related[found[i] // slots, found[i] % slots] += 1

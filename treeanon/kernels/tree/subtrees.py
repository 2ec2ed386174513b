"""Loops that count in how many records sets of root paths are found together.

A record is a bit: the records of path q are the bits of `bits[q]`.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Ints, Longs, Words
from treeanon.kernels.jit import njit
from treeanon.kernels.tree.record_sets import ones


@njit
def path_bits(record: Longs, path: Ints, paths: int, words: int) -> Words:
    """Return the records of every path, from the record and the path of single nodes."""
    bits = np.zeros((paths, words), np.uint64)
    for i in range(len(record)):
        bits[path[i], record[i] >> 6] |= np.uint64(1) << np.uint64(record[i] & 63)
    return bits


@njit
def reaching_bits(offsets: Longs, parent: Ints, label: Ints, reach: Ints, level: int, path: Ints, paths: int) -> Words:
    """Return the records that show every path of a level if labels are generalized.

    A label is told exactly down to the level reach[label] (-1: not at all), so that a node shows its path if all labels
    from the root to it are told down to that level.
    """
    bits = np.zeros((paths, (len(offsets) + 62) // 64), np.uint64)
    for r in range(len(offsets) - 1):
        base = offsets[r]
        word = r >> 6
        bit = np.uint64(1) << np.uint64(r & 63)
        for i in range(base, offsets[r + 1]):
            if path[i] < 0 or reach[label[i]] < level:
                continue
            above = parent[i]
            while above >= 0 and reach[label[base + above]] >= level:
                above = parent[base + above]
            if above < 0:
                bits[path[i], word] |= bit
    return bits


@njit
def count_supported(starts: Longs, paths: Ints, bits: Words, need: int) -> int:
    """Return how many of some sets of paths enough records hold.

    The sets are in order: what a set has in common with the beginning of the one before is not intersected again.
    """
    found = 0
    deepest = 0
    for t in range(len(starts) - 1):
        deepest = max(deepest, starts[t + 1] - starts[t])
    words = bits.shape[1]
    together = np.zeros((deepest + 1, words), np.uint64)
    counts = np.zeros(deepest + 1, np.int64)
    for w in range(words):
        together[0, w] = ~np.uint64(0)
    counts[0] = 64 * words
    before = 0
    same = 0
    for t in range(len(starts) - 1):
        lo = starts[t]
        size = starts[t + 1] - lo
        same = 0
        while same < before and same < size and paths[starts[t - 1] + same] == paths[lo + same]:
            same += 1
        for i in range(same, size):
            counts[i + 1] = 0
            # What too few hold already, no longer set has more of.
            if counts[i] >= need:
                for w in range(words):
                    both = together[i, w] & bits[paths[lo + i], w]
                    together[i + 1, w] = both
                    counts[i + 1] += ones(both)
        before = size
        if counts[size] >= need:
            found += 1
    return found

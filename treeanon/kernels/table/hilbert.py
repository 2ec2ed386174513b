"""The place of points on a Hilbert curve, in any number of dimensions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.kernels.jit import njit
from treeanon.kernels.tree.forest import Ints, Longs

Words = npt.NDArray[np.uint64]

WORD = 64


@njit
def hilbert_words(points: Ints, sizes: Longs, bits: int, out: Words) -> None:
    """Writes the place of every point on the curve that fills a cube of 2^bits cells a side, most significant word
    first; a place has bits · columns bits, the words before the last are full.

    Column c has coordinates 0 to sizes[c] - 1, which are scaled to the cube. After Skilling, "Programming the Hilbert
    curve" (2004): the axes are turned into the curve's place with its bits dealt out to the axes in turn.
    """
    rows, columns = points.shape
    axes = np.empty(columns, np.uint64)
    one = np.uint64(1)
    for r in range(rows):
        for c in range(columns):
            axes[c] = np.uint64((np.int64(points[r, c]) << bits) // sizes[c])
        for level in range(bits - 1, 0, -1):
            high = one << np.uint64(level)
            low = high - one
            for c in range(columns):
                if axes[c] & high:
                    axes[0] ^= low
                else:
                    changed = (axes[0] ^ axes[c]) & low
                    axes[0] ^= changed
                    axes[c] ^= changed
        for c in range(1, columns):
            axes[c] ^= axes[c - 1]
        turned = np.uint64(0)
        for level in range(bits - 1, 0, -1):
            if axes[columns - 1] >> np.uint64(level) & one:
                turned ^= (one << np.uint64(level)) - one
        word, filled, at = np.uint64(0), 0, 0
        for level in range(bits - 1, -1, -1):
            for c in range(columns):
                word = word << one | (axes[c] ^ turned) >> np.uint64(level) & one
                filled += 1
                if filled == WORD:
                    out[r, at] = word
                    word, filled, at = np.uint64(0), 0, at + 1
        if filled:
            out[r, at] = word

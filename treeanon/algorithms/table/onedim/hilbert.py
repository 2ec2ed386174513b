"""Rows by their place on a Hilbert curve through all quasi columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.algorithms.table.onedim.points import Floats, Points, in_blocks, sorted_rows, tuple_keys
from treeanon.errors import UsageError
from treeanon.kernels.table.hilbert import WORD, Words, hilbert_words
from treeanon.kernels.tree.forest import Longs

MOST_BITS = 31


def hilbert_order(points: Points, bits: int | None = None) -> tuple[Longs, Floats]:
    """The rows in the order of the curve, and how far along it each of them is, from 0 to 1.

    The curve fills a cube of 2^bits cells a side, to which every column is scaled; unless told otherwise, it has a cell
    for every tuple. Rows of one cell are sorted by their values.

    >>> square = Points(np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.int32), np.array([2, 2]))
    >>> [found.tolist() for found in hilbert_order(square)]
    [[0, 3, 2, 1], [0.0, 0.25, 0.5, 0.75]]
    """
    enough = max(int(points.sizes.max(initial=1) - 1).bit_length(), 1)
    bits = enough if bits is None else bits
    if not 1 <= bits <= MOST_BITS:
        raise UsageError(f"a Hilbert curve has from 1 to {MOST_BITS} bits a column")
    words = curve_places(points, bits)
    keys: list[npt.NDArray[np.generic]] = list(words.T.copy())
    if bits < enough:
        keys += tuple_keys(points, np.arange(len(points.sizes)))
    rows = sorted_rows(keys)
    return rows, _shares(words, bits * len(points.sizes))[rows]


def curve_places(points: Points, bits: int) -> Words:
    """The place of every row on the curve as words, the most significant first."""
    words = np.zeros((len(points), -(-bits * len(points.sizes) // WORD)), np.uint64)

    def task(block: slice) -> None:
        hilbert_words(points.points[block], points.sizes, bits, words[block])

    in_blocks(task, len(points))
    return words


def _shares(words: Words, length: int) -> Floats:
    """Places as shares of the curve's length, as exactly as a float has it."""
    last = length - WORD * (words.shape[1] - 1)
    out = np.zeros(len(words))
    for w in range(words.shape[1]):
        held = WORD * w + (last if w == words.shape[1] - 1 else WORD)
        out += np.ldexp(words[:, w].astype(np.float64), -held)
    return out

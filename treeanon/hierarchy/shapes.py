"""Texts of one shape, which differ in their digits only, so that all of them can be read at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

RARE = 16
MOST_DIGITS = 18
"""As many digits as 64 bits hold, whichever they are."""
_TO_ZERO = bytes.maketrans(b"123456789", b"0" * 9)


def by_shape(texts: Sequence[str]) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Each shape, every digit being 0 in it, and the places of its texts.

    >>> [(shape, places.tolist()) for shape, places in by_shape(["7.5", "x", "1.2"])]
    [('0.0', [0, 2]), ('x', [1])]
    """
    found = _shapes(texts)
    number = {shape: at for at, shape in enumerate(dict.fromkeys(found))}
    which = np.fromiter(map(number.__getitem__, found), dtype=np.int32, count=len(found))
    order = np.argsort(which, kind="stable")
    stops = np.cumsum(np.bincount(which, minlength=len(number)))
    start = 0
    for shape, stop in zip(number, stops.tolist(), strict=True):
        yield shape.decode("utf-8", "surrogatepass"), order[start:stop]
        start = stop


def _shapes(texts: Sequence[str]) -> list[bytes]:
    """The shapes, of all texts in one sweep, unless a text has a line end of its own."""
    if not texts:
        return []
    together = _shape("\n".join(texts)).split(b"\n")
    return together if len(together) == len(texts) else [_shape(text) for text in texts]


def _shape(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").translate(_TO_ZERO)


def digits(texts: Sequence[str], shape: str, columns: Sequence[int]) -> NDArray[np.int64]:
    """The whole numbers that the digits in these columns make, of texts that have the shape.

    >>> digits(["7.5", "1.2"], "0.0", [0, 2]).tolist()
    [75, 12]
    """
    table = np.array(texts, dtype=f"U{len(shape)}").view(np.uint32).reshape(len(texts), len(shape))
    numbers = np.zeros(len(texts), dtype=np.int64)
    for column in columns:
        numbers *= 10
        numbers += table[:, column]
        numbers -= ord("0")
    return numbers

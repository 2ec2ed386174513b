"""The order of a sensitive column's values: of numbers, or of the leaves of their hierarchy."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.tree.forest import Longs
from treeanon.table import Histogram


def places_in_order(histogram: Histogram, order: Literal["auto", "numbers", "leaves"]) -> Longs:
    """The place of each value among those that occur, by code; -1 for one that does not. A missing one is the last.

    Texts of one number ("1" and "1.0") have one place.

    >>> from treeanon.hierarchy import Hierarchy
    >>> wages = Hierarchy.flat(["10", "9", "8"])
    >>> all_occur = np.array([0, 1, 1, 1, 0])
    >>> histogram = Histogram("wage", np.zeros(1, np.int64), np.zeros(0, np.int32), all_occur[:0], all_occur, wages)
    >>> places_in_order(histogram, "auto").tolist(), places_in_order(histogram, "leaves").tolist()
    ([-1, 2, 1, 0, -1], [-1, 0, 1, 2, -1])
    """
    occurs = histogram.whole > 0
    occurs[histogram.values] = True
    found = np.flatnonzero(occurs[:-1])
    ranks = found
    if order != "leaves":
        numbers = _number_ranks(histogram.hierarchy)[found]
        if (numbers >= 0).all():
            ranks = numbers
        elif order == "numbers":
            raise UsageError(
                f"column {histogram.name!r}: not all of its values are numbers, so they have no such order"
            )
    places = np.full(len(occurs), -1, np.int64)
    different, places[found] = np.unique(ranks, return_inverse=True)
    if occurs[-1]:
        places[-1] = len(different)
    return places


@lru_cache(maxsize=16)
def _number_ranks(hierarchy: Hierarchy) -> Longs:
    """The rank of each node's number, by code; -1 where the text is none. Long ones are one as floats: so fractions."""
    numbers: dict[int, Fraction] = {}
    for code, text in enumerate(hierarchy.texts):
        with contextlib.suppress(ValueError, ZeroDivisionError):
            numbers[code] = Fraction(text)
    rank = {number: at for at, number in enumerate(sorted(set(numbers.values())))}
    ranks = np.full(len(hierarchy), -1, np.int64)
    for code, number in numbers.items():
        ranks[code] = rank[number]
    return ranks

"""How much of the range of its numbers each interval of a hierarchy spans."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from treeanon.hierarchy import Hierarchy, Intervals
from treeanon.hierarchy.number_hierarchy import NumberHierarchy
from treeanon.hierarchy.numbers import DECIMAL, INTEGER, Number, exact, parse_number

_INTEGER_LABEL = re.compile(f"({INTEGER})-({INTEGER})")
_DECIMAL_LABEL = re.compile(rf"\[({DECIMAL}), ({DECIMAL})[)\]]")
Bounds = dict[int, tuple[Number, Number]]


def node_ranges(hierarchy: Hierarchy, built: Intervals) -> npt.NDArray[np.float64]:
    """For every node of a hierarchy built from intervals, its range / that of the root: a number's is 0.

    The root spans from the least to the greatest of what the builder allows, or else from the first interval to the
    last.

    >>> built = Intervals((5, 10), min=0, max=40)
    >>> hierarchy = built.build(["3"])
    >>> [node_ranges(hierarchy, built)[hierarchy.code(text)].tolist() for text in ("3", "0-4", "0-9", "*")]
    [0.0, 0.1, 0.225, 1.0]
    """
    out = np.zeros(len(hierarchy))
    labels, low, high = _labels(hierarchy, built.integer)
    low = low if built.min is None else exact(built.min)
    high = high if built.max is None else exact(built.max)
    if low is None or high is None or low >= high:
        return out
    whole = Fraction(high) - Fraction(low)
    for code, (start, stop) in labels.items():
        out[code] = float((Fraction(stop) - Fraction(start)) / whole)
    out[0] = 1.0
    return out


def _labels(hierarchy: Hierarchy, integer: bool) -> tuple[Bounds, Number | None, Number | None]:
    """The bounds of the nodes that are intervals, and the least and greatest of these and of all numbers."""
    pattern = _INTEGER_LABEL if integer else _DECIMAL_LABEL
    texts = hierarchy.texts
    labels: Bounds = {}
    ends: list[Number] = []
    codes: npt.NDArray[np.integer] = np.arange(1, len(hierarchy))
    if isinstance(hierarchy, NumberHierarchy):
        # Very many numbers are not read again.
        codes = np.setdiff1d(codes, hierarchy.codes)
        scale = 10**hierarchy.decimals
        ends += [Fraction(int(number), scale) for number in hierarchy.numbers[[0, -1]][: len(hierarchy.numbers)]]
    for code in codes.tolist():
        number = parse_number(texts[code], integer)
        if number is not None:
            ends.append(number)
            continue
        match = pattern.fullmatch(texts[code])
        bounds = [parse_number(part, integer) for part in match.groups()] if match else []
        if len(bounds) == 2 and bounds[0] is not None and bounds[1] is not None:
            labels[code] = (bounds[0], bounds[1])
            ends += labels[code]
    return labels, min(ends, default=None), max(ends, default=None)

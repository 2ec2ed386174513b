"""How much of the range of its numbers each interval of a hierarchy spans."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints
from treeanon.hierarchy import Hierarchy, Intervals
from treeanon.hierarchy.number_hierarchy import NumberHierarchy
from treeanon.hierarchy.numbers import DECIMAL, INTEGER, Number, exact, parse_number
from treeanon.table.covers import ranked_texts, value_ranks
from treeanon.table.table import Column

_INTEGER_LABEL = re.compile(f"({INTEGER})-({INTEGER})")
_DECIMAL_LABEL = re.compile(rf"\[({DECIMAL}), ({DECIMAL})[)\]]")
Bounds = dict[int, tuple[Number, Number]]


def node_ranges(hierarchy: Hierarchy, built: Intervals) -> npt.NDArray[np.float64]:
    """Return each node's share of the range of a hierarchy built from intervals; 0 for a number.

    The root spans from the least to the greatest of what the builder allows, or else from the first interval to the
    last.

    >>> built = Intervals((5, 10), min=0, max=40)
    >>> hierarchy = built.build(["3"])
    >>> [node_ranges(hierarchy, built)[hierarchy.code(text)].tolist() for text in ("3", "0-4", "0-9", "*")]
    [0.0, 0.1, 0.225, 1.0]
    """
    out = np.zeros(len(hierarchy))
    labels, low, high = labelled(hierarchy, built.integer)
    low = low if built.min is None else exact(built.min)
    high = high if built.max is None else exact(built.max)
    if low is None or high is None or low >= high:
        return out
    whole = Fraction(high) - Fraction(low)
    labels |= _open_ranges(hierarchy, built, low, high)
    for code, (start, stop) in labels.items():
        out[code] = float((Fraction(stop) - Fraction(start)) / whole)
    out[0] = 1.0
    return out


def _open_ranges(hierarchy: Hierarchy, built: Intervals, low: Number, high: Number) -> Bounds:
    """Return the bounds of the open classes, which go to the ends of the range."""
    found: Bounds = {}
    opened = built.open_classes
    if opened is not None:
        below, above = (None if label is None else hierarchy.find(label) for label in opened.labels)
        if below is not None and opened.low is not None:
            found[below] = (min(low, opened.low), opened.low)
        if above is not None and opened.high is not None:
            found[above] = (opened.high, max(high, opened.high))
    return found


def rank_places(column: Column) -> npt.NDArray[np.float64] | None:
    """Return the place of each rank's number between the least (0) and the greatest (1) of the range.

    None for a column that is not of integers or numbers, or has values that are none.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.schema.model import ClassSpec
    >>> hierarchy = Hierarchy.flat(["10", "5", "7"])
    >>> rank_places(Column(ClassSpec("x", type="integer"), hierarchy, np.zeros(0, np.int32))).tolist()
    [0.0, 0.4, 1.0]
    """
    built = column.spec.hierarchy
    if column.spec.type not in ("integer", "number"):
        return None
    numbers = [parse_number(text, False) for text in ranked_texts(column.hierarchy)]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return None
    bounds = (built.min, built.max) if isinstance(built, Intervals) else (None, None)
    low = min(known, default=0) if bounds[0] is None else exact(bounds[0])
    high = max(known, default=0) if bounds[1] is None else exact(bounds[1])
    whole = Fraction(high) - Fraction(low)
    return np.array([float((number - low) / whole) if whole > 0 else 0.0 for number in known])


def node_ends(column: Column) -> tuple[Ints, Ints]:
    """Return the least and the greatest rank of the leaves below every node."""
    hierarchy = column.hierarchy
    ranks = value_ranks(hierarchy)[hierarchy.leaf_nodes]
    starts = hierarchy.leaf_start.astype(np.int64)
    ends = starts + hierarchy.leaf_count
    # Each node with its leaves side by side: those between the nodes are left out again.
    bounds = np.stack([starts, ends], axis=1).reshape(-1)
    padded = np.append(ranks, ranks[-1:])
    return np.minimum.reduceat(padded, bounds)[::2], np.maximum.reduceat(padded, bounds)[::2]


def rank_numbers(column: Column) -> npt.NDArray[np.float64] | None:
    """Return the number of each rank; None for a column not of integers or numbers, or with values that are none.

    >>> from treeanon.schema.model import ClassSpec
    >>> hierarchy = Hierarchy.flat(["10", "5"])
    >>> rank_numbers(Column(ClassSpec("x", type="integer"), hierarchy, np.zeros(0, np.int32))).tolist()
    [5.0, 10.0]
    """
    if column.spec.type not in ("integer", "number"):
        return None
    numbers = [parse_number(text, False) for text in ranked_texts(column.hierarchy)]
    return None if None in numbers else np.array([float(number) for number in numbers if number is not None])


def number_ends(column: Column) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None:
    """Return the ends of each node by itself: of a number twice itself, of an interval its bounds.

    Other leaves have no end, and other nodes those of nothing (from infinity to minus infinity). None for a column that
    is not of integers or numbers.
    """
    if column.spec.type not in ("integer", "number"):
        return None
    tree = column.hierarchy
    low, high = np.full(len(tree), np.inf), np.full(len(tree), -np.inf)
    for code, (start, stop) in labelled(tree, column.spec.type == "integer")[0].items():
        low[code], high[code] = float(start), float(stop)
    for code in tree.leaf_nodes.tolist():
        number = parse_number(tree.texts[code], False)
        if number is not None:
            low[code] = high[code] = float(number)
        elif np.isinf(low[code]):
            low[code], high[code] = -np.inf, np.inf
    built = column.spec.hierarchy
    opened = built.open_classes if isinstance(built, Intervals) else None
    for node in [tree.find(label) for label in (() if opened is None else opened.labels) if label is not None]:
        if node is not None:
            low[node], high[node] = -np.inf, np.inf
    return low, high


def labelled(hierarchy: Hierarchy, integer: bool) -> tuple[Bounds, Number | None, Number | None]:
    """Return the bounds of the nodes that are intervals, and the least and greatest of these and of all numbers."""
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

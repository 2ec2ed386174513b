"""NCP, the normalized certainty penalty of a published value, and GCP, its mean over all values of a table.

After 1D (Ghinita et al., TODS 2009) for the form `taxonomy` and FREE for the form `set`, which counts the values of
numbers, too; in the form `free`, FREE's own, numbers count by their values, (u - l) / (U - L), and categories as in
`set`. 1D weighs columns by weights that add up to 1 and divides by their number as well, which would count it twice:
our weights average.

Also how much of the range of its numbers each interval of a hierarchy spans.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Floats, Ints
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy, Intervals
from treeanon.hierarchy.number_hierarchy import NumberHierarchy
from treeanon.hierarchy.numbers import DECIMAL, INTEGER, Number, exact, parse_number
from treeanon.table import Table
from treeanon.table.covers import Covers, ranked_nodes, ranked_texts, value_ranks
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


Form = Literal["taxonomy", "set", "free"]
FORMS: tuple[Form, ...] = ("taxonomy", "set", "free")
Weights = Mapping[str, float]


def form_of(column: Column, form: Form) -> Literal["taxonomy", "set"]:
    """Return the form in which a column counts: of `free`, FREE's own, numbers by their values and others by count.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.schema.model import ClassSpec
    >>> flat, none = Hierarchy.flat("123"), np.zeros(0, np.int32)
    >>> [form_of(Column(ClassSpec("x", type=kind), flat, none), "free") for kind in ("integer", "text")]
    ['taxonomy', 'set']
    """
    if form == "taxonomy" or form == "set":
        return form
    if form != "free":
        raise UsageError(f"the form of NCP must be {' or '.join(FORMS)}")
    return "set" if rank_places(column) is None else "taxonomy"


def node_ncp(column: Column, form: Form = "taxonomy") -> Floats:
    """Return the NCP of every node of a column's hierarchy, by code; the last one, of a missing value, is 0.

    `taxonomy`: 0 for a single value, else the share of the column's values that the node covers; where the hierarchy
    was built from intervals of numbers, the share of their range. `set`: (values covered - 1) / (all values - 1). The
    values are all leaves of the hierarchy, whether they occur or not. `free`: of numbers the share of their range, of
    others as `set`.

    >>> from treeanon.hierarchy import Hierarchy
    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["35", "30-39", "*"], ["41", "40-49", "*"]])
    >>> column = Table.of_texts({"age": (["34"], ages)}).columns[0]
    >>> [x.tolist() for x in (node_ncp(column)[:3].round(3), node_ncp(column, "set")[:3])]
    [[1.0, 0.667, 0.0], [1.0, 0.5, 0.0]]
    """
    by_value, form = form == "free", form_of(column, form)
    leaves = column.hierarchy.leaf_count.astype(np.float64)
    if form == "set":
        shares = (leaves - 1) / max(leaves[0] - 1, 1)
    elif column.spec.type in ("integer", "number") and isinstance(column.spec.hierarchy, Intervals):
        shares = node_ranges(column.hierarchy, column.spec.hierarchy)
    elif by_value and (places := rank_places(column)) is not None:
        low, high = node_ends(column)
        shares = places[high] - places[low]
    else:
        shares = np.where(leaves > 1, leaves / leaves[0], 0.0)
    return np.append(shares, 0.0)


def ncp(column: Column, form: Form = "taxonomy", suppressed: int = 0) -> float:
    """Return the mean NCP of a published column, 0 to 1, where suppressed rows have lost it entirely.

    >>> from treeanon.hierarchy import Hierarchy
    >>> sexes = Hierarchy.flat(["f", "m"])
    >>> ncp(Table.of_texts({"sex": (["f", "*", None], sexes)}).columns[0], suppressed=1)
    0.5
    """
    rows = len(column.codes) + suppressed
    if not rows:
        return 0.0
    counts = np.bincount(column.places, minlength=column.size + 1)
    shares = value_ncp(column, form)
    return float((counts @ shares + suppressed) / rows)


def value_ncp(column: Column, form: Form = "taxonomy") -> Floats:
    """Return the NCP of every published value of a column, by code: of nodes, or of ranges and sets.

    >>> from treeanon.hierarchy import Hierarchy
    >>> value_ncp(Table.of_texts({"sex": (["f"], Hierarchy.flat(["f", "m"]))}).columns[0]).tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    return node_ncp(column, form) if column.covers is None else cover_ncp(column, column.covers, form)


def cover_ncp(column: Column, covers: Covers, form: Form = "taxonomy") -> Floats:
    """Return the NCP of ranges and sets of a column's values, and at the end of a missing value: 0.

    `taxonomy`: of a column of integers or numbers how far it is from the least to the greatest value, as a share of
    the whole range; of another column 0 for a single value, else the share of the values below the lowest node that
    covers all of it. `set`: (values - 1) / (all values - 1). What may also be missing has lost everything.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table.covers import Covers
    >>> hierarchy = Hierarchy.flat(["1", "2", "3", "5"])
    >>> column = Table.of_texts({"x": (["1"], hierarchy)}).columns[0]
    >>> covers = Covers.of(hierarchy, [(0, 2), (1,)], [False, False], is_range=True)
    >>> cover_ncp(column, covers).tolist(), cover_ncp(column, covers, "set").round(3).tolist()
    ([1.0, 0.0, 0.0], [0.667, 0.0, 0.0])
    """
    form = form_of(column, form)
    counts = covers.counts.astype(np.float64)
    leaves = column.hierarchy.leaf_count.astype(np.float64)
    if form == "set":
        shares = (counts - 1) / max(leaves[0] - 1, 1)
    else:
        places = rank_places(column)
        if places is not None:
            shares = places[covers.high] - places[covers.low]
        else:
            nodes = ranked_nodes(column.hierarchy)
            above = lowest_common(column.hierarchy, *cover_ends(covers, nodes))
            shares = np.where(counts > 1, leaves[above] / leaves[0], 0.0)
    return np.append(np.where(covers.missing, 1.0, shares), 0.0)


def cover_ends(covers: Covers, nodes: Ints) -> tuple[Ints, Ints]:
    """Return the first and the last node in preorder of what each value stands for."""
    low, high = nodes[covers.low].copy(), nodes[covers.high].copy()
    for v in np.flatnonzero((covers.counts > 1) & (np.diff(nodes).min(initial=1) < 0)).tolist():
        # Ranks that are not in preorder: the ends are not those of the range.
        own = covers.members[covers.starts[v] : covers.starts[v + 1]]
        held = nodes[own] if len(own) else nodes[covers.low[v] : covers.high[v] + 1]
        low[v], high[v] = held.min(), held.max()
    return low, high


def lowest_common(hierarchy: Hierarchy, low: Ints, high: Ints) -> Ints:
    """Return the lowest node that covers two nodes, the first not after the second in preorder.

    >>> from treeanon.hierarchy import Hierarchy
    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["35", "30-39", "*"], ["41", "40-49", "*"]])
    >>> [ages.texts[i] for i in lowest_common(ages, np.array([2, 2, 3]), np.array([2, 3, 5]))]
    ['34', '30-39', '*']
    """
    found = low.copy()
    open_ = np.flatnonzero(hierarchy.end[found] <= high)
    while len(open_):
        found[open_] = hierarchy.parent[found[open_]]
        open_ = open_[hierarchy.end[found[open_]] <= high[open_]]
    return found


def gcp(released: Table, suppressed: int = 0, *, form: Form = "taxonomy", weights: Weights | None = None) -> float:
    """Return the GCP of a release: the mean NCP of its quasi columns, with suppressed rows lost entirely.

    `weights` says what a column counts for in the mean (1 if silent).

    >>> from treeanon.hierarchy import Hierarchy
    >>> sexes = Hierarchy.flat(["f", "m"])
    >>> table = Table.of_texts({"a": (["f", "*"], sexes), "b": (["m", "f"], sexes)})
    >>> gcp(table), gcp(table, weights={"a": 3}), gcp(table, suppressed=2)
    (0.25, 0.375, 0.625)
    """
    return mean_of({column.name: ncp(column, form, suppressed) for column in released.quasi}, weights)


def mean_of(values: Mapping[str, float], weights: Weights | None = None) -> float:
    """Return the weighted mean of a number per column; 0 without columns, or where no column weighs anything."""
    for name, weight in (weights or {}).items():
        if name not in values:
            raise UsageError(f"unknown quasi column {name!r} to weigh; choose from {', '.join(values)}")
        if not 0 <= weight < float("inf"):
            raise UsageError(f"the weight of column {name!r} must be a number that is not negative")
    weight_of = [(weights or {}).get(name, 1.0) for name in values]
    whole = sum(weight_of)
    return sum(w * x for w, x in zip(weight_of, values.values(), strict=True)) / whole if whole else 0.0

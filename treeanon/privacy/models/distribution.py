"""Models of how near groups are to the table: t-closeness, β-likeness and δ-disclosure privacy.

β-likeness: J. Cao, P. Karras, "Publishing Microdata with a Robust Privacy Guarantee", Proceedings of the VLDB Endowment
5(11), 2012. A missing value is one more.

δ-disclosure privacy: J. Brickell, V. Shmatikov, "The Cost of Privacy: Destruction of Data-Mining Utility in Anonymized
Data Publishing", KDD 2008. A missing value is one more.

t-closeness: Li, Li, Venkatasubramanian, ICDE 2007; the earth mover's distance with three ground distances.
With c of a group's n values, and w of the whole table's N, being v, all is counted in units of 1/(n·N): c·N - w·n is a
whole number, and so is every distance. Only where these would be too large for 64 bits are they doubles.

The order of a sensitive column's values: of numbers, or of the rows of their hierarchy's file.
"""

from __future__ import annotations

import contextlib
import decimal
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from treeanon.arrays import Flags, Longs, unique_values
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.table.groups import Numbers, add_over_edges, add_over_gaps
from treeanon.privacy.models.model import ROOM, Number, SensitiveModel, at_least, at_most, exact, shown, total_in
from treeanon.table import Column, Histogram

Likeness = Literal["basic", "enhanced"]
LIKENESS: tuple[Likeness, ...] = ("basic", "enhanced")

_NEAR = 1e-9


@dataclass(frozen=True)
class BetaLikeness(SensitiveModel):
    """No value is more frequent in a group than in the whole table by more than a factor of 1 + β.

    With a share q of the group and p of the table, (q - p) / p is at most β: rare values, which tell most, are
    protected as well as frequent ones. `enhanced`, it is at most -ln p too, which binds frequent values where 1 + β
    says nothing of them. What gets rarer in a group is not limited.

    Monotone: the share of a union is no more than the larger of two, and the bound is one for all groups.

    >>> BetaLikeness(1).name, BetaLikeness(0.5, "basic", column="pay").name
    ('enhanced 1-likeness', 'basic 0.5-likeness of pay')
    """

    beta: Number
    form: Likeness = "enhanced"

    def __post_init__(self) -> None:
        exact("beta", self.beta, above=True)
        if self.form not in LIKENESS:
            raise UsageError(f"the form of likeness must be one of {', '.join(LIKENESS)}")

    @property
    def _short(self) -> str:
        return f"{self.form} {shown(self.beta)}-likeness"

    @property
    def compares_with_table(self) -> bool:
        """Return True: with the shares of the table's values."""
        return True

    def tightened(self, share: Fraction) -> BetaLikeness:
        """Return β-likeness for this share of β."""
        return replace(self, beta=exact("beta", self.beta) * share)

    def _holds_in(self, sizes: Longs, histogram: Histogram) -> Flags:
        persons, values = total_in(histogram, histogram.counts), np.diff(histogram.starts)
        everybody = int(histogram.whole.sum())
        whole = histogram.whole[histogram.values]
        # q / p is own / alike.
        own, alike = histogram.counts * everybody, whole * np.repeat(persons, values)
        fine = at_most(own, alike, 1 + exact("beta", self.beta))
        if self.form == "enhanced":
            fine &= _within_information(own, alike, whole, everybody)
        return np.asarray(np.logical_and.reduceat(fine, histogram.starts[:-1]), np.bool_) if len(fine) else fine


def _within_information(own: Longs, alike: Longs, whole: Longs, everybody: int) -> Flags:
    """Return whether each ratio own / alike of shares is at most 1 - ln(whole / everybody)."""
    with np.errstate(divide="ignore"):
        over = own / alike - 1 + np.log(whole / everybody)
    flags = np.asarray(over <= 0, np.bool_)
    for at in np.flatnonzero(np.abs(over) < _NEAR).tolist():
        with decimal.localcontext() as context:
            context.prec = 50
            ratio = decimal.Decimal(int(own[at])) / int(alike[at])
            flags[at] = ratio - 1 <= -(decimal.Decimal(int(whole[at])) / everybody).ln()
    return flags


@dataclass(frozen=True)
class DeltaDisclosure(SensitiveModel):
    """Every value of the table is about as frequent in each group: |log₂(q / p)| is less than δ.

    q is its share of the group, p that of the table. For every value, as the paper has it: one that a group lacks is
    ruled out for its persons, and fails. The base of the logarithm, which the paper leaves open, is 2, as in ARX; there
    values that a group lacks do not count.

    Monotone: the share of a union lies between those of its parts.

    >>> DeltaDisclosure(1.5).name, DeltaDisclosure(2, column="pay").name
    ('1.5-disclosure privacy', '2-disclosure privacy of pay')
    """

    delta: Number

    def __post_init__(self) -> None:
        exact("delta", self.delta, above=True)

    @property
    def _short(self) -> str:
        return f"{shown(self.delta)}-disclosure privacy"

    @property
    def compares_with_table(self) -> bool:
        """Return True: with the shares of the table's values."""
        return True

    def tightened(self, share: Fraction) -> DeltaDisclosure:
        """Return δ-disclosure privacy for this share of δ."""
        return replace(self, delta=exact("delta", self.delta) * share)

    def _holds_in(self, sizes: Longs, histogram: Histogram) -> Flags:
        persons, values = total_in(histogram, histogram.counts), np.diff(histogram.starts)
        own = histogram.counts * int(histogram.whole.sum())
        alike = histogram.whole[histogram.values] * np.repeat(persons, values)
        fine = _is_less(own, alike, exact("delta", self.delta))
        has_all = values == np.count_nonzero(histogram.whole)
        if len(fine):
            has_all &= np.logical_and.reduceat(fine, histogram.starts[:-1])
        return np.asarray(has_all, np.bool_)


def _is_less(own: Longs, alike: Longs, delta: Fraction) -> Flags:
    """Return whether |log₂(own / alike)| is less than δ, for each pair."""
    with np.errstate(divide="ignore"):
        over = np.abs(np.log2(own) - np.log2(alike)) - float(delta)
    flags = np.asarray(over < 0, np.bool_)
    for at in np.flatnonzero(np.abs(over) < _NEAR).tolist():
        large, small = sorted((int(own[at]), int(alike[at])), reverse=True)
        flags[at] = _is_below_power(Fraction(large, small), delta)
    return flags


def _is_below_power(ratio: Fraction, delta: Fraction) -> bool:
    """Return whether a ratio is less than 2 to the δ, which is no fraction unless δ is whole."""
    if delta.denominator == 1:
        return bool(ratio < 2**delta.numerator)
    with decimal.localcontext() as context:
        context.prec = 50
        power = (decimal.Decimal(delta.numerator) / delta.denominator) * decimal.Decimal(2).ln()
        return bool((decimal.Decimal(ratio.numerator) / ratio.denominator).ln() < power)


def places_in_order(histogram: Histogram, order: Literal["auto", "numbers", "leaves"]) -> Longs:
    """Return the place of each value that occurs, by code (-1 for others); a missing one is last.

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
    ranks = histogram.hierarchy.row_order[found]
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
    """Return the rank of each node's number (-1 for other texts); exact, as long numbers tie as floats."""
    numbers: dict[int, Fraction] = {}
    for code, text in enumerate(hierarchy.texts):
        with contextlib.suppress(ValueError, ZeroDivisionError):
            numbers[code] = Fraction(text)
    rank = {number: at for at, number in enumerate(sorted(set(numbers.values())))}
    ranks = np.full(len(hierarchy), -1, np.int64)
    for code, number in numbers.items():
        ranks[code] = rank[number]
    return ranks


Distance = Literal["equal", "ordered", "hierarchical"]
Order = Literal["auto", "numbers", "leaves"]
DISTANCES: tuple[Distance, ...] = ("equal", "ordered", "hierarchical")
ORDERS: tuple[Order, ...] = ("auto", "numbers", "leaves")


@dataclass(frozen=True)
class TCloseness(SensitiveModel):
    """The values of every group are distributed as in the whole table, up to a distance of t.

    How far one value is from another: `equal`: 1. `ordered`: how many of the values of the table lie between them, as
    a share; in the order of numbers or of the rows of the hierarchy's file (`auto`: of numbers if all of them are).
    `hierarchical`: the level of their lowest common ancestor, as a share of the hierarchy's height. A missing value is
    one more: after the last, and directly below the root.

    Monotone: the distance is convex, so that of a mixture is no more than the larger of two.

    >>> TCloseness(0.2, "ordered", column="salary").name
    '0.2-closeness (ordered distance) of salary'
    """

    t: Number
    distance: Distance = "equal"
    order: Order = "auto"

    def __post_init__(self) -> None:
        exact("t", self.t, 0, 1)
        if self.distance not in DISTANCES:
            raise UsageError(f"the distance must be one of {', '.join(DISTANCES)}")
        if self.order not in ORDERS:
            raise UsageError(f"the order must be one of {', '.join(ORDERS)}")

    @property
    def _short(self) -> str:
        return f"{shown(self.t)}-closeness ({self.distance} distance)"

    @property
    def compares_with_table(self) -> bool:
        """Return True: with the distribution of the table's values."""
        return True

    def tightened(self, share: Fraction) -> TCloseness:
        """Return t-closeness for this share of t."""
        return replace(self, t=exact("t", self.t) * share)

    def orders_by_rows(self, column: Column) -> bool:
        """Return whether it orders the values of a column by the rows of their hierarchy's file."""
        if self.distance != "ordered" or self.column not in (None, column.name):
            return False
        used = unique_values(column.codes[column.codes >= 0])
        return self.order == "leaves" or bool((_number_ranks(column.hierarchy)[used] < 0).any())

    def _holds_in(self, sizes: Longs, histogram: Histogram) -> Flags:
        return at_most(*self._distance(histogram), exact("t", self.t))

    def _distance(self, histogram: Histogram) -> tuple[Numbers, Numbers]:
        if self.distance == "ordered":
            return ordered_distance(histogram, places_in_order(histogram, self.order))
        return tree_distance(histogram, _steps(histogram.hierarchy, self.distance == "equal"))

    def judge(self, sizes: Longs, histogram: Histogram) -> tuple[Flags, Longs]:
        """Return which groups satisfy it, and how many persons have to be taken out of each at least.

        Convex again: where a share s of a group goes, its distance is no more than (1 - s)·t + s, as none is above 1.
        """
        far, whole = self._distance(histogram)
        t = exact("t", self.t)
        flags = at_most(far, whole, t)
        if t == 1:
            return flags, np.zeros(len(flags), np.int64)
        return flags, at_least(sizes * (far / whole - float(t)) / float(1 - t), flags)


Steps = tuple[tuple[Longs, Longs], ...]
"""Of a tree, from its leaves up: the node over whose edge upwards a value goes, by value; and its length, by node."""


@lru_cache(maxsize=16)
def _steps(hierarchy: Hierarchy, equal: bool) -> Steps:
    """Return the tree whose paths are the distances, in units of 1/(2·height); every value is a leaf.

    Li et al. move mass at a common ancestor at the cost of its level: the two paths to it have half of that each. As in
    level_maps a level counts from the hierarchy's height downwards: leaves near the root are not nearer to others.
    """
    size, height = len(hierarchy), max(hierarchy.height, 1)
    itself = np.arange(size + 1)
    if equal:
        return ((itself, np.full(size + 1, height)),)
    is_inner = np.append(hierarchy.end != itself[1:], False)
    depth = np.append(hierarchy.depth.astype(np.int64), 1)
    parent = np.append(np.maximum(hierarchy.parent, 0), 0)
    # A value that is an inner node hangs below it, and a missing one, or the only one there is, below the root.
    level = height - depth
    steps = [(itself, np.where(is_inner | (depth == 0), level, level[parent]))]
    node = itself
    for far in range(height - 1, 0, -1):
        node = np.where(depth[node] > far, parent[node], node)
        steps.append((node, np.where(is_inner & (depth == far), 1, 0)))
    return tuple(steps)


def tree_distance(histogram: Histogram, steps: Steps) -> tuple[Numbers, Numbers]:
    """Return the distance of each group from the whole, as a numerator and a denominator.

    On a tree the distance is the sum over the edges of their length times what has to go over them.
    """
    height = max(histogram.hierarchy.height, 1)
    persons, everybody = _scaled(histogram, 2 * height)
    far = np.zeros_like(persons)
    for above, length in steps:
        there = np.zeros(len(histogram.whole), persons.dtype)
        np.add.at(there, above, histogram.whole)
        far += (there * length).sum() * persons
        add_over_edges(
            histogram.starts, histogram.values, histogram.counts, above, length, there, persons, everybody, far
        )
    return far, 2 * height * everybody * persons


def ordered_distance(histogram: Histogram, places: Longs) -> tuple[Numbers, Numbers]:
    """Return the same for values in a row at `places`: the sum of the mass that crosses the gaps."""
    gaps = max(int(places.max()), 0)
    persons, everybody = _scaled(histogram, gaps + 1)
    far = np.zeros_like(persons)
    counted = np.zeros(gaps + 1, persons.dtype)
    known = places >= 0
    np.add.at(counted, places[known], histogram.whole[known])
    seen = np.cumsum(counted)[:-1]
    sums = np.append(np.zeros(1, persons.dtype), np.cumsum(seen))
    add_over_gaps(histogram.starts, places[histogram.values], histogram.counts, seen, sums, persons, everybody, far)
    return far, max(gaps, 1) * everybody * persons


def _scaled(histogram: Histogram, longest: int) -> tuple[Numbers, Numbers]:
    """Return the number of values of each group and of the whole, as doubles where products would overflow."""
    persons, everybody = total_in(histogram, histogram.counts), histogram.whole.sum(keepdims=True)
    largest = int(persons.max()) if len(persons) else 0
    kind = np.int64 if 2 * longest * int(everybody[0]) * largest < ROOM else np.float64
    return persons.astype(kind), everybody.astype(kind)

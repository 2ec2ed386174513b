"""What a release reaches beyond k: the l of each form, p, α and t of every sensitive column, and in which groups.

Counted from the groups of the check itself, with code that no search uses. The models are cited where they are defined,
in `treeanon.privacy.models`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, Literal, get_args

import numpy as np

from treeanon.arrays import Floats
from treeanon.privacy.models import Model, RecursiveDiversity
from treeanon.privacy.models.distribution import DISTANCES
from treeanon.privacy.models.model import Number, exact
from treeanon.verifier.criteria import are_numbers, different, distances, entropy_is_at_least, largest_counts, rests
from treeanon.verifier.groups import CountedGroups, ValueCounts

MeasureName = Literal[
    "distinct_l", "frequency_l", "entropy_l", "recursive_l", "p", "alpha", "t_equal", "t_ordered", "t_hierarchical"
]
MEASURES: tuple[MeasureName, ...] = get_args(MeasureName)

ValueOrder = Literal["numbers", "rows"]

USUAL_C = 2
"""The c of recursive (c,l)-diversity that is measured if none is asked for."""

_DIGITS = 10**6
_ALIKE = 1e-9


@dataclass(frozen=True)
class Measure:
    """The strongest parameter of a model that all groups satisfy, and where it is reached.

    `groups` satisfy no more; the smallest of them has `persons`. Numbers that are not whole are rounded to six digits,
    l down, and α and t up, so that what is told holds. `order` says how values are ordered for the ordered distance: as
    numbers, or where not all are, as the rows of their hierarchy's file. `c` is that of recursive diversity, whose l is
    0 where not even (c,1)-diversity holds.
    """

    name: MeasureName
    reached: float
    groups: int
    persons: int
    c: float | None = None
    order: ValueOrder | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the measure as plain data."""
        plain = {"reached": self.reached, "groups": self.groups, "persons": self.persons}
        more = {"c": self.c, "order": self.order}
        return plain | {name: value for name, value in more.items() if value is not None}

    @property
    def label(self) -> str:
        """Return the name of the measure for people.

        >>> Measure("t_ordered", 0.25, 1, 5, order="rows").label, Measure("recursive_l", 3, 1, 5, 2).label
        ('t (ordered distance, by rows of the hierarchy)', 'recursive l (c = 2)')
        """
        first, _, rest = self.name.partition("_")
        if first == "t":
            by = {None: "", "numbers": ", by number", "rows": ", by rows of the hierarchy"}[self.order]
            return f"t ({rest} distance{by})"
        more = "" if self.c is None else f" (c = {self.c:g})"
        return f"{first} {rest}{more}".rstrip()


@dataclass(frozen=True)
class Reached:
    """The measures of one sensitive column; of one that holds sets only those of shares of persons."""

    column: str
    measures: tuple[Measure, ...]

    def __getitem__(self, name: MeasureName) -> Measure:
        """Return the measure of that name; KeyError if the column has none."""
        for one in self.measures:
            if one.name == name:
                return one
        raise KeyError(name)

    def as_dict(self) -> dict[str, Any]:
        """Return the measures as plain data, by name."""
        return {"column": self.column, **{one.name: one.as_dict() for one in self.measures}}


def c_of(models: Iterable[Model]) -> Number:
    """Return the smallest c that is asked for, or the usual one."""
    return min((model.c for model in models if isinstance(model, RecursiveDiversity)), default=USUAL_C)


def reached_in(groups: CountedGroups, *, c: Number = USUAL_C, sets: bool = False) -> Reached:
    """Return what all groups reach in their sensitive column; `sets` says that a person may have several values.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> from treeanon.verifier.groups import count_groups
    >>> table = Table.of_texts({"ill": (["flu", "flu", "acne", "flu", "acne"], Hierarchy.flat(["flu", "acne"]))})
    >>> found = reached_in(count_groups(table, np.array([0, 0, 0, 1, 1]), table.columns[0]))
    >>> found["distinct_l"].as_dict(), found["frequency_l"].as_dict()
    ({'reached': 2, 'groups': 2, 'persons': 2}, {'reached': 1.5, 'groups': 1, 'persons': 3})
    """
    values = groups.values
    assert values is not None, "measures are of a sensitive column"
    if not len(groups):
        return Reached(values.name, ())
    most = largest_counts(values)
    # Of the shares of persons the one bound is the other's reciprocal, so that both are worst in the same groups.
    worst, found, persons = _worst((most / groups.persons).astype(np.float64), groups)
    share = Fraction(int(most[worst]), int(groups.persons[worst]))
    of_shares = (
        Measure("frequency_l", _down(1 / share), found, persons),
        Measure("alpha", _up(share), found, persons),
    )
    if sets:
        return Reached(values.name, of_shares)
    others = [*_of_values(groups, values), _recursive(groups, values, c), *_closeness(groups, values)]
    return Reached(values.name, tuple(sorted([*of_shares, *others], key=lambda one: MEASURES.index(one.name))))


def _worst(badness: Floats, groups: CountedGroups) -> tuple[int, int, int]:
    """Return the smallest of the groups that are worst, how many are as bad, and its size."""
    alike = np.flatnonzero(badness >= badness.max() - _ALIKE)
    # Of what floats cannot tell apart the largest decides, for the number that is told must hold.
    worst = int(alike[np.argmax(badness[alike])])
    return worst, len(alike), int(groups.persons[alike].min())


def _of_values(groups: CountedGroups, values: ValueCounts) -> tuple[Measure, ...]:
    number = different(values)
    worst, found, persons = _worst(-number.astype(np.float64), groups)
    least = int(number[worst])
    counts = values.count.astype(np.float64)
    total = np.add.reduceat(counts, values.first)
    entropy = np.log(total) - np.add.reduceat(counts * np.log(counts), values.first) / total
    at, spread, smallest = _worst(-entropy, groups)
    ends = np.append(values.first[1:], len(counts))
    own = values.count[values.first[at] : ends[at]].tolist()
    return (
        Measure("distinct_l", least, found, persons),
        Measure("p", least, found, persons),
        Measure("entropy_l", _entropy_l(float(np.exp(entropy[at])), own), spread, smallest),
    )


def _entropy_l(near: float, counts: list[int]) -> float:
    """Return the largest l of six digits whose logarithm the entropy of counts reaches."""
    place = round(near * _DIGITS)
    steps = place if entropy_is_at_least(counts, Fraction(place, _DIGITS)) else place - 1
    return _plain(Fraction(max(steps, _DIGITS), _DIGITS))


def _recursive(groups: CountedGroups, values: ValueCounts, c: Number) -> Measure:
    factor = exact("c", c, 0, above=True)
    rest, most = rests(values), np.repeat(largest_counts(values), different(values))
    over, under = factor.numerator, factor.denominator
    holds = [m * under < r * over for m, r in zip(most.tolist(), rest.tolist(), strict=True)]
    # What is left from the l-th value on falls with l, so that the values for which it suffices are the first ones.
    largest = np.add.reduceat(np.array(holds, np.int64), values.first)
    worst, found, persons = _worst(-largest.astype(np.float64), groups)
    return Measure("recursive_l", int(largest[worst]), found, persons, float(factor))


def _closeness(groups: CountedGroups, values: ValueCounts) -> Iterable[Measure]:
    for distance, name in zip(DISTANCES, MEASURES[-3:], strict=True):
        far, whole = distances(values, distance, "auto")
        shares = np.array([int(part) / int(of) for part, of in zip(far, whole, strict=True)])
        worst, found, persons = _worst(shares, groups)
        order: ValueOrder | None = None
        if distance == "ordered":
            order = "numbers" if are_numbers(values) else "rows"
        yield Measure(name, _up(Fraction(int(far[worst]), int(whole[worst]))), found, persons, order=order)


def _up(number: Fraction) -> float:
    return _plain(Fraction(ceil(number * _DIGITS), _DIGITS))


def _down(number: Fraction) -> float:
    return _plain(Fraction(floor(number * _DIGITS), _DIGITS))


def _plain(number: Fraction) -> float:
    return int(number) if number.denominator == 1 else float(number)

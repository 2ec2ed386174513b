"""The protocol of privacy models, and what those that look at sensitive columns have in common.

Limits of privacy models as exact numbers, comparisons that no rounding decides, and sums over groups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.errors import UsageError
from treeanon.table import Groups, Histogram


class Model(Protocol):
    """What must hold for every published group.

    `name` says it with its parameters ("5-anonymity"). `is_monotone` is true if a union of groups that satisfy it
    always does, where no person is in two of them: then a generalization of a table that satisfies it does too.

    `holds_when_grown` asks more: that a group that satisfies it does so whoever is added. Searches that suppress the
    groups that fail may cut only then (otherwise a group that fails can spoil one that holds when they are merged, and
    a generalization may suppress *more*), and so may those of tables where a person has several rows.
    """

    @property
    def name(self) -> str:
        """The model with its parameters, in words."""

    @property
    def is_monotone(self) -> bool:
        """Whether unions of groups that satisfy it, of different persons, satisfy it."""

    @property
    def holds_when_grown(self) -> bool:
        """Whether whatever contains a group that satisfies it satisfies it."""

    @property
    def sensitive(self) -> tuple[str, ...] | None:
        """The sensitive columns that it looks at; None for none at all, () for every one of the table."""

    def holds(self, groups: Groups) -> Flags:
        """Whether it holds, for each group."""


@dataclass(frozen=True)
class SensitiveModel:
    """A model of one sensitive column, or of each: what holds for the histogram of one is left to its subclasses.

    Columns are looked at one by one, in the groups as they are: who has several sensitive columns asks for each with
    groups that the others belong to, as `check` does.
    """

    column: str | None = field(default=None, kw_only=True)

    @property
    def is_monotone(self) -> bool:
        """True: so for each of ours, shown where it is defined."""
        return True

    @property
    def holds_when_grown(self) -> bool:
        """False for what speaks of shares: who is added can have what is frequent already."""
        return False

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The column, or () for every one of the table."""
        return () if self.column is None else (self.column,)

    @property
    def name(self) -> str:
        """The model with its parameters and its column."""
        return self._short if self.column is None else f"{self._short} of {self.column}"

    @property
    def _short(self) -> str:
        raise NotImplementedError

    def holds(self, groups: Groups) -> Flags:
        """Whether it holds in all of its columns, for each group."""
        found = [one for one in groups.sensitive if self.column in (None, one.name)]
        if not found:
            has = ", ".join(one.name for one in groups.sensitive) or "none"
            raise UsageError(f"{self.name} needs a sensitive column that is there; there is: {has}")
        flags = np.ones(len(groups), np.bool_)
        for histogram in found:
            flags &= self._holds_in(groups.sizes, histogram)
        return flags

    def _holds_in(self, sizes: Longs, histogram: Histogram) -> Flags:
        """Whether it holds for each group: how many persons there are, and what values they have."""
        raise NotImplementedError


Number = int | float | Fraction

ROOM = 2**62
"""Whole numbers below this are told apart exactly, two of them added too."""

_NEAR = 1e-9
_SIMPLE = 10**6


def whole_number(name: str, value: object, least: int = 1) -> None:
    """UsageError unless the value is a whole number, and not below the least.

    >>> whole_number("k", 0)
    Traceback (most recent call last):
    treeanon.errors.UsageError: k must be a whole number from 1 to 2,147,483,647
    """
    most = 2**31 - 1
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(f"{name} must be a whole number from {least} to {most:,}")


def exact(name: str, value: object, least: int = 0, most: int | None = None, *, above: bool = False) -> Fraction:
    """The number as a fraction, the simple one that a float is meant to be; UsageError unless it lies in its bounds.

    >>> exact("alpha", 0.4, 0, 1), exact("alpha", 1 / 3, 0, 1)
    (Fraction(2, 5), Fraction(1, 3))
    >>> exact("c", 0, 0, above=True)
    Traceback (most recent call last):
    treeanon.errors.UsageError: c must be a number above 0
    """
    bounds = f"{'above' if above else 'from'} {least}" + ("" if most is None else f" to {most}")
    problem = UsageError(f"{name} must be a number {bounds}")
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or not math.isfinite(value):
        raise problem
    found = Fraction(value)
    if isinstance(value, float):
        simple = found.limit_denominator(_SIMPLE)
        found = simple if float(simple) == value else Fraction(repr(value))
    if found < least or (above and found == least) or (most is not None and found > most):
        raise problem
    return found


def at_most(part: Longs, of: Longs, limit: Fraction) -> Flags:
    """Whether part ≤ limit · of, for each; exact for whole numbers, and for doubles never true by rounding alone.

    >>> at_most(np.array([1, 2]), np.array([3, 3]), Fraction(1, 3)).tolist()
    [True, False]
    """
    over, under = limit.numerator, limit.denominator
    if part.dtype.kind == "f":
        return np.asarray(part <= of * (float(limit) - 1e-12), np.bool_)
    if _fits(part, under) and _fits(of, over):
        return np.asarray(part * under <= of * over, np.bool_)
    difference = part - of * float(limit)
    flags = np.asarray(difference < 0, np.bool_)
    near = np.flatnonzero(np.abs(difference) <= _NEAR * (part + of))
    for at in near.tolist():
        flags[at] = int(part[at]) * under <= int(of[at]) * over
    return flags


def _fits(numbers: Longs, factor: int) -> bool:
    return not len(numbers) or int(numbers.max()) * factor < ROOM


def total_in(histogram: Histogram, what: Longs) -> Longs:
    """The sum over each group of something that there is for each of its values."""
    return np.add.reduceat(what, histogram.starts[:-1]) if len(what) else what


def most_in(histogram: Histogram, what: Longs) -> Longs:
    """The largest in each group of something that there is for each of its values."""
    return np.maximum.reduceat(what, histogram.starts[:-1]) if len(what) else what


def shown(value: Number) -> str:
    """A parameter as it is written in names."""
    return f"{value:g}" if isinstance(value, float) else str(value)

"""The protocol of privacy models, and what those that look at sensitive columns have in common.

Limits of privacy models as exact numbers, comparisons that no rounding decides, and sums over groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, Self

import numpy as np

from treeanon.arrays import Flags, Floats, Longs
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.table import Column, Groups, Histogram
from treeanon.table.reductions import members_of


class Model(Protocol):
    """Protocol of a privacy model: a criterion that every published group must satisfy.

    `name` says it with its parameters ("5-anonymity"). `is_monotone` is true if a union of groups that satisfy it
    always does, where no person is in two of them: then a generalization of a table that satisfies it does too.

    `holds_when_grown` asks more: that a group that satisfies it does so whoever is added. Searches that suppress the
    groups that fail may cut only then (otherwise a group that fails can spoil one that holds when they are merged, and
    a generalization may suppress *more*), and so may those of tables where a person has several rows.

    The searches ask `holds`, or where they count nothing else, `limits`. The models of the package are checked by code
    of the verifier's own; a model of another package has a method `check(group: Group) -> bool` for that. Derive from
    `BaseModel`, or from `SensitiveModel`: they have defaults for most of this.
    """

    @property
    def name(self) -> str:
        """Return the model with its parameters, in words."""

    @property
    def is_monotone(self) -> bool:
        """Return whether unions of groups that satisfy it, of different persons, satisfy it."""

    @property
    def holds_when_grown(self) -> bool:
        """Return whether every superset of a group that satisfies it satisfies it."""

    @property
    def sensitive(self) -> tuple[str, ...] | None:
        """Return the sensitive columns that it examines; None for none, () for every one of the table."""

    @property
    def limits(self) -> Limits:
        """Return limits that every group satisfying it keeps to."""

    @property
    def compares_with_table(self) -> bool:
        """Return whether it compares groups with the whole table, so that suppressed rows matter."""

    def tightened(self, share: Fraction) -> Model:
        """Return the model with this share of its t, if it compares groups with the table."""

    def raised(self, to: Number) -> Model | None:
        """Return the model with another k or l; None if it is not of one such number."""

    def holds(self, groups: Groups) -> Flags:
        """Return, for each group, whether it satisfies the model."""


@dataclass(frozen=True)
class Limits:
    """Least number of persons and of distinct values in a group, and largest share of any one value.

    `is_all` says that whatever group keeps to them satisfies the model.
    """

    persons: int = 1
    values: int = 1
    share: Fraction = Fraction(1)
    is_all: bool = False


class BaseModel:
    """Defaults of a model: not monotone, of no sensitive column, and stricter than its limits."""

    @property
    def is_monotone(self) -> bool:
        """Return False, the safe default without a proof."""
        return False

    @property
    def holds_when_grown(self) -> bool:
        """Return False, the safe default without a proof."""
        return False

    @property
    def sensitive(self) -> tuple[str, ...] | None:
        """Return None: no sensitive column is examined."""
        return None

    @property
    def limits(self) -> Limits:
        """Return trivial limits, which do not imply the model."""
        return Limits()

    @property
    def compares_with_table(self) -> bool:
        """Return False: a group is examined by itself."""
        return False

    def tightened(self, share: Fraction) -> Self:
        """Return the model: it has no t."""
        return self

    def raised(self, to: Number) -> Self | None:
        """Return None: it is not of one number."""
        return None


def asks_for_size(model: Model) -> bool:
    """Return whether a model asks for the number of persons in a group and nothing else, as k-anonymity does."""
    limits = model.limits
    return model.sensitive is None and limits.is_all and limits.values == 1 and limits.share == 1


def asks_for_share(model: Model) -> bool:
    """Return whether a model asks for the largest share of a value and nothing else, as frequency l-diversity does."""
    limits = model.limits
    return model.sensitive is not None and limits.is_all and limits.persons == 1 and limits.values == 1


def is_joined(model: Model) -> bool:
    """Return whether a model counts the other sensitive columns among those that an attacker knows.

    >>> from treeanon.privacy.models import DistinctDiversity
    >>> is_joined(DistinctDiversity(2)), is_joined(DistinctDiversity(2, joined=True))
    (False, True)
    """
    return bool(getattr(model, "joined", False))


def largest_k(models: Iterable[Model]) -> int:
    """Return the largest k of k-anonymity that is asked for; 1 if none is.

    >>> from treeanon.privacy.models import KAnonymity
    >>> largest_k([KAnonymity(3), KAnonymity(5)])
    5
    """
    return max((model.limits.persons for model in models if asks_for_size(model)), default=1)


@dataclass(frozen=True)
class Group:
    """One published group of equal rows, as the check of a release sees it.

    `persons` is how many persons are in it. For a model of a sensitive column, `values` says how many of them have each
    value (None: it is missing), `whole` how many of all persons, and `hierarchy` is that of the column.
    """

    persons: int
    values: Mapping[str | None, int] = field(default_factory=dict)
    whole: Mapping[str | None, int] = field(default_factory=dict)
    hierarchy: Hierarchy | None = None


@dataclass(frozen=True)
class SensitiveModel(BaseModel):
    """Base class of a model of one sensitive column or of each; subclasses judge one histogram.

    Columns are looked at one by one, in the groups as they are. A model that is `joined` is asked of a column in groups
    that the other sensitive columns belong to, as an attacker may know those (V. Ciriani et al., "k-anonymity", 2007,
    Section 5): of all groups that these divide a published one into.
    """

    column: str | None = field(default=None, kw_only=True)
    joined: bool = field(default=False, kw_only=True)

    @property
    def is_monotone(self) -> bool:
        """Return True; each model of the package states why in its docstring."""
        return True

    @property
    def holds_when_grown(self) -> bool:
        """Return False: added persons may all have the most frequent value."""
        return False

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Return the column, or () for every one of the table."""
        return () if self.column is None else (self.column,)

    @property
    def name(self) -> str:
        """Return the model with its parameters and its column."""
        short = f"{self._short} (sensitive columns joined)" if self.joined else self._short
        return short if self.column is None else f"{short} of {self.column}"

    @property
    def _short(self) -> str:
        raise NotImplementedError

    def holds(self, groups: Groups) -> Flags:
        """Return, for each group, whether all of its columns satisfy the model."""
        found = [one for one in groups.sensitive if self.column in (None, one.name)]
        if not found:
            has = ", ".join(one.name for one in groups.sensitive) or "none"
            raise UsageError(f"{self.name} needs a sensitive column that is there; choose from {has}")
        flags = np.ones(len(groups), np.bool_)
        for histogram in found:
            flags &= self._holds_in(groups.sizes, histogram)
        return flags

    def judge(self, sizes: Longs, histogram: Histogram) -> tuple[Flags, Longs]:
        """Return, for each group, whether one column satisfies the model, and how many persons must go at least.

        However a group is divided, those whose parts satisfy a monotone model satisfy it together: so many of the
        others there are at least as have to be taken out of the group before it does. Everybody has one row.
        """
        flags = self._holds_in(sizes, histogram)
        if self.holds_when_grown:
            # No part of a group that fails satisfies the model.
            return flags, np.where(flags, 0, sizes)
        if not self.is_monotone:
            return flags, np.zeros(len(flags), np.int64)
        return flags, at_least(self._excess(sizes, histogram), flags)

    def _excess(self, sizes: Longs, histogram: Histogram) -> Floats:
        """Return, for each group, a number of persons that is not above what has to be taken out of it."""
        share = self.limits.share
        if share == 1:
            return np.zeros(len(sizes))
        return (most_in(histogram, histogram.counts) - float(share) * sizes) / float(1 - share)

    def _holds_in(self, sizes: Longs, histogram: Histogram) -> Flags:
        """Return, for each group, whether one column satisfies the model, from sizes and value counts."""
        raise NotImplementedError


def judged(model: Model, groups: Groups) -> tuple[Flags, Longs]:
    """Return, for groups of one histogram each, what `SensitiveModel.judge` does; of other models nothing is known."""
    if isinstance(model, SensitiveModel):
        return model.judge(groups.sizes, groups.sensitive[0])
    return model.holds(groups), np.zeros(len(groups), np.int64)


Number = int | float | Fraction

ROOM = 2**62
"""Whole numbers below this are told apart exactly, two of them added too."""

_NEAR = 1e-9
_SIMPLE = 10**6


def whole_number(name: str, value: object, least: int = 1) -> None:
    """Raise UsageError unless the value is a whole number that is not below the least.

    >>> whole_number("k", 0)
    Traceback (most recent call last):
    treeanon.errors.UsageError: k must be a whole number from 1 to 2,147,483,647
    """
    most = 2**31 - 1
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(f"{name} must be a whole number from {least} to {most:,}")


def exact(name: str, value: object, least: int = 0, most: int | None = None, *, above: bool = False) -> Fraction:
    """Return the number as the simple fraction that a float means; UsageError if it is out of bounds.

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
    found = _simple(value) if isinstance(value, float) else Fraction(value)
    if found < least or (above and found == least) or (most is not None and found > most):
        raise problem
    return found


@lru_cache(maxsize=64)
def _simple(value: float) -> Fraction:
    simple = Fraction(value).limit_denominator(_SIMPLE)
    return simple if float(simple) == value else Fraction(repr(value))


def at_most(part: Longs, of: Longs, limit: Fraction) -> Flags:
    """Return whether part ≤ limit · of, for each pair, exactly for whole numbers.

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


def refuse_sets(model: Model, column: Column) -> None:
    """Raise UsageError for a model that cannot be asked of a column of sets: counts of members decide only shares."""
    if members_of(column) is not None and not (model.limits.is_all and model.limits.values <= 1):
        raise UsageError(
            f"column {column.name!r} holds sets, and a person has every member: {model.name} is for single values;"
            " ask for --diversity frequency or --alpha"
        )


def at_least(excess: Floats, flags: Flags) -> Longs:
    """Return a number of persons for each group that no rounding has made too large; one where a flag is not set.

    >>> at_least(np.array([2.3, 3 + 1e-12, 0.0, 0.0]), np.array([False, False, False, True])).tolist()
    [3, 3, 1, 0]
    """
    return np.maximum(np.ceil(excess * (1 - _NEAR) - _NEAR), ~flags).astype(np.int64)


def total_in(histogram: Histogram, what: Longs) -> Longs:
    """Return the sum over each group of an array with an entry for each of its values."""
    return np.add.reduceat(what, histogram.starts[:-1]) if len(what) else what


def most_in(histogram: Histogram, what: Longs) -> Longs:
    """Return the maximum in each group of an array with an entry for each of its values."""
    return np.maximum.reduceat(what, histogram.starts[:-1]) if len(what) else what


def shown(value: Number) -> str:
    """Return a parameter as it is written in names."""
    return f"{value:g}" if isinstance(value, float) else str(value)

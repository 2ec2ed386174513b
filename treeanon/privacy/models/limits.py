"""Limits of privacy models as exact numbers, comparisons that no rounding decides, and sums over groups."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from treeanon.errors import UsageError
from treeanon.kernels.tree.forest import Longs
from treeanon.privacy.models.model import Flags
from treeanon.table import Histogram

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

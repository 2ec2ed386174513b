"""The check of microaggregated columns: that rows which look alike have the mean or the median of their own values."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from treeanon.arrays import Longs
from treeanon.table import Column, Table
from treeanon.verifier.groups import group_rows

_SLACK = Fraction(1, 2)


def holds_aggregates(before: Table, after: Table, name: str) -> bool:
    """Return whether one column of published rows is what they have in the middle; row i is of row i `before`.

    The published number must be the mean or median of all rows that look alike, but for half a unit of its last place.
    """
    own, made = before.column(name), after.column(name)
    groups = group_rows(after.quasi, len(after))
    numbers, published = _values(own), _values(made)
    places = max((_places(text) for text in own.texts() if text is not None), default=0) + 2
    slack = _SLACK / 10**places
    for rows in _rows_by(groups):
        known = sorted(numbers[row] for row in rows if numbers[row] is not None)  # type: ignore[type-var]
        told = {published[row] for row in rows}
        if len(told) != 1:
            return False
        (number,) = told
        if number is None or not known:
            if number is not None or known:
                return False
            continue
        if abs(number - _middle(known, own.spec.controls.microaggregate)) > slack:  # type: ignore[arg-type]
            return False
    return True


def _values(column: Column) -> list[Fraction | None]:
    return [None if text is None else Fraction(Decimal(text)) for text in column.texts()]


def _places(text: str) -> int:
    exponent = Decimal(text).normalize().as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


def _rows_by(groups: Longs) -> list[list[int]]:
    order = np.argsort(groups, kind="stable")
    first = np.flatnonzero(np.diff(groups[order], prepend=-1))
    return [part.tolist() for part in np.split(order, first[1:])] if len(order) else []


def _middle(ordered: list[Fraction], how: str | None) -> Fraction:
    """Return the mean, or the value in the middle: of an even number the mean of the two there."""
    many = len(ordered)
    if how == "median":
        return (ordered[(many - 1) // 2] + ordered[many // 2]) / 2
    return sum(ordered, Fraction(0)) / many

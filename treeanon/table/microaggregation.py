"""Microaggregation: a column of numbers published as the mean or the median of each group of rows that look alike.

J. Domingo-Ferrer, J. M. Mateo-Sanz, "Practical Data-Oriented Microaggregation for Statistical Disclosure Control", IEEE
Transactions on Knowledge and Data Engineering 14(1), 2002. Groups are those of the search, to which the column belongs
as any other: rows that look alike still do, as all of them have one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import median

import numpy as np

from treeanon.arrays import Longs, unique_values
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.hierarchy.numbers import decimals_of, parse_number, shortest
from treeanon.kernels.table.groups import group_numbers
from treeanon.schema.model import ClassSpec
from treeanon.table.table import MISSING, Column, Table

MORE_DECIMALS = 2
"""A published number has so many decimals more than the values have."""


def microaggregated(made: Table, before: Table) -> Table:
    """Return generalized rows with the columns that are to be so as means or medians of the rows `before`, in order.

    >>> from treeanon.schema.controls import Controls
    >>> from treeanon.schema.model import ClassSpec
    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["35", "30-39", "*"], ["41", "40-49", "*"]])
    >>> spec = ClassSpec("age", type="integer", hierarchy=ages, controls=Controls(microaggregate="mean"))
    >>> before = Table((Column(spec, ages, ages.encode(["34", "35", "41"])),))
    >>> made = before.with_codes({"age": ages.encode(["30-39", "30-39", "40-49"])})
    >>> list(microaggregated(made, before).rows())
    [('34.5',), ('34.5',), ('41',)]
    """
    asked = [column for column in before.quasi if column.spec.controls.microaggregate]
    if not asked:
        return made
    sizes = [column.size + 1 for column in made.quasi]
    group, groups = group_numbers([column.places for column in made.quasi], sizes, len(made))
    found = {column.name: _aggregated(column, group, groups) for column in asked}
    return replace(made, columns=tuple(found.get(column.name, column) for column in made.columns))


def _aggregated(column: Column, group: Longs, groups: int) -> Column:
    """Return the column with one number for each group: that of its values, if there are any."""
    how = column.spec.controls.microaggregate
    numbers = numbers_of_values(column)
    digits = decimals_published(column)
    held: list[list[Fraction]] = [[] for _ in range(groups)]
    for at, code in zip(group.tolist(), column.codes.tolist(), strict=True):
        if code >= 0:
            held[at].append(numbers[code])
    texts = [shortest(round(_middle(own, how), digits)) if own else None for own in held]
    hierarchy = Hierarchy.flat(sorted({text for text in texts if text is not None}))
    code = [MISSING if text is None else hierarchy.code(text) for text in texts]
    return Column(published_spec(column.spec, hierarchy), hierarchy, np.array(code, np.int32)[group])


def _middle(numbers: Sequence[Fraction], how: str | None) -> Fraction:
    return Fraction(median(numbers)) if how == "median" else sum(numbers, Fraction(0)) / len(numbers)


def published_spec(spec: ClassSpec, hierarchy: Hierarchy) -> ClassSpec:
    """Return what is said of a published column: numbers as they stand, which no level bounds any more."""
    return replace(spec, type="number", hierarchy=hierarchy, hierarchy_source=None, controls=spec.controls.of_means)


def numbers_of_values(column: Column) -> dict[int, Fraction]:
    """Return the number of every value that occurs; UsageError if one is none."""
    found: dict[int, Fraction] = {}
    for code in unique_values(column.codes[column.codes >= 0]).tolist():
        number = parse_number(column.values[code], False)
        if number is None:
            raise UsageError(f"column {column.name!r}: microaggregate is for numbers, and some of its values are none")
        found[code] = Fraction(number)
    return found


def decimals_published(column: Column) -> int:
    """Return how many decimals a published number has at most."""
    numbers = numbers_of_values(column).values()
    return max(map(decimals_of, numbers), default=0) + MORE_DECIMALS

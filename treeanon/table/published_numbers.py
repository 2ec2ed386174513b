"""Numbers as they are published: ranges whose ends are of the hierarchy, and means or medians of groups.

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
from treeanon.table.covers import DOTS, OR_MISSING, Covers, leaf_ranks, parsed, ranked_nodes, set_text, value_ranks
from treeanon.table.table import MISSING, Column, Table


def with_round_ranges(table: Table) -> Table:
    """Return the table with its ranges made wider, up to the borders of the hierarchy's finest intervals.

    Rows that were alike still are, and ranges that become equal are one. UsageError for a column of ranges whose
    hierarchy has no intervals. Single values, and sets of them, stay as they are.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table.covers import Covers
    >>> ages = Hierarchy.from_paths([[str(n), f"{n // 10}0-{n // 10}9", "*"] for n in (21, 25, 34, 37, 41)])
    >>> covers = Covers.of(ages, [(0, 1), (0, 3), (1, 2)], [False] * 3, is_range=True)
    >>> column = replace(Table.of_texts({"age": (["21"] * 3, ages)}).columns[0], codes=np.arange(3), covers=covers)
    >>> list(with_round_ranges(Table((column,))).rows())
    [('20-29',), ('20-29 … 30-39',), ('20-29 … 30-39',)]
    """
    return replace(table, columns=tuple(map(_rounded, table.columns)))


def _rounded(column: Column) -> Column:
    covers, hierarchy = column.covers, column.hierarchy
    if covers is None:
        return column
    is_range = (np.diff(covers.starts) == 0) & (covers.low < covers.high)
    if not is_range.any():
        return column
    if hierarchy.height < 2:
        raise UsageError(
            f"class {column.name!r} has ranges, but its hierarchy has no intervals to round them to: give it one, such"
            " as { intervals = [5, 10, 20] }"
        )
    borders = _borders(hierarchy)
    texts: dict[str, int] = {}
    kept: list[tuple[int, int, tuple[int, ...], bool]] = []
    new = np.empty(len(covers) + 1, np.int32)
    new[-1] = -1
    for at in range(len(covers)):
        low, high, missing = int(covers.low[at]), int(covers.high[at]), bool(covers.missing[at])
        if is_range[at]:
            text, made = _range(hierarchy, int(borders[low]), int(borders[high]), missing)
        else:
            members = covers.members[covers.starts[at] : covers.starts[at + 1]].tolist()
            text, made = covers.texts[at], (low, high, tuple(members), missing)
        new[at] = texts.setdefault(text, len(kept))
        if new[at] == len(kept):
            kept.append(made)
    sizes = [len(members) for _, _, members, _ in kept]
    made_of = Covers(
        tuple(texts),
        np.array([low for low, _, _, _ in kept], np.int32),
        np.array([high for _, high, _, _ in kept], np.int32),
        np.append(0, np.cumsum(sizes)).astype(np.int64),
        np.array([rank for _, _, members, _ in kept for rank in members], np.int32),
        np.array([missing for _, _, _, missing in kept], np.bool_),
    )
    return replace(column, codes=new[column.codes], covers=made_of)


def _borders(hierarchy: Hierarchy) -> np.ndarray:
    """Return for every rank the node that its range is rounded to: the lowest above it, but never the root."""
    nodes = ranked_nodes(hierarchy)
    above = hierarchy.parent[nodes]
    return np.where(above > 0, above, nodes)


def _range(
    hierarchy: Hierarchy, first: int, last: int, missing: bool
) -> tuple[str, tuple[int, int, tuple[int, ...], bool]]:
    """Return the text of a range between two nodes, and what it stands for: ends, members, and a missing value."""
    end, ranks = hierarchy.end, value_ranks(hierarchy)
    if first <= last < end[first] or last <= first < end[last]:
        # One of them is within the other.
        return _one(hierarchy, min(first, last), missing)
    low, high = hierarchy.texts[first], hierarchy.texts[last]
    text = f"{low}{DOTS}{high}{OR_MISSING if missing else ''}"
    if parsed(text) != ([low, high], True, missing) or hierarchy.find(text) is not None:
        above = min(first, last)
        while not above <= max(first, last) < end[above]:
            above = int(hierarchy.parent[above])
        return _one(hierarchy, above, missing)
    return text, (leaf_ranks(hierarchy, ranks, first)[0], leaf_ranks(hierarchy, ranks, last)[-1], (), missing)


def _one(hierarchy: Hierarchy, node: int, missing: bool) -> tuple[str, tuple[int, int, tuple[int, ...], bool]]:
    """Return the text of a single node, and what it stands for."""
    members = leaf_ranks(hierarchy, value_ranks(hierarchy), node)
    text = set_text(hierarchy, [hierarchy.texts[node]], missing and node > 0)
    # Whatever is below the root may be missing as well.
    return text, (members[0], members[-1], tuple(members), missing or node == 0)


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

"""Groups of rows that look alike, counted for the check of a table: persons, and how many of them have each value.

Rows are sorted, and a group begins where a row differs from the one before it. The searches count in other ways, with
code of their own (`treeanon.table.histograms`, `treeanon.kernels.table`); neither uses the other's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treeanon.arrays import Flags, Ints, Longs, narrowed
from treeanon.hierarchy import Hierarchy
from treeanon.privacy.models.model import Group
from treeanon.table import Column, Table
from treeanon.table.reductions import members_of, persons_of


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Number of persons of each group with each value of one sensitive column.

    Entry i says that `count[i]` persons of group `group[i]` have the value `value[i]`; groups ascend, and so do the
    values in a group. A value is a node of `hierarchy`, or len(hierarchy) where it is missing. `whole` counts the
    values of the whole table, by value.
    """

    name: str
    group: Longs
    value: Longs
    count: Longs
    whole: Longs
    hierarchy: Hierarchy

    @property
    def first(self) -> Longs:
        """Return the first entry of each group."""
        return np.flatnonzero(_begins(self.group))


@dataclass(frozen=True, eq=False)
class CountedGroups:
    """Groups of a table: their persons, and the values of the sensitive column under check."""

    persons: Longs
    values: ValueCounts | None = None

    def __len__(self) -> int:
        return len(self.persons)

    def each(self) -> Iterator[Group]:
        """Yield the groups one by one, with values as texts, for models that check themselves."""
        found = self.values
        if found is None:
            yield from (Group(persons) for persons in self.persons.tolist())
            return
        texts = [*found.hierarchy.texts, None]
        whole = {texts[value]: int(found.whole[value]) for value in np.flatnonzero(found.whole).tolist()}
        entries = list(zip(found.value.tolist(), found.count.tolist(), strict=True))
        bounds = [*found.first.tolist(), len(entries)]
        for persons, start, end in zip(self.persons.tolist(), bounds, bounds[1:], strict=False):
            own = {texts[value]: count for value, count in entries[start:end]}
            yield Group(persons, own, whole, found.hierarchy)


def group_rows(columns: Sequence[Column], rows: int) -> Longs:
    """Return a number for every row, from 0 on: equal for rows that are equal, or lack the same, in all columns.

    >>> table = Table.of_texts({"x": (["a", None, "a", None, "b"], Hierarchy.flat(["a", "b"]))})
    >>> group_rows(table.columns, 5).tolist()
    [1, 0, 1, 0, 2]
    """
    return number_keys([column.codes for column in columns], rows)


def number_keys(keys: Sequence[Ints | Longs], rows: int) -> Longs:
    """Return a number for every row, from 0 on and in their order: equal for rows with equal keys."""
    if not keys or not rows:
        return np.zeros(rows, np.int64)
    keys = [narrowed(key) for key in keys]
    order = np.lexsort(keys[::-1])
    begins = _begins(*(one[order] for one in keys))
    numbers = np.empty(rows, np.int64)
    numbers[order] = np.cumsum(begins) - 1
    return numbers


def count_groups(table: Table, numbers: Longs, column: Column | None, whole: Longs | None = None) -> CountedGroups:
    """Return the groups of a table, where `numbers` says in which each row is; a person counts once in each of them.

    Of a column, each person counts once for each value, and for each member of a set; `whole` counts the values to
    compare with, if not the table's.

    >>> table = Table.of_texts({"ill": (["flu", "flu", "acne"], Hierarchy.flat(["flu", "acne"]))})
    >>> found = count_groups(table, np.array([0, 0, 0]), table.columns[0])
    >>> found.persons.tolist(), found.values.value.tolist(), found.values.count.tolist()
    ([3], [1, 2], [2, 1])
    """
    persons = _persons_by(table.person, numbers)[1]
    if column is None:
        return CountedGroups(persons)
    whole = count_values(column, table.person) if whole is None else whole
    column, person, rows = _single_values(column, table.person)
    (group, value), count = _persons_by(person, numbers[rows], _values(column))
    return CountedGroups(persons, ValueCounts(column.name, group, value, count, whole, column.hierarchy))


def count_values(column: Column, person: Ints | None) -> Longs:
    """Return how many persons have each value of a column; the last number is for a missing value."""
    column, person, _ = _single_values(column, person)
    (known,), times = _persons_by(person, _values(column))
    whole = np.zeros(len(column.hierarchy) + 1, np.int64)
    whole[known] = times
    return whole


def _single_values(column: Column, person: Ints | None) -> tuple[Column, Ints | None, Longs]:
    """Return a column with the members of sets one by one, the person of each, and its row in the table."""
    held = members_of(column)
    if held is None:
        return column, person, np.arange(len(column.codes))
    return held.column, persons_of(person, len(column.codes))[held.row].astype(np.int32), held.row


def _values(column: Column) -> Longs:
    codes = column.codes.astype(np.int64)
    return np.where(codes < 0, len(column.hierarchy), codes)


def _persons_by(person: Ints | None, *keys: Longs) -> tuple[tuple[Longs, ...], Longs]:
    """Return the different combinations of keys, ascending, and how many persons have rows with each."""
    if person is None and len(keys) == 1:
        times = np.bincount(keys[0])
        known = np.flatnonzero(times)
        return (known,), times[known]
    by: list[Ints | Longs] = [narrowed(key) for key in keys[::-1]]
    order = np.lexsort(by if person is None else [person, *by])
    keys = tuple(key[order] for key in keys)
    first = np.flatnonzero(_begins(*keys))
    is_counted = np.ones(len(order), np.bool_) if person is None else _begins(*keys, person[order])
    counted = np.append(0, np.cumsum(is_counted))
    return tuple(key[first] for key in keys), np.diff(counted[np.append(first, len(order))])


def _begins(*keys: Longs | Ints) -> Flags:
    """Return where sorted rows differ from the row before them; the first one does."""
    found = np.zeros(len(keys[0]), np.bool_)
    found[:1] = True
    for key in keys:
        found[1:] |= key[1:] != key[:-1]
    return found

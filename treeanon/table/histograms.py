"""Groups of a table's rows with their histograms, counted in persons; and groups put together to coarser ones.

Groups of rows that look alike, and what is counted of them: persons, and sensitive values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints, Longs
from treeanon.hierarchy import Hierarchy
from treeanon.table.reductions import members_of, persons_of
from treeanon.table.table import Column, Table


@dataclass(frozen=True)
class Histogram:
    """Counts of each sensitive value by group: group g has values[starts[g]:starts[g + 1]] and counts.

    Values ascend within a group; they are nodes of `hierarchy`, or len(hierarchy) for a missing one. `whole` counts
    every value in the whole table, by code.
    """

    name: str
    starts: Longs
    values: Ints
    counts: Longs
    whole: Longs
    hierarchy: Hierarchy


@dataclass(frozen=True)
class Groups:
    """Sizes of all groups in persons, and a histogram for each sensitive column."""

    sizes: Longs
    sensitive: tuple[Histogram, ...] = ()

    def __len__(self) -> int:
        return len(self.sizes)


Numbers = npt.NDArray[np.integer]

DENSE = 4
"""Up to so many cells per row a histogram is counted in a full array, which is quicker than sorting."""

_ROOM = 2**62


def groups_of(table: Table, numbers: Numbers, sensitive: Sequence[Column] | None = None) -> Groups:
    """Return the groups of a table by the group number of each row, with their sensitive histograms.

    Groups are numbered from 0 on and none is empty. A person with several rows in a group counts once there, and once
    for each of the different values; who has a set of values counts for each of its members.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"disease": (["flu", "flu", "acne"], Hierarchy.flat(["flu", "acne"]))})
    >>> groups = groups_of(table, np.array([0, 0, 0]), table.columns)
    >>> groups.sizes.tolist(), groups.sensitive[0].values.tolist(), groups.sensitive[0].counts.tolist()
    ([3], [1, 2], [2, 1])
    """
    of: Longs = np.asarray(numbers).astype(np.int64)
    if len(of) != len(table):
        raise ValueError("there must be one group number per row")
    if len(of) and of.min() < 0:
        raise ValueError("groups are numbered from 0 on")
    total = int(of.max()) + 1 if len(of) else 0
    persons = _persons(table.person)
    sizes = np.bincount(_once(of, persons), minlength=total)
    if not sizes.all():
        raise ValueError("every number up to the largest must have a row")
    columns = table.sensitive if sensitive is None else sensitive
    return Groups(sizes, tuple(_histogram(column, of, total, persons) for column in columns))


def whole_of(column: Column, person: Ints | None = None) -> Longs:
    """Return how many persons have each value of a column, by code; the last is for a missing one.

    >>> from treeanon.hierarchy import Hierarchy
    >>> whole_of(Table.of_texts({"x": (["a", None], Hierarchy.flat(["a", "b"]))}).columns[0]).tolist()
    [0, 1, 0, 1]
    """
    held = members_of(column)
    if held is not None:
        return whole_of(held.column, persons_of(person, len(column.codes))[held.row].astype(np.int32))
    return np.bincount(_once(column.places.astype(np.int64), _persons(person)), minlength=len(column.hierarchy) + 1)


def merged(groups: Groups, numbers: Numbers) -> Groups:
    """Return coarser groups, where `numbers` has the new group of each group.

    Persons are added up, so it is right only where nobody has rows in two groups that come together.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"disease": (["flu", "flu", "acne"], Hierarchy.flat(["flu", "acne"]))})
    >>> fine = groups_of(table, np.array([0, 1, 2]), table.columns)
    >>> coarse = merged(fine, np.array([1, 0, 1]))
    >>> coarse.sizes.tolist(), coarse.sensitive[0].starts.tolist(), coarse.sensitive[0].values.tolist()
    ([1, 2], [0, 1, 3], [1, 1, 2])
    """
    of: Longs = np.asarray(numbers).astype(np.int64)
    total = int(of.max()) + 1 if len(of) else 0
    sizes = np.zeros(total, np.int64)
    np.add.at(sizes, of, groups.sizes)
    if not sizes.all():
        raise ValueError("every number up to the largest must have a group")
    return Groups(sizes, tuple(_merged(histogram, of, total) for histogram in groups.sensitive))


def _merged(histogram: Histogram, numbers: Longs, total: int) -> Histogram:
    width = len(histogram.hierarchy) + 1
    keys = np.repeat(numbers, np.diff(histogram.starts)) * width + histogram.values
    if total * width <= DENSE * len(keys):
        dense = np.zeros(total * width, np.int64)
        np.add.at(dense, keys, histogram.counts)
        keys = np.flatnonzero(dense)
        counts = dense[keys]
    else:
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = _firsts(keys)
        counts = np.add.reduceat(histogram.counts[order], first) if len(keys) else np.zeros(0, np.int64)
        keys = keys[first]
    starts, values = _split(keys, total, width)
    return Histogram(histogram.name, starts, values, counts, histogram.whole, histogram.hierarchy)


def _histogram(column: Column, numbers: Longs, total: int, persons: Longs | None) -> Histogram:
    held = members_of(column)
    if held is not None:
        owners = persons_of(persons, len(numbers))[held.row]
        return _histogram(held.column, numbers[held.row], total, owners)
    width = len(column.hierarchy) + 1
    cells = column.places.astype(np.int64)
    keys = _once(numbers * width + cells, persons)
    if total * width <= DENSE * len(keys):
        dense = np.bincount(keys, minlength=total * width)
        keys = np.flatnonzero(dense)
        counts = dense[keys]
    else:
        keys, counts = _counted(keys)
    starts, values = _split(keys, total, width)
    whole = np.bincount(_once(cells, persons), minlength=width)
    return Histogram(column.name, starts, values, counts, whole, column.hierarchy)


def _once(keys: Longs, persons: Longs | None) -> Longs:
    """Return the keys of the rows, with equal keys of one person only once."""
    if persons is None or not len(keys):
        return keys
    several = int(persons.max()) + 1
    if int(keys.max()) < _ROOM // several:
        return _distinct(keys * several + persons) // several
    # As ranks the keys leave room for the persons in one number.
    known, ranks = np.unique(keys, return_inverse=True)
    once: Longs = known[_distinct(ranks * several + persons) // several]
    return once


def _distinct(keys: Longs) -> Longs:
    """Return the distinct keys, ascending."""
    keys = np.sort(keys)
    return keys[_firsts(keys)]


def _persons(person: Ints | None) -> Longs | None:
    """Return the persons of the rows, numbered without gaps; None if each has one row."""
    if person is None:
        return None
    known, ranks = np.unique(person, return_inverse=True)
    return None if len(known) == len(person) else ranks


def _counted(keys: Longs) -> tuple[Longs, Longs]:
    """Return the distinct keys, ascending, and how often each occurs."""
    keys = np.sort(keys)
    first = _firsts(keys)
    return keys[first], np.diff(np.append(first, len(keys)))


def _firsts(ascending: Longs) -> Longs:
    """Return where each run of equal keys begins."""
    return np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)])


def _split(keys: Longs, total: int, width: int) -> tuple[Longs, Ints]:
    """Return where each group begins among keys group * width + value, and the values."""
    starts = np.searchsorted(keys, np.arange(total + 1) * width)
    return starts, (keys % width).astype(np.int32)

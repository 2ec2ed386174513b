"""Publishing groups as permutations: exact quasi values and the group of each row in one table, and in another how
often each group has each sensitive value.

After Anatomy (Xiao and Tao, VLDB 2006). Nobody can tell which row of a group has which of its sensitive values. A
reader needs nothing but the two tables.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.errors import DataError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.randomness import generator
from treeanon.schema.model import ClassSpec
from treeanon.table.histograms import Groups, Histogram
from treeanon.table.table import Column, Table, same_codes

_WHOLE = re.compile("[1-9][0-9]{0,11}")


@dataclass(frozen=True, eq=False, repr=False)
class Permuted:
    """Two published tables: `records` with a row for each person, `values` with the values of each group.

    `group` and `count` are the names of the columns that were added: the group's number in both tables, and how many
    persons of the group have the value.
    """

    records: Table
    values: Table
    group: str = "group"
    count: str = "count"

    @property
    def sensitive(self) -> Column:
        """Return the column of the sensitive values."""
        return self.values.sensitive[0]

    def numbers(self) -> tuple[Longs, Longs]:
        """Return the group of every row of the records, and of the values, numbered from 0 as in `groups`."""
        both = same_codes(self.records.column(self.group), self.values.column(self.group))
        if not both.all():
            raise DataError("a row of a permuted release has no group")
        number = np.unique(both, return_inverse=True)[1].astype(np.int64)
        return number[: len(self.records)], number[len(self.records) :]

    def groups(self) -> Groups:
        """Return the groups of the two tables, with the histogram of their sensitive values.

        DataError where the two do not belong together.
        """
        column = self.sensitive
        number, listed = self.numbers()
        many = int(max(number.max(initial=-1), listed.max(initial=-1))) + 1
        sizes = np.bincount(number, minlength=many)
        counts = _whole_numbers(self.values.column(self.count))
        values = column.places
        order = np.lexsort((values, listed))
        listed, values, counts = listed[order], values[order], counts[order]
        if ((listed[1:] == listed[:-1]) & (values[1:] == values[:-1])).any():
            raise DataError("a group of a permuted release lists one sensitive value twice")
        total = np.zeros(many, np.int64)
        np.add.at(total, listed, counts)
        if not np.array_equal(total, sizes):
            raise DataError("the two tables of a permuted release do not have the same persons in each group")
        whole = np.zeros(len(column.hierarchy) + 1, np.int64)
        np.add.at(whole, values, counts)
        starts = np.searchsorted(listed, np.arange(many + 1))
        return Groups(sizes, (Histogram(column.name, starts, values, counts, whole, column.hierarchy),))

    def diversity(self) -> int:
        """Return the largest ℓ such that no value has more than 1/ℓ of any group, from the two tables alone.

        0 if there is no group.
        """
        groups = self.groups()
        return int((groups.sizes // most_of(groups)).min()) if len(groups) else 0


def most_of(groups: Groups) -> Longs:
    """Return the number of persons of each group with its most frequent value."""
    histogram = groups.sensitive[0]
    return np.maximum.reduceat(histogram.counts, histogram.starts[:-1]) if len(groups) else np.zeros(0, np.int64)


def permuted(table: Table, group: Longs | Ints, seed: int | None = None) -> Permuted:
    """Return the two tables for a table and the group of every row; rows of group -1 are left out.

    The rows of both and the numbers of the groups are in random order, which only a `seed` makes repeatable, for tests.

    >>> columns = {"age": (["1", "2"], Hierarchy.flat("12")), "ill": (["flu", "acne"], Hierarchy.flat(["flu", "acne"]))}
    >>> found = permuted(Table.of_texts(columns, roles={"ill": "sensitive"}), np.array([0, 0]), seed=1)
    >>> sorted(found.records.rows()), sorted(found.values.rows()), found.diversity()
    ([('1', '1'), ('2', '1')], [('1', 'acne', '1'), ('1', 'flu', '1')], 2)
    """
    if len(table.sensitive) != 1:
        raise UsageError("a table is published as permutations by one sensitive column; give the others another role")
    if table.persons < len(table):
        raise UsageError("publishing as permutations is for one row a person")
    if len(group) != len(table):
        raise ValueError("there must be one group number per row")
    rng = generator(seed)
    names = {name for column in table.columns for name in (column.name, column.header)}
    group_name, count_name = free_name("group", names), free_name("count", names)
    rows = rng.permutation(np.flatnonzero(group >= 0))
    known, number = np.unique(group[rows], return_inverse=True)
    number = rng.permutation(len(known))[number].astype(np.int64)
    sensitive = table.sensitive[0]
    width = sensitive.size + 1
    keys, counts = np.unique(number * width + sensitive.codes[rows] + 1, return_counts=True)
    # Codes of values can tell in which order the input had them.
    order = rng.permutation(len(keys))
    keys, counts = keys[order], counts[order]
    rest = tuple(column for column in table.take(rows).columns if column.role != "sensitive")
    records = Table((*rest, _numbers(group_name, number + 1)))
    values = Table(
        (
            _numbers(group_name, keys // width + 1),
            Column(sensitive.spec, sensitive.hierarchy, (keys % width - 1).astype(np.int32), sensitive.covers),
            _numbers(count_name, counts.astype(np.int64)),
        )
    )
    return Permuted(records, values, group_name, count_name)


def _numbers(name: str, numbers: Longs) -> Column:
    """Return a column of whole numbers, which is published as it is."""
    known, of = np.unique(numbers, return_inverse=True)
    texts = [str(number) for number in known.tolist()]
    hierarchy = Hierarchy.flat(texts)
    codes = np.asarray(hierarchy.encode(texts), np.int32)
    return Column(ClassSpec(name, role="keep", type="integer"), hierarchy, codes[of].astype(np.int32))


def free_name(name: str, names: Set[str]) -> str:
    """Return the name with as many underscores appended as make it unused."""
    while name in names:
        name += "_"
    return name


def _whole_numbers(column: Column) -> Longs:
    """Return the counts of a column; DataError for a value that is no count."""
    texts = column.values
    codes, of = np.unique(column.codes, return_inverse=True)
    found = ["" if code < 0 else texts[code] for code in codes.tolist()]
    if any(not _WHOLE.fullmatch(text) for text in found):
        raise DataError("the counts of a permuted release must be whole numbers from 1")
    return np.array([int(text) for text in found], np.int64)[of]

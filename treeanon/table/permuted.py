"""Publishing groups as permutations: exact quasi values and the group of each row in one table, and in another how
often each group has each sensitive value.

After Anatomy (Xiao and Tao, VLDB 2006). Nobody can tell which row of a group has which of its sensitive values. A
reader needs nothing but the two tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.errors import DataError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.trees import Ints, Longs
from treeanon.schema.model import ClassSpec
from treeanon.table.table import Column, Table


@dataclass(frozen=True, eq=False, repr=False)
class Permuted:
    """The two tables: `records` has a row a person, `values` one for each sensitive value of each group.

    `group` and `count` are the names of the columns that were added: the group's number in both tables, and how many
    persons of the group have the value.
    """

    records: Table
    values: Table
    group: str = "group"
    count: str = "count"

    @property
    def sensitive(self) -> Column:
        """The column of the sensitive values."""
        return self.values.sensitive[0]

    def groups(self) -> tuple[Longs, Longs]:
        """Of every group the persons that its values add up to, and how many have the most frequent value.

        DataError where the two tables do not belong together.
        """
        records, values = self.records.column(self.group).texts(), self.values.column(self.group).texts()
        known, number = np.unique(np.array([*records, *values], np.str_), return_inverse=True)
        sizes = np.bincount(number[: len(records)], minlength=len(known))
        listed = number[len(records) :]
        counts = np.array([_whole(text) for text in self.values.column(self.count).texts()], np.int64)
        pairs = listed.astype(np.int64) * (self.sensitive.size + 1) + self.sensitive.codes + 1
        if len(np.unique(pairs)) < len(pairs):
            raise DataError("a group of a permuted release lists one sensitive value twice")
        total = np.zeros(len(known), np.int64)
        most = np.zeros(len(known), np.int64)
        np.add.at(total, listed, counts)
        np.maximum.at(most, listed, counts)
        if not np.array_equal(total, sizes):
            raise DataError("the two tables of a permuted release do not have the same persons in each group")
        return total, most

    def diversity(self) -> int:
        """The largest ℓ such that no value has more than 1/ℓ of any group, from nothing but the two tables.

        0 if there is no group.
        """
        total, most = self.groups()
        return int((total // most).min()) if len(total) else 0


def permuted(table: Table, group: Longs | Ints, seed: int | None = None) -> Permuted:
    """The two tables for a table and the group of every row; rows of group -1 are left out.

    The rows and the numbers of the groups are in random order, which only a `seed` makes repeatable, for tests.

    >>> columns = {"age": (["1", "2"], Hierarchy.flat("12")), "ill": (["flu", "acne"], Hierarchy.flat(["flu", "acne"]))}
    >>> found = permuted(Table.of_texts(columns, roles={"ill": "sensitive"}), np.array([0, 0]), seed=1)
    >>> sorted(found.records.rows()), list(found.values.rows()), found.diversity()
    ([('1', '1'), ('2', '1')], [('1', 'flu', '1'), ('1', 'acne', '1')], 2)
    """
    if len(table.sensitive) != 1:
        raise UsageError("a table is published as permutations by one sensitive column; give the others another role")
    if table.persons < len(table):
        raise UsageError("publishing as permutations is for one row a person")
    if len(group) != len(table):
        raise ValueError("there must be one group number per row")
    rng = np.random.default_rng(seed)
    names = {column.name for column in table.columns}
    group_name, count_name = _free("group", names), _free("count", names)
    rows = rng.permutation(np.flatnonzero(group >= 0))
    known, number = np.unique(group[rows], return_inverse=True)
    number = rng.permutation(len(known))[number].astype(np.int64)
    sensitive = table.sensitive[0]
    width = sensitive.size + 1
    keys, counts = np.unique(number * width + sensitive.codes[rows] + 1, return_counts=True)
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
    """A column of whole numbers, which is published as it is."""
    known, of = np.unique(numbers, return_inverse=True)
    texts = [str(number) for number in known.tolist()]
    hierarchy = Hierarchy.flat(texts)
    codes = np.asarray(hierarchy.encode(texts), np.int32)
    return Column(ClassSpec(name, role="keep", type="integer"), hierarchy, codes[of].astype(np.int32))


def _free(name: str, names: set[str]) -> str:
    """The name, with as many underscores as make it a new one."""
    while name in names:
        name += "_"
    return name


def _whole(text: str | None) -> int:
    """A count as a number; DataError if it is none."""
    if text is None or not text.isdecimal() or int(text) < 1:
        raise DataError("the counts of a permuted release must be whole numbers from 1")
    return int(text)

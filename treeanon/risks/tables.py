"""Who can be singled out in a table: by any few of its quasi columns, and by all of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Longs, unique_values
from treeanon.errors import UsageError
from treeanon.kernels.table.groups import group_numbers
from treeanon.privacy.uniqueness import ESTIMATORS, unique_persons
from treeanon.progress import Progress
from treeanon.risks.model import MOST_COMBINATIONS, Combination, Risk, RowRisk, Share, Uniqueness, share_of
from treeanon.table import Column, Table
from treeanon.table.histograms import groups_of
from treeanon.verifier.groups import count_groups, group_rows
from treeanon.verifier.population import population_counts


def numbers_of(columns: Sequence[Column], rows: int) -> Longs:
    """Return a number for every row, from 0 on: equal for rows that are equal, or lack the same, in all columns."""
    return group_numbers([column.codes + 1 for column in columns], [column.size + 1 for column in columns], rows)[0]


Packed = npt.NDArray[np.uint8]
Sets = dict[tuple[int, ...], Packed]

_MOST_BYTES = 1 << 30


def risk_of_table(
    table: Table,
    *,
    k: int = 5,
    m: int = 4,
    seconds: float | None = 30.0,
    population: Table | None = None,
    population_size: int | None = None,
    progress: Progress | None = None,
) -> Risk:
    """Return the share of persons that up to m quasi columns, and all of them, single out from fewer than k.

    Everybody is counted. Larger sets of columns that do not fit into `seconds` (None: however long it takes) are left
    out, and the `m` of the result says so. A missing value is a value of its own. A `population`, whom those in the
    table are a part of, makes the journalist's risk: see `RowRisk` and `population_counts`. From its size, or from
    `population_size` alone, it is estimated how many persons are unique in it.

    >>> from treeanon.hierarchy import Hierarchy
    >>> ages, sexes = Hierarchy.flat(["34", "41"]), Hierarchy.flat(["f", "m"])
    >>> table = Table.of_texts({"age": (["34", "34", "41", "41"], ages), "sex": (["f", "f", "f", "m"], sexes)})
    >>> risk = risk_of_table(table, k=2, m=2)
    >>> [risk.at(m).share for m in (1, 2)], risk.whole.marketer
    ([0.25, 0.5], 0.75)
    >>> [(one.text, one.persons) for one in risk.combinations]
    [('sex', 1), ('age + sex', 1)]
    """
    if k < 2 or m < 1 or (seconds is not None and seconds <= 0):
        raise UsageError("k must be at least 2, m at least 1, and the time more than no seconds")
    begun = time.perf_counter()
    distinct = _DistinctRows.of(table)
    until = None if seconds is None else begun + seconds
    below, alone, found = _by_columns(distinct, k, m, until, progress)
    return Risk(
        "table",
        k,
        len(below),
        0,
        distinct.persons,
        distinct.persons,
        "exact",
        tuple((share,) for share in below),
        tuple((share,) for share in alone),
        tuple(sorted(found, key=lambda one: (-one.persons, len(one.classes), one.classes))[:MOST_COMBINATIONS]),
        replace(_all_columns(distinct, k, population), uniqueness=_uniqueness(table, population, population_size)),
        time.perf_counter() - begun,
        _largest_l(table),
    )


def _uniqueness(table: Table, population: Table | None, size: int | None) -> Uniqueness | None:
    """Return how many persons are estimated to be unique in a population of that size, if it is known."""
    if population is not None and size is not None:
        raise UsageError("a population that is given has a size: leave out population_size")
    size = len(population) if population is not None else size
    if size is None or not len(table):
        return None
    sizes = count_groups(table, group_rows(table.quasi, len(table)), None).persons
    if int(sizes.sum()) > size:
        if population is not None:
            return None
        raise UsageError(f"a population of {size:,} persons is smaller than the table")
    found = {name: unique_persons(sizes, size, name) for name in ESTIMATORS}
    return Uniqueness(size, **found)


def _largest_l(table: Table) -> dict[str, int | None]:
    """Return the largest l of every sensitive column, over all groups of rows that look alike."""
    numbers = group_rows(table.quasi, len(table))
    found: dict[str, int | None] = {}
    for column in table.sensitive:
        groups = count_groups(table, numbers, column)
        values = groups.values
        found[column.name] = None
        if values is not None and len(values.count):
            found[column.name] = int((groups.persons[values.group] // values.count).min())
    return found


@dataclass(frozen=True, eq=False)
class _DistinctRows:
    """Distinct rows of a table where each is a person; `weight` counts the equal rows."""

    table: Table
    quasi: tuple[Column, ...]
    weight: Longs | None
    persons: int

    @classmethod
    def of(cls, table: Table) -> _DistinctRows:
        if table.person is not None:
            return cls(table, table.quasi, None, table.persons)
        alike = numbers_of(table.quasi, len(table))
        example, weight = np.unique(alike, return_index=True, return_counts=True)[1:]
        rows = table.take(example)
        return cls(rows, rows.quasi, weight.astype(np.int64), len(table))

    def sizes(self, columns: tuple[int, ...]) -> Longs:
        """Return, for every row, the number of persons with equal values in these columns."""
        numbers = numbers_of([self.quasi[column] for column in columns], len(self.table))
        if self.weight is None:
            return groups_of(self.table, numbers, ()).sizes[numbers]
        counts = np.zeros(int(numbers.max(initial=-1)) + 1, np.int64)
        np.add.at(counts, numbers, self.weight)
        return counts[numbers]

    def count(self, rows: Flags) -> int:
        """Return the number of persons of some rows."""
        if self.weight is not None:
            return int(self.weight[rows].sum())
        assert self.table.person is not None
        return len(unique_values(self.table.person[rows]))


def _by_columns(
    distinct: _DistinctRows, k: int, m: int, until: float | None, progress: Progress | None
) -> tuple[list[Share], list[Share], list[Combination]]:
    """Return the shares singled out (below k, alone) by 1, 2, … columns, and the minimal sets that do it."""
    many, rows = len(distinct.quasi), len(distinct.table)
    singled, single = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    below: list[Share] = []
    alone: list[Share] = []
    found: list[Combination] = []
    before: Sets = {}
    begun, checked = time.perf_counter(), 0
    for size in range(1, m + 1):
        if size > 1 and not _fits(many, size, rows, begun, checked, until):
            break
        now: Sets = {}
        for columns in combinations(range(many), size):
            sizes = distinct.sizes(columns)
            rare = sizes < k
            singled |= rare
            single |= sizes < 2
            found += _dangerous(distinct, columns, rare, before)
            now[columns] = np.packbits(rare)
            checked += 1
            if progress is not None:
                progress(checked, sum(comb(many, each) for each in range(1, m + 1)))
        before = now
        below.append(share_of(distinct.count(singled), distinct.persons, sampled=False))
        alone.append(share_of(distinct.count(single), distinct.persons, sampled=False))
    return below, alone, found


def _fits(many: int, size: int, rows: int, begun: float, checked: int, until: float | None) -> bool:
    """Return whether memory and time suffice for all sets of this size, by the time of the smaller ones."""
    if comb(many, size) * rows // 8 > _MOST_BYTES:
        return False
    now = time.perf_counter()
    return until is None or now + comb(many, size) * (now - begun) / max(checked, 1) <= until


def _dangerous(distinct: _DistinctRows, columns: tuple[int, ...], rare: Flags, before: Sets) -> Iterator[Combination]:
    """Yield the set of columns if it singles out persons whom no part of it does."""
    parts = [columns[:i] + columns[i + 1 :] for i in range(len(columns))] if len(columns) > 1 else []
    own = rare.copy()
    for part in parts:
        own &= np.unpackbits(before[part], count=len(rare)) == 0
    persons = distinct.count(own)
    if persons:
        names = tuple(distinct.quasi[column].name for column in columns)
        yield Combination(names, (), persons, persons / distinct.persons)


def _all_columns(distinct: _DistinctRows, k: int, population: Table | None) -> RowRisk:
    """Return the risks against an attacker who knows all quasi columns."""
    alike = distinct.sizes(tuple(range(len(distinct.quasi))))
    people = alike
    absent = 0
    if population is not None:
        behind = population_counts(distinct.table, population)
        absent = distinct.count(behind < alike)
        people = np.maximum(alike, behind)
    smallest = int(alike.min(initial=np.iinfo(np.int64).max)) if len(alike) else 0
    least = int(people.min()) if len(people) else 0
    groups = numbers_of(distinct.quasi, len(distinct.table))
    return RowRisk(
        int(groups.max(initial=-1)) + 1,
        smallest,
        share_of(distinct.count(alike < k), distinct.persons, sampled=False),
        share_of(distinct.count(alike < 2), distinct.persons, sampled=False),
        1 / smallest if smallest else 0.0,
        (1 / least if least else 0.0) if population is not None else None,
        _mean_chance(distinct, people),
        None if population is None else len(population),
        absent,
    )


def _mean_chance(distinct: _DistinctRows, people: Longs) -> float:
    """Return the mean chance to find a person; of several rows of one, the most revealing counts."""
    if not distinct.persons:
        return 0.0
    if distinct.weight is not None:
        return float((distinct.weight / people).sum() / distinct.persons)
    assert distinct.table.person is not None
    known, person = np.unique(distinct.table.person, return_inverse=True)
    chance = np.zeros(len(known))
    np.maximum.at(chance, person, 1 / people)
    return float(chance.mean())

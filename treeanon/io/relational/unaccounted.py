"""Accounts for what reading left out, and for what identifies rows: keys that are not plain row numbers, rows of no
person.

In a release, keys are numbers of rows in random order, equal looked-up rows occur once, and every row with values
belongs to a person. Other inputs may have anything; their verification must report it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from treeanon.arrays import Ints
from treeanon.errors import UsageError
from treeanon.forest import ReadReport
from treeanon.io.relational.key_constraints import find_needs
from treeanon.io.relational.layout import distinct_rows
from treeanon.io.relational.plan import MOVED_TABLE, Plan, Stop
from treeanon.io.relational.source import TableInfo
from treeanon.schema.keys import ForeignKey, columns_text

if TYPE_CHECKING:
    import pyarrow as pa

Numbering = Literal["numbered", "ones", "other"]
"""Whether a column numbers its rows (all different, from 1 to their count), holds nothing but 1, or anything else."""


def numbering(column: pa.ChunkedArray) -> Numbering:
    """Return what a key column holds; null does not count.

    >>> import pyarrow as pa
    >>> [numbering(pa.chunked_array([values])) for values in ([2, 1], [1, 1, None], [7, 8], ["1"])]
    ['numbered', 'ones', 'other', 'other']
    """
    import pyarrow.compute as pc
    import pyarrow.types as of

    filled = len(column) - column.null_count
    if not filled:
        return "numbered"
    if not of.is_integer(column.type):
        return "other"
    found = pc.min_max(column)
    low, high = found["min"].as_py(), found["max"].as_py()
    if low == high == 1:
        return "ones"
    if low < 1 or high > len(column):
        return "other"
    seen = np.zeros(high + 1, bool)
    for chunk in column.chunks:
        seen[np.asarray(chunk.drop_null())] = True
    return "numbered" if np.count_nonzero(seen) == filled else "other"


@dataclass(frozen=True)
class Accounting(ABC):
    """What was read, for either engine's counts: the input's tables, the plan, how keys are numbered, table sizes."""

    infos: Mapping[str, TableInfo]
    plan: Plan
    numberings: Mapping[tuple[str, str], Numbering]
    sizes: Mapping[str, int]

    def give(self, report: ReadReport) -> None:
        """Add all counts to the report."""
        self.columns(report)
        self.tables(report)
        self.unreached(report)
        self.unmerged(report)

    @abstractmethod
    def present(self, stop: Stop) -> int:
        """Return how many rows all containers have at a stop."""

    @abstractmethod
    def held(self, stop: Stop, name: str) -> int:
        """Return in how many of these rows a column has a value; all rows, if it was not read."""

    @abstractmethod
    def unreached(self, report: ReadReport) -> None:
        """Count rows that hold values, but belong to no person by any path."""

    @abstractmethod
    def unmerged(self, report: ReadReport) -> None:
        """Count looked-up rows that equal others: which of them a row refers to reveals more than their values."""

    def is_fresh(self, table: str, column: str, seen: frozenset[tuple[str, str]] = frozenset()) -> bool:
        """Return whether a key column holds plain numbers: of its own rows, or of rows that it refers to."""
        at = table, column
        if self.numberings.get(at, "other") != "other":
            return True
        ways = (
            (key.target, key.target_columns[key.columns.index(column)])
            for key in self.plan.followed()
            if key.table == table and column in key.columns
        )
        return at not in seen and any(self.is_fresh(*way, seen | {at}) for way in ways)

    def fresh(self) -> frozenset[tuple[str, str]]:
        """Return the key columns that hold plain row numbers."""
        return frozenset(at for at in self.numberings if self.is_fresh(*at))

    def columns(self, report: ReadReport) -> None:
        """Count columns without a class, where there are rows; of keys only those that are not plain row numbers."""
        for stop in self.plan.stops:
            named = {*stop.columns.values(), *(stop.fixed or ())[:1], self.plan.record_column}
            for name in self.infos[stop.table].columns if self.present(stop) else ():
                at = stop.table, name
                if name in named:
                    continue
                if at in self.numberings:
                    if not self.is_fresh(*at):
                        report.keys[columns_text(stop.table, [name])] = self.sizes[stop.table]
                elif times := self.held(stop, name):
                    report.dropped.add(stop.place, name, times)

    def tables(self, report: ReadReport) -> None:
        """Report the tables that no path goes through."""
        visited = {stop.table for stop in self.plan.stops}
        visited |= {MOVED_TABLE + stop.table for stop in self.plan.stops if stop.is_container}
        report.unread_tables += [name for name in self.infos if name not in visited]

    def merges(self, stop: Stop) -> bool:
        """Return whether a release has equal rows of a looked-up table only once."""
        try:
            is_apart = find_needs(self.plan).keeps_apart(stop)
        except UsageError:  # a release cannot have this form
            is_apart = False
        return not is_apart and not any(other.is_container for other in self.plan.below(stop))


@dataclass(frozen=True)
class Accounts(Accounting):
    """Accounting of local columns: the codes of their values, what rows refer to, the rows of every stop."""

    codes: Mapping[tuple[str, str], Ints]
    targets: Mapping[ForeignKey, Ints]
    rows: list[Ints]

    def present(self, stop: Stop) -> int:
        """Return how many rows all containers have at a stop."""
        return int(np.count_nonzero(self.rows[stop.index] >= 0))

    def held(self, stop: Stop, name: str) -> int:
        """Return in how many of these rows a column has a value; all rows, if it was not read."""
        found = self.rows[stop.index]
        read = self.codes.get((stop.table, name))
        return self.present(stop) if read is None else int(np.count_nonzero(read[found[found >= 0]] >= 0))

    def unreached(self, report: ReadReport) -> None:
        """Count rows that hold values, but belong to no person by any path."""
        for table in dict.fromkeys(stop.table for stop in self.plan.stops):
            reached = np.zeros(self.sizes[table], bool)
            for stop, found in zip(self.plan.stops, self.rows, strict=True):
                if stop.table == table:
                    reached[found[found >= 0]] = True
            if reached.all():
                continue
            filled = np.zeros(len(reached), bool)
            for name in self.plan.valued(table):
                filled |= self.codes[table, name] >= 0
            if lost := int(np.count_nonzero(filled & ~reached)):
                report.unreached[table] += lost

    def unmerged(self, report: ReadReport) -> None:
        """Count looked-up rows that equal others: which of them a row refers to reveals more than their values."""
        numbers: dict[int, Ints] = {}
        for stop in reversed(self.plan.stops):
            if not stop.is_container:
                numbers[stop.index] = self._numbered(stop, numbers, report)

    def _numbered(self, stop: Stop, numbers: dict[int, Ints], report: ReadReport) -> Ints:
        """Return a number for every row of a looked-up table, the same for equal rows; -1 for those not used at the
        stop.
        """
        found = self.rows[stop.index]
        is_used = np.zeros(self.sizes[stop.table], bool)
        is_used[found[found >= 0]] = True
        used = np.flatnonzero(is_used)
        number = np.arange(len(used))
        if self.merges(stop):
            columns = [self.codes[stop.table, name][used] for name in stop.columns.values()]
            for other in self.plan.below(stop):
                assert other.link is not None
                target = self.targets[other.link.key][used]
                columns.append(np.where(target >= 0, np.append(numbers[other.index], -1)[target], -1).astype(np.int32))
            number, first = distinct_rows(columns, len(used))
            if len(first) < len(used):
                report.unmerged[stop.table] += len(used) - len(first)
        out = np.full(self.sizes[stop.table], -1, np.int32)
        out[used] = number
        return out

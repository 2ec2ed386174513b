"""What reading left out, and what says more than the trees do: keys that are no mere numbers, rows that nobody has.

A release of ours has keys that are numbers of rows in random order, equal looked-up rows once, and no row with values
that no person reaches. Other inputs may have anything; whoever verifies them must know of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from treeanon.errors import UsageError
from treeanon.forest import ReadReport
from treeanon.io.tables.needs import find_needs
from treeanon.io.tables.plan import MOVED_TABLE, Plan, Stop
from treeanon.io.tables.released import distinct_rows
from treeanon.io.tables.source import TableSource
from treeanon.kernels.trees import Ints
from treeanon.schema.keys import ForeignKey, columns_text

if TYPE_CHECKING:
    import pyarrow as pa

Numbering = Literal["numbered", "ones", "other"]
"""Whether a column numbers its rows (all different, from 1 to their count), holds nothing but 1, or anything else."""


def numbering(column: pa.ChunkedArray) -> Numbering:
    """What a key column holds; null does not count.

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
class Accounts:
    """What was read: the codes of columns, what rows refer to, how keys are numbered, the rows of every stop."""

    source: TableSource
    plan: Plan
    codes: Mapping[tuple[str, str], Ints]
    targets: Mapping[ForeignKey, Ints]
    numberings: Mapping[tuple[str, str], Numbering]
    sizes: Mapping[str, int]
    rows: list[Ints]

    def give(self, report: ReadReport) -> None:
        """Puts all into the report."""
        self.columns(report)
        self.tables(report)
        self.unreached(report)
        self.unmerged(report)

    def is_fresh(self, table: str, column: str, seen: frozenset[tuple[str, str]] = frozenset()) -> bool:
        """Whether a key column holds numbers that say nothing: of its own rows, or of rows that it refers to."""
        at = table, column
        if self.numberings.get(at, "other") != "other":
            return True
        ways = (
            (key.target, key.target_columns[key.columns.index(column)])
            for key in self.targets
            if key.table == table and column in key.columns
        )
        return at not in seen and any(self.is_fresh(*way, seen | {at}) for way in ways)

    def fresh(self) -> frozenset[tuple[str, str]]:
        """The key columns that hold numbers that say nothing."""
        return frozenset(at for at in self.numberings if self.is_fresh(*at))

    def columns(self, report: ReadReport) -> None:
        """Counts columns without a class, where there are rows; keys apart, unless they say nothing."""
        for stop, found in zip(self.plan.stops, self.rows, strict=True):
            present = found[found >= 0]
            named = {*stop.columns.values(), *(stop.fixed or ())[:1], self.plan.record_column}
            for name in self.source.tables()[stop.table].columns if len(present) else ():
                at = stop.table, name
                if name in named:
                    continue
                if at in self.numberings:
                    if not self.is_fresh(*at):
                        report.keys[columns_text(stop.table, [name])] = self.sizes[stop.table]
                    continue
                read = self.codes.get(at)
                times = len(present) if read is None else int(np.count_nonzero(read[present] >= 0))
                if times:
                    report.dropped.add(stop.place, name, times)

    def tables(self, report: ReadReport) -> None:
        """Names the tables that no path goes through."""
        visited = {stop.table for stop in self.plan.stops}
        visited |= {MOVED_TABLE + stop.table for stop in self.plan.stops if stop.is_container}
        report.unread_tables += [name for name in self.source.tables() if name not in visited]

    def unreached(self, report: ReadReport) -> None:
        """Counts rows that hold values, but that no person has by any path."""
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
        """Counts looked-up rows that are equal to others: which of them a row refers to says more than they do."""
        try:
            needs = find_needs(self.plan)
        except UsageError:  # a release of ours cannot have this form
            needs = None
        numbers: dict[int, Ints] = {}
        for stop in reversed(self.plan.stops):
            if not stop.is_container:
                is_apart = needs is not None and needs.keeps_apart(stop)
                numbers[stop.index] = self._numbered(stop, numbers, is_apart, report)

    def _numbered(self, stop: Stop, numbers: dict[int, Ints], is_apart: bool, report: ReadReport) -> Ints:
        """A number for every row of a looked-up table, the same for equal rows; -1 for those not used at the stop."""
        found = self.rows[stop.index]
        is_used = np.zeros(self.sizes[stop.table], bool)
        is_used[found[found >= 0]] = True
        used = np.flatnonzero(is_used)
        below = self.plan.below(stop)
        number = np.arange(len(used))
        if not is_apart and not any(other.is_container for other in below):
            columns = [self.codes[stop.table, name][used] for name in stop.columns.values()]
            for other in below:
                assert other.link is not None
                target = self.targets[other.link.key][used]
                columns.append(np.where(target >= 0, np.append(numbers[other.index], -1)[target], -1).astype(np.int32))
            number, first = distinct_rows(columns, len(used))
            if len(first) < len(used):
                report.unmerged[stop.table] += len(used) - len(first)
        out = np.full(self.sizes[stop.table], -1, np.int32)
        out[used] = number
        return out

"""What a release made of single rows of a table, and how much every row changed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Floats, Longs
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table.groups import groups_of
from treeanon.metrics.table.ncp import value_ncp
from treeanon.metrics.table.statistics import numbers_of
from treeanon.previews.model import RowChange
from treeanon.previews.scores import Scores
from treeanon.release import PermutedRelease, TableRelease
from treeanon.table import Column, Table


def row_changes(before: Table, release: TableRelease | PermutedRelease, numbers: Iterable[int]) -> list[RowChange]:
    """Return the changes of these rows of the input, in that order.

    The `change` of a row is the mean NCP (set) of its quasi-identifiers, with 0 for an unchanged value; it is 1 for a
    suppressed row. In a permuted release, only the sensitive value changes, to the values of the group; `change` is the
    share of the group with another value.

    >>> from treeanon.hierarchy import Hierarchy
    >>> import treeanon as ta
    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["35", "30-39", "*"], ["41", "40-49", "*"]])
    >>> table = ta.Table.of_texts({"age": (["34", "35", "41"], ages)})
    >>> for change in row_changes(table, ta.anonymize(table, k=2, max_suppressed=1), [0, 2]):
    ...     print(change.before, change.after, change.alike, change.change)
    ('34',) ('30-39',) 2 0.5
    ('41',) None 0 1.0
    """
    return RowTrace.of(before, release).changes(numbers)


@dataclass(frozen=True)
class RowTrace:
    """A table and the published row for each of its rows: row place[i] of `published`, or none (-1).

    `lost` holds the loss of every value, `change` that of every row, and `alike` the group sizes of published rows.
    """

    before: Table
    published: Table
    place: Longs
    lost: npt.NDArray[np.float64]
    change: Floats
    alike: Longs

    @classmethod
    def of(cls, before: Table, release: TableRelease | PermutedRelease) -> RowTrace:
        """Return the trace of a release of this table; UsageError if it is a release of another."""
        if isinstance(release, PermutedRelease):
            return _of_permuted(before, release)
        recoded, rows = release.recoded(before)
        if Table(recoded.columns) != Table(release.table.columns):
            raise UsageError("the release is not one of this table")
        place = _places(len(before), rows)
        lost = np.ones((len(before), len(before.columns)))
        for i, (own, column) in enumerate(zip(before.take(rows).columns, recoded.columns, strict=True)):
            lost[rows, i] = _losses(own, column)
        known = [i for i, column in enumerate(before.columns) if column.role == "quasi"]
        group, groups = groups_of(recoded)
        alike = np.bincount(group, minlength=groups)[group]
        return cls(before, recoded, place, lost, lost[:, known].mean(axis=1), alike)

    def scores(self) -> Scores:
        """Return the scores of all rows."""
        names = tuple(column.name for column in self.before.columns)
        size = np.ones(len(self.before), np.int64)
        return Scores(names, self.change, size, (self.lost > 0).astype(np.int32))

    def changes(self, numbers: Iterable[int]) -> list[RowChange]:
        """Return the changes of these rows."""
        wanted = list(numbers)
        for number in wanted:
            if not 0 <= number < len(self.before):
                raise UsageError(f"no row {number + 1:,}: the input has {len(self.before):,}")
        index = np.array(wanted, np.int64)
        there = [number for number in wanted if self.place[number] >= 0]
        before = list(self.before.take(index).rows())
        after = dict(zip(there, self.published.take(self.place[there]).rows(), strict=True)) if there else {}
        names = tuple(column.name for column in self.before.columns)
        return [
            RowChange(number, names, own, after.get(number), self._alike(number), float(self.change[number]))
            for number, own in zip(wanted, before, strict=True)
        ]

    def _alike(self, number: int) -> int:
        place = int(self.place[number])
        return 0 if place < 0 else int(self.alike[place])


def _places(size: int, rows: Longs) -> Longs:
    place = np.full(size, -1, np.int64)
    place[rows] = np.arange(len(rows))
    return place


def _losses(before: Column, after: Column) -> Floats:
    """Return the loss of every value of a column: its NCP, or 0 if it is unchanged."""
    if before.spec.controls.microaggregate:
        return _moves(before, after)
    if after.covers is None:
        same = before.codes == after.codes
    else:
        texts = np.array([*after.covers.texts, ""], object)[after.codes]
        same = texts == np.array([*before.values, ""], object)[before.codes]
    ncp = value_ncp(after, "set")
    # A missing value that may now be any value has lost the information that it was missing.
    return np.asarray(np.where(same, 0.0, np.where(before.codes < 0, 1.0, ncp[after.codes])))


def _moves(before: Column, after: Column) -> Floats:
    """Return how far every number is from its group's, as a share of the range; 1 where one of them is missing."""
    own, made = numbers_of(before), numbers_of(after)
    known = own[np.isfinite(own)]
    width = float(np.ptp(known)) if len(known) else 0.0
    far = np.minimum(np.abs(own - made) / (width or 1.0), 1.0)
    return np.where(np.isnan(own) & np.isnan(made), 0.0, np.where(np.isnan(far), 1.0, far))


def _of_permuted(before: Table, release: PermutedRelease) -> RowTrace:
    """Return the trace of a permuted release: the sensitive value of a row becomes those of its group."""
    group = release.found.group
    if len(group) != len(before):
        raise UsageError("the release is not one of this table")
    rows = np.flatnonzero(group >= 0)
    own = before.column(release.made.sensitive.name)
    texts = own.texts()
    held: dict[int, Counter[str | None]] = defaultdict(Counter)
    for row in rows.tolist():
        held[int(group[row])][texts[row]] += 1
    at = before.columns.index(own)
    lost = np.zeros((len(before), len(before.columns)))
    lost[group < 0] = 1.0
    lost[rows, at] = [1 - held[int(group[row])][texts[row]] / held[int(group[row])].total() for row in rows.tolist()]
    listed = {number: _listed(values) for number, values in held.items()}
    published = _with_texts(before.take(rows), own, [listed[int(group[row])] for row in rows.tolist()])
    alike = np.array([held[int(group[row])].total() for row in rows.tolist()], np.int64)
    return RowTrace(before, published, _places(len(before), rows), lost, lost[:, at], alike)


def _listed(values: Counter[str | None]) -> str:
    """Return the values of a group with how often each occurs, the most frequent first."""
    ordered = sorted(values.items(), key=lambda item: (-item[1], item[0] or ""))
    return ", ".join(f"{times} × {'missing' if text is None else text}" for text, times in ordered)


def _with_texts(table: Table, column: Column, texts: list[str]) -> Table:
    """Return the table with other texts in one column."""
    hierarchy = Hierarchy.flat(texts)
    changed = Column(column.spec, hierarchy, hierarchy.encode(texts))
    columns = tuple(changed if one.name == column.name else one for one in table.columns)
    return replace(table, columns=columns, report=None)

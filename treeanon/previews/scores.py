"""Scores of how much a release changed every record or row, computed on arrays to be fast for large inputs.

They select the records to show: typical ones, the most changed, or those in which a class changed.

Also what a release made of single rows of a table, and how much every row changed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.jit import read_only
from treeanon.kernels.tree.forest import depths, drop_nodes, move_disassociated
from treeanon.metrics.table.groups import groups_of
from treeanon.metrics.table.ncp import value_ncp
from treeanon.metrics.table.use import numbers_of
from treeanon.metrics.values import label_losses, released_as
from treeanon.previews.changes import GONE, MOVED, Recipe
from treeanon.previews.model import RowChange
from treeanon.release import PermutedRelease, Release, TableRelease
from treeanon.table import Column, Table

_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Scores:
    """For every record (or row): its change from 0 to 1, its size, and how many of its nodes changed in each class.

    `names` are the names of the classes (columns); `moved` says in which records a node has moved. With local recoding,
    `change` is an estimate, a class counts at most once in a record, and `moved` is unknown.
    """

    names: tuple[str, ...]
    change: Floats
    size: Longs
    changed: npt.NDArray[np.int32]
    moved: Flags | None = None


def forest_scores(before: Forest, release: Release) -> Scores:
    """Return the scores of all records of an input; `change` is that of `record_changes`, or an estimate of it for
    local recoding.
    """
    released = released_as(before, release.forest, release.kept)
    is_local = release.solution.cut is None
    change, changed, moved = (*_local(before, release.forest, released), None) if is_local else _global(before, release)
    sizes = np.diff(before.offsets)
    left_out = released < 0
    change[left_out] = 1.0
    changed[left_out] = _by_class(before, np.ones(before.nodes, np.bool_))[left_out]
    return Scores(before.classes.names, change, sizes, changed, moved)


def _global(before: Forest, release: Release) -> tuple[Floats, npt.NDArray[np.int32], Flags]:
    """Return the scores of a solution with a cut: exact, as every node can be followed."""
    recipe = Recipe.of(release.solution, before)
    published = recipe.published[before.label]
    gone, general = published == GONE, published != before.label
    moved = np.zeros(before.nodes, np.bool_)
    moved[~gone] = _moved(before, recipe, gone)
    kept = np.where(general, 1 - label_losses(before.classes)[published], 1.0) * np.where(moved, 1 - MOVED, 1.0)
    kept[gone | _left_out(before, release)] = 0.0
    sizes = np.maximum(np.diff(before.offsets), 1)
    change = np.bincount(_records(before), 1 - kept, len(before)) / sizes
    some = np.bincount(_records(before), moved, len(before)) > 0
    return change, _by_class(before, general | moved), some


def _left_out(before: Forest, release: Release) -> Flags:
    """Return which nodes are left out by rules: those whose label no node of the released record stands for."""
    solution = release.solution
    if not solution.left_out:
        return np.zeros(before.nodes, np.bool_)
    recipe = Recipe.of(solution, before)
    seen = recipe.published[before.label]
    released = released_as(before, release.forest, release.kept)
    size = len(before.classes)
    there = np.repeat(np.arange(len(release.forest)), np.diff(release.forest.offsets)) * size + release.forest.label
    gone: Flags = (seen != GONE) & ~np.isin(released[_records(before)] * size + seen, there)
    return gone


def _moved(before: Forest, recipe: Recipe, gone: Flags) -> Flags:
    """Return which of the remaining nodes have another parent than before."""
    offsets, parent, label = read_only(*drop_nodes(before.offsets, before.parent, before.label, gone))
    if not len(recipe.lower) or not recipe.published.any():
        return np.zeros(len(label), np.bool_)
    order = np.argsort(recipe.lower, kind="stable").astype(np.int32)
    starts = np.searchsorted(recipe.lower[order], np.arange(len(before.classes) + 1)).astype(np.int64)
    (seen,) = read_only(recipe.published[label])
    now = move_disassociated(offsets, parent, seen, starts, order, recipe.upper, recipe.lower)
    return np.asarray(now != parent)


def _local(before: Forest, after: Forest, released: Longs) -> tuple[Floats, npt.NDArray[np.int32]]:
    """Estimate the scores of local recoding: the loss of detail of a record, and which classes differ."""
    losses = label_losses(before.classes)
    detail = [np.bincount(_records(side), 1 - losses[side.label], len(side)) for side in (before, after)]
    there = np.append(detail[1], 0.0)[released]
    change = np.clip(1 - there / np.maximum(detail[0], 1e-9), 0.0, 1.0)
    change[detail[0] == 0] = 0.0
    fingerprints = [_fingerprints(side) for side in (before, after)]
    none = np.zeros((1, len(before.classes.names)), np.uint64)
    return change, (fingerprints[0] != np.concatenate([fingerprints[1], none])[released]).astype(np.int32)


def _records(forest: Forest) -> Longs:
    """Return the record of every node."""
    return np.repeat(np.arange(len(forest)), np.diff(forest.offsets))


def _by_class(forest: Forest, counted: Flags) -> npt.NDArray[np.int32]:
    """Return how many of the counted nodes each record has of each class."""
    kinds = len(forest.classes.names)
    own = counted & (forest.label > 0)
    keys = _records(forest)[own] * kinds + forest.classes.class_of[forest.label[own]]
    return np.bincount(keys, minlength=len(forest) * kinds).reshape(len(forest), kinds).astype(np.int32)


def _fingerprints(forest: Forest) -> npt.NDArray[np.uint64]:
    """Return a fingerprint of each record's values of each class and their depths."""
    kinds = len(forest.classes.names)
    depth: Ints = depths(forest.offsets, forest.parent)
    with np.errstate(over="ignore"):
        mixed = (forest.label.astype(np.uint64) * np.uint64(64) + depth.astype(np.uint64) + np.uint64(1)) * _MIX
        mixed ^= mixed >> np.uint64(29)
        mixed *= _MIX
    out = np.zeros((len(forest), kinds), np.uint64)
    own = forest.label > 0
    np.add.at(out, (_records(forest)[own], forest.classes.class_of[forest.label[own]]), mixed[own])
    return out


_NEAR = 64
"""Number of records near the median from which typical ones are chosen."""


def choose(scores: Scores, records: int, *, worst: bool = False, classes: Sequence[str] = ()) -> list[int]:
    """Return the numbers of typical records, or of the most changed ones, the most changed first.

    With `classes`, only records in which one of these changed are eligible. Typical records are near the median in
    change and size, and differ in what changed; if nodes moved in some record, the last one is an example. The choice
    is deterministic.

    >>> changed = np.array([[0], [1], [1], [2]], np.int32)
    >>> scores = Scores(("age",), np.array([0.0, 0.5, 0.4, 0.9]), np.array([1, 1, 1, 2]), changed)
    >>> choose(scores, 2), choose(scores, 2, worst=True), choose(scores, 9, classes=["age"], worst=True)
    ([1, 0], [3, 1], [3, 1, 2])
    """
    if records < 1:
        raise UsageError("records must be an integer of at least 1")
    wanted = _eligible(scores, classes)
    if worst:
        order = np.lexsort((wanted, -scores.change[wanted]))
        return [int(number) for number in wanted[order][:records]]
    chosen = _varied(scores, _near_middle(scores, wanted, max(records, _NEAR)), records)
    return _with_a_move(scores, wanted, chosen)


def check_classes(names: Sequence[str], classes: Sequence[str]) -> None:
    """Raise UsageError for an unknown class."""
    for name in classes:
        if name not in names:
            raise UsageError(f"unknown class {name!r}; choose from {', '.join(names)}")


def _eligible(scores: Scores, classes: Sequence[str]) -> Longs:
    check_classes(scores.names, classes)
    if not classes:
        return np.arange(len(scores.change))
    chosen = [scores.names.index(name) for name in classes]
    return np.flatnonzero(scores.changed[:, chosen].any(axis=1))


def _near_middle(scores: Scores, numbers: Longs, most: int) -> Longs:
    """Return the records nearest to the median change and the median size, the nearest first."""
    if not len(numbers):
        return numbers
    distance = np.zeros(len(numbers))
    for values in (scores.change[numbers], np.log1p(scores.size[numbers])):
        away = np.abs(values - np.median(values))
        distance += away / (np.median(away) or away.max() or 1.0)
    return numbers[np.argsort(distance, kind="stable")[:most]]


def _with_a_move(scores: Scores, numbers: Longs, chosen: list[int]) -> list[int]:
    """Return the chosen records; if no node moved in them, the last of several is replaced by one in which a node
    moved.
    """
    if scores.moved is None or len(chosen) < 2 or scores.moved[chosen].any() or not scores.moved[numbers].any():
        return chosen
    return [*chosen[:-1], int(_near_middle(scores, numbers[scores.moved[numbers]], 1)[0])]


def _varied(scores: Scores, numbers: Longs, records: int) -> list[int]:
    """Return the first of these records, then repeatedly the one that differs most from those chosen."""
    if not len(numbers):
        return []
    features = np.log1p(scores.changed[numbers].astype(np.float64))
    chosen = [0]
    nearest = np.abs(features - features[0]).sum(axis=1)
    while len(chosen) < min(records, len(numbers)):
        nearest[chosen] = -1.0
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.abs(features - features[chosen[-1]]).sum(axis=1))
    return [int(numbers[i]) for i in chosen]


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

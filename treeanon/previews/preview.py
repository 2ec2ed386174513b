"""Previews: a release of the input or of a sample, with a few records before and after. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, TypeVar, Unpack, overload

import numpy as np

from treeanon.api import anonymize, read_for_release
from treeanon.arrays import Longs, unique_values
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.forest.planting import comparable
from treeanon.forest.shifting import shifted
from treeanon.io.given import Data, Given
from treeanon.previews.changes import record_changes
from treeanon.previews.model import RecordChange, RowChange
from treeanon.previews.scores import RowTrace, check_classes, choose, forest_scores
from treeanon.release import PermutedRelease, Release, TableRelease
from treeanon.release.parameters import RowParameters, TreeParameters, shows
from treeanon.release.table_request import Publish
from treeanon.schema.load import SchemaLike
from treeanon.shown import Grid, Shown, Summary, percent
from treeanon.table import Table

D = TypeVar("D", Forest, Table)

RECORDS = 3
_AMONG = 10


@dataclass(frozen=True, repr=False)
class Preview(Shown):
    """Chosen records (or rows of a table) before and after a release that is not written.

    `release` is that of the whole input, or of a sample of `sampled` of its `records` records. The changes hold
    *original* values.
    """

    release: Release | TableRelease | PermutedRelease
    changes: tuple[RecordChange, ...] | tuple[RowChange, ...]
    records: int
    sampled: int | None = None

    def _summary(self) -> Summary:
        # The changes hold values of the data, and what is shown can end up in logs, tracebacks and saved notebooks.
        rows = [[one.number + 1, percent(one.change), "no" if one.after else "yes"] for one in self.changes]
        line = f"{len(self.changes)} of {self.records:,} records, {self.release!r}"
        note = "It shows no value; changes has the original ones, and treeanon.write_page makes a page of them."
        return Summary("Preview", line, grids=[Grid("Records", ["Record", "Changed", "Left out"], rows)], note=note)

    def as_dict(self) -> dict[str, Any]:
        """Return the preview as plain data; `changes` hold original values."""
        from treeanon.previews.model import plain_change

        return {
            "contains_original_data": True,
            "records": self.records,
            "sampled": self.sampled,
            "release": self.release.as_dict(),
            "changes": [plain_change(change) for change in self.changes],
        }


class PreviewParameters(TypedDict, total=False):
    """Which records a preview shows."""

    records: int
    worst: bool
    classes: str | Sequence[str]
    numbers: Sequence[int]
    sample: int | None


class TreePreviewParameters(PreviewParameters, TreeParameters, total=False):
    """All that can be asked of a preview of trees."""


class RowPreviewParameters(PreviewParameters, RowParameters, total=False):
    """All that can be asked of a preview of rows."""

    publish: Publish


@overload
def preview(data: Forest, **asked: Unpack[TreePreviewParameters]) -> Preview: ...
@overload
def preview(data: Table, **asked: Unpack[RowPreviewParameters]) -> Preview: ...
@overload
def preview(data: Data, *, schema: SchemaLike, **asked: Unpack[TreePreviewParameters]) -> Preview: ...
@overload
def preview(data: Data, *, schema: SchemaLike, **asked: Unpack[RowPreviewParameters]) -> Preview: ...
@shows(TreeParameters, RowParameters)
def preview(
    data: Any,
    *,
    schema: SchemaLike | None = None,
    records: int = RECORDS,
    worst: bool = False,
    classes: str | Sequence[str] = (),
    numbers: Sequence[int] = (),
    sample: int | None = None,
    **asked: Any,
) -> Preview:
    """Return records before and after the release that `treeanon.anonymize` would make; nothing is published.

    Parameters
        data: a Forest, a Table, or data with a schema as `treeanon.anonymize` takes them.
        schema: what is in the data, where they are no Forest or Table: a Schema, the path of one, or its TOML text.
        records: how many records are shown: typical ones, unless more is said.
        worst: show the most changed records.
        classes: show records in which one of these classes changed.
        numbers: show these records, counted from 0.
        sample: make the release of so many records drawn from the data, which is quicker and says less: what k persons
            share there, others may share on the whole.

    All other parameters are those of `treeanon.anonymize`.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "age"\\npath = "age"')
    >>> forest = ta.Forest.from_records(schema, [[["age", "34", []]], [["age", "34", []]], [["age", "35", []]]])
    >>> found = preview(forest, k=2, worst=True, records=1)
    >>> found, found.changes[0].before[0].value, found.changes[0].after[0].value
    (<Preview: 1 of 3 records, <Release: 3 records, 2^(2,1)-anonymous by maximal>>, '34', '*')
    """
    if not isinstance(data, Forest | Table):
        data = read_for_release(Given.of(data, schema, jobs=asked.get("jobs")), asked)
    named = (classes,) if isinstance(classes, str) else tuple(classes)
    chosen: dict[str, Any] = {"records": records, "worst": worst, "classes": named, "numbers": numbers}
    return previewed(data, lambda part: anonymize(part, **asked), sample=sample, **chosen)[1]


def previewed(
    data: D, release: Callable[[D], Any], *, numbers: Sequence[int] = (), sample: int | None = None, **chosen: Any
) -> tuple[D, Preview]:
    """Anonymize the data or a sample with `release`; return the data used and the preview."""
    if isinstance(data, Forest):
        # Both sides show moved dates: the span is for nobody to see.
        data = shifted(data)
    part, of = sampled(data, sample, numbers)
    # A search may take long, so invalid arguments are refused first.
    check_classes(
        data.classes.names[data.classes.types :] if isinstance(data, Forest) else [c.name for c in data.columns],
        chosen["classes"],
    )
    found = preview_of(part, release(part), numbers=_inside(of, numbers), **chosen)
    return part, found if of is None else in_terms_of(found, len(data), of)


def preview_of(
    data: Forest | Table,
    release: Release | TableRelease | PermutedRelease,
    records: int = RECORDS,
    *,
    worst: bool = False,
    classes: Sequence[str] = (),
    numbers: Sequence[int] = (),
) -> Preview:
    """Return the preview of a release of these data; see `preview`."""
    if isinstance(data, Forest):
        assert isinstance(release, Release)
        changes = _of_trees(comparable(data, release.forest), release, records, worst, classes, numbers)
        return Preview(release, tuple(changes), len(data))
    assert not isinstance(release, Release)
    trace = RowTrace.of(data, release)
    chosen = numbers or choose(trace.scores(), records, worst=worst, classes=classes)
    return Preview(release, tuple(trace.changes(chosen)), len(data))


def _of_trees(
    data: Forest, release: Release, records: int, worst: bool, classes: Sequence[str], numbers: Sequence[int]
) -> list[RecordChange]:
    """Return the changes of the chosen records. If scores are estimates, the worst are chosen among more."""
    if numbers:
        return record_changes(data, release, numbers)
    estimated = worst and release.solution.cut is None
    most = _AMONG * records if estimated else records
    found = record_changes(data, release, choose(forest_scores(data, release), most, worst=worst, classes=classes))
    return sorted(found, key=lambda change: -change.change)[:records] if estimated else found


def sampled(data: Forest | Table, size: int | None, numbers: Sequence[int] = ()) -> tuple[Any, Longs | None]:
    """Draw `size` persons, those of `numbers` included; return them with the numbers of their records or rows.

    Return all the data, and None, if there are no more persons. The draw is deterministic.
    """
    if size is not None and size < 1:
        raise UsageError("sample must be an integer of at least 1")
    of_person = data.person if isinstance(data, Table) else None
    persons = np.arange(len(data)) if of_person is None else unique_values(of_person)
    for number in numbers:
        if not 0 <= number < len(data):
            raise UsageError(f"no record {number + 1:,}: the input has {len(data):,}")
    if size is None or len(persons) <= size:
        return data, None
    order = persons[np.random.default_rng(0).permutation(len(persons))]
    wanted = np.array(numbers, np.int64)
    drawn = np.concatenate([wanted if of_person is None else of_person[wanted], order])
    _, first = np.unique(drawn, return_index=True)
    chosen = np.sort(drawn[np.sort(first)[:size]])
    rows = chosen if of_person is None else np.flatnonzero(np.isin(of_person, chosen))
    return data.take(rows), rows


def _inside(of: Longs | None, numbers: Sequence[int]) -> list[int]:
    """Return the numbers in a sample of records of the input."""
    return list(numbers) if of is None else [int(np.searchsorted(of, number)) for number in numbers]


def in_terms_of(found: Preview, records: int, of: Longs) -> Preview:
    """Return a preview of a sample with the record numbers of the input."""
    changes: Any = tuple(replace(change, number=int(of[change.number])) for change in found.changes)
    return replace(found, changes=changes, records=records, sampled=len(of))

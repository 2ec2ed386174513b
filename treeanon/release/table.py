"""From a table to a release, generalized or permuted: search, check by other code than the search's, measure.

A permuted release: two tables that tell who is in which group, and which sensitive values a group has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from treeanon.algorithms.table.freeform.graph import Freeform
from treeanon.algorithms.table.result import Partition, Result, scattered
from treeanon.arrays import Longs, unique_values
from treeanon.errors import DataError, GuaranteeError, HierarchyError
from treeanon.formats import ROWS
from treeanon.io.columns.frames import to_frame_like, typed_like
from treeanon.io.columns.permuted_files import files_of, read_permuted, write_permuted
from treeanon.io.output import Written
from treeanon.metrics.table import measure
from treeanon.metrics.table.measure import PermutedLosses, measure_permuted
from treeanon.privacy.models.model import Model, largest_k
from treeanon.progress import Progress, run_interruptibly, stage
from treeanon.release.table_release import TableRelease, by_role, released_schema
from treeanon.release.table_request import TableRequest, group_bound, recoded_by, table_request_of
from treeanon.release.table_search import only_closeness_fails, require, searches, table_counts
from treeanon.release.tree_request import check_seed, persons
from treeanon.shown import Shown, Summary
from treeanon.table import Column, Table
from treeanon.table.controls import as_known, weights_by_name
from treeanon.table.covers import reads_back, value_ranks
from treeanon.table.permuted import Permuted, permuted
from treeanon.verifier.freeform import FreeformVerdict, verify_freeform
from treeanon.verifier.permuted import PermutedVerdict, name_of, verify_permuted
from treeanon.verifier.table import TableVerdict, holds_aggregates, verify_table

if TYPE_CHECKING:
    from treeanon.io.memory import Records


@dataclass(frozen=True, repr=False)
class PermutedRelease(Shown):
    """A published pair of tables in whose groups all `models` hold, which `verdict` has found by counting.

    `made` has the tables: `records` with exact quasi values and a group number, `values` with how often each group has
    each sensitive value. It hides which value is whose, not who is in the table. `counts` has the rows and persons of
    the input and of the release, and what reading left out; `options` are those that the search was given.
    """

    made: Permuted
    models: tuple[Model, ...]
    found: Partition
    loss: PermutedLosses
    verdict: PermutedVerdict
    counts: Mapping[str, Any]
    options: Mapping[str, Any]
    max_suppressed: int | float | str = 0

    def _summary(self) -> Summary:
        names, lost = ", ".join(map(name_of, self.models)), self.loss._summary()
        line = f"{len(self.made.records):,} rows, {names} by {self.found.algorithm}"
        facts = [("verified", self.verdict.sentence), ("losses", lost.line), *lost.facts]
        return Summary("PermutedRelease", line, facts, lost.grids)

    @property
    def records(self) -> Table:
        """A row a person, in random order: the quasi values as they are, and the number of the group."""
        return self.made.records

    @property
    def values(self) -> Table:
        """A row for each sensitive value of each group, in random order: the group, the value, how many have it."""
        return self.made.values

    def write(
        self,
        target: str | Path,
        *,
        files: str = ROWS,
        force: bool = False,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> PermutedVerdict:
        """Write both tables as csv, tsv or parquet files in a folder or a zip; the verdict on what was written.

        Before it appears, what was written is read again; unless that gives exactly the published tables, and all
        models hold in their groups, GuaranteeError is raised and nothing appears. Rows come in random order; `seed`
        makes it repeatable, for tests.
        """
        kind = files_of(target, files)
        verdicts: list[PermutedVerdict] = []

        def check(written: Written) -> None:
            verdicts.append(
                run_interruptibly(lambda _: self._check(written, str(target)), stage(progress, "verifying"))
            )

        stage(progress, "writing")
        write_permuted(self.made, target, files=kind, force=force, seed=seed, check=check)
        return verdicts[-1]

    def _check(self, written: Written, name: str) -> PermutedVerdict:
        """Return the verdict on what was written, which is to become the file or folder of that name."""
        assert isinstance(written, Path)
        columns = (*(c for c in self.records.columns if c.name != self.made.group), self.made.sensitive)
        try:
            again = read_permuted(written, released_schema(columns, ROWS), called=name)
            same = again.records == self.records and again.values == self.values
            verdict = verify_permuted(again, self.models)
        except (DataError, HierarchyError) as problem:
            raise GuaranteeError(f"{name}: not published, for it could not be read again: {problem}") from None
        if not same:
            raise GuaranteeError(f"{name}: not published, for reading it again does not give the published tables")
        if not verdict.holds:
            raise GuaranteeError(f"{name}: not published, for the guarantee does not hold for what was written")
        return verdict

    def to_records(self, like: Records = ()) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the records and the values as dicts, in random order; missing values are None.

        What is published as it is has the types of rows that are `like` them.
        """
        records, values = (typed_like(t.to_arrow(), t, like).to_pylist() for t in (self.records, self.values))
        return records, values

    def to_frame(self, like: Any) -> tuple[Any, Any]:
        """Return the records and the values, as frames of the same library as another frame."""
        return to_frame_like(self.records, like, shuffle=False), to_frame_like(self.values, like, shuffle=False)

    def unprotected(self) -> dict[str, list[str]]:
        """Return the columns whose values are published as they are, by their role: all but the sensitive one."""
        return by_role(column for column in self.records.columns if column.name != self.made.group)

    def as_dict(self) -> dict[str, Any]:
        """Return the facts of the release as plain data, without a value of the data."""
        return {
            "publish": "permuted",
            "models": list(map(name_of, self.models)),
            "hidden": self.made.sensitive.name,
            "columns": {"group": self.made.group, "count": self.made.count},
            "verification": self.verdict.as_dict(),
            "algorithm": self.found.algorithm,
            "options": dict(self.options),
            "losses": self.loss.as_dict(),
            "counts": dict(self.counts),
            "suppressed": self.found.suppressed,
            "published_as_they_are": self.unprotected(),
            "search": dict(self.found.counts),
        }


def fulfill_permuted(
    request: TableRequest, table: Table, *, seed: int | None = None, progress: Progress | None = None
) -> PermutedRelease:
    """Return the permuted release of a table that a request asks for; `seed` orders its rows and groups, for tests."""
    table = request.controlled(table)
    told = request.told(table.columns)
    for found, models in searches(request, table, progress, seed):
        stage(progress, "verifying")
        assert isinstance(found, Partition)
        groups = found
        made = permuted(table, groups.group, seed)
        check_permuted(table, made, groups.group, persons(request.max_suppressed, table.persons))
        verdict = verify_permuted(made, models)
        if not only_closeness_fails(verdict, models):
            break
    if models != request.models:
        # What was reached is more than what was asked for, which the search need not be believed.
        require(verify_permuted(made, request.models), request.models)
    require(verdict, models)
    losses = measure_permuted(table, groups.group)
    counts = table_counts(table, made.records)
    return PermutedRelease(made, models, groups, losses, verdict, counts, told, request.max_suppressed)


def check_permuted(table: Table, made: Permuted, group: Longs, most: int) -> None:
    """GuaranteeError unless the two tables are those of enough rows of the input, each with a group."""
    wrong = GuaranteeError("the tables found are not those of the rows of the input: please report it")
    kept = np.flatnonzero(group >= 0)
    rows = table.take(kept)
    known = Table(tuple(column for column in rows.columns if column.role != "sensitive"))
    if Table(tuple(column for column in made.records.columns if column.name != made.group)) != known:
        raise wrong
    listed: Counter[int] = Counter()
    for code, text in zip(made.sensitive.codes.tolist(), made.values.column(made.count).texts(), strict=True):
        listed[code] += int(text or 0)
    if listed != Counter(rows.sensitive[0].codes.tolist()):
        raise wrong
    if len(table) - len(kept) > most:
        raise GuaranteeError("more persons are left out than was allowed: please report it")


@overload
def anonymize_table(table: Table, *, publish: Literal["permuted"], **asked: Any) -> PermutedRelease: ...
@overload
def anonymize_table(table: Table, *, publish: Literal["generalized"] = ..., **asked: Any) -> TableRelease: ...
def anonymize_table(
    table: Table, *, seed: int | None = None, progress: Progress | None = None, **asked: Any
) -> TableRelease | PermutedRelease:
    """Return a checked release of a table; `asked` are those of `treeanon.anonymize`, and parameters of the search.

    >>> from treeanon.hierarchy import Hierarchy
    >>> ages = Hierarchy.from_paths([["34", "30-39", "*"], ["35", "30-39", "*"], ["41", "40-49", "*"]])
    >>> release = anonymize_table(Table.of_texts({"age": (["34", "35", "41"], ages)}), k=2, max_suppressed=1)
    >>> release.verdict.holds, list(release.table.rows())
    (True, [('30-39',), ('30-39',)])
    """
    check_seed(seed)
    request = table_request_of(**asked)
    if request.publish == "permuted":
        return fulfill_permuted(request, table, seed=seed, progress=progress)
    return fulfill_table(request, table, seed=seed, progress=progress)


def fulfill_table(
    request: TableRequest, table: Table, *, seed: int | None = None, progress: Progress | None = None
) -> TableRelease:
    """Return the release of a table that a request asks for; `seed` orders its rows, for tests.

    Where rows may be left out, a release may fail to be as near to the rows published as its search meant it to be to
    the whole table. Then one without any left out is made too, and the better taken.
    """
    table = request.controlled(table)
    alone = replace(request, max_suppressed=0)
    compares = any(model.compares_with_table for model in request.models)
    if not compares or not persons(request.max_suppressed, table.persons):
        return _fulfilled(request, table, seed, progress)[0]
    try:
        release, tries = _fulfilled(request, table, seed, progress)
    except GuaranteeError as failed:
        try:
            return _fulfilled(alone, table, seed, progress)[0]
        except GuaranteeError:
            raise failed from None
    if tries == 1:
        return release
    try:
        other = _fulfilled(alone, table, seed, progress)[0]
    except GuaranteeError:
        return release
    return min(release, other, key=lambda one: one.loss.gcp_taxonomy)


def _fulfilled(
    request: TableRequest, table: Table, seed: int | None, progress: Progress | None
) -> tuple[TableRelease, int]:
    """Return the first release that holds, and how many searches that took."""
    told, tries = request.told(table.columns), 0
    for found, models in searches(request, table, progress, seed):
        tries += 1
        work = partial(_recoded_and_checked, request, table, found, models, seed)
        released, verdict = run_interruptibly(work, stage(progress, "verifying"))
        if not only_closeness_fails(verdict, models):
            break
    if models != request.models:
        # What was reached is more than what was asked for, which the search need not be believed.
        bound = group_bound(request.algorithm, request.options, table.columns)
        require(verify_table(as_known(released), request.models, bound=bound), request.models)
    return release_of(table, released, found, verdict, models, told, request.max_suppressed), tries


def _recoded_and_checked(
    request: TableRequest, table: Table, found: Result, models: tuple[Model, ...], seed: int | None, progress: Progress
) -> tuple[Table, TableVerdict | FreeformVerdict]:
    """Return the rows of a release, which are those of the input generalized, and the verdict on them.

    Groups of equal rows are verified; of a freeform release, who can be behind which row.
    """
    recoded, rows = recoded_by(found, table, request.told(table.columns))
    check_recoding(table, recoded, rows, persons(request.max_suppressed, table.persons))
    released = scattered(recoded, seed)
    if not isinstance(found, Freeform):
        bound = group_bound(request.algorithm, request.options, table.columns)
        return released, verify_table(as_known(released), models, bound=bound)
    return released, verify_freeform(table, as_known(released), largest_k(models))


def release_of(
    table: Table,
    released: Table,
    found: Result,
    verdict: TableVerdict | FreeformVerdict,
    models: tuple[Model, ...],
    options: Mapping[str, Any],
    max_suppressed: int | float | str = 0,
) -> TableRelease:
    """Return the release of what was found and checked; GuaranteeError unless it holds."""
    require(verdict, models)
    losses = measure(table, released, k=largest_k(models), weights=weights_by_name(table))
    counts = table_counts(table, released)
    delimiter = "" if table.report is None else table.report.delimiter
    return TableRelease(released, models, found, losses, verdict, counts, dict(options), max_suppressed, delimiter)


def check_recoding(table: Table, recoded: Table, rows: Longs, most: int | None) -> None:
    """GuaranteeError unless the rows published are those of the input made more general, and enough of them.

    Shares nothing with the searches: a value published must stand for the value that the row had, in every column; and
    the persons who lose a row must be as many as may, if `most` says how many.
    """
    wrong = GuaranteeError("the rows found are not those of the input made more general: please report it")
    left = np.ones(len(table), np.bool_)
    left[rows] = False
    is_twice = np.count_nonzero(left) != len(table) - len(rows)
    if is_twice or len(recoded) != len(rows) or rows.min(initial=0) < 0:
        raise wrong
    if [c.name for c in recoded.columns] != [c.name for c in table.columns]:
        raise wrong
    for before, after in zip(table.take(rows).columns, recoded.columns, strict=True):
        if before.spec.controls.microaggregate:
            if before.role != "quasi" or not holds_aggregates(table.take(rows), recoded, before.name):
                raise wrong
            continue
        same = after.covers is None and np.array_equal(before.codes, after.codes)
        if before.hierarchy != after.hierarchy or not (same or (before.role == "quasi" and _stands_for(before, after))):
            raise wrong
        if after.covers is not None and not reads_back(after.hierarchy, after.covers):
            raise GuaranteeError(
                f"column {after.name!r}: what is published would be read as other values than it means"
            )
    gone = int(left.sum()) if table.person is None else len(unique_values(table.person[left]))
    if most is not None and gone > most:
        raise GuaranteeError("more persons are left out than was allowed: please report it")


def _stands_for(before: Column, after: Column) -> bool:
    """Return whether every value published covers the value that the row had."""
    own, codes, hierarchy = before.codes, after.codes, before.hierarchy
    if after.covers is None:
        end = np.append(hierarchy.end, 0)
        below = (codes >= 0) & (own >= codes) & (own < end[codes])
        # A missing value stays missing, or becomes the root, as anything may.
        return bool((below | ((own < 0) & (codes <= 0))).all())
    covers = after.covers
    rank = np.append(value_ranks(hierarchy), -1)[own]
    inside = (codes >= 0) & (rank >= covers.low[codes]) & (rank <= covers.high[codes])
    listed = np.flatnonzero(inside & (np.diff(covers.starts)[codes] > 0))
    # Members ascend within a value, and values are numbered: one sorted array of pairs says what is a member of what.
    size = len(hierarchy) + 1
    pairs = np.repeat(np.arange(len(covers)), np.diff(covers.starts)) * size + covers.members
    inside[listed] = np.isin(codes[listed].astype(np.int64) * size + rank[listed], pairs)
    missing = (own < 0) & ((codes < 0) | covers.missing[codes])
    return bool((inside | missing).all())

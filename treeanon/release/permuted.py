"""From a table to a permuted release: groups by a search, published as two tables, checked by other code.

A permuted release: two tables that tell who is in which group, and which sensitive values a group has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treeanon.algorithms.table.partition import Partition
from treeanon.arrays import Longs
from treeanon.errors import DataError, GuaranteeError, HierarchyError
from treeanon.formats import ROWS
from treeanon.io.columns.frames import to_frame_like, typed_like
from treeanon.io.columns.permuted_files import files_of, read_permuted, write_permuted
from treeanon.io.output import Written
from treeanon.metrics.table.permuted import PermutedLosses, measure_permuted
from treeanon.privacy.models.model import Model
from treeanon.progress import Progress, run_interruptibly, stage
from treeanon.release.table_release import by_role, released_schema
from treeanon.release.table_request import TableRequest
from treeanon.release.table_search import only_closeness_fails, require, searches, table_counts
from treeanon.release.tree_request import persons
from treeanon.shown import Shown, Summary
from treeanon.table import Table
from treeanon.table.permuted import Permuted, permuted
from treeanon.verifier.permuted import PermutedVerdict, name_of, verify_permuted

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

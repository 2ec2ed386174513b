"""A release of a table: the rows to publish, how they were made, what that cost, and the check that they passed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treeanon.algorithms.table.result import Result
from treeanon.arrays import Longs
from treeanon.errors import DataError, GuaranteeError, HierarchyError
from treeanon.formats import FORMATS
from treeanon.io.columns.csv_dialect import given_delimiter
from treeanon.io.columns.frames import to_frame_like, typed_like
from treeanon.io.columns.read_table import read_table
from treeanon.io.columns.write_table import delimiter_for, table_format, write_table
from treeanon.io.output import Written
from treeanon.metrics.table import FlatLosses
from treeanon.privacy.models.model import Model, asks_for_size, largest_k
from treeanon.progress import Progress, run_interruptibly, stage
from treeanon.release.table_request import group_bound, recoded_by
from treeanon.schema import Schema
from treeanon.schema.model import ClassSpec, InputSpec, Role
from treeanon.schema.paths import FieldPath, Step
from treeanon.shown import Shown, Summary
from treeanon.table import Column, Table
from treeanon.table.controls import of_hierarchy
from treeanon.verifier.freeform import FreeformVerdict
from treeanon.verifier.table import TableVerdict, verify_table

if TYPE_CHECKING:
    import pyarrow as pa

    from treeanon.io.memory import Records


@dataclass(frozen=True, repr=False)
class TableRelease(Shown):
    """A published table that satisfies all `models`, which `verdict` has found by counting.

    `table` has its rows in random order. `counts` has the rows and persons of the input and of the release, and what
    reading left out; `options` are those that the search was given.
    """

    table: Table
    models: tuple[Model, ...]
    found: Result
    loss: FlatLosses
    verdict: TableVerdict | FreeformVerdict
    counts: Mapping[str, Any]
    options: Mapping[str, Any]
    max_suppressed: int | float | str = 0
    delimiter: str = ""

    def _summary(self) -> Summary:
        names, lost = ", ".join(model.name for model in self.models), self.loss._summary()
        line = f"{len(self.table):,} rows, {names} by {self.found.algorithm}"
        facts = [("guarantee", self.sentence), ("verified", self.verdict.sentence), ("losses", lost.line), *lost.facts]
        return Summary("TableRelease", line, facts, lost.grids)

    def recoded(self, table: Table) -> tuple[Table, Longs]:
        """Return the rows of the table that it is a release of, as they are published; and their numbers."""
        return recoded_by(self.found, table, self.options)

    def write(
        self,
        target: str | Path,
        *,
        format: str | None = None,
        delimiter: str | None = None,
        force: bool = False,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> TableVerdict | FreeformVerdict:
        """Write the release as a CSV or Parquet file, and return the verdict on what was written.

        Before the file appears, what was written is read again; unless that gives exactly the published rows, and they
        satisfy all models, GuaranteeError is raised and nothing appears. A CSV file has the delimiter of the input
        unless another is given. Rows come in random order; `seed` makes it repeatable, for tests.
        """
        form = table_format(target, format)
        asked = self.delimiter if delimiter is None else given_delimiter(delimiter, form)
        between = delimiter_for(target, asked) if FORMATS[form].delimited else ""
        verdicts: list[TableVerdict | FreeformVerdict] = []

        def check(written: Written) -> None:
            found = run_interruptibly(
                lambda _: self._check(written, str(target), form, between), stage(progress, "verifying")
            )
            verdicts.append(found)

        stage(progress, "writing")
        write_table(self.table, target, format=form, delimiter=between, force=force, seed=seed, check=check)
        return verdicts[-1]

    def _check(self, written: Written, target: str, format: str, delimiter: str) -> TableVerdict | FreeformVerdict:
        """Return the verdict on what was written, which is to become `target`."""
        assert isinstance(written, Path)
        name = "standard output" if target == "-" else target
        try:
            schema = released_schema(self.table.columns, format, self.table.person_header)
            again = read_table(written, schema, format=format, delimiter=delimiter, published=True, called=name)
        except (DataError, HierarchyError) as problem:
            raise GuaranteeError(f"{name}: not published, for it could not be read again: {problem}") from None
        if again != Table(self.table.columns):
            raise GuaranteeError(f"{name}: not published, for reading it again does not give the published rows")
        # The file may not say which rows are of one person; nor is the input there, for a freeform release.
        told = self.table.person is None or self.table.person_header
        alone = told and isinstance(self.verdict, TableVerdict)
        bound = group_bound(self.found.algorithm, self.options, self.table.columns)
        verdict = verify_table(again, self.models, bound=bound) if alone else None
        if verdict is not None and not verdict.holds:
            raise GuaranteeError(f"{name}: not published, for the guarantee does not hold for what was written")
        return verdict or self.verdict

    def to_arrow(self) -> pa.Table:
        """Return the published rows as Arrow has them, in random order; missing values are null."""
        return self.table.to_arrow()

    def to_records(self, like: Records = ()) -> list[dict[str, Any]]:
        """Return the published rows as dicts, in random order; missing values are None.

        What is published as it is has the types of rows that are `like` them.
        """
        rows: list[dict[str, Any]] = typed_like(self.table.to_arrow(), self.table, like).to_pylist()
        return rows

    def to_frame(self, like: Any) -> Any:
        """Return the published rows as a frame of the same library as another frame; see `to_frame_like`."""
        return to_frame_like(self.table, like, shuffle=False)

    @property
    def sentence(self) -> str:
        """What is promised, for people."""
        if isinstance(self.verdict, FreeformVerdict):
            return freeform_promise(self.verdict.k)
        return promise(self.models)

    @property
    def warnings(self) -> list[str]:
        """What is wrong with the release although it holds: that no quasi column tells anything any more."""
        if not len(self.table) or not all(map(_tells_nothing, self.table.quasi)):
            return []
        asked = {"-k": True, "--l, --alpha, --p or --t": any(one.sensitive is not None for one in self.models)}
        less = " or ".join(name for name, is_asked in asked.items() if is_asked)
        return [
            "every quasi column is published as *, so that the release tells nothing of them: ask for less"
            f" ({less}), or allow more records to be left out (--max-suppressed)"
        ]

    def unprotected(self) -> dict[str, list[str]]:
        """Return the columns whose values are published as they are, by their role."""
        return by_role(column for column in self.table.columns if column.role != "quasi")

    def as_dict(self) -> dict[str, Any]:
        """Return the facts of the release as plain data, without a value of the data."""
        return {
            "models": [model.name for model in self.models],
            "verification": self.verdict.as_dict(),
            "algorithm": self.found.algorithm,
            "options": dict(self.options),
            "losses": self.loss.as_dict(),
            "counts": dict(self.counts),
            "suppressed": self.found.suppressed,
            "published_as_they_are": self.unprotected(),
            **{name: value for name, value in self.found.as_dict().items() if name in ("levels", "minimal")},
            "search": dict(self.found.counts),
            "warnings": self.warnings,
        }

    def write_solution(self, target: str | Path, *, force: bool = False) -> None:
        """Write the solution file, by which `apply` makes the same of other data. It is not for publishing."""
        from treeanon.release.reapply import TableSolution

        TableSolution.of(self).write(target, force=force)


def _tells_nothing(column: Column) -> bool:
    """Return whether nothing but the root of its hierarchy is published of a column."""
    return column.covers is None and column.hierarchy.height > 0 and not column.codes.any()


def promise(models: Sequence[Model]) -> str:
    """What these models promise together, for people.

    >>> from treeanon.privacy.models import KAnonymity
    >>> promise([KAnonymity(5)])
    'Whoever knows all quasi values of a person finds no person, or at least 5 alike.'
    """
    others = [model for model in models if not asks_for_size(model)]
    least = largest_k(models)
    asked = ", ".join(model.name for model in (models if least < 2 else others))
    if least < 2:
        return f"Rows with the same quasi values form a group, and every group satisfies: {asked}."
    found = f"Whoever knows all quasi values of a person finds no person, or at least {least:,} alike"
    return f"{found}; each group of persons alike also satisfies: {asked}." if asked else f"{found}."


def freeform_promise(k: int) -> str:
    """What a freeform release promises, for people."""
    return (
        f"Whoever knows all quasi values of a person finds at least {k:,} rows that can be theirs, and every row can"
        f" be that of at least {k:,} persons."
    )


def by_role(columns: Iterable[Column]) -> dict[str, list[str]]:
    """Return the names of columns by their role."""
    out: dict[str, list[str]] = {}
    for column in columns:
        out.setdefault("pseudonym" if column.spec.pseudonym else column.role, []).append(column.name)
    return out


def released_schema(columns: Iterable[Column], format: str, person: str = "") -> Schema:
    """Return the schema by which published columns are read: with the hierarchies that they were made by.

    `person` is the column that says which rows of a group are one person's, if there is one.
    """
    key = FieldPath((Step(person),)) if person else None
    return Schema(InputSpec(format, person=key), tuple(map(_as_published, columns)))


def _as_published(column: Column) -> ClassSpec:
    """What a schema says of a column of a release."""
    role: Role = "keep" if column.spec.pseudonym else column.spec.role
    path = FieldPath((Step(column.header),))
    return replace(
        column.spec, path=path, hierarchy=column.hierarchy, under=None, role=role, pseudonym=False,
        controls=of_hierarchy(column),
    )  # fmt: skip

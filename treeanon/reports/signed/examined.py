"""What a report tells of a release: read from the files themselves, and checked and measured anew."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.io.beyond.findings import found_beyond
from treeanon.io.beyond.look import look_beyond
from treeanon.io.compared import HowToRead, read_both, read_rows, refuse_more
from treeanon.io.reading import read
from treeanon.metrics.measure import compared_trees
from treeanon.metrics.table import measure
from treeanon.progress import Progress, run_interruptibly, stage
from treeanon.release.tree_release import unprotected_classes
from treeanon.reports.page.charts import sizes_of
from treeanon.reports.page.statement import AnyVerdict
from treeanon.reports.signed.law import Promise
from treeanon.risks import Risk, risk_of_table, risk_of_trees
from treeanon.risks.trees import one_more
from treeanon.schema import Schema
from treeanon.schema.controls import controls_of
from treeanon.schema.derive import as_released
from treeanon.schema.model import Objects
from treeanon.table import Table
from treeanon.table.compared import schema_as_published
from treeanon.table.controls import with_controls
from treeanon.verifier.freeform import verify_freeform
from treeanon.verifier.spans import GroupBound
from treeanon.verifier.table import verify_table
from treeanon.verifier.tree import as_counted, verify


@dataclass(frozen=True)
class HowTo:
    """How the files of a report are read and counted; the same way when it is checked.

    `spans` and `max_group_loss` are bounds of rows that are verified, too; `ignore` names content that does not
    matter. `csv_safe` and `follow_links` are what was said beside the schema.
    """

    how: HowToRead = field(default_factory=HowToRead)
    rows: bool = False
    objects: Objects | None = None
    spans: Mapping[str, Any] | None = None
    max_group_loss: float | None = None
    ignore: Collection[str] = ()
    csv_safe: bool = False
    follow_links: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data, but for the number of cores."""
        how: dict[str, Any] = {**self.how}
        how.pop("jobs", None)
        how.pop("show_values", None)
        return {
            "how": how, "rows": self.rows, "objects": self.objects,
            "spans": self.spans, "max_group_loss": self.max_group_loss, "ignore": list(self.ignore),
            "csv_safe": self.csv_safe, "follow_links": self.follow_links,
        }  # fmt: skip


def verdict_of(
    release: str, schema: Schema, promise: Promise, to: HowTo, original: str = "", progress: Progress | None = None
) -> tuple[AnyVerdict, Forest | Table]:
    """Return the verdict on the file of a release, as `treeanon verify` has it, and what was read of it."""
    schema = schema.with_objects(to.objects)
    if promise.guarantee is not None:
        forest = as_counted(read(release, as_released(schema), progress=progress, **to.how), promise.guarantee)
        counting = stage(progress, "verifying")
        found = verify(forest, promise.guarantee, jobs=to.how.get("jobs"), progress=counting)
        return _with_findings(release, as_released(schema), found, forest, to), forest
    if promise.freeform:
        before, after, strange = read_both(original, release, schema, {}, to.how, progress=progress)
        if strange:
            raise UsageError(f"{release}: has values that cover no value of {original}")
        verdict = run_interruptibly(lambda _: verify_freeform(before, after, promise.k), stage(progress, "verifying"))
        return _with_findings(release, as_released(schema), verdict, after, to), after
    as_read = as_released(schema)
    table = read_rows(release, as_read, {}, to.how, published=True, progress=progress)
    table = with_controls(table, controls_of({"spans": to.spans}))
    bound = None if to.max_group_loss is None else GroupBound(to.max_group_loss)
    checking = stage(progress, "verifying")
    checked = run_interruptibly(lambda _: verify_table(table, promise.models, measured=True, bound=bound), checking)
    return _with_findings(release, as_read, checked, table, to), table


def _with_findings(release: str, schema: Schema, verdict: AnyVerdict, data: Forest | Table, to: HowTo) -> Any:
    """Return the verdict with what the file holds beyond what was counted."""
    how = {name: value for name, value in to.how.items() if name in ("format", "delimiter", "on_error")}
    return found_beyond(verdict, look_beyond(release, schema, data, **how).without(to.ignore))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Measured:
    """What of a release and its original was measured: risks, losses and counts, as plain data of a report."""

    risk_after: Risk | None
    published: Mapping[str, int]
    roles: Mapping[str, list[str]]
    sizes_after: list[int] | None = None
    one_more: str = ""
    risk_before: Risk | None = None
    sizes_before: list[int] | None = None
    losses: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, Any] = field(default_factory=dict)
    strange: Mapping[str, int] = field(default_factory=dict)
    had: Mapping[str, int] = field(default_factory=dict)


def measured(
    release: str,
    original: str | None,
    schema: Schema,
    promise: Promise,
    to: HowTo,
    seconds: float | None,
    progress: Progress | None = None,
) -> Measured:
    """Return what is measured of a release alone, and with the `original` (None: not given) what was lost."""
    schema = schema.with_objects(to.objects)
    if to.rows:
        return _of_rows(release, original, schema, promise, to, seconds, progress)
    raw = read(release, schema_as_published(schema), progress=stage(progress, "reading"), **to.how)
    # What is asked of the risk goes one step beyond the guarantee, as on pages.
    held = promise.guarantee
    assert held is not None
    asked = {"k": max(held.k, 2), "m": min(4, max(3, held.m)), "n": min(6, max(2, held.n))}
    jobs = to.how.get("jobs")

    def risk(forest: Forest) -> Risk:
        return risk_of_trees(forest, seconds=seconds, jobs=jobs, progress=stage(progress, "measuring risks"), **asked)

    beyond = one_more(raw, held, jobs=jobs)
    alone = {
        "published": {"persons": len(raw), "values": raw.nodes},
        "roles": unprotected_classes(raw),
        "one_more": "" if beyond is None else beyond.sentence,
    }
    if original is None:
        return Measured(risk(raw), **alone)  # type: ignore[arg-type]
    before = read(original, schema, progress=stage(progress, "reading"), **to.how)
    refuse_more(original, len(before), release, len(raw), "records")
    found = compared_trees(before, raw)
    if found.recognized:
        raise UsageError(f"{release} relates values as merged trees do: --objects merged verifies and measures these")
    return Measured(
        risk(raw), **alone, risk_before=risk(found.original), losses=found.losses.as_dict(), counts=_counts(before),  # type: ignore[arg-type]
        strange=found.strange, had={"persons": len(before), "values": found.original.nodes},
    )  # fmt: skip


def _of_rows(
    release: str,
    original: str | None,
    schema: Schema,
    promise: Promise,
    to: HowTo,
    seconds: float | None,
    progress: Progress | None,
) -> Measured:
    raw = read_rows(release, schema_as_published(schema), {}, to.how, progress=stage(progress, "reading"))
    k = max(promise.k, 2)

    def risk(table: Table) -> Risk:
        return risk_of_table(table, k=k, seconds=seconds, progress=stage(progress, "measuring risks"))

    roles: dict[str, list[str]] = {}
    named = {spec.name: spec for spec in schema.classes}
    for column in raw.columns:
        if column.role != "quasi":
            role = "pseudonym" if named[column.name].pseudonym else column.role
            roles.setdefault(role, []).append(column.name)
    alone = {"published": {"rows": len(raw), "columns": len(raw.columns)}, "roles": roles}
    # Rows of a freeform release need not look alike: each stands for k persons.
    after = None if promise.freeform else risk(raw)
    sizes = None if promise.freeform else sizes_of(raw)
    if original is None:
        return Measured(after, **alone, sizes_after=sizes)  # type: ignore[arg-type]
    before, published, strange = read_both(original, release, schema, {}, to.how, progress=progress)
    refuse_more(original, len(before), release, len(published), "rows")
    return Measured(
        after, **alone, sizes_after=sizes, risk_before=risk(before), sizes_before=sizes_of(before),  # type: ignore[arg-type]
        losses=measure(before, published, k=k).as_dict(), counts=_counts(before), strange=strange,
        had={"rows": len(before), "columns": len(before.columns)},
    )  # fmt: skip


def _counts(data: Forest | Table) -> dict[str, Any]:
    return {} if data.report is None else dict(data.report.as_dict())

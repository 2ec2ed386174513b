"""What a report tells of a release: read from the files themselves, and checked and measured anew.

Also the files that a report speaks of: their SHA-256, and the names by which they are found again.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treeanon.errors import FileError, UsageError
from treeanon.forest import Forest
from treeanon.io.beyond.findings import found_beyond
from treeanon.io.beyond.look import look_beyond
from treeanon.io.compared import HowToRead, read_both, read_rows, refuse_more
from treeanon.io.reading import read
from treeanon.io.relational.urls import is_database, is_remote, shown
from treeanon.io.sources import files_below
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
from treeanon.verifier.controls import GroupBound
from treeanon.verifier.freeform import verify_freeform
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


ROLES = ("release", "schema", "hierarchy", "input", "solution")
"""What a file can be to a report, in the order in which files are listed."""

_BLOCK = 1 << 20


def fingerprint(path: str) -> dict[str, Any]:
    """Return the SHA-256, the bytes and the number of files of an input or output; a database has none of these.

    Of a folder or a glob, it is the SHA-256 of one line `<SHA-256>  <relative path>` for every file, in the order of
    the paths: what `sha256sum` prints.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = path.write_bytes(b"age\\n34\\n")
    >>> fingerprint(str(path))["sha256"][:16], fingerprint(str(path.parent))["files"]
    ('05263c9df0eaf076', 1)
    """
    if is_database(path):
        return {"sha256": None, "bytes": None, "files": 0}
    if is_remote(path):
        return _elsewhere(path)
    try:
        found = list(_files(path))
        if not found:
            raise FileError(f"{path}: not found")
        if found == [(Path(path), "")]:
            return {"sha256": _digest(found[0][0]), "bytes": found[0][0].stat().st_size, "files": 1}
        lines = "".join(f"{_digest(file)}  {name}\n" for file, name in found)
        size = sum(file.stat().st_size for file, _ in found)
    except OSError as problem:
        raise FileError(f"{path}: cannot be read: {problem.strerror}") from None
    return {"sha256": hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest(), "bytes": size,
            "files": len(found)}  # fmt: skip


def _elsewhere(url: str) -> dict[str, Any]:
    """Return the same facts of files in an object store or on a web server."""
    from treeanon.io.remote import find_remote, open_remote

    def digest(of: str) -> tuple[str, int]:
        made, size = hashlib.sha256(), 0
        with closing(open_remote(of)) as stream:
            while block := stream.read(_BLOCK):
                made.update(block)
                size += len(block)
        return made.hexdigest(), size

    files, is_many = find_remote(url)
    top = url.rstrip("/") + "/"
    found = [(*digest(file.url), file.url.removeprefix(top)) for file in files]
    lines = "".join(f"{sha256}  {name}\n" for sha256, _, name in found)
    whole = hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest() if is_many else found[0][0]
    return {"sha256": whole, "bytes": sum(size for _, size, _ in found), "files": len(found)}


def _files(path: str) -> Iterator[tuple[Path, str]]:
    """Yield the files of an input with their relative paths, in order; of a single file the path is empty."""
    if Path(path).is_file() and Path(path).name == "datapackage.json":
        path = str(Path(path).parent)  # its tables lie beside it
    if Path(path).is_dir():
        names = {name for name in Path(path).rglob("*") if name.is_file()}
        names.update(files_below(Path(path), follow=True)[0])
        yield from sorted((name, os.path.relpath(name, path)) for name in names)
    elif Path(path).exists():
        yield Path(path), ""
    else:
        yield from sorted((Path(name), name) for name in glob.glob(path) if Path(name).is_file())  # noqa: PTH207


def _digest(path: Path) -> str:
    made = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            made.update(block)
    return made.hexdigest()


def described(role: str, path: str) -> dict[str, Any]:
    """Return the facts of one file; its path is absolute until the report is written."""
    place = shown(path) if is_database(path) or is_remote(path) else os.path.abspath(path)  # noqa: PTH100
    return {"role": role, "path": place, **fingerprint(path)}


def placed(files: list[dict[str, Any]], folder: str | None) -> list[dict[str, Any]]:
    """Return the facts of files with paths relative to the folder of the report.

    For None it is named by no folder: hierarchies as the schema names them, other files by their names alone.
    """
    schema = next(one["path"] for one in files if one["role"] == "schema")
    beside = os.path.dirname(schema)  # noqa: PTH120
    return [{**one, "path": _relative(one, folder, beside)} for one in files]


def _relative(one: dict[str, Any], folder: str | None, beside: str) -> str:
    path = str(one["path"])
    if is_database(path) or is_remote(path):
        return path
    if folder is None and one["role"] != "hierarchy":
        return os.path.basename(path.rstrip(os.sep))  # noqa: PTH119
    return os.path.relpath(path, beside if folder is None else folder)

"""Check a report again: its files by their SHA-256, its page by its facts, and its verdict by counting anew."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from treeanon.errors import DataError, FileError, HierarchyError, SchemaError, UsageError
from treeanon.io.compared import HowToRead
from treeanon.io.relational.urls import is_database, is_remote
from treeanon.progress import Progress
from treeanon.reports.signed.examined import HowTo, fingerprint, verdict_of
from treeanon.reports.signed.law import promise_of
from treeanon.reports.signed.report import Report
from treeanon.schema import Schema


@dataclass(frozen=True)
class CheckedReport:
    """What a check of a report found: what differs from it, and whether the guarantee holds now.

    `holds` is None where a file differs and can no longer be read.
    """

    differs: tuple[str, ...]
    holds: bool | None
    sentence: str
    checked: tuple[str, ...]
    unknown: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether nothing differs and the guarantee holds."""
        return bool(self.holds) and not self.differs

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return {
            "agrees": not self.differs, "differs": list(self.differs), "holds": self.holds,
            "verdict": self.sentence, "checked": list(self.checked), "without_sha256": list(self.unknown),
        }  # fmt: skip


def check_report(
    path: str | Path,
    *,
    release: str | Path | None = None,
    of: str | Path | None = None,
    schema: str | Path | None = None,
    solution: str | Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> CheckedReport:
    """Return what became of a report: whether files, page and verdict are still those that it tells of.

    Parameters
        path: the report, HTML or PDF.
        release, of, schema, solution: where these files are now; by default where the report names them, relative to
            its own folder.
        jobs: the number of cores to use.
        progress: a function of what is done and of how much.
    """
    report = Report.load(path)
    facts = report.facts
    given = {"release": release, "input": of, "schema": schema, "solution": solution}
    places = _places(facts, Path(path), {role: str(one) for role, one in given.items() if one is not None})
    differs, checked, unknown = _page(report, Path(path)), [], []
    for one, place in places:
        name = f"{one['role']} {os.path.basename(place)}"  # noqa: PTH119
        if one["sha256"] is None:
            unknown.append(name)
        elif fingerprint(place)["sha256"] == one["sha256"]:
            checked.append(name)
        else:
            differs.append(f"{name}: its SHA-256 is not that of the report")
    by_role = {one["role"]: place for one, place in places}
    reading = facts["reading"]
    how = cast(HowToRead, {**reading["how"], "jobs": jobs or os.cpu_count() or 1})
    to = HowTo(
        how, reading["rows"], reading["objects"],
        reading["spans"], reading["max_group_loss"], tuple(reading["ignore"]),
    )  # fmt: skip
    promise = promise_of(facts["promise"])
    original = by_role.get("input", "" if of is None else str(of))
    if promise.freeform and not original:
        raise UsageError("a freeform release is verified against its original: name it (--of)")
    try:
        loaded = Schema.load(by_role["schema"])
        loaded = loaded.with_csv_safe() if reading.get("csv_safe") else loaded
        loaded = loaded.with_links() if reading.get("follow_links") else loaded
        verdict, _ = verdict_of(by_role["release"], loaded, promise, to, original, progress)
    except (DataError, HierarchyError, SchemaError, UsageError) as problem:
        if not differs:
            raise
        return CheckedReport(tuple(differs), None, f"Not verified again: {problem}", tuple(checked), tuple(unknown))
    if verdict.holds != facts["verdict"]["holds"]:
        differs.append("verdict: it is not that of the report")
    return CheckedReport(tuple(differs), verdict.holds, verdict.sentence, tuple(checked), tuple(unknown))


def _page(report: Report, path: Path) -> list[str]:
    """Return whether the page says something else than its facts; of a PDF the attached facts alone are known."""
    content = path.read_bytes()
    if content.startswith(b"%PDF"):
        return []
    try:
        same = report.html.encode() == content
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        same = False
    return [] if same else ["page: it does not say what its facts are, as this version of treeanon writes them"]


def _places(facts: Mapping[str, Any], path: Path, given: Mapping[str, str]) -> list[tuple[Mapping[str, Any], str]]:
    """Return the facts of each file with the place where it is now; FileError for those that are nowhere."""
    home = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120
    found = []
    for one in facts["files"]:
        named = one["path"]
        place = given.get(one["role"], named if _is_elsewhere(named) else os.path.join(home, named))  # noqa: PTH118
        if one["role"] == "hierarchy" and "schema" in given:
            place = _beside(given["schema"], facts, named)
        if not _is_elsewhere(place) and one["files"] <= 1 and not os.path.exists(place):  # noqa: PTH110
            raise FileError(f"{place}: not found; name the {one['role']} of the report where it is now")
        found.append((one, place))
    return found


def _beside(schema: str, facts: Mapping[str, Any], named: str) -> str:
    """Return where a hierarchy is whose schema lies elsewhere now: as it lay relative to it."""
    (old,) = (one["path"] for one in facts["files"] if one["role"] == "schema")
    return os.path.normpath(os.path.join(os.path.dirname(schema), os.path.relpath(named, os.path.dirname(old))))  # noqa: PTH118, PTH120


def _is_elsewhere(name: str) -> bool:
    return is_database(name) or is_remote(name)

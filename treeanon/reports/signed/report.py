"""A report to sign: what was published, what it promises, and what that was found to be, as facts and as a page.

The page is made of its facts alone, which it carries as JSON: so that `check` can tell whether both still agree.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, Self, Unpack

from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.errors import FileError, UsageError
from treeanon.io.compared import HowToRead
from treeanon.io.output import open_output
from treeanon.io.reading import holds_rows
from treeanon.privacy.guarantee import Guarantee
from treeanon.privacy.models.registry import models_of
from treeanon.progress import Progress
from treeanon.release.parameters import VerifyRowParameters, flat_parameters, is_of_rows, refuse_unknown
from treeanon.release.reapply import TableSolution, is_of_table
from treeanon.release.solution_file import SolutionFile, version
from treeanon.release.table_release import freeform_promise
from treeanon.release.table_release import promise as promised
from treeanon.reports.page import public
from treeanon.reports.page.statement import AnyVerdict, Audience
from treeanon.reports.signed.examined import HowTo, Measured, described, measured, placed, verdict_of
from treeanon.reports.signed.law import Promise, criteria, plain_promise, unprotected
from treeanon.reports.signed.paper import facts_in_pdf, paper, pdf_of
from treeanon.schema import Schema
from treeanon.schema.dump import hierarchy_files
from treeanon.schema.load import SchemaLike, schema_of
from treeanon.shown import Grid, Shown, Summary
from treeanon.table import Table
from treeanon.verifier.freeform import FreeformVerdict

VERSION = 1
FIELDS = ("purpose", "recipient", "reviewer")
SECONDS = 10.0
"""Time for the risks of the input, and for those of the release; what exceeds it is sampled."""

_FACTS = re.compile(rb'<script type="application/json" id="facts">(.*?)</script>', re.DOTALL)
_WITH_NUMBERS = ("numpy", "numba", "pyarrow")


@dataclass(frozen=True, repr=False)
class Report(Shown):
    """A report as facts; `html` is its page, and `write` makes a file of it, HTML or PDF by its name."""

    facts: Mapping[str, Any]

    @property
    def holds(self) -> bool:
        """Whether the guarantee was found to hold."""
        return bool(self.facts["verdict"]["holds"])

    @property
    def audience(self) -> Audience:
        """Whom it is for: an internal report has counts and hashes of the original, a public one has not."""
        return "public" if self.facts["audience"] == "public" else "internal"

    @property
    def html(self) -> str:
        """The report as a page."""
        return paper(self.facts)

    def _summary(self) -> Summary:
        facts, verdict = self.facts, self.facts["verdict"]
        told = [("guarantee", facts["sentence"]), ("made", facts["made"]), ("edition", self.audience)]
        rows = [[one["role"], os.path.basename(one["path"]), f"{one['sha256'] or ''}"[:16]] for one in facts["files"]]  # noqa: PTH119
        return Summary("Report", verdict["sentence"], told, [Grid("Files", ["File", "Name", "SHA-256 (begin)"], rows)])

    def write(self, target: str | Path, *, force: bool = False) -> None:
        """Write the report, whole or not at all: as PDF if the name ends so (extra `report`), else as HTML.

        An internal report can be read by its owner alone. Files are named relative to the folder of the report, in a
        public one without any folder.
        """
        folder = None if self.audience == "public" else os.path.dirname(os.path.abspath(target))  # noqa: PTH100, PTH120
        told = replace(self, facts={**self.facts, "files": placed(self.facts["files"], folder)})
        text = told.html
        made = pdf_of(text, _plain(told.facts)) if str(target).lower().endswith(".pdf") else text.encode()
        with open_output(target, force=force, private=self.audience == "internal") as stream:
            stream.write(made)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the report of a file; UsageError where it is none."""
        try:
            content = Path(path).read_bytes()
        except OSError as problem:
            raise FileError(f"{path}: cannot be read: {problem.strerror}") from None
        found = facts_in_pdf(content) if content.startswith(b"%PDF") else _FACTS.search(content)
        try:
            facts = None if found is None else json.loads(found if isinstance(found, bytes) else found[1])
        except (ValueError, RecursionError):
            facts = None
        if not isinstance(facts, dict) or facts.get("report") != VERSION:
            raise UsageError(f"{path}: is no report of this treeanon: it must carry facts of version {VERSION}")
        return cls(facts)


def _plain(facts: Mapping[str, Any]) -> bytes:
    return json.dumps(facts, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace")


class ReportParameters(VerifyRowParameters, total=False):
    """What a release is said to promise: the guarantee of trees, or the models of rows."""

    m: int
    n: int
    attacker: Any
    negative: Any
    as_published: bool


def report(
    release: str | Path,
    *,
    schema: SchemaLike,
    of: str | Path | None = None,
    solution: str | Path | SolutionFile | TableSolution | None = None,
    audience: Audience = "internal",
    purpose: str = "",
    recipient: str = "",
    reviewer: str = "",
    ignore: Collection[str] = (),
    how: HowToRead | None = None,
    objects: Any = None,
    seconds: float | None = SECONDS,
    progress: Progress | None = None,
    **asked: Unpack[ReportParameters],
) -> Report:
    """Return a report to sign about a release: its files, its guarantee, verified again, and its risks and losses.

    Everything is read from the files themselves. `Report.write` makes HTML or PDF of it; `holds` says whether the
    guarantee was found to hold.

    Parameters
        release: the path of the release.
        schema: the path of its schema, or a Schema that was loaded.
        of: the path of the input. Required for the internal edition; the public one uses it for freeform releases only.
        solution: the path of the solution file, which says what is promised and how it was made.
        audience: "internal" (default), with counts and hashes of the original, but none of its values; or "public",
            made from the release, the schema and what is promised alone.
        purpose, recipient, reviewer: texts to fill in; empty ones are left to be written by hand.
        ignore: kinds of content beyond what is counted that do not matter, as for `treeanon.verify`.
        how: the options of `treeanon.read` for these files, such as {"on_error": "skip"}.
        objects: trees: "merged" or "whole", whatever the schema says.
        seconds: time for the risks of the input, and for those of the release (None: all it takes).
        progress: a function of what is done and of how much.
        k, m, n, l, …: what is promised, as for `treeanon.verify`, where there is no solution.
    """
    refuse_unknown(asked, ReportParameters)
    found, path = _schema_of(schema)
    if audience not in ("internal", "public"):
        raise UsageError("audience must be internal or public")
    if audience == "internal" and of is None:
        raise UsageError("the internal edition compares with the input: name it (of), or ask for the public one")
    made = None if solution is None else _solution(solution)
    how = how or {}
    rows = isinstance(made, TableSolution) if made is not None else _asks_for_rows(release, found, asked, how)
    if rows and not holds_rows(str(release), found, how.get("format")):
        raise UsageError(f"{release}: a report about rows needs files of rows (CSV or Parquet)")
    how_to = HowTo(
        how, rows, objects, ignore=tuple(ignore), csv_safe=found.csv_safe, follow_links=found.input.follow_links
    )
    promise, to, parameters = _promised(made, rows, asked, how_to)
    if promise.freeform and of is None:
        raise UsageError("a freeform release is verified against its original: name the input (of)")
    original = None if of is None else str(of)
    verdict, data = verdict_of(str(release), found, promise, to, original or "", progress)
    known = original if audience == "internal" else None
    results = measured(str(release), known, found, promise, to, seconds, progress)
    files = [("release", str(release)), ("schema", path), *(("hierarchy", name) for name in hierarchy_files(found))]
    if audience == "internal":
        files += [("input", str(of))]
        files += [("solution", str(solution))] if isinstance(solution, str | Path) else []
    facts: dict[str, Any] = {
        "report": VERSION,
        "made": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "audience": audience,
        "software": _software(audience),
        "kind": "rows" if rows else "trees",
        "files": [described(role, name) for role, name in files],
        "promise": plain_promise(promise),
        "reading": to.as_dict(),
        "sentence": _sentence(promise),
        "verdict": _told(verdict, data, audience),
        "law": criteria(promise, results.roles, holds=verdict.holds),
        "not_protected": unprotected(promise, results.roles),
        "fields": dict(zip(FIELDS, (purpose, recipient, reviewer), strict=True)),
        **_figures(results, verdict, audience, made),
    }
    if audience == "internal":
        facts["parameters"] = parameters
    return Report(json.loads(_plain(facts)))


def _schema_of(schema: SchemaLike) -> tuple[Schema, str]:
    """Return a schema and the path of its file."""
    found = schema_of(schema)
    path = str(schema) if isinstance(schema, Path) else found.source
    if not Path(path).is_file():
        raise UsageError("a report names the file of its schema: give its path, or a Schema that was loaded from one")
    return found, path


def _solution(given: str | Path | SolutionFile | TableSolution) -> SolutionFile | TableSolution:
    if isinstance(given, SolutionFile | TableSolution):
        return given
    return TableSolution.load(given) if is_of_table(given) else SolutionFile.load(given)


def _asks_for_rows(release: str | Path, schema: Schema, asked: Mapping[str, Any], how: HowToRead) -> bool:
    return is_of_rows(None, asked, lambda: holds_rows(str(release), schema, how.get("format")))


def _promised(
    made: SolutionFile | TableSolution | None, rows: bool, asked: Mapping[str, Any], to: HowTo
) -> tuple[Promise, HowTo, dict[str, Any]]:
    """Return what is promised, how the release is counted, and how it was made as far as that is known."""
    asked = {name: value for name, value in asked.items() if value not in (None, ())}
    if made is not None and asked:
        raise UsageError(f"the solution says what is promised: leave out {', '.join(sorted(asked))}")
    if isinstance(made, SolutionFile):
        solution = made.solution
        to = replace(to, objects=to.objects or solution.objects)
        known = {"algorithm": solution.algorithm, "objects": solution.objects, **solution.options}
        return Promise(solution.guarantee), to, {**known, "suppressed": solution.suppressed}
    if made is not None:
        controls = made.options.get("controls", {})
        spans = {name: one["max_span"] for name, one in controls.items() if "max_span" in one}
        to = replace(to, spans=spans or None, max_group_loss=made.options.get("max_group_loss"))
        search = TABLE_ALGORITHMS.get(made.algorithm)
        known = {"algorithm": made.algorithm, "max_suppressed": made.max_suppressed, **made.options}
        known |= {} if made.levels is None else {"levels": dict(made.levels)}
        return Promise(None, made.models, search is not None and search.freeform), to, known
    if not rows:
        return Promise(_guarantee(asked)), to, {}
    flat = flat_parameters(asked, "rows", "spans", "max_group_loss")
    to = replace(to, spans=flat.pop("spans", None), max_group_loss=flat.pop("max_group_loss", None))
    models = models_of(**flat)
    if not models:
        raise UsageError("say what the release promises: k, another model, or its solution")
    return Promise(None, models), to, {}


def _guarantee(asked: Mapping[str, Any]) -> Guarantee:
    if "k" not in asked:
        raise UsageError("say what the release promises: k (and m and n), or its solution")
    flat = flat_parameters(asked, "trees")
    negative = flat.get("negative", ())
    flat["negative"] = (negative,) if isinstance(negative, str) else tuple(negative)
    return Guarantee(**flat)


def _sentence(promise: Promise) -> str:
    if promise.guarantee is not None:
        return promise.guarantee.sentence
    if promise.freeform:
        return freeform_promise(promise.k)
    return promised(promise.models)


def _told(verdict: AnyVerdict, data: Any, audience: Audience) -> dict[str, Any]:
    """Return a verdict as plain data; of a public report what the release itself shows."""
    if audience == "public":
        sentence = public.sentence(verdict, data if isinstance(data, Table) else None)
        return {"holds": verdict.holds, "sentence": sentence}
    return {"holds": verdict.holds, "sentence": verdict.sentence, "details": verdict.as_dict()}


def _figures(
    found: Measured, verdict: AnyVerdict, audience: Audience, made: SolutionFile | TableSolution | None
) -> dict[str, Any]:
    """Return risks, losses and counts; of a public report those of the release alone."""
    # How many originals stand behind the rows of a freeform release is not to be seen in it.
    after = None if found.risk_after is None or isinstance(verdict, FreeformVerdict) else found.risk_after.as_dict()
    facts: dict[str, Any] = {
        "published": dict(found.published),
        "published_as_they_are": {role: list(names) for role, names in found.roles.items()},
        "one_more_value": found.one_more,
        "risk": {"after": after},
        "group_sizes": {"after": found.sizes_after},
    }
    if audience == "public":
        return facts
    facts["risk"]["before"] = None if found.risk_before is None else found.risk_before.as_dict()
    facts["group_sizes"]["before"] = found.sizes_before
    return facts | {
        "input": dict(found.had),
        "losses": _losses(found, made),
        "counts": dict(found.counts),
        "strange": dict(found.strange),
    }


def _losses(found: Measured, made: SolutionFile | TableSolution | None) -> dict[str, Any]:
    """Return what was lost; of the same release the search knows more, as it knows whose record is whose."""
    own = dict(found.losses)
    if isinstance(made, SolutionFile) and all(made.losses.get(name) == own[name] for name in ("before", "after")):
        return dict(made.losses)
    return own


def _software(audience: Audience) -> dict[str, str]:
    found = {"treeanon": version()}
    if audience == "public":
        return found
    return found | {"python": platform.python_version(), **{name: version_of(name) for name in _WITH_NUMBERS}}

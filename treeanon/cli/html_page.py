"""The page about a release, and the report to sign: their options, checks before the work, and writing them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from treeanon.cli.checks import beside, check_extra_output, refuse_hierarchies
from treeanon.cli.printing import printable, progress_bar, say
from treeanon.cli.reading import how_to_read

if TYPE_CHECKING:
    from treeanon.cli.request import CommandRequest
    from treeanon.forest import Forest
    from treeanon.release import Release, TableRelease
    from treeanon.reports.page.statement import AnyRelease
    from treeanon.risks import Risk
    from treeanon.table import Table

RECORDS = 4
"""Number of records, or rows, shown before and after."""

SECONDS = 10.0
"""Time limit for the risks of the input, and for those of the release; what exceeds it is sampled."""


@dataclass(frozen=True)
class PageRequest:
    """The page that is requested: where to write it (None: nowhere), and for whom; and where the report to sign."""

    target: str | None = None
    audience: Literal["public", "internal"] = "public"
    report: str | None = None


def page_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of commands that can write a page, which are given to them together as `page`."""

    @wraps(command)
    def gathered(
        *args: Any, html: str | None, report: str | None, audience: Literal["public", "internal"] | None, **given: Any
    ) -> Any:
        if audience is not None and html is None:
            raise click.UsageError("--audience requires --html")
        return command(*args, page=PageRequest(html, audience or "public", report), **given)

    for option in (
        click.option(
            "--audience",
            type=click.Choice(["public", "internal"]),
            metavar="WHO",
            help="Of --html: public [default], or internal, which shows ORIGINAL records and is not for publishing.",
        ),
        click.option(
            "--report",
            metavar="FILE",
            help="Also write a report to sign (.html or .pdf); see `treeanon report`.",
        ),
        click.option("--html", metavar="FILE", help="Also write a page about the release."),
    ):
        gathered = option(gathered)
    return gathered


def check_page(request: CommandRequest) -> None:
    """Refuse a file for the page that cannot be written."""
    target = request.page.target
    check_extra_output(target, request.output, force=request.force, option="--html")
    if target is not None:
        refuse_hierarchies(request.schema, target)
        if request.solution is not None and Path(target).resolve() == Path(request.solution).resolve():
            raise click.UsageError("--html and --solution name the same file")
    if request.page.report is not None:
        _check_report(request, request.page.report)


def _check_report(request: CommandRequest, target: str) -> None:
    """Refuse a report that cannot be made of these files, or cannot be written."""
    from treeanon.cli.report import check_target
    from treeanon.io import output_format
    from treeanon.io.columns.write_table import table_format
    from treeanon.io.reading import holds_rows, input_format

    if request.publish == "permuted" or request.release == "documents":
        raise click.UsageError("--report: permuted releases and --release documents have no report")
    if "-" in (request.source, request.output):
        raise click.UsageError("--report is about files: name an input and an output that are none of standard ones")
    check_target(target, request.output, force=request.force, option="--report")
    refuse_hierarchies(request.schema, target)
    for option, other in (("--solution", request.solution), ("--html", request.page.target)):
        if other is not None and Path(target).resolve() == Path(other).resolve():
            raise click.UsageError(f"--report and {option} name the same file")
    schema, given = request.schema, request.reading["format"]
    if request.is_table:
        if request.reduced or not holds_rows(request.source, schema, given):
            raise click.UsageError("--report: of a table that was made of documents or of several rows a person none")
        written = table_format(request.output, request.target_format)
    else:
        written = output_format(request.output, schema, request.target_format).name
    if input_format(request.output, schema, given).name != written:
        raise click.UsageError("--report: the release must have the format of the input")


def write_report_of(request: CommandRequest, release: Release | TableRelease) -> None:
    """Write the report about a release that was written, if one is requested."""
    if request.page.report is None:
        return
    from treeanon.cli.report import write_report
    from treeanon.release import Release, SolutionFile, TableSolution
    from treeanon.reports.signed.report import report

    own = SolutionFile.of(release) if isinstance(release, Release) else TableSolution.of(release)
    with beside(request.output), progress_bar("reporting", quiet=request.quiet) as progress:
        made = report(
            request.output, of=request.source, schema=request.schema, solution=request.solution or own,
            how=how_to_read(request.reading), objects=request.reading["objects"], progress=progress,
        )  # fmt: skip
    with beside(request.output):
        write_report(made, request.page.report, force=request.force, quiet=request.quiet, as_json=False)


def write_page_of(request: CommandRequest, release: AnyRelease, data: Forest | Table) -> None:
    """Write the page about a release of these data, if one is requested."""
    if request.page.target is not None:
        with beside(request.output):
            _write_page(request, request.page.target, release, data)


def _write_page(request: CommandRequest, target: str, release: AnyRelease, data: Forest | Table) -> None:
    from treeanon.reports.page.page import write_page

    if request.page.audience == "public":
        write_page(release, target, force=request.force, seed=request.seed)
        say(f"Report for the public written to {printable(target)}", quiet=request.quiet)
        return
    shown = _originals(request, release, data)
    write_page(release, target, force=request.force, audience="internal", **shown)
    say(f"Report with ORIGINAL data written to {printable(target)}; not for publishing", quiet=request.quiet)


def _originals(request: CommandRequest, release: AnyRelease, data: Forest | Table) -> dict[str, Any]:
    """Return what an internal page shows beside the release."""
    from treeanon.forest import Forest
    from treeanon.previews.preview import preview_of
    from treeanon.release import DocumentsRelease

    shown: dict[str, Any] = {"before": data if isinstance(data, Forest) else None}
    if not isinstance(release, DocumentsRelease):
        shown["changes"] = preview_of(data, release, RECORDS).changes
    before, after = risks_of(release, data, request.reading["jobs"], quiet=request.quiet)
    return shown | {"risk_before": before, "risk_after": after}


def risks_of(release: AnyRelease, data: Forest | Table, jobs: int, *, quiet: bool) -> tuple[Risk | None, Risk | None]:
    """Return the risks of the input and of the release; None where the release makes no promise about them."""
    from treeanon.release import Release, TableRelease
    from treeanon.risks import risk_of_table, risk_of_trees
    from treeanon.table import Table
    from treeanon.verifier.table import TableVerdict

    with progress_bar("measuring risks", quiet=quiet) as progress:
        if isinstance(release, Release) and not isinstance(data, Table):
            held = release.solution.guarantee
            if held.k > 1:
                size = {"k": held.k, "m": min(4, max(3, held.m)), "n": min(6, max(2, held.n))}
                trees = [
                    risk_of_trees(one, seconds=SECONDS, jobs=jobs, progress=progress, **size)
                    for one in (data, release.forest)
                ]
                return trees[0], trees[1]
        if isinstance(release, TableRelease) and isinstance(data, Table) and (k := _k_of(release)) > 1:
            before = risk_of_table(data, k=k, seconds=SECONDS, progress=progress)
            # Rows of a freeform release need not look alike.
            if not isinstance(release.verdict, TableVerdict):
                return before, None
            return before, risk_of_table(release.table, k=k, seconds=SECONDS, progress=progress)
    return None, None


def _k_of(release: TableRelease) -> int:
    """Return the k of the release; 1 if it has none."""
    from treeanon.privacy.models.model import largest_k

    return largest_k(release.models)

"""`treeanon report`: a report to sign about a release, and its check; and the pages that other commands write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import click

from treeanon.cli.checks import announce_compilation, beside, check_extra_output, refuse_hierarchies, refuse_own_input
from treeanon.cli.options import Command, force_option, model_options, printing_options
from treeanon.cli.printing import print_result, printable, progress_bar, say
from treeanon.cli.reading import Reading, how_to_read, load_schema, reading_options

if TYPE_CHECKING:
    from treeanon.cli.request import CommandRequest
    from treeanon.forest import Forest
    from treeanon.release import Release, TableRelease
    from treeanon.reports.page.statement import AnyRelease
    from treeanon.reports.signed.report import Report
    from treeanon.risks import Risk
    from treeanon.table import Table


DIFFERS = 3
"""Exit code of a check whose files are not those of the report: bad data."""


class _Report(Command):
    """The command, whose help has the parts of the report in groups of their own."""

    groups: ClassVar = {
        "Report": ("of", "solution", "audience", "purpose", "recipient", "reviewer", "seconds", "checked"),
        **Command.groups,
    }
    rare: ClassVar = Command.rare | {"emd", "c", "ignored", "seconds"}


@click.command(cls=_Report)
@click.argument("release", metavar="[RELEASE]", required=False)
@click.option("--of", "of", metavar="INPUT", help="The input of the release; the internal edition needs it.")
@click.option("--schema", "-s", metavar="FILE", help="Schema of input and release (TOML).")
@click.option("--solution", metavar="FILE", help="Solution file: guarantee and parameters.")
@click.option("--output", "-o", metavar="FILE", help="The report: FILE.html or FILE.pdf.")
@click.option(
    "--audience",
    type=click.Choice(["internal", "public"]),
    default="internal",
    metavar="WHO",
    help="internal [default], or public: of the release alone.",
)
@click.option("--purpose", default="", metavar="TEXT", help="What the release is for.")
@click.option("--recipient", default="", metavar="TEXT", help="Who gets it.")
@click.option("--reviewer", default="", metavar="TEXT", help="Who reviews and signs.")
@click.option("--check", "checked", metavar="FILE", help="Check a report: files, page, verdict.")
@click.option("-k", type=click.IntRange(1), metavar="N", help="Without --solution: minimum group size.")
@click.option("-m", type=click.IntRange(1, 8), metavar="N", help="Trees: values an attacker may know [default: 2].")
@click.option("-n", type=click.IntRange(0, 64), metavar="N", help="Trees: relations between them [default: 1].")
@click.option("--attacker", type=click.Choice(["independent", "joint"]), metavar="KIND", help="Trees: what is known.")
@click.option("--negative", multiple=True, metavar="CLASS", help="Trees: absent values may be known as well.")
@click.option("--as-published", is_flag=True, help="Trees: TREE's own guarantee, of the release alone.")
@model_options
@click.option("--ignore", "ignored", multiple=True, metavar="KIND", help="Content that does not matter (repeatable).")
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    metavar="N",
    help="Time limit of each risk [default: 10]; the rest is sampled.",
)
@force_option
@reading_options
@printing_options
def command(
    release: str | None,
    of: str | None,
    schema: str | None,
    solution: str | None,
    output: str | None,
    audience: Literal["internal", "public"],
    purpose: str,
    recipient: str,
    reviewer: str,
    checked: str | None,
    ignored: tuple[str, ...],
    seconds: float,
    force: bool,
    reading: Reading,
    quiet: bool,
    as_json: bool,
    **asked: Any,
) -> int:
    """Write a report to sign about a release: what it promises, whether that holds, what risk is left, what was lost.

    RELEASE is verified again, and compared with its INPUT. The report has the SHA-256 of all files, all parameters, the
    guarantee in words of data protection law, what is not protected, and fields to sign. The internal edition has
    counts of the original, but none of its values; the public one is made from the release, its schema and what is
    promised alone.

    --check FILE tells whether files, page and verdict are still those of a report; files that were moved are named as
    when it was written. Exit code 0: all agrees, and the guarantee holds; 1: the guarantee does not hold; 3: a file,
    the page or the verdict is not that of the report.

    \b
    treeanon report out.xml --of patients.xml -s schema.toml --solution out.solution.json -o report.pdf
    treeanon report out.xml -s schema.toml -k 5 --audience public -o report.html
    treeanon report --check report.pdf
    """
    announce_compilation(quiet=quiet)
    if checked is not None:
        if output is not None:
            raise click.UsageError("--check writes no report; leave out --output")
        return _check(checked, release, of, schema, solution, reading, quiet=quiet, as_json=as_json)
    if release is None or schema is None or output is None:
        missing = {"RELEASE": release, "--schema": schema, "--output": output}
        raise click.UsageError(f"missing {', '.join(name for name, value in missing.items() if value is None)}")
    names = [name for name in (release, of, schema, solution) if name is not None]
    refuse_own_input(names, [output])
    check_target(output, release, force=force)
    from treeanon.reports.signed.report import report

    loaded = load_schema(schema, reading)
    refuse_hierarchies(loaded, output)
    for name in ("emd", "as_published"):
        asked[name] = None if asked[name] in ("equal", False) else asked[name]
    given = {name: value for name, value in asked.items() if value not in (None, ())}
    with progress_bar("reading", quiet=quiet) as progress:
        made = report(
            release, of=of, schema=loaded, solution=solution, audience=audience, purpose=purpose, recipient=recipient,
            reviewer=reviewer, ignore=ignored, how=how_to_read(reading), objects=reading["objects"],
            seconds=seconds, progress=progress, **given,
        )  # fmt: skip
    return write_report(made, output, force=force, quiet=quiet, as_json=as_json)


def check_target(output: str, release: str, *, force: bool, option: str = "--output") -> None:
    """Refuse a report that cannot be written, before the work."""
    if not output.lower().endswith((".html", ".htm", ".pdf")):
        raise click.UsageError(f"{option}: a report is FILE.html or FILE.pdf")
    check_extra_output(output, release, force=force, option=option)
    if output.lower().endswith(".pdf"):
        from treeanon.reports.signed.paper import require_pdf

        require_pdf()


def write_report(made: Report, output: str, *, force: bool, quiet: bool, as_json: bool) -> int:
    """Write a report, say so, and return the exit code of its verdict."""
    made.write(output, force=force)
    internal = made.audience == "internal"
    kind = "Internal report" if internal else "Report for the public"
    note = ", with counts of the original: not for publishing" if internal else ""
    say(f"{kind} written to {printable(output)}{note}", quiet=quiet)
    if not made.holds:
        say(f"The guarantee does not hold: {made.facts['verdict']['sentence']}", quiet=False)
    print_result({"output": output, **made.facts}, as_json=as_json)
    return 0 if made.holds else 1


def _check(
    path: str,
    release: str | None,
    of: str | None,
    schema: str | None,
    solution: str | None,
    reading: Reading,
    *,
    quiet: bool,
    as_json: bool,
) -> int:
    from treeanon.reports.signed.check import check_report

    with progress_bar("reading", quiet=quiet) as progress:
        found = check_report(
            path, release=release, of=of, schema=schema, solution=solution, jobs=reading["jobs"], progress=progress
        )
    if as_json:
        print_result(found.as_dict(), as_json=True)
    elif not quiet:
        for name in found.checked:
            click.echo(f"as in the report: {printable(name)}")
        for name in found.unknown:
            click.echo(f"a database, which has no SHA-256: {printable(name)}")
        for words in found.differs:
            click.echo(f"differs: {printable(words)}")
        click.echo(printable(found.sentence))
    if found.holds is False:
        return 1
    return DIFFERS if found.differs else 0


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

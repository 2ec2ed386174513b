"""`treeanon report`: a report to sign about a release, and its check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import click

from treeanon.cli.checks import announce_compilation, check_extra_output, refuse_hierarchies, refuse_own_input
from treeanon.cli.options import Command, force_option, model_options, printing_options
from treeanon.cli.printing import print_result, printable, progress_bar, say
from treeanon.cli.reading import Reading, how_to_read, load_schema, reading_options

if TYPE_CHECKING:
    from treeanon.reports.signed.report import Report

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
        from treeanon.reports.signed.pdf import require_pdf

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

"""`treeanon preview`: what a release would make of some records, without making one."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.checks import check_solution_target, refuse_hierarchies, refuse_own_input, tell_of_compiling
from treeanon.cli.options import force_option, schema_option, talking_options
from treeanon.cli.printing import printable, progress_bar, result, say, told_reading
from treeanon.cli.reading import Reading, read_as_table, read_records, reading_options, reductions_of
from treeanon.cli.request import Asked, Asking, Releasing, asking_options, trees_asked
from treeanon.cli.summaries import told_sacrifices, told_search

if TYPE_CHECKING:
    from treeanon.forest import Forest
    from treeanon.previews.preview import Preview
    from treeanon.table import Table

CHOICE = ("records", "worst", "classes", "numbers", "sample")
LOOK = ("lines", "color", "html", "force")


class _Preview(Releasing):
    """The options by what they are about: those of a release, and which records are shown and how."""

    sections = {"Which records, and how": (*CHOICE, *LOOK), **Releasing.sections}  # noqa: RUF012


@click.command(cls=_Preview)
@click.argument("source", metavar="INPUT")
@schema_option
@asking_options
@click.option("--records", type=click.IntRange(1), metavar="N", help="Show so many records.  [default: 3]")
@click.option("--worst", is_flag=True, help="The most changed ones, in place of typical ones.")
@click.option("--class", "classes", multiple=True, metavar="CLASS", help="Only records in which CLASS changed.")
@click.option("--record", "numbers", multiple=True, type=click.IntRange(1), metavar="N", help="Record (or row) N.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Make the release of N persons drawn from the input: quicker, and another one than of all.",
)
@click.option(
    "--lines",
    type=click.IntRange(0),
    default=60,
    show_default=True,
    metavar="N",
    help="At most so many lines a record; 0: all.",
)
@click.option("--color/--no-color", default=None, help="Colors.  [default: on a terminal, unless NO_COLOR is set]")
@click.option("--html", metavar="FILE", help="Also write a page with all of it and more: ORIGINAL data too.")
@force_option
@reading_options
@talking_options
def command(
    source: str,
    schema: str,
    asking: Asking,
    records: int | None,
    worst: bool,
    classes: tuple[str, ...],
    numbers: tuple[int, ...],
    sample: int | None,
    lines: int,
    color: bool | None,
    html: str | None,
    force: bool,
    reading: Reading,
    quiet: bool,
    as_json: bool,
) -> None:
    """Show records before and after the release that `treeanon anonymize` would make; no release is written.

    It shows ORIGINAL DATA of some persons: typical ones, those that change most, or those whose CLASS changes. Each
    line has a value as it is and as it would be published; signs tell what became more general (~), what moved (>),
    what became one with others (=) and what is not published (x).

    \b
    treeanon preview patients.xml -s schema.toml -k 5 -m 2 -n 1
    treeanon preview patients.xml -s schema.toml -k 5 --worst --records 5 --class diagnosis
    treeanon preview people.csv -s schema.toml -k 10 --sample 5000 --html preview.html
    """
    if numbers and (records or worst or classes):
        raise click.UsageError("--record says which records; leave out --records, --worst and --class")
    from treeanon.schema import Schema

    # Only `anonymize` writes documents around a table.
    asking["options"] |= {"release": "table", "rest": None}
    asked = Asked(
        source=source, schema=Schema.load(schema), reading=reading, force=force, quiet=quiet, as_json=as_json, **asking
    )
    refuse_own_input([source, schema], [html])
    check_solution_target(html, "", force=force, option="--html")
    refuse_hierarchies(asked.schema, html)
    chosen = {"records": records or 3, "worst": worst, "classes": classes, "numbers": [one - 1 for one in numbers]}
    data, found = (_of_rows if asked.is_table else _of_trees)(asked, sample, chosen)
    if as_json:
        result(found.as_dict(), as_json=True)
    elif not quiet:
        _show(found, lines or None, color)
    if html is not None:
        _write_page(asked, html, found, data)


def _of_trees(asked: Asked, sample: int | None, chosen: dict[str, Any]) -> tuple[Forest, Preview]:
    """The trees that the preview is of, and the preview."""
    request = trees_asked(asked)
    request.check(asked.schema)
    from treeanon.previews.preview import previewed
    from treeanon.release import fulfill

    tell_of_compiling(quiet=asked.quiet)
    forest = read_records(asked.source, asked.schema, asked.reading, quiet=asked.quiet)
    with progress_bar("searching", quiet=asked.quiet) as progress:
        return previewed(forest, lambda part: fulfill(request, part, progress), sample=sample, **chosen)


def _of_rows(asked: Asked, sample: int | None, chosen: dict[str, Any]) -> tuple[Table, Preview]:
    """The table that the preview is of, and the preview."""
    asked.refuse_of_others()
    request = asked.rows
    request.check(asked.schema)
    from treeanon.previews.preview import previewed
    from treeanon.release import fulfill_permuted, fulfill_table

    tell_of_compiling(quiet=asked.quiet)
    reductions = reductions_of(asked.options["reduced"])
    table = read_as_table(asked.source, asked.schema, reductions, asked.reading, quiet=asked.quiet)
    release = fulfill_permuted if request.publish == "permuted" else fulfill_table
    with progress_bar("searching", quiet=asked.quiet) as progress:
        return previewed(table, lambda part: release(request, part, progress=progress), sample=sample, **chosen)


def _show(found: Preview, lines: int | None, color: bool | None) -> None:
    """Prints the preview, with colors where they are wanted, and what else there is to tell."""
    from treeanon.report.preview_cells import folded
    from treeanon.report.preview_text import preview_text

    colored = has_colors() if color is None else color
    width = shutil.get_terminal_size((80, 24)).columns
    text = preview_text(found, width=width, color=colored, lines=lines)
    told = found.release.as_dict()
    more = told_sacrifices(told) if "guarantee" in told else told_search(told)
    more = [part for line in more for part in folded(line, max(width, 20))] + told_reading(told["counts"])
    text = "\n".join([text, *([""] if more else []), *map(printable, more)])
    # A terminal that cannot write a letter is shown its number.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding), color=colored)


def has_colors() -> bool:
    """Whether standard output is a terminal that wants colors."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _write_page(asked: Asked, target: str, found: Preview, data: Forest | Table) -> None:
    """Writes the page for whoever holds the data."""
    from treeanon.cli.html_page import risks_of
    from treeanon.forest import Forest
    from treeanon.report.page.page import write_page
    from treeanon.report.preview_text import told_sample

    before, after = risks_of(found.release, data, asked.reading["jobs"], quiet=asked.quiet)
    write_page(
        found.release, target, force=asked.force, audience="internal", title="A preview of a release",
        before=data if isinstance(data, Forest) else None, changes=found.changes, risk_before=before,
        risk_after=after, notes=["Nothing has been published: this is a preview.", *told_sample(found)],
    )  # fmt: skip
    say(f"page with ORIGINAL data written to {printable(target)}: not for publishing", quiet=asked.quiet)

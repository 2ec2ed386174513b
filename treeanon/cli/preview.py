"""`treeanon preview`: show some records before and after anonymization, without writing a release."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Any, ClassVar

import click

from treeanon.cli.checks import announce_compilation, check_extra_output, refuse_hierarchies, refuse_own_input
from treeanon.cli.options import Command, force_option, printing_options, schema_option
from treeanon.cli.printing import print_result, printable, progress_bar, reading_notes, say
from treeanon.cli.reading import Reading, load_schema, read_as_table, read_records, reading_options, reductions_of
from treeanon.cli.request import CommandRequest, ReleaseOptions, release_options
from treeanon.cli.summaries import merged_notes, sacrifice_lines, search_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treeanon.forest import Forest
    from treeanon.previews.preview import Preview
    from treeanon.table import Table

CHOICE = ("records", "worst", "classes", "numbers", "sample")
LOOK = ("document", "lines", "color", "html", "force")


class _Preview(Command):
    """The options of a release, and those of the records that are shown."""

    groups: ClassVar = {"Records shown": (*CHOICE, *LOOK), **Command.groups}
    rare: ClassVar = Command.rare | {"emd", "c"}


@click.command(cls=_Preview)
@click.argument("source", metavar="INPUT")
@schema_option
@release_options
@click.option("--records", type=click.IntRange(1), metavar="N", help="Number of records [default: 3].")
@click.option("--worst", is_flag=True, help="Show the most changed records, not typical ones.")
@click.option("--class", "classes", multiple=True, metavar="CLASS", help="Show only records in which CLASS changed.")
@click.option("--record", "numbers", multiple=True, type=click.IntRange(1), metavar="N", help="Show record (or row) N.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Anonymize only a random sample of N persons.",
)
@click.option("--document", is_flag=True, help="Show XML and JSON as they are, with what changed, not their trees.")
@click.option(
    "--lines",
    type=click.IntRange(0),
    default=60,
    metavar="N",
    help="Maximum lines per record [default: 60]; 0: all.",
)
@click.option("--color/--no-color", default=None, help="Use colors [default: on a terminal].")
@click.option("--html", metavar="FILE", help="Also write a page, with ORIGINAL data.")
@force_option
@reading_options
@printing_options
def command(
    source: str,
    schema: str,
    options: ReleaseOptions,
    records: int | None,
    worst: bool,
    classes: tuple[str, ...],
    numbers: tuple[int, ...],
    sample: int | None,
    document: bool,
    lines: int,
    color: bool | None,
    html: str | None,
    force: bool,
    reading: Reading,
    quiet: bool,
    as_json: bool,
) -> None:
    """Show records before and after `treeanon anonymize` with the same options; no release is written.

    The output contains ORIGINAL DATA of some persons. Each line shows a value as it is and as it would be published:
    generalized (~), moved (>), merged with others (=) or not published (x).

    \b
    treeanon preview patients.xml -s schema.toml -k 5 -m 2 -n 1
    treeanon preview patients.xml -s schema.toml -k 5 --worst --records 5 --class diagnosis
    treeanon preview patients.json -s schema.toml -k 5 --document --html preview.html
    """
    if numbers and (records or worst or classes):
        raise click.UsageError("--record excludes --records, --worst and --class")

    request = CommandRequest(
        source=source,
        schema=load_schema(schema, reading),
        reading=reading,
        force=force,
        quiet=quiet,
        as_json=as_json,
        **options,
    )
    refuse_own_input([source, schema], [html])
    check_extra_output(html, "", force=force, option="--html")
    refuse_hierarchies(request.schema, html)
    chosen = {"records": records or 3, "worst": worst, "classes": classes, "numbers": [one - 1 for one in numbers]}
    data, found = (_of_rows if request.is_table else _of_trees)(request, sample, chosen)
    if as_json:
        print_result(found.as_dict(), as_json=True)
    elif not quiet:
        _show(found, lines or None, color, _notes(request, found), document=document)
    if html is not None:
        _write_page(request, html, found, data)


def _of_trees(request: CommandRequest, sample: int | None, chosen: dict[str, Any]) -> tuple[Forest, Preview]:
    """Read trees, and return them with their preview."""
    wanted = request.tree_request()
    wanted.check(request.schema)
    from treeanon.previews.preview import previewed
    from treeanon.release import fulfill

    announce_compilation(quiet=request.quiet)
    forest = read_records(request.source, wanted.fitting(request.schema), request.reading, quiet=request.quiet)
    with progress_bar("searching", quiet=request.quiet) as progress:
        return previewed(forest, lambda part: fulfill(wanted, part, progress), sample=sample, **chosen)


def _of_rows(request: CommandRequest, sample: int | None, chosen: dict[str, Any]) -> tuple[Table, Preview]:
    """Read a table, and return it with its preview."""
    request.refuse_other_options()
    wanted = request.table_request()
    wanted.check(request.schema)
    from treeanon.previews.preview import previewed
    from treeanon.release import fulfill_permuted, fulfill_table

    announce_compilation(quiet=request.quiet)
    reductions = reductions_of(request.reduced)
    table = read_as_table(request.source, request.schema, reductions, request.reading, quiet=request.quiet)
    release = fulfill_permuted if wanted.publish == "permuted" else fulfill_table
    with progress_bar("searching", quiet=request.quiet) as progress:
        return previewed(table, lambda part: release(wanted, part, progress=progress), sample=sample, **chosen)


def _notes(request: CommandRequest, found: Preview) -> list[str]:
    """Return which trees are shown, where the schema leaves it open and they are merged."""
    from treeanon.release import Release

    if not isinstance(found.release, Release):
        return []
    return merged_notes(request.schema, found.release.solution.objects, request.tree_request().why_merged)


def _show(found: Preview, lines: int | None, color: bool | None, notes: Sequence[str], *, document: bool) -> None:
    """Print the preview, and notes about the release."""
    from treeanon.reports.preview_cells import folded
    from treeanon.reports.preview_text import preview_text

    colored = has_colors() if color is None else color
    width = shutil.get_terminal_size((80, 24)).columns
    text = preview_text(found, width=width, color=colored, lines=lines, document=document)
    data = found.release.as_dict()
    more = sacrifice_lines(data) if "guarantee" in data else search_lines(data)
    more = [part for line in (*notes, *more) for part in folded(line, max(width, 20))] + reading_notes(data["counts"])
    text = "\n".join([text, *([""] if more else []), *map(printable, more)])
    # A terminal that cannot show a character is given its number.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding), color=colored)


def has_colors() -> bool:
    """Return whether standard output is a terminal with colors."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _write_page(request: CommandRequest, target: str, found: Preview, data: Forest | Table) -> None:
    """Write the page, for those who have access to the data."""
    from treeanon.cli.report import risks_of
    from treeanon.forest import Forest
    from treeanon.reports.page.page import write_page
    from treeanon.reports.preview_text import sample_sentences

    before, after = risks_of(found.release, data, request.reading["jobs"], quiet=request.quiet)
    write_page(
        found.release, target, force=request.force, audience="internal", title="A preview of a release",
        before=data if isinstance(data, Forest) else None, changes=found.changes, risk_before=before,
        risk_after=after, notes=["Nothing has been published: this is a preview.", *sample_sentences(found)],
    )  # fmt: skip
    say(f"Page with ORIGINAL data written to {printable(target)}; not for publishing", quiet=request.quiet)

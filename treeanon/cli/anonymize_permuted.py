"""`treeanon anonymize --publish permuted`: exact rows with group numbers, and the sensitive values of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treeanon.cli.checks_and_texts import check_folder, counted, refuse_hierarchies, tell_of_compiling
from treeanon.cli.html_page import check_page, write_page_of
from treeanon.cli.request import Asked
from treeanon.cli.shared import printable, progress_bar, result, say, told_reading
from treeanon.cli.table_io import read_as_table
from treeanon.cli.table_options import reductions_of

if TYPE_CHECKING:
    from treeanon.release import PermutedRelease


def anonymize_permuted(asked: Asked) -> None:
    """Reads, searches, writes and tells."""
    _refuse(asked)
    from treeanon.io.columns.permuted_files import files_of
    from treeanon.io.output import refuse_existing
    from treeanon.release import fulfill_permuted

    request = asked.rows
    request.check(asked.schema)
    kind = files_of(asked.output, asked.target_format or _format_of(asked))
    refuse_existing(asked.output, force=asked.force)
    check_folder(asked.output)
    check_page(asked)
    refuse_hierarchies(asked.schema, asked.output)
    reductions = reductions_of(asked.options["reduced"])
    tell_of_compiling(quiet=asked.quiet)
    table = read_as_table(asked.source, asked.schema, reductions, asked.reading, quiet=asked.quiet)
    with progress_bar("searching", quiet=asked.quiet) as progress:
        release = fulfill_permuted(request, table, seed=asked.seed, progress=progress)
        release.write(asked.output, files=kind, force=asked.force, seed=asked.seed, progress=progress)
    say(told_permuted(release, asked.output), quiet=asked.quiet)
    write_page_of(asked, release, table)
    result({**release.as_dict(), "output": asked.output}, as_json=asked.as_json)


def _refuse(asked: Asked) -> None:
    if asked.solution is not None:
        raise click.UsageError(
            "--solution: groups are of the rows of one table, so there is nothing to apply to others"
        )
    if asked.options["release"] == "documents":
        raise click.UsageError(
            "--publish permuted makes two tables, which documents cannot hold: leave one of both out"
        )
    asked.refuse_of_others()


def _format_of(asked: Asked) -> str:
    """The kind of files of the input; csv for documents, of which rows are made."""
    from treeanon.io.reading import input_format
    from treeanon.schema.model import FLAT

    name = input_format(asked.source, asked.schema, asked.reading["format"]).name
    return name if name in FLAT else "csv"


def told_permuted(release: PermutedRelease, output: str) -> str:
    """What a permuted release is, what it hides and what not, and where it went; without a value of the data."""
    from treeanon.report import permuted_losses_text
    from treeanon.verifier.permuted import promise

    told = release.as_dict()
    counts, hidden = told["counts"], told["hidden"]
    exact = told["published_as_they_are"]["quasi"]
    lines = [
        promise(hidden, release.models, release.verdict),
        f"Only {hidden} is hidden. Who is in the table is not: {', '.join(exact)} are published as they are.",
        f"Verified by counting in what was written: {release.verdict.sentence}",
        f"{counts['published_rows']:,} of {counts['rows']:,} rows written to {output}",
    ]
    if told["suppressed"]:
        lines.append(f"{counted(told['suppressed'], 'person')} left out as outliers")
    for role, names in told["published_as_they_are"].items():
        if role != "quasi":
            how = "declared safe by the schema" if role == "keep" else role
            lines.append(f"published as they are ({how}): {', '.join(names)}")
    lines += told_reading(counts)
    lines += ["", *permuted_losses_text(release.loss).splitlines()]
    return "\n".join(map(printable, lines))

"""`treeanon anonymize --release documents`: what a table release makes of the person, in the documents again."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

import click

from treeanon.algorithms.table.registry import FLAT_DEFAULT, flat_algorithm_named
from treeanon.cli.checks_and_texts import check_folder, check_form, tell_of_compiling, told_sacrifices
from treeanon.cli.html_page import check_page, write_page_of
from treeanon.cli.request import Asked
from treeanon.cli.shared import printable, progress_bar, read_records, result, say, told_reading
from treeanon.cli.table_io import told_search
from treeanon.cli.table_options import models_of_options

if TYPE_CHECKING:
    from treeanon.forest import Forest
    from treeanon.release import DocumentsRelease, Request, TableRequest

DIVERSITIES = ("distinct", "frequency")
"""The forms of l-diversity that trees know."""

_SHARED = ("weights", "effort")
"""Options that searches of trees and of tables may have."""


def anonymize_documents(asked: Asked) -> None:
    """Reads, searches, writes and tells."""
    _refuse(asked)
    schema, output, quiet = asked.schema, asked.output, asked.quiet
    rest = _asked_of_trees(asked)
    request = replace(asked, options=_of_rows(asked, rest)).rows
    from treeanon.io import output_format
    from treeanon.io.output import refuse_existing
    from treeanon.io.relational.urls import shown
    from treeanon.release import documents_of

    if rest is not None:
        rest.check(schema)
    refuse_existing(output, force=asked.force)
    check_folder(output)
    check_page(asked)
    form = output_format(output, schema, asked.target_format)
    check_form(schema, form, output)
    tell_of_compiling(quiet=quiet)
    forest = read_records(asked.source, schema, asked.reading, quiet=quiet)
    check_form(forest.schema, form, output)
    if rest is not None:
        request = _of_the_person(request, forest, asked)
    with progress_bar("searching", quiet=quiet) as progress:
        release = documents_of(forest, request, rest or "drop", seed=asked.seed, progress=progress)
    with progress_bar("writing", quiet=quiet) as progress:
        release.write(
            output, format=form.name, force=asked.force, seed=asked.seed, jobs=asked.reading["jobs"], progress=progress
        )
    say(told_documents(release, shown(output)), quiet=quiet)
    write_page_of(asked, release, forest)
    result({**release.as_dict(), "output": shown(output)}, as_json=asked.as_json)


def _refuse(asked: Asked) -> None:
    if asked.solution is not None:
        raise click.UsageError("--solution is of a table or of trees: for documents made of both it cannot be applied")
    if asked.mining:
        raise click.UsageError("--mining is of trees alone")
    if asked.options["reduced"]:
        raise click.UsageError(
            "--reduce is of rows: in documents, what a person has several times is the rest (--rest drop or anonymize)"
        )


def _asked_of_trees(asked: Asked) -> Request | None:
    """The release of trees that is asked for; None if only the classes of the person are to be published."""
    options = asked.options
    if options["rest"] != "anonymize":
        asked.refuse_trees(" (--rest anonymize: the other classes are published too)")
        return None
    least, diversity = options["l"], options["diversity"]
    if isinstance(least, dict):
        least = max(least.values())
    if diversity not in DIVERSITIES:
        # What the other forms ask of rows implies so many different values, which is what trees know.
        least, diversity = None if least is None else ceil(least), "distinct"
    return asked.records(least, diversity)


def _of_rows(asked: Asked, rest: Request | None) -> dict[str, Any]:
    """The options of the search of the table: without those that it does not take, where that of trees has them."""
    takes = flat_algorithm_named(asked.algorithm or FLAT_DEFAULT).options
    # The effort is that of the search of trees, which takes longer, where there is one.
    left = [name for name in _SHARED if rest is not None and (name == "effort" or name not in takes)]
    return {name: None if name in left else value for name, value in asked.options.items()}


def _of_the_person(request: TableRequest, forest: Forest, asked: Asked) -> TableRequest:
    """The request without what speaks of other classes only, for which there is the guarantee of trees."""
    from treeanon.release.table_documents import person_classes

    mine, given = person_classes(forest), dict(asked.options)
    if isinstance(given["l"], dict):
        given["l"] = {name: value for name, value in given["l"].items() if name in mine} or None
    elif not any(spec.role == "sensitive" for spec in forest.schema.classes if spec.name in mine):
        given["l"] = None
    if given["l"] is None:
        given |= {"diversity": "distinct", "c": None}
    own = dict(request.options)
    if "weights" in own:
        own["weights"] = {name: weight for name, weight in own["weights"].items() if name in mine}
    bare = request.unprotected
    bare = bare if isinstance(bare, bool) else tuple(name for name in bare if name in mine)
    return replace(request, models=models_of_options(asked.k, given), options=own, unprotected=bare)


def told_documents(release: DocumentsRelease, output: str) -> str:
    """What a release is, what it cost and where it went, in plain words and without a value of the data."""
    from treeanon.report import flat_losses_text, losses_text

    told = release.as_dict()
    rows, trees, counts = told["rows"], told["trees"], told["counts"]
    same = {"published_as_they_are": told["published_as_they_are"]}
    known = ", ".join(column.name for column in release.rows.table.quasi)
    lines = [
        f"By {known}, each person looks like others of a group that satisfies: {', '.join(rows['models'])}.",
        f"Verified by counting in what was written: {release.rows.verdict.sentence}",
    ]
    if release.trees is not None:
        lines.append(release.trees.solution.guarantee.sentence)
        lines.append(f"Verified by counting in what was written: {release.trees.verdict.sentence}")
    elif release.rest:
        lines.append(f"left out: {', '.join(release.rest)}")
    lines.append(
        f"{counts['published_records']:,} of {counts['records']:,} records, {counts['published_nodes']:,} of"
        f" {counts['nodes']:,} nodes written to {output}"
    )
    lines += told_search({**rows, **({"published_as_they_are": {}} if trees else same)})
    if trees:
        lines += told_sacrifices({**trees, "suppressed": 0, **same})
    lines += told_reading(counts)
    lines += ["", *flat_losses_text(release.rows.loss).splitlines(), "", *losses_text(release.loss).splitlines()]
    return "\n".join(map(printable, lines))

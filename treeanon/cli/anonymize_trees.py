"""`treeanon anonymize` where trees are released."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from treeanon.algorithms.table.registry import FLAT_ALGORITHMS
from treeanon.algorithms.tree.registry import DEFAULT
from treeanon.cli.checks_and_texts import (
    check_folder,
    check_form,
    check_solution_target,
    tell_of_compiling,
    told_release,
)
from treeanon.cli.html_page import check_page, write_page_of
from treeanon.cli.request import SHARED, Asked
from treeanon.cli.shared import progress_bar, read_records, result, say
from treeanon.cli.table_options import asks_for_table

if TYPE_CHECKING:
    from treeanon.release import Request


def anonymize_trees(asked: Asked) -> None:
    """Reads, searches, writes and tells."""
    request = trees_asked(asked)
    from treeanon.io import output_format
    from treeanon.io.output import refuse_existing
    from treeanon.io.relational.urls import shown
    from treeanon.metrics import ml2
    from treeanon.release import fulfill
    from treeanon.report import losses_data

    schema, output, solution, quiet = asked.schema, asked.output, asked.solution, asked.quiet
    request.check(schema)
    refuse_existing(output, force=asked.force)
    check_folder(output)
    check_solution_target(solution, output, force=asked.force)
    check_page(asked)
    form = output_format(output, schema, asked.target_format)
    check_form(schema, form, output, solution)
    tell_of_compiling(quiet=quiet)
    forest = read_records(asked.source, schema, asked.reading, quiet=quiet)
    check_form(forest.schema, form, output)
    with progress_bar("searching", quiet=quiet) as progress:
        release = fulfill(request, forest, progress)
    with progress_bar("writing", quiet=quiet) as progress:
        release.write(
            output, format=form.name, force=asked.force, seed=asked.seed, jobs=asked.reading["jobs"], progress=progress
        )
    if solution is not None:
        release.write_solution(solution, force=asked.force)
    mined = ml2(forest, release.forest, release.kept) if asked.mining else None
    say(told_release(release, output, solution, mined), quiet=quiet)
    write_page_of(asked, release, forest)
    losses = losses_data(release.loss, mined)
    result({**release.as_dict(), "losses": losses, "output": shown(output)}, as_json=asked.as_json)


def trees_asked(asked: Asked) -> Request:
    """The release of trees that is asked for; an error for what only tables have."""
    if asked.k is None and asked.options["max_loss"] is None:
        raise click.UsageError("Missing option '-k': the number of persons that nobody can be told apart among.")
    least, diversity = _diversity(asked.options)
    return asked.records(
        least, diversity, algorithm=asked.algorithm or DEFAULT, max_suppressed=asked.max_suppressed,
        max_loss=asked.options["max_loss"],
    )  # fmt: skip


def _diversity(given: Mapping[str, Any]) -> tuple[int | None, Any]:
    """The diversity asked of trees; an error for what only tables have."""
    mine = {"l", "diversity", "emd", "release", *SHARED}
    if asks_for_table(given):
        raise click.UsageError("--c, --alpha, --t, --p, and --l with a class or of another form, are for tables")
    others = [name for name, value in given.items() if value and name not in mine]
    if others or given["release"] != "table":
        names = ", ".join("--" + name.replace("_", "-") for name in (others or ["release"]))
        raise click.UsageError(f"{names}: only searches of tables have that; they are: {', '.join(FLAT_ALGORITHMS)}")
    return given["l"], given["diversity"]

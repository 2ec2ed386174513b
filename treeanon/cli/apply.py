"""`treeanon apply`: what a search found for some data, done to other data, and checked again."""

from __future__ import annotations

import os
from typing import Literal

import click

from treeanon.cli.common import (
    force_option,
    output_option,
    progress_bar,
    read_records,
    reading_options,
    refuse_two_on_stdout,
    result,
    say,
    schema_option,
    seed_option,
    talking_options,
)
from treeanon.cli.releasing import check_folder, check_form, compiles_first, refuse_own_input, told_release


@click.command()
@click.argument("solution", metavar="SOLUTION")
@click.argument("source", metavar="INPUT")
@schema_option
@output_option
@click.option("--to", "target_format", metavar="FORMAT", help="Format of the output, if its name does not tell.")
@force_option
@seed_option
@reading_options
@talking_options
def command(
    solution: str,
    source: str,
    schema: str,
    output: str,
    target_format: str | None,
    force: bool,
    seed: int | None,
    source_format: str | None,
    on_error: Literal["error", "skip"],
    strict: bool,
    show_values: bool,
    jobs: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Do to new data what a solution file says, if its guarantee holds for them too.

    SOLUTION is what `treeanon anonymize --solution` wrote. The guarantee is checked on the new data before anything is
    written: what was safe among other persons need not be safe here. If it does not hold there is no output, the exit
    code is 1, and a new search (`treeanon anonymize`) is needed.

    \b
    treeanon apply out.solution.json patients-2025.xml -s schema.toml -o out-2025.xml
    """
    refuse_two_on_stdout(output, as_json=as_json)
    refuse_own_input([solution, source, schema], [output])
    if compiles_first():
        say("compiling kernels on the first run: this takes some seconds, once", quiet=quiet)
    from treeanon.io import output_format
    from treeanon.io.output import refuse_existing
    from treeanon.io.tables.urls import shown
    from treeanon.release import SolutionFile, apply
    from treeanon.schema import Schema

    cores = jobs or os.cpu_count() or 1
    found = SolutionFile.load(solution).solution
    loaded = Schema.load(schema)
    refuse_existing(output, force=force)
    check_folder(output)
    form = output_format(output, loaded, target_format)
    check_form(loaded, form, output)
    forest = read_records(
        source, loaded, quiet=quiet, format=source_format, on_error=on_error, strict=strict,
        show_values=show_values, jobs=jobs,
    )  # fmt: skip
    check_form(forest.schema, form, output)
    release = apply(found, forest)
    with progress_bar("writing", quiet=quiet) as progress:
        release.write(output, format=form.name, force=force, seed=seed, jobs=cores, progress=progress)
    say(told_release(release, output), quiet=quiet)
    result({**release.as_dict(), "output": shown(output)}, as_json=as_json)

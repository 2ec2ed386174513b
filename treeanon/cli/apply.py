"""`treeanon apply`: what a search found for some data, done to other data, and checked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.checks import (
    check_folder,
    check_form,
    refuse_hierarchies,
    refuse_own_input,
    refuse_two_on_stdout,
    tell_of_compiling,
)
from treeanon.cli.options import force_option, output_option, reduce_option, schema_option, seed_option, talking_options
from treeanon.cli.printing import progress_bar, result, say
from treeanon.cli.reading import Reading, read_as_table, read_records, reading_options, reductions_of
from treeanon.cli.summaries import told_release, told_table_release

if TYPE_CHECKING:
    from treeanon.schema import Schema


@click.command()
@click.argument("solution", metavar="SOLUTION")
@click.argument("source", metavar="INPUT")
@schema_option
@output_option
@click.option("--to", "target_format", metavar="FORMAT", help="Format of the output, if its name does not tell.")
@reduce_option
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
    reduced: tuple[str, ...],
    force: bool,
    seed: int | None,
    reading: Reading,
    quiet: bool,
    as_json: bool,
) -> None:
    """Do to new data what a solution file says, if its guarantee holds for them too.

    SOLUTION is what `treeanon anonymize --solution` wrote. The guarantee is checked on the new data before anything is
    written: what was safe among other persons need not be safe here. If it does not hold there is no output, the exit
    code is 1, and a new search (`treeanon anonymize`) is needed. Of a table, rows of groups that fail are left out, as
    many as --max-suppressed allowed when the solution was made.

    \b
    treeanon apply out.solution.json patients-2025.xml -s schema.toml -o out-2025.xml
    """
    refuse_two_on_stdout(output, as_json=as_json)
    refuse_own_input([solution, source, schema], [output])
    from treeanon.io import output_format
    from treeanon.io.output import refuse_existing
    from treeanon.io.relational.urls import shown
    from treeanon.release import SolutionFile, apply
    from treeanon.release.table_reapply import is_of_table
    from treeanon.schema import Schema

    loaded = Schema.load(schema)
    refuse_existing(output, force=force)
    check_folder(output)
    if is_of_table(solution):
        told = _apply_to_table(
            solution, source, loaded, output, target_format, reduced, reading, force=force, seed=seed, quiet=quiet
        )
        result({**told, "output": shown(output)}, as_json=as_json)
        return
    if reduced:
        raise click.UsageError("--reduce: the solution is of trees, not of a table")
    found = SolutionFile.load(solution).solution
    form = output_format(output, loaded, target_format)
    check_form(loaded, form, output)
    tell_of_compiling(quiet=quiet)
    forest = read_records(source, loaded, reading, quiet=quiet)
    check_form(forest.schema, form, output)
    release = apply(found, forest)
    with progress_bar("writing", quiet=quiet) as progress:
        release.write(output, format=form.name, force=force, seed=seed, jobs=reading["jobs"], progress=progress)
    say(told_release(release, output), quiet=quiet)
    result({**release.as_dict(), "output": shown(output)}, as_json=as_json)


def _apply_to_table(
    solution: str,
    source: str,
    schema: Schema,
    output: str,
    target_format: str | None,
    reduced: tuple[str, ...],
    reading: Reading,
    *,
    force: bool,
    seed: int | None,
    quiet: bool,
) -> dict[str, Any]:
    """Applies the solution of a table, and gives what there is to tell."""
    from treeanon.io.columns.write_table import table_format
    from treeanon.release import TableSolution, apply_table

    found = TableSolution.load(solution)
    refuse_hierarchies(schema, output)
    form = table_format(output, target_format)
    tell_of_compiling(quiet=quiet)
    table = read_as_table(source, schema, reductions_of(reduced), reading, quiet=quiet)
    release = apply_table(found, table)
    with progress_bar("writing", quiet=quiet) as progress:
        release.write(output, format=form, force=force, seed=seed, progress=progress)
    say(told_table_release(release, output), quiet=quiet)
    return release.as_dict()

"""`treeanon apply`: apply a solution to other data, and verify the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.checks import (
    announce_compilation,
    check_folder,
    check_form,
    refuse_hierarchies,
    refuse_own_input,
    refuse_two_on_stdout,
)
from treeanon.cli.options import (
    Command,
    force_option,
    output_option,
    printing_options,
    reduce_option,
    schema_option,
    seed_option,
    to_option,
)
from treeanon.cli.printing import print_result, progress_bar, say
from treeanon.cli.reading import Reading, load_schema, read_as_table, read_records, reading_options, reductions_of
from treeanon.cli.summaries import merged_notes, release_summary, table_release_summary

if TYPE_CHECKING:
    from treeanon.schema import Schema


@click.command(cls=Command)
@click.argument("solution", metavar="SOLUTION")
@click.argument("source", metavar="INPUT")
@schema_option
@output_option
@to_option
@reduce_option
@force_option
@seed_option
@reading_options
@printing_options
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
    """Apply a solution to new data, if its guarantee holds for them too.

    SOLUTION is a file that `treeanon anonymize --solution` wrote. The guarantee is verified on the new data before
    anything is written. If it does not hold, nothing is written and the exit code is 1: run `treeanon anonymize` again.
    In a table, rows of groups that fail are suppressed, up to the --max-suppressed of the solution.

    \b
    treeanon apply out.solution.json patients-2025.xml -s schema.toml -o out-2025.xml
    """
    refuse_two_on_stdout(output, as_json=as_json)
    refuse_own_input([solution, source, schema], [output])
    from treeanon.io import output_format
    from treeanon.io.output import refuse_existing
    from treeanon.io.relational.urls import shown
    from treeanon.release import SolutionFile, apply
    from treeanon.release.reapply import is_of_table

    loaded = load_schema(schema, reading)
    refuse_existing(output, force=force)
    check_folder(output)
    if is_of_table(solution):
        applied = _apply_to_table(
            solution, source, loaded, output, target_format, reduced, reading, force=force, seed=seed, quiet=quiet
        )
        print_result({**applied, "output": shown(output)}, as_json=as_json)
        return
    if reduced:
        raise click.UsageError("--reduce applies to solutions of tables, not of trees")
    found = SolutionFile.load(solution).solution
    form = output_format(output, loaded, target_format)
    check_form(loaded, form, output)
    announce_compilation(quiet=quiet)
    forest = read_records(source, loaded, reading, quiet=quiet)
    check_form(forest.schema, form, output)
    release = apply(found, forest)
    with progress_bar("writing", quiet=quiet) as progress:
        release.write(output, format=form.name, force=force, seed=seed, jobs=reading["jobs"], progress=progress)
    notes = merged_notes(loaded, release.solution.objects, "so are those that the solution was made for")
    say(release_summary(release, output, notes=notes), quiet=quiet)
    print_result({**release.as_dict(), "output": shown(output)}, as_json=as_json)


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
    """Apply the solution of a table and return the release as plain data."""
    from treeanon.io.columns.write_table import table_format
    from treeanon.release import TableSolution, apply_table

    found = TableSolution.load(solution)
    refuse_hierarchies(schema, output)
    form = table_format(output, target_format)
    announce_compilation(quiet=quiet)
    table = read_as_table(source, schema, reductions_of(reduced), reading, quiet=quiet)
    release = apply_table(found, table)
    with progress_bar("writing", quiet=quiet) as progress:
        release.write(output, format=form, force=force, seed=seed, progress=progress)
    say(table_release_summary(release, output), quiet=quiet)
    return release.as_dict()

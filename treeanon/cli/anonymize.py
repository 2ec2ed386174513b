"""`treeanon anonymize`: a release of which nobody can be singled out, checked before it appears."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

import click

from treeanon.algorithms.table.registry import TABLE_DEFAULT, table_algorithm_named
from treeanon.cli.anonymize_spark import EngineAsked, anonymize_spark, engine_options
from treeanon.cli.checks import (
    check_folder,
    check_form,
    check_solution_target,
    refuse_hierarchies,
    refuse_own_input,
    refuse_two_on_stdout,
    tell_of_compiling,
)
from treeanon.cli.html_page import PageAsked, check_page, page_options, write_page_of
from treeanon.cli.options import force_option, output_option, schema_option, seed_option, talking_options
from treeanon.cli.printing import progress_bar, result, say
from treeanon.cli.reading import Reading, read_as_table, read_records, reading_options, reductions_of
from treeanon.cli.request import SHARED, Asked, Asking, Releasing, asking_options, models_of_options, trees_asked
from treeanon.cli.summaries import told_documents, told_permuted, told_release, told_table_release

if TYPE_CHECKING:
    from treeanon.forest import Forest
    from treeanon.release import Request, TableRequest


@click.command(cls=Releasing)
@click.argument("source", metavar="INPUT")
@schema_option
@output_option
@asking_options
@click.option(
    "--release",
    type=click.Choice(["table", "documents"]),
    default="table",
    show_default=True,
    help="documents: the records again, with what the table has made of the classes of the person.",
)
@click.option(
    "--rest",
    type=click.Choice(["drop", "anonymize"]),
    help="documents: leave out what a person has several times [default], or make the whole trees safe by -m and -n.",
)
@click.option("--solution", metavar="FILE", help="Also write what was done, for `treeanon apply`. Not for publishing.")
@click.option("--mining", is_flag=True, help="Also measure ML2 and dML2: the frequent subtrees that are lost.")
@click.option("--to", "target_format", metavar="FORMAT", help="Format of the output, if its name does not tell.")
@page_options
@engine_options
@force_option
@seed_option
@reading_options
@talking_options
def command(
    source: str,
    schema: str,
    output: str,
    asking: Asking,
    release: str,
    rest: str | None,
    solution: str | None,
    mining: bool,
    target_format: str | None,
    page: PageAsked,
    engine: EngineAsked,
    force: bool,
    seed: int | None,
    reading: Reading,
    quiet: bool,
    as_json: bool,
) -> None:
    """Publish records so that nobody can be singled out, and check what was written before it appears.

    Whoever knows up to M values of a person, and up to N relations between them (this diagnosis in that hospital),
    finds no person in the output, or at least K. Values become more general, and relations are taken apart, as little
    as the search can. If that cannot be reached, or the check fails, there is no output and the exit code is 1.

    Of a table (CSV, Parquet; or any records with one of the searches of tables) a row is a person, and whoever knows
    all of the quasi columns finds at least K rows alike. Sensitive columns can be protected by more models.

    \b
    treeanon anonymize patients.xml -s schema.toml -k 5 -m 2 -n 1 -o out.xml
    treeanon anonymize patients.xml -s schema.toml -k 5 -o out.xml --solution out.solution.json
    treeanon anonymize patients.xml -s schema.toml -k 5 -o out.xml --html page.html
    treeanon anonymize people.csv -s schema.toml -k 5 --l 3 --max-suppressed 1% -o out.csv
    treeanon anonymize patients.xml -s schema.toml -a samarati -k 5 --reduce disease=set -o out.csv
    treeanon anonymize patients.xml -s schema.toml -a samarati -k 5 --release documents -o out.xml
    treeanon anonymize people.csv -s schema.toml --publish permuted --l 3 --diversity frequency -o out/
    treeanon anonymize patients.ndjson -s schema.toml -k 5 --engine spark -o out/
    """
    refuse_two_on_stdout(output, as_json=as_json)
    refuse_own_input([source, schema], [output, solution, page.target])
    from treeanon.schema import Schema

    asking["options"] |= {"release": release, "rest": rest}
    asked = Asked(
        source=source, schema=Schema.load(schema), output=output, solution=solution, target_format=target_format,
        force=force, seed=seed, quiet=quiet, as_json=as_json, mining=mining, reading=reading, page=page, **asking,
    )  # fmt: skip
    if engine.name == "spark":
        anonymize_spark(asked, engine)
    elif not asked.is_table:
        anonymize_trees(asked)
    elif asked.options["publish"] == "permuted":
        anonymize_permuted(asked)
    elif release == "documents":
        anonymize_documents(asked)
    else:
        anonymize_table(asked)


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


def anonymize_table(asked: Asked) -> None:
    """Reads, searches, writes and tells."""
    from treeanon.io.columns.write_table import table_format
    from treeanon.io.output import refuse_existing
    from treeanon.release import fulfill_table

    asked.refuse_of_others()
    request = asked.rows
    request.check(asked.schema)
    reductions = reductions_of(asked.options["reduced"])
    refuse_existing(asked.output, force=asked.force)
    check_folder(asked.output)
    check_solution_target(asked.solution, asked.output, force=asked.force)
    check_page(asked)
    refuse_hierarchies(asked.schema, asked.output, asked.solution)
    form = table_format(asked.output, asked.target_format)
    tell_of_compiling(quiet=asked.quiet)
    table = read_as_table(asked.source, asked.schema, reductions, asked.reading, quiet=asked.quiet)
    with progress_bar("searching", quiet=asked.quiet) as progress:
        release = fulfill_table(request, table, seed=asked.seed, progress=progress)
        release.write(asked.output, format=form, force=asked.force, seed=asked.seed, progress=progress)
    if asked.solution is not None:
        release.write_solution(asked.solution, force=asked.force)
    say(told_table_release(release, asked.output, asked.solution), quiet=asked.quiet)
    write_page_of(asked, release, table)
    result({**release.as_dict(), "output": asked.output}, as_json=asked.as_json)


def anonymize_permuted(asked: Asked) -> None:
    """Reads, searches, writes and tells."""
    _refuse_of_permuted(asked)
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


def _refuse_of_permuted(asked: Asked) -> None:
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


DIVERSITIES = ("distinct", "frequency")
"""The forms of l-diversity that trees know."""


def anonymize_documents(asked: Asked) -> None:
    """Reads, searches, writes and tells."""
    _refuse_of_documents(asked)
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


def _refuse_of_documents(asked: Asked) -> None:
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
    search = table_algorithm_named(asked.algorithm or TABLE_DEFAULT)
    # The effort is that of the search of trees, which takes longer, where there is one.
    left = [name for name in SHARED if rest is not None and (name == "effort" or not search.takes(name))]
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

"""`treeanon anonymize`: a release in which nobody can be singled out, verified before it appears."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, ClassVar

import click

from treeanon.algorithms.table.registry import TABLE_DEFAULT, table_algorithm_named
from treeanon.algorithms.tree.registry import TREE_DEFAULT
from treeanon.cli.anonymize_spark import EngineRequest, anonymize_spark, engine_options
from treeanon.cli.checks import (
    announce_compilation,
    check_extra_output,
    check_folder,
    check_form,
    check_memory,
    refuse_hierarchies,
    refuse_own_input,
    refuse_two_on_stdout,
    write_solution_of,
)
from treeanon.cli.options import (
    Command,
    force_option,
    printing_options,
    schema_option,
    seed_option,
    to_option,
)
from treeanon.cli.printing import print_result, progress_bar, say
from treeanon.cli.reading import Reading, load_schema, read_as_table, read_records, reading_options, reductions_of
from treeanon.cli.report import PageRequest, check_page, page_options, write_page_of, write_report_of
from treeanon.cli.request import CommandRequest, Made, ReleaseOptions, models_of_options, release_options, told
from treeanon.cli.summaries import (
    documents_summary,
    merged_notes,
    permuted_summary,
    release_summary,
    table_release_summary,
)
from treeanon.kernels import ahead

if TYPE_CHECKING:
    from treeanon.algorithms.table.registry import TableAlgorithm
    from treeanon.forest import Forest
    from treeanon.release import Request, TableRequest


class _Anonymize(Command):
    """The command, whose help has the options of daily use."""

    rare: ClassVar = Command.rare.union(
        ("emd", "c", "rest", "audience", "report", "sample", "mining", "dry_run", "ignore_memory")
    )


@click.command(cls=_Anonymize)
@click.argument("source", metavar="INPUT")
@schema_option
@click.option("--output", "-o", metavar="PATH", help="File, folder, .zip, URL or -.  [required]")
@release_options
@click.option("--recommend", "recommended", is_flag=True, help="Trees: try several m and n; write nothing.")
@click.option(
    "--release",
    type=click.Choice(["table", "documents"]),
    default="table",
    metavar="FORM",
    help="table [default], or documents with its values.",
)
@click.option(
    "--rest",
    type=click.Choice(["drop", "anonymize"]),
    metavar="HOW",
    help="Of --release documents: what to do with classes that a person has several times: drop [default], or"
    " anonymize, which protects the whole trees by -m and -n.",
)
@click.option("--solution", metavar="FILE", help="Also write the solution, for `treeanon apply`.")
@click.option("--mining", is_flag=True, help="Trees: also measure the loss of frequent subtrees (ML2, dML2).")
@click.option("--dry-run", is_flag=True, help="Check the request and say what would be done; write nothing.")
@click.option("--ignore-memory", is_flag=True, help="Begin even where memory seems too small for the input's trees.")
@to_option
@page_options
@engine_options
@force_option
@seed_option
@reading_options
@printing_options
def command(
    source: str,
    schema: str,
    output: str | None,
    options: ReleaseOptions,
    recommended: bool,
    release: str,
    rest: str | None,
    solution: str | None,
    mining: bool,
    dry_run: bool,
    ignore_memory: bool,
    target_format: str | None,
    page: PageRequest,
    engine: EngineRequest,
    force: bool,
    seed: int | None,
    reading: Reading,
    quiet: bool,
    as_json: bool,
) -> Made | None:
    """Anonymize records, and verify their guarantee before they appear.

    Trees: whoever knows up to M values of a person and N relations between them finds at least K that it may be.
    Tables: at least K rows share all quasi-identifiers. If this cannot be reached, or verification fails, nothing is
    written and the exit code is 1.

    \b
    treeanon anonymize patients.xml -s schema.toml -k 5 -m 2 -n 1 -o out.xml
    treeanon anonymize people.csv -s schema.toml -k 5 --l 3 -o out.csv
    """
    if recommended:
        recommend_trees(source, schema, options, reading, seed, quiet=quiet, as_json=as_json)
        return None
    if output is None:
        context = click.get_current_context()
        raise click.MissingParameter(ctx=context, param=next(p for p in context.command.params if p.name == "output"))
    refuse_two_on_stdout(output, as_json=as_json)
    refuse_own_input([source, schema], [output, solution, page.target, page.report])

    request = CommandRequest(
        source=source, schema=load_schema(schema, reading), output=output, solution=solution,
        target_format=target_format, force=force, seed=seed, quiet=quiet, as_json=as_json, mining=mining,
        reading=reading, page=page, release=release, rest=rest, ignore_memory=ignore_memory, **options,
    )  # fmt: skip
    if dry_run:
        from treeanon.cli.summaries import tell

        return Made(None, tell(request, engine.name), ())
    if engine.name == "spark":
        made: Made = anonymize_spark(request, engine)
        return made
    ahead.start_first(request.algorithm or (TABLE_DEFAULT if request.is_table else TREE_DEFAULT))
    if not request.is_table:
        return anonymize_trees(request)
    if request.publish == "permuted":
        return anonymize_permuted(request)
    return anonymize_documents(request) if release == "documents" else anonymize_table(request)


def recommend_trees(
    source: str, schema: str, options: ReleaseOptions, reading: Reading, seed: int | None, *, quiet: bool, as_json: bool
) -> None:
    """Try several m and n on a sample of trees, and print what each costs and leaves."""
    from treeanon.release.recommend import K, recommend_by, recommendation_text

    if options["m"] is not None or options["n"] is not None:
        raise click.UsageError("--recommend tries several -m and -n; leave them out")
    options = {**options, "k": K if options["k"] is None else options["k"]}
    request = CommandRequest(source=source, schema=load_schema(schema, reading), seed=seed, reading=reading, **options)
    if request.is_table:
        raise click.UsageError("--recommend applies to trees only: in a table all quasi-identifiers are taken as known")
    wanted = request.tree_request()
    wanted.check(request.schema)
    announce_compilation(quiet=quiet)
    forest = read_records(source, wanted.fitting(request.schema), reading, quiet=quiet)
    with progress_bar("trying", quiet=quiet) as progress:
        found = recommend_by(wanted, forest, progress=progress)
    if not as_json:
        click.echo(recommendation_text(found))
    print_result(found.as_dict(), as_json=as_json)


def anonymize_trees(request: CommandRequest) -> Made:
    """Read trees, search, write the release and print its summary."""
    wanted = request.tree_request()
    from treeanon.forest.shifting import shifted
    from treeanon.io import output_format
    from treeanon.io.output import refuse_existing
    from treeanon.io.relational.urls import shown
    from treeanon.metrics import ml2
    from treeanon.progress import in_background
    from treeanon.release import fulfill
    from treeanon.reports import losses_data

    output, solution, quiet = request.output, request.solution, request.quiet
    wanted.check(request.schema)
    schema = wanted.fitting(request.schema)
    refuse_existing(output, force=request.force)
    check_folder(output)
    check_extra_output(solution, output, force=request.force)
    check_page(request)
    form = output_format(output, schema, request.target_format)
    check_form(schema, form, output, solution)
    check_memory(request, schema)
    announce_compilation(quiet=quiet)
    forest = read_records(request.source, schema, request.reading, quiet=quiet)
    check_form(forest.schema, form, output)
    # What a release is compared with has moved dates, too.
    forest = shifted(forest)
    with progress_bar("searching", quiet=quiet) as progress:
        release = fulfill(wanted, forest, progress)
    jobs = request.reading["jobs"]
    # Nobody is told of it: then it need not be measured. Writing is for one core.
    told_beyond = not quiet or request.as_json
    beyond_of = in_background(lambda: release.one_more) if told_beyond and jobs != 1 else None
    with progress_bar("writing", quiet=quiet) as progress:
        release.write(output, format=form.name, force=request.force, seed=request.seed, jobs=jobs, progress=progress)
    write_solution_of(release, request)
    mined = ml2(forest, release.forest, release.kept) if request.mining else None
    notes = merged_notes(request.schema, release.solution.objects, wanted.why_merged)
    beyond = beyond_of() if beyond_of is not None else release.one_more if told_beyond else None
    say(release_summary(release, output, solution, mined, beyond, notes), quiet=quiet)
    write_page_of(request, release, forest)
    write_report_of(request, release)
    more = {} if beyond is None else {"one_more_value": beyond.as_dict()}
    made = {**release.as_dict(), **more, "losses": losses_data(release.loss, mined), "output": shown(output)}
    return told(release, made, request)


def anonymize_table(request: CommandRequest) -> Made:
    """Read a table, search, write the release and print its summary."""
    from treeanon.io.columns.write_table import table_format
    from treeanon.io.output import refuse_existing
    from treeanon.release import fulfill_table

    request.refuse_other_options()
    wanted = request.table_request()
    wanted.check(request.schema)
    reductions = reductions_of(request.reduced)
    output, quiet = request.output, request.quiet
    refuse_existing(output, force=request.force)
    check_folder(output)
    check_extra_output(request.solution, output, force=request.force)
    check_page(request)
    refuse_hierarchies(request.schema, output, request.solution)
    form = table_format(output, request.target_format)
    announce_compilation(quiet=quiet)
    table = read_as_table(request.source, request.schema, reductions, request.reading, quiet=quiet)
    with progress_bar("searching", quiet=quiet) as progress:
        release = fulfill_table(wanted, table, seed=request.seed, progress=progress)
        release.write(output, format=form, force=request.force, seed=request.seed, progress=progress)
    write_solution_of(release, request)
    say(table_release_summary(release, output, request.solution), quiet=quiet)
    write_page_of(request, release, table)
    write_report_of(request, release)
    return told(release, {**release.as_dict(), "output": output}, request)


def anonymize_permuted(request: CommandRequest) -> Made:
    """Read a table, form groups, and write exact rows with group numbers and the sensitive values of each group."""
    _refuse_of_permuted(request)
    from treeanon.io.columns.permuted_files import files_of
    from treeanon.io.output import refuse_existing
    from treeanon.release import fulfill_permuted

    wanted = request.table_request()
    wanted.check(request.schema)
    output, quiet = request.output, request.quiet
    kind = files_of(output, request.target_format or _format_of(request))
    refuse_existing(output, force=request.force)
    check_folder(output)
    check_page(request)
    refuse_hierarchies(request.schema, output)
    reductions = reductions_of(request.reduced)
    announce_compilation(quiet=quiet)
    table = read_as_table(request.source, request.schema, reductions, request.reading, quiet=quiet)
    with progress_bar("searching", quiet=quiet) as progress:
        release = fulfill_permuted(wanted, table, seed=request.seed, progress=progress)
        release.write(output, files=kind, force=request.force, seed=request.seed, progress=progress)
    say(permuted_summary(release, output), quiet=quiet)
    write_page_of(request, release, table)
    return told(release, {**release.as_dict(), "output": output}, request)


def _refuse_of_permuted(request: CommandRequest) -> None:
    if request.solution is not None:
        raise click.UsageError(
            "--solution: groups of a permuted release consist of the rows of one table and cannot be applied to others"
        )
    if request.release == "documents":
        raise click.UsageError(
            "--publish permuted writes two tables, which documents cannot hold; choose it or --release documents"
        )
    request.refuse_other_options()


def _format_of(request: CommandRequest) -> str:
    """Return the format of the input's files; csv for documents, which are reduced to rows."""
    from treeanon.formats import ROWS
    from treeanon.io.reading import input_format

    form = input_format(request.source, request.schema, request.reading["format"])
    return form.name if form.is_rows else ROWS


def anonymize_documents(request: CommandRequest) -> Made:
    """Read trees, anonymize the table of the classes of the person, and write documents with its values."""
    _refuse_of_documents(request)
    schema, output, quiet = request.schema, request.output, request.quiet
    rest = _request_of_rest(request)
    wanted = _table_part(request, rest).table_request()
    from treeanon.io import output_format
    from treeanon.io.output import refuse_existing
    from treeanon.io.relational.urls import shown
    from treeanon.release import documents_of

    if rest is not None:
        rest.check(schema)
    refuse_existing(output, force=request.force)
    check_folder(output)
    check_page(request)
    form = output_format(output, schema, request.target_format)
    check_form(schema, form, output)
    announce_compilation(quiet=quiet)
    forest = read_records(request.source, schema, request.reading, quiet=quiet)
    check_form(forest.schema, form, output)
    if rest is not None:
        wanted = _of_the_person(wanted, forest, request)
    with progress_bar("searching", quiet=quiet) as progress:
        release = documents_of(forest, wanted, rest or "drop", seed=request.seed, progress=progress)
    jobs = request.reading["jobs"]
    with progress_bar("writing", quiet=quiet) as progress:
        release.write(output, format=form.name, force=request.force, seed=request.seed, jobs=jobs, progress=progress)
    say(documents_summary(release, shown(output)), quiet=quiet)
    write_page_of(request, release, forest)
    return told(release, {**release.as_dict(), "output": shown(output)}, request)


def _refuse_of_documents(request: CommandRequest) -> None:
    if request.solution is not None:
        raise click.UsageError("--solution applies to a table or to trees: documents made of both have no solution")
    if request.mining:
        raise click.UsageError("--mining applies to trees only")
    if request.reduced:
        raise click.UsageError(
            "--reduce applies to rows: in documents, --rest says what to do with what a person has several times"
        )


def _request_of_rest(request: CommandRequest) -> Request | None:
    """Return the request for the whole trees; None if only the classes of the person are to be published."""
    if request.rest != "anonymize":
        request.refuse_tree_options(" (--rest anonymize also publishes the other classes)")
        return None
    from treeanon.privacy.guarantee import DIVERSITIES

    least, diversity = request.models["l"], request.models["diversity"]
    if isinstance(least, dict):
        least = max(least.values())
    if diversity is not None and diversity not in DIVERSITIES:
        # The trees' own form takes the place of one that only tables know.
        least, diversity = None if least is None else ceil(least), None
    search = _search_of_table(request)
    own = {name: text for name, text in request.params.items() if not search.takes(name)}
    return replace(request, params=own).tree_request_of(least, diversity)


def _search_of_table(request: CommandRequest) -> TableAlgorithm:
    return table_algorithm_named(request.algorithm or TABLE_DEFAULT)


def _table_part(request: CommandRequest, rest: Request | None) -> CommandRequest:
    """Return the request without what only the search of the trees takes, where there is one."""
    if rest is None:
        return request
    search = _search_of_table(request)
    own = {name: text for name, text in request.params.items() if search.takes(name)}
    weights = request.weights if "weight" in search.honors else None
    # The effort is that of the search of trees, which takes longer.
    return replace(request, params=own, weights=weights, effort=None)


def _of_the_person(wanted: TableRequest, forest: Forest, request: CommandRequest) -> TableRequest:
    """Return the request without what speaks of other classes, which the guarantee of trees covers."""
    from treeanon.release.table_documents import person_classes

    mine, models = person_classes(forest), dict(request.models)
    if isinstance(models["l"], dict):
        models["l"] = {name: value for name, value in models["l"].items() if name in mine} or None
    elif not any(spec.role == "sensitive" for spec in forest.schema.classes if spec.name in mine):
        models["l"] = None
    if models["l"] is None:
        models |= {"diversity": None, "c": None}
    controls = {name: own for name, own in wanted.controls.items() if name in mine}
    bare = wanted.unprotected
    bare = bare if isinstance(bare, bool) else tuple(name for name in bare if name in mine)
    return replace(wanted, models=models_of_options(request.k, models), controls=controls, unprotected=bare)

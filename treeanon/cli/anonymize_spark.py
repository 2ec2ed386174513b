"""`treeanon anonymize --engine spark`: collections that exceed the memory of one machine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.checks import check_extra_output, refuse_hierarchies, write_solution_of
from treeanon.cli.printing import progress_bar, say
from treeanon.cli.request import CommandRequest, Made, told
from treeanon.cli.summaries import merged_notes, release_summary, table_release_summary
from treeanon.progress import Bar

if TYPE_CHECKING:
    from treeanon.spark.interface import DistributedRelease, Job, Notify


@dataclass(frozen=True)
class EngineRequest:
    """The engine of --engine, and the sample that Spark's driver searches in."""

    name: str
    sample: int | None


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about the engine, which are given to the command together as `engine`."""

    @wraps(command)
    def gathered(*args: Any, engine: str, sample: int | None, **given: Any) -> Any:
        if engine == "local" and sample is not None:
            raise click.UsageError("--sample applies to --engine spark only")
        return command(*args, engine=EngineRequest(engine, sample), **given)

    place = click.option(
        "--engine",
        type=click.Choice(["local", "spark"]),
        default="local",
        metavar="NAME",
        help="local [default], or spark (writes a folder).",
    )
    sample = click.option(
        "--sample",
        type=click.IntRange(2),
        metavar="N",
        help="Of --engine spark: number of records that the driver searches; larger tables are searched in parts.",
    )
    return place(sample(gathered))


def anonymize_spark(request: CommandRequest, engine: EngineRequest) -> Made:
    """Anonymize an input with Apache Spark and print the summary."""
    if request.mining:
        raise click.UsageError("--mining requires --engine local")
    if request.page.target is not None:
        raise click.UsageError("--html requires --engine local")
    if request.page.report is not None:
        raise click.UsageError("--report requires --engine local; see `treeanon report`")
    from treeanon.io.relational.urls import is_remote  # not at the top: --help loads no numpy

    if any(map(is_remote, (request.source, request.output))):
        raise click.UsageError(
            "--engine spark reads and writes what its workers reach by paths of their own, no such URLs"
        )
    if "-" in (request.source, request.output):
        raise click.UsageError("--engine spark cannot read standard input or write standard output")
    _ask_whose(request)
    return (_rows if request.is_table else _trees)(request, engine)


def _ask_whose(request: CommandRequest) -> None:
    """UsageError where a field of a local input tells that a person has several records; others are not looked at."""
    source = Path(request.source)
    if source.exists() or next(Path(source.anchor).glob(str(source.relative_to(source.anchor))), None) is not None:
        from treeanon.forest.report import Origin
        from treeanon.infer.persons import refuse_repeats_of
        from treeanon.io.reading import input_format

        form = input_format(request.source, request.schema, request.reading["format"])
        reading = request.reading
        schema = request.schema.for_format(form.name)
        refuse_repeats_of(Origin(request.source, schema, reading["delimiter"], reading["on_error"] == "skip"))


@contextmanager
def _notifying(quiet: bool) -> Iterator[Notify | None]:
    """Provide a callback that shows the stage of the work on a terminal."""
    # We report a failing call of Java ourselves; py4j would log a traceback of its own code.
    logging.getLogger().addHandler(logging.NullHandler())
    with progress_bar("starting Spark", quiet=quiet) as bar:
        yield None if bar is None else _Stages(bar)


class _Stages:
    """Draws the stage of the work and how long it takes."""

    def __init__(self, bar: Bar) -> None:
        self.bar, self.tick = bar, bar.tick

    def __call__(self, words: str) -> None:
        self.bar.stage(words)


def _job(request: CommandRequest, engine: EngineRequest) -> Job:
    from treeanon.spark.interface import Job

    reading = request.reading
    return Job(
        request.source, request.schema, request.output, reading["format"], request.target_format, reading["on_error"],
        reading["strict"], reading["show_values"], request.force, engine.sample, reading["delimiter"], request.seed,
    )  # fmt: skip


def _rows(request: CommandRequest, engine: EngineRequest) -> Made:
    """Anonymize a table with one row a person."""
    request.refuse_other_options()
    if request.release == "documents":
        raise click.UsageError("--release documents requires --engine local")
    if request.reduced:
        raise click.UsageError("--reduce requires --engine local; or run `treeanon flatten` first")
    wanted = request.table_request()
    wanted.check(request.schema)
    check_extra_output(request.solution, request.output, force=request.force)
    refuse_hierarchies(request.schema, request.output, request.solution)
    from treeanon.spark.interface import engine_named

    quiet = request.quiet
    work = engine_named(engine.name)
    with _notifying(quiet) as notify:
        release = work.publish_rows(_job(request, engine), wanted, notify)
    write_solution_of(release, request)
    say(table_release_summary(release, request.output, request.solution), quiet=quiet)
    return told(release, {**release.as_dict(), "engine": engine.name, "output": request.output}, request)


def _trees(request: CommandRequest, engine: EngineRequest) -> Made:
    """Anonymize trees."""
    wanted = request.tree_request()
    check_extra_output(request.solution, request.output, force=request.force)
    from treeanon.reports import losses_data
    from treeanon.spark.interface import engine_named

    quiet = request.quiet
    work = engine_named(engine.name)
    with _notifying(quiet) as notify:
        published = work.publish(_job(request, engine), wanted, notify)
    notes = merged_notes(request.schema, published.solution.objects, wanted.why_merged)
    write_solution_of(published, request)
    say(
        release_summary(published, request.output, request.solution, notes=notes) + "\n\n" + _searched(published),
        quiet=quiet,
    )
    report = {**published.as_dict(), "losses": losses_data(published.loss, None), "output": request.output}
    return told(published, report, request)


def _searched(published: DistributedRelease) -> str:
    """Return a line about the sample that was searched and the rounds over all records."""
    report = published.report
    rounds = f"{report['rounds']:,} round{'' if report['rounds'] == 1 else 's'}"
    total = published.counts["records"]
    return f"Searched a sample of {report['sample']:,} of {total:,} records; counted all records in {rounds}."

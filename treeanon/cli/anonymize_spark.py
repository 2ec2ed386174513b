"""`treeanon anonymize --engine spark`: the same release of a collection that outgrows one machine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.checks import check_solution_target, refuse_hierarchies
from treeanon.cli.printing import Bar, progress_bar, result, say
from treeanon.cli.request import Asked, trees_asked
from treeanon.cli.summaries import told_release, told_table_release

if TYPE_CHECKING:
    from treeanon.spark.interface import DistributedRelease, Job, Notify


@dataclass(frozen=True)
class EngineAsked:
    """Where the work is to be done, and what that place is told."""

    name: str
    sample: int | None


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options about where the work is done, which a command is given together, as `engine`."""

    @wraps(command)
    def gathered(*args: Any, engine: str, sample: int | None, **given: Any) -> Any:
        if engine == "local" and sample is not None:
            raise click.UsageError("--sample: only --engine spark searches in a sample")
        return command(*args, engine=EngineAsked(engine, sample), **given)

    place = click.option(
        "--engine",
        type=click.Choice(["local", "spark"]),
        default="local",
        show_default=True,
        help="spark: read, count and write by Apache Spark; the output is a folder.",
    )
    sample = click.option(
        "--sample",
        type=click.IntRange(2),
        metavar="N",
        help="--engine spark: records that the driver searches in; a table with more is searched in ranges of N rows.",
    )
    return place(sample(gathered))


def anonymize_spark(asked: Asked, engine: EngineAsked) -> None:
    """Publishes an input by Spark, and tells what was done."""
    if asked.mining:
        raise click.UsageError("--mining: subtrees are mined in one place, by --engine local")
    if asked.page.target is not None:
        raise click.UsageError("--html: pages are made in one place, by --engine local")
    if "-" in (asked.source, asked.output):
        raise click.UsageError("--engine spark reads and writes files, not standard input or output")
    (_rows if asked.is_table else _trees)(asked, engine)


@contextmanager
def _notifying(quiet: bool) -> Iterator[Notify | None]:
    """Is told in words how far the work is, and draws that on a terminal."""
    # A call of Java that fails is told of by us; py4j would show where in its own code that was.
    logging.getLogger().addHandler(logging.NullHandler())
    with progress_bar("starting Spark", quiet=quiet) as bar:
        yield None if bar is None else _Stages(bar)


class _Stages:
    """Draws what is being done, and for how long."""

    def __init__(self, bar: Bar) -> None:
        self.bar, self.tick = bar, bar.tick

    def __call__(self, words: str) -> None:
        self.bar.stage(words)


def _job(asked: Asked, engine: EngineAsked) -> Job:
    from treeanon.spark.interface import Job

    reading = asked.reading
    return Job(
        asked.source, asked.schema, asked.output, reading["format"], asked.target_format, reading["on_error"],
        reading["strict"], reading["show_values"], asked.force, engine.sample, reading["delimiter"], asked.seed,
    )  # fmt: skip


def _rows(asked: Asked, engine: EngineAsked) -> None:
    """Publishes a table, a row a person."""
    asked.refuse_of_others()
    if asked.options["release"] == "documents":
        raise click.UsageError("--release documents: documents are put together in one place, by --engine local")
    if asked.options["reduced"]:
        raise click.UsageError("--reduce: records become rows in one place, by `treeanon flatten`")
    request = asked.rows
    request.check(asked.schema)
    check_solution_target(asked.solution, asked.output, force=asked.force)
    refuse_hierarchies(asked.schema, asked.output, asked.solution)
    from treeanon.spark.interface import engine_named

    quiet = asked.quiet
    work = engine_named(engine.name)
    with _notifying(quiet) as notify:
        release = work.publish_rows(_job(asked, engine), request, notify)
    if asked.solution is not None:
        release.write_solution(asked.solution, force=asked.force)
    say(told_table_release(release, asked.output, asked.solution), quiet=quiet)
    result({**release.as_dict(), "engine": engine.name, "output": asked.output}, as_json=asked.as_json)


def _trees(asked: Asked, engine: EngineAsked) -> None:
    """Publishes trees."""
    request = trees_asked(asked)
    check_solution_target(asked.solution, asked.output, force=asked.force)
    from treeanon.report import losses_data
    from treeanon.spark.interface import engine_named

    quiet = asked.quiet
    work = engine_named(engine.name)
    with _notifying(quiet) as notify:
        published = work.publish(_job(asked, engine), request, notify)
    if asked.solution is not None:
        published.write_solution(asked.solution, force=asked.force)
    say(told_release(published, asked.output, asked.solution) + "\n\n" + _searched(published), quiet=quiet)
    report = {**published.as_dict(), "losses": losses_data(published.loss, None), "output": asked.output}
    result(report, as_json=asked.as_json)


def _searched(published: DistributedRelease) -> str:
    """How much of the work was done in one place."""
    report = published.report
    rounds = f"{report['rounds']:,} round{'' if report['rounds'] == 1 else 's'}"
    searched = f"searched in {report['sample']:,} of {published.counts['records']:,} records"
    return f"{searched}, counted over all of them in {rounds}"

"""Read the inputs of commands: records, any input as a table, and two tables to compare."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

import click

from treeanon.cli.options import delimiter_option, from_option
from treeanon.cli.printing import progress_bar
from treeanon.progress import STAGES

if TYPE_CHECKING:
    from treeanon.forest import Forest
    from treeanon.io.compared import HowToRead
    from treeanon.schema import Schema
    from treeanon.schema.model import Objects
    from treeanon.table import Table


class Reading(TypedDict):
    """How an input is to be read; see `treeanon.io.read`. `objects` overrides what the schema says of them."""

    format: str | None
    delimiter: str
    on_error: Literal["error", "skip"]
    strict: bool
    show_values: bool
    jobs: int
    objects: Objects | None
    csv_safe: bool
    follow_links: bool


OF_SCHEMAS = ("objects", "csv_safe", "follow_links")
"""Options that say of a schema what it may say itself."""


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command that reads records, which are given to it together as `reading`."""

    @wraps(command)
    def gathered(*args: Any, source_format: str | None, jobs: int | None, **given: Any) -> Any:
        reading = {name: given.pop(name) for name in ("delimiter", "on_error", "strict", "show_values", *OF_SCHEMAS)}
        reading |= {"format": source_format, "jobs": jobs or os.cpu_count() or 1}
        return command(*args, reading=reading, **given)

    for option in reversed(
        (
            from_option,
            delimiter_option,
            click.option(
                "--on-error",
                type=click.Choice(["error", "skip"]),
                default="error",
                metavar="HOW",
                help="Malformed records: error [default] or skip.",
            ),
            click.option(
                "--strict",
                is_flag=True,
                help="Refuse duplicate JSON keys and dangling keys of tables.",
            ),
            click.option(
                "--objects",
                type=click.Choice(["merged", "whole"]),
                metavar="HOW",
                help="Trees: objects are merged or stay whole, whatever the schema says.",
            ),
            click.option(
                "--csv-safe",
                is_flag=True,
                help="CSV for spreadsheets: texts that they take as formulas have a ' before.",
            ),
            click.option(
                "--follow-links", is_flag=True, help="Also read what links lead to out of the input's folder."
            ),
            click.option("--show-values", is_flag=True, help="Let messages about hierarchies show values of the data."),
            click.option(
                "--jobs", type=click.IntRange(1), metavar="N", help="Number of processor cores [default: all]."
            ),
        )
    ):
        gathered = option(gathered)
    return gathered


def load_schema(path: str, reading: Reading) -> Schema:
    """Return the schema in a file, by which an input is read so."""
    from treeanon.schema import Schema

    found = Schema.load(path).with_objects(reading["objects"])
    found = found.with_csv_safe() if reading["csv_safe"] else found
    return found.with_links() if reading["follow_links"] else found


def how_to_read(reading: Reading) -> HowToRead:
    """Return the options of readers."""
    how: Any = {name: value for name, value in reading.items() if name not in OF_SCHEMAS}
    return cast("HowToRead", how)


@contextmanager
def rereadable(source: str) -> Iterator[tuple[str, str | None]]:
    """Provide the path of an input that is read twice, and its name for messages: standard input is copied."""
    if source != "-":
        yield source, None
        return
    from treeanon.io.output import unnamed_file
    from treeanon.io.sources import STDIN, find_sources

    (given,) = find_sources(STDIN, ()).items
    copy, path = unnamed_file()
    with copy:
        with given.open() as stream:
            while block := stream.read(1 << 20):
                copy.write(block)
        copy.flush()
        yield str(path), given.name


def read_records(source: str, schema: Schema, reading: Reading, *, quiet: bool, called: str | None = None) -> Forest:
    """Read the records of an input; `called` is its name, if that is to be another."""
    from treeanon.io import read

    with progress_bar("reading", quiet=quiet, unit="bytes") as progress:
        found = read(source, schema, progress=progress, called=called, **how_to_read(reading))
    STAGES.info("read: %s records, %s nodes", f"{len(found):,}", f"{found.nodes:,}")
    return found


def read_as_table(
    source: str,
    schema: Schema,
    reductions: Mapping[str, str],
    reading: Reading,
    *,
    quiet: bool,
    published: bool = False,
    called: str | None = None,
) -> Table:
    """Read an input as a table: its rows, or its records reduced to a row each."""
    from treeanon.io.compared import read_rows

    with progress_bar("reading", quiet=quiet, unit="bytes") as progress:
        table = read_rows(
            source, schema, reductions, how_to_read(reading), progress=progress, published=published, called=called
        )
    STAGES.info("read: %s rows", f"{len(table):,}")
    return table


def read_both(
    before: str,
    after: str,
    schema: Schema,
    reductions: Mapping[str, str],
    reading: Reading,
    *,
    quiet: bool,
    population: bool = False,
) -> tuple[Table, Table, Mapping[str, int]]:
    """Read both tables; the published one in terms of the original, with its unexplained rows by column."""
    from treeanon.io.compared import read_both

    how = how_to_read(reading)
    with progress_bar("reading", quiet=quiet, unit="bytes") as progress:
        return read_both(before, after, schema, reductions, how, progress=progress, population=population)


def reductions_of(given: tuple[str, ...]) -> dict[str, str]:
    """Return the reduction of each class, of CLASS=HOW any number of times."""
    found: dict[str, str] = {}
    for text in given:
        # Names of classes may contain `=`, those of reductions do not.
        name, mark, how = text.rpartition("=")
        if not (name and mark and how):
            raise click.UsageError(f"--reduce {text}: must be CLASS=HOW, for example disease=set")
        if name in found:
            raise click.UsageError(f"--reduce: class {name!r} is given twice")
        found[name] = how
    return found

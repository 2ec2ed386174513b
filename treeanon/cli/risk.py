"""`treeanon risk`: who can be singled out in records as they are, by how much knowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.checks import tell_of_compiling
from treeanon.cli.options import reduce_option, schema_option, talking_options
from treeanon.cli.printing import printable, progress_bar, result, say, told_dropped
from treeanon.cli.reading import (
    Reading,
    read_as_table,
    read_both,
    read_records,
    reading_options,
    reductions_of,
    rows_format,
)

if TYPE_CHECKING:
    from treeanon.forest import ReadReport
    from treeanon.risks import Risk
    from treeanon.schema import Schema


@click.command()
@click.argument("source", metavar="INPUT")
@schema_option
@click.option(
    "-k", type=click.IntRange(2), default=5, show_default=True, help="Fewer persons than this are singled out."
)
@click.option(
    "-m", type=click.IntRange(1, 4), default=4, show_default=True, help="How many values (columns) are known at most."
)
@click.option("-n", type=click.IntRange(0, 6), help="How many relations between them.  [default: 3]")
@click.option("--table", "as_table", is_flag=True, help="Of rows: a row a person [so for CSV, Parquet].")
@reduce_option
@click.option(
    "--population",
    metavar="FILE",
    help="Of rows: a table of all people whom those in INPUT may be, for the journalist's risk. It needs no more than"
    " the quasi columns.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="N",
    help="What does not fit into so much time is sampled (trees; never fewer than 100 persons, however long these take)"
    " or left out (rows).",
)
@click.option("--exact", is_flag=True, help="Look at everybody, however long it takes.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Look at N persons drawn at random (trees).")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Repeatable sample.")
@reading_options
@talking_options
def command(
    source: str,
    schema: str,
    k: int,
    m: int,
    n: int | None,
    as_table: bool,
    reduced: tuple[str, ...],
    population: str | None,
    seconds: float,
    exact: bool,
    sample: int | None,
    seed: int | None,
    reading: Reading,
    quiet: bool,
    as_json: bool,
) -> None:
    """Tell how many persons can be singled out by how much knowledge, before or after anonymization.

    INPUT may be a release as well; values are taken as they stand. Of trees: for every number of values up to -m and
    of relations between them up to -n, the share of persons for whom some such knowledge is shared by fewer than -k
    persons, themselves counted; and the classes that are most dangerous together. A release that is
    k^(m,n)-anonymous has 0 there. Persons are looked at one by one against all records: all of them if
    there is time, else a random sample, of which the bounds are told. Known are the classes with role quasi.

    Of CSV and Parquet files (with -n: as trees), and with --table of any records: the same by columns, and the
    risks to whoever knows all quasi columns: of a prosecutor, who knows that a person is in the file (1 / the smallest
    group), of a journalist, who does not (1 / the people in the --population who fit), and of a marketer, who guesses
    for everybody (the mean). A freeform release, in which no rows need look alike, hides persons in another way:
    treeanon verify --original.

    Nothing of a value is told, only names of classes and numbers.

    \b
    treeanon risk patients.xml -s schema.toml
    treeanon risk out.xml -s schema.toml -k 5 -m 2 -n 1 --json
    treeanon risk people.csv -s schema.toml --population town.csv
    """
    from treeanon.schema import Schema

    loaded = Schema.load(schema)
    rows = rows_format(source, loaded, reading["format"]) is not None and n is None
    time = None if exact else seconds
    if rows or as_table or reduced or population is not None:
        if n is not None or sample is not None or seed is not None:
            raise click.UsageError(
                "rows have no relations, and everybody in them is counted: -n, --sample and --seed are of trees"
            )
        asked: dict[str, Any] = {"k": k, "m": m, "seconds": time}
        found, report = _of_rows(source, population, loaded, reduced, reading, asked, quiet=quiet)
    else:
        asked = {"k": k, "m": m, "n": 3 if n is None else n, "seconds": time, "sample": sample, "seed": seed}
        found, report = _of_trees(source, loaded, reading, asked, quiet=quiet)
    _tell(found, report, loaded, m, quiet=quiet, as_json=as_json)


def _of_trees(
    source: str,
    schema: Schema,
    reading: Reading,
    asked: dict[str, Any],
    *,
    quiet: bool,
) -> tuple[Risk, ReadReport | None]:
    from treeanon.risks import risk_of_trees
    from treeanon.table.compared import as_they_are

    tell_of_compiling(quiet=quiet)
    forest = read_records(source, as_they_are(schema), reading, quiet=quiet)
    with progress_bar("looking at persons", quiet=quiet) as progress:
        return risk_of_trees(forest, jobs=reading["jobs"], progress=progress, **asked), forest.report


def _of_rows(
    source: str,
    population: str | None,
    schema: Schema,
    reduced: tuple[str, ...],
    reading: Reading,
    asked: dict[str, Any],
    *,
    quiet: bool,
) -> tuple[Risk, ReadReport | None]:
    from treeanon.risks import risk_of_table
    from treeanon.table.compared import as_they_are

    reductions = reductions_of(reduced)
    people = None
    if population is None:
        table = read_as_table(source, as_they_are(schema), reductions, reading, quiet=quiet)
    else:
        people, table, strange = read_both(
            population, source, schema, reductions, reading, quiet=quiet, population=True
        )
        if strange:
            names = printable(", ".join(strange))
            raise click.UsageError(f"{source}: has values that nobody in {population} can have, of classes: {names}")
    with progress_bar("looking at columns", quiet=quiet) as progress:
        return risk_of_table(table, population=people, progress=progress, **asked), table.report


def _tell(found: Risk, report: ReadReport | None, schema: Schema, m: int, *, quiet: bool, as_json: bool) -> None:
    """Prints the risk; and what it does not speak of, on standard error."""
    from treeanon.report.text import risk_text

    others = [spec.name for spec in schema.classes if spec.published and spec.role != "quasi"]
    unnamed = {} if report is None else report.dropped.paths()
    if as_json:
        skipped = 0 if report is None else report.skipped
        result({**found.as_dict(), "skipped_records": skipped, "not_known": others, "not_read": unnamed}, as_json=True)
    elif not quiet:
        click.echo(printable_lines(risk_text(found)))
    if found.m < m:
        say(f"no time for more than {found.m} columns at once: give it more --seconds, or --exact", quiet=quiet)
    if report is not None and report.skipped:
        say(f"warning: {report.skipped:,} broken records skipped, which the answer knows nothing of", quiet=quiet)
    if report is not None and report.padded:
        say(
            "white space around values tells apart, for whoever reads the file, what is taken for equal here:",
            quiet=quiet,
        )
        say("\n".join(told_dropped(report.padded)), quiet=quiet)
    if others:
        say(f"not taken to be known, as the schema says: {printable(', '.join(others))}", quiet=quiet)
    if unnamed:
        say("not taken to be known, because the schema does not name it or withholds it:", quiet=quiet)
        say("\n".join(told_dropped(unnamed)), quiet=quiet)


def printable_lines(text: str) -> str:
    """Lines of text safe to show on a terminal."""
    return "\n".join(map(printable, text.splitlines()))

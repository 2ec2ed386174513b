"""`treeanon risk`: measure who can be singled out in records as they are, by how much knowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.checks import announce_compilation
from treeanon.cli.options import Command, printing_options, reduce_option, schema_option
from treeanon.cli.printing import counted, dropped_lines, print_result, printable, progress_bar, say
from treeanon.cli.reading import (
    Reading,
    load_schema,
    read_as_table,
    read_both,
    read_records,
    reading_options,
    reductions_of,
)

if TYPE_CHECKING:
    from treeanon.forest import ReadReport
    from treeanon.risks import Risk
    from treeanon.schema import Schema


@click.command(cls=Command)
@click.argument("source", metavar="INPUT")
@schema_option
@click.option(
    "-k", type=click.IntRange(2), default=5, metavar="N", help="Groups smaller than N are at risk [default: 5]."
)
@click.option(
    "-m", type=click.IntRange(1, 4), default=4, metavar="N", help="Up to N known values or columns [default: 4]."
)
@click.option("-n", type=click.IntRange(0, 6), metavar="N", help="Trees: up to N known relations [default: 3].")
@click.option("--table", "as_table", is_flag=True, help="Measure rows (always for CSV and Parquet).")
@reduce_option
@click.option(
    "--population",
    metavar="FILE",
    help="Tables: the population, for the journalist risk.",
)
@click.option(
    "--population-size",
    type=click.IntRange(1),
    metavar="N",
    help="Tables: its number of persons, to estimate how many are unique.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=30.0,
    metavar="N",
    help="Time limit [default: 30]; the rest is sampled.",
)
@click.option("--exact", is_flag=True, help="Examine all persons, without time limit.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Trees: examine a random sample of N persons.")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Seed of the sample.")
@reading_options
@printing_options
def command(
    source: str,
    schema: str,
    k: int,
    m: int,
    n: int | None,
    as_table: bool,
    reduced: tuple[str, ...],
    population: str | None,
    population_size: int | None,
    seconds: float,
    exact: bool,
    sample: int | None,
    seed: int | None,
    reading: Reading,
    quiet: bool,
    as_json: bool,
) -> None:
    """Measure how many persons can be singled out by how much knowledge, before or after anonymization.

    Trees: for up to M known values and N relations between them, the share of persons for whom some such knowledge
    fits fewer than K persons, and the most dangerous combinations of classes. It is 0 in a k^(m,n)-anonymous
    release. Each person is compared with all records: every person if time allows, else a random sample, reported with
    confidence bounds. An attacker is assumed to know the quasi-identifiers.

    Tables (CSV and Parquet without -n, or any records with --table): the same by columns, and the prosecutor risk (1 /
    smallest group), the journalist risk (1 / persons of the --population who fit) and the marketer risk (mean) of an
    attacker who knows all quasi-identifiers. From the size of the population it is estimated how many persons are
    unique in it (Pitman, Zayatz, SNB, and which of them to take by Dankar et al.). For a freeform release, use
    `treeanon verify --original`.

    Values of the data are never shown.

    \b
    treeanon risk patients.xml -s schema.toml
    treeanon risk out.xml -s schema.toml -k 5 -m 2 -n 1 --json
    treeanon risk people.csv -s schema.toml --population town.csv
    """

    from treeanon.io.compared import rows_format

    loaded = load_schema(schema, reading)
    rows = rows_format(source, loaded, reading["format"]) is not None and n is None
    time = None if exact else seconds
    if rows or as_table or reduced or population is not None or population_size is not None:
        if n is not None or sample is not None or seed is not None:
            raise click.UsageError("-n, --sample and --seed apply to trees only")
        limits: dict[str, Any] = {"k": k, "m": m, "seconds": time, "population_size": population_size}
        found, report = _of_rows(source, population, loaded, reduced, reading, limits, quiet=quiet)
    else:
        limits = {"k": k, "m": m, "n": 3 if n is None else n, "seconds": time, "sample": sample, "seed": seed}
        found, report = _of_trees(source, loaded, reading, limits, quiet=quiet)
    _print(found, report, loaded, m, quiet=quiet, as_json=as_json)


def _of_trees(
    source: str,
    schema: Schema,
    reading: Reading,
    limits: dict[str, Any],
    *,
    quiet: bool,
) -> tuple[Risk, ReadReport | None]:
    from treeanon.risks import risk_of_trees
    from treeanon.table.compared import schema_as_published

    announce_compilation(quiet=quiet)
    forest = read_records(source, schema_as_published(schema), reading, quiet=quiet)
    with progress_bar("examining persons", quiet=quiet) as progress:
        return risk_of_trees(forest, jobs=reading["jobs"], progress=progress, **limits), forest.report


def _of_rows(
    source: str,
    population: str | None,
    schema: Schema,
    reduced: tuple[str, ...],
    reading: Reading,
    limits: dict[str, Any],
    *,
    quiet: bool,
) -> tuple[Risk, ReadReport | None]:
    from treeanon.risks import risk_of_table
    from treeanon.table.compared import schema_as_published

    reductions = reductions_of(reduced)
    people = None
    if population is None:
        table = read_as_table(source, schema_as_published(schema), reductions, reading, quiet=quiet)
    else:
        people, table, strange = read_both(
            population, source, schema, reductions, reading, quiet=quiet, population=True
        )
        if strange:
            names = printable(", ".join(strange))
            raise click.UsageError(f"{source}: has values that do not occur in {population}, of classes: {names}")
    with progress_bar("examining columns", quiet=quiet) as progress:
        return risk_of_table(table, population=people, progress=progress, **limits), table.report


def _print(found: Risk, report: ReadReport | None, schema: Schema, m: int, *, quiet: bool, as_json: bool) -> None:
    """Print the risk, and on standard error what it does not cover."""
    from treeanon.reports.text import risk_text

    others = [spec.name for spec in schema.classes if spec.published and spec.role != "quasi"]
    unnamed = {} if report is None else report.dropped.paths()
    if as_json:
        skipped = 0 if report is None else report.skipped
        print_result(
            {**found.as_dict(), "skipped_records": skipped, "not_known": others, "not_read": unnamed}, as_json=True
        )
    elif not quiet:
        click.echo(printable_lines(risk_text(found)))
    if found.m < m:
        say(
            f"Time limit reached after combinations of {found.m} columns; use --seconds or --exact for more.",
            quiet=quiet,
        )
    if report is not None and report.skipped:
        say(
            f"warning: {counted(report.skipped, 'malformed record')} skipped, which the result does not cover",
            quiet=quiet,
        )
    if report is not None and report.padded:
        say(
            "warning: values that differ only in surrounding white space were taken as equal:",
            quiet=quiet,
        )
        say("\n".join(dropped_lines(report.padded)), quiet=quiet)
    if others:
        say(f"Assumed unknown to an attacker, by their role: {printable(', '.join(others))}", quiet=quiet)
    if unnamed:
        say("Assumed unknown to an attacker, because the schema does not name or withholds it:", quiet=quiet)
        say("\n".join(dropped_lines(unnamed)), quiet=quiet)


def printable_lines(text: str) -> str:
    """Return lines of text safe to show on a terminal."""
    return "\n".join(map(printable, text.splitlines()))

"""`treeanon query`: count who satisfies a query in the original of a release, within bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from treeanon.cli.options import Command, printing_options, schema_option
from treeanon.cli.printing import print_result, printable, say
from treeanon.cli.reading import (
    Reading,
    load_schema,
    read_as_table,
    read_records,
    reading_options,
)

if TYPE_CHECKING:
    from treeanon.forest import Forest
    from treeanon.release.query import Answer
    from treeanon.schema import Schema
    from treeanon.table import Table
    from treeanon.table.permuted import Permuted


@click.command(cls=Command)
@click.argument("release", metavar="RELEASE")
@click.argument("text", metavar="QUERY")
@schema_option
@click.option("--share", is_flag=True, help="Answer with shares instead of numbers.")
@click.option("--permuted", is_flag=True, help="RELEASE is a permuted release (a folder or zip).")
@click.option(
    "--suppressed", type=click.IntRange(0), metavar="N", help="Persons or rows of the original that RELEASE lacks."
)
@click.option(
    "--solution", metavar="FILE", help="The solution file: what was suppressed, and of trees what was left out."
)
@reading_options
@printing_options
def command(
    release: str,
    text: str,
    schema: str,
    share: bool,
    permuted: bool,
    suppressed: int | None,
    solution: str | None,
    reading: Reading,
    quiet: bool,
    as_json: bool,
) -> None:
    """Count who satisfies a query in the original of a release: an estimate, and bounds that surely hold.

    Needs the release and its schema alone. Rows of CSV and Parquet are counted as rows (generalized, with ranges and
    sets, or --permuted), all else as persons. In trees a condition asks whether a person has such a value, and `under`
    whether one lies below another (in whole objects: in the same object or below it).

    Conditions: =, !=, <, <=, >, >=, a range (30-40, 2019-03..2019-05), in (…), not in (…), = missing; joined by and,
    or, not and parentheses. Values may be nodes of the hierarchies; those with blanks stand in quotes.

    What was suppressed is not in the release: --suppressed N or --solution FILE tell how many may satisfy the query,
    too. What the estimate assumes goes to standard error.

    \b
    treeanon query out.csv "age 30-40 and sex = f" -s schema.toml
    treeanon query out.xml "disease = Flu under hospital = 'St. Mary'" -s schema.toml --solution out.solution.json
    treeanon query out/ "age < 30 and not illness in (HIV, Flu)" -s schema.toml --permuted --share --json
    """
    from treeanon.queries.grammar import parse
    from treeanon.release.query import query, refuse_pseudonyms
    from treeanon.schema.derive import as_released

    # What is wrong with the query is said before anything is read.
    formula = parse(text)
    given = load_schema(schema, reading)
    refuse_pseudonyms(formula, given)
    loaded = as_released(given)
    data = _read(release, loaded, reading, permuted=permuted, quiet=quiet)
    found = query(data, text, suppressed=suppressed, solution=solution)
    if as_json:
        print_result(found.as_dict(), as_json=True)
    elif not quiet:
        click.echo(_sentence(found, share=share))
    for note in found.notes:
        say(printable(note), quiet=quiet)
    if solution is None and suppressed is None:
        say("Counted in the release alone: --suppressed N or --solution FILE adds what was suppressed.", quiet=quiet)


def _read(release: str, schema: Schema, reading: Reading, *, permuted: bool, quiet: bool) -> Forest | Table | Permuted:
    if permuted:
        from treeanon.io.columns.permuted_files import read_permuted

        return read_permuted(
            release,
            schema,
            on_error=reading["on_error"],
            strict=reading["strict"],
            show_values=reading["show_values"],
            jobs=reading["jobs"],
        )
    from treeanon.io.compared import rows_format

    form = rows_format(release, schema, reading["format"])
    if form is not None:
        return read_as_table(release, schema, {}, {**reading, "format": form.name}, quiet=quiet, published=True)
    return read_records(release, schema, reading, quiet=quiet)


def _sentence(found: Answer, *, share: bool) -> str:
    """Return the answer as a sentence; shares are rounded away from the bounds."""
    if share:
        estimate, least, most = (100 * one for one in found.share)
        low, high = math.floor(round(10 * least, 6)) / 10, math.ceil(round(10 * most, 6)) / 10
        return f"{low:.1f} % to {high:.1f} % of {found.of:,} {found.unit}, estimated {estimate:.1f} %"
    return f"{found.least:,} to {found.most:,} of {found.of:,} {found.unit}, estimated {found.estimate:,.1f}"

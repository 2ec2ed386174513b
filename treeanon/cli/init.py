"""`treeanon init`: a commented schema from a sample of the input."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from treeanon.cli.checks import refuse_own_input, refuse_two_on_stdout
from treeanon.cli.options import force_option, talking_options
from treeanon.cli.printing import printable, result, say
from treeanon.cli.reading import delimiter_option

if TYPE_CHECKING:
    from treeanon.infer import Findings

_COLUMNS = ("path", "type", "records", "distinct", "decision", "why")


@click.command()
@click.argument("source", metavar="INPUT")
@click.option("--output", "-o", default="-", metavar="FILE", help="The schema to write [default: standard output].")
@click.option("--from", "source_format", metavar="FORMAT", help="Format of the input, if it does not tell.")
@delimiter_option
@click.option(
    "--record", metavar="PATH", help='Where one person is: patients[], patients/patient or "."; of tables, a table.'
)
@click.option(
    "--sample", type=click.IntRange(1), default=1000, show_default=True, metavar="N", help="Records to look at."
)
@click.option("--explain", is_flag=True, help="Print a table of what was found and why, on standard error.")
@force_option
@talking_options
def command(
    source: str,
    output: str,
    source_format: str | None,
    delimiter: str,
    record: str | None,
    sample: int,
    explain: bool,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Look at the first records of INPUT and write a commented schema for it.

    INPUT is a file, a folder, a glob or a zip of files, the URL of a database (or env:NAME that holds it), or `-`.
    The schema works as it is, and is a proposal: read its comments and correct it. It holds names, counts and rounded
    ranges, but no value of the data (except constants that tell kinds of items in one array apart).

    Of a CSV or Parquet file each row is a person. Hierarchies beside it (people_hierarchy_age.csv, as ARX calls them,
    or hierarchies/age.csv) are taken if they know all values of their column.

    Tables are tied by foreign keys. Those that the input does not declare are looked for by names and values, and
    stand in the schema, each with its reason: check them.

    \b
    treeanon init patients.xml -o schema.toml
    treeanon init people.csv -o schema.toml
    treeanon init bundles/ --explain -o schema.toml
    treeanon init clinic.sqlite --record patient -o schema.toml
    """
    refuse_two_on_stdout(output, as_json=as_json)
    from treeanon.infer import propose, render_schema
    from treeanon.io.output import open_output, refuse_existing

    if not output.lower().endswith(".toml"):
        # A schema may well lie in the folder of the data.
        refuse_own_input([source], [output])
    refuse_existing(output, force=force)
    home = "." if output == "-" else os.path.dirname(os.path.abspath(output))  # noqa: PTH100, PTH120
    findings = propose(source, format=source_format, delimiter=delimiter, record=record, sample=sample, home=home)
    with open_output(output, force=force) as stream:
        stream.write(render_schema(findings).encode())
    if explain:
        say(_table(findings), quiet=False)
    for warning in findings.warnings:
        say(printable(f"note: {warning}"), quiet=quiet)
    if output != "-":
        say(_told(findings, output), quiet=quiet)
    result(findings.as_dict(), as_json=as_json)


def _told(findings: Findings, output: str) -> str:
    published = sum(found.published for found in findings.classes)
    lines = [
        f"{output}: {published} classes to publish, {len(findings.classes) - published} withheld, "
        f"{len(findings.left_out)} places left out (from {findings.extent})"
    ]
    then = f"anonymize INPUT -s {output} -k 5 -o OUTPUT" if findings.is_flat else f"convert INPUT -s {output} -o OUTPUT"
    lines.append(f"Read and correct it, then try: treeanon {then}")
    return "\n".join(lines)


def _table(findings: Findings) -> str:
    """What was found, as a table of text."""
    rows = [_COLUMNS]
    for found in findings.classes:
        path = found.name if found.path is None else found.path.text(slashed=findings.slashed)
        counts = (f"{found.records:,}", f"{found.distinct:,}")
        rows.append((printable(path), found.type, *counts, found.decision, printable(found.why)))
    rows += [(printable(left.path), "", "", "", "left out", printable(left.why)) for left in findings.left_out]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS) - 1)]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    """One row: numbers to the right, the reason as long as it is."""
    cells = [
        cell.rjust(width) if title in ("records", "distinct") else cell.ljust(width)
        for cell, width, title in zip(row[:-1], widths, _COLUMNS, strict=False)
    ]
    return "  ".join([*cells, row[-1]])

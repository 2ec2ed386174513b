"""`treeanon init`: write a commented schema from a sample of the input."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from treeanon.cli.checks import refuse_own_input, refuse_two_on_stdout
from treeanon.cli.options import (
    Command,
    delimiter_option,
    follow_links_option,
    force_option,
    from_option,
    printing_options,
)
from treeanon.cli.printing import print_result, printable, say

if TYPE_CHECKING:
    from treeanon.infer import Findings
    from treeanon.infer.preset import PresetSchema

_COLUMNS = ("path", "type", "records", "distinct", "decision", "why")


@click.command(cls=Command)
@click.argument("source", metavar="INPUT", default="")
@click.option("--output", "-o", default="-", metavar="FILE", help="Schema to write [default: standard output].")
@from_option
@delimiter_option
@follow_links_option
@click.option("--record", metavar="PATH", help='Path of a person: patients[], patients/patient or "."; or a table.')
@click.option(
    "--sample", type=click.IntRange(1), default=1000, show_default=True, metavar="N", help="Number of records to read."
)
@click.option(
    "--publish",
    multiple=True,
    metavar="FIELD",
    help="Publish a field that looks like an identifier, a secret or free text, by class or path; repeatable.",
)
@click.option(
    "--preset", metavar="NAME", help="Write the classes of a preset that occur in INPUT; `help` lists the presets."
)
@click.option(
    "--terminology",
    multiple=True,
    metavar="NAME=FILE",
    help="With --preset: concepts of a code system, such as snomed=sct/; repeatable.",
)
@click.option("--explain", is_flag=True, help="Print the findings with reasons on standard error.")
@force_option
@printing_options
def command(
    source: str,
    output: str,
    source_format: str | None,
    follow_links: bool,
    delimiter: str,
    record: str | None,
    sample: int,
    publish: tuple[str, ...],
    preset: str | None,
    terminology: tuple[str, ...],
    explain: bool,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Read records from the beginning, middle and end of INPUT and write a commented schema for it.

    INPUT is a file, folder, glob or zip of files, a URL (a database's may be env:NAME), or `-`. The
    schema is a working proposal: read its comments and correct it. It contains names, counts and rounded ranges, but no
    values of the data (except constants that distinguish kinds of items in one array).

    Direct identifiers, secrets, references, free text and near-unique fields of any person are withheld; standard error
    says which and why.

    In a CSV or Parquet file each row is a person. Hierarchy files beside it (people_hierarchy_age.csv, as named by ARX,
    or hierarchies/age.csv) are used if they contain all values of their column.

    Tables are tied by foreign keys. Keys that the input does not declare are inferred from names and values, and
    listed in the schema with the reason: check them.

    \b
    treeanon init patients.xml -o schema.toml
    treeanon init people.csv -o schema.toml
    treeanon init bundles/ --explain -o schema.toml
    treeanon init clinic.sqlite --record patient -o schema.toml
    treeanon init bundles/ --preset fhir-r4 -o schema.toml
    """
    refuse_two_on_stdout(output, as_json=as_json)
    if preset == "help":
        _list_presets()
        return
    if not source:
        raise click.UsageError("Missing argument 'INPUT'.")
    from treeanon.infer import propose, render_schema
    from treeanon.io.output import open_output, refuse_existing
    from treeanon.io.sources import following_links

    if not output.lower().endswith(".toml"):
        # A schema may be written to the folder of the data.
        refuse_own_input([source], [output])
    refuse_existing(output, force=force)
    home = "." if output == "-" else os.path.dirname(os.path.abspath(output))  # noqa: PTH100, PTH120
    if preset is not None:
        with following_links(follow_links):
            text = _by_preset(preset, source, source_format, record, sample, terminology, publish, home)
        with open_output(output, force=force) as stream:
            stream.write(text.text().encode())
        for line in _preset_lines(text, output):
            say(printable(line), quiet=quiet)
        print_result(text.as_dict(), as_json=as_json)
        return
    if terminology:
        raise click.UsageError("--terminology only goes with --preset")
    with following_links(follow_links):
        findings = propose(
            source, format=source_format, delimiter=delimiter, record=record, sample=sample, home=home, publish=publish
        )
    with open_output(output, force=force) as stream:
        stream.write(render_schema(findings).encode())
    if explain:
        say(_table(findings), quiet=False)
    for warning in findings.warnings:
        say(printable(f"note: {warning}"), quiet=quiet)
    for line in _summary(findings, output):
        say(printable(line), quiet=quiet)
    print_result(findings.as_dict(), as_json=as_json)


def _list_presets() -> None:
    from treeanon.schema.presets import preset_named, preset_names

    for name in preset_names():
        print(f"{name}: {preset_named(name).about}")


def _by_preset(
    preset: str,
    source: str,
    source_format: str | None,
    record: str | None,
    sample: int,
    terminology: tuple[str, ...],
    publish: tuple[str, ...],
    home: str,
) -> PresetSchema:
    """Return the schema that a preset gives of an input."""
    from treeanon.infer.preset import schema_by_preset

    if publish:
        raise click.UsageError("--publish is not for --preset: add a [[class]] to the schema that it writes")
    files = {}
    for given in terminology:
        name, found, path = given.partition("=")
        if not found or not name or not path:
            raise click.UsageError("--terminology must be NAME=FILE, such as snomed=sct/")
        files[name] = os.path.relpath(path, home)
    return schema_by_preset(preset, source, format=source_format, record=record, sample=sample, terminologies=files)


def _preset_lines(made: PresetSchema, output: str) -> Iterator[str]:
    """Yield the summary of a schema by a preset, and what to do next."""
    name = "schema" if output == "-" else output
    yield f"{name}: {len(made.classes)} classes of preset {made.preset.name} (from {made.extent})"
    for note in made.notes:
        yield f"note: {note}"
    yield "not published: " + "; ".join(what.partition(" ")[2] for what in made.preset.withheld)
    if output != "-":
        yield f"Then run: treeanon anonymize INPUT -s {output} -k 5 -m 2 -n 1 -o OUTPUT"


def _summary(findings: Findings, output: str) -> Iterator[str]:
    """Yield the summary, and what to do next with a schema that was written to a file."""
    from treeanon.infer import summary_lines

    published = sum(found.published for found in findings.classes)
    counts = f"{published} classes to publish, {len(findings.classes) - published} withheld"
    name = "schema" if output == "-" else output
    yield f"{name}: {counts}, {len(findings.left_out)} paths left out (from {findings.extent})"
    yield from summary_lines(findings)
    if output != "-":
        yield f"Review the schema, then run: treeanon anonymize INPUT -s {output} -k 5 -o OUTPUT"


def _table(findings: Findings) -> str:
    """Return the findings as a table of text."""
    rows = [_COLUMNS]
    for found in findings.classes:
        path = found.name if found.path is None else found.path.text(slashed=findings.slashed)
        counts = (f"{found.records:,}", f"{found.distinct:,}")
        rows.append((printable(path), found.type, *counts, found.decision, printable(found.why)))
        rows += [
            (printable(one.text(slashed=findings.slashed)), "", "", "", "facet", printable(f"says the same as {path}"))
            for one in found.facets.values()
        ]
    rows += [(printable(left.path), "", "", "", "left out", printable(left.why)) for left in findings.left_out]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS) - 1)]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    """Return one row: numbers right-aligned, the reason in full."""
    cells = [
        cell.rjust(width) if title in ("records", "distinct") else cell.ljust(width)
        for cell, width, title in zip(row[:-1], widths, _COLUMNS, strict=False)
    ]
    return "  ".join([*cells, row[-1]])

"""What commands about tables share: reading any input as one, releasing it, and the words after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from treeanon.cli.checks_and_texts import counted
from treeanon.cli.shared import Reading, printable, progress_bar, read_records, told_reading

if TYPE_CHECKING:
    from treeanon.release import TableRelease
    from treeanon.schema import Schema
    from treeanon.table import Table


def read_as_table(
    source: str,
    schema: Schema,
    reductions: Mapping[str, str],
    reading: Reading,
    *,
    quiet: bool,
    published: bool = False,
) -> Table:
    """The table of an input: its rows, or the flat view of its records."""
    from treeanon.io.columns.read_table import read_table
    from treeanon.io.reading import input_format
    from treeanon.schema.model import FLAT
    from treeanon.table.reductions import flatten

    if input_format(source, schema, reading["format"]).name not in FLAT:
        return flatten(read_records(source, schema, reading, quiet=quiet), reductions)
    if reductions:
        from treeanon.errors import UsageError

        raise UsageError("--reduce is for records that hold a class several times; a row has one value of each")
    with progress_bar("reading", quiet=quiet, unit="bytes") as progress:
        return read_table(source, schema, progress=progress, published=published, **reading)


def told_table_release(release: TableRelease, output: str, solution: str | None = None) -> str:
    """What a release is, what it cost and where it went, in plain words and without a value of the data."""
    from treeanon.report import flat_losses_text
    from treeanon.verifier.freeform import FreeformVerdict

    told = release.as_dict()
    counts = told["counts"]
    lines = [
        release.sentence,
        f"Verified by counting in what was written: {release.verdict.sentence}",
        f"{counts['published_rows']:,} of {counts['rows']:,} rows written to {output}",
    ]
    if solution:
        use = (
            "for `treeanon apply`" if "levels" in told else "which cannot be applied again: each row was recoded alone"
        )
        lines.append(f"solution written to {solution}, {use}: not for publishing")
    lines += told_search(told)
    if any(model.sensitive is not None for model in release.models):
        lines += told_general(release.table)
    lines += told_reading(counts)
    lines += ["", *flat_losses_text(release.loss, alike=not isinstance(release.verdict, FreeformVerdict)).splitlines()]
    return "\n".join(map(printable, lines))


def told_general(table: Table) -> list[str]:
    """Lines that tell where different sensitive values need not be different things."""
    from treeanon.table.spellings import general_columns

    return [
        f"note: {name} holds general values; the models count each as a value of its own, beside those under it"
        for name in general_columns(table)
    ]


def told_search(told: Mapping[str, Any]) -> list[str]:
    """Lines that tell what a search of a table did, and what is published as it is."""
    lines = []
    if told["suppressed"]:
        lines.append(f"{counted(told['suppressed'], 'person')} left out as outliers")
    if "levels" in told:
        lines.append("levels: " + ", ".join(f"{name} {level}" for name, level in told["levels"].items()))
    search = told["search"]
    if "lattice" in search:
        lines.append(
            f"{told['algorithm']}: {search['checked']:,} of {search['lattice']:,} nodes of the lattice checked"
        )
    for role, names in told["published_as_they_are"].items():
        spoken = any(model for model in told["verification"]["models"] if model["column"] in names)
        what = "sensitive, as the models ask in every group" if spoken else role
        lines.append(
            f"published as they are ({'declared safe by the schema' if role == 'keep' else what}): {', '.join(names)}"
        )
    return lines


def rows_format(source: str, schema: Schema, format: str | None) -> str | None:
    """The format of a file of rows, by its name before all else; None for others."""
    from treeanon.io.reading import input_format
    from treeanon.io.registry import format_of_name
    from treeanon.schema.model import FLAT

    by_name = format_of_name(source)
    name = by_name.name if by_name is not None else input_format(source, schema, format).name
    return name if name in FLAT else None


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
    """Both tables, the published one in the terms of the original, and the strange rows of its columns.

    Where the original is a `population`, a file of rows need have no more than the quasi columns: a register of people
    knows nothing of what is sensitive.
    """
    from treeanon.io.columns.write_table import table_schema
    from treeanon.table.compared import as_they_are, in_terms_of

    kinds = [rows_format(source, schema, reading["format"]) for source in (before, after)]
    without: Reading = {**reading, "delimiter": ""}
    # A delimiter is for what is CSV, if one of both is.
    of_before, of_after = (reading if kind == "csv" or "csv" not in kinds else without for kind in kinds)
    rows = kinds[1]
    less = population and None not in kinds
    original = read_as_table(before, _quasi_only(schema) if less else schema, reductions, of_before, quiet=quiet)
    if rows is None:
        raw = read_as_table(after, as_they_are(schema), reductions, of_after, quiet=quiet)
    else:
        as_is = as_they_are(schema if less else table_schema(original, rows))
        raw = read_as_table(after, as_is, {}, {**of_after, "format": rows}, quiet=quiet)
    return original, *in_terms_of(original, raw)


def _quasi_only(schema: Schema) -> Schema:
    # Columns lie under no other class, least of all under one that is left out.
    known = tuple(replace(spec, under=None) for spec in schema.classes if spec.role == "quasi")
    return replace(schema, classes=known)

"""`treeanon flatten`: records as one table, a row a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.checks import (
    check_folder,
    check_schema_out,
    refuse_hierarchies,
    refuse_own_input,
    refuse_two_on_stdout,
    write_schema,
)
from treeanon.cli.options import force_option, output_option, reduce_option, schema_option, seed_option, talking_options
from treeanon.cli.printing import printable, result, say, told_reading
from treeanon.cli.reading import Reading, read_records, reading_options, reductions_of

if TYPE_CHECKING:
    from treeanon.table import Table


@click.command()
@click.argument("source", metavar="INPUT")
@schema_option
@output_option
@reduce_option
@click.option("--to", "target_format", metavar="FORMAT", help="csv or parquet, if the output's name does not tell.")
@click.option("--schema-out", metavar="FILE", help="Also write the schema by which the table is read.")
@force_option
@seed_option
@reading_options
@talking_options
def command(
    source: str,
    schema: str,
    output: str,
    reduced: tuple[str, ...],
    target_format: str | None,
    schema_out: str | None,
    force: bool,
    seed: int | None,
    reading: Reading,
    quiet: bool,
    as_json: bool,
) -> None:
    """Make one table of records: a row for every person, a column for every class of the schema.

    A class that occurs several times in a record needs a reduction: nothing is chosen silently. Nothing is anonymized;
    rows come in random order.

    \b
    treeanon flatten patients.xml -s schema.toml -o patients.csv --reduce disease=set --reduce cost=mean
    treeanon flatten patients.xml -s schema.toml -o patients.csv --reduce disease=count --schema-out rows.toml
    """
    refuse_two_on_stdout(output, as_json=as_json)
    reductions = reductions_of(reduced)
    from treeanon.io.columns.write_table import table_format, table_schema, write_table
    from treeanon.io.output import refuse_existing
    from treeanon.schema import Schema
    from treeanon.table.reductions import flatten

    refuse_own_input([source, schema], [output, schema_out])
    loaded = Schema.load(schema)
    refuse_hierarchies(loaded, output, schema_out)
    refuse_existing(output, force=force)
    check_folder(output)
    if schema_out is not None:
        check_schema_out(schema_out, output, force=force)
    form = table_format(output, target_format)
    forest = read_records(source, loaded, reading, quiet=quiet)
    table = flatten(forest, reductions)
    write_table(table, output, format=form, delimiter=forest.schema.input.delimiter, force=force, seed=seed)
    if schema_out is not None:
        write_schema(table_schema(table, form), loaded.source, schema_out, force=force)
    counts = _counts(table, reductions)
    say(_told(counts, output), quiet=quiet)
    result(counts, as_json=as_json)


def _counts(table: Table, reductions: dict[str, str]) -> dict[str, Any]:
    import numpy as np

    columns = [
        {
            "name": column.name,
            "reduction": reductions.get(column.name),
            "missing": int(np.count_nonzero(column.codes < 0)),
            "different": len(np.unique(column.codes[column.codes >= 0])),
        }
        for column in table.columns
    ]
    return {"rows": len(table), "columns": columns, **(table.report.as_dict() if table.report else {})}


def _told(counts: dict[str, Any], output: str) -> str:
    lines = [f"{counts['rows']:,} rows, {len(counts['columns'])} columns written to {output}"]
    lines += told_reading(counts)
    return "\n".join(map(printable, lines))

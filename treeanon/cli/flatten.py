"""`treeanon flatten`: convert records to one table with a row per person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.checks import (
    check_extra_output,
    check_folder,
    refuse_hierarchies,
    refuse_own_input,
    refuse_two_on_stdout,
    write_schema,
)
from treeanon.cli.options import (
    Command,
    force_option,
    output_option,
    printing_options,
    reduce_option,
    schema_option,
    schema_out_option,
    seed_option,
    to_option,
)
from treeanon.cli.printing import counted, print_result, printable, reading_notes, say
from treeanon.cli.reading import Reading, load_schema, read_records, reading_options, reductions_of

if TYPE_CHECKING:
    from treeanon.table import Table


@click.command(cls=Command)
@click.argument("source", metavar="INPUT")
@schema_option
@output_option
@reduce_option
@to_option
@schema_out_option
@force_option
@seed_option
@reading_options
@printing_options
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
    """Convert records to one table: a row for every person, a column for every class of the schema.

    A class that occurs several times in a record requires a reduction. Nothing is anonymized; rows are written in
    random order.

    \b
    treeanon flatten patients.xml -s schema.toml -o patients.csv --reduce disease=set --reduce cost=mean
    treeanon flatten patients.xml -s schema.toml -o patients.csv --reduce disease=count --schema-out rows.toml
    """
    refuse_two_on_stdout(output, as_json=as_json)
    reductions = reductions_of(reduced)
    from treeanon.io.columns.write_table import table_format, table_schema, write_table
    from treeanon.io.output import refuse_existing
    from treeanon.table.reductions import flatten

    refuse_own_input([source, schema], [output, schema_out])
    loaded = load_schema(schema, reading)
    refuse_hierarchies(loaded, output, schema_out)
    refuse_existing(output, force=force)
    check_folder(output)
    if schema_out is not None:
        check_extra_output(schema_out, output, force=force, option="--schema-out")
    form = table_format(output, target_format)
    forest = read_records(source, loaded, reading, quiet=quiet)
    table = flatten(forest, reductions)
    write_table(table, output, format=form, delimiter=forest.schema.input.delimiter, force=force, seed=seed)
    if schema_out is not None:
        write_schema(table_schema(table, form), loaded.source, schema_out, output, force=force)
    counts = _counts(table, reductions)
    say(_summary(counts, output), quiet=quiet)
    print_result(counts, as_json=as_json)


def _counts(table: Table, reductions: dict[str, str]) -> dict[str, Any]:
    import numpy as np

    from treeanon.arrays import unique_values

    columns = [
        {
            "name": column.name,
            "reduction": reductions.get(column.name),
            "missing": int(np.count_nonzero(column.codes < 0)),
            "different": len(unique_values(column.codes[column.codes >= 0])),
        }
        for column in table.columns
    ]
    return {"rows": len(table), "columns": columns, **(table.report.as_dict() if table.report else {})}


def _summary(counts: dict[str, Any], output: str) -> str:
    lines = [f"{counted(counts['rows'], 'row')}, {counted(len(counts['columns']), 'column')} written to {output}"]
    lines += reading_notes(counts)
    return "\n".join(map(printable, lines))

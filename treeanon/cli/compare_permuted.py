"""What `treeanon compare` measures of a permuted release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from treeanon.cli.compared import Compared, refuse_more
from treeanon.cli.shared import Reading
from treeanon.cli.table_io import read_as_table

if TYPE_CHECKING:
    from treeanon.schema import Schema
    from treeanon.table import Table
    from treeanon.table.permuted import Permuted


def compare_permuted(
    before: str, after: str, schema: Schema, reductions: Mapping[str, str], reading: Reading, *, quiet: bool
) -> Compared:
    """The losses of the two tables of AFTER, which say of no value of the sensitive column whose it is."""
    from treeanon.io.columns.permuted_files import read_permuted, report_of
    from treeanon.io.columns.write_table import table_schema
    from treeanon.metrics.table.permuted import measure_permuted_tables
    from treeanon.report import permuted_losses_text
    from treeanon.table.compared import as_they_are

    original = read_as_table(before, schema, reductions, reading, quiet=quiet)
    # A permuted release tells the formats of its files by their names.
    options: Any = {name: one for name, one in reading.items() if name not in ("format", "delimiter")}
    made = read_permuted(after, as_they_are(table_schema(original, "csv")), **options)
    refuse_more(before, len(original), after, len(made.records))
    told, strange = _in_terms_of(original, made)
    # What nobody in the input can have is in no query about it.
    losses = measure_permuted_tables(original, told, **({"levels": 0} if strange else {}))
    data = {
        "rows": len(original),
        "published_rows": len(made.records),
        "strange_rows": dict(strange),
        "losses": losses.as_dict(),
    }
    reports = ((before, original.report), (after, report_of(made)))
    return Compared(data, permuted_losses_text(losses).splitlines(), "rows", strange, reports)


def _in_terms_of(original: Table, made: Permuted) -> tuple[Permuted, Mapping[str, int]]:
    """The two tables with the hierarchies of the original, if nothing is strange; and the strange rows."""
    from treeanon.table.compared import in_terms_of
    from treeanon.table.table import Table

    open_ones = Table(tuple(column for column in original.columns if column.role != "sensitive"))
    records, strange = in_terms_of(open_ones, made.records)
    hidden, odd = in_terms_of(Table(original.sensitive), Table((made.sensitive,)))
    found = Counter(strange) + Counter(odd)
    if found:
        return made, found
    groups = made.records.column(made.group)
    values = tuple(hidden.column(c.name) if c.role == "sensitive" else c for c in made.values.columns)
    records = replace(records, columns=(*records.columns, groups))
    return replace(made, records=records, values=replace(made.values, columns=values)), found

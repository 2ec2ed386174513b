"""Writes tables as Arrow tables, and as CSV or Parquet files whose rows are in random order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.errors import UsageError
from treeanon.formats import FORMATS, ROWS, names_of
from treeanon.hierarchy.numbers import number_text
from treeanon.io.columns.texts import are_shielded, shield, warn_of_formulas
from treeanon.io.interface import format_of_name
from treeanon.io.output import Check, open_output
from treeanon.io.relational.arrow_tables import Kind, TableOut, value_column
from treeanon.io.sources import plain_name
from treeanon.kernels.table.groups import group_numbers
from treeanon.randomness import shuffled
from treeanon.schema import FieldPath, Schema, Step
from treeanon.schema.model import InputSpec
from treeanon.table.table import Column, Table

if TYPE_CHECKING:
    import pyarrow as pa


def delimiter_for(target: str | Path, found: str = "") -> str:
    r"""Return the delimiter of a file of that name: a tab in .tsv, else that of the input, or a comma.

    >>> delimiter_for("a.TSV.gz"), delimiter_for("a.csv", ";"), delimiter_for("-")
    ('\t', ';', ',')
    """
    return "\t" if plain_name(str(target)).endswith(".tsv") else found or ","


def write_rows(table: TableOut, format: str, delimiter: str, stream: BinaryIO) -> None:
    """Write one table, without what is known of its keys, as a format of rows."""
    FORMATS.named(format).function("writer")(table, delimiter, stream)


def write_parquet(table: TableOut, delimiter: str, stream: BinaryIO) -> None:
    """Write one table as a Parquet file, which has no delimiter."""
    import pyarrow.parquet as pq

    pq.write_table(table.data, stream)


def write_delimited(table: TableOut, delimiter: str, stream: BinaryIO) -> None:
    """Write one table as delimited values, below the names of its columns."""
    if not table.csv_safe:
        warn_of_formulas(table)
    write_lines(shield(table.data) if table.csv_safe else table.data, delimiter, stream)


def write_lines(data: pa.Table, delimiter: str, stream: BinaryIO, *, header: bool = True) -> None:
    """Write rows as delimited values, with a header of column names or without."""
    from pyarrow import csv

    data = _with_number_texts(data)
    if data.num_columns == 1:
        data = _quoted(data)
    csv.write_csv(data, stream, csv.WriteOptions(include_header=header, delimiter=delimiter, quoting_style="needed"))


def _with_number_texts(data: pa.Table) -> pa.Table:
    """Return the columns with fractional numbers as texts: files have them in the form in which they are read."""
    import pyarrow as pa

    for at, name in enumerate(data.column_names):
        if pa.types.is_floating(data.schema.field(at).type):
            coded = data.column(name).combine_chunks().dictionary_encode()
            texts = pa.array([number_text(value) for value in coded.dictionary.to_pylist()], pa.string())
            data = data.set_column(at, name, texts.take(coded.indices))
    return data


def _quoted(data: pa.Table) -> pa.Table:
    """Return a single column as texts, which are written in quotes: an empty line would be no row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = data.column(0).cast(pa.string())
    return pa.table({data.column_names[0]: pc.fill_null(column, "") if column.null_count else column})


def to_arrow(table: Table, order: Longs | None = None) -> pa.Table:
    """Return the table as an Arrow table, missing values as null, its rows as they are or in the given order.

    Columns of integers and numbers are numbers where all of their values are, else texts. Persons are not in it.

    >>> from treeanon.hierarchy import Hierarchy
    >>> to_arrow(Table.of_texts({"sex": (["F", None], Hierarchy.flat(["F", "M"]))})).to_pylist()
    [{'sex': 'F'}, {'sex': None}]
    """
    return table_out(table, order).data


def write_table(
    table: Table,
    target: str | Path,
    *,
    format: str | None = None,
    delimiter: str = "",
    force: bool = False,
    seed: int | None = None,
    check: Check | None = None,
) -> None:
    """Write the table in the format of the target's name (.csv, .tsv, .parquet, with .gz or .zst), or as `format`.

    Rows are in random order, which only a `seed` makes repeatable, for tests. The file appears whole or not at all;
    `check` is given the path of what was written before it appears, and keeps it from appearing by raising.

    >>> import tempfile
    >>> from treeanon.hierarchy import Hierarchy
    >>> path = Path(tempfile.mkdtemp(), "out.csv")
    >>> write_table(Table.of_texts({"sex": ([None], Hierarchy.flat(["F", "M"]))}), path)
    >>> path.read_text()
    '"sex"\\n""\\n'
    """
    form = table_format(target, format)
    with open_output(target, force=force, check=check) as stream:
        if not table.columns:
            raise UsageError("a table without a column cannot be written")
        out = table_out(table, shuffled(len(table), seed))
        write_rows(out, form, delimiter_for(target, delimiter), stream)


def table_format(target: str | Path, format: str | None = None) -> str:
    """Return the format of a table's file: the requested one, that of its name, or csv for standard output."""
    found = FORMATS.named(format) if format is not None else format_of_name(target)
    if found is None and str(target) == "-":
        return ROWS
    if found is None or not found.is_rows:
        names = names_of("rows")
        known = ", ".join(ending for name in names for ending in FORMATS[name].endings)
        raise UsageError(f"{target}: a table is written as {' or '.join(names)}; end in {known} (and .gz or .zst)")
    return found.name


def table_schema(table: Table, format: str) -> Schema:
    """Return the schema by which the table is read once it is written: each column as it is declared.

    >>> from treeanon.hierarchy import Hierarchy
    >>> made = table_schema(Table.of_texts({"sex": (["F", None], Hierarchy.flat(["F", "M"]))}), "csv")
    >>> made.input.format, made.classes[0].path.text(slashed=False)
    ('csv', 'sex')
    """
    specs = tuple(replace(c.spec, path=FieldPath((Step(c.header),)), under=None) for c in table.columns)
    # What is a pseudonym already need not become that of a pseudonym.
    kept = (replace(spec, role="keep", pseudonym=False) if spec.pseudonym else spec for spec in specs)
    return Schema(InputSpec(format), tuple(kept))


def table_out(table: Table, order: Longs | None) -> TableOut:
    """Return the table without keys, as it is written to files; its rows as they are or in the given order."""
    import pyarrow as pa

    made = {column.header: _column_out(column, order) for column in table.columns}
    has_persons = table.person is not None and table.person_header != ""
    if table.person is not None and has_persons:
        made[table.person_header] = (pa.array(_fresh_numbers(table, table.person, order)), "integer")
    if len(made) < len(table.columns) + has_persons:
        raise UsageError("two classes have the same column name, so they cannot both be written")
    data = pa.table({name: array for name, (array, _) in made.items()})
    safe = are_shielded(column.spec for column in table.columns)
    return TableOut("table", data, {name: kind for name, (_, kind) in made.items()}, (), (), (), safe)


def _fresh_numbers(table: Table, person: Ints, order: Longs | None) -> Longs:
    """Return a number for each row, the same for rows of one person in one group, in the order of the rows.

    In another group the person has another number: rows of several groups that are known to be of one person would
    tell more than each of them does.
    """
    columns = [*(column.places for column in table.quasi), person]
    sizes = [*(column.size + 1 for column in table.quasi), int(person.max(initial=0)) + 1]
    numbers = group_numbers(columns, sizes, len(table))[0]
    _, first, of = np.unique(numbers if order is None else numbers[order], return_index=True, return_inverse=True)
    return (np.argsort(np.argsort(first)) + 1)[of]


def _column_out(column: Column, order: Longs | None) -> tuple[pa.Array, Kind]:
    """Return a column's values and their kind; texts are made only for values that occur."""
    codes = column.codes if order is None else column.codes[order]
    used = np.zeros(column.size + 1, bool)
    used[codes] = True
    used[-1] = False
    nodes = np.flatnonzero(used)
    number = np.full(len(used), -1, np.int32)
    number[nodes] = np.arange(len(nodes))
    texts = column.values
    return value_column(number[codes], [texts[node] for node in nodes.tolist()], {column.spec.type})

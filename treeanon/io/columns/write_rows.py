"""One table as a CSV or Parquet file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from treeanon.formats import FORMATS
from treeanon.hierarchy.numbers import number_text
from treeanon.io.columns.formulas import shield, warn_of_formulas
from treeanon.io.relational.arrow_tables import TableOut
from treeanon.io.sources import plain_name

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

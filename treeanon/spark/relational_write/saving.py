"""Writes tables by Spark: each in a folder of its own, as files of rows in the order of their numbers."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from treeanon.io.columns.write_rows import write_lines
from treeanon.io.relational.arrow_tables import TableOut
from treeanon.io.relational.write_folder import delimiter_of, file_names
from treeanon.spark.records import Batches, map_batches, rows_of
from treeanon.spark.relational_write.release import SpreadTables


def folders_of(tables: list[TableOut]) -> list[str]:
    """The name of the folder of each table."""
    return file_names([table.name for table in tables], "")


def save_tables(spread: SpreadTables, files: str, place: str) -> None:
    """Writes the tables to folders at a place, as csv, tsv or parquet."""
    for held, (table, folder) in enumerate(zip(spread.tables, folders_of(spread.tables), strict=True)):
        chunks = spread.frame.where(f"held = {held}").select("rows")
        if files == "parquet":
            map_batches(chunks, _rows, _type(table)).write.parquet(f"{place}/{folder}")
            continue
        work = partial(_lines, header=_written(table.data, files), files=files)
        lines = map_batches(chunks, work, "text string")
        lines.write.option("lineSep", "\n").text(f"{place}/{folder}")


def _type(table: TableOut) -> Any:
    """The type of a table's rows."""
    from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

    types = {"integer": LongType, "number": DoubleType, "text": StringType}
    return StructType([StructField(name, types[table.kinds[name]]()) for name in table.data.column_names])


def _rows(batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for packed in batch.column(0):
            yield from pa.ipc.open_stream(packed.as_buffer())


def _lines(batches: Batches, header: str, files: str) -> Iterator[pa.RecordBatch]:
    """The text of a file: the names of the columns, and the rows."""
    from pyspark import TaskContext

    context = TaskContext.get()
    # Spark makes a file for the first partition in any case: it holds the names at least.
    is_first = context is None or context.partitionId() == 0
    if is_first:
        yield rows_of("text string", [header])
    for rows in _rows(batches):
        if not is_first:
            yield rows_of("text string", [header])
            is_first = True
        yield rows_of("text string", [_written(pa.Table.from_batches([rows]), files, header=False)])


def _written(rows: pa.Table, files: str, *, header: bool = True) -> str:
    """Rows as the text of a file, without its last line end: Spark writes one."""
    written = io.BytesIO()
    write_lines(rows, delimiter_of(files), written, header=header)
    return written.getvalue().decode().removesuffix("\n")

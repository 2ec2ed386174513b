"""The inputs of rows that Spark reads: delimited files, Parquet, dataframes; and their places for errors."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from treeanon.errors import DataError, UsageError
from treeanon.io.columns.arrow_stream import FrameSource
from treeanon.io.columns.column_checks import check_names
from treeanon.io.columns.csv_dialect import Dialect, given_delimiter
from treeanon.io.columns.csv_fast import DelimitedFile, Rules
from treeanon.io.columns.frames import as_rows
from treeanon.io.columns.rows import RowSource, as_tables
from treeanon.io.reading import input_format
from treeanon.io.relational.reading import resolved
from treeanon.io.sources import Source, plain_name
from treeanon.schema import Schema
from treeanon.schema.model import FLAT
from treeanon.spark.failures import spark_failures
from treeanon.spark.lines import Lines, lines_of_files
from treeanon.spark.table.pieces import Block, DelimitedPieces, FramePieces, Pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FIRST_LINES = 50


@dataclass(frozen=True)
class Input:
    """Rows to be read: `lines` are rows of a dataframe, or lines of files, and say where they are; `pieces` reads them.

    `schema` is one of rows; `delimiter` is that of delimited files.
    """

    lines: Lines
    pieces: Pieces
    schema: Schema
    delimiter: str = ""


def input_of_files(spark: SparkSession, source: str, schema: Schema, format: str | None, delimiter: str = "") -> Input:
    """The rows of a file, a folder or a glob; all delimited files of it must have one header."""
    form = flat_format(source, schema, format)
    schema = replace(schema, input=replace(schema.input, format=form))
    delimiter = given_delimiter(delimiter, form)
    if form == "parquet":
        with spark_failures(source):
            return input_of_frame(spark.read.parquet(source), schema, source)
    lines = lines_of_files(spark, source, "csv")
    first = min(lines.files.values())
    with spark_failures(source):
        rows = spark.read.option("lineSep", "\n").text(first).limit(_FIRST_LINES).collect()
    text = "".join(row["value"] + "\n" for row in rows).encode().removeprefix(b"\xef\xbb\xbf")
    if plain_name(first).endswith(".tsv"):
        delimiter = delimiter or "\t"
    name = first if len(set(lines.files.values())) == 1 else source
    begin = DelimitedFile(
        Source(name, len(text), lambda: cast(BinaryIO, io.BytesIO(text))), Dialect(delimiter), Rules()
    )
    pieces = DelimitedPieces(text[: begin.skipped], begin.columns, begin.dialect.delimiter)
    _check_columns(schema, Block(begin))
    return Input(lines, pieces, schema, begin.dialect.delimiter)


def input_of_frame(frame: DataFrame, schema: Schema, name: str = "the dataframe") -> Input:
    """The rows of a dataframe."""
    check_names(frame.columns, name)
    schema = as_rows(schema)
    if not frame.columns:
        raise DataError("has no columns", source=name)
    empty: Any = frame.limit(0).toArrow()
    _check_columns(schema, FrameSource(empty))
    return Input(Lines(frame, name, "rows"), FramePieces(), schema)


def _check_columns(schema: Schema, source: RowSource) -> None:
    """Refuses a schema whose classes are not columns of the source."""
    resolved(as_tables(schema, source.table), source)


def flat_format(source: str, schema: Schema, format: str | None) -> str:
    """csv or parquet: what is asked for, what the name means, or the schema says; UsageError for other formats."""
    name = format
    if name is None:
        plain = plain_name(source.rstrip("/"))
        by_name = {".parquet": "parquet", ".csv": "csv", ".tsv": "csv"}
        name = next((form for ending, form in by_name.items() if plain.endswith(ending)), None)
    name = name or input_format(source, schema).name
    if name not in FLAT:
        raise UsageError(
            f"the engine spark reads and writes tables as {', '.join(FLAT)}, not {name}: `treeanon flatten` makes such"
            " a file, a row a person"
        )
    return name

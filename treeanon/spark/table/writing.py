"""Writes published rows as files of their own order, and reads them again as anybody would."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from treeanon.errors import GuaranteeError, TreeanonError
from treeanon.hierarchy import Flat
from treeanon.io.columns.read_table import table_of_rows
from treeanon.io.options import ReadOptions
from treeanon.release.table_release import released_schema
from treeanon.schema import Schema
from treeanon.spark.records import Batches, batch_of, map_batches
from treeanon.spark.table.inputs import Input, Pieces, input_of_files, input_of_frame
from treeanon.spark.table.reading import CODED
from treeanon.spark.table.searching import PublishedRows, text_kinds
from treeanon.table import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROWS_A_FILE = 1_000_000
_ROWS_A_TEXT = 10_000


def in_order(published: PublishedRows, rows: int) -> DataFrame:
    """The published rows in the order of their places, in so many partitions as there are to be files."""
    names = [f"v{i}" for i in range(len(published.columns))]
    parts = published.frame.repartition(max(-(-rows // _ROWS_A_FILE), 1), "place")
    return parts.sortWithinPartitions("place", *names).select(*names)


def named(frame: DataFrame, columns: tuple[Column, ...]) -> DataFrame:
    """The rows with the columns' own names."""
    return frame.toDF(*(column.header for column in columns))


def save(frame: DataFrame, columns: tuple[Column, ...], form: str, delimiter: str, place: str) -> None:
    """Writes ordered rows to a folder."""
    if form == "parquet":
        named(frame, columns).write.parquet(place)
        return
    if _holds_line_end(frame):
        raise GuaranteeError(
            "a value of the release holds a line end, at which Spark cuts files: publish it as Parquet (--to parquet)"
        )
    headers = [column.header for column in columns]
    lines = map_batches(frame, partial(_lines, headers=headers, delimiter=delimiter), "text string")
    lines.write.option("lineSep", "\n").text(place)


def _holds_line_end(frame: DataFrame) -> bool:
    from functools import reduce

    from pyspark.sql import functions as f

    return bool(frame.where(reduce(lambda a, b: a | b, (f.col(n).rlike("[\\n\\r]") for n in frame.columns))).head(1))


def _lines(batches: Batches, headers: list[str], delimiter: str) -> Iterator[pa.RecordBatch]:
    """The text of a file: a header, if there is a row, and the rows."""
    is_first = True
    for batch in batches:
        for at in range(0, len(batch), _ROWS_A_TEXT):
            some = pa.Table.from_batches([batch.slice(at, _ROWS_A_TEXT)]).rename_columns(headers)
            if len(headers) == 1:
                # A line with nothing in it would be no row.
                some = pa.table({headers[0]: pc.fill_null(some.column(0), "")})
            written = io.BytesIO()
            options = csv.WriteOptions(include_header=is_first, delimiter=delimiter, quoting_style="needed")
            csv.write_csv(some, written, options)
            is_first = False
            yield batch_of("text string", [written.getvalue().decode().removesuffix("\n")])


def read_again(given: Input, columns: tuple[Column, ...]) -> DataFrame:
    """The texts v0, v1, … of what was written, read by the reader of releases with the columns' own hierarchies."""
    shared = given.lines.frame.sparkSession.sparkContext.broadcast(given.schema)
    work = partial(_again, pieces=given.pieces, shared=shared)
    return map_batches(given.lines.frame, work, text_kinds(len(columns)).removeprefix("place long, "))


def written_input(spark: Any, place: str, columns: tuple[Column, ...], form: str, delimiter: str) -> Input:
    """What was written to a place, to be read."""
    return input_of_files(spark, place, _schema(columns, form), form, delimiter if form == "csv" else "")


def frame_input(frame: DataFrame, columns: tuple[Column, ...]) -> Input:
    """A published dataframe, to be read."""
    return input_of_frame(frame, _schema(columns, "csv"), "the release")


def _schema(columns: tuple[Column, ...], form: str) -> Schema:
    """The schema of what was written: coded columns have their hierarchies, the others any values."""
    schema = released_schema(columns, form)
    classes = (
        spec if column.role in CODED else replace(spec, hierarchy=Flat())
        for spec, column in zip(schema.classes, columns, strict=True)
    )
    return replace(schema, classes=tuple(classes))


def _again(batches: Batches, pieces: Pieces, shared: Any) -> Iterator[pa.RecordBatch]:
    schema = shared.value
    for piece in pieces.of(batches):
        try:
            table = table_of_rows(piece.open(), schema, ReadOptions(), published=True)
        except TreeanonError:
            # What cannot be read is not what was to be written, which the fingerprints tell.
            return
        kinds = text_kinds(len(table.columns)).removeprefix("place long, ")
        yield batch_of(kinds, *(column.texts() for column in table.columns))

"""Publishes flat tables with Spark: read, search, write to a hidden folder, check what was written, commit.

Published rows are written in random order, and read again with the reader of releases.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from treeanon.errors import GuaranteeError, TreeanonError
from treeanon.formats import FORMATS, ROWS
from treeanon.hierarchy import Flat
from treeanon.io.columns.read_table import table_of_rows
from treeanon.io.interface import ReadOptions
from treeanon.io.sources import plain_name
from treeanon.privacy.models.model import largest_k
from treeanon.release import TableRelease
from treeanon.release.table_release import released_schema
from treeanon.release.table_request import TableRequest
from treeanon.release.table_search import require
from treeanon.schema import Schema
from treeanon.spark.interface import Job
from treeanon.spark.records import Batches, batch_of, map_batches, persisted
from treeanon.spark.session import Notifier, not_as_published, reading_again, session
from treeanon.spark.table.checking import check_written, fingerprint_of
from treeanon.spark.table.inputs import Input, Pieces, flat_format, input_of_files, input_of_frame
from treeanon.spark.table.reading import CODED, Rows, read_coded_rows
from treeanon.spark.table.searching import (
    PublishedRows,
    check_ranges,
    check_request,
    fits_driver,
    released,
    search_ranges,
    search_whole,
    text_kinds,
)
from treeanon.spark.writing import Target
from treeanon.table import Column, Table
from treeanon.verifier.table import TableVerdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_ROWS_A_FILE = 1_000_000
_ROWS_A_TEXT = 10_000


def in_order(published: PublishedRows, rows: int) -> DataFrame:
    """Return the published rows in the order of their places, one partition for each file to write."""
    names = [f"v{i}" for i in range(len(published.columns))]
    parts = published.frame.repartition(max(-(-rows // _ROWS_A_FILE), 1), "place")
    return parts.sortWithinPartitions("place", *names).select(*names)


def named(frame: DataFrame, columns: tuple[Column, ...]) -> DataFrame:
    """Return the rows with the columns' own names."""
    return frame.toDF(*(column.header for column in columns))


def save(frame: DataFrame, columns: tuple[Column, ...], form: str, delimiter: str, place: str) -> None:
    """Write ordered rows to a folder."""
    if FORMATS[form].spark == "columns":
        named(frame, columns).write.parquet(place)
        return
    save_delimited(frame, [column.header for column in columns], delimiter, place)


def save_delimited(frame: DataFrame, headers: list[str], delimiter: str, place: str) -> None:
    """Write ordered rows to a folder of delimited files, each with a header."""
    if _holds_line_end(frame):
        raise GuaranteeError(
            "a value of the release holds a line break, at which Spark splits files: publish Parquet (--to parquet)"
        )
    lines = map_batches(frame, partial(_lines, headers=headers, delimiter=delimiter), "text string")
    lines.write.option("lineSep", "\n").text(place)


def _holds_line_end(frame: DataFrame) -> bool:
    from functools import reduce

    from pyspark.sql import functions as f

    return bool(frame.where(reduce(lambda a, b: a | b, (f.col(n).rlike("[\\n\\r]") for n in frame.columns))).head(1))


def _lines(batches: Batches, headers: list[str], delimiter: str) -> Iterator[pa.RecordBatch]:
    """Yield the text of a file: the header and the rows, or nothing if there are no rows."""
    is_first = True
    for batch in batches:
        for at in range(0, len(batch), _ROWS_A_TEXT):
            some = pa.Table.from_batches([batch.slice(at, _ROWS_A_TEXT)]).rename_columns(headers)
            if len(headers) == 1:
                # An empty line would not be read as a row.
                some = pa.table({headers[0]: pc.fill_null(some.column(0), "")})
            written = io.BytesIO()
            options = csv.WriteOptions(include_header=is_first, delimiter=delimiter, quoting_style="needed")
            csv.write_csv(some, written, options)
            is_first = False
            yield batch_of("text string", [written.getvalue().decode().removesuffix("\n")])


def read_again(given: Input, columns: tuple[Column, ...]) -> DataFrame:
    """Read what was written with the hierarchies of its columns; return the texts v0, v1, …"""
    shared = given.lines.frame.sparkSession.sparkContext.broadcast(given.schema)
    work = partial(_again, pieces=given.pieces, shared=shared)
    return map_batches(given.lines.frame, work, text_kinds(len(columns)).removeprefix("place long, "))


def written_input(spark: Any, place: str, columns: tuple[Column, ...], form: str, delimiter: str) -> Input:
    """Return the written files of a folder as an input."""
    return input_of_files(spark, place, _schema(columns, form), form, delimiter if FORMATS[form].delimited else "")


def frame_input(frame: DataFrame, columns: tuple[Column, ...]) -> Input:
    """Return a published dataframe as an input."""
    return input_of_frame(frame, _schema(columns, ROWS), "the release")


def _schema(columns: tuple[Column, ...], form: str) -> Schema:
    """Return the schema of what was written: hierarchies for coded columns, any value for the others."""
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
            # Unreadable rows are missing from the fingerprint, so that the check fails.
            return
        kinds = text_kinds(len(table.columns)).removeprefix("place long, ")
        yield batch_of(kinds, *(column.texts() for column in table.columns))


def publish_table(job: Job, request: TableRequest, notify: Notifier) -> TableRelease:
    """Anonymize a job's input as requested; return the release, written as a folder of files and checked."""
    from treeanon.spark.engine import prepared

    check_request(request, job.schema)
    form = flat_format(job.source, job.schema, job.source_format)
    target_form = target_format(job, form)
    with prepared(session()) as spark:
        ending = ".tsv" if plain_name(job.target).endswith(".tsv") else f".{target_form}"
        target = Target(spark, job.target, ending, force=job.force)
        notify("reading")
        given = input_of_files(spark, job.source, job.schema, form, job.delimiter)
        options = ReadOptions(job.on_error, job.strict)
        rows = read_coded_rows(given, options, job.seed, show_values=job.show_values)
        with _made(rows, request, notify, job.sample) as (rows, published):
            return _written(spark, rows, published, request, target, target_form, notify)


def target_format(job: Job, form: str) -> str:
    """Return the name of a format of rows: the requested one, that of the target's name, or that of the input."""
    plain = plain_name(job.target.rstrip("/"))
    if job.target_format is None and not plain.endswith((".csv", ".tsv", ".parquet")):
        return form
    return flat_format(job.target, job.schema, job.target_format)


def publish_table_frame(
    frame: DataFrame, schema: Schema, request: TableRequest, seed: int | None, notify: Notifier, most: int | None = None
) -> tuple[DataFrame, TableRelease]:
    """Return the published rows of a dataframe, in random order, and the release that describes them.

    The workers keep the rows exactly as they were checked.
    """
    from treeanon.spark.engine import prepared

    check_request(request, schema)
    with prepared(frame.sparkSession):
        given = input_of_frame(frame, schema)
        with _made(read_coded_rows(given, ReadOptions(), seed), request, notify, most) as (rows, published):
            made = named(in_order(published, rows.rows), rows.columns).localCheckpoint()
            release = _checked(frame_input(made, rows.columns), rows, published, request, "the release", notify)
            return made, release


@contextmanager
def _made(
    rows: Rows, request: TableRequest, notify: Notifier, most: int | None
) -> Iterator[tuple[Rows, PublishedRows]]:
    """Provide the original and the published rows, both persisted on the workers' disks."""
    with persisted(rows.frame) as frame:
        rows = replace(rows, frame=frame)
        if fits_driver(rows, most):
            notify(f"searching in {rows.rows:,} rows")
            published = search_whole(rows, request, notify.progress)
            with persisted(published.frame) as found:
                yield rows, replace(published, frame=found)
            return
        check_ranges(request, rows)
        notify(f"searching in ranges of {rows.rows:,} rows")
        with persisted(search_ranges(rows, request, most)) as found:
            yield rows, released(found, rows, request)


def _written(
    spark: Any, rows: Rows, published: PublishedRows, request: TableRequest, target: Target, form: str, notify: Notifier
) -> TableRelease:
    """Write the release to a target, which appears whole or not at all; return it with its verdict."""
    notify("writing")
    delimiter = "\t" if target.ending == ".tsv" else rows.report.delimiter or ","
    found: list[TableRelease] = []

    def write(place: str) -> None:
        save(in_order(published, rows.rows), rows.columns, form, delimiter, place)

    def check(place: str) -> None:
        again = written_input(spark, place, rows.columns, form, delimiter)
        again = replace(again, lines=replace(again.lines, name=target.name, files={}))
        found.append(_checked(again, rows, published, request, target.name, notify))
        notify.refuse_abandoned()

    target.write(write, check)
    return found[-1]


def _checked(
    again: Input, rows: Rows, published: PublishedRows, request: TableRequest, name: str, notify: Notifier
) -> TableRelease:
    """Read what was written and return the release with its verdict; GuaranteeError unless it is as intended."""
    notify("verifying the output")
    release, width = published.release, len(rows.columns)
    with reading_again(name, "rows"), persisted(read_again(again, rows.columns)) as frame:
        found = fingerprint_of(frame, width)
        if found != fingerprint_of(published.frame, width):
            raise not_as_published(name, "rows")
        if found.rows + release.found.suppressed != rows.rows:
            raise GuaranteeError(f"{name}: not published, for rows are missing; please report this bug")
        models = tuple(dict.fromkeys((*request.models, *release.models)))
        verdict, squares = check_written(frame, rows.columns, models)
    require(verdict, models)
    return _final_release(release, rows, verdict, squares)


def _final_release(release: TableRelease, rows: Rows, verdict: TableVerdict, squares: int) -> TableRelease:
    """Return the release with the verdict, losses and counts of what was written; its table holds only occurring
    values.
    """
    counts = {
        "rows": rows.rows,
        "persons": rows.rows,
        "published_rows": verdict.rows,
        "published_persons": verdict.persons,
        **rows.report.as_dict(),
    }
    gone = rows.rows - verdict.rows
    average = verdict.rows / max(verdict.groups, 1) / largest_k(release.models)
    loss = replace(
        release.loss,
        discernibility=squares + gone * rows.rows,
        average_class_size=average,
        groups=verdict.groups,
        rows=rows.rows,
        suppressed=gone,
    )
    longest = max(len(column.codes) for column in rows.columns)
    columns = (_padded(column, longest) for column in rows.columns)
    return replace(release, table=Table(tuple(columns)), verdict=verdict, counts=counts, loss=loss)


def _padded(column: Column, rows: int) -> Column:
    codes = np.full(rows, -1, np.int32)
    codes[: len(column.codes)] = column.codes
    return replace(column, codes=codes)

"""Publishes tables by Spark: reads, searches, writes aside, checks what was written, commits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from treeanon.algorithms.table.registry import FLAT_ALGORITHMS
from treeanon.errors import GuaranteeError
from treeanon.io.options import ReadOptions
from treeanon.io.sources import plain_name
from treeanon.privacy.models.model import Model
from treeanon.privacy.models.registry import Asked, models_of
from treeanon.release import TableRelease
from treeanon.release.table_request import Publish, TableRequest, default_search, unprotected_by
from treeanon.release.table_search import largest_k, require
from treeanon.schema import Schema
from treeanon.spark.interface import Job
from treeanon.spark.records import persisted
from treeanon.spark.session import Notifier, session
from treeanon.spark.table.checking import check_written, fingerprint_of
from treeanon.spark.table.inputs import Input, flat_format, input_of_files, input_of_frame
from treeanon.spark.table.ranges import check_ranges, check_request, released, search_ranges
from treeanon.spark.table.reading import Rows, read_coded_rows
from treeanon.spark.table.searching import PublishedRows, fits_driver, search_whole
from treeanon.spark.table.writing import (
    frame_input,
    in_order,
    named,
    read_again,
    save,
    written_input,
)
from treeanon.spark.writing import Target
from treeanon.table import Column, Table
from treeanon.verifier.table import TableVerdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OF_MODELS = ("k", "diversity", "c", "alpha", "p", "t", "emd")


def is_of_rows(schema: Schema, arguments: Mapping[str, Any]) -> bool:
    """Whether what is asked for of a dataframe is a release of rows: by the search, or by the format of the schema."""
    if arguments.get("algorithm") is not None:
        return arguments["algorithm"] in FLAT_ALGORITHMS
    return schema.input.is_flat and not any(arguments.get(name) is not None for name in ("m", "n", "negative"))


def table_request_of(
    *,
    l: Asked | None = None,  # noqa: E741 - its name in the literature
    models: Sequence[Model] = (),
    algorithm: str | None = None,
    publish: Publish = "generalized",
    max_suppressed: int | float | str = 0,
    **arguments: Any,
) -> TableRequest:
    """What is asked by names, as of `treeanon.release.anonymize_table`."""
    of_models = {name: arguments.pop(name) for name in _OF_MODELS if name in arguments}
    given = {name: value for name, value in arguments.items() if value is not None}
    found = (*models_of(l=l, **of_models), *models)
    name = algorithm or default_search(publish)
    return TableRequest(found, name, max_suppressed, given, unprotected=unprotected_by(l), publish=publish)


def publish_table(job: Job, request: TableRequest, notify: Notifier) -> TableRelease:
    """The release of a job's input that a request asks for, written as a folder of files and checked."""
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
    """csv or parquet: what is asked for, what the target's name means, or the form of the input."""
    plain = plain_name(job.target.rstrip("/"))
    if job.target_format is None and not plain.endswith((".csv", ".tsv", ".parquet")):
        return form
    return flat_format(job.target, job.schema, job.target_format)


def publish_table_frame(
    frame: DataFrame, schema: Schema, request: TableRequest, seed: int | None, notify: Notifier, most: int | None = None
) -> tuple[DataFrame, TableRelease]:
    """The published rows of a dataframe, in random order, and what there is to tell of them.

    The rows are held by the workers when this returns, as they were checked.
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
    """The rows and those published, both kept on the disks of the workers for the time."""
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
    """The release as it was written to a target, which appears as one."""
    notify("writing")
    delimiter = "\t" if target.ending == ".tsv" else rows.report.delimiter or ","
    found: list[TableRelease] = []

    def write(place: str) -> None:
        save(in_order(published, rows.rows), rows.columns, form, delimiter, place)

    def check(place: str) -> None:
        again = written_input(spark, place, rows.columns, form, delimiter)
        again = replace(again, lines=replace(again.lines, name=target.name, files={}))
        found.append(_checked(again, rows, published, request, target.name, notify))

    target.write(write, check)
    return found[-1]


def _checked(
    again: Input, rows: Rows, published: PublishedRows, request: TableRequest, name: str, notify: Notifier
) -> TableRelease:
    """The release, its verdict on what was written, read again; GuaranteeError unless that is what is published."""
    notify("checking what was written")
    release, width = published.release, len(rows.columns)
    with persisted(read_again(again, rows.columns)) as frame:
        found = fingerprint_of(frame, width)
        if found != fingerprint_of(published.frame, width):
            raise GuaranteeError(f"{name}: not published, for reading it again does not give the published rows")
        if found.rows + release.found.suppressed != rows.rows:
            raise GuaranteeError(f"{name}: not published, for rows are missing: please report it")
        models = tuple(dict.fromkeys((*request.models, *release.models)))
        verdict, squares = check_written(frame, rows.columns, models)
    require(verdict, models)
    return _final_release(release, rows, verdict, squares)


def _final_release(release: TableRelease, rows: Rows, verdict: TableVerdict, squares: int) -> TableRelease:
    """The release with what is known of it now that it is written; its table has only the values that occur."""
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

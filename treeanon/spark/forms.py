"""The formats that Spark reads and writes: how each becomes texts of records, and a dataset again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from treeanon.errors import GuaranteeError, UsageError
from treeanon.formats import FORMATS, NESTED
from treeanon.io.interface import ReadOptions, format_of_name
from treeanon.io.reading import input_format
from treeanon.schema import Schema
from treeanon.schema.layout import MOVED
from treeanon.schema.persons import by_row
from treeanon.spark.interface import Job
from treeanon.spark.lines import Lines, frame_of_lines, lines_of_files, lines_of_frame, lines_of_kinds, read_parquet
from treeanon.spark.relational_read.reading import lines_of_folder
from treeanon.spark.session import spark_failures
from treeanon.spark.table.inputs import JsonRows, flat_format, input_of_files
from treeanon.spark.xml_files import ranges_of_files, save_documents

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class InputForm:
    """A format of inputs. `document` is the format of its records' texts."""

    name: str
    document: str
    read: Callable[[SparkSession, str, Schema, ReadOptions], Lines]


@dataclass(frozen=True)
class Form(InputForm):
    """A format of inputs and outputs. `ending` is the suffix of its files.

    `lines` returns the lines to write in the column `text`; `save` writes them to a place.
    """

    ending: str
    lines: Callable[[DataFrame], DataFrame]
    save: Callable[[DataFrame, Schema, str], None]


def _save_text(lines: DataFrame, schema: Schema, place: str) -> None:
    lines.write.option("lineSep", "\n").text(place)


def _plain(frame: DataFrame) -> DataFrame:
    return frame.select("text")


def _numbered(frame: DataFrame) -> DataFrame:
    """Return the lines of a trees file; the ids follow the random order."""
    from pyspark.sql import functions as f

    number = (f.monotonically_increasing_id() + 1).cast("string")
    return frame.select(f.concat(f.lit('{"id":'), number, f.lit(',"tree":'), f.col("text"), f.lit("}")).alias("text"))


def _read_lines(spark: SparkSession, source: str, schema: Schema, options: ReadOptions, form: str) -> Lines:
    if schema.files and not FORMATS[form].names_classes:
        return lines_of_kinds(spark, source, schema, form)
    return lines_of_files(spark, source, form)


def _read_ranges(spark: SparkSession, source: str, schema: Schema, options: ReadOptions, form: str) -> Lines:
    return ranges_of_files(spark, source, schema, form)


def _read_parquet(spark: SparkSession, source: str, schema: Schema, options: ReadOptions) -> Lines:
    with spark_failures(source):
        return lines_of_frame(read_parquet(spark, source), source)


def _save_parquet(lines: DataFrame, schema: Schema, place: str) -> None:
    frame_of_lines(lines, schema).write.parquet(place)


def _read_rows(
    spark: SparkSession, source: str, schema: Schema, options: ReadOptions, form: str, delimiter: str
) -> Lines:
    given = input_of_files(spark, source, by_row(schema), form, delimiter)
    rows = JsonRows(given.pieces, given.schema, options)
    return replace(given.lines, form=NESTED, rows=rows)


def _save_rows(lines: DataFrame, schema: Schema, place: str, *, form: str, delimiter: str) -> None:
    from pyspark.sql import functions as f

    from treeanon.spark.table.engine import save_delimited

    frame = frame_of_lines(lines, schema)
    if frame.where(f.col(MOVED).isNotNull()).head(1):
        raise GuaranteeError("of persons nothing but * could be published, or nodes have moved: no row can say that")
    frame = frame.drop(MOVED)
    if FORMATS[form].spark == "columns":
        frame.write.parquet(place)
        return
    headers = frame.columns
    save_delimited(frame.toDF(*(f"v{i}" for i in range(len(headers)))), headers, delimiter, place)


def row_forms(job: Job) -> tuple[Form, Form]:
    """Return how rows of persons that are rows of a table are read, and how they are written.

    Between the files they are lines of JSON: a row is read as if it was a document of its columns.
    """
    name = flat_format(job.source, job.schema, job.source_format)
    if job.target_format not in (None, name):
        raise UsageError(
            f"engine spark writes rows of persons in the format of the input: leave out --to, or --to {name}"
        )
    form, given = FORMATS[name], job.delimiter or job.schema.input.delimiter
    is_tsv = form.delimited and job.target.rstrip("/").endswith(".tsv")

    def made(delimiter: str) -> Form:
        read = partial(_read_rows, form=name, delimiter=delimiter)
        save = partial(_save_rows, form=name, delimiter=delimiter or ",")
        return Form(name, NESTED, read, ".tsv" if is_tsv else form.endings[0], _plain, save)

    return made(given), made("\t" if is_tsv else given)


def form_of(name: str) -> Form:
    """Return how Spark reads and writes records in a format, by what the table of formats says of it."""
    form = FORMATS[name]
    ending = form.endings[0]
    if form.spark == "ranges":
        save = partial(save_documents, form=name)
        return Form(name, name, partial(_read_ranges, form=name), ending, _plain, save)
    if form.spark == "columns":
        return Form(name, NESTED, _read_parquet, ending, _plain, _save_parquet)
    lines = _numbered if form.spark == "numbered lines" else _plain
    return Form(name, name, partial(_read_lines, form=name), ending, lines, _save_text)


def form_names() -> list[str]:
    """Return the names of the formats in which Spark reads and writes records."""
    able = [form for form in FORMATS.values() if form.spark and (form.is_document or form.spark == "columns")]
    return [form.name for form in able]


TABLES = InputForm("tables", NESTED, lines_of_folder)
"""Relational tables, whose texts are documents with a schema of their own."""


def source_form(job: Job) -> InputForm:
    """Return the format of a job's input: the requested one, Parquet by file name, or that of the schema."""
    name = job.source_format
    if name is None and not job.schema.input.is_relational:
        name = _columns_of(job.source)
    form = FORMATS.named(name) if name else input_format(job.source, job.schema)
    if form.spark == "folder":
        return TABLES
    if form.is_relational:
        raise UsageError(
            f"engine spark reads relational tables from folders of CSV, TSV or Parquet: `treeanon convert` makes"
            f" such a folder of {form.name}"
        )
    return _form_named(form.name, job.schema)


def target_form(job: Job, source: InputForm) -> InputForm:
    """Return the format of a job's output: the requested one, else that of its input, or by file name for tables."""
    name = job.target_format
    if name is None and isinstance(source, Form):
        return _checked(source, job.schema)
    if name is None:
        meant = format_of_name(job.target)
        name = _columns_of(job.target) or (meant.name if meant is not None else None)
    are_rows = name is not None and job.target_format is None and FORMATS[name].is_rows
    if source is TABLES and (name in (None, TABLES.name) or are_rows):
        return TABLES
    return _checked(_form_named(name or "", job.schema), job.schema)


def _form_named(name: str, schema: Schema) -> Form:
    able = form_names()
    able_of_files = [one for one in able if FORMATS[one].names_classes or FORMATS[one].spark == "lines"]
    if schema.files and name not in able_of_files:
        known = " or ".join(able_of_files)
        raise UsageError(f"[[file]]: engine spark reads and writes several files of one person as {known} alone")
    if name not in able or schema.input.is_flat:
        raise UsageError(f"engine spark reads and writes records as {', '.join(able)}, and folders of tables")
    return form_of(name)


def _checked(form: Form, schema: Schema) -> Form:
    if FORMATS[form.name].has_record_path and schema.input.whole_file:
        raise UsageError("engine spark cannot write one file per person; choose another format, such as --to ndjson")
    return form


def _columns_of(place: str) -> str | None:
    """Return the format of columns that the name of a file or folder means, if any."""
    able = (form for form in FORMATS.values() if form.spark == "columns")
    return next((form.name for form in able if place.rstrip("/").endswith(form.endings)), None)

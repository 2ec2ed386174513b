"""The formats that Spark reads and writes: how each becomes texts of records, and a dataset again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from treeanon.errors import UsageError
from treeanon.io.options import ReadOptions
from treeanon.io.reading import input_format
from treeanon.io.registry import format_of_name
from treeanon.schema import Schema
from treeanon.schema.model import FLAT, RELATIONAL
from treeanon.spark.interface import Job
from treeanon.spark.lines import Lines, frame_of_lines, lines_of_files, lines_of_frame
from treeanon.spark.relational_read.reading import lines_of_folder
from treeanon.spark.session import spark_failures
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
    return lines_of_files(spark, source, form)


def _read_xml(spark: SparkSession, source: str, schema: Schema, options: ReadOptions) -> Lines:
    return ranges_of_files(spark, source, schema)


def _read_parquet(spark: SparkSession, source: str, schema: Schema, options: ReadOptions) -> Lines:
    with spark_failures(source):
        return lines_of_frame(spark.read.parquet(source), source)


def _save_parquet(lines: DataFrame, schema: Schema, place: str) -> None:
    frame_of_lines(lines, schema).write.parquet(place)


FORMS = {
    form.name: form
    for form in (
        Form("ndjson", "ndjson", partial(_read_lines, form="ndjson"), ".ndjson", _plain, _save_text),
        Form("trees", "trees", partial(_read_lines, form="trees"), ".trees.jsonl", _numbered, _save_text),
        Form("xml", "xml", _read_xml, ".xml", _plain, save_documents),
        Form("parquet", "ndjson", _read_parquet, ".parquet", _plain, _save_parquet),
    )
}

TABLES = InputForm("tables", "ndjson", lines_of_folder)
"""Relational tables, whose texts are documents with a schema of their own."""


def source_form(job: Job) -> InputForm:
    """Return the format of a job's input: the requested one, Parquet by file name, or that of the schema."""
    name = job.source_format
    if name is None and not job.schema.input.is_relational and _is_parquet(job.source):
        name = "parquet"
    name = name or input_format(job.source, job.schema).name
    if name in RELATIONAL and name != TABLES.name:
        raise UsageError(
            f"engine spark reads relational tables from folders of CSV, TSV or Parquet: `treeanon convert` makes"
            f" such a folder of {name}"
        )
    if name == TABLES.name:
        return TABLES
    return _form_named(name, job.schema)


def target_form(job: Job, source: InputForm) -> InputForm:
    """Return the format of a job's output: the requested one, else that of its input, or by file name for tables."""
    name = job.target_format
    if name is None and isinstance(source, Form):
        return _checked(source, job.schema)
    if name is None:
        meant = format_of_name(job.target)
        name = "parquet" if _is_parquet(job.target) else meant.name if meant is not None else None
    if source is TABLES and (name in (None, TABLES.name) or (job.target_format is None and name in FLAT)):
        return TABLES
    return _checked(_form_named(name or "", job.schema), job.schema)


def _form_named(name: str, schema: Schema) -> Form:
    if name not in FORMS or schema.input.is_flat:
        raise UsageError(f"engine spark reads and writes records as {', '.join(FORMS)}, and folders of tables")
    return FORMS[name]


def _checked(form: Form, schema: Schema) -> Form:
    record = schema.input.record
    if form.name == "xml" and record is not None and record.whole_file:
        raise UsageError("engine spark cannot write one file per person; choose another format, such as --to ndjson")
    return form


def _is_parquet(place: str) -> bool:
    return place.rstrip("/").endswith(".parquet")

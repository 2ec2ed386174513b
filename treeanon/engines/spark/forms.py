"""The forms in which Spark reads and writes records: how each becomes lines of text, and a dataset again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from treeanon.engines.protocol import Job
from treeanon.engines.spark.failures import spark_failures
from treeanon.engines.spark.frames import frame_of_lines, lines_of_frame
from treeanon.engines.spark.lines import Lines, lines_of_files
from treeanon.engines.spark.xml_files import ranges_of_files, save_documents
from treeanon.errors import UsageError
from treeanon.io.reading import input_format
from treeanon.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Form:
    """One form. `document` is the format of its records' texts, `ending` that of its files.

    `lines` makes the column `text` of what is written; `save` writes it to a place.
    """

    name: str
    document: str
    ending: str
    read: Callable[[SparkSession, str, Schema], Lines]
    lines: Callable[[DataFrame], DataFrame]
    save: Callable[[DataFrame, Schema, str], None]


def _save_text(lines: DataFrame, schema: Schema, place: str) -> None:
    lines.write.option("lineSep", "\n").text(place)


def _plain(frame: DataFrame) -> DataFrame:
    return frame.select("text")


def _numbered(frame: DataFrame) -> DataFrame:
    """The lines of a trees file; ids follow the random order."""
    from pyspark.sql import functions as f

    number = (f.monotonically_increasing_id() + 1).cast("string")
    return frame.select(f.concat(f.lit('{"id":'), number, f.lit(',"tree":'), f.col("text"), f.lit("}")).alias("text"))


def _read_lines(spark: SparkSession, source: str, schema: Schema, form: str) -> Lines:
    return lines_of_files(spark, source, form)


def _read_parquet(spark: SparkSession, source: str, schema: Schema) -> Lines:
    with spark_failures(source):
        return lines_of_frame(spark.read.parquet(source), source)


def _save_parquet(lines: DataFrame, schema: Schema, place: str) -> None:
    frame_of_lines(lines, schema).write.parquet(place)


FORMS = {
    form.name: form
    for form in (
        Form("ndjson", "ndjson", ".ndjson", partial(_read_lines, form="ndjson"), _plain, _save_text),
        Form(
            "trees",
            "trees",
            ".trees.jsonl",
            partial(_read_lines, form="trees"),
            _numbered,
            _save_text,
        ),
        Form("xml", "xml", ".xml", ranges_of_files, _plain, save_documents),
        Form("parquet", "ndjson", ".parquet", _read_parquet, _plain, _save_parquet),
    )
}


def form_of(place: str, schema: Schema, name: str | None) -> Form:
    """The form of an input or output: the one asked for, Parquet by its name, or what the schema says."""
    if name is None and place.rstrip("/").endswith(".parquet"):
        name = "parquet"
    name = name or input_format(place, schema).name
    if schema.input.is_relational:
        raise UsageError("the engine spark reads tables tied by keys once `treeanon convert` has made ndjson of them")
    if name not in FORMS or schema.input.is_flat:
        raise UsageError(f"the engine spark reads and writes records as {', '.join(FORMS)}")
    return FORMS[name]


def target_form(job: Job, source: Form) -> Form:
    """The form of a job's output: the one asked for, or that of its input."""
    form = source if job.target_format is None else form_of(job.target, job.schema, job.target_format)
    record = job.schema.for_format(form.document).input.record
    if form.name == "xml" and record is not None and record.whole_file:
        raise UsageError("the engine spark writes no file for each person; name another format, such as --to ndjson")
    return form

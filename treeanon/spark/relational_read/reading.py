"""Reads tables tied by foreign keys as the texts of nested documents, one for each person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treeanon.errors import DataError, UsageError
from treeanon.forest import ReadReport
from treeanon.io.options import ReadOptions
from treeanon.io.reading import nothing_found
from treeanon.io.relational.plan import make_plan
from treeanon.io.relational.reading import resolved
from treeanon.schema import Schema
from treeanon.schema.relational import nested
from treeanon.spark.failures import spark_failures
from treeanon.spark.lines import Lines
from treeanon.spark.relational_read.accounts import account
from treeanon.spark.relational_read.inputs import FolderTables, FrameTables, Tables
from treeanon.spark.relational_read.keys import check_keys
from treeanon.spark.relational_read.loading import load
from treeanon.spark.relational_read.moved import check_moved
from treeanon.spark.relational_read.nesting import documents
from treeanon.spark.relational_read.reaching import reached

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def lines_of_folder(spark: SparkSession, source: str, schema: Schema, options: ReadOptions) -> Lines:
    """The persons of a folder of tables."""
    return joined(spark, FolderTables(source), schema, options)


def lines_of_frames(frames: Mapping[str, DataFrame], schema: Schema, options: ReadOptions) -> Lines:
    """The persons of dataframes, which are tables by these names."""
    for frame in frames.values():
        return joined(frame.sparkSession, FrameTables(frames), schema, options)
    raise UsageError("there is no dataframe: give one for each table, as {name: dataframe, …}")


def joined(spark: SparkSession, source: Tables, schema: Schema, options: ReadOptions) -> Lines:
    """The persons of tables: texts to be read by `nested` of the schema with its keys, both of which the lines have.

    The tables are kept on the disks of the workers until the lines are closed.
    """
    schema = resolved(schema, source)
    plan = make_plan(schema)
    report = ReadReport()
    loaded = load(spark, source, plan)
    try:
        check_keys(loaded, options, report)
        with spark_failures(source.name):
            found = reached(loaded)
            if not account(found, report):
                raise DataError(nothing_found(schema, "tables"), source=source.name)
            check_moved(found)
            texts = loaded.keep(documents(loaded))
    except BaseException:
        loaded.close()
        raise
    return Lines(
        _placed(texts), source.name, "ndjson", schema=nested(schema), tables=schema, report=report, kept=loaded.kept
    )


def _placed(texts: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    where: Any = (f.lit(-1).cast("long").alias("file"), f.spark_partition_id().cast("long").alias("start"))
    return texts.select(*where, f.col("text").cast("binary").alias("line"))

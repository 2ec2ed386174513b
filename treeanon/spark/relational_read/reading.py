"""Reads tables tied by foreign keys as the texts of nested documents, one for each person.

Persons as nested documents: rows of child tables are gathered under those they refer to, looked-up ones put in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treeanon.errors import DataError, UsageError
from treeanon.forest import ReadReport
from treeanon.io.options import ReadOptions
from treeanon.io.reading import nothing_found
from treeanon.io.relational.plan import MOVED_TABLE, Stop, make_plan
from treeanon.io.relational.reading import resolved
from treeanon.schema import Schema
from treeanon.schema.layout import MOVED
from treeanon.schema.relational import nested
from treeanon.spark.frames import with_moved
from treeanon.spark.lines import Lines
from treeanon.spark.relational_read.accounts import account, reached
from treeanon.spark.relational_read.inputs import FolderTables, FrameTables, Tables
from treeanon.spark.relational_read.keys import check_keys, equal
from treeanon.spark.relational_read.loading import Loaded, filled, load
from treeanon.spark.relational_read.moved import check_moved, moved_at
from treeanon.spark.session import spark_failures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


Labels = tuple[str, ...]


def documents(loaded: Loaded) -> DataFrame:
    """The persons as JSON texts in the column `text`, in an order that is the same each time.

    A task that is done again must find the same rows: what is written depends on their places.
    """
    from pyspark.sql import functions as f

    found = _nested(loaded, ()).where(loaded.fits(loaded.plan.stops[0]))
    texts = found.select(f.to_json("document").alias("text"))
    if any(MOVED_TABLE + table in loaded.selections for table in loaded.selections):
        texts = with_moved(texts)
    return texts.repartition("text").sortWithinPartitions("text")


def _nested(loaded: Loaded, labels: Labels) -> DataFrame:
    """The rows of the table that paths come to by these labels, each with its `document`."""
    from pyspark.sql import functions as f

    stops = [stop for stop in loaded.plan.stops if stop.labels == labels]
    table = stops[0].table
    frame = loaded.frames[table]
    names = [name for stop in stops for name in (*stop.columns.values(), *(stop.fixed or ())[:1])]
    fields = [loaded.value(table, name).alias(name) for name in dict.fromkeys(names)]
    for number, below in enumerate(_below(loaded, labels)):
        frame = _with(loaded, frame, below, f"d{number}")
        fields.append(f.col(f"d{number}").alias(below.labels[-1]))
    moved = moved_at(loaded, stops)
    if moved is not None:
        frame = _joined(frame, moved, loaded.key_names(table, loaded.selections[table].holder))
        fields.append(f.col("moved").alias(MOVED))
    return frame.withColumn("document", f.struct(*fields))


def _below(loaded: Loaded, labels: Labels) -> Sequence[Stop]:
    """The stops one step further, one for all that differ in their predicates only."""
    further = [stop for stop in loaded.plan.stops if stop.labels[:-1] == labels and stop.labels]
    return list({stop.labels: stop for stop in reversed(further)}.values())[::-1]


def _with(loaded: Loaded, frame: DataFrame, stop: Stop, name: str) -> DataFrame:
    """The rows above with the documents of those at a stop: of all that refer to them, or of the one they refer to."""
    from pyspark.sql import functions as f

    assert stop.link is not None
    key = stop.link.key
    own, target = loaded.own_names(key), loaded.target_names(key)
    here, there = (target, own) if stop.link.down else (own, target)
    at = [f"a{number}" for number in range(len(there))]
    found = _nested(loaded, stop.labels).where(filled(there))
    found = found.select(*(f.col(a).alias(b) for a, b in zip(there, at, strict=True)), f.col("document").alias(name))
    if stop.link.down:
        found = found.groupBy(*at).agg(f.sort_array(f.collect_list(name)).alias(name))
    return _joined(frame, found, here)


def _joined(frame: DataFrame, found: DataFrame, here: Sequence[str]) -> DataFrame:
    """The rows of a frame with what was found for their columns `here`, which are a0, … there."""
    at = [f"a{number}" for number in range(len(here))]
    return frame.join(found, equal(here, at), "left").drop(*at)


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

"""Publishes what is read from tables as tables again: refused before any work, or written, read again, and checked."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest import ReadReport
from treeanon.io.options import ReadOptions
from treeanon.io.relational.reading import resolved
from treeanon.io.relational.writing import check_target, plan_of
from treeanon.schema import Schema
from treeanon.spark.interface import Job, Told
from treeanon.spark.reading import Dataset
from treeanon.spark.relational_read.inputs import FolderTables
from treeanon.spark.relational_read.reading import lines_of_folder
from treeanon.spark.relational_write.parts import parts_for
from treeanon.spark.relational_write.release import spread_tables
from treeanon.spark.relational_write.target import TablesTarget
from treeanon.spark.solving import Solved, verified
from treeanon.verifier.verdict import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def tables_target(spark: SparkSession, job: Job) -> TablesTarget:
    """The folder that a job's tables go to; UsageError if tables of their keys cannot be written again."""
    if job.target.lower().endswith(".zip"):
        raise UsageError(f"{job.target}: the engine spark writes tables to a folder; name one")
    check_target("tables", job.target, None)
    with closing(FolderTables(job.source)) as source:
        schema = resolved(job.schema, source)
    plan_of(schema)
    return TablesTarget(spark, job.target, files_of(schema), force=job.force)


def files_of(schema: Schema) -> str:
    """The kind of files in which tables are written: that in which they were read."""
    return (schema.input.relations.files if schema.input.relations is not None else "") or "csv"


def write_tables(
    dataset: Dataset, solved: Solved, target: TablesTarget, schema: Schema, tables: Schema, seed: int | None, told: Told
) -> Verdict:
    """The verdict on the tables written to a target, by the schema of `tables` with its keys; `schema` is as given."""
    told("writing")
    spark, after = dataset.frame.sparkSession, solved.loss.after
    verdicts: list[Verdict] = []

    def check(place: str) -> None:
        told("checking what was written")
        with closing(lines_of_folder(spark, place.removeprefix("file:"), schema, ReadOptions())) as found:
            _refuse_more(target.name, found.report)
            verdicts.append(verified(replace(found, name=target.name), dataset.schema, dataset, solved))

    parts = parts_for(after.records, after.nodes)
    with spread_tables(dataset, solved.recipe, tables, seed, parts) as spread:
        target.write_tables(spread, check)
    return verdicts[-1]


def _refuse_more(name: str, report: ReadReport | None) -> None:
    """Refuses tables that say more than the trees."""
    if report is not None and (report.strays() or report.keys or report.dropped.paths()):
        raise GuaranteeError(f"{name}: not published, for its tables say more than the trees: please report it")

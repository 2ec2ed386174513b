"""The Spark engine: reads, finds a solution that is safe over all partitions, checks what was written, commits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from treeanon.engines.protocol import Job, Published, Told
from treeanon.engines.spark.failures import spark_failures
from treeanon.engines.spark.lines import lines_of_files
from treeanon.engines.spark.reading import Dataset, read_dataset
from treeanon.engines.spark.session import ARROW, session
from treeanon.engines.spark.solving import Solved, check_request, release_counts, solve, verified
from treeanon.engines.spark.writing import Target, lines_to_write, shuffled, texts
from treeanon.errors import UsageError
from treeanon.io.options import ReadOptions
from treeanon.io.reading import input_format
from treeanon.io.registry import document_format
from treeanon.privacy.verdict import Verdict
from treeanon.release.request import Request

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("ndjson", "trees")


def silent(_: str) -> None:
    """Says nothing."""


@dataclass(frozen=True)
class SparkEngine:
    """Publishes files that Spark can read."""

    def publish(self, job: Job, request: Request, told: Told | None = None) -> Published:
        """The release of a job's input that a request asks for, written as a dataset and checked."""
        told = told or silent
        check_request(request, job.schema)
        source_form = _form(input_format(job.source, job.schema, job.source_format).name)
        target_form = _form(job.target_format or source_form)
        schema = job.schema.for_format(source_form)
        with _prepared(session()) as spark:
            lines = lines_of_files(spark, job.source, source_form)
            target = Target(lines.frame, job.target, document_format(target_form).endings[0], force=job.force)
            told("reading")
            options = ReadOptions(job.on_error, job.strict)
            with kept(read_dataset(lines, schema, options, show_values=job.show_values)) as dataset:
                return self._publish(spark, dataset, target, target_form, job, request, told)

    def _publish(
        self, spark: SparkSession, dataset: Dataset, target: Target, form: str, job: Job, request: Request, told: Told
    ) -> Published:
        solved = solve(dataset, request, told, job.sample)
        told("writing")
        written = dataset.schema.for_format(form)
        frame = texts(dataset, solved.recipe, form, written, request.seed)
        lines = lines_to_write(shuffled(frame, dataset.records), form)
        verdicts: list[Verdict] = []

        def check(place: str) -> None:
            told("checking what was written")
            again = replace(lines_of_files(spark, place, form), name=job.target)
            verdicts.append(verified(again, written, dataset, solved))

        target.write(lines, check)
        return published(dataset, solved, verdicts[-1])


def published(dataset: Dataset, solved: Solved, verdict: Verdict) -> Published:
    """All that there is to tell of a release."""
    counts = release_counts(dataset, solved)
    there = {name for name, values in solved.loss.after.values.items() if values}
    as_they_are: dict[str, list[str]] = {}
    for spec in dataset.schema.classes:
        if spec.name in there and spec.role != "quasi":
            as_they_are.setdefault("pseudonym" if spec.pseudonym else spec.role, []).append(spec.name)
    return Published(solved.solution, solved.loss, verdict, counts, as_they_are, solved.report)


def _form(name: str) -> str:
    if name not in FORMATS:
        raise UsageError(f"the engine spark reads and writes {', '.join(FORMATS)}, not {name}")
    return name


@contextmanager
def _prepared(spark: SparkSession) -> Iterator[SparkSession]:
    """A session with what the work needs set, and put back afterwards."""
    before = {name: spark.conf.get(name, None) for name in ARROW}
    for name, value in ARROW.items():
        spark.conf.set(name, value)
    try:
        with spark_failures("the engine"):
            yield spark
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


@contextmanager
def kept(dataset: Dataset) -> Iterator[Dataset]:
    """The dataset, its rows kept on the disks of the workers; what a lost worker had is read again."""
    from pyspark import StorageLevel

    frame = dataset.frame.persist(StorageLevel.DISK_ONLY)
    try:
        yield replace(dataset, frame=frame)
    finally:
        frame.unpersist()


ENGINE = SparkEngine()

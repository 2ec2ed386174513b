"""The Spark engine: read, find a solution that is safe over all partitions, write, check what was written, commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from treeanon.errors import UsageError
from treeanon.formats import FORMATS, NESTED
from treeanon.io.interface import ReadOptions
from treeanon.release.parameters import is_of_rows
from treeanon.release.table_release import TableRelease
from treeanon.release.table_request import TableRequest, table_request_of
from treeanon.release.tree_request import Request, request_of
from treeanon.schema import Schema
from treeanon.schema.persons import as_lines, parts_of
from treeanon.spark.forms import TABLES, Form, InputForm, form_of, row_forms, source_form, target_form
from treeanon.spark.interface import DistributedRelease, Job, Notify
from treeanon.spark.lines import Lines, frame_of_lines, lines_of_frame
from treeanon.spark.persons import with_persons_together, written_schema
from treeanon.spark.reading import Dataset, are_rows, read_dataset
from treeanon.spark.records import persisted, unpersist
from treeanon.spark.relational_read.reading import lines_of_frames
from treeanon.spark.relational_write.publishing import TablesTarget, tables_target, write_tables
from treeanon.spark.session import ARROW, Notifier, interruptible, job_tag, refuse_connected, session, spark_failures
from treeanon.spark.solving import SolveResult, check_request, release_counts, solve, verify_written
from treeanon.spark.writing import FilesTarget, Target, published_texts, save_kinds, shuffled
from treeanon.verifier.verdict import Verdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Frames = DataFrame | Mapping[str, DataFrame]


def refuse_csv_safe(job: Job) -> None:
    """Refuse to write CSV for spreadsheets."""
    if job.schema.csv_safe:
        raise UsageError("--csv-safe ([output] csv_safe = true) is not supported on Spark; leave it out")


@dataclass(frozen=True)
class SparkEngine:
    """Publishes files that Spark can read, and Spark dataframes."""

    def publish(self, job: Job, request: Request, notify: Notify | None = None) -> DistributedRelease:
        """Anonymize a job's input as requested; return the release, written as a dataset and checked."""
        return interruptible(lambda notify: self._publish(job, request, notify), notify)

    def _publish(self, job: Job, request: Request, notify: Notifier) -> DistributedRelease:
        check_request(request, job.schema)
        request = request.weighted(job.schema)
        if job.schema.profile:
            raise UsageError(f"[output] profile = {job.schema.profile!r} is not supported on Spark; leave it out")
        refuse_csv_safe(job)
        job = replace(job, schema=request.fitting(job.schema))
        source: InputForm
        form: InputForm
        if job.schema.input.is_flat and job.schema.input.person is not None:
            source, form = row_forms(job)
            job = replace(job, schema=as_lines(job.schema))
        else:
            source = source_form(job)
            form = target_form(job, source)
        schema = job.schema if source is TABLES else job.schema.for_format(source.document)
        with prepared(session()) as spark:
            target = _target(spark, job, form)
            notify("reading")
            options = ReadOptions(job.on_error, job.strict)
            with (
                closing(
                    with_persons_together(source.read(spark, job.source, schema, options), schema, options)
                ) as lines,
                kept(read_dataset(lines, lines.schema or schema, options, show_values=job.show_values)) as dataset,
            ):
                solved = solve(dataset, request, notify, job.sample, notify.progress)
                if isinstance(target, TablesTarget):
                    tables = lines.tables or job.schema
                    verdict = write_tables(dataset, solved, target, job.schema, tables, request.seed, notify)
                else:
                    assert isinstance(form, Form)
                    verdict = _written(dataset, solved, target, form, request.seed, notify)
                return _published(dataset, solved, verdict)

    def publish_rows(self, job: Job, request: TableRequest, notify: Notify | None = None) -> TableRelease:
        """Anonymize a job's rows as requested; return the release, written as a dataset and checked."""
        from treeanon.spark.table.engine import publish_table

        refuse_csv_safe(job)
        return interruptible(lambda notify: publish_table(job, request, notify), notify)

    def publish_frame(self, frame: Frames, schema: Schema, arguments: Mapping[str, Any]) -> DataFrame:
        """Return the published rows of a dataframe, or of several tables; `arguments` are those of
        `treeanon.anonymize`.
        """
        for one in frame.values() if isinstance(frame, Mapping) else [frame]:
            refuse_connected(one)
        return interruptible(lambda notify: self._publish_frame(frame, schema, arguments, notify), None)

    def _publish_frame(
        self, frame: Frames, schema: Schema, arguments: Mapping[str, Any], notify: Notifier
    ) -> DataFrame:
        from treeanon.spark.table.engine import publish_table_frame

        given = dict(arguments)
        sample = given.pop("sample", None)
        if is_of_rows(given.get("algorithm"), given, lambda: schema.is_of_rows):
            seed = given.pop("seed", None)
            if isinstance(frame, Mapping):
                raise UsageError("several dataframes hold persons in tables tied by keys, not one row for each person")
            return publish_table_frame(frame, schema, table_request_of(**given), seed, notify, sample)[0]
        return anonymize_frame(frame, schema, request_of(**given), notify, sample)[0]


def anonymize_frame(
    frame: Frames, schema: Schema, request: Request, notify: Notifier | None = None, sample: int | None = None
) -> tuple[DataFrame, DistributedRelease]:
    """Return the published rows of a dataframe, in random order, and the facts of the release.

    Several dataframes, given by table name and tied by the keys of the schema, also become rows with nested columns.

    The workers keep the rows exactly as they were checked, even if the source of the dataframe changes afterwards.
    """
    notify = notify or Notifier(None, lambda done, total: None)
    check_request(request, schema)
    if schema.files:
        raise UsageError("[[file]]: engine spark reads several files of one person, not dataframes")
    request = request.weighted(schema)
    schema = as_lines(request.fitting(schema))
    form = form_of(NESTED)
    with (
        prepared(_session_of(frame)),
        closing(with_persons_together(_lines_of(frame, schema), schema, ReadOptions())) as lines,
        kept(read_dataset(lines, lines.schema or schema.for_format(NESTED), ReadOptions())) as dataset,
    ):
        solved = solve(dataset, request, notify, sample, notify.progress)
        notify("writing")
        found = shuffled(published_texts(dataset, solved.recipe, NESTED, dataset.schema, request.seed), dataset.records)
        rows = frame_of_lines(form.lines(found), written_schema(dataset.schema)).localCheckpoint()
        notify("verifying the output")
        verdict = verify_written(lines_of_frame(rows, "the release"), dataset.schema, dataset, solved)
        return rows, _published(dataset, solved, verdict)


def _session_of(frame: Frames) -> SparkSession:
    return next(iter(frame.values())).sparkSession if isinstance(frame, Mapping) else frame.sparkSession


def _lines_of(frame: Frames, schema: Schema) -> Lines:
    """Return the records of a dataframe, or of several."""
    if not isinstance(frame, Mapping):
        return lines_of_frame(frame)
    if not schema.input.is_relational:
        raise UsageError('several dataframes are tables tied by keys: the schema must say format = "tables"')
    return lines_of_frames(frame, schema, ReadOptions())


def _target(spark: SparkSession, job: Job, form: InputForm) -> Target:
    """Return the target of a job; raise an error for what cannot be written there."""
    if isinstance(form, Form) and job.schema.files and are_rows(job.schema, form.document):
        specs = [part.spec for part in parts_of(job.schema) if part.container >= 0]
        return FilesTarget(spark, job.target, specs, FORMATS[form.document], force=job.force)
    if isinstance(form, Form):
        return Target(spark, job.target, form.ending, force=job.force)
    return tables_target(spark, job)


def _written(
    dataset: Dataset, solved: SolveResult, target: Target, form: Form, seed: int | None, notify: Notifier
) -> Verdict:
    """Write the records to a target, which appears whole or not at all; return the verdict on what was written."""
    notify("writing")
    schema = dataset.schema.for_format(form.document)
    texts = published_texts(dataset, solved.recipe, form.document, schema, seed)
    verdicts: list[Verdict] = []

    def save(place: str) -> None:
        if isinstance(target, FilesTarget):
            with persisted(texts) as rows:
                save_kinds(rows, target.specs, target.form, place)
        else:
            form.save(form.lines(shuffled(texts, dataset.records)), written_schema(schema), place)

    def check(place: str) -> None:
        notify("verifying the output")
        again: Lines = replace(form.read(dataset.frame.sparkSession, place, schema, ReadOptions()), name=target.name)
        verdicts.append(verify_written(again, schema, dataset, solved))
        notify.refuse_abandoned()

    target.write(save, check)
    return verdicts[-1]


def _published(dataset: Dataset, solved: SolveResult, verdict: Verdict) -> DistributedRelease:
    """Return the release, with its verdict, losses and counts."""
    counts = release_counts(dataset, solved)
    there = {name for name, values in solved.loss.after.values.items() if values}
    as_they_are: dict[str, list[str]] = {}
    for spec in dataset.schema.classes:
        if spec.name in there and spec.role != "quasi":
            as_they_are.setdefault("pseudonym" if spec.pseudonym else spec.role, []).append(spec.name)
    return DistributedRelease(solved.solution, solved.loss, verdict, counts, as_they_are, solved.report)


@contextmanager
def prepared(spark: SparkSession) -> Iterator[SparkSession]:
    """Provide a session with the settings that the engine needs, which are restored afterwards."""
    before = {name: spark.conf.get(name, None) for name in ARROW}
    for name, value in ARROW.items():
        spark.conf.set(name, value)
    try:
        with spark_failures("the engine"), job_tag(spark):
            yield spark
    finally:
        # The Java process may be gone; that error has been raised already.
        with suppress(Exception):
            for name, old in before.items():
                if old is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, old)


@contextmanager
def kept(dataset: Dataset) -> Iterator[Dataset]:
    """Provide the dataset with its rows persisted on the workers' disks; rows of a lost worker are read again."""
    try:
        with persisted(dataset.frame) as frame:
            yield replace(dataset, frame=frame)
    finally:
        unpersist(dataset.kept)


ENGINE = SparkEngine()

"""Publishes relational input as relational tables: checked before any work, written, read again, and checked.

Each table is written to a folder of its own, as files of rows in the order of their numbers.

The folders and the datapackage.json that describes them appear together, or not at all.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest import ReadReport
from treeanon.formats import ROWS, TABLE_FILES
from treeanon.io.columns.write_table import write_lines
from treeanon.io.interface import ReadOptions
from treeanon.io.relational.arrow_tables import TableOut
from treeanon.io.relational.file_store import PACKAGE
from treeanon.io.relational.reading import resolved
from treeanon.io.relational.writing import FOLDER, file_names, is_package, package_of, plan_of
from treeanon.schema import Schema
from treeanon.spark.interface import Job
from treeanon.spark.reading import Dataset
from treeanon.spark.records import Batches, batch_of, map_batches
from treeanon.spark.relational_read.inputs import FolderTables
from treeanon.spark.relational_read.reading import lines_of_folder
from treeanon.spark.relational_write.parts import parts_for
from treeanon.spark.relational_write.tables import DistributedTables, distributed_tables
from treeanon.spark.session import Notifier, reading_again
from treeanon.spark.solving import SolveResult, verify_written
from treeanon.spark.writing import Target
from treeanon.verifier.verdict import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def folders_of(tables: list[TableOut]) -> list[str]:
    """Return the name of the folder of each table."""
    return file_names([table.name for table in tables], "")


def save_tables(spread: DistributedTables, files: str, place: str) -> None:
    """Write the tables to folders, as CSV, TSV or Parquet files."""
    for held, (table, folder) in enumerate(zip(spread.tables, folders_of(spread.tables), strict=True)):
        chunks = spread.frame.where(f"held = {held}").select("rows")
        if TABLE_FILES[files].by_column:
            map_batches(chunks, _rows, _type(table)).write.parquet(f"{place}/{folder}")
            continue
        work = partial(_lines, header=_written(table.data, files), files=files)
        lines = map_batches(chunks, work, "text string")
        lines.write.option("lineSep", "\n").text(f"{place}/{folder}")


def _type(table: TableOut) -> Any:
    """Return the type of a table's rows."""
    from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

    types = {"integer": LongType, "number": DoubleType, "text": StringType}
    return StructType([StructField(name, types[table.kinds[name]]()) for name in table.data.column_names])


def _rows(batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for packed in batch.column(0):
            yield from pa.ipc.open_stream(packed.as_buffer())


def _lines(batches: Batches, header: str, files: str) -> Iterator[pa.RecordBatch]:
    """Yield the text of a file: the names of the columns, and the rows."""
    from pyspark import TaskContext

    context = TaskContext.get()
    # Spark always writes a file for the first partition: it holds at least the header.
    is_first = context is None or context.partitionId() == 0
    if is_first:
        yield batch_of("text string", [header])
    for rows in _rows(batches):
        if not is_first:
            yield batch_of("text string", [header])
            is_first = True
        yield batch_of("text string", [_written(pa.Table.from_batches([rows]), files, header=False)])


def _written(rows: pa.Table, files: str, *, header: bool = True) -> str:
    """Return rows as the text of a file, without the final line break, which Spark adds."""
    written = io.BytesIO()
    write_lines(rows, TABLE_FILES[files].delimiter, written, header=header)
    return written.getvalue().decode().removesuffix("\n")


class TablesTarget(Target):
    """A folder that appears whole, and that replaces an existing folder only if that holds a release of tables."""

    def __init__(self, spark: SparkSession, name: str, files: str, *, force: bool) -> None:
        self.files = files
        self.tables: list[TableOut] = []
        super().__init__(spark, name, f".{files}", force=force)
        if self.place.toUri().getScheme() != "file":
            # The written files are read again by their path.
            raise UsageError(
                f"{name}: tables must go to a folder that driver and workers share by its path (file:///…)"
            )

    def is_ours(self, names: list[str]) -> bool:
        """Return whether the folder holds nothing but a release of tables."""
        if PACKAGE not in names:
            return False
        found: dict[bool, list[str]] = {True: [], False: []}
        self._list(self.place, "", found)
        return is_package(self._read(self.path(self.place, PACKAGE)), found[False], found[True])

    def write_tables(self, spread: DistributedTables, check: Callable[[str], None]) -> None:
        """Write tables to the hidden folder, check them there, and move them to the target."""
        self.tables = spread.tables
        self.write(lambda place: save_tables(spread, self.files, place), check)

    def arrange(self) -> None:
        """Give all files neutral names, and write datapackage.json."""
        paths = []
        for folder in folders_of(self.tables):
            names = self.rename_files(self.path(self.aside, folder))
            paths.append([f"{folder}/{name}" for name in names])
        stream = self.system.create(self.path(self.aside, PACKAGE))
        try:
            stream.write(bytearray(package_of(self.tables, paths, self.files)))
        finally:
            stream.close()

    def _list(self, folder: Any, above: str, names: dict[bool, list[str]]) -> None:
        """Add the names of the folders and files in a folder."""
        for status in self.system.listStatus(folder):
            name = above + status.getPath().getName()
            names[bool(status.isDirectory())].append(name)
            if status.isDirectory():
                self._list(status.getPath(), f"{name}/", names)

    def _read(self, file: Any) -> bytes:
        stream = self.system.open(file)
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()


def tables_target(spark: SparkSession, job: Job) -> TablesTarget:
    """Return the target of a job's tables; UsageError if tables with these keys cannot be written."""
    if job.target.lower().endswith(".zip"):
        raise UsageError(f"{job.target}: engine spark writes tables to a folder; name a folder")
    FOLDER.check(job.target, None)
    with closing(FolderTables(job.source)) as source:
        schema = resolved(job.schema, source)
    plan_of(schema)
    return TablesTarget(spark, job.target, files_of(schema), force=job.force)


def files_of(schema: Schema) -> str:
    """Return the format of the tables' files: that of the input."""
    return (schema.input.relations.files if schema.input.relations is not None else "") or ROWS


def write_tables(
    dataset: Dataset,
    solved: SolveResult,
    target: TablesTarget,
    schema: Schema,
    tables: Schema,
    seed: int | None,
    notify: Notifier,
) -> Verdict:
    """Write tables to a target; return the verdict on what was written. `tables` is the schema with all keys, `schema`
    the given one.
    """
    notify("writing")
    spark, after = dataset.frame.sparkSession, solved.loss.after
    verdicts: list[Verdict] = []

    def check(place: str) -> None:
        notify("verifying the output")
        with ExitStack() as stack:
            stack.enter_context(reading_again(target.name, "trees"))
            again = lines_of_folder(spark, place.removeprefix("file:"), schema, ReadOptions())
            found = stack.enter_context(closing(again))
            _refuse_more(target.name, found.report)
            verdicts.append(verify_written(replace(found, name=target.name), dataset.schema, dataset, solved))
        notify.refuse_abandoned()

    parts = parts_for(after.records, after.nodes)
    with distributed_tables(dataset, solved.recipe, tables, seed, parts) as spread:
        target.write_tables(spread, check)
    return verdicts[-1]


def _refuse_more(name: str, report: ReadReport | None) -> None:
    """Raise GuaranteeError for tables that say more than the trees."""
    if report is not None and (report.strays() or report.keys or report.dropped.paths()):
        raise GuaranteeError(f"{name}: not published, for its tables say more than the trees; please report this bug")

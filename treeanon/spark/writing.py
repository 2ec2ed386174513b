"""Writes published records in random order, as a dataset that appears whole or not at all."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from treeanon.errors import FileError, UsageError
from treeanon.formats import Format
from treeanon.io.files import is_written_name, written_names
from treeanon.io.interface import writer_of
from treeanon.io.output import is_part
from treeanon.randomness import secret_of, words_of
from treeanon.schema import Schema
from treeanon.schema.model import FileSpec
from treeanon.schema.persons import parts_of
from treeanon.spark.persons import FreshNumbers, numbers_of, with_published_labels
from treeanon.spark.reading import Dataset, Recipe, are_rows, broadcast_published
from treeanon.spark.records import Batches, batch_of, map_batches
from treeanon.spark.session import spark_failures, task_partition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TEXTS = "kind int, place long, text string"
"""Texts of records with their places; of several files of one person also the kind."""
_RECORDS_A_FILE = 250_000
_TASKS_END = 15.0


def published_texts(dataset: Dataset, recipe: Recipe, form: str, schema: Schema, seed: int | None) -> DataFrame:
    """Return the texts of the published records, each with a random place in the order.

    Places derive from a secret that is the same for every attempt at a task. A record whose task is repeated keeps its
    place, so that none is lost or written twice.
    """
    broadcast, shared = recipe.broadcast(dataset), broadcast_published(dataset, recipe, schema)
    secret, fresh = secret_of(seed), None
    if are_rows(schema, form):
        kinds = sum(part.container >= 0 for part in parts_of(schema)) if schema.files else 0
        published = broadcast.after if kinds or recipe.outliers is not None else broadcast.before
        begins, totals = numbers_of(dataset.frame, published, shared, kinds)
        fresh = dataset.frame.sparkSession.sparkContext.broadcast(FreshNumbers(begins, totals, secret))
    work = partial(_texts, broadcast=broadcast, form=form, shared=shared, secret=secret, fresh=fresh)
    return map_batches(dataset.frame, work, TEXTS)


def random_places(secret: bytes, number: int, count: int, kind: int = 0) -> npt.NDArray[np.uint64]:
    """Return a random place for each record of a block of this task's partition, or for each row of a kind."""
    name = b"%d %d" % (task_partition(), number)
    return words_of(secret, b"%s %d" % (name, kind) if kind else name, count)


def shuffled(frame: DataFrame, records: int) -> DataFrame:
    """Return the texts in the order of their places, one partition for each file to write."""
    files = max(-(-records // _RECORDS_A_FILE), 1)
    return frame.repartition(files, "place").sortWithinPartitions("place", "text")


def _texts(
    batches: Batches, broadcast: Any, form: str, shared: Any, secret: bytes, fresh: Any
) -> Iterator[pa.RecordBatch]:
    labeled = with_published_labels(shared)
    for number, after in enumerate(map(labeled, broadcast.after(batches))):
        for kind, rows in enumerate([after] if fresh is None else fresh.value.rows(after, number)):
            written = writer_of(form).texts(rows, rows.schema).records(rows)
            places = random_places(secret, number, len(rows), kind).view(np.int64)
            yield batch_of(TEXTS, np.full(len(rows), kind), places, written)


def save_kinds(texts: DataFrame, specs: Sequence[FileSpec], form: Format, place: str) -> None:
    """Write the rows of several files of one person, each kind to a folder of its own, by the number of the kind."""
    counts = {row["kind"]: row["count"] for row in texts.groupBy("kind").count().collect()}
    for kind, spec in enumerate(specs):
        # Some patterns of names find one file alone.
        rows = counts.get(kind, 0) if written_names(spec, form, 2) else 0
        lines = shuffled(texts.where(f"kind = {kind}"), rows).select("text")
        lines.write.option("lineSep", "\n").text(f"{place}/{kind}")


class Target:
    """The target of a dataset, and a hidden folder beside it where the dataset is first written and checked."""

    def __init__(self, spark: SparkSession, name: str, ending: str, *, force: bool) -> None:
        session: Any = spark
        self.name, self.ending, self.force, self.spark = name, ending, force, spark
        self.path = session._jvm.org.apache.hadoop.fs.Path
        with spark_failures(name):
            path = self.path(name)
            found = path.getFileSystem(session._jsc.hadoopConfiguration())
            # Spark's local file system would leave a checksum file beside each file of the release.
            self.system = found.getRawFileSystem() if _is_local(found) else found
            self.place = self.system.makeQualified(path)
            self.aside = self.path(self.place.getParent(), f".{self.place.getName()}.{secrets.token_hex(6)}.part")
            if not self.system.exists(self.place.getParent()):
                raise FileError(f"{name}: its folder does not exist")
            self.refuse_existing()

    def refuse_existing(self) -> None:
        """Raise FileError for a target that is not a folder, or that holds anything but an earlier release."""
        if not self.system.exists(self.place):
            return
        if not self.system.getFileStatus(self.place).isDirectory():
            raise FileError(f"{self.name}: is not a folder; engine spark writes folders")
        names = [status.getPath().getName() for status in self.system.listStatus(self.place)]
        if names and not self.force:
            raise FileError(f"{self.name}: exists already; --force replaces it")
        if names and not self.is_ours(names):
            raise FileError(f"{self.name}: holds files that are not from treeanon; empty it or name another folder")

    def is_ours(self, names: list[str]) -> bool:
        """Return whether a folder with files and folders of these names may be replaced."""
        return all(map(is_part, names))

    def write(self, save: Callable[[str], None], check: Callable[[str], None]) -> None:
        """Save a dataset in the hidden folder, check it there, and move it to its target."""
        with self._cleaning(), spark_failures(self.name):
            save(self.aside.toString())
            self.arrange()
            check(self.aside.toString())
            self._commit()

    def _cleaning(self) -> Any:
        return _Cleanup(self.spark, self.system, self.aside)

    def arrange(self) -> None:
        """Arrange the saved files as they are to be published."""
        self.rename_files(self.aside)

    def rename_files(self, folder: Any) -> list[str]:
        """Give the files of a folder neutral names, and remove what Spark has written beside them."""
        files = sorted(status.getPath().getName() for status in self.system.listStatus(folder))
        named: list[str] = []
        for name in files:
            if name.startswith("part-"):
                named.append(f"part-{len(named) + 1:05}{self.ending}")
                self.system.rename(self.path(folder, name), self.path(folder, named[-1]))
            else:
                self.system.delete(self.path(folder, name), True)
        return named

    def _commit(self) -> None:
        """Move the dataset to its target; an existing one is moved aside first, and back if that fails."""
        self.refuse_existing()
        old = None
        if self.system.exists(self.place):
            old = self.path(self.place.getParent(), f".{self.place.getName()}.{secrets.token_hex(6)}.old")
            if not self.system.rename(self.place, old):
                raise FileError(f"{self.name}: the existing folder cannot be replaced")
        if not self.system.rename(self.aside, self.place):
            if old is not None:
                self.system.rename(old, self.place)
            raise FileError(f"{self.name}: cannot be written")
        if old is not None:
            self.system.delete(old, True)


class _Cleanup:
    """Removes the hidden folder, whatever happens."""

    def __init__(self, spark: SparkSession, system: Any, aside: Any) -> None:
        self.spark, self.system, self.aside = spark, system, aside
        # Asked now, while Java is running.
        self.local = unquote(aside.toUri().getRawPath()) if _is_local(system) else None

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, *_: object) -> None:
        with suppress(Exception):
            if kind is not None:
                _wait_for_tasks(self.spark)
            self.system.delete(self.aside, True)
        if self.local is not None:
            shutil.rmtree(self.local, ignore_errors=True)


def _wait_for_tasks(spark: SparkSession) -> None:
    """Wait until the tasks of a failed job have ended, as they would continue to write; not forever, as others may run
    tasks.
    """
    context: Any = spark.sparkContext._jsc.sc()
    until = time.monotonic() + _TASKS_END
    while time.monotonic() < until:
        if not sum(one.numRunningTasks() for one in context.statusTracker().getExecutorInfos()):
            return
        time.sleep(0.1)


class FilesTarget(Target):
    """A folder of several files of one person, named so that the schema finds each kind again."""

    def __init__(self, spark: SparkSession, name: str, specs: Sequence[FileSpec], form: Format, *, force: bool) -> None:
        self.specs, self.form = specs, form
        if name.lower().endswith(".zip"):
            raise UsageError(f"{name}: engine spark writes several files to a folder; name a folder")
        super().__init__(spark, name, form.endings[0], force=force)

    def is_ours(self, names: list[str]) -> bool:
        """Return whether the folder holds nothing but files of these kinds, as treeanon names them."""
        return all(any(is_written_name(name, spec, self.form) for spec in self.specs) for name in names)

    def arrange(self) -> None:
        """Give the files of each kind the names by which the schema finds them, and have no folders."""
        for kind, spec in enumerate(self.specs):
            folder = self.path(self.aside, str(kind))
            names = self.rename_files(folder)
            for old, new in zip(names, written_names(spec, self.form, len(names)) or [], strict=True):
                self.system.rename(self.path(folder, old), self.path(self.aside, new))
            self.system.delete(folder, True)


def _is_local(system: Any) -> bool:
    return bool(system.getUri().getScheme() == "file")

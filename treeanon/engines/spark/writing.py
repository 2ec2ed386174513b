"""Writes published records as a dataset that appears whole or not at all, in an order that says nothing."""

from __future__ import annotations

import hashlib
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from treeanon.engines.spark.failures import spark_failures
from treeanon.engines.spark.reading import Dataset, classes_of, shared_with
from treeanon.engines.spark.recipe import Recipe
from treeanon.engines.spark.records import Batches, map_batches, rows_of
from treeanon.errors import FileError
from treeanon.io.output import is_part
from treeanon.io.registry import document_format
from treeanon.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TEXTS = "place long, text string"
_RECORDS_A_FILE = 250_000
_TASKS_END = 15.0


def texts(dataset: Dataset, recipe: Recipe, form: str, schema: Schema, seed: int | None) -> DataFrame:
    """The texts of the published records, each with a random place in the order.

    Places come from a secret that is the same for every attempt at a task, so that a record whose task is repeated goes
    to the same place: none is lost, and none is written twice.
    """
    secret = secrets.token_bytes(32) if seed is None else str(seed).encode()
    work = partial(_texts, sent=recipe.sent(dataset), form=form, shared=shared_with(dataset, schema), secret=secret)
    return map_batches(dataset.frame, work, TEXTS)


def shuffled(frame: DataFrame, records: int) -> DataFrame:
    """The texts in the order of their places, in so many partitions as there are to be files."""
    return frame.repartition(-(-records // _RECORDS_A_FILE), "place").sortWithinPartitions("place", "text")


def _texts(batches: Batches, sent: Any, form: str, shared: Any, secret: bytes) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    part = context.partitionId() if context else 0
    schema = shared.value
    classes = classes_of(schema)
    for number, found in enumerate(sent.after(batches)):
        after = replace(found, schema=schema, classes=classes)
        stream = hashlib.shake_256(b"%s %d %d" % (secret, part, number)).digest(8 * len(after))
        written = document_format(form).texts(after, schema).records(after)
        yield rows_of(TEXTS, np.frombuffer(stream, np.int64), written)


class Target:
    """The place of a dataset, and the hidden one beside it where it is written and checked first."""

    def __init__(self, spark: SparkSession, name: str, ending: str, *, force: bool) -> None:
        session: Any = spark
        self.name, self.ending, self.force, self.spark = name, ending, force, spark
        self._path = session._jvm.org.apache.hadoop.fs.Path
        with spark_failures(name):
            path = self._path(name)
            found = path.getFileSystem(session._jsc.hadoopConfiguration())
            # A local file system that keeps a checksum beside each file would leave these in the release.
            self.system = found.getRawFileSystem() if _is_local(found) else found
            self.place = self.system.makeQualified(path)
            self.aside = self._path(self.place.getParent(), f".{self.place.getName()}.{secrets.token_hex(6)}.part")
            if not self.system.exists(self.place.getParent()):
                raise FileError(f"{name}: its folder does not exist")
            self._refuse_existing()

    def _refuse_existing(self) -> None:
        """FileError for a target that is no folder, or that has something in it which is not ours to replace."""
        if not self.system.exists(self.place):
            return
        if not self.system.getFileStatus(self.place).isDirectory():
            raise FileError(f"{self.name}: is no folder, which is what the engine spark writes")
        names = [status.getPath().getName() for status in self.system.listStatus(self.place)]
        if names and not self.force:
            raise FileError(f"{self.name}: exists already; --force replaces it")
        if not all(map(is_part, names)):
            raise FileError(f"{self.name}: holds files that are not from treeanon; empty it or name another folder")

    def write(self, save: Callable[[str], None], check: Callable[[str], None]) -> None:
        """Has a dataset saved at a hidden place; it appears once `check` has passed what is there."""
        with self._cleaning(), spark_failures(self.name):
            save(self.aside.toString())
            self._rename_files()
            check(self.aside.toString())
            self._commit()

    def _cleaning(self) -> Any:
        return _Cleaning(self.spark, self.system, self.aside)

    def _rename_files(self) -> None:
        """Gives the files neutral names, and removes all that Spark has put beside them."""
        files = sorted(status.getPath().getName() for status in self.system.listStatus(self.aside))
        number = 0
        for name in files:
            if name.startswith("part-"):
                number += 1
                new = self._path(self.aside, f"part-{number:05}{self.ending}")
                self.system.rename(self._path(self.aside, name), new)
            else:
                self.system.delete(self._path(self.aside, name), True)

    def _commit(self) -> None:
        """Lets the dataset appear; an old one goes out of the way first, and back if that fails."""
        self._refuse_existing()
        old = None
        if self.system.exists(self.place):
            old = self._path(self.place.getParent(), f".{self.place.getName()}.{secrets.token_hex(6)}.old")
            if not self.system.rename(self.place, old):
                raise FileError(f"{self.name}: what is there cannot be replaced")
        if not self.system.rename(self.aside, self.place):
            if old is not None:
                self.system.rename(old, self.place)
            raise FileError(f"{self.name}: cannot be written")
        if old is not None:
            self.system.delete(old, True)


class _Cleaning:
    """Removes the hidden place, whatever happens."""

    def __init__(self, spark: SparkSession, system: Any, aside: Any) -> None:
        self.spark, self.system, self.aside = spark, system, aside
        # Said while Java is there to ask.
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
    """Waits for the end of tasks whose job has failed: they would write on. Others may have tasks of their own."""
    context: Any = spark.sparkContext._jsc.sc()
    until = time.monotonic() + _TASKS_END
    while time.monotonic() < until:
        if not sum(one.numRunningTasks() for one in context.statusTracker().getExecutorInfos()):
            return
        time.sleep(0.1)


def _is_local(system: Any) -> bool:
    return bool(system.getUri().getScheme() == "file")

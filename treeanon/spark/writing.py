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
import numpy.typing as npt
import pyarrow as pa

from treeanon.errors import FileError
from treeanon.io.output import is_part
from treeanon.io.registry import document_format
from treeanon.schema import Schema
from treeanon.spark.reading import Dataset, broadcast_schema, classes_of
from treeanon.spark.recipe import Recipe
from treeanon.spark.records import Batches, batch_of, map_batches
from treeanon.spark.session import spark_failures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TEXTS = "place long, text string"
_RECORDS_A_FILE = 250_000
_TASKS_END = 15.0


def published_texts(dataset: Dataset, recipe: Recipe, form: str, schema: Schema, seed: int | None) -> DataFrame:
    """The texts of the published records, each with a random place in the order.

    Places come from a secret that is the same for every attempt at a task, so that a record whose task is repeated goes
    to the same place: none is lost, and none is written twice.
    """
    broadcast, shared = recipe.broadcast(dataset), broadcast_schema(dataset, schema)
    work = partial(_texts, broadcast=broadcast, form=form, shared=shared, secret=secret_of(seed))
    return map_batches(dataset.frame, work, TEXTS)


def secret_of(seed: int | None) -> bytes:
    """What an order is made of that is the same for every attempt at a task; without a seed nobody can guess it."""
    return secrets.token_bytes(32) if seed is None else str(seed).encode()


def random_places(secret: bytes, number: int, count: int) -> npt.NDArray[np.uint64]:
    """A random place for each record of a block of the partition that this task works on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    part = context.partitionId() if context else 0
    return np.frombuffer(hashlib.shake_256(b"%s %d %d" % (secret, part, number)).digest(8 * count), np.uint64)


def shuffled(frame: DataFrame, records: int) -> DataFrame:
    """The texts in the order of their places, in so many partitions as there are to be files."""
    return frame.repartition(-(-records // _RECORDS_A_FILE), "place").sortWithinPartitions("place", "text")


def _texts(batches: Batches, broadcast: Any, form: str, shared: Any, secret: bytes) -> Iterator[pa.RecordBatch]:
    schema = shared.value
    classes = classes_of(schema)
    for number, found in enumerate(broadcast.after(batches)):
        after = replace(found, schema=schema, classes=classes)
        written = document_format(form).texts(after, schema).records(after)
        yield batch_of(TEXTS, random_places(secret, number, len(after)).view(np.int64), written)


class Target:
    """The place of a dataset, and the hidden one beside it where it is written and checked first."""

    def __init__(self, spark: SparkSession, name: str, ending: str, *, force: bool) -> None:
        session: Any = spark
        self.name, self.ending, self.force, self.spark = name, ending, force, spark
        self.path = session._jvm.org.apache.hadoop.fs.Path
        with spark_failures(name):
            path = self.path(name)
            found = path.getFileSystem(session._jsc.hadoopConfiguration())
            # A local file system that keeps a checksum beside each file would leave these in the release.
            self.system = found.getRawFileSystem() if _is_local(found) else found
            self.place = self.system.makeQualified(path)
            self.aside = self.path(self.place.getParent(), f".{self.place.getName()}.{secrets.token_hex(6)}.part")
            if not self.system.exists(self.place.getParent()):
                raise FileError(f"{name}: its folder does not exist")
            self.refuse_existing()

    def refuse_existing(self) -> None:
        """FileError for a target that is no folder, or that has something in it which is not ours to replace."""
        if not self.system.exists(self.place):
            return
        if not self.system.getFileStatus(self.place).isDirectory():
            raise FileError(f"{self.name}: is no folder, which is what the engine spark writes")
        names = [status.getPath().getName() for status in self.system.listStatus(self.place)]
        if names and not self.force:
            raise FileError(f"{self.name}: exists already; --force replaces it")
        if names and not self.is_ours(names):
            raise FileError(f"{self.name}: holds files that are not from treeanon; empty it or name another folder")

    def is_ours(self, names: list[str]) -> bool:
        """Whether a folder that holds files and folders of these names may be replaced."""
        return all(map(is_part, names))

    def write(self, save: Callable[[str], None], check: Callable[[str], None]) -> None:
        """Has a dataset saved at a hidden place; it appears once `check` has passed what is there."""
        with self._cleaning(), spark_failures(self.name):
            save(self.aside.toString())
            self.arrange()
            check(self.aside.toString())
            self._commit()

    def _cleaning(self) -> Any:
        return _Cleanup(self.spark, self.system, self.aside)

    def arrange(self) -> None:
        """Makes of what was saved what is to appear."""
        self.rename_files(self.aside)

    def rename_files(self, folder: Any) -> list[str]:
        """Gives the files of a folder neutral names, and removes all that Spark has put beside them."""
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
        """Lets the dataset appear; an old one goes out of the way first, and back if that fails."""
        self.refuse_existing()
        old = None
        if self.system.exists(self.place):
            old = self.path(self.place.getParent(), f".{self.place.getName()}.{secrets.token_hex(6)}.old")
            if not self.system.rename(self.place, old):
                raise FileError(f"{self.name}: what is there cannot be replaced")
        if not self.system.rename(self.aside, self.place):
            if old is not None:
                self.system.rename(old, self.place)
            raise FileError(f"{self.name}: cannot be written")
        if old is not None:
            self.system.delete(old, True)


class _Cleanup:
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

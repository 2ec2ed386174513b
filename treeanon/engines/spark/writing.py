"""Writes published records as a dataset that appears whole or not at all, in an order that says nothing."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from treeanon.engines.spark.failures import spark_failures
from treeanon.engines.spark.reading import Dataset, classes_of, shared_with
from treeanon.engines.spark.recipe import Recipe
from treeanon.engines.spark.records import Batches, map_batches, rows_of
from treeanon.errors import FileError
from treeanon.io.registry import document_format
from treeanon.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TEXTS = "place long, text string"
_RECORDS_A_FILE = 250_000


def texts(dataset: Dataset, recipe: Recipe, form: str, schema: Schema, seed: int | None) -> DataFrame:
    """The texts of the published records, each with a random place in the order.

    Places come from a secret that is the same for every attempt at a task, so that a record whose task is repeated goes
    to the same place: none is lost, and none is written twice.
    """
    sent, shared = recipe.sent(dataset), shared_with(dataset, schema)
    work = partial(_texts, sent=sent, form=form, shared=shared, secret=secret_of(seed))
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


def _texts(batches: Batches, sent: Any, form: str, shared: Any, secret: bytes) -> Iterator[pa.RecordBatch]:
    schema = shared.value
    classes = classes_of(schema)
    for number, found in enumerate(sent.after(batches)):
        after = replace(found, schema=schema, classes=classes)
        written = document_format(form).texts(after, schema).records(after)
        yield rows_of(TEXTS, random_places(secret, number, len(after)).view(np.int64), written)


class Target:
    """The place of a dataset, and the hidden one beside it where it is written and checked first."""

    def __init__(self, spark: SparkSession, name: str, ending: str, *, force: bool) -> None:
        session: Any = spark
        self.name, self.ending, self.force = name, ending, force
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
        """Refuses a place that is not to be replaced."""
        if not self.force and self.system.exists(self.place):
            raise FileError(f"{self.name}: exists already; --force replaces it")

    def write(self, save: Callable[[str], None], check: Callable[[str], None]) -> None:
        """Has a dataset saved at a hidden place; it appears once `check` has passed what is there."""
        with self._cleaning(), spark_failures(self.name):
            save(self.aside.toString())
            self.tidy()
            check(self.aside.toString())
            self._commit()

    def _cleaning(self) -> Any:
        return _Cleaning(self.system, self.aside)

    def tidy(self) -> None:
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


class _Cleaning:
    """Removes the hidden place, whatever happens."""

    def __init__(self, system: Any, aside: Any) -> None:
        self.system, self.aside = system, aside

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):
            self.system.delete(self.aside, True)


def _is_local(system: Any) -> bool:
    return bool(system.getScheme() == "file")

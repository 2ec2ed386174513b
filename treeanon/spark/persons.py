"""Rows of persons on Spark: all rows of a person are brought to one partition, and published persons are rows again.

Keys and rows are read as on one machine; of a key only a keyed hash moves between workers. Rows that lie together are
put together by the builder of one machine.
"""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from treeanon.arrays import Longs
from treeanon.errors import DataError, UsageError
from treeanon.forest import Batch, Forest, ForestBuilder, ReadReport
from treeanon.forest.persons import PersonBuilder, digests_of
from treeanon.formats import FORMATS
from treeanon.io.interface import ReadOptions
from treeanon.io.persons import as_rows
from treeanon.randomness import secret_of, words_of
from treeanon.schema import Schema
from treeanon.schema.persons import KEY_CLASS, by_row
from treeanon.spark.lines import Lines, Rows
from treeanon.spark.reading import LINE_NUMBER, PartitionReport, are_rows, blocks_of_batch, read_texts, refuse_broken
from treeanon.spark.records import Batches, batch_of, forests_of, map_batches, unpersist
from treeanon.spark.session import spark_failures, task_partition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEYED = "file long, start long, line binary, person long, report string"
_DIGEST = 16


def with_persons_together(lines: Lines, schema: Schema, options: ReadOptions, seed: int | None = None) -> Lines:
    """Return the lines with all rows of a person in one partition; as they are where each is a person.

    DataError names the first row that is invalid, or that is nobody's.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as f

    if not are_rows(schema, lines.form):
        return lines
    if FORMATS[lines.form].spark == "ranges":
        raise UsageError("person: engine spark reads rows of persons line by line")
    secret = secret_of(seed)[:_DIGEST]
    work = partial(_keyed, form=lines.form, schema=schema, options=options, secret=secret, of_tables=lines.rows)
    parts = max(lines.frame.rdd.getNumPartitions(), 1)
    keyed = map_batches(lines.frame, work, _KEYED).repartition(parts, "person").persist(StorageLevel.DISK_ONLY)
    try:
        with spark_failures(lines.name):
            told = keyed.where(f.col("line").isNull()).select("report").toArrow()
        refuse_broken([pickle.loads(b64decode(text)) for text in told.column("report").to_pylist()], lines)
    except BaseException:
        unpersist([keyed])
        raise
    rows = keyed.where(f.col("line").isNotNull()).select("file", "start", "line")
    return replace(lines, frame=rows, kept=(*lines.kept, keyed), rows=None)


def _keyed(
    batches: Batches, form: str, schema: Schema, options: ReadOptions, secret: bytes, of_tables: Rows | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition with a hash of whose they are, and the first error."""
    part = PartitionReport(ReadReport())
    rows = by_row(schema)
    only = replace(rows, classes=tuple(one for one in rows.classes if one.name == KEY_CLASS))
    for file, start, before, texts in _blocks(batches) if of_tables is None else of_tables.blocks(batches):
        try:
            if isinstance(texts, DataError):
                raise texts
            read_texts(PersonBuilder(schema, skip=options.on_error == "skip"), texts, form, options)
        except DataError as problem:
            found = LINE_NUMBER.search(problem.place)
            line = before + (int(found.group()) if found else 1)
            part.wrong = (file, start, line, problem.message, problem.path, problem.place)
            yield batch_of(_KEYED, [file], [start], [None], [0], [b64encode(pickle.dumps(part)).decode()])
            return
        many = len(texts)
        persons = _keys_of(texts, form, (only, rows), replace(options, on_error="skip"), secret)
        yield batch_of(_KEYED, [file] * many, [start] * many, texts, persons, [None] * many)


def _blocks(batches: Batches) -> Iterator[tuple[int, int, int, list[bytes]]]:
    """Yield the texts of a partition by file and block, with the lines before them."""
    before: Counter[tuple[int, int]] = Counter()
    for batch in batches:
        for file, start, texts in blocks_of_batch(batch):
            yield file, start, before[file, start], texts
            before[file, start] += len(texts)


def _keys_of(texts: list[bytes], form: str, schemas: Sequence[Schema], options: ReadOptions, secret: bytes) -> Longs:
    """Return a hash of whose each row is; of a row of nobody one of its own.

    Rows that the first schema, of the key alone, cannot read may be read by the second, which knows all classes.
    """
    builder = _Keys(schemas[0], secret)
    read_texts(builder, texts, form, options)
    if len(builder.found) == len(texts):
        found = builder.found
        alone = np.flatnonzero(found[:, 0] == 0)
        if len(alone):
            found[alone] = digests_of([texts[at].decode("utf-8", "replace") for at in alone.tolist()], secret)
        return found[:, 0].view(np.int64)
    if len(texts) == 1:
        if len(schemas) > 1:
            return _keys_of(texts, form, schemas[1:], options, secret)
        # What is no row (an empty line, one that is skipped) is nobody's.
        return np.zeros(1, np.int64)
    half = len(texts) // 2
    return np.concatenate([_keys_of(part, form, schemas, options, secret) for part in (texts[:half], texts[half:])])


class _Keys(ForestBuilder):
    """Takes the keys of rows out of batches, as hashes in the order of the rows."""

    def __init__(self, schema: Schema, secret: bytes) -> None:
        super().__init__(schema)
        self.secret, self.at = secret, self.layout.class_index(KEY_CLASS)
        self.found: npt.NDArray[np.uint64] = np.empty((0, 2), np.uint64)

    def add(self, batch: Batch) -> None:
        """Take the keys out of a batch; 0 where there is none."""
        digests = self._digests(batch)
        if batch.apart is not None:
            digests = np.append(digests, self._digests(batch.apart), axis=0)[batch.order]
        self.found = np.append(self.found, digests, axis=0)

    def _digests(self, batch: Batch) -> npt.NDArray[np.uint64]:
        texts = list(batch.texts[self.at])
        digests = np.append(digests_of(texts, self.secret), np.zeros((1, 2), np.uint64), axis=0)
        digests[[at for at, text in enumerate(texts) if not text or text.isspace()]] = 0
        return digests[batch.tables[0].codes[self.at]]


def written_schema(schema: Schema) -> Schema:
    """Return the schema by which records are written: that of rows, where these are of persons."""
    return schema if schema.input.person is None else by_row(schema, "integer")


def numbers_of(frame: DataFrame, shapes: Any) -> dict[tuple[int, int], int]:
    """Return where the numbers of the persons of each block begin, by partition and block."""
    found = map_batches(frame, partial(_sizes, shapes=shapes), "part long, block long, persons long").toArrow()
    part, block, persons = (column.to_numpy() for column in found.columns)
    order = np.lexsort((block, part))
    begins = np.cumsum(persons[order]) - persons[order]
    return {
        (int(part[at]), int(block[at])): int(begin) for at, begin in zip(order.tolist(), begins.tolist(), strict=True)
    }


def _sizes(batches: Batches, shapes: Any) -> Iterator[pa.RecordBatch]:
    part = task_partition()
    for number, forest in enumerate(forests_of(batches, *shapes.value)):
        yield batch_of("part long, block long, persons long", [part], [number], [len(forest)])


def rows_of(forest: Forest, begin: int, persons: int, secret: bytes) -> Forest:
    """Return the rows of published persons, of `persons` in all, with fresh numbers that say nothing of their order."""
    return as_rows(forest, shuffled_numbers(begin + np.arange(len(forest)), persons, secret))


def shuffled_numbers(numbers: Longs, count: int, secret: bytes) -> Longs:
    """Return the numbers below `count` that these become: each another one, in an order that the secret decides.

    >>> sorted(shuffled_numbers(np.arange(5), 5, b"x").tolist())
    [0, 1, 2, 3, 4]
    """
    half = max((max(count - 1, 1).bit_length() + 1) // 2, 1)
    size = 1 << half
    rounds = [words_of(secret, b"person %d" % i, size) & np.uint64(size - 1) for i in range(4)]

    def mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        left, right = values >> np.uint64(half), values & np.uint64(size - 1)
        for table in rounds:
            left, right = right, left ^ table[right]
        return left << np.uint64(half) | right

    found = mixed(numbers.astype(np.uint64))
    while (beyond := found >= count).any():
        found[beyond] = mixed(found[beyond])
    return found.astype(np.int64)

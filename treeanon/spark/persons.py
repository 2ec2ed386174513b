"""Rows of persons on Spark: all rows of a person are brought to one partition, and published persons are rows again.

Keys and rows are read as on one machine; of a key only a keyed hash moves between workers. Rows that lie together are
put together by the builder of one machine, also those of several files: what refers to what is known of each person.
"""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from treeanon.arrays import Longs
from treeanon.errors import DataError, UsageError
from treeanon.forest import Batch, Forest, ForestBuilder, ReadReport
from treeanon.forest.persons import RowBatches, Same, digests_of
from treeanon.forest.references import identity
from treeanon.formats import FORMATS
from treeanon.io.interface import ReadOptions
from treeanon.io.persons import as_files, as_rows
from treeanon.randomness import secret_of, words_of
from treeanon.schema import Schema
from treeanon.schema.persons import KEY_CLASS, by_row, parts_of
from treeanon.spark.lines import Lines, Rows
from treeanon.spark.reading import (
    LINE_NUMBER,
    PartitionReport,
    are_rows,
    blocks_of_batch,
    classes_of,
    read_texts,
    refuse_broken,
)
from treeanon.spark.records import Batches, batch_of, map_batches, unpersist
from treeanon.spark.session import spark_failures, task_partition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from treeanon.spark.counting import Forests

_KEYED = "file long, start long, line binary, at long, person long, report string"
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
    ordered, numbers = _by_kind(lines) if lines.kinds else (lines, {})
    ties = _ties_of(schema, lines)
    work = partial(
        _keyed, form=lines.form, ties=ties, numbers=numbers, options=options, secret=secret, of_tables=lines.rows
    )
    parts = max(lines.frame.rdd.getNumPartitions(), 1)
    keyed = map_batches(lines.frame, work, _KEYED).repartition(parts, "person").persist(StorageLevel.DISK_ONLY)
    try:
        with spark_failures(lines.name):
            told = keyed.where(f.col("line").isNull()).select("report").toArrow()
        refuse_broken([pickle.loads(b64decode(text)) for text in told.column("report").to_pylist()], lines)
    except BaseException:
        unpersist([keyed])
        raise
    rows = keyed.where(f.col("line").isNotNull()).select("file", "start", "line", "at")
    if lines.kinds:
        rows = rows.sortWithinPartitions("file", "start", "at")
    return replace(ordered, frame=rows, kept=(*lines.kept, keyed), rows=None)


def _by_kind(lines: Lines) -> tuple[Lines, dict[int, int]]:
    """Return the lines of several files in order, those of persons first, and the new number of each file."""
    names = sorted({(lines.kinds[file], name) for file, name in lines.files.items()})
    place = {name: at for at, (_, name) in enumerate(names)}
    files, kinds = dict(enumerate(name for _, name in names)), dict(enumerate(kind for kind, _ in names))
    return replace(lines, files=files, kinds=kinds), {file: place[name] for file, name in lines.files.items()}


@dataclass(frozen=True)
class _Ties:
    """How rows of one kind are read, and whose they are: `same` makes one text of all keys that name one person, and
    `path` is where the key is, for errors.
    """

    rows: Schema
    same: Same = str
    path: str = ""

    @property
    def key(self) -> Schema:
        """The schema of the key alone."""
        return replace(self.rows, classes=tuple(one for one in self.rows.classes if one.name == KEY_CLASS))


def _ties_of(schema: Schema, lines: Lines) -> Callable[[int], _Ties]:
    """Return how the rows of each file are tied to persons."""
    if not schema.files:
        spec = schema.input
        assert spec.person is not None
        return partial(_tie, {}, (_Ties(by_row(schema), str, spec.person.text(slashed=spec.slashed)),))
    parts = [part for part in parts_of(schema) if part.container >= 0]
    paths = [f"{part.spec.name}.{part.spec.person.text(slashed=False)}" for part in parts]
    ties = tuple(_Ties(part.schema, identity, path) for part, path in zip(parts, paths, strict=True))
    return partial(_tie, dict(lines.kinds), ties)


def _tie(kinds: Mapping[int, int], ties: Sequence[_Ties], file: int) -> _Ties:
    return ties[kinds.get(file, 0)]


class _Rows(ForestBuilder):
    """Reads rows, and refuses those of nobody."""

    def __init__(self, ties: _Ties, *, skip: bool) -> None:
        super().__init__(ties.rows)
        self.rows = RowBatches(self.layout, ties.rows.input, skip=skip, same=ties.same, path=ties.path)

    def add(self, batch: Batch) -> None:
        """Take in a batch of rows."""
        self.rows.add(batch)


def _keyed(
    batches: Batches,
    form: str,
    ties: Callable[[int], _Ties],
    numbers: Mapping[int, int],
    options: ReadOptions,
    secret: bytes,
    of_tables: Rows | None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition with a hash of whose they are, and the first error.

    The files of rows have other `numbers`.
    """
    part = PartitionReport(ReadReport())
    for file, start, before, texts in _blocks(batches) if of_tables is None else of_tables.blocks(batches):
        try:
            if isinstance(texts, DataError):
                raise texts
            read_texts(_Rows(ties(file), skip=options.on_error == "skip"), texts, form, options)
        except DataError as problem:
            found = LINE_NUMBER.search(problem.place)
            line = before + (int(found.group()) if found else 1)
            part.wrong = (file, start, line, problem.message, problem.path, problem.place)
            yield batch_of(_KEYED, [file], [start], [None], [line], [0], [b64encode(pickle.dumps(part)).decode()])
            return
        many, own = len(texts), ties(file)
        persons = _keys_of(texts, form, (own.key, own.rows), own.same, replace(options, on_error="skip"), secret)
        at = before + 1 + np.arange(many)
        place = [numbers.get(file, file)] * many, [start] * many
        yield batch_of(_KEYED, *place, texts, at, persons, [None] * many)


def _blocks(batches: Batches) -> Iterator[tuple[int, int, int, list[bytes]]]:
    """Yield the texts of a partition by file and block, with the lines before them."""
    before: Counter[tuple[int, int]] = Counter()
    for batch in batches:
        for file, start, texts in blocks_of_batch(batch):
            yield file, start, before[file, start], texts
            before[file, start] += len(texts)


def _keys_of(
    texts: list[bytes], form: str, schemas: Sequence[Schema], same: Same, options: ReadOptions, secret: bytes
) -> Longs:
    """Return a hash of whose each row is; of a row of nobody one of its own.

    Rows that the first schema, of the key alone, cannot read may be read by the second, which knows all classes.
    """
    builder = _Keys(schemas[0], secret, same)
    read_texts(builder, texts, form, options)
    if len(builder.found) == len(texts):
        found = builder.found
        alone = np.flatnonzero(found[:, 0] == 0)
        if len(alone):
            found[alone] = digests_of([texts[at].decode("utf-8", "replace") for at in alone.tolist()], secret)
        return found[:, 0].view(np.int64)
    if len(texts) == 1:
        if len(schemas) > 1:
            return _keys_of(texts, form, schemas[1:], same, options, secret)
        # What is no row (an empty line, one that is skipped) is nobody's.
        return np.zeros(1, np.int64)
    half = len(texts) // 2
    halves = texts[:half], texts[half:]
    return np.concatenate([_keys_of(part, form, schemas, same, options, secret) for part in halves])


class _Keys(ForestBuilder):
    """Takes the keys of rows out of batches, as hashes in the order of the rows."""

    def __init__(self, schema: Schema, secret: bytes, same: Same) -> None:
        super().__init__(schema)
        self.secret, self.same, self.at = secret, same, self.layout.class_index(KEY_CLASS)
        self.found: npt.NDArray[np.uint64] = np.empty((0, 2), np.uint64)

    def add(self, batch: Batch) -> None:
        """Take the keys out of a batch; 0 where there is none."""
        digests = self._digests(batch)
        if batch.apart is not None:
            digests = np.append(digests, self._digests(batch.apart), axis=0)[batch.order]
        self.found = np.append(self.found, digests, axis=0)

    def _digests(self, batch: Batch) -> npt.NDArray[np.uint64]:
        texts = list(batch.texts[self.at])
        digests = np.append(digests_of(texts, self.secret, self.same), np.zeros((1, 2), np.uint64), axis=0)
        digests[[at for at, text in enumerate(texts) if not text or text.isspace()]] = 0
        return digests[batch.tables[0].codes[self.at]]


def written_schema(schema: Schema) -> Schema:
    """Return the schema by which records are written: that of rows, where these are of persons."""
    return schema if schema.input.person is None else by_row(schema, "integer")


_SIZES = "part long, block long, kind long, rows long"
Begins = dict[tuple[int, int, int], int]
"""Where the numbers of each block begin, by kind, partition and block."""


def numbers_of(frame: DataFrame, published: Forests, shared: Any, kinds: int) -> tuple[Begins, list[int]]:
    """Return where the numbers of the published persons of each block begin, and those of the rows of each of several
    files (kinds from 1); and how many there are in all. `shared` is the broadcast schema, with its labels.
    """
    table = map_batches(frame, partial(_sizes, published=published, shared=shared, kinds=kinds), _SIZES).toArrow()
    part, block, kind, rows = (column.to_numpy() for column in table.columns)
    begins: Begins = {}
    totals = [0] * (1 + kinds)
    for at in np.lexsort((block, part, kind)).tolist():
        begins[int(kind[at]), int(part[at]), int(block[at])] = totals[kind[at]]
        totals[kind[at]] += int(rows[at])
    return begins, totals


def _sizes(batches: Batches, published: Forests, shared: Any, kinds: int) -> Iterator[pa.RecordBatch]:
    part, labeled = task_partition(), with_published_labels(shared)
    for number, forest in enumerate(published(batches)):
        sizes = [len(forest)]
        if kinds:
            whole = labeled(forest)
            sizes += [len(rows) for _, rows in as_files(whole, np.arange, whole.schema)]
        yield batch_of(_SIZES, [part] * len(sizes), [number] * len(sizes), np.arange(len(sizes)), sizes)


def with_published_labels(shared: Any) -> Callable[[Forest], Forest]:
    """Return what gives published records the broadcast schema of what is published alone."""
    schema, labels = shared.value
    classes = classes_of(schema)
    return lambda found: replace(
        found, schema=schema, classes=classes, label=np.searchsorted(labels, found.label).astype(np.int32)
    )


@dataclass(frozen=True)
class FreshNumbers:
    """Fresh numbers, which say nothing of their order, of persons (kind 0) and of the rows of several files."""

    begins: Begins
    totals: Sequence[int]
    secret: bytes

    def of(self, kind: int, block: int, count: int) -> Longs:
        """Return the numbers of what a block of this task's partition has of a kind."""
        begin = self.begins[kind, task_partition(), block]
        secret = self.secret if not kind else b"%s %d" % (self.secret, kind)
        return shuffled_numbers(begin + np.arange(count), self.totals[kind], secret)

    def rows(self, forest: Forest, block: int) -> list[Forest]:
        """Return the rows of the published persons of a block, by the kinds of files that they are in."""
        if not forest.schema.files:
            return [as_rows(forest, self.of(0, block, len(forest)))]
        # Persons are numbered first, and then the rows of each kind.
        kinds = count()
        made = as_files(forest, lambda size: self.of(next(kinds), block, size), forest.schema)
        return [rows for _, rows in made]


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

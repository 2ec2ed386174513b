"""Records as rows of a Spark dataset: many in a row, as the columns of a forest, or one in a row.

Rows of many records are cheap to keep and to send to the workers; Spark can sort, group and sample rows of one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treeanon.arrays import Ints, Longs, narrowed, unique_values
from treeanon.forest import Classes, Forest
from treeanon.hierarchy import Hierarchy
from treeanon.hierarchy.model import Codes, frozen
from treeanon.kernels.tree.forest import hash_records
from treeanon.metrics.values import label_parents
from treeanon.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BLOCKS = "offsets binary, parent binary, label binary"
"""The type of a row of many records: the columns of their forest."""

ROWS = "hash long, parent array<int>, label array<int>"
"""The type of a record's row. Equal trees have equal fingerprints, whatever the partitions."""

FINGERPRINT, SECOND = 1, 2
"""Seeds of two independent fingerprints."""

_TOGETHER = 50_000
"""Records that are worked on together at least, if a partition has as many."""

Batches = Iterable[pa.RecordBatch]
T = TypeVar("T")


class BareHierarchy(Hierarchy):
    """A hierarchy without its texts, which take most of its memory and which counting does not need.

    >>> shape = BareHierarchy(Hierarchy.flat(["a", "b"]).parent)
    >>> len(shape), shape.leaf_count.tolist(), shape.texts
    (3, [2, 1, 1], ())
    """

    def __init__(self, parent: Codes, depth: NDArray[Any] | None = None) -> None:
        object.__setattr__(self, "texts", ())
        object.__setattr__(self, "_index", {})
        object.__setattr__(self, "parent", parent)
        if depth is not None:
            object.__setattr__(self, "depth", depth)

    def __getattr__(self, name: str) -> Any:
        # Most work on very many nodes needs what lies above each and nothing else.
        if name not in ("end", "depth", "leaf_start", "leaf_count"):
            raise AttributeError(name)
        self._measure(self.parent)
        return vars(self)[name]

    def __reduce__(self) -> Any:
        return BareHierarchy, (self.parent, vars(self).get("depth"))


class SampledHierarchy(Hierarchy):
    """A hierarchy of the values of a sample and what lies above them, which counts all leaves as under its nodes.

    >>> whole = Hierarchy.from_parents({"flu": "lung", "asthma": "lung", "lung": "any", "acne": "any"})
    >>> few = SampledHierarchy.of(whole, np.array([0, 1, 2]))
    >>> few.texts, few.leaf_count.tolist(), few.parent.tolist()
    (('any', 'lung', 'flu'), [3, 2, 1], [-1, 0, 1])
    """

    @classmethod
    def of(cls, whole: Hierarchy, nodes: Longs) -> SampledHierarchy:
        """Return the hierarchy of these nodes, ascending, among which is whatever lies above one of them."""
        texts, up = whole.texts, whole.parent[nodes]
        parent = np.where(up < 0, -1, np.searchsorted(nodes, up)).astype(np.int32)
        found = cls(tuple(texts[node] for node in nodes.tolist()), parent)
        object.__setattr__(found, "leaf_count", frozen(whole.leaf_count[nodes]))
        return found


def with_those_above(labels: Ints, above: Ints) -> Longs:
    """Return the different labels among some, and those above them, ascending.

    >>> with_those_above(np.array([3, 3]), np.array([-1, 0, 1, 1])).tolist()
    [0, 1, 3]
    """
    held = np.zeros(len(above), bool)
    while len(labels):
        held[labels] = True
        labels = unique_values(above[labels])
        labels = labels[(labels >= 0) & ~held[labels]]
    return np.flatnonzero(held)


def of_few_values(schema: Schema, classes: Classes, labels: Ints) -> tuple[Schema, Classes, Longs]:
    """Return schema and classes with hierarchies of some labels alone and what lies above them, and all these labels.

    A place among them is the label that one of the classes has here.
    """
    held = np.zeros(len(classes), bool)
    held[with_those_above(labels, label_parents(classes))] = True
    held[[0, *classes.first[:-1].tolist()]] = True
    made = []
    for first, whole in zip(classes.first.tolist(), classes.hierarchies, strict=False):
        own = held[first : first + len(whole)]
        # A hierarchy of nearly all would take more memory than that of all.
        own[:] |= 2 * int(np.count_nonzero(own)) > len(whole)
        made.append(whole if own.all() else SampledHierarchy.of(whole, np.flatnonzero(own)))
    few = Classes(classes.names, classes.parents, tuple(made), classes.types)
    specs = (replace(one, hierarchy=made[classes.names.index(one.name)]) if one.name in classes.names else one
             for one in schema.classes)  # fmt: skip
    return replace(schema, classes=tuple(specs)), few, np.flatnonzero(held)


def of_own_values(forest: Forest) -> Forest:
    """Return a sample with hierarchies of its own values alone: a search has tables of all labels.

    How general a label is still follows from all leaves.
    """
    schema, few, labels = of_few_values(forest.schema, forest.classes, forest.label)
    return Forest(schema, few, forest.offsets, forest.parent, np.searchsorted(labels, forest.label).astype(np.int32))


def bare_classes(classes: Classes) -> Classes:
    """Return the classes, with hierarchies that have no texts."""
    bare = (BareHierarchy(one.parent, narrowed(one.depth)) for one in classes.hierarchies)
    return Classes(classes.names, classes.parents, tuple(bare), classes.types)


def to_block(forest: Forest, label: Ints | None = None) -> pa.RecordBatch:
    """Return the records of a forest as one row, with other labels of its nodes if they are given."""
    label = forest.label if label is None else label
    arrays = [_one_value(column) for column in (forest.offsets, forest.parent, label)]
    return pa.RecordBatch.from_arrays(arrays, names=["offsets", "parent", "label"])


def _one_value(column: np.ndarray) -> pa.Array:
    """Return the bytes of a column as one value, without a copy."""
    places = pa.py_buffer(np.array([0, column.nbytes], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, places, pa.py_buffer(np.ascontiguousarray(column))])


def forests_of(batches: Batches, schema: Schema, classes: Classes) -> Iterator[Forest]:
    """Yield the forests of rows of many records, those of some rows together: work on each may look at all labels."""
    waiting: list[Forest] = []
    for batch in batches:
        for row in range(batch.num_rows):
            waiting.append(block_forest(batch, row, schema, classes))
            if sum(map(len, waiting)) >= _TOGETHER:
                yield joined(waiting)
                waiting = []
    if waiting:
        yield joined(waiting)


def joined(forests: Sequence[Forest]) -> Forest:
    """Return the records of forests of the same classes one after another."""
    if len(forests) == 1:
        return forests[0]
    starts = np.cumsum([0, *(forest.nodes for forest in forests)])
    offsets = [forest.offsets[1:] + start for forest, start in zip(forests, starts, strict=False)]
    return Forest(
        forests[0].schema,
        forests[0].classes,
        np.concatenate([[0], *offsets]),
        np.concatenate([forest.parent for forest in forests]),
        np.concatenate([forest.label for forest in forests]),
    )


def block_forest(batch: pa.RecordBatch, row: int, schema: Schema, classes: Classes) -> Forest:
    """Return the forest of one row of many records."""
    offsets, parent, label = (
        np.require(np.frombuffer(batch.column(place)[row].as_buffer(), kind), requirements="A")
        for place, kind in enumerate((np.int64, np.int32, np.int32))
    )
    return Forest(schema, classes, offsets, parent, label)


def fingerprints(forest: Forest) -> Longs:
    """Return the fingerprint of every record."""
    return hash_records(forest.offsets, forest.parent, forest.label, FINGERPRINT)


KINDS = "hashes binary, times binary"
"""The type of a row of many fingerprints, ascending, and how many records have each."""
_BUCKETS = f"bucket int, {KINDS}"


def kinds_of(frame: DataFrame, forests: Callable[[Batches], Iterator[Forest]]) -> DataFrame:
    """Return rows of the different fingerprints of the records of all partitions; each is in one row.

    A row has many: Spark would take most of the time to move each by itself.
    """
    parts = map_batches(frame, partial(_in_buckets, forests=forests), _BUCKETS)
    return map_batches(parts.repartition("bucket"), _from_buckets, KINDS)


def _in_buckets(batches: Batches, forests: Callable[[Batches], Iterator[Forest]]) -> Iterator[pa.RecordBatch]:
    """Yield the fingerprints of a partition, by their first byte."""
    hashes, times = _added_up([np.unique(fingerprints(forest), return_counts=True) for forest in forests(batches)])
    bounds = np.searchsorted(hashes >> 56, np.arange(-128, 129)).tolist()
    parts = [[column[a:b].tobytes() for a, b in pairwise(bounds)] for column in (hashes, times)]
    yield batch_of(_BUCKETS, np.arange(256), *parts)


def _from_buckets(batches: Batches) -> Iterator[pa.RecordBatch]:
    rows = [row for batch in batches for row in zip(batch.column(1), batch.column(2), strict=True)]
    found = _added_up([tuple(np.frombuffer(cell.as_buffer(), np.int64) for cell in row) for row in rows])
    yield batch_of(KINDS, *([column.tobytes()] for column in found))


def _added_up(found: Sequence[tuple[Longs, ...]]) -> tuple[Longs, Longs]:
    """Return different fingerprints, ascending, and how often all lists together have each."""
    nothing = np.zeros(0, np.int64)
    hashes, times = (np.concatenate([nothing, *(one[place] for one in found)]) for place in (0, 1))
    order = np.argsort(hashes)
    hashes, times = hashes[order], times[order]
    begins = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
    return hashes[begins], np.add.reduceat(times, begins) if len(begins) else nothing


def to_batch(forest: Forest) -> pa.RecordBatch:
    """Return the records of a forest as a batch of rows."""
    offsets = pa.array(forest.offsets.astype(np.int32))
    columns = [
        pa.array(fingerprints(forest)),
        pa.ListArray.from_arrays(offsets, pa.array(forest.parent)),
        pa.ListArray.from_arrays(offsets, pa.array(forest.label)),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["hash", "parent", "label"])


def to_forest(batch: pa.RecordBatch | pa.Table, schema: Schema, classes: Classes) -> Forest:
    """Return the forest of rows, record by record in their order."""
    parents, labels = (_lists(batch.column(batch.schema.get_field_index(name))) for name in ("parent", "label"))
    sizes = labels.value_lengths().to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    return Forest(schema, classes, offsets, parents.flatten().to_numpy(), labels.flatten().to_numpy())


def _lists(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def map_batches(frame: DataFrame, work: Callable[[Batches], Iterator[pa.RecordBatch]], schema: Any) -> DataFrame:
    """Apply `work` to the batches of every partition, on the workers."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return frame.mapInArrow(work, schema)


@contextmanager
def persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """Provide the rows persisted on the workers' disks; rows of a lost worker are computed again."""
    from pyspark import StorageLevel

    kept = frame.persist(StorageLevel.DISK_ONLY)
    try:
        yield kept
    finally:
        unpersist([kept])


def unpersist(kept: Iterable[DataFrame]) -> None:
    """Unpersist rows; errors are ignored."""
    # The Java process may be gone; that error has been raised already.
    with suppress(Exception):
        for frame in kept:
            frame.unpersist()


def batch_of(schema: str, *columns: Any) -> pa.RecordBatch:
    """Return a batch with the columns of a Spark type, given in its order."""
    names = [part.split()[0] for part in schema.split(", ")]
    kinds = {
        "long": pa.int64(),
        "int": pa.int32(),
        "string": pa.string(),
        "binary": pa.binary(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
    }
    types = [kinds[part.split()[1]] for part in schema.split(", ")]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=names)

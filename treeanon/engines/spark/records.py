"""Records as rows of a Spark dataset: the columns of a forest, cut into records, beside a fingerprint of each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from treeanon.forest import Classes, Forest
from treeanon.kernels.trees import hash_records
from treeanon.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = "hash long, parent array<int>, label array<int>"
"""The type of a record's row. Equal trees have equal fingerprints, whatever the partitions."""

FINGERPRINT, SECOND = 1, 2
"""Seeds of two fingerprints that have nothing to do with each other."""

Batches = Iterable[pa.RecordBatch]
T = TypeVar("T")


def to_batch(forest: Forest) -> pa.RecordBatch:
    """The records of a forest as a batch of rows."""
    offsets = pa.array(forest.offsets.astype(np.int32))
    columns = [
        pa.array(hash_records(forest.offsets, forest.parent, forest.label, FINGERPRINT)),
        pa.ListArray.from_arrays(offsets, pa.array(forest.parent)),
        pa.ListArray.from_arrays(offsets, pa.array(forest.label)),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["hash", "parent", "label"])


def to_forest(batch: pa.RecordBatch | pa.Table, schema: Schema, classes: Classes) -> Forest:
    """The forest of rows, record by record in their order."""
    parents, labels = (_lists(batch.column(batch.schema.get_field_index(name))) for name in ("parent", "label"))
    sizes = labels.value_lengths().to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    return Forest(schema, classes, offsets, parents.flatten().to_numpy(), labels.flatten().to_numpy())


def _lists(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def map_batches(frame: DataFrame, work: Callable[[Batches], Iterator[pa.RecordBatch]], schema: str) -> DataFrame:
    """What the work makes of the batches of every partition, on the workers."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return frame.mapInArrow(work, schema)


def rows_of(schema: str, *columns: Any) -> pa.RecordBatch:
    """A batch of a Spark type's columns, given in its order."""
    names = [part.split()[0] for part in schema.split(", ")]
    kinds = {
        "long": pa.int64(),
        "int": pa.int32(),
        "string": pa.string(),
        "binary": pa.binary(),
        "double": pa.float64(),
    }
    types = [kinds[part.split()[1]] for part in schema.split(", ")]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=names)

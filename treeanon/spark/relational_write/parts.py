"""Published records in random parts of a collection, each of which one worker lays out in the rows of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from treeanon.forest import Classes, Forest
from treeanon.kernels.tree.forest import hash_records
from treeanon.schema import Schema
from treeanon.spark.reading import Dataset
from treeanon.spark.recipe import Recipe
from treeanon.spark.records import BLOCKS, FINGERPRINT, Batches, batch_of, block_forest, map_batches
from treeanon.spark.writing import random_places

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PARTS = f"{BLOCKS}, part int, place binary"
"""The type of a row of some records of a part, each with its place there."""

_RECORDS = 250_000
_NODES = 8_000_000


def parts_for(records: int, nodes: int) -> int:
    """How many parts there are to be of so many records: what a worker can lay out at once.

    >>> parts_for(10, 50), parts_for(1_000_000, 5_000_000), parts_for(10, 80_000_000)
    (1, 4, 10)
    """
    return max(-(-records // _RECORDS), -(-nodes // _NODES), 1)


def parted(dataset: Dataset, recipe: Recipe, parts: int, secret: bytes) -> DataFrame:
    """The published records in so many parts, by random places that are the same for every attempt at a task."""
    work = partial(_split, broadcast=recipe.broadcast(dataset), parts=parts, secret=secret)
    return map_batches(dataset.frame, work, PARTS).repartition(parts, "part")


def _split(batches: Batches, broadcast: Any, parts: int, secret: bytes) -> Iterator[pa.RecordBatch]:
    for number, after in enumerate(broadcast.after(batches)):
        places = random_places(secret, number, len(after))
        part = (places % np.uint64(parts)).astype(np.int32)
        order = np.argsort(part, kind="stable")
        ends = np.flatnonzero(np.diff(part[order], append=parts)) + 1
        blocks = [order[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        forests = [after.take(block) for block in blocks]
        yield batch_of(
            PARTS,
            [forest.offsets.tobytes() for forest in forests],
            [forest.parent.tobytes() for forest in forests],
            [forest.label.tobytes() for forest in forests],
            [part[block[0]] for block in blocks],
            [places[block].tobytes() for block in blocks],
        )


def part_forest(table: pa.Table, schema: Schema, classes: Classes) -> Forest:
    """The records of a part, in the order of their places, however its rows have come together."""
    batches = [(batch, row) for batch in table.to_batches() for row in range(batch.num_rows)]
    forests = [block_forest(batch, row, schema, classes) for batch, row in batches]
    places = np.concatenate([np.frombuffer(batch.column(4)[row].as_buffer(), np.uint64) for batch, row in batches])
    starts = np.cumsum([0, *(forest.nodes for forest in forests)])
    offsets = [forest.offsets[1:] + start for forest, start in zip(forests, starts, strict=False)]
    whole = Forest(
        schema,
        classes,
        np.concatenate([[0], *offsets]),
        np.concatenate([forest.parent for forest in forests]),
        np.concatenate([forest.label for forest in forests]),
    )
    prints = hash_records(whole.offsets, whole.parent, whole.label, FINGERPRINT)
    return whole.take(np.lexsort((prints, places)))

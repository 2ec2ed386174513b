"""A few records that stand for all: of every set of labels so many holders, or all where there are fewer.

A search in them, in labels no finer than those that were counted, meets the same rare sets as in all records: exactly
for two labels and one relation, which is what larger sets and relations that were ended are then counted for.

Where the sets are too many for the memory of a worker, there are no such records. What was published before without
them is as safe as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from treeanon.forest import Forest
from treeanon.spark.reading import Dataset
from treeanon.spark.recipe import Recipe
from treeanon.spark.records import ROWS, Batches, map_batches, to_batch, to_forest
from treeanon.verifier.distributed import Spread, SpreadCounter

_TOGETHER = 16
"""So many parts are thinned together again at a time."""

MOST_SETS = 1 << 23
"""A worker holds no more sets than this, in 600 MB. Whether all records have more does not depend on the partitions."""

_TOO_MANY = np.iinfo(np.int64).min
"""The fingerprint of a row without a tree that stands for sets too many."""


def with_witnesses(
    some: Forest, dataset: Dataset, recipe: Recipe, spread: Spread, least: int, most: int
) -> Forest | None:
    """Some of the records, and beside them those that are needed for `least` holders of every set, at most `most`.

    None where there are too many sets.
    """
    shared = dataset.frame.sparkSession.sparkContext.broadcast((spread, least, most))
    work = partial(_thin, sent=recipe.sent(dataset), shared=shared)
    frame = dataset.rows()
    parts = frame.rdd.getNumPartitions()
    frame = _thinned(frame, work)
    while parts > 1:
        parts = -(-parts // _TOGETHER)
        frame = _thinned(frame.repartition(parts, "hash"), work)
    found = frame.toArrow()
    if found.column("parent").null_count:
        return None
    ours = pa.Table.from_batches([to_batch(some)])
    return dataset.forest(_united(ours, found.cast(ours.schema)))


def _united(ours: pa.Table, found: pa.Table) -> pa.Table:
    """Both together; of equal records as many as the table has that has more of them."""
    kinds, times = np.unique(ours.column("hash").to_numpy(), return_counts=True)
    found = found.sort_by("hash")
    hashes = found.column("hash").to_numpy()
    rank = np.arange(len(hashes)) - np.searchsorted(hashes, hashes)
    place = np.minimum(np.searchsorted(kinds, hashes), len(kinds) - 1)
    had = np.where(kinds[place] == hashes, times[place], 0) if len(kinds) else np.zeros(len(hashes), np.int64)
    return pa.concat_tables([ours, found.filter(pa.array(rank >= had))])


def _thinned(frame: Any, work: Any) -> Any:
    """What is needed of every partition, in the order of the fingerprints, which is the same everywhere."""
    return map_batches(frame.sortWithinPartitions("hash"), work, ROWS)


def _thin(batches: Batches, sent: Any, shared: Any) -> Iterator[pa.RecordBatch]:
    spread, least, most = shared.value
    recipe, (schema, classes) = sent.recipe.value, sent.shapes.value
    counter, left = SpreadCounter(spread), most
    for batch in batches:
        if not left:
            break
        if batch.column(1).null_count or counter.used > MOST_SETS:
            yield _given_up(batch.schema)
            return
        seen = to_forest(batch, schema, classes).without(recipe.withheld).relabel(recipe.mapping)
        chosen = np.flatnonzero(counter.needed(seen, least))[:left]
        left -= len(chosen)
        yield batch.take(pa.array(chosen))


def _given_up(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"hash": _TOO_MANY, "parent": None, "label": None}], schema)

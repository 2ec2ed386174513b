"""A few records that stand for all: of every set of labels so many holders, or all where there are fewer.

A search in them, in labels no finer than those that were counted, meets the same rare sets as in all records: exactly
for two labels and one relation, which is what larger sets and relations that were ended are then counted for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from treeanon.engines.spark.reading import Dataset
from treeanon.engines.spark.recipe import Recipe
from treeanon.engines.spark.records import ROWS, Batches, map_batches, to_batch, to_forest
from treeanon.forest import Forest
from treeanon.privacy.spread import Spread, SpreadCounter

_TOGETHER = 16
"""So many parts are thinned together again at a time."""


def with_witnesses(some: Forest, dataset: Dataset, recipe: Recipe, spread: Spread, least: int, most: int) -> Forest:
    """Some of the records, and beside them those that are needed for `least` holders of every set, at most `most`."""
    shared = dataset.frame.sparkSession.sparkContext.broadcast((recipe, spread, least, most))
    frame = dataset.frame.select("hash", "parent", "label")
    parts = frame.rdd.getNumPartitions()
    frame = _thinned(frame, shared)
    while parts > 1:
        parts = -(-parts // _TOGETHER)
        frame = _thinned(frame.repartition(parts, "hash"), shared)
    found = frame.toArrow()
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


def _thinned(frame: Any, shared: Any) -> Any:
    """What is needed of every partition, in the order of the fingerprints, which is the same everywhere."""
    return map_batches(frame.sortWithinPartitions("hash"), partial(_thin, shared=shared), ROWS)


def _thin(batches: Batches, shared: Any) -> Iterator[pa.RecordBatch]:
    recipe, spread, least, most = shared.value
    counter, left = SpreadCounter(spread), most
    for batch in batches:
        if not left:
            break
        seen = to_forest(batch, recipe.schema, recipe.classes).without(recipe.withheld).relabel(recipe.mapping)
        chosen = np.flatnonzero(counter.needed(seen, least))[:left]
        left -= len(chosen)
        yield batch.take(pa.array(chosen))

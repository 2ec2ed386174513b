"""A fingerprint of a whole collection, the order of its records and their partitions aside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from treeanon.forest import Forest
from treeanon.kernels.tree.forest import Longs, hash_records
from treeanon.spark.reading import Dataset
from treeanon.spark.recipe import Recipe
from treeanon.spark.records import FINGERPRINT, SECOND, Batches, map_batches, rows_of

_HASHES = "after boolean, hash long"
_HALF = 1 << 32


@dataclass(frozen=True)
class Fingerprints:
    """How many records there are, and the sums of two fingerprints of each."""

    records: int
    one: int
    other: int

    @classmethod
    def of_sums(cls, sums: Longs) -> Fingerprints:
        """The fingerprints that sums of parts add up to."""
        records, low, high, other_low, other_high = map(int, sums)
        return cls(records, low + high * _HALF, other_low + other_high * _HALF)


SUMS = 5


def sums_of(forest: Forest) -> Longs:
    """What the fingerprints of some records add to those of a collection: numbers that do not overflow in sums.

    They are the records, and the lower and the upper halves of both fingerprints.
    """
    found = [len(forest)]
    for seed in (FINGERPRINT, SECOND):
        prints = hash_records(forest.offsets, forest.parent, forest.label, seed).view(np.uint64)
        found += [int((prints % _HALF).sum()), int((prints // _HALF).sum())]
    return np.array(found, np.int64)


def different(dataset: Dataset, recipe: Recipe) -> tuple[int, int]:
    """How many different records there are, before and after."""
    from pyspark.sql import functions as f

    found = map_batches(dataset.frame, partial(_hashes, sent=recipe.sent(dataset)), _HASHES)
    kinds = found.distinct().groupBy("after").agg(f.count("*").alias("kinds")).collect()
    counts = {bool(row["after"]): int(row["kinds"]) for row in kinds}
    return counts.get(False, 0), counts.get(True, 0)


def _hashes(batches: Batches, sent: Any) -> Iterator[pa.RecordBatch]:
    for pair in sent.both(batches):
        for after, forest in enumerate(pair):
            # Of a batch's equal records one is enough.
            found = np.unique(hash_records(forest.offsets, forest.parent, forest.label, FINGERPRINT))
            yield rows_of(_HASHES, np.full(len(found), bool(after)), found)

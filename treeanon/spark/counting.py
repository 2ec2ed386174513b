"""Supports over all partitions: each counts, Spark sums, and only what is rare comes to the driver.

A fingerprint of a whole collection, the order of its records and their partitions aside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from treeanon.arrays import Longs
from treeanon.forest import Forest
from treeanon.kernels.tree.forest import hash_records
from treeanon.kernels.verify.distributed import Table
from treeanon.spark.reading import Dataset
from treeanon.spark.recipe import Recipe
from treeanon.spark.records import FINGERPRINT, SECOND, Batches, batch_of, map_batches
from treeanon.verifier.distributed import Spread, SpreadCounter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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


def count_distinct(dataset: Dataset, recipe: Recipe) -> tuple[int, int]:
    """How many different records there are, before and after."""
    from pyspark.sql import functions as f

    found = map_batches(dataset.frame, partial(_hashes, broadcast=recipe.broadcast(dataset)), _HASHES)
    kinds = found.distinct().groupBy("after").agg(f.count("*").alias("kinds")).collect()
    counts = {bool(row["after"]): int(row["kinds"]) for row in kinds}
    return counts.get(False, 0), counts.get(True, 0)


def _hashes(batches: Batches, broadcast: Any) -> Iterator[pa.RecordBatch]:
    for pair in broadcast.both(batches):
        for after, forest in enumerate(pair):
            # Of a batch's equal records one is enough.
            found = np.unique(hash_records(forest.offsets, forest.parent, forest.label, FINGERPRINT))
            yield batch_of(_HASHES, np.full(len(found), bool(after)), found)


_SETS = "first long, second long, persons long"
MAX_RARE = 200_000
"""So many rare sets come to the driver at once; more are met in the next round."""

LEAST, SETS, RARE, PRINTS = -1, -2, -3, -4
"""First words of rows that are no sets: a partition's least support, its number of sets and of rare ones; and, from
here on downwards, the sums that fingerprints are made of."""

Label = int
Pair = tuple[int, int]


@dataclass(frozen=True)
class RareSet:
    """A set of labels and relations that somebody holds, and fewer than k persons."""

    labels: tuple[Label, ...]
    relations: tuple[Pair, ...]
    persons: int


@dataclass(frozen=True)
class Supports:
    """The least support of any set, how many sets there are, which are rare, and the support of single labels.

    `rare_sets` counts all that are rare, of which `rare` has the first by the order of their words; `prints` says which
    records were counted.
    """

    least: int | None
    sets: int
    rare_sets: int
    rare: tuple[RareSet, ...]
    held: dict[Label, int]
    prints: Fingerprints


Forests = Callable[[Batches], Iterator[Forest]]
"""Makes the trees to be counted of a partition's rows."""


def count_supports(frame: DataFrame, forests: Forests, spread: Spread, k: int) -> Supports:
    """The supports of all sets over all partitions."""
    from pyspark.sql import functions as f

    shared = frame.sparkSession.sparkContext.broadcast(spread)
    counted = map_batches(frame, partial(_count, forests=forests, spread=shared), _SETS)
    summed = counted.groupBy("first", "second").agg(f.sum("persons").alias("persons"))
    found = map_batches(summed, partial(_sieve, k=k, bits=spread.bits), _SETS).toArrow()
    first, second, persons = (found.column(name).to_numpy() for name in ("first", "second", "persons"))
    least, sets, rare_sets = (persons[first == one] for one in (LEAST, SETS, RARE))
    sums = np.array([persons[first == PRINTS - i].sum() for i in range(SUMS)])
    rare = (first > 0) & (persons < k)
    order = np.flatnonzero(rare)[np.lexsort((second[rare], first[rare]))][:MAX_RARE]
    single = (first > 0) & (second == 0) & (first < 1 << spread.bits)
    return Supports(
        int(least.min()) if len(least) else None,
        int(sets.sum()),
        int(rare_sets.sum()),
        tuple(_decoded(spread, zip(first[order], second[order], persons[order], strict=True))),
        {int(spread.labels[int(a) - 1]): int(p) for a, p in zip(first[single], persons[single], strict=True)},
        Fingerprints.of_sums(sums),
    )


def _decoded(spread: Spread, rows: Iterable[tuple[Any, Any, Any]]) -> Iterator[RareSet]:
    for first, second, persons in rows:
        yield RareSet(*spread.decode(int(first), int(second)), int(persons))


def _count(batches: Batches, forests: Forests, spread: Any) -> Iterator[pa.RecordBatch]:
    """The sets that a partition's records hold, and how many of them hold each; and the sums of their fingerprints."""
    counter, sums = SpreadCounter(spread.value), np.zeros(SUMS, np.int64)
    for forest in forests(batches):
        sums += sums_of(forest)
        for table in counter.add_all(forest):
            yield from _handed(table)
    yield from _handed(counter.taken())
    yield batch_of(_SETS, PRINTS - np.arange(SUMS), np.zeros(SUMS, np.int64), sums)


def _handed(table: Table) -> Iterator[pa.RecordBatch]:
    for i in range(0, len(table), 1 << 16):
        yield batch_of(_SETS, *table[i : i + (1 << 16)].T.copy())


def _sieve(batches: Batches, k: int, bits: int) -> Iterator[pa.RecordBatch]:
    """Of summed sets the rare ones and the single labels, and what is to be known of all of them."""
    least, sets, rare_sets = np.iinfo(np.int64).max, 0, 0
    kept = np.empty((3, 0), np.int64)
    for batch in batches:
        columns = np.stack([column.to_numpy() for column in batch.columns])
        prints = columns[0] <= PRINTS
        yield batch_of(_SETS, *columns[:, prints])
        first, second, persons = columns[:, ~prints]
        if not len(first):
            continue
        least, sets = min(least, int(persons.min())), sets + len(first)
        rare = persons < k
        rare_sets += int(rare.sum())
        single = ~rare & (second == 0) & (first < 1 << bits)
        yield batch_of(_SETS, first[single], second[single], persons[single])
        kept = np.concatenate([kept, np.stack([first[rare], second[rare], persons[rare]])], axis=1)
        if kept.shape[1] > MAX_RARE:
            # The first by their words, so that it does not matter in which order they come.
            kept = kept[:, np.lexsort((kept[1], kept[0]))[:MAX_RARE]]
    if sets:
        yield batch_of(_SETS, *kept)
        yield batch_of(_SETS, [LEAST, SETS, RARE], [0, 0, 0], [least, sets, rare_sets])

"""The check of written trees over all partitions: Spark moves and sorts rows, the verifier counts and adds up.

The rounds count by `treeanon.spark.counting`, of which nothing but the fingerprints is used here: they say whether what
was read again is what was to be written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from treeanon.arrays import Longs
from treeanon.forest import Forest
from treeanon.spark.counting import SUMS, Fingerprints, Forests, sums_of
from treeanon.spark.records import Batches, batch_of, map_batches
from treeanon.verifier.parts import Counts, PartCheck, total_of
from treeanon.verifier.signed import ALL, signed_totals
from treeanon.verifier.tree_knowledge import pairs_in, with_traces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SETS = "first long, second long, persons long"
_VALUED = "kind int, value long, first long, second long, persons long"
_BESIDE = "kind long, value long, first long, second long, more long, rest long, persons long"
_TOTALS = "what int, least long, sets long, rare long"
_SETS_SEEN, _LARGEST_L = -1, -2
_PRINT = -1
"""The first word of rows that are no sets but sums that fingerprints are made of."""


@dataclass(frozen=True)
class WrittenSets:
    """The least persons of a set in written trees, the sets, those of fewer than k persons, and the records.

    `traced` says that some node is out of place, so that traces have to be counted.
    """

    least: int | None
    sets: int
    rare: int
    prints: Fingerprints
    traced: bool


def check_written_trees(
    frame: DataFrame, forests: Forests, check: PartCheck, k: int, ended: Longs | None
) -> WrittenSets:
    """Return what is counted of the trees of all partitions; traces of `ended` pairs of labels count as relations.

    With None no trace is counted, and it is said whether there are any.
    """
    shared = frame.sparkSession.sparkContext.broadcast((check, ended))
    sets = map_batches(frame, partial(_sets, forests=forests, shared=shared), _SETS)
    if check.lackings is not None:
        counted = sets.selectExpr(f"{ALL} as kind", f"{ALL} as value", "first", "second", "persons")
        return _written(_signed(counted, check, k))
    # Equal sets come to one partition, side by side.
    together = sets.repartition("first", "second").sortWithinPartitions("first", "second")
    return _written(map_batches(together, partial(_totals, k=k), _TOTALS))


def _written(totals: DataFrame) -> WrittenSets:
    """Return the totals of all partitions together."""
    found = totals.toArrow()
    what, least, sets_of, rare = (column.to_numpy() for column in found.columns)
    is_total = what == _SETS_SEEN
    sums = np.array([least[what == place].sum() for place in range(SUMS + 1)], np.int64)
    return WrittenSets(
        int(least[is_total].min()) if is_total.any() else None,
        int(sets_of[is_total].sum()),
        int(rare[is_total].sum()),
        Fingerprints.of_sums(sums[:SUMS]),
        bool(sums[SUMS]),
    )


def check_diversity(frame: DataFrame, forests: Forests, check: PartCheck, ended: Longs) -> dict[int, int]:
    """Return the largest l of every sensitive class: of all sets, the least share of their persons with one value."""
    from pyspark.sql import functions as f

    if not (check.kind_of >= 0).any():
        return {}
    shared = frame.sparkSession.sparkContext.broadcast((check, ended))
    counted = map_batches(frame, partial(_valued, forests=forests, shared=shared), _VALUED)
    if check.lackings is not None or check.is_distinct:
        found = _signed(counted, check, 1).where(f"what = {_LARGEST_L}")
        least = found.groupBy(f.col("rare").alias("kind")).agg(f.min("least").alias("l"))
        return {int(row["kind"]): int(row["l"]) for row in least.collect()}
    summed = counted.groupBy("kind", "value", "first", "second").agg(f.sum("persons").alias("persons"))
    groups = summed.where("kind < 0").select("first", "second", f.col("persons").alias("everybody"))
    most = summed.where("kind >= 0").groupBy("kind", "first", "second").agg(f.max("persons").alias("most"))
    least = most.join(groups, ["first", "second"]).groupBy("kind").agg(f.min(f.expr("everybody div most")).alias("l"))
    return {int(row["kind"]): int(row["l"]) for row in least.collect()}


def _signed(counted: DataFrame, check: PartCheck, k: int) -> DataFrame:
    """Return the totals of sets of which something may be lacking, from those that the parts have counted."""
    lackings = check.lackings or check.nothing_lacking
    shared = counted.sparkSession.sparkContext.broadcast((lackings, check.is_distinct))
    beside = map_batches(counted, partial(_beside, shared=shared), _BESIDE)
    order = ("first", "second", "more", "rest", "kind", "value")
    together = beside.repartition("first", "second").sortWithinPartitions(*order)
    return map_batches(together, partial(_signed_totals, shared=shared, k=k), _TOTALS)


def _beside(batches: Batches, shared: Any) -> Iterator[pa.RecordBatch]:
    """Yield every set beside those that it holds more than; rows that are no sets as they are."""
    lackings, _ = shared.value
    for batch in batches:
        kind, value, first, second, persons = (column.to_numpy() for column in batch.columns)
        is_set = np.flatnonzero(first != _PRINT)
        for i in range(0, len(is_set), 1 << 14):
            some = is_set[i : i + (1 << 14)]
            for chosen, words in lackings.beside(first[some], second[some]):
                rows = some[chosen]
                yield batch_of(_BESIDE, kind[rows], value[rows], *words, persons[rows])
        rest = first == _PRINT
        nothing = np.zeros(int(rest.sum()), np.int64)
        yield batch_of(_BESIDE, kind[rest], value[rest], first[rest], second[rest], nothing, nothing, persons[rest])


def _signed_totals(batches: Batches, shared: Any, k: int) -> Iterator[pa.RecordBatch]:
    """Yield the totals of the sets of a partition, and the sums of fingerprints by their places."""
    prints: list[pa.RecordBatch] = []

    def sets() -> Iterator[np.ndarray]:
        for batch in batches:
            rows = np.stack([column.to_numpy() for column in batch.columns])
            is_print = rows[2] == _PRINT
            nothing = np.zeros(int(is_print.sum()), np.int64)
            prints.append(batch_of(_TOTALS, rows[3, is_print], rows[6, is_print], nothing, nothing))
            yield rows[:, ~is_print]

    lackings, is_distinct = shared.value
    total = signed_totals(sets(), lackings, k, is_distinct=is_distinct)
    if total.least is not None:
        yield batch_of(_TOTALS, [_SETS_SEEN], [total.least], [total.sets], [total.rare])
    for kind, least in total.largest_l.items():
        yield batch_of(_TOTALS, [_LARGEST_L], [least], [0], [kind])
    yield from prints


def _valued(batches: Batches, forests: Forests, shared: Any) -> Iterator[pa.RecordBatch]:
    """Yield the sets of a partition's records by the sensitive values of their persons."""
    check, ended = shared.value
    for value, kind, counts in check.valued_sets_of(with_traces(forest, ended) for forest in forests(batches)):
        for i in range(0, len(counts[0]), 1 << 16):
            first, second, persons = (column[i : i + (1 << 16)] for column in counts)
            yield batch_of(_VALUED, np.full(len(first), kind), np.full(len(first), value), first, second, persons)


def _sets(batches: Batches, forests: Forests, shared: Any) -> Iterator[pa.RecordBatch]:
    """Yield the sets of a partition's records with the persons that hold them, and the sums of fingerprints."""
    check, ended = shared.value
    sums = np.zeros(SUMS + 1, np.int64)

    def read() -> Iterator[Forest]:
        for forest in forests(batches):
            sums[:SUMS] += sums_of(forest)
            if ended is None:
                sums[SUMS] += len(pairs_in(forest, True))
            yield forest if ended is None else with_traces(forest, ended)

    for first, second, persons in check.sets_of(read()):
        for i in range(0, len(first), 1 << 16):
            some = slice(i, i + (1 << 16))
            yield batch_of(_SETS, first[some], second[some], persons[some])
    if check.lackings is not None:
        # All persons, from whom those who lack something are taken.
        yield batch_of(_SETS, [0], [0], sums[:1])
    yield batch_of(_SETS, np.full(SUMS + 1, _PRINT), np.arange(SUMS + 1), sums)


def _totals(batches: Batches, k: int) -> Iterator[pa.RecordBatch]:
    """Yield the totals of the sets of a partition, and the sums of fingerprints by their places."""
    prints: list[pa.RecordBatch] = []

    def counts() -> Iterator[Counts]:
        for batch in batches:
            first, second, persons = (column.to_numpy() for column in batch.columns)
            is_print = first == _PRINT
            nothing = np.zeros(int(is_print.sum()), np.int64)
            prints.append(batch_of(_TOTALS, second[is_print], persons[is_print], nothing, nothing))
            yield first[~is_print], second[~is_print], persons[~is_print]

    for total in total_of(counts(), k):
        yield batch_of(_TOTALS, [_SETS_SEEN], [total.least], [total.sets], [total.rare])
    yield from prints

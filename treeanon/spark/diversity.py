"""The rounds' count of l-diversity: each partition counts, for every set, the persons with each sensitive value.

(Section III-F of O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data", IEEE TKDE 2015.)
A value is held by at most 1/l of the persons of every set: sums over all partitions tell. For distinct diversity, l
values are left in every set without those who hold any one of it, persons are also counted by pairs of values. What is
written in the end is counted again by the check (`treeanon.spark.checking`), which shares nothing with this.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from treeanon.algorithms.tree.default.traces import with_traces
from treeanon.arrays import Longs, unique_values
from treeanon.errors import GuaranteeError
from treeanon.forest import Forest
from treeanon.spark.counting import MAX_RARE, Forests, RareSet
from treeanon.spark.records import Batches, batch_of, map_batches
from treeanon.spark.signed import EVERYBODY, Diversity, judged
from treeanon.spark.spread import Spread, SpreadCounter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_VALUED = "value long, first long, second long, persons long"
_FULL = 1 << 21
"""A partition hands over what it has counted when it holds so many sets."""


def sets_not_diverse(
    frame: DataFrame,
    forests: Forests,
    spread: Spread,
    wanted: Diversity,
    ended: Longs,
) -> tuple[RareSet, ...]:
    """Return sets that are not diverse, at most as many as of rare ones; traces of `ended` pairs of labels count as
    relations.
    """
    from pyspark.sql import functions as f

    shared = frame.sparkSession.sparkContext.broadcast((spread, wanted, ended))
    counted = map_batches(frame, partial(_count, forests=forests, shared=shared), _VALUED)
    summed = counted.groupBy("value", "first", "second").agg(f.sum("persons").alias("persons"))
    if spread.signs is not None:
        signed = judged(summed, spread, 1, MAX_RARE, wanted).rare
        if any(not one.labels for one in signed):
            raise _not_diverse_at_all(wanted.l)
        return tuple(RareSet(one.labels, one.relations, one.persons, one.lacks) for one in signed)
    is_whole = f.col("value") == EVERYBODY
    of_set = summed.groupBy("first", "second").agg(
        f.max(f.when(is_whole, f.col("persons"))).alias("everybody"),
        f.max(f.when(~is_whole, f.col("persons"))).alias("most"),
    )
    failing = of_set.where(f.col("most") * wanted.l > f.col("everybody")).orderBy("first", "second").limit(MAX_RARE)
    found = [(int(row["first"]), int(row["second"]), int(row["everybody"])) for row in failing.toArrow().to_pylist()]
    if any(first == 0 for first, _, _ in found):
        raise _not_diverse_at_all(wanted.l)
    return tuple(RareSet(*spread.decode(first, second), persons) for first, second, persons in found)


def _not_diverse_at_all(l: int) -> GuaranteeError:  # noqa: E741
    return GuaranteeError(f"a sensitive class is not {l}-diverse in the collection as a whole")


def _count(batches: Batches, forests: Forests, shared: Any) -> Iterator[pa.RecordBatch]:
    """Yield the sets that the records of a partition hold, with all persons and with those of each sensitive value."""
    spread, wanted, ended = shared.value
    counters: dict[int, SpreadCounter] = {EVERYBODY: SpreadCounter(spread)}
    persons: dict[int, int] = {EVERYBODY: 0}
    for forest in forests(batches):
        traced = with_traces(forest, ended)
        for value, records in _holders(forest, wanted):
            counter = counters.setdefault(value, SpreadCounter(spread))
            counter.add(traced.take(records))
            persons[value] = persons.get(value, 0) + len(records)
        if sum(counter.used for counter in counters.values()) > _FULL:
            yield from _handed(counters)
    yield from _handed(counters)
    nothing = np.zeros(len(persons), np.int64)
    yield batch_of(_VALUED, list(persons), nothing, nothing, list(persons.values()))


def _holders(forest: Forest, wanted: Diversity) -> Iterator[tuple[int, Longs]]:
    """Yield every sensitive value with the records that hold it, and first all records.

    For distinct diversity also every two values of one class, as one number.
    """
    yield EVERYBODY, np.arange(len(forest))
    nodes = np.flatnonzero(wanted.class_of[forest.label] >= 0)
    record = np.searchsorted(forest.offsets, nodes, side="right") - 1
    value, record = np.unique(np.stack([forest.label[nodes].astype(np.int64), record]), axis=1)
    yield from _by_value(value, record)
    if wanted.is_distinct:
        yield from _by_value(*_held_together(value, record, wanted))


def _held_together(value: Longs, record: Longs, wanted: Diversity) -> tuple[Longs, Longs]:
    """Return every two values of one class that a record holds, as one number, and the record."""
    order = np.argsort(record, kind="stable")
    value, record = value[order], record[order]
    ends = np.searchsorted(record, record, side="right")
    times = ends - np.arange(len(record)) - 1
    one = np.repeat(np.arange(len(record)), times)
    other = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(times) - times, times)
    alike = wanted.class_of[value[one]] == wanted.class_of[value[other]]
    return wanted.pair(value[one], value[other])[alike], record[one][alike]


def _by_value(value: Longs, record: Longs) -> Iterator[tuple[int, Longs]]:
    for one in unique_values(value).tolist():
        yield one, record[value == one]


def _handed(counters: dict[int, SpreadCounter]) -> Iterator[pa.RecordBatch]:
    for value, counter in counters.items():
        table = counter.taken()
        for i in range(0, len(table), 1 << 16):
            some = table[i : i + (1 << 16)]
            yield batch_of(_VALUED, np.full(len(some), value), *some.T.copy())

"""What a release over all partitions has lost: whole numbers, summed by Spark, from which the measures follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from treeanon.forest import Forest
from treeanon.kernels.tree.losses import count_published
from treeanon.metrics import Counts, Losses
from treeanon.metrics.measure import kept_of_counts, relation_counts
from treeanon.metrics.path_distance import rpd_of_records
from treeanon.metrics.values import label_parents, loss_of_counts, released_as
from treeanon.spark.reading import Dataset
from treeanon.spark.recipe import Recipe
from treeanon.spark.records import Batches, batch_of, map_batches

if TYPE_CHECKING:
    from treeanon.arrays import Longs

_TALLY = "kind int, place long, times long"

GENERAL, SAME, LOST, HAD, HAS, HELD, SHOWN, SIZES, DISTANCE = range(9)
"""Kinds of numbers: of labels published for others, as they were, and lost; relations before and after; labels before
and after; records and nodes; and path distances."""

_FINE = float(1 << 40)
"""Path distances are summed as whole numbers of this many parts, so that their order does not matter."""


class Tally:
    """Numbers of one collection and its release, by kind and place."""

    def __init__(self, table: pa.Table) -> None:
        kind, place, times = (table.column(name).to_numpy() for name in ("kind", "place", "times"))
        self._of = {one: (place[kind == one], times[kind == one]) for one in range(9)}

    def of(self, kind: int, size: int) -> Longs:
        """All numbers of a kind, by place."""
        out = np.zeros(size, np.int64)
        places, times = self._of[kind]
        out[places] = times
        return out


def tally(dataset: Dataset, recipe: Recipe) -> Tally:
    """The numbers that all losses of a release follow from."""
    from pyspark.sql import functions as f

    counted = map_batches(dataset.frame, partial(_tally, broadcast=recipe.broadcast(dataset)), _TALLY)
    return Tally(counted.groupBy("kind", "place").agg(f.sum("times").alias("times")).toArrow())


def cost_of(numbers: Tally, dataset: Dataset, weights: Mapping[str, float] | None) -> float:
    """What the default search makes small: the value loss plus the share of relations lost."""
    size, width = len(dataset.classes), len(dataset.classes.names) ** 2
    general, same, lost = (numbers.of(kind, size) for kind in (GENERAL, SAME, LOST))
    had = int(numbers.of(HAD, width).sum())
    kept = int(numbers.of(HAS, width).sum()) / had if had else 1.0
    return loss_of_counts(dataset.classes, general, same, lost, weights).total + 1 - kept


def losses_of(numbers: Tally, dataset: Dataset, trees: tuple[int, int], weights: Mapping[str, float] | None) -> Losses:
    """The losses of a release; `trees` are the different ones before and after."""
    classes = dataset.classes
    size, names = len(classes), classes.names
    general, same, lost = (numbers.of(kind, size) for kind in (GENERAL, SAME, LOST))
    values = loss_of_counts(classes, general, same, lost, weights)
    had, has = (numbers.of(kind, len(names) ** 2).reshape(len(names), len(names)) for kind in (HAD, HAS))
    relations = kept_of_counts(names, had, has)
    records, nodes_before, nodes_after = numbers.of(SIZES, 3).tolist()
    distance = float(numbers.of(DISTANCE, 1)[0]) / _FINE / max(records, 1)

    def counts(nodes: int, different: int, kind: int) -> Counts:
        used = classes.class_of[1:][numbers.of(kind, size)[1:] > 0]
        by_class = np.bincount(used, minlength=len(names)).tolist()
        return Counts(records, nodes, different, dict(zip(names, by_class, strict=True)))

    before, after = counts(nodes_before, trees[0], HELD), counts(nodes_after, trees[1], SHOWN)
    return Losses(values.total, values.by_class, relations.total, relations.by_pair, distance, before, after)


def _tally(batches: Batches, broadcast: Any) -> Iterator[pa.RecordBatch]:
    _, classes = broadcast.shapes.value
    size, width = len(classes), len(classes.names) ** 2
    sums = [np.zeros(n, np.int64) for n in (size, size, size, width, width, size, size, 3, 1)]
    above = label_parents(classes)
    for before, after in broadcast.both(batches):
        for kind, found in enumerate(_numbers(before, after, above)):
            sums[kind] += found
    for kind, found in enumerate(sums):
        places = np.flatnonzero(found)
        yield batch_of(_TALLY, np.full(len(places), kind), places, found[places])


def _numbers(before: Forest, after: Forest, above: np.ndarray) -> Iterator[np.ndarray]:
    """The numbers of some records, by kind."""
    columns = (before.offsets, before.label, after.offsets, after.label)
    yield from count_published(*columns, released_as(before, after, None), above)
    yield relation_counts(before).ravel()
    yield relation_counts(after).ravel()
    yield np.bincount(before.label, minlength=len(before.classes))
    yield np.bincount(after.label, minlength=len(before.classes))
    yield np.array([len(before), before.nodes, after.nodes], np.int64)
    yield np.array([np.rint(rpd_of_records(after) * _FINE).astype(np.int64).sum()])

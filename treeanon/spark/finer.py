"""Labels that could refine a safe solution: what is rare in a sample can be frequent in all records.

Candidates are children of published nodes, where sets have three labels or more those for which exact counts over all
records show that few pairs with published labels would be rare. The search decides, and may generalize another label
instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.kernels.tree.spread import count_object_pairs, count_pairs
from treeanon.metrics.values import class_weights, label_ends, label_losses, label_parents
from treeanon.privacy.guarantee import Guarantee, roles_of
from treeanon.spark.reading import Dataset, Recipe
from treeanon.spark.records import Batches, batch_of, map_batches

_PAIRS = "pair long, shared long, related long"
"""A pair of slots with a kind of relation, as one number: the records that hold both, and those that relate them."""
MAX_FINER = 2000
"""Maximum number of candidates in one round: those with the largest possible gain."""

_FEW = 0.25
"""A candidate that is rare with more than this share of the published labels is not tried."""

MAX_SLOTS = 6000
"""Maximum number of labels for which the two tables of pairs fit a worker; fewer for relations of several kinds."""


@dataclass(frozen=True, eq=False)
class Slots:
    """The labels whose pairs are counted: the published ones, then the candidates below them.

    `coarse` and `fine` have a slot for every label of the records, or -1.
    """

    coarse: Ints
    fine: Ints
    labels: Ints
    published: int

    def __len__(self) -> int:
        return len(self.labels)


def finer_labels(dataset: Dataset, recipe: Recipe, guarantee: Guarantee, held: Longs, weights: Any) -> list[int]:
    """Return labels to publish besides the present ones, if that gains anything; `held` counts nodes by candidate."""
    slots = _slots(dataset, recipe, guarantee, held, weights)
    if slots is None:
        return []
    if guarantee.m <= 2:
        # Records that show all rare pairs tell the search as much.
        return list(map(int, slots.labels[slots.published :]))
    shared = dataset.frame.sparkSession.sparkContext.broadcast(slots)
    from pyspark.sql import functions as f

    counted = map_batches(dataset.frame, partial(_count, broadcast=recipe.broadcast(dataset), shared=shared), _PAIRS)
    summed = counted.groupBy("pair").agg(f.sum("shared").alias("shared"), f.sum("related").alias("related"))
    kinds = dataset.classes.kinds
    sieve = partial(_sieve, k=guarantee.k, m=guarantee.m, n=guarantee.n, slots=len(slots), kinds=kinds)
    rare = map_batches(summed, sieve, _PAIRS)
    pair = unique_values(rare.select("pair").toArrow().column("pair").to_numpy() // kinds)
    return _near(slots, recipe, pair // len(slots), pair % len(slots))


def _slots(dataset: Dataset, recipe: Recipe, guarantee: Guarantee, held: Longs, weights: Any) -> Slots | None:
    """Return the slots to count, candidates in the order of their possible gain; None if there are none."""
    classes = dataset.classes
    known = [i for i in roles_of(dataset, guarantee).known if classes.names[i] not in recipe.withheld]
    mine = np.isin(classes.class_of, known)
    shown = unique_values(recipe.mapping[mine])
    above, end = label_parents(classes), label_ends(classes)
    is_shown = np.zeros(len(classes), bool)
    is_shown[shown] = True
    # The support of a label is at most the number of nodes under it.
    candidates = np.flatnonzero(mine & ~is_shown & (above > 0) & (held >= guarantee.k))
    candidates = candidates[is_shown[above[candidates]]]
    loss, weight = label_losses(classes), class_weights(classes, weights)[classes.class_of[candidates]]
    gain = held[candidates] * (loss[above[candidates]] - loss[candidates]) * weight
    worth = gain > 0
    order = np.lexsort((candidates[worth], -gain[worth]))[:MAX_FINER]
    finer = candidates[worth][order]
    # One table has what two labels share, and one for each kind of relations which records relate them.
    if not len(finer) or (len(shown) + len(finer)) ** 2 * (1 + classes.kinds) > 2 * MAX_SLOTS**2:
        return None
    place = np.full(len(classes), -1, np.int32)
    place[shown] = np.arange(len(shown), dtype=np.int32)
    coarse = np.where(mine, place[recipe.mapping], -1).astype(np.int32)
    fine = np.full(len(classes), -1, np.int32)
    for number, label in enumerate(finer.tolist(), start=len(shown)):
        below = slice(label, int(end[label]))
        fine[below] = np.where(recipe.mapping[below] == above[label], number, fine[below])
    return Slots(coarse, fine, np.concatenate([shown, finer]).astype(np.int32), len(shown))


def _count(batches: Batches, broadcast: Any, shared: Any) -> Iterator[pa.RecordBatch]:
    """Yield the pairs of slots that the records of a partition hold, one of them a candidate."""
    slots, (_, classes) = shared.value, broadcast.shapes.value
    held = np.zeros((len(slots), len(slots)), np.int32)
    related = np.zeros((len(slots), len(slots), classes.kinds), np.int32)
    for forest in broadcast.before(batches):
        coarse, fine = slots.coarse[forest.label], slots.fine[forest.label]
        if classes.types:
            trees = forest.offsets, forest.parent, forest.label
            count_object_pairs(*trees, coarse, fine, classes.types, held, related)
        else:
            count_pairs(forest.offsets, forest.parent, coarse, fine, held, related)
    held[:, : slots.published] = 0
    flat, flat_related = np.repeat(held.ravel(), classes.kinds), related.ravel()
    places = np.flatnonzero(flat)
    for i in range(0, len(places), 1 << 16):
        some = places[i : i + (1 << 16)]
        yield batch_of(_PAIRS, some, flat[some], flat_related[some])


def _sieve(batches: Batches, k: int, m: int, n: int, slots: int, kinds: int) -> Iterator[pa.RecordBatch]:
    """Yield the rare pairs: of labels (or a label alone), or of labels that are related in some way."""
    for batch in batches:
        number, shared, related = (column.to_numpy() for column in batch.columns)
        pair = number // kinds
        rare = shared < k if m > 1 else (shared < k) & (pair // slots == pair % slots)
        if m > 1 and n > 0:
            rare |= (related > 0) & (related < k)
        yield batch_of(_PAIRS, number[rare], shared[rare], related[rare])


def _near(slots: Slots, recipe: Recipe, one: Longs, other: Longs) -> list[int]:
    """Return the candidates that are frequent enough, and rare with few of the published labels."""
    home = recipe.mapping[slots.labels]
    # A candidate and its own published ancestor do not count: the ancestor keeps only the rest of its values.
    beside = (one < slots.published) & (slots.labels[one] != home[other])
    against = np.bincount(other[beside], minlength=len(slots))
    alone = np.zeros(len(slots), bool)
    alone[other[one == other]] = True
    near = ~alone & (against <= _FEW * slots.published)
    return [int(label) for label in slots.labels[slots.published :][near[slots.published :]]]

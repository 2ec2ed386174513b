"""Supports over all partitions: each partition counts, Spark sums, and only rare sets reach the driver.

The fingerprint of a collection depends neither on the order of its records nor on the partitions.

The losses of a release follow from integers that Spark sums over all partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from treeanon.algorithms.tree.default.traces import label_pairs, with_traces
from treeanon.arrays import Longs, unique_values
from treeanon.forest import Classes, Forest
from treeanon.kernels.jit import read_only
from treeanon.kernels.tree.forest import hash_records
from treeanon.kernels.tree.losses import count_published, path_losses
from treeanon.kernels.tree.objects import count_objects_kept
from treeanon.kernels.tree.spread import Table
from treeanon.metrics import Counts, Losses
from treeanon.metrics.measure import kept_of_counts, relation_counts
from treeanon.metrics.objects import ObjectsKept, share_whole
from treeanon.metrics.values import label_parents, level_sizes, loss_of_counts, released_as
from treeanon.spark.reading import Dataset, Recipe
from treeanon.spark.records import FINGERPRINT, SECOND, Batches, batch_of, kinds_of, map_batches, with_those_above
from treeanon.spark.session import task_partition
from treeanon.spark.signed import judged
from treeanon.spark.spread import Outliers, Relation, Spread, counter_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from treeanon.arrays import Longs


_HALF = 1 << 32


@dataclass(frozen=True)
class Fingerprints:
    """The number of records, and the sums of two fingerprints of each."""

    records: int
    one: int
    other: int

    @classmethod
    def of_sums(cls, sums: Longs) -> Fingerprints:
        """Return the fingerprints for the summed parts of `sums_of`."""
        records, low, high, other_low, other_high = map(int, sums)
        return cls(records, low + high * _HALF, other_low + other_high * _HALF)


def sums_of(forest: Forest) -> Longs:
    """Return what some records add to the fingerprints of a collection, in parts that do not overflow when summed.

    The parts are the number of records, and the lower and upper halves of both fingerprints.
    """
    found = [len(forest)]
    for seed in (FINGERPRINT, SECOND):
        prints = hash_records(forest.offsets, forest.parent, forest.label, seed).view(np.uint64)
        found += [int((prints % _HALF).sum()), int((prints // _HALF).sum())]
    return np.array(found, np.int64)


def count_distinct(dataset: Dataset, recipe: Recipe) -> int:
    """Return the number of different published records."""
    from pyspark.sql import functions as f

    kinds = kinds_of(dataset.frame, recipe.broadcast(dataset).after)
    (row,) = kinds.agg(f.sum(f.octet_length("hashes")).alias("bytes")).collect()
    return int(row["bytes"] or 0) // 8


_SETS = "first long, second long, persons long"
MAX_RARE = 200_000
"""Maximum number of rare sets sent to the driver at once; the next round finds the others."""

SUMS = 5
LEAST, SETS, RARE, PRINTS, TALLY = -1, -2, -3, -4, -5 - SUMS
"""First words of rows that are not sets: a partition's least support, its number of sets and of rare sets; from there
downwards the parts of the fingerprints; and further down the kinds of numbers that losses follow from, whose place is
the second word.
"""

Label = int


@dataclass(frozen=True)
class RareSet:
    """A set of labels and relations with a support from 1 to k - 1, or that is not diverse.

    `lacks` says that some of the labels, or some relations, are known to be lacking.
    """

    labels: tuple[Label, ...]
    relations: tuple[Relation, ...]
    persons: int
    lacks: bool = False


@dataclass(frozen=True)
class Supports:
    """The least support of any set, the number of sets, the rare sets, and the supports of single labels.

    `rare_sets` counts all rare sets, of which `rare` holds the first in the order of their words; `prints` are the
    fingerprints of the counted records. `traced` says that some node is out of place, so that traces count.
    """

    least: int | None
    sets: int
    rare_sets: int
    rare: tuple[RareSet, ...]
    held: dict[Label, int]
    prints: Fingerprints
    tally: Tally
    traced: bool = False


Forests = Callable[[Batches], Iterator[Forest]]
"""Returns the trees to count for the rows of a partition."""


_PAIRS = "traced boolean, pair long"


PairKeys = Callable[[Forest, bool], Longs]
"""Returns numbers for the pairs of labels of a forest: of its traces (True), or of its relations."""


def ended_pairs(frame: DataFrame, forests: Forests, keys: PairKeys) -> Longs:
    """Return the pairs of labels whose traces count: those of which no record of any partition holds the relation."""
    traced = _pairs(frame, forests, keys, True)
    return np.setdiff1d(traced, _pairs(frame, forests, keys, False)) if len(traced) else traced


def _pairs(frame: DataFrame, forests: Forests, keys: PairKeys, traced: bool) -> Longs:
    found = map_batches(frame, partial(_pairs_of, forests=forests, keys=keys, traced=traced), _PAIRS)
    pairs: Longs = unique_values(found.distinct().toArrow().column("pair").to_numpy()).astype(np.int64)
    return pairs


def _pairs_of(batches: Batches, forests: Forests, keys: PairKeys, traced: bool) -> Iterator[pa.RecordBatch]:
    for forest in forests(batches):
        pairs = unique_values(keys(forest, traced))
        yield batch_of(_PAIRS, np.full(len(pairs), traced), pairs)


def count_supports(dataset: Dataset, recipe: Recipe, spread: Spread, k: int, ended: Longs | None) -> Supports:
    """Return the supports of all sets over all partitions, and what losses follow from; traces of `ended` pairs of
    labels count as relations.

    With None no trace is counted, and it is said whether there are any.
    """
    from pyspark.sql import functions as f

    shared = dataset.frame.sparkSession.sparkContext.broadcast((spread, ended))
    counted = map_batches(dataset.frame, partial(_count, broadcast=recipe.broadcast(dataset), shared=shared), _SETS)
    summed = counted.groupBy("first", "second").agg(f.sum("persons").alias("persons"))
    if spread.signs is not None:
        return _signed_supports(summed, spread, k)
    found = map_batches(summed, partial(_sieve, k=k, bits=spread.bits), _SETS).toArrow()
    first, second, persons = (found.column(name).to_numpy() for name in ("first", "second", "persons"))
    least, sets, rare_sets = (persons[first == one] for one in (LEAST, SETS, RARE))
    sums = np.array([persons[first == PRINTS - i].sum() for i in range(SUMS + 1)])
    tallied = first <= TALLY
    rare = (first > 0) & (persons < k)
    order = np.flatnonzero(rare)[np.lexsort((second[rare], first[rare]))][:MAX_RARE]
    single = (first > 0) & (second == 0) & (first < 1 << spread.bits)
    return Supports(
        int(least.min()) if len(least) else None,
        int(sets.sum()),
        int(rare_sets.sum()),
        tuple(_decoded(spread, zip(first[order], second[order], persons[order], strict=True))),
        {int(spread.labels[int(a) - 1]): int(p) for a, p in zip(first[single], persons[single], strict=True)},
        Fingerprints.of_sums(sums[:SUMS]),
        Tally(TALLY - first[tallied], second[tallied], persons[tallied]),
        bool(sums[SUMS]),
    )


_HOLDERS = "part long, place long, number long"


def holders_of(frame: DataFrame, forests: Forests, outliers: Outliers) -> Iterator[tuple[int, int]]:
    """Yield persons, numbered, and the numbers of the sets that they hold."""
    shared = frame.sparkSession.sparkContext.broadcast(outliers)
    found = map_batches(frame, partial(_holders_of, forests=forests, shared=shared), _HOLDERS).toArrow()
    part, place, number = (column.to_numpy() for column in found.columns)
    _, person = np.unique(np.stack([part, place]), axis=1, return_inverse=True)
    order = np.lexsort((number, place, part))
    yield from zip(person.ravel()[order].tolist(), number[order].tolist(), strict=True)


def _holders_of(batches: Batches, forests: Forests, shared: Any) -> Iterator[pa.RecordBatch]:
    before, part = 0, task_partition()
    for forest in forests(batches):
        record, number = shared.value.holdings(forest)
        yield batch_of(_HOLDERS, np.full(len(record), part), before + record, number)
        before += len(forest)


def _signed_supports(summed: DataFrame, spread: Spread, k: int) -> Supports:
    """Return the supports of all sets, those with something that is known to be lacking among them."""
    found = judged(summed, spread, k, MAX_RARE)
    rare = tuple(RareSet(one.labels, one.relations, one.persons, one.lacks) for one in found.rare)
    sums = np.array([found.sums.get((PRINTS - i, 0), 0) for i in range(SUMS + 1)])
    tallied = [(TALLY - first, second, times) for (first, second), times in found.sums.items() if first <= TALLY]
    return Supports(
        found.least,
        found.sets,
        found.rare_sets,
        rare,
        dict(found.held),
        Fingerprints.of_sums(sums[:SUMS]),
        Tally(*np.array(tallied, np.int64).reshape(-1, 3).T),
        bool(sums[SUMS]),
    )


def _decoded(spread: Spread, rows: Iterable[tuple[Any, Any, Any]]) -> Iterator[RareSet]:
    for first, second, persons in rows:
        yield RareSet(*spread.decode(int(first), int(second)), int(persons))


def _count(batches: Batches, broadcast: Any, shared: Any) -> Iterator[pa.RecordBatch]:
    """Yield the sets that the published records of a partition hold with their supports, the parts of the fingerprints,
    and the numbers that losses follow from.
    """
    spread, ended = shared.value
    counter, sums = counter_of(spread), np.zeros(SUMS + 1, np.int64)
    _, classes = broadcast.shapes.value
    numbers = Numbers(classes)
    for before, forest, kept in broadcast.both(batches):
        numbers.add(before, forest, kept)
        sums[:SUMS] += sums_of(forest)
        if ended is None:
            sums[SUMS] += len(label_pairs(forest, True))
        for table in counter.add_all(forest if ended is None else with_traces(forest, ended)):
            yield from _handed(table)
    yield from _handed(counter.taken())
    # Nothing is known of all, which sets of lacking labels are taken from.
    yield batch_of(_SETS, [0], [0], sums[:1])
    yield batch_of(_SETS, PRINTS - np.arange(SUMS + 1), np.zeros(SUMS + 1, np.int64), sums)
    for kind, places, times in numbers.rows():
        yield batch_of(_SETS, np.full(len(places), TALLY - kind), places, times)


def _handed(table: Table) -> Iterator[pa.RecordBatch]:
    for i in range(0, len(table), 1 << 16):
        yield batch_of(_SETS, *table[i : i + (1 << 16)].T.copy())


def _sieve(batches: Batches, k: int, bits: int) -> Iterator[pa.RecordBatch]:
    """Yield the rare sets and single labels among summed sets, and the statistics of all sets."""
    least, sets, rare_sets = np.iinfo(np.int64).max, 0, 0
    kept = np.empty((3, 0), np.int64)
    for batch in batches:
        columns = np.stack([column.to_numpy() for column in batch.columns])
        yield batch_of(_SETS, *columns[:, columns[0] <= PRINTS])
        first, second, persons = columns[:, columns[0] > 0]
        if not len(first):
            continue
        least, sets = min(least, int(persons.min())), sets + len(first)
        rare = persons < k
        rare_sets += int(rare.sum())
        single = ~rare & (second == 0) & (first < 1 << bits)
        yield batch_of(_SETS, first[single], second[single], persons[single])
        kept = np.concatenate([kept, np.stack([first[rare], second[rare], persons[rare]])], axis=1)
        if kept.shape[1] > MAX_RARE:
            # The first by their words, so that the result does not depend on the order of the rows.
            kept = kept[:, np.lexsort((kept[1], kept[0]))[:MAX_RARE]]
    if sets:
        yield batch_of(_SETS, *kept)
        yield batch_of(_SETS, [LEAST, SETS, RARE], [0, 0, 0], [least, sets, rare_sets])


GENERAL, SAME, LOST, HAD, HAS, SHOWN, SIZES, DISTANCE, OBJECTS = range(9)
"""Kinds of numbers: labels replaced, kept and lost; relations before and after; labels after; records, nodes, and
published records; the reverse path domain (RPD); and objects before, after and kept whole, by type.
"""

_FINE = float(1 << 40)
"""Reverse path domains (RPD) are summed as integer multiples of this fraction, so that the order does not matter."""


class Tally:
    """Counts of one collection and its release, by kind and index."""

    def __init__(self, kind: Longs, place: Longs, times: Longs) -> None:
        self._of = {one: (place[kind == one], times[kind == one]) for one in range(OBJECTS + 1)}

    def of(self, kind: int, size: int) -> Longs:
        """Return all counts of a kind, by index."""
        out = np.zeros(size, np.int64)
        places, times = self._of[kind]
        out[places] = times
        return out


def cost_of(numbers: Tally, dataset: Dataset, options: Mapping[str, Any]) -> float:
    """Return the objective of the default search: the value loss plus the shares of relations and objects lost.

    `options` are those of the search, of which `weights` and `objects_weight` count here.
    """
    size, width = len(dataset.classes), relations_of(dataset.classes)
    general, same, lost = (numbers.of(kind, size) for kind in (GENERAL, SAME, LOST))
    had = int(numbers.of(HAD, width).sum())
    kept = int(numbers.of(HAS, width).sum()) / had if had else 1.0
    whole = share_whole(_objects(numbers, dataset.classes))
    objects = 0.0 if whole is None else options.get("objects_weight", 1) * (1 - whole)
    return loss_of_counts(dataset.classes, general, same, lost, options.get("weights")).total + 1 - kept + objects


def relations_of(classes: Classes) -> int:
    """Return how many pairs of classes there are, with each kind of relation."""
    return len(classes.names) ** 2 * classes.kinds


def _objects(numbers: Tally, classes: Classes) -> dict[str, ObjectsKept]:
    """Return by type what became of the objects of the input; nothing where trees are merged."""
    counts = numbers.of(OBJECTS, 3 * (classes.types + 1)).reshape(3, -1)[:, 1:].tolist()
    by_type = zip(classes.names, *counts, strict=False)
    return {name: ObjectsKept(had, has, whole / had) for name, had, has, whole in by_type if had}


def losses_of(numbers: Tally, dataset: Dataset, trees: tuple[int, int], weights: Mapping[str, float] | None) -> Losses:
    """Return the losses of a release; `trees` are the numbers of different trees before and after."""
    classes = dataset.classes
    size, names = len(classes), classes.names
    general, same, lost = (numbers.of(kind, size) for kind in (GENERAL, SAME, LOST))
    values = loss_of_counts(classes, general, same, lost, weights)
    shape = (len(names), len(names), classes.kinds) if classes.types else (len(names), len(names))
    had, has = (numbers.of(kind, relations_of(classes)).reshape(shape) for kind in (HAD, HAS))
    relations = kept_of_counts(classes, had, has)
    records, nodes_before, nodes_after, published = numbers.of(SIZES, 4).tolist()
    distance = float(numbers.of(DISTANCE, 1)[0]) / _FINE / max(published, 1)

    def counts(records: int, nodes: int, different: int, values: Longs) -> Counts:
        by_class = list(zip(names, values.tolist(), strict=True))[classes.types :]
        return Counts(records, nodes, different, dict(by_class))

    held = np.bincount(classes.class_of[1:][dataset.held[1:] > 0], minlength=len(names))
    shown = np.bincount(classes.class_of[1:][numbers.of(SHOWN, size)[1:] > 0], minlength=len(names))
    before, after = counts(records, nodes_before, trees[0], held), counts(published, nodes_after, trees[1], shown)
    objects = _objects(numbers, classes)
    return Losses(values.total, values.by_class, relations.total, relations.by_pair, distance, before, after, objects)


def nodes_under(held: Longs, classes: Classes, recipe: Recipe) -> Longs:
    """Return how many nodes of the input stand under each label that is right below a published one."""
    below = right_below(recipe.mapping, label_parents(classes))
    there = np.flatnonzero((below >= 0) & (held > 0))
    return np.bincount(below[there], held[there], minlength=len(held)).astype(np.int64)


def right_below(mapping: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Return for every label the one over it, or itself, that is right below the label it is published as; -1 if none.

    >>> right_below(np.array([0, 1, 1, 1, 4]), np.array([-1, 0, 1, 2, 1])).tolist()
    [-1, -1, 2, 2, -1]
    """
    found = np.arange(len(mapping), dtype=np.int32)
    found[(mapping == found) | (mapping <= 0)] = -1
    going = np.flatnonzero(found >= 0)
    while len(going):
        up = above[found[going]]
        going, up = going[up != mapping[going]], up[up != mapping[going]]
        # What is not published as a label above it (of withheld classes) has none.
        found[going] = np.where(up > 0, up, -1)
        going = going[up > 0]
    return found


class Numbers:
    """Sums of the numbers that losses follow from, of some records after others.

    Of very many labels some records hold few: they are counted in numbers of their own.
    """

    def __init__(self, classes: Classes) -> None:
        size, width = len(classes), relations_of(classes)
        sizes = (size, size, size, width, width, size, 4, 1, 3 * (classes.types + 1))
        # What is never counted takes no memory.
        self.sums = [np.zeros(n, np.int64) for n in sizes]
        self.above, self.level = label_parents(classes), level_sizes(classes)
        self._number = np.empty(size, np.int32)

    def add(self, before: Forest, after: Forest, kept: Longs | None) -> None:
        """Add the numbers of some records; record i of `after` is kept[i] of `before` (None: i)."""
        released, types, sums = released_as(before, after, kept), before.classes.types, self.sums
        for kind, labels, times in self._by_label(before, after, released):
            sums[kind][labels] += times
        sums[HAD] += relation_counts(before).ravel()
        sums[HAS] += relation_counts(after).ravel()
        sums[SIZES] += len(before), before.nodes, after.nodes, len(after)
        paths = path_losses(after.offsets, after.parent, after.label, self.level)
        sums[DISTANCE] += np.rint(paths * _FINE).astype(np.int64).sum()
        trees = before.offsets, before.parent, before.label, after.offsets, after.parent, after.label
        if types:
            sums[OBJECTS] += count_objects_kept(*trees, released, self.above, types).ravel()

    def _by_label(self, before: Forest, after: Forest, released: Longs) -> Iterator[tuple[int, Longs, Longs]]:
        """Yield the kinds of numbers that labels have, with labels that occur and their numbers."""
        labels = with_those_above(np.concatenate([[0], before.label, after.label]).astype(np.int32), self.above)
        self._number[labels] = np.arange(len(labels), dtype=np.int32)
        old, new = read_only(self._number[before.label], self._number[after.label])
        above = self.above[labels]
        up = np.where(above < 0, -1, self._number[above]).astype(np.int32)
        found = count_published(before.offsets, old, after.offsets, new, released, up)
        shown = np.bincount(new, minlength=len(labels))
        for kind, times in zip((GENERAL, SAME, LOST, SHOWN), (*found, shown), strict=True):
            there = np.flatnonzero(times)
            yield kind, labels[there], times[there]

    def rows(self) -> Iterator[tuple[int, Longs, Longs]]:
        """Yield the sums that are not 0, by kind: their places and the sums."""
        for kind, numbers in enumerate(self.sums):
            places = np.flatnonzero(numbers)
            yield kind, places, numbers[places]

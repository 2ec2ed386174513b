"""ML² and dML²: which frequent subtrees of the input a release still shows, on every level of the hierarchies.

O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section II-E.

On level i, values that lie deeper are read as their ancestor i steps below their class root (level 0 is the class roots
themselves). A subtree is a set of root paths that holds every prefix of its members; it is frequent if at least
1 % of the records have it. A release still shows a frequent subtree of the input if it is frequent there too: what
only the release has (a value that moved up by a disassociation) is no knowledge about the input, and is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil, factorial
from typing import Any

import numpy as np

from treeanon.arrays import Flags, Floats, Ints, Longs, Shorts, Words
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.kernels.tree.forest import depths
from treeanon.kernels.tree.losses import node_losses, subtree_losses
from treeanon.kernels.tree.subtrees import count_supported, path_bits
from treeanon.metrics.values import label_depths, label_parents, released_as

MOST_RECORDS = 10_000
MOST_NODES = 4
MOST_SETS = 500_000


@dataclass(frozen=True)
class MiningLevel:
    """Frequent subtrees of the input on one level, and those of them that the release still shows.

    Subtrees of more than `most_nodes` nodes were not looked at; `distance` is the sum of their dtree.
    """

    level: int
    before: int
    after: int
    distance: float
    most_nodes: int


@dataclass(frozen=True)
class MiningLoss:
    """ML² (0: every frequent subtree is still shown, 1: none) and dML² (the mean dtree), with their levels.

    Both speak of a sample of `records` out of `of_records` records of the input.
    """

    ml2: float
    dml2: float
    levels: tuple[MiningLevel, ...]
    records: int
    of_records: int
    min_support: float

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return asdict(self) | {"levels": [asdict(level) for level in self.levels]}


def dtree(levels: Sequence[float], broken: float, relations: float) -> float:
    """Return the distance of a published subtree from its original: 0.5·Σ dlevel/N + 0.5·BR/R.

    `levels` has for each of the N nodes by how many hierarchy levels it was generalized, `broken` of its `relations`
    (ancestor-descendant pairs) are not published. A subtree of a hospital and a disease, the disease one level up,
    without and with disassociation:

    >>> dtree([0, 1], 0, 1), dtree([0, 1], 1, 1)
    (0.25, 0.75)
    """
    return 0.5 * sum(levels) / len(levels) + (0.5 * broken / relations if relations else 0.0)


def ml2(
    before: Forest,
    after: Forest,
    kept: Longs | None = None,
    *,
    min_support: float = 0.01,
    most_records: int = MOST_RECORDS,
    most_nodes: int = MOST_NODES,
    seed: int = 0,
) -> MiningLoss:
    """Return ML² = 1 - Σ FT(D′)/Σ FT(D) and dML² = Σ dtree/Σ FT(D); record i of `after` is before[kept[i]].

    FT are the frequent subtrees over all levels. The dtree of a subtree is the mean over the input's records that have
    it, each compared with its own released record: the levels between a label and the one it is published as (one more
    than to the class root where nothing is), and the relations not shown between these. Frequent means
    `min_support` of the input's records, in the release as well. At most `most_records` records, drawn with `seed`, are
    mined for subtrees of up to `most_nodes` nodes, fewer where their number could exceed half a million.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> forest = ta.Forest.from_records(schema, [[["disease", "flu", []]], [["disease", "acne", []]]])
    >>> found = ml2(forest, forest.project({"disease": ["*"]}))
    >>> found.ml2, found.dml2  # one of three subtrees is left; two are published one level up
    (0.6666666666666667, 0.3333333333333333)
    """
    if not 0 < min_support <= 1 or most_records < 1 or most_nodes < 1:
        raise UsageError("min_support must be above 0 and at most 1, the bounds on records and nodes at least 1")
    mined = FrequentSubtrees.of(
        before, min_support=min_support, most_records=most_records, most_nodes=most_nodes, seed=seed
    )
    return mined.loss(after, kept)


@dataclass(frozen=True, eq=False)
class SubtreeLevel:
    """The frequent root paths of an input on one level, and its frequent subtrees as sets of them.

    `mapping` takes a label to the one it is read as. Path q ends in `label[q]`, below the path `parent[q]` (-1: none),
    with so many `relations` to what is above it. Subtree t is paths[starts[t]:starts[t + 1]], in ascending order.
    """

    level: int
    mapping: Ints
    label: Ints
    parent: Ints
    relations: Ints
    starts: Longs
    paths: Ints
    most_nodes: int

    def paths_of(self, forest: Forest) -> Ints:
        """Return the frequent root path of every node of a forest of the same classes; -1 where it is none.

        Paths are in the order of what they lie below, and then of their labels, so that their keys ascend.
        """
        labels = len(self.mapping)
        keys = (self.parent.astype(np.int64) + 1) * labels + self.label
        own, over = self.mapping[forest.label].astype(np.int64), _above(forest)
        depth = depths(forest.offsets, forest.parent)
        out = np.full(forest.nodes, -1, np.int32)
        for at in range(int(depth.max(initial=-1)) + 1 if len(keys) else 0):
            here = np.flatnonzero(depth == at)
            on = out[over[here]] if at else np.full(len(here), -1)
            wanted = (on + 1) * labels + own[here]
            found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            out[here] = np.where((keys[found] == wanted) & ((on >= 0) | (at == 0)), found, -1)
        return out


@dataclass(frozen=True, eq=False)
class FrequentSubtrees:
    """The frequent subtrees of an input (or of a sample of it, the records `chosen`) on every level: mined once.

    `before` are the trees that were mined, of so many records in all.
    """

    before: Forest
    chosen: Longs | None
    of_records: int
    need: int
    min_support: float
    levels: tuple[SubtreeLevel, ...]

    @classmethod
    def of(
        cls,
        before: Forest,
        *,
        min_support: float = 0.01,
        most_records: int = MOST_RECORDS,
        most_nodes: int = MOST_NODES,
        seed: int = 0,
    ) -> FrequentSubtrees:
        """Mine an input; the parameters are those of `ml2`."""
        whole, chosen = len(before), None
        if whole > most_records:
            chosen = np.sort(np.random.default_rng(seed).choice(whole, most_records, replace=False)).astype(np.int64)
            before = before.take(chosen)
        need = max(ceil(round(min_support * len(before), 9)), 1)
        depth, up = label_depths(before.classes), label_parents(before.classes)
        mapping = np.arange(len(depth), dtype=np.int32)
        found = []
        for level in range(int(depth.max()), -1, -1):
            mapping = np.where(depth[mapping] > level, up[mapping], mapping)
            found.append(_mined(before, level, mapping, need, most_nodes))
        return cls(before, chosen, whole, need, min_support, tuple(reversed(found)))

    @property
    def count(self) -> int:
        """The number of frequent subtrees over all levels."""
        return sum(len(level.starts) - 1 for level in self.levels)

    def loss(self, after: Forest, kept: Longs | None = None) -> MiningLoss:
        """Return ML² and dML² of a release; see `ml2`."""
        released = self._released(after, kept)
        levels = tuple(self._level_loss(level, after, released) for level in self.levels)
        frequent = sum(level.before for level in levels)
        shown, distance = sum(level.after for level in levels), sum(level.distance for level in levels)
        return MiningLoss(
            1 - shown / frequent if frequent else 0.0,
            distance / frequent if frequent else 0.0,
            levels,
            len(self.before),
            self.of_records,
            self.min_support,
        )

    def _released(self, after: Forest, kept: Longs | None) -> Longs:
        """Return the released record of every record that was mined, -1 for none."""
        if self.chosen is None:
            return released_as(self.before, after, kept)
        if kept is None and len(after) != self.of_records:
            raise UsageError("the release has not as many records as its input: say which ones were kept")
        kept = np.arange(len(after)) if kept is None else np.asarray(kept, np.int64)
        out = np.full(self.of_records, -1, np.int64)
        if len(kept) != len(after) or (len(kept) and not 0 <= kept.min() <= kept.max() < len(out)):
            raise UsageError("the kept records must be records of the input, one for every record of the release")
        out[kept] = np.arange(len(kept))
        return out[self.chosen]

    def shown(self, after: Forest, kept: Longs | None = None) -> float:
        """Return the share of the frequent subtrees that a release still shows: 1 - ML², without measuring dML²."""
        released = self._released(after, kept)
        record = _records_of(after, released)
        known = record >= 0
        bits, words = [], (len(self.before) + 63) // 64
        for level in self.levels:
            at = level.paths_of(after)
            here = known & (at >= 0)
            bits.append(path_bits(record[here], at[here], len(level.label), words))
        return self.share_of(bits)

    def share_of(self, bits: Sequence[Words]) -> float:
        """Return the share of frequent subtrees that enough records show, from the records of every path as bits."""
        if not self.count:
            return 1.0
        return sum(self.supported(level, words) for level, words in zip(self.levels, bits, strict=True)) / self.count

    def supported(self, level: SubtreeLevel, bits: Words) -> int:
        """Return how many subtrees of a level enough records show."""
        return int(count_supported(level.starts, level.paths, bits, self.need))

    def _level_loss(self, level: SubtreeLevel, after: Forest, released: Longs) -> MiningLevel:
        if not len(level.label):
            return MiningLevel(level.level, 0, 0, 0.0, level.most_nodes)
        columns = _columns(level, self.before.relabel(level.mapping), after.relabel(level.mapping), released)
        holders_of = np.cumsum([0, *columns.held.sum(axis=0)]).astype(np.int64)
        holders = np.nonzero(columns.held.T)[1].astype(np.int32)
        lost = (columns.levels, columns.broken, level.relations)
        support, distance = subtree_losses(
            level.starts, level.paths, holders_of, holders, columns.held, columns.shown, *lost
        )
        enough = int(np.sum(support >= self.need))
        return MiningLevel(level.level, len(support), enough, float(distance.sum()), level.most_nodes)


@dataclass(frozen=True)
class _Columns:
    """Frequent root paths of one level: their holders and their fate."""

    held: Flags
    shown: Flags
    levels: Shorts
    broken: Shorts


def _columns(level: SubtreeLevel, before: Forest, after: Forest, released: Longs) -> _Columns:
    shape = (len(before), len(level.label))
    held, shown = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    levels, broken = np.zeros(shape, np.int16), np.zeros(shape, np.int16)

    record, at = np.repeat(np.arange(len(before)), np.diff(before.offsets)), level.paths_of(before)
    record, at, few = record[at >= 0], at[at >= 0], at >= 0
    held[record, at] = True
    trees = (before.offsets, before.parent, before.label, after.offsets, after.parent, after.label)
    lost = node_losses(*trees, released, label_parents(before.classes))
    levels[record, at], broken[record, at] = lost[0][few], lost[1][few]

    record, at = _records_of(after, released), level.paths_of(after)
    known = (at >= 0) & (record >= 0)
    shown[record[known], at[known]] = True
    return _Columns(held, shown, levels, broken)


def _records_of(after: Forest, released: Longs) -> Longs:
    """Return for every node of a release the record of the input that its record was made of; -1 if it is none."""
    source = np.full(len(after) + 1, -1, np.int64)
    source[released] = np.arange(len(released))
    source[-1] = -1  # where records that were not released have written to
    return np.repeat(source[:-1], np.diff(after.offsets))


def _above(forest: Forest) -> Longs:
    """Return the node above every node, counted over the whole forest; -1 at the top."""
    base = np.repeat(forest.offsets[:-1], np.diff(forest.offsets))
    return np.where(forest.parent < 0, -1, forest.parent + base).astype(np.int64)


def _path_ids(forest: Forest) -> tuple[Longs, Longs, Longs]:
    """Return the number of every node's root path, and of every path the one above it (-1: none) and its label."""
    depth, over = depths(forest.offsets, forest.parent), _above(forest)
    labels = len(forest.classes)
    out = np.zeros(forest.nodes, np.int64)
    all_keys: list[Longs] = [np.empty(0, np.int64)]
    count = 0
    for level in range(int(depth.max(initial=-1)) + 1):
        here = np.flatnonzero(depth == level)
        on = np.full(len(here), -1, np.int64) if level == 0 else out[over[here]]
        keys, ids = np.unique((on + 1) * labels + forest.label[here], return_inverse=True)
        out[here] = ids + count
        all_keys.append(keys)
        count += len(keys)
    found = np.concatenate(all_keys)
    return out, found // labels - 1, found % labels


def _mined(before: Forest, level: int, mapping: Ints, need: int, most_nodes: int) -> SubtreeLevel:
    """Return the frequent subtrees of one level."""
    read = before.relabel(mapping)
    own, above, label = _path_ids(read)
    frequent = np.flatnonzero(np.bincount(own, minlength=len(above)) >= need)
    number = np.full(len(above) + 1, -1, np.int32)  # one more for the path above the first ones: -1
    number[frequent] = np.arange(len(frequent))
    parent = number[above[frequent]]
    deep = np.zeros(len(above), np.int32)
    deep[own] = depths(read.offsets, read.parent)
    bound, closed = most_nodes, []
    if len(frequent):
        held = np.zeros((len(before), len(frequent)), np.bool_)
        at = number[own]
        held[np.repeat(np.arange(len(read)), np.diff(read.offsets))[at >= 0], at[at >= 0]] = True
        bound = _bound(held, need, most_nodes)
        up = parent.tolist()
        sets = _frequent_sets(held, need, bound)
        # In order, so that what begins alike is looked up together.
        closed = sorted(sorted(held) for held in sets if all(up[i] < 0 or up[i] in held for i in held))
    starts = np.cumsum([0, *map(len, closed)]).astype(np.int64)
    paths = np.array([i for held in closed for i in held], np.int32)
    return SubtreeLevel(level, mapping, label[frequent].astype(np.int32), parent, deep[frequent], starts, paths, bound)


def _bound(held: Flags, need: int, most_nodes: int) -> int:
    """Return the largest size with at most MOST_SETS item sets (Kruskal and Katona, from frequent pairs)."""
    ones: Floats = held.astype(np.float32)
    together = ones.T @ ones
    pairs = (int(np.sum(together >= need)) - held.shape[1]) // 2
    bound = 2
    while bound < most_nodes and (2 * pairs) ** ((bound + 1) / 2) / factorial(bound + 1) <= MOST_SETS:
        bound += 1
    return min(bound, most_nodes)


def _frequent_sets(held: Flags, need: int, most: int) -> list[frozenset[int]]:
    """Return all sets of up to `most` columns that at least `need` rows have together."""
    # Not at the top: mlxtend brings pandas, scipy and matplotlib along, which no other part of the package needs.
    import pandas as pd
    from mlxtend.frequent_patterns import fpgrowth

    # Half a record less, so that rounding cannot turn `need` records into one more.
    found: Mapping[str, Any] = fpgrowth(pd.DataFrame(held), min_support=(need - 0.5) / len(held), max_len=most)
    return list(found["itemsets"])

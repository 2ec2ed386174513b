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

from treeanon.arrays import Flags, Floats, Ints, Longs, Shorts
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.kernels.tree.forest import depths
from treeanon.kernels.tree.losses import node_losses, subtree_losses
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
    released, whole = released_as(before, after, kept), len(before)
    if whole > most_records:
        chosen = np.sort(np.random.default_rng(seed).choice(whole, most_records, replace=False))
        before, released = before.take(chosen), released[chosen]
    need = max(ceil(round(min_support * len(before), 9)), 1)
    depth, up = label_depths(before.classes), label_parents(before.classes)
    found = []
    mapping = np.arange(len(depth), dtype=np.int32)
    for level in range(int(depth.max()), -1, -1):
        mapping = np.where(depth[mapping] > level, up[mapping], mapping)
        columns = _columns(before.relabel(mapping), after.relabel(mapping), released, need)
        found.append(_mined(level, columns, need, most_nodes))
    levels = tuple(reversed(found))
    frequent = sum(level.before for level in levels)
    shown, distance = sum(level.after for level in levels), sum(level.distance for level in levels)
    return MiningLoss(
        1 - shown / frequent if frequent else 0.0,
        distance / frequent if frequent else 0.0,
        levels,
        len(before),
        whole,
        min_support,
    )


@dataclass(frozen=True)
class _Columns:
    """Frequent root paths of one level: their holders, their fate, and the path above each (-1: none)."""

    held: Flags
    shown: Flags
    levels: Shorts
    broken: Shorts
    parent: Ints
    relations: Ints


def _columns(before: Forest, after: Forest, released: Longs, need: int) -> _Columns:
    paths, above = _path_ids([before, after])
    own, other = paths[: before.nodes], paths[before.nodes :]
    support = np.bincount(own, minlength=len(above))
    frequent = np.flatnonzero(support >= need)
    item = np.full(len(above) + 1, -1, np.int32)  # one more for the path above the first ones: -1
    item[frequent] = np.arange(len(frequent))
    shape = (len(before), len(frequent))
    held, shown = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    levels, broken = np.zeros(shape, np.int16), np.zeros(shape, np.int16)

    record, at = np.repeat(np.arange(len(before)), np.diff(before.offsets)), item[own]
    record, at, few = record[at >= 0], at[at >= 0], at >= 0
    held[record, at] = True
    trees = (before.offsets, before.parent, before.label, after.offsets, after.parent, after.label)
    lost = node_losses(*trees, released, label_parents(before.classes))
    levels[record, at], broken[record, at] = lost[0][few], lost[1][few]

    source = np.full(len(after) + 1, -1, np.int64)
    source[released] = np.arange(len(released))
    source[-1] = -1  # where records that were not released have written to
    record, at = np.repeat(source[:-1], np.diff(after.offsets)), item[other]
    known = (at >= 0) & (record >= 0)
    shown[record[known], at[known]] = True

    deep = np.zeros(len(above), np.int32)
    deep[own] = depths(before.offsets, before.parent)
    return _Columns(held, shown, levels, broken, item[above[frequent]], deep[frequent])


def _path_ids(forests: Sequence[Forest]) -> tuple[Longs, Longs]:
    """Return the number of every node's root path over all forests, and the path above each (-1: none)."""
    depth = np.concatenate([depths(forest.offsets, forest.parent) for forest in forests])
    label = np.concatenate([forest.label for forest in forests]).astype(np.int64)
    parent, start = [], 0
    for forest in forests:
        base = np.repeat(forest.offsets[:-1], np.diff(forest.offsets)) + start
        parent.append(np.where(forest.parent < 0, -1, forest.parent + base))
        start += forest.nodes
    over = np.concatenate(parent)
    labels = len(forests[0].classes)
    out = np.zeros(len(label), np.int64)
    above: list[Longs] = [np.empty(0, np.int64)]
    count = 0
    for level in range(int(depth.max(initial=-1)) + 1):
        here = np.flatnonzero(depth == level)
        on = np.full(len(here), -1, np.int64) if level == 0 else out[over[here]]
        keys, ids = np.unique((on + 1) * labels + label[here], return_inverse=True)
        out[here] = ids + count
        above.append(keys // labels - 1)
        count += len(keys)
    return out, np.concatenate(above)


def _mined(level: int, columns: _Columns, need: int, most_nodes: int) -> MiningLevel:
    """Return the counts of the frequent subtrees of one level."""
    if not columns.held.shape[1]:
        return MiningLevel(level, 0, 0, 0.0, most_nodes)
    bound = _bound(columns.held, need, most_nodes)
    parent = columns.parent.tolist()
    sets = _frequent_sets(columns.held, need, bound)
    closed = [sorted(held) for held in sets if all(parent[i] < 0 or parent[i] in held for i in held)]
    starts = np.cumsum([0, *map(len, closed)]).astype(np.int64)
    items = np.array([i for held in closed for i in held], np.int32)
    holders_of = np.cumsum([0, *columns.held.sum(axis=0)]).astype(np.int64)
    holders = np.nonzero(columns.held.T)[1].astype(np.int32)
    lost = (columns.levels, columns.broken, columns.relations)
    support, distance = subtree_losses(starts, items, holders_of, holders, columns.held, columns.shown, *lost)
    return MiningLevel(level, len(closed), int(np.sum(support >= need)), float(distance.sum()), bound)


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

"""Combinations of labels and relations that too few records of a forest hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from treeanon.algorithms.tree.default.indexed_forest import IndexedForest
from treeanon.algorithms.tree.default.pair_support import PairSupports, Relation
from treeanon.algorithms.tree.default.published_labels import PublishedLabels
from treeanon.algorithms.tree.default.shared_state import WalkState
from treeanon.forest import Forest
from treeanon.privacy import Guarantee

_MOST_RARE = 2_000


@dataclass(frozen=True)
class Combination:
    """Labels, and relations of some of them, that fewer than k records hold."""

    labels: tuple[int, ...]
    relations: tuple[Relation, ...] = ()


def rare_combinations(forest: Forest, guarantee: Guarantee) -> list[Combination]:
    """Combinations of up to m labels and n relations that fewer than k records hold, the smallest ones only."""
    indexed = IndexedForest.as_is(forest, guarantee)
    held = indexed.held
    single = np.flatnonzero((held > 0) & (held < guarantee.k))
    if len(single) or guarantee.m < 2:
        return [Combination((label,)) for label in single.tolist() if label]
    facts = PairSupports(indexed, guarantee, deep=guarantee.m > 2)
    labels = np.flatnonzero(facts.number >= 0).tolist()
    found = []
    for a, b in np.argwhere(np.triu((facts.shared > 0) & (facts.shared < guarantee.k), 1)).tolist():
        found.append(Combination((labels[a], labels[b])))
    for kind in range(indexed.kinds if guarantee.n else 0):
        table = facts.related[:, :, kind]
        for a, b in np.argwhere(np.triu((table > 0) & (table < guarantee.k), 1)).tolist():
            found.append(Combination((labels[a], labels[b]), ((labels[a], labels[b], kind),)))
    if found or guarantee.m == 2:
        return found
    return _larger(labels, WalkState(indexed, guarantee, facts))


def _larger(labels: Iterable[int], workshop: WalkState) -> list[Combination]:
    """Rare combinations of three labels or more, where no smaller one is rare."""
    partition = PublishedLabels(workshop)
    for label in labels:
        partition.place(label)
    node, found, slots = partition.node.tolist(), [], partition.slots
    for slot in range(slots):
        others = np.flatnonzero(partition.shared[slot, slot + 1 : slots]).astype(np.int32) + np.int32(slot + 1)
        for rare in partition.rare_sets(slot, others, _MOST_RARE):
            relations = ((min(node[a], node[b]), max(node[a], node[b]), kind) for a, b, kind in rare.relations)
            found.append(Combination(tuple(node[at] for at in rare.labels), tuple(relations)))
    return found

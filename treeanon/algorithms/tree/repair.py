"""Disassociates until no combination of relations is rare: what FixStructure of TREE does, by this search's counting.

TREE's Algorithm 3 takes one combination at a time and breaks its rarest relation. Here all rare combinations are
gathered first, and the relations that end most of them for the fewest records are broken, from the top of the class
tree down; as that can lower other supports (SPEC: repeat to a fixpoint), everything is counted anew until none is rare.
"""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.tree.facts import Facts
from treeanon.algorithms.tree.indexed import Indexed
from treeanon.algorithms.tree.partition import Partition
from treeanon.algorithms.tree.rare import blamed
from treeanon.algorithms.tree.workshop import Workshop
from treeanon.forest import Forest
from treeanon.privacy import Guarantee

Pair = tuple[int, int]

_MOST_RARE = 20_000
"""So many rare combinations of a label are gathered at once; more wait for the next round."""


def repair(forest: Forest, guarantee: Guarantee, *, most: int | None = None) -> tuple[list[Pair], Forest] | None:
    """The ordered pairs of labels to disassociate so that no relation singles anyone out, and the forest after it.

    None if labels alone do, or if it would take more than `most` relations of records.
    """
    pairs: list[Pair] = []
    spent = 0
    while True:
        chosen = rare_relations(forest, guarantee)
        if chosen is None:
            return None
        if not chosen:
            return pairs, forest
        spent += sum(chosen.values())
        if most is not None and spent > most:
            return None
        new = top_down(forest, list(chosen))
        pairs += new
        upper, lower = np.array(new, np.int32).T
        forest = forest.disassociate_labels(np.ascontiguousarray(upper), np.ascontiguousarray(lower))


def top_down(forest: Forest, pairs: list[Pair]) -> list[Pair]:
    """Pairs of labels in the order that keeps more: from the top of the class tree down."""
    class_of = forest.classes.class_of
    return sorted(pairs, key=lambda pair: (int(class_of[pair[0]]), int(class_of[pair[1]]), pair))


def rare_relations(forest: Forest, guarantee: Guarantee) -> dict[Pair, int] | None:
    """Relations (upper, lower) to be broken, with the records that hold each; None if no relation is to blame."""
    if guarantee.n == 0 or guarantee.m < 2:
        return {}
    indexed = Indexed.as_is(forest, guarantee)
    if (indexed.held[1:][indexed.held[1:] > 0] < guarantee.k).any():
        return None
    facts = Facts(indexed, guarantee, deep=guarantee.m > 2)
    labels = np.flatnonzero(facts.number >= 0)
    if ((facts.shared > 0) & (facts.shared < guarantee.k)).any():
        return None
    class_of = forest.classes.class_of
    rare = np.argwhere(np.triu((facts.related > 0) & (facts.related < guarantee.k)))
    if len(rare):
        chosen = {}
        for a, b in rare.tolist():
            x, y = int(labels[a]), int(labels[b])
            pair = (x, y) if _is_above(forest, int(class_of[x]), int(class_of[y])) else (y, x)
            chosen[pair] = int(facts.related[a, b])
        return chosen
    if guarantee.m == 2:
        return {}
    partition = Partition(Workshop(indexed, guarantee, facts))
    for label in labels.tolist():
        partition.place(label)
    return _blamed(forest, partition)


def _is_above(forest: Forest, upper: int, lower: int) -> bool:
    parents = forest.classes.parents
    while lower >= 0:
        lower = parents[lower]
        if lower == upper:
            return True
    return False


def _blamed(forest: Forest, partition: Partition) -> dict[Pair, int] | None:
    """Relations that together end all rare combinations, and the records that hold each."""
    combinations: list[tuple[Pair, ...]] = []
    count = len(partition.node)
    for slot in range(count):
        others = np.flatnonzero(partition.shared[slot, slot + 1 : count]).astype(np.int32) + np.int32(slot + 1)
        combinations += [rare.relations for rare in partition.rare_sets(slot, others, _MOST_RARE)]
    pairs = blamed(partition.related, combinations)
    if pairs is None:
        return None
    class_of = forest.classes.class_of
    chosen = {}
    for a, b in pairs:
        x, y = partition.node[a], partition.node[b]
        upper_first = _is_above(forest, int(class_of[x]), int(class_of[y]))
        chosen[(x, y) if upper_first else (y, x)] = int(partition.related[a, b])
    return chosen

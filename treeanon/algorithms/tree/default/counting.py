"""What a search asks of the engine that holds the records: one small protocol, and the engine of this machine's memory.

Searches propose cuts on what they can see; whether a cut holds, and which relations of it are rare, is counted over all
records, and relations are broken in all of them. Another engine (records on many machines) has to offer just this.

Disassociates until no combination of relations is rare: what FixStructure does (O. Gkountouna and M. Terrovitis,
"Anonymizing collections of tree-structured data", IEEE TKDE 2015, Section III-C), by this search's counting.

Their Algorithm 3 takes one combination at a time and breaks its rarest relation. Here all rare combinations are
gathered first, and the relations that end most of them for the fewest records are broken, from the top of the class
tree down; as that can lower other supports (until nothing changes), everything is counted anew until none is rare.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, TypeVar

import numpy as np

from treeanon.algorithms.tree.default.indexed_forest import IndexedForest
from treeanon.algorithms.tree.default.pair_support import PairSupports, Relation, blamed
from treeanon.algorithms.tree.default.published_labels import PublishedLabels
from treeanon.algorithms.tree.default.shared_state import WalkState
from treeanon.arrays import Ints
from treeanon.forest import Forest
from treeanon.privacy import Guarantee

Pair = tuple[int, int]
"""An upper and a lower label."""

_MOST_RARE = 20_000
"""So many rare combinations of a label are gathered at once; more wait for the next round."""


class Counting(Protocol):
    """All records of a collection, wherever they lie."""

    @classmethod
    def build(cls, forest: Forest) -> Self:
        """Return the engine over the records of a forest."""

    def project(self, mapping: Ints, withheld: Sequence[str] = ()) -> Self:
        """Return the records with label x published as mapping[x], and without the classes that are withheld."""

    def count(self, guarantee: Guarantee) -> dict[Pair, int] | None:
        """Return relations to be broken, with the records that hold each; none if the guarantee holds.

        None if labels alone break it.
        """

    def move(self, pairs: Sequence[Pair]) -> Self:
        """Return the records after disassociating pairs of labels, in order."""


class LocalCounting:
    """The engine of this machine: a forest in memory."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest

    @classmethod
    def build(cls, forest: Forest) -> LocalCounting:
        """Return the engine over the records of a forest."""
        return cls(forest)

    def project(self, mapping: Ints, withheld: Sequence[str] = ()) -> LocalCounting:
        """Return the records with label x published as mapping[x], and without the classes that are withheld."""
        return LocalCounting(self.forest.without(withheld).relabel(mapping))

    def count(self, guarantee: Guarantee) -> dict[Pair, int] | None:
        """Return relations to be broken, with the records that hold each; None if labels alone break the guarantee."""
        return rare_relations(self.forest, guarantee)

    def move(self, pairs: Sequence[Pair]) -> LocalCounting:
        """Return the records after disassociating pairs of labels, in order."""
        upper, lower = np.array(pairs, np.int32).reshape(-1, 2).T
        return LocalCounting(self.forest.disassociate_labels(np.ascontiguousarray(upper), np.ascontiguousarray(lower)))


def rare_relations(forest: Forest, guarantee: Guarantee) -> dict[Pair, int] | None:
    """Return relations (upper, lower) to be broken, with the records that hold each; None if no relation is to
    blame.
    """
    if guarantee.n == 0 or guarantee.m < 2:
        return {}
    indexed = IndexedForest.as_is(forest, guarantee)
    if (indexed.held[1:][indexed.held[1:] > 0] < guarantee.k).any():
        return None
    pair_supports = PairSupports(indexed, guarantee, deep=guarantee.m > 2)
    labels = np.flatnonzero(pair_supports.number >= 0)
    if ((pair_supports.shared > 0) & (pair_supports.shared < guarantee.k)).any():
        return None
    related = pair_supports.related[:, :, 0]
    rare = np.argwhere(np.triu((related > 0) & (related < guarantee.k)))
    if len(rare):
        return {_pair(labels[a], labels[b]): int(related[a, b]) for a, b in rare.tolist()}
    if guarantee.m == 2:
        return {}
    partition = PublishedLabels(WalkState(indexed, guarantee, pair_supports))
    for label in labels.tolist():
        partition.place(label)
    return _blamed(partition)


def _pair(x: int, y: int) -> Pair:
    """Return the upper and the lower of two related labels: classes come after those they lie under, so labels do
    too.
    """
    return (int(x), int(y)) if x < y else (int(y), int(x))


def _blamed(partition: PublishedLabels) -> dict[Pair, int] | None:
    """Return relations that together end all rare combinations, and the records that hold each."""
    combinations: list[tuple[Relation, ...]] = []
    count = partition.slots
    for slot in range(count):
        others = np.flatnonzero(partition.shared[slot, slot + 1 : count]).astype(np.int32) + np.int32(slot + 1)
        combinations += [rare.relations for rare in partition.rare_sets(slot, others, _MOST_RARE)]
    pairs = blamed(partition.related, combinations)
    if pairs is None:
        return None
    node = partition.node
    return {_pair(node[a], node[b]): int(partition.related[a, b, d]) for a, b, d in pairs}


Records = TypeVar("Records", bound=Counting)


def repair(records: Records, guarantee: Guarantee) -> tuple[list[Pair], Records] | None:
    """Return the ordered pairs of labels to disassociate so that no relation singles anyone out, and the records after
    it.

    None if labels alone do.
    """
    pairs: list[Pair] = []
    while True:
        chosen = records.count(guarantee)
        if chosen is None:
            return None
        if not chosen:
            return pairs, records
        # Labels of a class tree's upper classes have the smaller numbers: this order keeps more.
        new = sorted(chosen)
        pairs += new
        records = records.move(new)

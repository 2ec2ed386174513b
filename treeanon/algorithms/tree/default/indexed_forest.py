"""A forest with the places of every value, as the walks of the default search read it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.arrays import Ints, Longs, Words
from treeanon.forest import Forest
from treeanon.kernels.tree.label_splits import places, supports
from treeanon.kernels.tree.record_sets import distinct_records
from treeanon.privacy import Guarantee
from treeanon.privacy.guarantee import roles_of


@dataclass(frozen=True)
class IndexedForest:
    """A forest of the known classes, with the places of every value: shared by all walks, never changed."""

    offsets: Longs
    parent: Ints
    label: Ints
    record: Ints
    order: Longs
    starts: Longs
    above: Ints
    end: Ints
    held: Ints
    nodes: Longs
    types: int = 0
    kinds: int = 1

    @classmethod
    def of(cls, forest: Forest, guarantee: Guarantee) -> IndexedForest:
        """Return the index of a forest; nodes of classes that an attacker is not taken to know are passed over."""
        return cls._of(forest, guarantee, generalize=True)

    @classmethod
    def as_is(cls, forest: Forest, guarantee: Guarantee) -> IndexedForest:
        """Return the index of a forest whose labels are taken as they are, with nothing above or below them."""
        return cls._of(forest, guarantee, generalize=False)

    @classmethod
    def _of(cls, forest: Forest, guarantee: Guarantee, *, generalize: bool) -> IndexedForest:
        known, classes = roles_of(forest, guarantee).known, forest.classes
        forest = forest.without([name for i, name in enumerate(classes.names) if i not in known and i >= classes.types])
        above, end = label_tree(forest)
        if not generalize:
            above, end = np.full_like(above, -1), np.arange(1, len(above) + 1, dtype=np.int32)
        held, nodes = supports(forest.offsets, forest.label, above)
        # Objects are no labels: what is known of them is what they hold.
        held[1 : classes.types + 1], nodes[1 : classes.types + 1] = 0, 0
        record = np.repeat(np.arange(len(forest), dtype=np.int32), np.diff(forest.offsets))
        order, starts = places(forest.label, len(above))
        trees = forest.offsets, forest.parent, forest.label
        return cls(*trees, record, order, starts, above, end, held, nodes, classes.types, classes.kinds)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def records_of(self, label: int, marks: Words) -> Ints:
        """Return the records that hold a label or something below it, ascending."""
        nodes = self.order[self.starts[label] : self.starts[self.end[label]]]
        return distinct_records(self.record[nodes], marks)


def label_tree(forest: Forest) -> tuple[Ints, Ints]:
    """Return for every label its parent in the hierarchy (-1: a class root, or `*`) and the end of its subtree."""
    above, end = np.full(len(forest.classes), -1, np.int32), np.arange(1, len(forest.classes) + 1, dtype=np.int32)
    for first, hierarchy in zip(forest.classes.first, forest.classes.hierarchies, strict=False):
        codes = slice(first, first + len(hierarchy))
        above[codes] = np.where(hierarchy.parent < 0, -1, hierarchy.parent + first)
        end[codes] = hierarchy.end + first
    return above, end

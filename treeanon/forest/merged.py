"""Trees of whole objects made the merged trees of the same records, as the published searches and others need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.errors import DataError
from treeanon.forest.classes import Classes
from treeanon.forest.planting import Planter
from treeanon.forest.tables import Batch, ContainerRows, MovedNodes

if TYPE_CHECKING:
    from treeanon.forest.forest import Forest
    from treeanon.schema.layout import PublishedClass


def has_moved_nodes(forest: Forest) -> bool:
    """Return whether a node stands where no object holds its class: then these are no trees of whole objects."""
    return not bool(_Placed(forest).in_place.all())


def merged(forest: Forest) -> Forest:
    """Return the merged trees of the records of a forest: those that reading them by a schema of merged trees gives.

    What stands out of place, as in releases of merged trees, is where it was.

    >>> import treeanon as ta
    >>> lines = ['version = 1', '[input]', 'format = "ndjson"', 'objects = "whole"']
    >>> lines += ['[[class]]', 'name = "ward"', 'path = "visits[].ward"', '[[class]]', 'name = "ill"']
    >>> schema = ta.Schema.loads("\\n".join([*lines, 'path = "visits[].ill"']))
    >>> visits = [["visits[]", "*", [["ward", "W", []], ["ill", ill, []]]] for ill in ("Flu", "Acne")]
    >>> list(merged(ta.Forest.from_records(schema, [visits])).records())
    [[['ward', 'W', [['ill', 'Acne', []], ['ill', 'Flu', []]]]]]
    """
    schema = forest.schema.merged
    layout, old = schema.layout, forest.classes
    placed = _Placed(forest)
    index = [layout.class_index(name) for name in old.names[old.types :]]
    new = np.array([*[-1] * old.types, *index, -1], np.int32)
    hierarchies = [old.hierarchies[old.index(held.name)] for held in layout.classes]
    classes = Classes(
        tuple(held.name for held in layout.classes), tuple(held.parent for held in layout.classes), tuple(hierarchies)
    )
    tables = []
    for container in layout.containers:
        at = container.index
        size = len(forest) if not at else int(placed.counts[at])
        owner = placed.owners[at] if at else np.zeros(size, np.int32)
        codes = {held: np.full(size, -1, np.int32) for held in container.held}
        for held, column in codes.items():
            nodes = placed.nodes_of(old.index(layout.classes[held].name))
            column[placed.parent_row[nodes]] = placed.code[nodes]
        tables.append(ContainerRows(owner, codes))
    batch = Batch(tuple(tables), tuple(() for _ in layout.classes), placed.strays(new, layout.classes))
    planter = Planter(layout, batch.cells, 1)
    firsts = classes.first.tolist()
    labels = [
        np.append(np.arange(len(each), dtype=np.int32) + first, -1).astype(np.int32)
        for each, first in zip(hierarchies, firsts, strict=False)
    ]
    planter.plant(batch, labels, None)
    made: Forest = type(forest)(schema, classes, *planter.finish(), forest.report)
    return made


def comparable(before: Forest, after: Forest) -> Forest:
    """Return the trees to compare a release with: merged ones where it is of these."""
    return merged(before) if before.classes.types and not after.classes.types else before


class _Placed:
    """The nodes of a forest of whole objects as rows of containers: objects are rows, values are in them.

    `row` has of every object its number among those of its container, and of a value that of its object (of the record
    itself the record's).
    """

    def __init__(self, forest: Forest) -> None:
        self.forest, classes = forest, forest.classes
        self.record = np.repeat(np.arange(len(forest), dtype=np.int32), np.diff(forest.offsets))
        self.parent: Longs = np.where(forest.parent < 0, -1, forest.offsets[:-1][self.record] + forest.parent)
        self.own: Ints = classes.class_of[forest.label]
        above = np.where(self.parent < 0, -1, np.append(self.own, -1)[self.parent])
        declared = np.array([*classes.parents, -1], np.int32)[self.own]
        self.in_place: Flags = (above == declared) | (self.own < 0)
        self.code: Ints = (forest.label - np.append(classes.first[:-1], 0)[self.own]).astype(np.int32)
        # The types are the first classes, each of the container after its number.
        is_object = (self.own >= 0) & (self.own < classes.types)
        if not self.in_place[is_object].all():
            raise DataError("the trees have objects where the schema has none of their type")
        self.counts = np.bincount(self.own[is_object] + 1, minlength=classes.types + 1)
        self.row = self.record.copy()
        for kind in range(classes.types):
            nodes = np.flatnonzero(self.own == kind)
            self.row[nodes] = np.arange(len(nodes), dtype=np.int32)
        self.parent_row: Ints = np.where(self.parent < 0, self.record, np.append(self.row, -1)[self.parent])
        self.owners = [np.zeros(0, np.int32)]
        self.owners += [self.parent_row[self.own == kind].astype(np.int32) for kind in range(classes.types)]
        self._note_second_values(is_object)

    def _note_second_values(self, is_object: Flags) -> None:
        """Take for out of place what cannot be a field of its object, as that has another value of the class."""
        nodes = np.flatnonzero(self.in_place & ~is_object & (self.own >= 0))
        places = np.stack([self.own[nodes].astype(np.int64), self.parent_row[nodes].astype(np.int64)])
        first = np.unique(places, axis=1, return_index=True)[1]
        self.is_value = np.zeros(len(self.own), bool)
        self.is_value[nodes[first]] = True
        self.is_object = is_object

    def nodes_of(self, index: int) -> Longs:
        """Return the values of a class that are fields of their objects."""
        return np.flatnonzero(self.is_value & (self.own == index))

    def strays(self, new: Ints, held: tuple[PublishedClass, ...]) -> MovedNodes:
        """Return all other nodes, by the new numbers of classes."""
        nodes = np.flatnonzero(~self.is_value & ~self.is_object)
        number = np.full(len(self.own) + 1, -1, np.int32)
        number[nodes] = np.arange(len(nodes), dtype=np.int32)
        parent = number[self.parent[nodes]]
        under = np.full(len(nodes), -1, np.int32)
        row = self.record[nodes].astype(np.int32)
        for at, node in enumerate(nodes.tolist()):
            if parent[at] >= 0 or self.own[node] < 0:
                continue
            above = int(self.parent[node])
            if above >= 0 and self.is_value[above]:
                under[at], row[at] = new[self.own[above]], self.parent_row[above]
            elif self.in_place[node]:
                under[at], row[at] = self._beside(node, held, int(new[self.own[node]]))
        return MovedNodes(new[self.own[nodes]], self.code[nodes], parent, under, row)

    def _beside(self, node: int, held: tuple[PublishedClass, ...], own: int) -> tuple[int, int]:
        """Return what a second value of a class lies under in merged trees, and the row that holds that."""
        under = held[own].parent
        if under < 0:
            return -1, int(self.record[node])
        classes, row = self.forest.classes, int(self.parent_row[node])
        at = classes.parents[int(self.own[node])] + 1
        while at > held[under].container:
            row = int(self.owners[at][row])
            at = classes.parents[at - 1] + 1
        return under, row

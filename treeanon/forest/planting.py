"""Trees made from container rows and labels, block by block, each written to its place in the forest.

Also trees of whole objects made the merged trees of the same records, as the published searches and others need them.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from treeanon.arrays import Flags, Ints, Longs, unique_values
from treeanon.errors import DataError
from treeanon.forest.classes import Classes
from treeanon.forest.tables import Batch, ContainerRows, MovedNodes
from treeanon.kernels.jit import read_only
from treeanon.kernels.tree.build import build_trees, close_gaps
from treeanon.kernels.tree.forest import gather, group_by_record
from treeanon.kernels.tree.objects import canonical_trees
from treeanon.schema import Layout

if TYPE_CHECKING:
    from treeanon.forest.forest import Forest
    from treeanon.schema.layout import PublishedClass


_BLOCK_RECORDS = 5_000

Trees = tuple[Longs, Ints, Ints]
"""Offsets, parents and labels."""


class Planter:
    """Builder of the trees of batches, in parallel; arrays are allocated once, for all nodes before merging."""

    def __init__(self, layout: Layout, cells: int, jobs: int) -> None:
        self.layout, self.jobs, self.types = layout, jobs, layout.types
        self.rank = np.empty(0, np.int32)
        self.parent, self.label = np.empty(cells, np.int32), np.empty(cells, np.int32)
        self.filled = 0
        self.starts: list[int] = []
        self.parts: list[Longs | Future[Longs]] = []
        self.pool = ThreadPoolExecutor(jobs) if jobs > 1 else None

    def plant(self, batch: Batch, labels: list[Ints], apart: tuple[Batch, list[Ints]] | None) -> None:
        """Make the trees of a batch; `labels[c]` maps class c's codes, and ends with -1 for code -1."""
        if apart is not None and batch.order is not None:
            both = _joined(self._grown(batch, labels), self._grown(*apart))
            self._put(gather(*both, batch.order), batch.cells)
        elif batch.is_sorted:
            for block in batch.blocks(self.layout, _BLOCK_RECORDS):
                start = self._reserve(block.cells)
                if self.pool is None:
                    self.parts.append(self._build(block, labels, start))
                else:
                    self.parts.append(self.pool.submit(self._build, block, labels, start))
        else:
            self._put(self._grown(batch, labels), batch.cells)

    def _reserve(self, cells: int) -> int:
        start = self.filled
        self.starts.append(start)
        self.filled += cells
        return start

    def _put(self, trees: Trees, cells: int) -> None:
        offsets, parent, label = trees
        start = self._reserve(cells)
        self.parent[start : start + len(parent)] = parent
        self.label[start : start + len(label)] = label
        self.parts.append(offsets)

    def _grown(self, batch: Batch, labels: list[Ints]) -> Trees:
        return canonical_trees(*assemble(batch, self.layout, labels), self.rank, self.types)

    def _build(self, block: Batch, labels: list[Ints], start: int) -> Longs:
        """Write the trees of sorted rows from `start` on, and return their offsets."""
        layout, nothing = self.layout, np.empty(0, np.int32)
        held = [(c, x.container, _held_above(layout, c)) for c, x in enumerate(layout.classes) if x.container >= 0]
        number = {c: i for i, (c, _, _) in enumerate(held)} | {-1: -1}
        columns = [block.tables[container].codes[c] for c, container, _ in held]
        owners = [table.owner if x else nothing for x, table in enumerate(block.tables)]
        maps = [labels[c] for c, _, _ in held]
        arrays = (
            np.concatenate([nothing, *owners]),
            _firsts(owners),
            np.array([c.parent for c in layout.containers], np.int32),
            np.concatenate([nothing, *columns]),
            _firsts(columns),
            np.array([container for _, container, _ in held], np.int32),
            np.array([number[above] for _, _, above in held], np.int32),
            np.concatenate([nothing, *maps]),
            _firsts(maps),
        )
        parent, label = self.parent[start:], self.label[start:]
        offsets = build_trees(block.records, parent, label, *read_only(*arrays))
        nodes = offsets[-1]
        offsets, merged_parent, merged_label = canonical_trees(
            offsets, parent[:nodes], label[:nodes], self.rank, self.types
        )
        parent[: offsets[-1]], label[: offsets[-1]] = merged_parent, merged_label
        return offsets

    def finish(self) -> Trees:
        """Return the offsets, parents and labels of all trees."""
        if self.pool is not None:
            self.pool.shutdown()
        parts = [part.result() if isinstance(part, Future) else part for part in self.parts]
        sizes = np.array([part[-1] for part in parts], np.int64)
        stop = close_gaps(self.parent, self.label, np.array(self.starts, np.int64), sizes)
        before = np.cumsum(sizes) - sizes
        offsets = [part[1:] + start for part, start in zip(parts, before.tolist(), strict=True)]
        return np.concatenate([np.zeros(1, np.int64), *offsets]), self.parent[:stop], self.label[:stop]


def _held_above(layout: Layout, index: int) -> int:
    """Return the nearest class up the class tree that rows hold; -1: none."""
    above = layout.classes[index].parent
    while above >= 0 and layout.classes[above].container < 0:
        above = layout.classes[above].parent
    return above


def _firsts(columns: list[Ints]) -> Longs:
    return np.cumsum([0, *map(len, columns)]).astype(np.int64)


def _joined(first: Trees, second: Trees) -> Trees:
    """Return the trees of the first, then those of the second."""
    offsets = np.concatenate([first[0], second[0][1:] + first[0][-1]])
    return offsets, np.concatenate([first[1], second[1]]), np.concatenate([first[2], second[2]])


def assemble(batch: Batch, layout: Layout, labels: list[Ints]) -> Trees:
    """Return a batch's trees, not yet merged; `labels[c]` maps class c's codes, and ends with -1 for code -1.

    A node's parent is the nearest class up the class tree that is present in its own row or the rows that own it.
    """
    record_of = _record_of_rows(batch, layout)
    anchors: list[Ints] = []
    record_parts: list[Ints] = []
    parent_parts: list[Ints] = []
    label_parts: list[Ints] = []
    count = 0
    for index, published in enumerate(layout.classes):
        container = published.container
        size = len(record_of[max(container, 0)])
        if published.parent < 0:
            above = np.full(size, -1, np.int32)
        else:
            above = _lift(
                anchors[published.parent], layout, batch, layout.classes[published.parent].container, container
            )
        column = batch.tables[container].codes.get(index) if container >= 0 else None
        if column is None:
            anchors.append(above)
            continue
        found = labels[index][column]
        present = found >= 0
        numbers = (np.cumsum(present) + (count - 1)).astype(np.int32)
        anchors.append(np.where(present, numbers, above))
        record_parts.append(record_of[container][present])
        parent_parts.append(above[present])
        label_parts.append(found[present])
        count += len(label_parts[-1])
    if len(batch.moved.held):
        for parts, extra in zip(
            (record_parts, parent_parts, label_parts),
            _moved_nodes(batch, layout, labels, anchors, record_of, count),
            strict=True,
        ):
            parts.append(extra)
    nothing = np.empty(0, np.int32)
    record, parent, label = (np.concatenate([nothing, *parts]) for parts in (record_parts, parent_parts, label_parts))
    return group_by_record(record, parent, label, batch.records)


def _record_of_rows(batch: Batch, layout: Layout) -> list[Ints]:
    out = [np.arange(batch.records, dtype=np.int32)]
    for container in layout.containers[1:]:
        out.append(out[container.parent][batch.tables[container.index].owner])
    return out


def _lift(anchor: Ints, layout: Layout, batch: Batch, outer: int, inner: int) -> Ints:
    """Return an array over the rows of `outer`, carried to the rows of a container inside it."""
    if outer == inner or inner < 0:
        return anchor
    return _lift(anchor, layout, batch, outer, layout.containers[inner].parent)[batch.tables[inner].owner]


def _moved_nodes(
    batch: Batch, layout: Layout, labels: list[Ints], anchors: list[Ints], record_of: list[Ints], count: int
) -> tuple[Ints, Ints, Ints]:
    moved = batch.moved
    label = np.zeros(len(moved.held), np.int32)
    record = np.zeros(len(moved.held), np.int32)
    parent = np.where(moved.parent >= 0, moved.parent + count, -1).astype(np.int32)
    for held in unique_values(moved.held):
        chosen = moved.held == held
        label[chosen] = labels[held][moved.code[chosen]] if held >= 0 else 0
    top = moved.parent < 0
    for under in unique_values(moved.under[top]):
        chosen = top & (moved.under == under)
        container = layout.classes[under].container if under >= 0 else 0
        rows = moved.row[chosen]
        record[chosen] = record_of[max(container, 0)][rows]
        if under >= 0:
            parent[chosen] = anchors[under][rows]
    return record[_topmost(moved.parent)], parent, label


def _topmost(parent: Ints) -> Ints:
    """Return the topmost ancestor-or-self of every node."""
    above = np.where(parent >= 0, parent, np.arange(len(parent))).astype(np.int32)
    while True:
        higher = above[above]
        if np.array_equal(higher, above):
            return above
        above = higher


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

"""Trees made from container rows and labels, block by block, each written to its place in the forest."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.forest.tables import Batch
from treeanon.kernels.jit import read_only
from treeanon.kernels.tree.build import build_trees, close_gaps
from treeanon.kernels.tree.forest import gather, group_by_record
from treeanon.kernels.tree.objects import canonical_trees
from treeanon.schema import Layout

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

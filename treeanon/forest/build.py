"""From container tables to a forest: dictionaries, the class tree, merging and canonical order."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from treeanon.errors import HierarchyError
from treeanon.forest.classes import Classes
from treeanon.forest.forest import Forest
from treeanon.forest.pseudonyms import pseudonym, pseudonym_key
from treeanon.forest.report import ReadReport
from treeanon.forest.tables import Batch
from treeanon.hierarchy import Flat, Hierarchy
from treeanon.kernels.trees import Ints, Longs, canonical, gather, group_by_record
from treeanon.schema import ClassSpec, Layout, Schema

log = logging.getLogger(__name__)

Trees = tuple[Longs, Ints, Ints]
"""Offsets, parents and labels."""


class ForestBuilder:
    """Collects batches of container tables; `finish` gives the forest in canonical form."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.layout: Layout = schema.layout
        self.batches: list[Batch] = []
        self.report = ReadReport()

    @property
    def records(self) -> int:
        """The number of records so far."""
        return sum(part.records for part in self._parts())

    def _parts(self) -> Iterator[Batch]:
        for batch in self.batches:
            yield batch
            if batch.apart is not None:
                yield batch.apart

    def add(self, batch: Batch) -> None:
        """Takes in the container tables of some records."""
        self.batches.append(self._cleaned(batch))

    def _cleaned(self, batch: Batch) -> Batch:
        """The batch with the texts that are published; those that no record of it uses (a skipped one did) are ""."""
        texts = tuple(self._published(index, batch) for index in range(len(self.layout.classes)))
        apart = None if batch.apart is None else self._cleaned(batch.apart)
        return replace(batch, texts=texts, apart=apart)

    def _published(self, index: int, batch: Batch) -> list[str]:
        spec, texts = self.layout.classes[index].spec, batch.texts[index]
        used = np.zeros(len(texts) + 1, bool)
        for column in self._columns(index, batch):
            used[column] = True
        if not used[:-1].all():
            texts = [text if is_used else "" for text, is_used in zip(texts, used.tolist(), strict=False)]
        if spec.type != "text":
            texts = [text.strip() for text in texts]
        if spec.pseudonym and texts:
            key = pseudonym_key()
            texts = [pseudonym(text, key) if text else "" for text in texts]
        return texts

    def _columns(self, index: int, batch: Batch) -> list[Ints]:
        """All code columns of a class in a batch."""
        container = self.layout.classes[index].container
        moved = batch.moved.code[batch.moved.held == index]
        return [moved] if container < 0 else [moved, batch.tables[container].codes[index]]

    def finish(self, *, show_values: bool = False) -> Forest:
        """The forest of all batches, which are given up on the way.

        Values that a hierarchy does not know are an error, or become the class root where the schema says so; the
        error counts them, and lists them only with `show_values`.
        """
        resolved = [self._resolve(index, show_values) for index in range(len(self.layout.classes))]
        classes = Classes(
            tuple(c.name for c in self.layout.classes),
            tuple(c.parent for c in self.layout.classes),
            tuple(hierarchy for hierarchy, _ in resolved),
        )
        rank = np.arange(len(classes), dtype=np.int32)
        codes = [iter(of_parts) for _, of_parts in resolved]
        firsts = classes.first.tolist()

        def trees(batch: Batch) -> Trees:
            labels = [_labels(next(of_parts), first) for of_parts, first in zip(codes, firsts, strict=False)]
            return canonical(*assemble(batch, self.layout, labels), rank)

        parts = []
        waiting, self.batches = deque(self.batches), []
        while waiting:
            batch = waiting.popleft()
            part = trees(batch)
            if batch.apart is not None and batch.order is not None:
                part = gather(*_joined(part, trees(batch.apart)), batch.order)
            parts.append(part)
        return Forest.of_parts(self.schema, classes, parts, self.report)

    def _resolve(self, index: int, show_values: bool) -> tuple[Hierarchy, list[Ints]]:
        """A class's hierarchy, and for the texts of every part the nodes they stand for (-1: no node)."""
        spec = self.layout.classes[index].spec
        parts = list(self._parts())
        hierarchy = hierarchy_for(spec, chain.from_iterable(part.texts[index] for part in parts))
        codes = [hierarchy.encode(part.texts[index]) for part in parts]
        unknown = Counter[str]()
        for part, found in zip(parts, codes, strict=True):
            strange = [i for i in np.flatnonzero(found < 0).tolist() if part.texts[index][i]]
            if strange:
                column = np.concatenate(self._columns(index, part)) + 1
                times = np.bincount(column, minlength=len(found) + 1)[1:]
                for i in strange:
                    unknown[part.texts[index][i]] += int(times[i])
                found[strange] = 0
        if unknown:
            self._unknown(spec, unknown, show_values)
        return hierarchy, codes

    def _unknown(self, spec: ClassSpec, unknown: Counter[str], show: bool) -> None:
        if spec.on_unknown == "suppress":
            self.report.unknown[spec.name] += unknown.total()
            log.warning("class %r: %d values unknown to its hierarchy became the root", spec.name, len(unknown))
            return
        listed = ": " + ", ".join(map(repr, unknown)) if show else ""
        raise HierarchyError(
            f"class {spec.name!r}: its hierarchy does not know {len(unknown)} distinct values of the data"
            f' ({unknown.total()} occurrences){listed}; complete the hierarchy or set on_unknown = "suppress"'
            + ("" if show else " (--show-values lists them)")
        )


def _labels(codes: Ints, first: int) -> Ints:
    """Labels for codes of a class, with -1 at the end for code -1 (absent)."""
    return np.append(np.where(codes < 0, -1, codes + first), -1).astype(np.int32)


def hierarchy_for(spec: ClassSpec, texts: Iterable[str]) -> Hierarchy:
    """The hierarchy of a class: the one it declares, or the one its builder makes of the values."""
    if isinstance(spec.hierarchy, Hierarchy):
        return spec.hierarchy
    builder = Flat() if spec.pseudonym else spec.hierarchy
    return builder.build(filter(None, texts))


def _joined(first: Trees, second: Trees) -> Trees:
    """The trees of the first, then those of the second."""
    offsets = np.concatenate([first[0], second[0][1:] + first[0][-1]])
    return offsets, np.concatenate([first[1], second[1]]), np.concatenate([first[2], second[2]])


def assemble(batch: Batch, layout: Layout, labels: list[Ints]) -> Trees:
    """A batch's trees, not yet merged; `labels[c]` maps class c's codes, and ends with -1 for code -1.

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
    """An array over the rows of `outer`, carried to the rows of a container inside it."""
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
    for held in np.unique(moved.held):
        chosen = moved.held == held
        label[chosen] = labels[held][moved.code[chosen]] if held >= 0 else 0
    top = moved.parent < 0
    for under in np.unique(moved.under[top]):
        chosen = top & (moved.under == under)
        container = layout.classes[under].container if under >= 0 else 0
        rows = moved.row[chosen]
        record[chosen] = record_of[max(container, 0)][rows]
        if under >= 0:
            parent[chosen] = anchors[under][rows]
    return record[_topmost(moved.parent)], parent, label


def _topmost(parent: Ints) -> Ints:
    """The topmost ancestor-or-self of every node."""
    above = np.where(parent >= 0, parent, np.arange(len(parent))).astype(np.int32)
    while True:
        higher = above[above]
        if np.array_equal(higher, above):
            return above
        above = higher

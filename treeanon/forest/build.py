"""From container tables to a forest: dictionaries, the class tree, merging and canonical order."""

from __future__ import annotations

import logging

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


class _Dictionary:
    """The value texts of one class over all batches, and for every batch the way from its codes to them."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self.maps: list[Ints] = []

    def add(self, texts: list[str], used: np.ndarray) -> None:
        """Takes in a batch's texts; those that no record of it uses (a record that was skipped did) stay out."""
        codes = self.codes
        if used.all():
            self.maps.append(np.array([codes.setdefault(text, len(codes)) for text in texts], np.int32))
            return
        mapping = np.full(len(texts), -1, np.int32)
        for i in np.flatnonzero(used).tolist():
            mapping[i] = codes.setdefault(texts[i], len(codes))
        self.maps.append(mapping)


class ForestBuilder:
    """Collects batches of container tables; `finish` gives the forest in canonical form."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.layout: Layout = schema.layout
        self.batches: list[Batch] = []
        self.dictionaries = [_Dictionary() for _ in self.layout.classes]
        self.report = ReadReport()

    @property
    def records(self) -> int:
        """The number of records so far."""
        return sum(b.records + (b.apart.records if b.apart is not None else 0) for b in self.batches)

    def add(self, batch: Batch) -> None:
        """Takes in the container tables of some records."""
        for part in (batch, batch.apart):
            if part is not None:
                for index, dictionary in enumerate(self.dictionaries):
                    used = np.zeros(len(part.texts[index]) + 1, bool)
                    for column in self._columns(index, part):
                        used[column] = True
                    dictionary.add(part.texts[index], used[:-1])
        self.batches.append(batch)

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
        maps = [iter(dictionary.maps) for dictionary in self.dictionaries]
        firsts = classes.first.tolist()

        def trees(batch: Batch) -> Trees:
            labels = [
                # Index -1 (a text that only skipped records have, or none at all) finds the -1 at the end.
                np.append(np.append(np.where(codes < 0, -1, codes + first), -1)[next(mapping)], -1).astype(np.int32)
                for (_, codes), mapping, first in zip(resolved, maps, firsts, strict=False)
            ]
            return canonical(*assemble(batch, self.layout, labels), rank)

        parts = []
        while self.batches:
            batch = self.batches.pop(0)
            part = trees(batch)
            if batch.apart is not None and batch.order is not None:
                part = gather(*_joined(part, trees(batch.apart)), batch.order)
            parts.append(part)
        self.dictionaries = []
        return Forest.of_parts(self.schema, classes, parts, self.report)

    def _resolve(self, index: int, show_values: bool) -> tuple[Hierarchy, Ints]:
        """A class's hierarchy, and for each of its texts the node it stands for (-1: no node)."""
        spec = self.layout.classes[index].spec
        texts = list(self.dictionaries[index].codes)
        if spec.type != "text":
            texts = [text.strip() for text in texts]
        if spec.pseudonym and texts:
            key = pseudonym_key()
            texts = [pseudonym(text, key) if text else "" for text in texts]
        hierarchy = hierarchy_for(spec, texts)
        codes = hierarchy.encode(texts)
        empty = np.array([not text for text in texts], bool)
        unknown = (codes < 0) & ~empty
        if unknown.any():
            self._unknown(index, spec, hierarchy, texts, unknown, show_values)
            codes = np.where(unknown, 0, codes).astype(np.int32)
        return hierarchy, codes

    def _unknown(
        self, index: int, spec: ClassSpec, hierarchy: Hierarchy, texts: list[str], unknown: Ints, show: bool
    ) -> None:
        nodes = int(self._occurrences(index)[unknown].sum())
        distinct = int(unknown.sum())
        if spec.on_unknown == "suppress":
            self.report.unknown[spec.name] += nodes
            log.warning("class %r: %d values unknown to its hierarchy became the root", spec.name, distinct)
            return
        listed = ": " + ", ".join(repr(t) for t, u in zip(texts, unknown, strict=True) if u) if show else ""
        raise HierarchyError(
            f"class {spec.name!r}: its hierarchy does not know {distinct} distinct values of the data"
            f' ({nodes} occurrences){listed}; complete the hierarchy or set on_unknown = "suppress"'
            + ("" if show else " (--show-values lists them)")
        )

    def _occurrences(self, index: int) -> np.ndarray:
        """How often each text of a class occurs."""
        out = np.zeros(len(self.dictionaries[index].codes), np.int64)
        batches = [part for batch in self.batches for part in (batch, batch.apart) if part is not None]
        for mapping, batch in zip(self.dictionaries[index].maps, batches, strict=True):
            for column in self._columns(index, batch):
                np.add.at(out, mapping[column[column >= 0]], 1)
        return out


def hierarchy_for(spec: ClassSpec, texts: list[str]) -> Hierarchy:
    """The hierarchy of a class: the one it declares, or the one its builder makes of the values."""
    if isinstance(spec.hierarchy, Hierarchy):
        return spec.hierarchy
    builder = Flat() if spec.pseudonym else spec.hierarchy
    return builder.build([text for text in texts if text])


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

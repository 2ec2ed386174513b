"""Records of persons written as rows again: each row says whose it is, by a fresh number.

It undoes what `treeanon.forest.persons` does: every format then writes the rows as if each was a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.forest import Batch, Classes, ContainerRows, Forest
from treeanon.forest.facets import with_facets
from treeanon.forest.planting import Planter
from treeanon.forest.tables import MovedNodes
from treeanon.hierarchy import Hierarchy
from treeanon.io.documents.row_texts import Placed, PlacedRows, place
from treeanon.schema import Layout
from treeanon.schema.layout import ROOT
from treeanon.schema.persons import KEY_CLASS, by_row

_AT_ONCE = 20_000
_ROW = 1
"""The container of the persons' layout that a row is."""


def as_rows(forest: Forest, order: Longs) -> Forest:
    """Return the forest of the rows of persons; `order` has the number, from 0, that stands for each person.

    Reading the rows by the schema of the persons gives the same forest again.
    """
    schema = by_row(forest.schema, "integer")
    maker = _RowMaker(forest, schema.layout, flat=schema.input.is_flat)
    batches = [
        maker.batch(forest[start : start + _AT_ONCE], order[start : start + _AT_ONCE])
        for start in range(0, len(forest), _AT_ONCE)
    ]
    planter = Planter(schema.layout, sum(batch.cells for batch in batches), 1)
    same = [np.append(np.arange(len(maker.classes), dtype=np.int32), -1)] * len(schema.layout.classes)
    for batch in batches:
        planter.plant(batch, same, None)
    return Forest(schema, maker.classes, *planter.finish(), forest.report)


def in_rows(forest: Forest, orders: Callable[[int], Longs]) -> Forest:
    """Return the forest as its schema's format holds it: with facets, and of rows where a field says whose each is."""
    forest = with_facets(forest)
    return forest if forest.schema.input.person is None else as_rows(forest, orders(len(forest)))


class _RowMaker:
    """Maker of batches of rows, whose codes are the labels of the forest of rows."""

    def __init__(self, forest: Forest, layout: Layout, *, flat: bool) -> None:
        self.before, self.layout, self.flat = forest.schema.layout, layout, flat
        self.new = [layout.class_index(held.name) for held in self.before.classes] + [-1]
        self.old = {new: old for old, new in enumerate(self.new[:-1])}
        keys = Hierarchy.flat(map(str, range(1, len(forest) + 1)))
        self.key = layout.class_index(KEY_CLASS)
        self.classes = Classes(
            tuple(held.name for held in layout.classes),
            tuple(held.parent for held in layout.classes),
            tuple(
                keys if at == self.key else forest.classes.hierarchies[self.old[at]]
                for at in range(len(layout.classes))
            ),
        )
        # From labels of the persons' trees to those of the rows'; `*` is 0 in both, and the last is for none.
        self.label = np.full(len(forest.classes) + 1, -1, np.int32)
        self.label[0] = 0
        for index, at in enumerate(self.new[:-1]):
            first, stop = forest.classes.first[index : index + 2]
            self.label[first:stop] = np.arange(stop - first) + self.classes.first[at]
        self.writable = np.ones(len(forest.classes), bool)
        self.filled = _of_persons(self.before)

    def batch(self, part: Forest, order: Longs) -> Batch:
        """Return the rows of some persons."""
        placed = place(part, self.before, self.writable)
        table = placed.tables[_ROW]
        only = self._only_values(placed)
        kept = self._needed(placed, only)
        extra = _ExtraRows(placed, self.before, self.layout, self.new, self.label, kept)
        for row, nodes in placed.moved[0].items():
            extra.add(nodes, row, None, flat=self.flat)
        for container, moved in enumerate(placed.moved[1:], start=1):
            for row, nodes in moved.items():
                extra.add(nodes, None, (container, row), flat=self.flat)
        own = np.concatenate([table.owner[kept], np.array(extra.people, np.int32)])
        # A person of whom nothing is published is a person still.
        person = np.concatenate([own, np.setdiff1d(np.arange(len(part)), own)])
        columns: dict[int, Ints] = {}
        for held in self.layout.containers[0].held:
            column = np.full(len(person), -1, np.int32)
            if held == self.key:
                column[:] = order[person] + 1 + self.classes.first[self.key]
            else:
                column[: len(kept)] = self.label[table.labels[self.old[held]][kept]]
                column[len(kept) : len(own)] = extra.values(held)
                if self.old[held] in only:
                    column = np.where(column < 0, self.label[only[self.old[held]]][person], column)
            columns[held] = column.astype(np.int32)
        tables = [ContainerRows(np.zeros(len(person), np.int32), columns), *self._inner(placed, kept)]
        return Batch(tuple(tables), tuple(() for _ in self.layout.classes), extra.moved())

    def _inner(self, placed: Placed, kept: Longs) -> Iterator[ContainerRows]:
        """Yield the rows of the containers inside rows."""
        new = np.full(len(placed.tables[_ROW]), -1, np.int32)
        new[kept] = np.arange(len(kept), dtype=np.int32)
        for container, table in zip(self.layout.containers[1:], placed.tables[_ROW + 1 :], strict=True):
            owner = new[table.owner] if container.parent == 0 else table.owner
            codes = {held: self.label[table.labels[self.old[held]]] for held in container.held}
            yield ContainerRows(owner, codes)

    def _only_values(self, placed: Placed) -> dict[int, Ints]:
        """Return for classes under the root the label of each person's only value; -1: none, or several.

        All rows of the person can have it: where a class lies under the root, each says the same.
        """
        found = {}
        for held in self.filled:
            column, owner = placed.tables[_ROW].labels[held], placed.tables[_ROW].owner
            there = np.flatnonzero(column >= 0)
            times = np.bincount(owner[there], minlength=len(placed.forest))
            only = np.full(len(placed.forest), -1, np.int32)
            only[owner[there]] = column[there]
            found[held] = np.where(times == 1, only, -1).astype(np.int32)
        return found

    def _needed(self, placed: Placed, only: Mapping[int, Ints]) -> Longs:
        """Return the rows that hold something which no other row of the person says, and one of each other person."""
        table = placed.tables[_ROW]
        own = [
            np.where(only[held][table.owner] < 0, column, -1) if held in only else column
            for held, column in table.labels.items()
        ]
        needed = np.zeros(len(table), bool)
        for column in own:
            needed |= column >= 0
        needed[_repeated(table, own)] = False
        for inner, container in zip(placed.tables, self.before.containers, strict=True):
            if container.parent == _ROW:
                needed[inner.owner] = True
        needed[list(placed.moved[_ROW])] = True
        have = np.zeros(len(placed.forest), bool)
        have[table.owner[needed]] = True
        rest = np.flatnonzero(~have[table.owner])
        _, first = np.unique(table.owner[rest], return_index=True)
        needed[rest[first]] = True
        return np.flatnonzero(needed)


def _repeated(rows: PlacedRows, columns: Sequence[Ints]) -> Longs:
    """Return rows whose values another row of the person has too, in columns that lie above one another."""
    order = np.lexsort([*columns[::-1], rows.owner])
    inside = rows.owner[order][:-1] == rows.owner[order][1:]
    for column in columns:
        here, following = column[order][:-1], column[order][1:]
        inside &= (here < 0) | (here == following)
    found: Longs = order[:-1][inside]
    return found


def _of_persons(layout: Layout) -> frozenset[int]:
    """Return the classes of rows that lie under the root with nothing under them."""
    above = {held.parent for held in layout.classes}
    return frozenset(
        held for held in layout.containers[_ROW].held if layout.classes[held].parent == ROOT and held not in above
    )


@dataclass
class _ExtraRows:
    """Rows for nodes that are out of place, which no row of their own class can hold.

    Where rows are flat, each path to a leaf becomes a row; elsewhere such nodes are moved ones of a row.
    """

    placed: Placed
    before: Layout
    after: Layout
    new: Sequence[int]
    label: Ints
    kept: Longs
    people: list[int] = field(default_factory=list)
    cells: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)
    columns: tuple[list[int], ...] = field(default_factory=lambda: ([], [], [], [], []))

    def add(self, nodes: Sequence[int], person: int | None, at: tuple[int, int] | None, *, flat: bool) -> None:
        """Add nodes, each with its descendants, that are moved ones of a person, or of a row of a container."""
        forest = self.placed.forest
        record = int(np.searchsorted(forest.offsets, nodes[0], side="right")) - 1
        first, stop = int(forest.offsets[record]), int(forest.offsets[record + 1])
        parents = forest.parent[first:stop].tolist()
        labels = forest.label[first:stop].tolist()
        for node in nodes:
            top = node - first
            last = top + 1
            while last < len(parents) and parents[last] >= top:
                last += 1
            if flat and labels[top]:
                self._add_paths(record, parents, labels, range(top, last))
            elif at is None:
                self.people.append(record)
                self._add_moved(parents, labels, range(top, last), -1, len(self.kept) + len(self.people) - 1)
            else:
                self._add_below(parents, labels, range(top, last), at)

    def _add_paths(self, person: int, parents: list[int], labels: list[int], nodes: range) -> None:
        """Add a row for each path to a leaf among these nodes."""
        inner = {parents[node] for node in nodes}
        class_of = self.placed.forest.classes.class_of
        for node in nodes:
            if node in inner:
                continue
            at = node
            while at >= 0:
                into = self.cells.setdefault(self.new[int(class_of[labels[at]])], ([], []))
                into[0].append(len(self.people))
                into[1].append(int(self.label[labels[at]]))
                at = parents[at]
            self.people.append(person)

    def _add_below(self, parents: list[int], labels: list[int], nodes: range, at: tuple[int, int]) -> None:
        """Add a moved node that hangs on a row of a container."""
        container, row = at
        classes = self.placed.forest.classes.class_of
        held = self.new[int(classes[labels[nodes[0]]])] if labels[nodes[0]] else -1
        under = self.new[int(classes[labels[parents[nodes[0]]]])]
        if held < 0 or not self.after.is_below(held, under):
            under = -1
            while container > _ROW:
                row = int(self.placed.tables[container].owner[row])
                container = self.before.containers[container].parent
        if container == _ROW:
            row = int(np.searchsorted(self.kept, row))
        self._add_moved(parents, labels, nodes, under, row)

    def _add_moved(self, parents: list[int], labels: list[int], nodes: range, under: int, row: int) -> None:
        class_of = self.placed.forest.classes.class_of
        start = len(self.columns[0])
        for node in nodes:
            held = self.new[int(class_of[labels[node]])]
            above = start + parents[node] - nodes[0] if node > nodes[0] else -1
            values = (held, int(self.label[labels[node]]), above, under, row)
            for column, value in zip(self.columns, values, strict=True):
                column.append(value)

    def values(self, held: int) -> Ints:
        """Return the labels of a class in the rows, -1 where they have none."""
        found = np.full(len(self.people), -1, np.int32)
        at, labels = self.cells.get(held, ([], []))
        found[at] = labels
        return found

    def moved(self) -> MovedNodes:
        """Return the moved nodes of all rows."""
        return MovedNodes(*(np.array(column, np.int32) for column in self.columns))

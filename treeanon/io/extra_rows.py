"""Rows of persons for nodes that are out of place, which no row of their own class can hold;
and whose the rows of a container are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.forest.tables import MovedNodes
from treeanon.io.documents.row_texts import Placed
from treeanon.schema import Layout

if TYPE_CHECKING:
    from treeanon.io.persons import RowMaker


@dataclass
class ExtraRows:
    """Rows for nodes that are out of place, which no row of their own class can hold.

    Where rows are flat, each path to a leaf becomes a row; elsewhere such nodes are moved ones of a row.
    """

    placed: Placed
    maker: RowMaker
    kept: Longs
    people: list[int] = field(default_factory=list)
    outer: list[int] = field(default_factory=list)
    cells: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)
    columns: tuple[list[int], ...] = field(default_factory=lambda: ([], [], [], [], []))

    def add(self, container: int, row: int, top: int) -> None:
        """Add a node, with its descendants, that hangs on a row of a container."""
        forest, kind = self.placed.forest, self.maker.kind
        record = int(np.searchsorted(forest.offsets, top, side="right")) - 1
        first, stop = int(forest.offsets[record]), int(forest.offsets[record + 1])
        parents = forest.parent[first:stop].tolist()
        labels = forest.label[first:stop].tolist()
        at = last = top - first
        last += 1
        while last < len(parents) and parents[last] >= at:
            last += 1
        nodes = range(at, last)
        if kind.schema.input.is_flat and len(self.maker.layout.containers) == 1 and labels[at]:
            outer = self._outer(container, row)
            self._add_paths(record, outer, parents, labels, nodes)
        elif container in self.maker.containers and container:
            self._add_below(parents, labels, nodes, container, row)
        elif not kind.base:
            self._add_moved(parents, labels, nodes, self._under(parents, labels, at), record)
        else:
            for part in self._by_row(parents, labels, nodes):
                self._new_row(record, self._outer(container, row))
                self._add_moved(parents, labels, part, -1, len(self.kept) + len(self.people) - 1)

    def _new_row(self, person: int, outer: int) -> None:
        self.people.append(person)
        self.outer.append(outer)

    def _outer(self, container: int, row: int) -> int:
        """Return the row around the rows of this kind that a row of a container is, or lies in; -1: none."""
        wanted = self.maker.before.containers[self.maker.kind.base].parent if self.maker.kind.base else 0
        while container and container != wanted:
            row = int(self.placed.tables[container].owner[row])
            container = self.maker.before.containers[container].parent
        return row if container else -1

    def around(self, place: Ints) -> Ints:
        """Return the places of the rows around the rows, -1 for none."""
        outer = np.array(self.outer, np.int64)
        return np.append(place, -1)[outer].astype(np.int32)

    def _add_paths(self, person: int, outer: int, parents: list[int], labels: list[int], nodes: range) -> None:
        """Add a row for each path to a leaf among these nodes."""
        inner = {parents[node] for node in nodes}
        class_of = self.placed.forest.classes.class_of
        for node in nodes:
            if node in inner:
                continue
            at = node
            while at >= 0:
                held = self.maker.new.get(int(class_of[labels[at]]))
                if held is not None:
                    into = self.cells.setdefault(held, ([], []))
                    into[0].append(len(self.people))
                    into[1].append(labels[at])
                at = parents[at]
            self._new_row(person, outer)

    def _by_row(self, parents: list[int], labels: list[int], nodes: range) -> list[Sequence[int]]:
        """Return the nodes of each row that they take: a row has one value of each class that it holds itself."""
        held = {node: self.maker.new.get(int(self.placed.forest.classes.class_of[labels[node]]), -1) for node in nodes}
        own = [node for node in nodes if held[node] >= 0 and not self.maker.layout.classes[held[node]].container]
        if len({held[node] for node in own}) == len(own):
            return [nodes]
        inner = {parents[node] for node in own}
        found: list[Sequence[int]] = []
        left = set(nodes) - set(own)
        for last in (node for node in own if node not in inner):
            row, at = {last}, parents[last]
            while at >= nodes[0]:
                row.add(at)
                at = parents[at]
            for node in sorted(left):
                if parents[node] in row:
                    row.add(node)
            left -= row
            found.append(sorted(row))
        return found

    def _under(self, parents: list[int], labels: list[int], node: int) -> int:
        """Return the class of the rows that a moved node lies under; -1: the row itself."""
        class_of = self.placed.forest.classes.class_of
        if parents[node] < 0 or not labels[node]:
            return -1
        held = self.maker.new.get(int(class_of[labels[node]]), -1)
        under = self.maker.new.get(int(class_of[labels[parents[node]]]), -1)
        return under if held >= 0 and under >= 0 and self.maker.layout.is_below(held, under) else -1

    def _add_below(self, parents: list[int], labels: list[int], nodes: range, container: int, row: int) -> None:
        """Add a moved node that hangs on a row of a container."""
        base = self.maker.kind.base
        under = self._under(parents, labels, nodes[0])
        if under < 0:
            while container != base:
                row = int(self.placed.tables[container].owner[row])
                container = self.maker.before.containers[container].parent
        if container == base and base:
            row = int(np.searchsorted(self.kept, row))
        self._add_moved(parents, labels, nodes, under, row)

    def _add_moved(self, parents: list[int], labels: list[int], nodes: Sequence[int], under: int, row: int) -> None:
        """Add a moved node with its descendants; those that lie under no class of theirs in a row lie beside it."""
        class_of, layout = self.placed.forest.classes.class_of, self.maker.layout
        held = {node: self.maker.new.get(int(class_of[labels[node]]), -1) for node in nodes}
        places: dict[int, int] = {}
        for node in nodes:
            above = places.get(parents[node], -1)
            if above >= 0 and not layout.is_below(held[node], held[parents[node]]):
                above = -1
            places[node] = len(self.columns[0])
            own = under if node == nodes[0] else -1
            values = (held[node], int(self.maker.code[labels[node]]), above, own, row)
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


def persons_of(placed: Placed, layout: Layout, container: int) -> Ints:
    """Return the person of each row of a container."""
    found = np.arange(len(placed.forest), dtype=np.int32)
    way = []
    while container:
        way.append(container)
        container = layout.containers[container].parent
    for at in reversed(way):
        found = found[placed.tables[at].owner]
    return found


def repeated_rows(owner: Ints, columns: Sequence[Ints]) -> Longs:
    """Return rows whose values another row of the same owner has too, in columns that lie above one another."""
    order = np.lexsort([*columns[::-1], owner])
    inside = owner[order][:-1] == owner[order][1:]
    for column in columns:
        here, following = column[order][:-1], column[order][1:]
        inside &= (here < 0) | (here == following)
    found: Longs = order[:-1][inside]
    return found


Moved = tuple[int, int, int]
"""A moved node: the container and row that it hangs on, and itself."""


def moved_by_kind(placed: Placed, layout: Layout, home: Sequence[int], kinds: int) -> list[list[Moved]]:
    """Return the moved nodes of each kind of rows; `home` has the kind that each container is part of."""
    found: list[list[Moved]] = [[] for _ in range(kinds)]
    class_of = placed.forest.classes.class_of
    for container, rows in enumerate(placed.moved):
        for row, nodes in rows.items():
            for node in nodes:
                held = int(class_of[placed.forest.label[node]])
                kind = home[layout.classes[held].container] if held >= 0 else 0
                found[max(kind, 0)].append((container, row, node))
    return found

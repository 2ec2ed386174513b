"""Conversion of plain nested lists, the form of a trees file, to batches and from forests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from treeanon.errors import DataError
from treeanon.forest.classes import STAR
from treeanon.forest.tables import Batch, BatchWriter, TextCodes
from treeanon.schema import Layout

if TYPE_CHECKING:
    from treeanon.forest.forest import Forest, Tree

ROOT_NAME = "/"
"""How documents name the place directly under the record."""


class Malformed(Exception):
    """A malformed nested tree; the message says what is expected."""


class NestedReader:
    """Reader of nested lists into container tables, as nodes under the reserved name.

    Classes must be known, and a class may only lie under classes above it in the class tree.
    """

    def __init__(self, layout: Layout, out: BatchWriter, codes: Sequence[TextCodes]) -> None:
        self.layout, self.out, self.codes = layout, out, codes
        self.numbers = {published.name: i for i, published in enumerate(layout.classes)} | {STAR: -1}

    def add_record(self, nodes: Any) -> None:
        """Append a record that consists of these nodes."""
        row = len(self.out.owners[0])
        self.out.owners[0].append(0)
        for container_class in self.layout.containers[0].held:
            self.out.codes[container_class].append(-1)
        self.add_nodes(nodes, -1, row)

    def add_moved(self, groups: Any, row: int, container: int) -> None:
        """Append the moved nodes of a row, grouped by the class they lie under: {"hospital": [[class, …], …]}."""
        if not isinstance(groups, dict):
            raise Malformed("the reserved name must hold an object of class names")
        for name, nodes in groups.items():
            under = self.under(name, container)
            if under is not None:
                self.add_nodes(nodes, under, row)

    def under(self, name: Any, container: int) -> int | None:
        """Return the class that a group of moved nodes of a container lies under (-1: the record).

        None, if it is a class of another container that reads the same item: that one takes the group.
        """
        if name == ROOT_NAME:
            if container != 0:
                raise Malformed(f"only a record holds nodes grouped under {ROOT_NAME!r}")
            return -1
        under = self.numbers.get(name, -2) if name != STAR else -2
        home = self.layout.classes[under].container if under >= 0 else -1
        if home < 0 or not self._read_one(home, container):
            raise Malformed("nodes under the reserved name must be grouped by a class of their container")
        return under if home == container else None

    def _read_one(self, first: int, second: int) -> bool:
        """Return whether two containers may be read from one item: they are one, or differ in their predicates."""
        a, b = self.layout.containers[first], self.layout.containers[second]
        return a is b or (a.name is not None and (a.parent, a.wrappers, a.name) == (b.parent, b.wrappers, b.name))

    def add_nodes(self, nodes: Any, under: int, row: int) -> None:
        """Append nodes that lie under one class, in one row of its container."""
        stack = [(nodes, -1, under)]
        while stack:
            group, parent, above = stack.pop()
            if not isinstance(group, list):
                raise Malformed("children must be an array of [class, value, children]")
            for node in group:
                stack.append(self._add_node(node, parent, above, under, row))

    def _add_node(self, node: Any, parent: int, above: int, under: int, row: int) -> tuple[Any, int, int]:
        if not (isinstance(node, list) and len(node) == 3 and isinstance(node[0], str) and isinstance(node[1], str)):
            raise Malformed("a node must be [class, value, children] with texts for class and value")
        name, value, children = node
        if name not in self.numbers:
            raise Malformed("a node names a class that the schema does not publish")
        number = self.numbers[name]
        if number >= 0 and self.layout.classes[number].is_object and value != STAR:
            raise Malformed(f"an object has no value of its own: {STAR!r} stands for it")
        is_below = self.layout.is_below(number, above) or (number, above) in self.layout.if_merged
        if number >= 0 and (number == above or not is_below):
            raise Malformed("a node lies under a class that is not above its own in the class tree")
        if number < 0 and (value != STAR or children or above >= 0):
            raise Malformed(f"the class {STAR!r} has one value, {STAR!r}, directly under the record, without children")
        typed = number >= 0 and self.layout.classes[number].spec.type != "text"
        if not (value.strip() if typed else value) or "\0" in value:
            raise Malformed("a value must not be empty or hold a NUL character")
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise Malformed("a value holds half of a character (a lone surrogate)") from None
        held, codes, parents, unders, rows = self.out.moved
        held.append(number)
        codes.append(0 if number < 0 else self.codes[number][value])
        parents.append(parent)
        unders.append(under)
        rows.append(row)
        return children, len(held) - 1, number


def nested_batch(layout: Layout, records: Sequence[Tree]) -> Batch:
    """Return the container tables of records given as nested lists; DataError names the record that is malformed."""
    out = BatchWriter(layout)
    codes = [TextCodes() for _ in layout.classes]
    reader = NestedReader(layout, out, codes)
    for number, record in enumerate(records, start=1):
        try:
            reader.add_record(record)
        except Malformed as problem:
            raise DataError(str(problem), place=f"record {number}") from None
    return out.finish(codes)


def nested_records(forest: Forest) -> Iterator[Tree]:
    """Return every record as nested lists, children sorted by (class, value)."""
    forest = forest.in_text_order()
    decoded = [list(forest.classes.decode(i)) for i in range(len(forest.classes))]
    labels, parents = forest.label.tolist(), forest.parent.tolist()
    offsets = forest.offsets.tolist()
    for lo, hi in pairwise(offsets):
        tree: Tree = []
        made: list[list[Any]] = []
        for i in range(lo, hi):
            node = [*decoded[labels[i]], []]
            made.append(node)
            (tree if parents[i] < 0 else made[parents[i]][2]).append(node)
        yield tree

"""Container tables: the rows that readers yield and writers take, whatever the format.

Every container has a table with one row per instance: the row of the enclosing instance that owns it, and for each
class held in it a code into that class's dictionary, or -1. XML elements, JSON objects and rows of child tables all
become such rows, so that building and laying out trees is written once.

Also conversion of plain nested lists, the form of a trees file, to batches and from forests.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.errors import DataError
from treeanon.forest.classes import STAR
from treeanon.schema import Layout

if TYPE_CHECKING:
    from treeanon.forest.forest import Forest, Tree


@dataclass(frozen=True)
class MovedNodes:
    """Nodes given under the reserved name: class, dictionary code, parent among them, or (under class, row)."""

    held: Ints
    code: Ints
    parent: Ints
    under: Ints
    row: Ints

    @classmethod
    def none(cls) -> MovedNodes:
        """Return an instance without nodes."""
        return cls(*(np.empty(0, np.int32) for _ in range(5)))


@dataclass(frozen=True)
class ContainerRows:
    """One container's rows: owner row in the enclosing container, and codes per class held in it."""

    owner: Ints
    codes: dict[int, Ints]

    def __len__(self) -> int:
        return len(self.owner)


@dataclass(frozen=True)
class Batch:
    """The container tables of some records, with dictionaries of their own: the value texts of every class.

    Some records may have been read apart, in a batch of their own; `order` then says which of all records (these,
    then those apart) comes first, second, …
    """

    tables: tuple[ContainerRows, ...]
    texts: tuple[Sequence[str], ...]
    moved: MovedNodes
    apart: Batch | None = None
    order: Longs | None = None

    @classmethod
    def of(cls, tables: tuple[ContainerRows, ...], texts: tuple[Sequence[str], ...]) -> Batch:
        """Return the batch of these rows, without moved nodes."""
        return cls(tables, texts, MovedNodes.none())

    @property
    def records(self) -> int:
        """The number of records, those apart not counted."""
        return len(self.tables[0])

    @property
    def cells(self) -> int:
        """The number of values in the rows, moved nodes and those apart counted too: there are no more nodes."""
        count = len(self.moved.held) + (self.apart.cells if self.apart is not None else 0)
        return count + sum(
            int(np.count_nonzero(column >= 0)) for table in self.tables for column in table.codes.values()
        )

    @property
    def is_sorted(self) -> bool:
        """Whether there is nothing but rows in the order of their owners."""
        return not len(self.moved.held) and self.apart is None and all(_ascends(table.owner) for table in self.tables)

    def blocks(self, layout: Layout, records: int) -> Iterator[Batch]:
        """Return a sorted batch in parts of so many records, as views."""
        for start in range(0, self.records, records):
            bounds = [(start, min(start + records, self.records))]
            tables = []
            for container, table in zip(layout.containers, self.tables, strict=True):
                if container.index:
                    # Of one type, or each search would convert all owners.
                    ends = np.array(bounds[container.parent], table.owner.dtype)
                    bounds.append(tuple(np.searchsorted(table.owner, ends).tolist()))
                a, b = bounds[container.index]
                owner = table.owner[a:b] - (bounds[container.parent][0] if container.index else 0)
                tables.append(ContainerRows(owner, {held: column[a:b] for held, column in table.codes.items()}))
            yield replace(self, tables=tuple(tables))


def _ascends(owner: Ints) -> bool:
    return bool((owner[1:] >= owner[:-1]).all())


class TextCodes(dict[Any, int]):
    """Codes of texts in order of appearance; looking up a new text adds it.

    >>> codes = TextCodes()
    >>> codes["Flu"], codes["Asthma"], codes["Flu"], codes.texts
    (0, 1, 0, ['Flu', 'Asthma'])
    """

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def __missing__(self, text: Any) -> int:
        return self.add(text, text)

    def add(self, key: str, text: str) -> int:
        """Return a new code for a text, found under a key from now on."""
        code = len(self.texts)
        self.texts.append(text)
        self[key] = code
        return code


def _ints(values: Sequence[int] | array[int]) -> Ints:
    return np.array(values, dtype=np.int32)


@dataclass
class BatchWriter:
    """Growing container tables: what a compiled reader appends to, and takes back when a record is bad."""

    layout: Layout
    owners: list[list[int]] = field(init=False)
    codes: list[list[int]] = field(init=False)
    moved: tuple[list[int], list[int], list[int], list[int], list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.owners = [[] for _ in self.layout.containers]
        self.codes = [[] for _ in self.layout.classes]
        self.moved = ([], [], [], [], [])

    def rollback(self, records: int) -> None:
        """Take back every row that belongs to a record from `records` on."""
        del self.owners[0][records:]
        kept = [records]
        for container in self.layout.containers[1:]:
            owners = self.owners[container.index]
            size = len(owners)
            while size and owners[size - 1] >= kept[container.parent]:
                size -= 1
            del owners[size:]
            kept.append(size)
        for index, published in enumerate(self.layout.classes):
            if published.container >= 0:
                del self.codes[index][kept[published.container] :]
        self._rollback_moved(kept)

    def _rollback_moved(self, kept: list[int]) -> None:
        _, _, parents, unders, rows = self.moved
        size = len(rows)
        top = size
        while top:
            top -= 1
            if parents[top] < 0:
                under = unders[top]
                container = 0 if under < 0 else self.layout.classes[under].container
                if rows[top] < kept[container]:
                    break
                size = top
        for column in self.moved:
            del column[size:]

    def finish(self, codes: Sequence[TextCodes]) -> Batch:
        """Return the rows so far as a batch, with the dictionaries that their codes refer to."""
        tables = tuple(
            ContainerRows(_ints(self.owners[c.index]), {h: _ints(self.codes[h]) for h in c.held})
            for c in self.layout.containers
        )
        return Batch(tables, tuple(c.texts for c in codes), MovedNodes(*(_ints(column) for column in self.moved)))


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

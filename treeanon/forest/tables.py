"""Container tables: the rows that readers yield and writers take, whatever the format.

Every container has a table with one row per instance: the row of the enclosing instance that owns it, and for each
class held in it a code into that class's dictionary, or -1. XML elements, JSON objects and rows of child tables all
become such rows, so that building and laying out trees is written once.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.schema import Layout


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

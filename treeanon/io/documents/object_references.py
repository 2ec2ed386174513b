"""Objects that lie in those that they refer to, put beside them again where documents have them, with fresh references.

What an object is called is its number in the order in which it is written. Records come in random order, and the
objects of one in that of their published values, so that a number says nothing that the document does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.forest import Forest
from treeanon.forest.references import listed, pointed
from treeanon.io.documents.row_texts import Placed, PlacedRows
from treeanon.schema import Schema
from treeanon.schema.reference_forms import number_text
from treeanon.schema.references import Tie, tied

Column = tuple[int, list[str]]
"""A container of documents, and the texts of a class of a key in its rows."""


class ObjectReferences:
    """The making of rows of documents; numbers go on from one part of a forest to the next."""

    def __init__(self, forest: Forest, schema: Schema) -> None:
        self.tied = tied(schema)
        unsaid = forest.report.unsaid if forest.report is not None else Counter[tuple[int, str]]()
        lost = {number for (number, _), objects in unsaid.items() if objects}
        self.ties = [tie for tie in self.tied.ties if tie.is_inside or tie.number not in lost]
        self.named = 0

        self.layout = self.tied.documents

    def rows(self, placed: Placed) -> tuple[Placed, Mapping[int, Sequence[str]]]:
        """Return the rows of documents for those of records, and the texts of each class of a key."""
        return _Parting(self, placed).done()


def apart_of(forest: Forest, schema: Schema) -> ObjectReferences | None:
    """Return what makes the rows of documents by a schema; None where they are those of records."""
    return ObjectReferences(forest, schema) if schema.references else None


class _Parting:
    """The work on one part of a forest."""

    def __init__(self, owner: ObjectReferences, placed: Placed) -> None:
        self.owner, self.placed, self.tied = owner, placed, owner.tied
        self.records, self.documents = owner.tied.records, owner.tied.documents
        self.own = [table.owner.astype(np.int64) for table in placed.tables]
        self.written = [np.ones(len(table), bool) for table in placed.tables]

    def done(self) -> tuple[Placed, Mapping[int, Sequence[str]]]:
        """Return the rows of documents."""
        for container in self.records.containers[1:]:
            if any(tie.is_inside and self.tied.containers[tie.outer] == container.index for tie in self.tied.ties):
                self._leave_bare(container.index)
        kept = [np.cumsum(written) - 1 for written in self.written]
        found, lists = self._texts()
        tables: list[PlacedRows] = []
        moved: list[dict[int, list[int]]] = []
        for container in self.documents.containers:
            there = self.tied.containers[container.index]
            if there < 0:
                holders = self._in_order(kept[self.tied.containers[container.parent]], lists[container.index], found)
                tables.append(PlacedRows(holders, {}))
                moved.append({})
                continue
            table, written = self.placed.tables[there], self.written[there]
            owner = self.own[there]
            if container.index:
                rows = self._lifted(there, self.tied.containers[container.parent])
                owner = kept[self.tied.containers[container.parent]][rows]
            labels = {held: column[written] for held, column in table.labels.items()}
            tables.append(PlacedRows(owner[written].astype(np.int32), labels))
            moved.append({int(kept[there][row]): nodes for row, nodes in self.placed.moved[there].items()})
        texts = {
            held: list(np.array(column, dtype=object)[self.written[self.tied.containers[container]]])
            if self.tied.containers[container] >= 0
            else column
            for held, (container, column) in found.items()
        }
        return replace(self.placed, tables=tuple(tables), moved=tuple(moved)), texts

    def _in_order(self, kept: Longs, lists: Sequence[tuple[int, Longs]], found: dict[int, Column]) -> Ints:
        """Put the texts of the items of lists in the order of the objects that have them, and return these.

        `lists` has for each class that refers the objects with a list, item by item.
        """
        owner = np.concatenate([np.empty(0, np.int64), *(rows for _, rows in lists)])
        order = np.argsort(owner, kind="stable")
        start = 0
        for held, rows in lists:
            container, own = found[held]
            column = np.full(len(owner), "", dtype=object)
            column[start : start + len(rows)] = own
            found[held] = container, column[order].tolist()
            start += len(rows)
        holders: Ints = kept[owner[order]].astype(np.int32)
        return holders

    def _lifted(self, container: int, outer: int) -> Longs:
        """Return for each row of a container that of an outer one that it lies in."""
        rows = np.arange(len(self.own[container]), dtype=np.int64)
        while container != outer:
            rows = self.own[container][rows]
            container = self.records.containers[container].parent
        return rows

    def _leave_bare(self, container: int) -> None:
        """Leave out rows that hold nothing but what refers to them, where reading would put that in such a row.

        Where objects stay whole that is one object; rows that hold several are objects that say nothing.
        """
        here = self.tied.containers.index(container)
        around = self.tied.containers[self.documents.containers[here].parent]
        table = self.placed.tables[container]
        bare = np.ones(len(table), bool)
        for held, column in table.labels.items():
            if not self.documents.classes[held].is_object:
                bare &= column < 0
        for inner in self.documents.containers:
            if inner.parent == here and self.tied.containers[inner.index] >= 0:
                bare[self._lifted(self.tied.containers[inner.index], container)] = False
        bare[list(self.placed.moved[container])] = False
        above = self.records.containers[container].parent
        if above != around:
            bare &= ~self.written[above][self.own[container]]
        if self.records.types:
            holds = np.zeros(len(table), np.int64)
            for inner in self.records.containers:
                if inner.parent == container:
                    holds += np.bincount(self.own[inner.index], minlength=len(table))
            bare &= holds == 1
        self.written[container][bare] = False

    def _texts(self) -> tuple[dict[int, Column], dict[int, list[tuple[int, Longs]]]]:
        """Return for each class of a key the container of documents that it is in, and the texts of its rows; and by
        container of items of lists, for each class of these, the objects that have them.
        """
        found: dict[int, Column] = {}
        lists: dict[int, list[tuple[int, Longs]]] = {tie.source: [] for tie in self.tied.ties if tie.is_list}
        targets = {tie: self._target(tie) for tie in self.owner.ties}
        numbers: dict[int, Longs] = {}
        for tie, (_, target) in targets.items():
            named = numbers.setdefault(tie.target, np.zeros(len(self.own[self.tied.containers[tie.target]]), np.int64))
            named[target[target >= 0]] = 1
        self._number(numbers)
        for tie in self.tied.ties:
            size = 0 if tie.is_list else len(self.own[self.tied.containers[tie.source]])
            found[tie.source_class] = tie.source, [""] * size
            found.setdefault(tie.target_class, (tie.target, [""] * len(self.own[self.tied.containers[tie.target]])))
        for tie, (holders, target) in targets.items():
            named = np.append(numbers[tie.target], 0)
            found[tie.target_class] = tie.target, _texts(tie.called, named[:-1])
            found[tie.source_class] = tie.source, _texts(tie.sign, named[target])
            if tie.is_list:
                lists[tie.source].append((tie.source_class, holders))
        for tie in self.tied.ties:
            if tie.is_list and tie not in targets:
                lists[tie.source].append((tie.source_class, np.empty(0, np.int64)))
        return found, lists

    def _number(self, named: Mapping[int, Longs]) -> None:
        """Give each object that is named its number: those of a record have the numbers after those before it."""
        chosen = [(container, np.flatnonzero(marks)) for container, marks in sorted(named.items())]
        record = [self._lifted(self.tied.containers[container], 0)[rows] for container, rows in chosen]
        place = np.empty(sum(len(rows) for _, rows in chosen), np.int64)
        place[np.argsort(np.concatenate([np.empty(0, np.int64), *record]), kind="stable")] = np.arange(len(place))
        start = self.owner.named + 1
        for container, rows in chosen:
            named[container][rows] = start + place[: len(rows)]
            place = place[len(rows) :]
        self.owner.named += sum(len(rows) for _, rows in chosen)

    def _target(self, tie: Tie) -> tuple[Longs, Longs]:
        """Return the objects that refer, and the row that each refers to, -1 for none.

        Those with lists are there once for each item.
        """
        source, target = self.tied.containers[tie.holder], self.tied.containers[tie.target]
        if tie.is_list:
            return listed(self.records, self.own, self.written, source, target)
        rows = np.arange(len(self.own[source]))
        if not tie.is_inside:
            return rows, pointed(self.records, self.own, self.written, source, target)
        into = self.own[source]
        return rows, np.where(self.written[target][into], into, -1)


def _texts(before: str, numbers: Ints | Longs) -> list[str]:
    return [number_text(before, number) if number else "" for number in numbers.tolist()]

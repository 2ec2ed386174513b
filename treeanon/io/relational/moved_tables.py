"""Tables of disassociated nodes in a release: read again as nodes under the rows that remain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from treeanon.arrays import Ints
from treeanon.errors import DataError
from treeanon.forest import Batch, ReadReport
from treeanon.forest.nested import Malformed, NestedReader
from treeanon.forest.tables import BatchWriter, MovedNodes, TextCodes
from treeanon.io.columns.texts import Unreadable, coded
from treeanon.io.relational.join import NULL, KeyClash, RepeatedKey, find_targets
from treeanon.io.relational.plan import MOVED_TABLE, Plan
from treeanon.io.relational.source import KeyedTables, TableSource
from treeanon.io.relational.unaccounted import numbering
from treeanon.kernels.joins import in_circles
from treeanon.schema.keys import columns_text

NODE, ABOVE, UNDER, CLASS, VALUE = "node", "above", "under", "class", "value"
"""Columns of such a table: the number of a node, that of the node above it (null: none), the class that this one lies
under in the holding row ("/": the person), its own class, and its value."""

HOLDER = "of_"
"""Begins the names of the columns that hold the key of the holding row."""


BROKEN_KEYS = "holds keys that are not unique, or not of the type of those they refer to"
NO_ROW = "refers to a row that is not there"
CIRCLE = "leads back to itself"
OTHER_ROW = "must name the row and the class of the node above it, or none"
MISPLACED = "a node must lie under a class of the row that it belongs to"


def owner_key(source: KeyedTables, table: str) -> list[str]:
    """Return the columns by which a table of moved nodes refers to the rows from which they were moved."""
    name = MOVED_TABLE + table
    columns = source.tables()[name].columns
    key = [column.removeprefix(HOLDER) for column in columns if column.startswith(HOLDER)]
    wrong = ""
    if missing := [column for column in (NODE, ABOVE, UNDER, CLASS, VALUE) if column not in columns]:
        wrong = f"has no column {', '.join(map(repr, missing))}"
    elif not key or any(column not in source.tables()[table].columns for column in key):
        wrong = f"its columns {HOLDER}… must name the key of table {table!r}"
    if wrong:
        raise DataError(wrong, source=source.name, place=f"table {name!r}")
    return key


def account_moved(
    table: str,
    columns: Sequence[str],
    key: Sequence[str],
    rows: int,
    fresh: Collection[tuple[str, str]],
    report: ReadReport,
    *,
    is_numbered: bool,
) -> None:
    """Report further columns of a table of moved nodes, and keys that are not plain row numbers."""
    name = MOVED_TABLE + table
    known = {NODE, ABOVE, UNDER, CLASS, VALUE, *(HOLDER + column for column in key)}
    for column in columns:
        if column not in known:
            report.dropped.add(f"{name}.", column, rows)
    if not is_numbered:
        report.keys[columns_text(name, [NODE])] = rows
    for column in key:
        if (table, column) not in fresh:
            report.keys[columns_text(name, [HOLDER + column])] = rows


def read_moved(
    source: TableSource,
    plan: Plan,
    batch: Batch,
    rows: list[Ints],
    fresh: Collection[tuple[str, str]],
    report: ReadReport,
) -> Batch:
    """Return the batch with the moved nodes that the input has for its rows; other contents of these tables are
    reported.

    `fresh` has the key columns that say nothing.
    """
    tables = dict.fromkeys(stop.table for stop in plan.stops if stop.is_container)
    held = [table for table in tables if MOVED_TABLE + table in source.tables()]
    if not held:
        return batch
    out = BatchWriter(plan.layout)
    codes = [TextCodes() for _ in plan.layout.classes]
    for code, texts in zip(codes, batch.texts, strict=True):
        code.texts = [*texts]
    reader = NestedReader(plan.layout, out, codes)
    for table in held:
        _Moved(source, plan, table, rows, fresh, report).read(reader)
    moved = MovedNodes(*(np.array(column, np.int32) for column in out.moved))
    return replace(batch, texts=tuple(code.texts for code in codes), moved=moved)


class _Moved:
    """The moved nodes of one table."""

    def __init__(
        self,
        source: TableSource,
        plan: Plan,
        table: str,
        rows: list[Ints],
        fresh: Collection[tuple[str, str]],
        report: ReadReport,
    ) -> None:
        self.source, self.plan, self.table, self.rows = source, plan, table, rows
        self.fresh, self.report = fresh, report
        self.name = MOVED_TABLE + table

    def fail(self, message: str, row: int = -1) -> DataError:
        if row < 0:
            return DataError(message, source=self.source.name, place=f"table {self.name!r}")
        place = self.source.place(self.name, row)
        return DataError(message, source=place.source, place=place.place)

    def read(self, reader: NestedReader) -> None:
        """Give the nodes to the reader, the trees of one row together."""
        key = owner_key(self.source, self.table)
        found = self.source.read(self.name, [NODE, ABOVE, UNDER, CLASS, VALUE, *(HOLDER + name for name in key)])
        holder = self.source.read(self.table, key)
        try:
            above = find_targets([found.column(ABOVE)], [found.column(NODE)])
            row = find_targets([found.column(HOLDER + name) for name in key], [holder.column(name) for name in key])
            texts = [self.texts(found.column(name)) for name in (UNDER, CLASS, VALUE)]
        except (KeyClash, RepeatedKey, Unreadable):
            raise self.fail(BROKEN_KEYS) from None
        wrong = np.flatnonzero((above < -1) | ((above < 0) & (row < 0)))
        if len(wrong):
            raise self.fail(NO_ROW, int(wrong[0]))
        if len(circle := in_circles(above)):
            raise self.fail(CIRCLE, int(circle.min()))
        inner = np.flatnonzero(above >= 0)
        unders = np.array(texts[0], dtype=object)
        other_row = (row[inner] != NULL) & (row[inner] != row[above[inner]])
        other_class = (unders[inner] != "") & (unders[inner] != unders[above[inner]])
        if len(strange := inner[other_row | other_class]):
            raise self.fail(OTHER_ROW, int(strange[0]))
        self.account(found, key)
        self.give(reader, above.tolist(), row, texts)

    def account(self, found: Any, key: list[str]) -> None:
        """Report further columns, and keys that are not plain row numbers."""
        is_numbered = numbering(found.column(NODE)) != "other"
        columns = self.source.tables()[self.name].columns
        account_moved(self.table, columns, key, found.num_rows, self.fresh, self.report, is_numbered=is_numbered)

    def texts(self, column: Any) -> list[str]:
        codes, texts = coded(column)
        texts = [*texts, ""]
        return [texts[code] for code in codes.tolist()]

    def give(self, reader: NestedReader, above: list[int], row: Ints, texts: list[list[str]]) -> None:
        unders, classes, values = texts
        nodes: list[list[Any]] = [[name, value, []] for name, value in zip(classes, values, strict=True)]
        places = self.places()
        for number, node in enumerate(nodes):
            if above[number] >= 0:
                nodes[above[number]][2].append(node)
        for number, node in enumerate(nodes):
            if above[number] >= 0:
                continue
            try:
                self.hang(reader, node, unders[number], int(row[number]), places)
            except Malformed as problem:
                raise self.fail(str(problem), number) from None

    def places(self) -> dict[int, Ints]:
        """Return for each container that rows of the table are: the place of every table row among its rows (-1:
        none).
        """
        places: dict[int, Ints] = {}
        for stop in self.plan.stops:
            if stop.is_container and stop.table == self.table:
                found = self.rows[stop.index]
                place = np.full(int(found.max(initial=-1)) + 1, -1, np.int32)
                place[found] = np.arange(len(found), dtype=np.int32)
                places[stop.container] = place
        return places

    def hang(self, reader: NestedReader, node: list[Any], under: str, row: int, places: dict[int, Ints]) -> None:
        """Attach a tree to the row of the container that holds the class it lies under."""
        layout = self.plan.layout
        home = 0 if under == "/" else -1
        for published in layout.classes:
            if published.name == under:
                home = published.container
        place = places.get(home, np.empty(0, np.int32))
        if row >= len(place) or place[row] < 0:
            raise Malformed(MISPLACED)
        reader.add_moved({under: [node]}, int(place[row]), home)

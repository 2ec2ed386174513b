"""Tables of disassociated nodes in a release: read again as nodes under the rows that remain.

Before them come accounts for what reading left out, and for what identifies rows: keys that are not plain row numbers,
rows of no person. In a release, keys are numbers of rows in random order, equal looked-up rows occur once, and every
row with values belongs to a person. Other inputs may have anything; their verification must report it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from treeanon.arrays import Ints
from treeanon.errors import DataError, UsageError
from treeanon.forest import Batch, ReadReport
from treeanon.forest.tables import BatchWriter, Malformed, MovedNodes, NestedReader, TextCodes
from treeanon.io.columns.texts import Unreadable, coded_in
from treeanon.io.relational.key_constraints import find_needs
from treeanon.io.relational.layout import distinct_rows
from treeanon.io.relational.plan import MOVED_TABLE, NULL, KeyClash, Plan, RepeatedKey, Stop, find_targets
from treeanon.io.relational.source import KeyedTables, TableInfo, TableSource
from treeanon.kernels.joins import in_circles
from treeanon.schema.keys import ForeignKey, columns_text

if TYPE_CHECKING:
    import pyarrow as pa


Numbering = Literal["numbered", "ones", "other"]
"""Whether a column numbers its rows (all different, from 1 to their count), holds nothing but 1, or anything else."""


def numbering(column: pa.ChunkedArray) -> Numbering:
    """Return what a key column holds; null does not count.

    >>> import pyarrow as pa
    >>> [numbering(pa.chunked_array([values])) for values in ([2, 1], [1, 1, None], [7, 8], ["1"])]
    ['numbered', 'ones', 'other', 'other']
    """
    import pyarrow.compute as pc
    import pyarrow.types as of

    filled = len(column) - column.null_count
    if not filled:
        return "numbered"
    if not of.is_integer(column.type):
        return "other"
    found = pc.min_max(column)
    low, high = found["min"].as_py(), found["max"].as_py()
    if low == high == 1:
        return "ones"
    if low < 1 or high > len(column):
        return "other"
    seen = np.zeros(high + 1, bool)
    for chunk in column.chunks:
        seen[np.asarray(chunk.drop_null())] = True
    return "numbered" if np.count_nonzero(seen) == filled else "other"


@dataclass(frozen=True)
class Accounting(ABC):
    """What was read, for either engine's counts: the input's tables, the plan, how keys are numbered, table sizes."""

    infos: Mapping[str, TableInfo]
    plan: Plan
    numberings: Mapping[tuple[str, str], Numbering]
    sizes: Mapping[str, int]

    def give(self, report: ReadReport) -> None:
        """Add all counts to the report."""
        self.columns(report)
        self.tables(report)
        self.unreached(report)
        self.unmerged(report)

    @abstractmethod
    def present(self, stop: Stop) -> int:
        """Return how many rows all containers have at a stop."""

    @abstractmethod
    def held(self, stop: Stop, name: str) -> int:
        """Return in how many of these rows a column has a value; all rows, if it was not read."""

    @abstractmethod
    def unreached(self, report: ReadReport) -> None:
        """Count rows that hold values, but belong to no person by any path."""

    @abstractmethod
    def unmerged(self, report: ReadReport) -> None:
        """Count looked-up rows that equal others: which of them a row refers to reveals more than their values."""

    def is_fresh(self, table: str, column: str, seen: frozenset[tuple[str, str]] = frozenset()) -> bool:
        """Return whether a key column holds plain numbers: of its own rows, or of rows that it refers to."""
        at = table, column
        if self.numberings.get(at, "other") != "other":
            return True
        ways = (
            (key.target, key.target_columns[key.columns.index(column)])
            for key in self.plan.followed()
            if key.table == table and column in key.columns
        )
        return at not in seen and any(self.is_fresh(*way, seen | {at}) for way in ways)

    def fresh(self) -> frozenset[tuple[str, str]]:
        """Return the key columns that hold plain row numbers."""
        return frozenset(at for at in self.numberings if self.is_fresh(*at))

    def columns(self, report: ReadReport) -> None:
        """Count columns without a class, where there are rows; of keys only those that are not plain row numbers."""
        for stop in self.plan.stops:
            named = {*stop.columns.values(), *(stop.fixed or ())[:1], self.plan.record_column}
            for name in self.infos[stop.table].columns if self.present(stop) else ():
                at = stop.table, name
                if name in named:
                    continue
                if at in self.numberings:
                    if not self.is_fresh(*at):
                        report.keys[columns_text(stop.table, [name])] = self.sizes[stop.table]
                elif times := self.held(stop, name):
                    report.dropped.add(stop.place, name, times)

    def tables(self, report: ReadReport) -> None:
        """Report the tables that no path goes through."""
        visited = {stop.table for stop in self.plan.stops}
        visited |= {MOVED_TABLE + stop.table for stop in self.plan.stops if stop.is_container}
        report.unread_tables += [name for name in self.infos if name not in visited]

    def merges(self, stop: Stop) -> bool:
        """Return whether a release has equal rows of a looked-up table only once."""
        try:
            is_apart = find_needs(self.plan).keeps_apart(stop)
        except UsageError:  # a release cannot have this form
            is_apart = False
        return not is_apart and not any(other.is_container for other in self.plan.below(stop))


@dataclass(frozen=True)
class Accounts(Accounting):
    """Accounting of local columns: the codes of their values, what rows refer to, the rows of every stop."""

    codes: Mapping[tuple[str, str], Ints]
    targets: Mapping[ForeignKey, Ints]
    rows: list[Ints]

    def present(self, stop: Stop) -> int:
        """Return how many rows all containers have at a stop."""
        return int(np.count_nonzero(self.rows[stop.index] >= 0))

    def held(self, stop: Stop, name: str) -> int:
        """Return in how many of these rows a column has a value; all rows, if it was not read."""
        found = self.rows[stop.index]
        read = self.codes.get((stop.table, name))
        return self.present(stop) if read is None else int(np.count_nonzero(read[found[found >= 0]] >= 0))

    def unreached(self, report: ReadReport) -> None:
        """Count rows that hold values, but belong to no person by any path."""
        for table in dict.fromkeys(stop.table for stop in self.plan.stops):
            reached = np.zeros(self.sizes[table], bool)
            for stop, found in zip(self.plan.stops, self.rows, strict=True):
                if stop.table == table:
                    reached[found[found >= 0]] = True
            if reached.all():
                continue
            filled = np.zeros(len(reached), bool)
            for name in self.plan.valued(table):
                filled |= self.codes[table, name] >= 0
            if lost := int(np.count_nonzero(filled & ~reached)):
                report.unreached[table] += lost

    def unmerged(self, report: ReadReport) -> None:
        """Count looked-up rows that equal others: which of them a row refers to reveals more than their values."""
        numbers: dict[int, Ints] = {}
        for stop in reversed(self.plan.stops):
            if not stop.is_container:
                numbers[stop.index] = self._numbered(stop, numbers, report)

    def _numbered(self, stop: Stop, numbers: dict[int, Ints], report: ReadReport) -> Ints:
        """Return a number for every row of a looked-up table, the same for equal rows; -1 for those not used at the
        stop.
        """
        found = self.rows[stop.index]
        is_used = np.zeros(self.sizes[stop.table], bool)
        is_used[found[found >= 0]] = True
        used = np.flatnonzero(is_used)
        number = np.arange(len(used))
        if self.merges(stop):
            columns = [self.codes[stop.table, name][used] for name in stop.columns.values()]
            for other in self.plan.below(stop):
                assert other.link is not None
                target = self.targets[other.link.key][used]
                columns.append(np.where(target >= 0, np.append(numbers[other.index], -1)[target], -1).astype(np.int32))
            number, first = distinct_rows(columns, len(used))
            if len(first) < len(used):
                report.unmerged[stop.table] += len(used) - len(first)
        out = np.full(self.sizes[stop.table], -1, np.int32)
        out[used] = number
        return out


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
        specs = (held.spec for held in self.plan.layout.classes)
        codes, texts = coded_in(self.source.files, specs, column)
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

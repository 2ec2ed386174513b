"""Reads tables into container rows: column by column, joined by their keys, sorted by person."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from treeanon.arrays import Ints
from treeanon.errors import DataError
from treeanon.forest import Batch, ReadReport
from treeanon.forest.tables import ContainerRows
from treeanon.formats import TABLE_FILES
from treeanon.io.columns.texts import Unreadable, coded_in
from treeanon.io.interface import ReadOptions
from treeanon.io.relational.moved_tables import Accounts, Numbering, numbering, read_moved
from treeanon.io.relational.plan import (
    DANGLING,
    NULL,
    RECORD_COLUMN,
    KeyClash,
    Plan,
    RepeatedKey,
    Stop,
    find_targets,
    make_plan,
)
from treeanon.io.relational.source import KeyedTables, TableSource
from treeanon.kernels.jit import read_only
from treeanon.kernels.joins import group_rows, in_circles, take_at
from treeanon.schema import Schema
from treeanon.schema.keys import ForeignKey, columns_text
from treeanon.schema.relational import resolve

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 200_000_000
"""The most rows that a path may lead to, where rows of a looked-up table's children belong to many persons."""

Column = tuple[Ints, Sequence[str]]


def resolved(schema: Schema, source: KeyedTables) -> Schema:
    """Return the schema with its paths resolved by its own keys and those of the input."""
    if schema.input.relations is not None:
        return schema
    tables = source.tables()
    columns = {name: info.columns for name, info in tables.items()}
    primary = {name: info.primary for name, info in tables.items() if info.primary}
    keys = source.keys()
    kind = TABLE_FILES.get(source.files)
    sure = kind is None or kind.by_column or bool(keys or primary)
    return resolve(schema, keys, columns, primary, source.files, header_is_sure=sure)


def read_tables(
    source: TableSource,
    schema: Schema,
    options: ReadOptions,
    report: ReadReport,
    record_column: str = RECORD_COLUMN,
) -> Batch:
    """Return a batch of all persons of a relational input, by a resolved schema; see `Plan` for `record_column`."""
    return _Reader(source, make_plan(schema, record_column), options, report).batch()


@dataclass
class _Reader:
    """Reader of the tables of a plan, each once, which keeps what the joins need."""

    source: TableSource
    plan: Plan
    options: ReadOptions
    report: ReadReport
    columns: dict[tuple[str, str], Column] = field(default_factory=dict)
    targets: dict[ForeignKey, Ints] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    owned: dict[str, np.ndarray] = field(default_factory=dict)
    persons: Ints | None = None
    numberings: dict[tuple[str, str], Numbering] = field(default_factory=dict)
    primary: dict[str, dict[str, pa.ChunkedArray]] = field(default_factory=dict)

    def batch(self) -> Batch:
        self.report.is_relational = True
        self.report.left_out += self.source.left_out
        with system_memory():
            self.load()
        rows, owners = self.rows()
        codes = {at: column for at, (column, _) in self.columns.items()}
        tables = self.source.tables()
        accounts = Accounts(tables, self.plan, self.numberings, self.sizes, codes, self.targets, rows)
        accounts.give(self.report)
        fresh = accounts.fresh()
        self.targets.clear()
        del accounts, codes
        batch = self.assembled(rows, owners)
        give_back()
        return read_moved(self.source, self.plan, batch, rows, fresh, self.report)

    def load(self) -> None:
        """Read columns table by table; key columns are dropped once the targets of their keys are known."""
        waiting: dict[ForeignKey, dict[str, pa.ChunkedArray]] = {key: {} for key in self.plan.followed()}
        for table, found in self.read_ahead(list(self.asked())):
            self.sizes[table] = found.num_rows
            for name in found.column_names:
                self.take(table, name, found.column(name), waiting)
            del found
            for key in [key for key, sides in waiting.items() if len(sides) == 2 * len(key.columns)]:
                self.targets[key] = self.target(key, waiting.pop(key))

    def asked(self) -> Iterator[tuple[str, list[str]]]:
        """Return the columns to read, in parts that are read at once."""
        for table, wanted in self.plan.tables().items():
            info = self.source.tables()[table]
            # Where no column is needed, one is read for the number of rows.
            names = list(dict.fromkeys([*wanted, *info.primary])) or list(info.columns[:1])
            mark = self.plan.record_column
            if table == self.plan.stops[0].table and mark in info.columns and mark not in names:
                names.append(mark)
            yield from ((table, [name]) for name in names) if self.source.by_column else [(table, names)]

    def read_ahead(self, asked: list[tuple[str, list[str]]]) -> Iterator[tuple[str, pa.Table]]:
        """Yield the parts in turn; where they are columns, the next is decoded while one is worked on."""
        if not self.source.by_column:
            yield from ((table, self.source.read(table, names)) for table, names in asked)
            return
        with ThreadPoolExecutor(1) as pool:
            coming = deque((table, pool.submit(self.source.read, table, names)) for table, names in asked[:1])
            for number in range(len(asked)):
                table, found = coming.popleft()
                done = found.result()
                del found
                if number + 1 < len(asked):
                    table_after, names = asked[number + 1]
                    coming.append((table_after, pool.submit(self.source.read, table_after, names)))
                yield table, done
                del done

    def take(
        self, table: str, name: str, column: pa.ChunkedArray, waiting: dict[ForeignKey, dict[str, pa.ChunkedArray]]
    ) -> None:
        """Keep what is needed of a column."""
        primary = self.source.tables()[table].primary
        if name in primary:
            self.numberings[table, name] = numbering(column)
            parts = self.primary.setdefault(table, {})
            parts[name] = column
            if len(parts) == len(primary):
                # The target of a key is checked when the key is followed.
                if not any((key.target, key.target_columns) == (table, primary) for key in self.plan.followed()):
                    self.check_primary(table, [parts[name] for name in primary])
                del self.primary[table]
        if name in self.plan.valued(table):
            self.columns[table, name] = self.coded(table, name, column)
        if name == self.plan.record_column and table == self.plan.stops[0].table:
            self.persons = self.marked(table, self.coded(table, name, column))
        for key, sides in waiting.items():
            if key.table == table and name in key.columns:
                sides[f"own {name}"] = column
            if key.target == table and name in key.target_columns:
                sides[f"target {name}"] = column

    def marked(self, table: str, column: Column) -> Ints:
        """Return the rows of the record table that are persons."""
        codes, texts = column
        right = np.array([text in ("0", "1") for text in texts] + [False])
        if len(wrong := np.flatnonzero(~right[codes])):
            self.refuse("must be 1 for a person, and 0 for other rows", table, int(wrong[0]), [self.plan.record_column])
        return _rows_with(column, "1")

    def coded(self, table: str, name: str, column: pa.ChunkedArray) -> Column:
        try:
            return coded_in(self.source.files, (held.spec for held in self.plan.layout.classes), column)
        except Unreadable as problem:
            what = f"holds {problem.what}"
            if problem.row < 0:
                raise DataError(what, source=self.source.name, path=columns_text(table, [name])) from None
            self.refuse(what, table, problem.row, [name])

    def refuse(self, what: str, table: str, row: int, names: Sequence[str] = ()) -> NoReturn:
        """Return a DataError about one row."""
        place = self.source.place(table, row)
        path = columns_text(table, names) if names else ""
        raise DataError(what, source=place.source, place=place.place, path=path) from None

    def check_primary(self, table: str, columns: list[pa.ChunkedArray]) -> None:
        """Check that primary keys are unique: files may repeat them where no database enforces it."""
        names = self.source.tables()[table].primary
        try:
            find_targets([column.slice(0, 0) for column in columns], columns)
        except RepeatedKey as rows:
            what = f"has the same primary key as {self.source.place(table, rows.first).place}"
            self.refuse(what, table, rows.second, names)
        except KeyClash:  # a type that no key can be compared by
            return

    def target(self, key: ForeignKey, sides: dict[str, pa.ChunkedArray]) -> Ints:
        """Return the row that each row of the key's table refers to."""
        try:
            targets = find_targets(
                [sides[f"own {name}"] for name in key.columns],
                [sides[f"target {name}"] for name in key.target_columns],
            )
        except KeyClash as clash:
            own = columns_text(key.table, [key.columns[clash.column]])
            target = columns_text(key.target, [key.target_columns[clash.column]])
            what = f"{own} holds {clash.own}, but {target}, which it refers to, {clash.target}"
            raise DataError(f"{what}; a key and its target must have the same type", source=self.source.name) from None
        except RepeatedKey as rows:
            first = self.source.place(key.target, rows.first)
            what = f"has the same key as {first.place}; {key} needs it to be unique"
            self.refuse(what, key.target, rows.second, key.target_columns)
        for side, table, names in (("own", key.table, key.columns), ("target", key.target, key.target_columns)):
            for name in names:
                if (table, name) not in self.numberings:
                    self.numberings[table, name] = numbering(sides[f"{side} {name}"])
        if key.of_itself:
            targets = self.without_circles(key, targets)
        self.check_dangling(key, targets)
        return targets

    def without_circles(self, key: ForeignKey, targets: Ints) -> Ints:
        circle = in_circles(targets)
        if not len(circle):
            return targets
        if self.options.on_error == "error":
            what = f"leads back to itself by {key}: {len(circle):,} rows refer to each other in a circle"
            self.refuse(what, key.table, int(circle.min()), key.columns)
        self.report.circles[str(key)] += len(circle)
        targets = targets.copy()
        targets[circle] = NULL
        return targets

    def check_dangling(self, key: ForeignKey, targets: Ints) -> None:
        lost = np.flatnonzero(targets == DANGLING)
        if not len(lost):
            return
        if self.options.strict:
            what = f"refers to a row of {key.target!r} that is not there ({len(lost):,} rows do)"
            self.refuse(what, key.table, int(lost[0]), key.columns)
        self.report.dangling[str(key)] += len(lost)

    def rows(self) -> tuple[list[Ints], list[Ints]]:
        """Return for each stop the table row of every row of its container (-1: none), and the owners of each
        container.
        """
        rows: list[Ints] = []
        owners: list[Ints] = [np.empty(0, np.int32)] * len(self.plan.layout.containers)
        for stop in self.plan.stops:
            if stop.link is None:
                size = self.sizes[stop.table]
                found = self.persons if self.persons is not None else np.arange(size, dtype=np.int32)
                owners[0] = np.zeros(len(found), np.int32)
            elif stop.link.down:
                found, owners[stop.container] = self.children(stop, rows[stop.above])
            else:
                found = _through(self.targets[stop.link.key], rows[stop.above])
            rows.append(found)
        self.count_ownerless(rows)
        return rows, owners

    def count_ownerless(self, rows: list[Ints]) -> None:
        """Count the rows of child tables that belong to no person by any path."""
        for stop, found in zip(self.plan.stops, rows, strict=True):
            if stop.table in self.owned and (stop.link is None or not stop.link.down):
                self.owned[stop.table][found[found >= 0]] = True
        for table, owned in self.owned.items():
            self.report.ownerless[table] += int(np.count_nonzero(~owned))

    def children(self, stop: Stop, above: Ints) -> tuple[Ints, Ints]:
        """Return the rows that refer to the rows of the stop above, sorted by these, and which of these each belongs
        to.
        """
        assert stop.link is not None
        key = stop.link.key
        targets = self.targets[key]
        size = self.sizes[key.target]
        owner_of, repeats = _inverse(above, size)
        owner = _through(owner_of, targets)
        self.owned.setdefault(stop.table, np.zeros(len(targets), bool))[owner >= 0] = True
        if stop.fixed is not None:
            name, constant = stop.fixed
            met = np.zeros(len(targets), bool)
            met[_rows_with(self.columns[stop.table, name], constant)] = True
            owner[~met] = -1
        if not repeats:
            starts, order = group_rows(owner, len(above))
            return order, np.repeat(np.arange(len(above), dtype=np.int32), np.diff(starts))
        starts, order = group_rows(np.where(owner >= 0, targets, -1).astype(np.int32), size)
        counts = np.where(above >= 0, np.diff(starts)[above], 0)
        if (total := int(counts.sum())) > MOST_ROWS:
            what = (
                f"leads to {total:,} rows, as many persons share them, and at most {MOST_ROWS:,} are read; leave it out"
            )
            raise DataError(what, source=self.source.name, path=stop.place.removesuffix("."))
        owner = np.repeat(np.arange(len(above), dtype=np.int32), counts)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        return order[starts[above[owner]] + within], owner

    def assembled(self, rows: list[Ints], owners: list[Ints]) -> Batch:
        """Return the rows of every container, with the codes of its classes."""
        layout = self.plan.layout
        texts: list[Sequence[str]] = [[] for _ in layout.classes]
        wanted: list[tuple[int, int, Ints, Ints]] = []
        for stop, found in zip(self.plan.stops, rows, strict=True):
            for held, name in stop.columns.items():
                column, texts[held] = self.columns[stop.table, name]
                wanted.append((stop.container, held, column, found))
        self.columns.clear()
        codes: list[dict[int, Ints]] = [{} for _ in layout.containers]
        with ThreadPoolExecutor(self.options.jobs) as pool:
            made = pool.map(lambda each: _through(each[2], each[3]), wanted)
            for (container, held, _, _), column in zip(wanted, made, strict=True):
                codes[container][held] = column
        tables = tuple(
            ContainerRows(owner, {held: found[held] for held in container.held})
            for container, owner, found in zip(layout.containers, owners, codes, strict=True)
        )
        return Batch.of(tables, tuple(texts))


@contextmanager
def system_memory() -> Iterator[None]:
    """Let Arrow use the allocator of the system, to which memory returns at once: other allocators of Arrow keep it."""
    import pyarrow as pa

    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)
        give_back()


def give_back() -> None:
    """Return freed memory to the system, if the C library can: the trees will need as much again."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _rows_with(column: Column, text: str) -> Ints:
    """Return the rows whose value is a text."""
    codes, texts = column
    wanted = np.array([found == text for found in texts] + [False])
    return np.flatnonzero(wanted[codes]).astype(np.int32)


def _through(values: Ints, rows: Ints) -> Ints:
    """Return the values at rows; -1 where there is no row."""
    if len(rows) == len(values) and len(rows) and _is_identity(rows):
        return np.maximum(values, -1)
    return take_at(*read_only(values, rows))


def _is_identity(rows: Ints) -> bool:
    return bool(rows[0] == 0 and rows[-1] == len(rows) - 1 and np.array_equal(rows, np.arange(len(rows))))


def _inverse(rows: Ints, size: int) -> tuple[Ints, bool]:
    """Return for every row of a table its place among `rows` (-1: none), and whether one stands there more than
    once.
    """
    places = np.full(size, -1, np.int32)
    present = np.flatnonzero(rows >= 0).astype(np.int32)
    places[rows[present]] = present
    return places, int(np.count_nonzero(places >= 0)) < len(present)

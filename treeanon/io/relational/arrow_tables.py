"""The tables of a release as Arrow tables: keys as numbers, values as numbers or texts, rows in random order.

What the parts of tables that are written apart must have in common.

A column of published values is of numbers where the declared types and all values allow it, else of texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.forest import Forest
from treeanon.forest.classes import written
from treeanon.io.columns.texts import are_shielded, indices
from treeanon.io.relational.fresh_keys import KeyColumns, KeyedTable, Numbered, moved_from, moved_tables, whole_keys
from treeanon.io.relational.key_constraints import Column
from treeanon.io.relational.layout import MovedRows, Rows
from treeanon.io.relational.moved_tables import ABOVE, CLASS, HOLDER, NODE, UNDER, VALUE
from treeanon.io.relational.plan import MOVED_TABLE, RECORD_COLUMN, Plan, Stop
from treeanon.schema.keys import ForeignKey

if TYPE_CHECKING:
    import pyarrow as pa


import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from treeanon.errors import DataError
from treeanon.hierarchy.numbers import number_text
from treeanon.io.columns.texts import strings

if TYPE_CHECKING:
    import pyarrow as pa


Kind = Literal["integer", "number", "text"]
_INTEGER = re.compile(r"-?[1-9][0-9]{0,18}|0")


def value_column(codes: Ints, texts: Sequence[str], wanted: set[str]) -> tuple[pa.Array, Kind]:
    """Return a column of values: numbers where its classes are declared as numbers and all values are numbers, else
    texts.
    """
    kind = next(kinds_of(texts, wanted))
    return values_of(texts, kind).take(indices(codes)), kind


def kinds_of(texts: Sequence[str], wanted: set[str]) -> Iterator[Kind]:
    """Return the kinds of column that can hold all texts and that the declared types allow, the most specific first."""
    if wanted <= {"integer", "number"}:
        if all(map(_is_integer, texts)):
            yield "integer"
        if all(map(_is_float, texts)):
            yield "number"
    yield "text"


def values_of(texts: Sequence[str], kind: Kind) -> pa.Array:
    """Return texts as values of a kind that can hold them."""
    import pyarrow as pa

    if kind == "integer":
        return pa.array([int(text) for text in texts], pa.int64())
    if kind == "number":
        return pa.array([float(text) for text in texts], pa.float64())
    return text_array(texts)


def _is_integer(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text)) and abs(int(text)) < 2**63


def _is_float(text: str) -> bool:
    """Return whether reading the number and writing it again gives just this text."""
    try:
        value = float(text)
    except ValueError:
        return False
    return math.isfinite(value) and number_text(value) == text


def text_array(texts: Sequence[str]) -> pa.Array:
    """Return texts as an array; DataError if one cannot be stored."""
    try:
        return strings(texts)
    except UnicodeEncodeError:
        raise DataError("a value holds a lone surrogate, which tables cannot hold") from None


@dataclass(frozen=True)
class Agreed:
    """The keys that every row has, the tables from whose rows nodes were moved, and the kinds that fit all values."""

    whole: frozenset[KeyColumns]
    moved: frozenset[str]
    fitting: frozenset[tuple[Column, Kind]]

    def with_part(self, other: Agreed) -> Agreed:
        """Return what these parts have in common with another."""
        return Agreed(self.whole & other.whole, self.moved | other.moved, self.fitting & other.fitting)

    def kind(self, column: Column) -> Kind:
        """Return the kind of a column with values."""
        kinds: tuple[Kind, ...] = ("integer", "number")
        return next((kind for kind in kinds if (column, kind) in self.fitting), "text")


@dataclass(frozen=True)
class TableOut:
    """One table of a release: its columns, what kind each is, and its keys (`unique`: those beside the primary).

    `csv_safe` says that spreadsheets are to take no text of a CSV file as a formula.
    """

    name: str
    data: pa.Table
    kinds: dict[str, Kind]
    primary: tuple[str, ...]
    unique: tuple[tuple[str, ...], ...]
    foreign: tuple[ForeignKey, ...]
    csv_safe: bool = False

    @property
    def needed(self) -> frozenset[str]:
        """The columns of its keys that are never null; of keys beside the primary one some rows may have none."""
        names = {name for columns in (self.primary, *self.unique) for name in columns}
        return frozenset(name for name in names if not self.data.column(name).null_count)


def agreement(forest: Forest, plan: Plan, rows: Rows, keyed: Mapping[str, KeyedTable]) -> Agreed:
    """Return what the tables of a part, which have all their keys, have to agree upon with the other parts."""
    fitting = {
        ((name, column), kind)
        for name in keyed
        for column, (_, texts, wanted) in _Maker(forest, plan, rows, keyed[name]).valued().items()
        for kind in kinds_of(texts, wanted)
    }
    return Agreed(whole_keys(keyed), moved_tables(plan, rows), frozenset(fitting))


def tables_out(
    forest: Forest,
    plan: Plan,
    rows: Rows,
    keyed: Mapping[str, KeyedTable],
    numbered: Numbered,
    agreed: Agreed | None = None,
) -> list[TableOut]:
    """Return all tables of a release, the record's first; of a part of one, as `agreed`."""
    made = [table_out(forest, plan, rows, table, agreed) for table in keyed.values()]
    moved = moved_tables(plan, rows) if agreed is None else agreed.moved
    made += [_moved_table(forest, plan, rows, keyed[name], numbered) for name in keyed if name in moved]
    return made


def table_out(forest: Forest, plan: Plan, rows: Rows, keyed: KeyedTable, agreed: Agreed | None = None) -> TableOut:
    """Return one table of a release."""
    return _Maker(forest, plan, rows, keyed, agreed).table()


@dataclass
class _Maker:
    forest: Forest
    plan: Plan
    rows: Rows
    keyed: KeyedTable
    agreed: Agreed | None = None

    def table(self) -> TableOut:
        import pyarrow as pa

        # Rows are put in the order of their random numbers.
        order = np.argsort(self.keyed.serial)
        columns: dict[str, pa.Array] = {}
        kinds: dict[str, Kind] = {}
        for name, values in self.keyed.columns.items():
            columns[name], kinds[name] = pa.array(values[order], mask=values[order] == 0), "integer"
        for name, (codes, texts, wanted) in self.valued().items():
            kinds[name] = next(kinds_of(texts, wanted)) if self.agreed is None else self.kind(name)
            columns[name] = values_of(texts, kinds[name]).take(indices(codes[order]))
        if marks := self.persons():
            columns[RECORD_COLUMN], kinds[RECORD_COLUMN] = pa.array(marks[0][order]), "integer"
        own = tuple(key for key in self.plan.followed() if key.table == self.keyed.name)
        unique = tuple(self.keyed.unique)
        safe = are_shielded(held.spec for held in self.plan.layout.classes)
        return TableOut(self.keyed.name, pa.table(columns), kinds, self.keyed.primary, unique, own, safe)

    def kind(self, name: str) -> Kind:
        assert self.agreed is not None
        return self.agreed.kind((self.keyed.name, name))

    def persons(self) -> list[Longs]:
        """Return which rows are persons, in a record table that has other rows too."""
        if 0 not in self.keyed.blocks or len(self.keyed.blocks) == 1:
            return []
        marks = np.zeros(len(self.keyed.serial), np.int64)
        marks[self.keyed.blocks[0]] = 1
        return [marks]

    def valued(self) -> dict[str, tuple[Ints, list[str], set[str]]]:
        """Return a code for each row, the texts, and the declared types of the classes, for every column with
        values.
        """
        found: dict[str, tuple[Ints, list[str], set[str]]] = {}
        classes = self.forest.classes
        for stop in self.plan.stops:
            if stop.table != self.keyed.name:
                continue
            block = self.keyed.blocks[stop.index]
            if stop.fixed is not None:
                codes, texts, wanted = self.started(found, stop.fixed[0])
                codes[block] = len(texts)
                texts.append(stop.fixed[1])
                wanted.add("text")
            for held, name in stop.columns.items():
                codes, texts, wanted = self.started(found, name)
                labels = self.rows.stops[stop.index].labels[held]
                used = unique_values(labels[labels >= 0])
                # Only published texts are examined: a hierarchy may hold many more.
                shown = [written(classes.texts[label]) for label in used.tolist()]
                used = used[[text != "" for text in shown]]
                number = np.full(len(classes) + 1, -1, np.int32)
                number[used] = np.arange(len(texts), len(texts) + len(used))
                codes[block] = number[labels]
                texts.extend(filter(None, shown))
                wanted.add(self.plan.layout.classes[held].spec.type)
        return found

    def started(
        self, found: dict[str, tuple[Ints, list[str], set[str]]], name: str
    ) -> tuple[Ints, list[str], set[str]]:
        empty = np.full(len(self.keyed.serial), -1, np.int32)
        return found.setdefault(name, (empty, [], set()))


def _is_row_of(stop: Stop, table: str) -> bool:
    return stop.is_container and stop.table == table


def _moved_table(forest: Forest, plan: Plan, rows: Rows, keyed: KeyedTable, numbered: Numbered) -> TableOut:
    """Return the table of what was disassociated from rows of another, which it refers to."""
    import pyarrow as pa

    name = MOVED_TABLE + keyed.name
    containers = list(moved_from(plan, rows, keyed.name))
    home = {stop.container: keyed.blocks[stop.index] for stop in plan.stops if _is_row_of(stop, keyed.name)}
    names = [published.name for published in plan.layout.classes]
    size = sum(len(rows.moved[container].row) for container in containers)
    serial = numbered(name, size)
    above, holder = np.zeros(size, np.int64), np.zeros(size, np.int64)
    unders: list[str] = []
    labels: list[int] = []
    at = 0
    for container in containers:
        found: MovedRows = rows.moved[container]
        upper = np.array(found.above, np.int64)
        part = slice(at, at + len(upper))
        above[part] = np.where(upper >= 0, serial[part][upper], 0)
        holder[part] = np.array(found.row) + home[container].start
        unders += ["/" if under < 0 else names[under] for under in found.under]
        labels += found.label
        at += len(upper)
    order = np.argsort(serial)
    decoded = [forest.classes.decode(label) for label in labels]
    columns = {
        NODE: pa.array(serial[order]),
        ABOVE: pa.array(above[order], mask=above[order] == 0),
        UNDER: text_array([unders[i] for i in order]),
        CLASS: text_array([decoded[i][0] for i in order]),
        VALUE: text_array([decoded[i][1] for i in order]),
    }
    for column in keyed.primary:
        columns[HOLDER + column] = pa.array(keyed.columns[column][holder][order])
    kinds: dict[str, Kind] = {column: "text" if column in (UNDER, CLASS, VALUE) else "integer" for column in columns}
    foreign = (
        ForeignKey(name, (ABOVE,), name, (NODE,)),
        ForeignKey(name, tuple(HOLDER + column for column in keyed.primary), keyed.name, keyed.primary),
    )
    safe = are_shielded(held.spec for held in plan.layout.classes)
    return TableOut(name, pa.table(columns), kinds, (NODE,), (), foreign, safe)

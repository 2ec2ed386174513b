"""The tables of a release as Arrow has them: keys as numbers, values as numbers or texts, rows in random order."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from treeanon.errors import DataError
from treeanon.forest import Forest
from treeanon.io.tables.made_keys import KeyedTable, Shuffled, moved_from
from treeanon.io.tables.moved import ABOVE, CLASS, HOLDER, NODE, UNDER, VALUE
from treeanon.io.tables.plan import MOVED_TABLE, RECORD_COLUMN, Plan, Stop
from treeanon.io.tables.released import MovedRows, Rows
from treeanon.io.tables.views import indices, strings
from treeanon.io.values import number_text
from treeanon.kernels.trees import Ints, Longs
from treeanon.schema.keys import ForeignKey

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["integer", "number", "text"]
_INTEGER = re.compile(r"-?[1-9][0-9]{0,18}|0")


@dataclass(frozen=True)
class TableOut:
    """One table of a release: its columns, what kind each is, and its keys (`unique`: those beside the primary)."""

    name: str
    data: pa.Table
    kinds: dict[str, Kind]
    primary: tuple[str, ...]
    unique: tuple[tuple[str, ...], ...]
    foreign: tuple[ForeignKey, ...]

    @property
    def needed(self) -> frozenset[str]:
        """The columns of its keys that are never null; of keys beside the primary one some rows may have none."""
        names = {name for columns in (self.primary, *self.unique) for name in columns}
        return frozenset(name for name in names if not self.data.column(name).null_count)


def tables_out(
    forest: Forest, plan: Plan, rows: Rows, keyed: dict[str, KeyedTable], shuffled: Shuffled
) -> list[TableOut]:
    """All tables of a release, the record's first."""
    made = [table_out(forest, plan, rows, keyed[name]) for name in keyed]
    for name in keyed:
        containers = list(moved_from(plan, rows, name))
        if containers:
            made.append(_moved_table(forest, plan, rows, keyed[name], containers, shuffled))
    return made


def table_out(forest: Forest, plan: Plan, rows: Rows, keyed: KeyedTable) -> TableOut:
    """One table of a release."""
    return _Maker(forest, plan, rows, keyed).table()


@dataclass
class _Maker:
    forest: Forest
    plan: Plan
    rows: Rows
    keyed: KeyedTable

    def table(self) -> TableOut:
        import pyarrow as pa

        # Rows are put in the order of their random numbers.
        order = np.argsort(self.keyed.serial)
        columns: dict[str, pa.Array] = {}
        kinds: dict[str, Kind] = {}
        for name, values in self.keyed.columns.items():
            columns[name], kinds[name] = pa.array(values[order], mask=values[order] == 0), "integer"
        for name, (codes, texts, wanted) in self.valued().items():
            columns[name], kinds[name] = value_column(codes[order], texts, wanted)
        if marks := self.persons():
            columns[RECORD_COLUMN], kinds[RECORD_COLUMN] = pa.array(marks[0][order]), "integer"
        own = tuple(key for key in self.plan.followed() if key.table == self.keyed.name)
        return TableOut(self.keyed.name, pa.table(columns), kinds, self.keyed.primary, tuple(self.keyed.unique), own)

    def persons(self) -> list[Longs]:
        """Which rows are persons, in a record table that has other rows too."""
        if 0 not in self.keyed.blocks or len(self.keyed.blocks) == 1:
            return []
        marks = np.zeros(len(self.keyed.serial), np.int64)
        marks[self.keyed.blocks[0]] = 1
        return [marks]

    def valued(self) -> dict[str, tuple[Ints, list[str], set[str]]]:
        """For every column with values: a code for each row, the texts, and the types that its classes declare."""
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
                used = np.unique(labels[labels >= 0])
                # Only texts that are published are looked at: a hierarchy may hold many more.
                number = np.full(len(classes) + 1, -1, np.int32)
                number[used] = np.arange(len(texts), len(texts) + len(used))
                codes[block] = number[labels]
                texts.extend(classes.texts[label] for label in used.tolist())
                wanted.add(self.plan.layout.classes[held].spec.type)
        return found

    def started(
        self, found: dict[str, tuple[Ints, list[str], set[str]]], name: str
    ) -> tuple[Ints, list[str], set[str]]:
        empty = np.full(len(self.keyed.serial), -1, np.int32)
        return found.setdefault(name, (empty, [], set()))


def value_column(codes: Ints, texts: Sequence[str], wanted: set[str]) -> tuple[pa.Array, Kind]:
    """A column of values: numbers where its classes are declared to be and all of them are, else texts."""
    import pyarrow as pa

    kind: Kind = "text"
    if wanted <= {"integer", "number"} and all(map(_is_integer, texts)):
        kind = "integer"
    elif wanted <= {"integer", "number"} and all(map(_is_float, texts)):
        kind = "number"
    if kind == "integer":
        values = pa.array([int(text) for text in texts], pa.int64())
    elif kind == "number":
        values = pa.array([float(text) for text in texts], pa.float64())
    else:
        values = _text_array(texts)
    return values.take(indices(codes)), kind


def _is_integer(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text)) and abs(int(text)) < 2**63


def _is_float(text: str) -> bool:
    """Whether a reader of the number makes just this text of it."""
    try:
        value = float(text)
    except ValueError:
        return False
    return math.isfinite(value) and number_text(value) == text


def _text_array(texts: Sequence[str]) -> pa.Array:
    try:
        return strings(texts)
    except UnicodeEncodeError:
        raise DataError("a value holds half of a character (a lone surrogate), which tables cannot hold") from None


def _is_row_of(stop: Stop, table: str) -> bool:
    return stop.is_container and stop.table == table


def _moved_table(
    forest: Forest, plan: Plan, rows: Rows, keyed: KeyedTable, containers: list[int], shuffled: Shuffled
) -> TableOut:
    """The table of what was disassociated from rows of another, which it refers to."""
    import pyarrow as pa

    home = {stop.container: keyed.blocks[stop.index] for stop in plan.stops if _is_row_of(stop, keyed.name)}
    names = [published.name for published in plan.layout.classes]
    size = sum(len(rows.moved[container].row) for container in containers)
    serial = shuffled(size) + 1
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
        UNDER: _text_array([unders[i] for i in order]),
        CLASS: _text_array([decoded[i][0] for i in order]),
        VALUE: _text_array([decoded[i][1] for i in order]),
    }
    for name in keyed.primary:
        columns[HOLDER + name] = pa.array(keyed.columns[name][holder][order])
    name = MOVED_TABLE + keyed.name
    kinds: dict[str, Kind] = {column: "text" if column in (UNDER, CLASS, VALUE) else "integer" for column in columns}
    foreign = (
        ForeignKey(name, (ABOVE,), name, (NODE,)),
        ForeignKey(name, tuple(HOLDER + column for column in keyed.primary), keyed.name, keyed.primary),
    )
    return TableOut(name, pa.table(columns), kinds, (NODE,), (), foreign)

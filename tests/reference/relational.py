"""Small relational worlds, drawn at random, and a reader of them that nests rows one by one in the most obvious way."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from treeanon.io.relational.source import Place, TableInfo
from treeanon.schema.keys import ForeignKey

Row = dict[str, Any]


@dataclass
class MemoryTable:
    """A table as lists: one per column, and the type that each is handed out with."""

    columns: dict[str, list[Any]]
    types: dict[str, pa.DataType] = field(default_factory=dict)
    primary: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return max((len(values) for values in self.columns.values()), default=0)

    def row(self, number: int) -> Row:
        return {name: values[number] for name, values in self.columns.items()}


@dataclass
class MemorySource:
    """A TableSource over lists; columns come in chunks of `chunk` rows, and what is read is noted."""

    held: dict[str, MemoryTable]
    declared: Sequence[ForeignKey] = ()
    chunk: int = 3
    name: str = "memory"
    files: str = ""
    by_column: bool = False
    left_out: tuple[str, ...] = ()
    asked: list[str] = field(default_factory=list)

    def tables(self) -> Mapping[str, TableInfo]:
        return {name: TableInfo(tuple(table.columns), table.primary) for name, table in self.held.items()}

    def keys(self) -> Sequence[ForeignKey]:
        return self.declared

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        self.asked.append(table)
        found = self.held[table]
        return pa.table({name: self.column(found, name, most) for name in columns})

    def column(self, table: MemoryTable, name: str, most: int | None) -> pa.ChunkedArray:
        values = table.columns[name][:most]
        kind = table.types.get(name)
        parts = [values[at : at + self.chunk] for at in range(0, len(values), self.chunk)] or [[]]
        if kind is None:
            kind = pa.array(values).type
        return pa.chunked_array([pa.array(part, kind) for part in parts], kind)

    def place(self, table: str, row: int) -> Place:
        return Place("memory", f"table {table!r}, row {row + 1}")

    def close(self) -> None:
        pass


def memory(tables: Mapping[str, Mapping[str, list[Any]]], declared: Sequence[ForeignKey] = ()) -> MemorySource:
    """A source of plain lists, whose types pyarrow finds."""
    return MemorySource({name: MemoryTable(dict(columns)) for name, columns in tables.items()}, declared)


# --- the slow reader -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hop:
    """One step between tables: the key it follows, in which direction, and the kind of rows that it takes."""

    key: ForeignKey
    down: bool
    kind: str | None = None

    @property
    def table(self) -> str:
        return self.key.table if self.down else self.key.target


@dataclass(frozen=True)
class Field:
    """One class: the way to its table, its column, and whether it is published."""

    name: str
    hops: tuple[Hop, ...]
    column: str
    published: bool = True
    under: str | None = None


KIND = "kind of"
"""The column that predicates speak of."""


@dataclass
class World:
    """A relational input with a schema of it; every row of `root` for which `persons` says so is a person."""

    source: MemorySource
    own_keys: list[ForeignKey]
    root: str
    fields: list[Field]
    persons: list[bool] | None = None

    def all_keys(self) -> list[ForeignKey]:
        return list(dict.fromkeys([*self.own_keys, *self.source.declared]))


def slow_text(value: Any) -> str | None:
    """The text of a value; None where there is no node."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        exact = Decimal(repr(value))
        if exact == int(exact) and abs(exact) < 2**63:
            return str(int(exact))
        digits, mark, exponent = repr(value).partition("e")
        return f"{digits.removesuffix('.0')}e{int(exponent)}" if mark else digits
    if isinstance(value, Decimal):
        return str(int(value)) if value == int(value) else format(value.normalize(), "f")
    if isinstance(value, dt.date):
        return f"{value.year:04}-{value.month:02}-{value.day:02}"
    return str(value)


def is_same(one: Any, other: Any) -> bool:
    """Whether a key's value is the one it refers to: null is nobody's."""
    if one is None or other is None:
        return False
    numbers = (int, float, Decimal)
    if isinstance(one, numbers) and isinstance(other, numbers):
        return Decimal(one) == Decimal(other)
    return type(one) is type(other) and bool(one == other)


class SlowReader:
    """Nests the rows of a world into JSON objects, person by person."""

    def __init__(self, world: World, labels: Mapping[tuple[Hop, ...], str]) -> None:
        self.world, self.labels = world, labels
        self.tables = world.source.held
        self.followed = list(dict.fromkeys(hop.key for f in world.fields if f.published for hop in f.hops))
        self.key_columns = {(key.table, name) for key in self.followed for name in key.columns}
        self.key_columns |= {(key.target, name) for key in self.followed for name in key.target_columns}
        self.met: set[tuple[str, int]] = set()

    def documents(self) -> list[Row]:
        fields = [f for f in self.world.fields if f.published]
        persons = self.world.persons or [True] * self.tables[self.world.root].rows
        return [self.nest(self.world.root, row, 0, fields) for row, is_one in enumerate(persons) if is_one]

    def nest(self, table: str, row: int, depth: int, fields: list[Field]) -> Row:
        """The object of one row, with all of its columns but keys, and the objects that its keys lead to."""
        self.met.add((table, row))
        values = self.tables[table].row(row)
        out: Row = {name: slow_text(value) for name, value in values.items() if (table, name) not in self.key_columns}
        out.pop("treeanon_record", None)
        ways: dict[tuple[ForeignKey, bool], list[Field]] = {}
        for f in fields:
            if len(f.hops) > depth:
                ways.setdefault((f.hops[depth].key, f.hops[depth].down), []).append(f)
        for (key, down), through in ways.items():
            label = self.labels[through[0].hops[: depth + 1]]
            next_table = key.table if down else key.target
            rows = self.referring(key, row) if down else self.referred(key, row)
            found = [self.nest(next_table, other, depth + 1, self.of_kind(through, depth, other)) for other in rows]
            if down:
                out[label] = found
            elif found:
                out[label] = found[0]
        return out

    def of_kind(self, through: list[Field], depth: int, row: int) -> list[Field]:
        """The fields that take rows of this one's kind."""
        hops = [f.hops[depth] for f in through]
        kinds = [hop.kind and slow_text(self.tables[hop.table].columns[KIND][row]) for hop in hops]
        return [f for f, hop, kind in zip(through, hops, kinds, strict=True) if hop.kind == kind]

    def referring(self, key: ForeignKey, row: int) -> list[int]:
        return [other for other in range(self.tables[key.table].rows) if row in self.referred(key, other)]

    def referred(self, key: ForeignKey, row: int) -> list[int]:
        """The rows (one at most) that a row refers to; none where it thereby comes back to itself."""
        return [] if row in self.circle(key) else self.named(key, row)

    def circle(self, key: ForeignKey) -> list[int]:
        """The rows of a table that lead back to themselves."""
        found = []
        for row in range(self.tables[key.table].rows if key.of_itself else 0):
            at = self.named(key, row)
            for _ in range(self.tables[key.table].rows):
                at = self.named(key, at[0]) if at and at != [row] else at
            if at == [row]:
                found.append(row)
        return found

    def circles(self) -> dict[str, int]:
        """By key: the rows in circles."""
        return {str(key): len(rows) for key in self.followed if (rows := self.circle(key))}

    def named(self, key: ForeignKey, row: int) -> list[int]:
        """The rows (one at most) that a row's key names."""
        own, target = self.tables[key.table], self.tables[key.target]
        pairs = list(zip(key.columns, key.target_columns, strict=True))
        return [
            other
            for other in range(target.rows)
            if all(is_same(own.columns[a][row], target.columns[b][other]) for a, b in pairs)
        ]

    def dangling(self) -> dict[str, int]:
        """By key: the rows that refer, without a null, to no row."""
        counts = {
            str(key): sum(
                all(self.tables[key.table].columns[name][row] is not None for name in key.columns)
                and not self.named(key, row)
                for row in range(self.tables[key.table].rows)
            )
            for key in self.followed
        }
        return {key: count for key, count in counts.items() if count}

    def of_nobody(self) -> dict[str, int]:
        """By child table: the rows that are met in no person. Only after `documents`."""
        children = {hop.table for f in self.world.fields if f.published for hop in f.hops if hop.down}
        counts = {
            table: sum((table, row) not in self.met for row in range(self.tables[table].rows)) for table in children
        }
        return {table: count for table, count in counts.items() if count}

    def unread(self) -> list[str]:
        named = {hop.table for f in self.world.fields if f.published for hop in f.hops} | {self.world.root}
        return sorted(set(self.tables) - named)


# --- the schema as TOML ----------------------------------------------------------------------------------------------


def quoted(name: str) -> str:
    """A name in a path or key, in quotes."""
    return f'"{name}"' if "'" in name else f"'{name}'"


def step_text(world: World, above: str, hop: Hop, rnd: Random) -> str:
    """A step as a user may write it: the key's columns where they are needed, and sometimes where they are not."""
    ways = [
        (key, down)
        for key in world.all_keys()
        for down in (True, False)
        if (key.target if down else key.table) == above and (key.table if down else key.target) == hop.table
    ]
    text = quoted(hop.table)
    if len(ways) > 1 or rnd.random() < 0.2:
        columns = list(hop.key.columns)
        rnd.shuffle(columns)
        text += f"({', '.join(map(quoted, columns))})"
    if hop.kind is not None:
        return text + f"[{quoted(KIND)}={hop.kind}]"
    return text + ("[]" if hop.down and (hop.key.of_itself or rnd.random() < 0.5) else "")


def schema_text(world: World, rnd: Random) -> str:
    """The schema of a world as TOML."""
    lines = [
        "version = 1",
        "[input]",
        'format = "tables"',
        'objects = "merged"',
        f"record = {json.dumps(quoted(world.root))}",
    ]
    keys = [key_text(key) for key in world.own_keys]
    lines.append(f"key = {json.dumps(keys, ensure_ascii=False)}")
    for f in world.fields:
        tables = [world.root, *(hop.table for hop in f.hops)]
        steps = [step_text(world, above, hop, rnd) for above, hop in zip(tables, f.hops, strict=False)]
        path = ".".join([*steps, quoted(f.column)])
        lines += ["[[class]]", f"name = {json.dumps(f.name)}", f"path = {json.dumps(path, ensure_ascii=False)}"]
        if not f.published:
            lines.append('role = "identifier"')
        if f.under is not None:
            lines.append(f"under = {json.dumps(f.under)}")
    return "\n".join(lines)


def key_text(key: ForeignKey) -> str:
    own, target = (", ".join(map(quoted, names)) for names in (key.columns, key.target_columns))
    if len(key.columns) == 1:
        return f"{quoted(key.table)}.{own} -> {quoted(key.target)}.{target}"
    return f"{quoted(key.table)}.({own}) -> {quoted(key.target)}.({target})"

"""Draws relational worlds: few tables with few rows, and every kind of key between them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from tests.reference.relational import KIND, Field, Hop, MemorySource, MemoryTable, World
from treeanon.schema.keys import ForeignKey

NAMES = ["person", "order lines", "visit.x", "it's", "größe", "(odd)", "Tab", "x[]", "a,b", "treeanon"]
Way = tuple[tuple[ForeignKey, bool], ...]
MOST_HOPS = 4
MOST_FIELDS = 12


@dataclass
class Draft:
    """A table in the making: `taken` is whether its key's first column refers to another table already."""

    name: str
    size: int
    primary: tuple[str, ...]
    kinds: tuple[str, ...]
    table: MemoryTable = field(default_factory=lambda: MemoryTable({}))
    taken: bool = False

    def values(self, column: str) -> list[Any]:
        return self.table.columns[column]


def draw_world(rnd: Random) -> World:
    """A world of two to five tables; each is tied to one before it, and some more keys are drawn."""
    drafts = [_draft(name, rnd) for name in rnd.sample(NAMES, rnd.randint(2, 5))]
    ties = []
    for at in range(1, len(drafts)):
        pair = (drafts[at], drafts[rnd.randrange(at)])
        ties.append(pair if rnd.random() < 0.65 else pair[::-1])
    ties += [(rnd.choice(drafts), rnd.choice(drafts)) for _ in range(rnd.randint(0, 3))]
    keys = [key for own, target in ties if (key := _overlap(own, target, rnd)) is not None]
    overlapping = {(key.table, key.target) for key in keys}
    for own, target in ties:
        if (own.name, target.name) not in overlapping or rnd.random() < 0.3:
            keys.append(_reference(own, target, len(keys), rnd))
    for draft in drafts:
        _add_values(draft, rnd)
    where = [rnd.choice(["own", "declared", "both"]) for _ in keys]
    source = MemorySource(
        {draft.name: draft.table for draft in rnd.sample(drafts, len(drafts))},
        [key for key, place in zip(keys, where, strict=True) if place != "own"],
        rnd.randint(1, 9),
    )
    own_keys = [key for key, place in zip(keys, where, strict=True) if place != "declared"]
    world = World(source, own_keys, drafts[0].name, [])
    _mark_persons(world, rnd)
    _Explorer(world, rnd).explore(world.root, (), [world.root])
    if not any(f.published for f in world.fields):
        world.fields.append(Field("last", (), "plain"))
        source.held[world.root].columns["plain"] = [1] * source.held[world.root].rows
    return world


# --- keys ------------------------------------------------------------------------------------------------------------


def _draft(name: str, rnd: Random) -> Draft:
    size = rnd.choice([1, 1, 2, 3, 4, 5, 6])
    composite = rnd.random() < 0.5
    kinds = tuple(_kind(rnd) for _ in range(2 if composite else 1))
    primary = tuple(f"key {letter}" for letter in "ab"[: len(kinds)])
    draft = Draft(name, size, primary, kinds)
    values = [_key_values(kind, 6, rnd) for kind in kinds]
    rows = rnd.sample([(a, b) for a in values[0][:3] for b in values[1][:3]], size) if composite else values[0][:size]
    for at, column in enumerate(primary):
        draft.table.columns[column] = [row[at] for row in rows] if composite else list(rows)
        draft.table.types[column] = _key_type(kinds[at], rnd)
    draft.table.primary = primary if rnd.random() < 0.5 else ()
    return draft


def _kind(rnd: Random) -> str:
    return rnd.choice(["compact", "compact", "sparse", "negative", "huge", "beyond", "text", "date"])


def _key_values(kind: str, count: int, rnd: Random) -> list[Any]:
    if kind == "compact":
        values: list[Any] = list(range(low := rnd.choice([0, 1, 100]), low + count))
    elif kind == "sparse":
        values = rnd.sample(range(2**31), count)
    elif kind == "negative":
        values = list(range(-3, count - 3))
    elif kind == "huge":
        values = [rnd.choice([1, -1]) * (2**63 - 1 - at) for at in range(count)]
    elif kind == "beyond":
        values = [2**63 + at * rnd.choice([1, 10**9]) for at in range(count)]
    elif kind == "text":
        values = ["", " ", "a", "A", "ü", "1"]
    else:
        values = [dt.date(1960 + at, 2, 28) for at in range(count)]
    rnd.shuffle(values)
    return values


def _key_type(kind: str, rnd: Random) -> pa.DataType:
    if kind == "text":
        return rnd.choice([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
    if kind == "date":
        return pa.date32()
    types = [pa.decimal128(20, 0), pa.decimal128(38, 0), pa.decimal256(40, 0)]
    if kind == "beyond":
        return rnd.choice([pa.uint64(), *types])
    if kind == "huge":
        return rnd.choice([pa.int64(), pa.int64(), *types])
    types += [pa.int64(), pa.float64(), pa.decimal128(20, 3)]
    return rnd.choice(types + ([] if kind == "sparse" else [pa.int32(), pa.int16(), pa.float32()]))


def _overlap(own: Draft, target: Draft, rnd: Random) -> ForeignKey | None:
    """A key by the first column of a table's own composite key, as lines have the number of their order."""
    if own is target or own.taken or target.taken or (len(own.primary), len(target.primary)) != (2, 1):
        return None
    first, second = own.primary
    own.taken = target.taken = True
    own.kinds = (target.kinds[0], "compact")
    own.table.columns[first] = rnd.choices(_candidates(target, rnd), k=own.size)
    own.table.columns[second] = list(range(own.size))
    own.table.types |= {first: _key_type(target.kinds[0], rnd), second: pa.int64()}
    return ForeignKey(own.name, (first,), target.name, target.primary)


def _candidates(target: Draft, rnd: Random) -> list[Any]:
    """Values of a single key, and some that dangle."""
    values = target.values(target.primary[0])
    return [*values, *values, rnd.choice(_key_values(target.kinds[0], 6, rnd))]


def _reference(own: Draft, target: Draft, number: int, rnd: Random) -> ForeignKey:
    """A key by columns made for it; the first may be one that the table has already."""
    columns = [f"ref {number}{letter}" for letter in "ab"[: len(target.primary)]]
    ascends = own is target and rnd.random() < 0.7
    rows = [_referred(target, row if ascends else target.size, rnd) for row in range(own.size)]
    shares = own is not target and len(columns) == 2 and own.taken and len(own.primary) == 2
    for at, column in enumerate(columns):
        own.table.columns[column] = [row[at] for row in rows]
        own.table.types[column] = _key_type(target.kinds[at], rnd)
    if shares and target.kinds[0] == own.kinds[0]:
        del own.table.columns[columns[0]]
        columns[0] = own.primary[0]
    target_columns = list(target.primary)
    if rnd.random() < 0.5:
        columns, target_columns = columns[::-1], target_columns[::-1]
    return ForeignKey(own.name, tuple(columns), target.name, tuple(target_columns))


def _referred(target: Draft, rows: int, rnd: Random) -> list[Any]:
    """The key of one of the first rows of a table, or one with a null, or one of no row."""
    chance = rnd.random()
    keys = [target.values(column) for column in target.primary]
    if chance < 0.75 and rows:
        row = rnd.randrange(rows)
        return [values[row] for values in keys]
    if chance < 0.88:
        empty = rnd.randrange(len(keys))
        return [None if at == empty or rnd.random() < 0.5 else values[0] for at, values in enumerate(keys)]
    return [rnd.choice(_key_values(kind, 6, rnd)) for kind in target.kinds]


# --- values ----------------------------------------------------------------------------------------------------------

VALUES: dict[str, tuple[list[Any], list[pa.DataType]]] = {
    "number": ([0, 1, -5, 2**31 - 1, None], [pa.int64(), pa.int32(), pa.float64(), pa.decimal128(12, 2)]),
    "long": ([2**63 - 1, -(2**63), 0, None], [pa.int64(), pa.decimal128(25, 0)]),
    "text": (
        ["", " ", "a", "b ", "ü", "\U0001f600", "null", "1.0", '"', None],
        [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())],
    ),
    "decimal": ([Decimal("1.50"), Decimal("-0.01"), Decimal("100"), None], [pa.decimal128(9, 2), pa.decimal256(50, 5)]),
    "float": ([1.5, 1e-7, 1e300, -0.0, 0.1, 2.0, 0.0, None], [pa.float64()]),
    "truth": ([True, False, None], [pa.bool_()]),
    "date": ([dt.date(1970, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), None], [pa.date32(), pa.date64()]),
    "nothing": ([None], [pa.null(), pa.string()]),
}
KINDS = [(["x", "y", None, ""], pa.string()), ([1, 2, None], pa.int32()), ([True, False], pa.bool_())]


def _add_values(draft: Draft, rnd: Random) -> None:
    for number in range(rnd.randint(1, 3)):
        values, types = VALUES[rnd.choice(list(VALUES))]
        draft.table.columns[f"value {number}"] = rnd.choices(values, k=draft.size)
        draft.table.types[f"value {number}"] = rnd.choice(types)
    values, kind = rnd.choice(KINDS)
    draft.table.columns[KIND] = rnd.choices(values, k=draft.size)
    draft.table.types[KIND] = kind


def _mark_persons(world: World, rnd: Random) -> None:
    """Sometimes only some rows of the root are persons, as in a release whose root table refers to itself."""
    root = world.source.held[world.root]
    if rnd.random() < 0.8:
        return
    world.persons = [rnd.random() < 0.7 for _ in range(root.rows)]
    world.persons[rnd.randrange(root.rows)] = True
    values = [int(is_one) for is_one in world.persons]
    root.columns["treeanon_record"] = values if rnd.random() < 0.5 else [str(value) for value in values]


# --- classes ---------------------------------------------------------------------------------------------------------


@dataclass
class _Explorer:
    """Walks from the root along the keys and declares classes on its way."""

    world: World
    rnd: Random
    names: list[tuple[Way, str, tuple[str | None, ...]]] = field(default_factory=list)
    sides: dict[tuple[Way, str, tuple[str, ...]], bool] = field(default_factory=dict)

    def explore(self, table: str, hops: tuple[Hop, ...], been: list[str]) -> None:
        columns = [name for name in self.world.source.held[table].columns if name.startswith("value")]
        for column in columns:
            if self.rnd.random() < 0.6:
                self.declare(hops, column)
        if len(hops) == MOST_HOPS:
            return
        way = tuple((hop.key, hop.down) for hop in hops)
        for key, down in self.ways(table):
            following = key.table if down else key.target
            if (following in been and not key.of_itself) or self.rnd.random() < 0.2:
                continue
            # A key of a table to itself is followed to one side only, as its label is the same on both.
            if self.sides.setdefault((way, following, key.columns), down) != down:
                continue
            for kind in self.kinds(following) if down and self.rnd.random() < 0.3 else [None]:
                self.explore(following, (*hops, Hop(key, down, kind)), [*been, following])

    def ways(self, table: str) -> list[tuple[ForeignKey, bool]]:
        keys = self.world.all_keys()
        found = [(key, True) for key in keys if key.target == table]
        found += [(key, False) for key in keys if key.table == table]
        self.rnd.shuffle(found)
        return found

    def kinds(self, table: str) -> list[str | None]:
        known = self.world.source.held[table].types[KIND]
        texts = {pa.string(): ["x", "y"], pa.int32(): ["1", "2"], pa.bool_(): ["true", "false"]}[known]
        return self.rnd.sample([*texts, None], self.rnd.randint(1, 3))

    def declare(self, hops: tuple[Hop, ...], column: str) -> None:
        """A class, unless another may read the same values."""
        way = tuple((hop.key, hop.down) for hop in hops)
        kinds = tuple(hop.kind for hop in hops)
        for other_way, other_column, other_kinds in self.names:
            apart = any(a and b and a != b for a, b in zip(kinds, other_kinds, strict=False))
            if (other_way, other_column) == (way, column) and not apart:
                return
        if len(self.world.fields) == MOST_FIELDS:
            return
        self.names.append((way, column, kinds))
        number = len(self.world.fields)
        self.world.fields.append(
            Field(f"class {number}", hops, column, self.rnd.random() < 0.9, self.under(hops, number))
        )

    def under(self, hops: tuple[Hop, ...], number: int) -> str | None:
        """Mostly the default; else the root, or a class of the same or an enclosing container."""
        if self.rnd.random() < 0.8:
            return None
        home = container_of(hops)
        known = [
            f.name
            for f in self.world.fields
            if f.published and container_of(f.hops) == home[: len(container_of(f.hops))]
        ]
        return self.rnd.choice(["/", *known])


def container_of(hops: tuple[Hop, ...]) -> tuple[Hop, ...]:
    """The way to the container that a way's end lies in."""
    while hops and not hops[-1].down:
        hops = hops[:-1]
    return hops

"""Fresh keys for released rows: random numbers in place of the keys that the input had.

A column that a key refers to holds the row's random number, unless it is itself part of a key to another row (as the
order's number in the key of its lines): then it holds what that row has there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from treeanon.arrays import Longs
from treeanon.io.relational.key_constraints import Column, Needs, followed_columns
from treeanon.io.relational.layout import Rows
from treeanon.io.relational.plan import Plan, Stop
from treeanon.schema.keys import columns_text

ID_COLUMN = "treeanon_id"
"""The column of random numbers in a table that has no key of its own."""

Shuffled = Callable[[int], Longs]
"""Gives the numbers below a count in random order."""

Numbered = Callable[[str, int], Longs]
"""Gives so many rows of a table their random numbers, from 1."""

KeyColumns = tuple[str, tuple[str, ...]]
"""A table and the columns of a key of it."""


@dataclass
class KeyedTable:
    """One released table: where each stop's rows are in it, their random numbers, and the columns of its keys.

    `columns` has numbers from 1, or 0 for none. `primary` are the columns of its primary key, `unique` those of
    other keys that are referred to.
    """

    name: str
    blocks: dict[int, slice]
    serial: Longs
    primary: tuple[str, ...] = ()
    unique: list[tuple[str, ...]] = field(default_factory=list)
    columns: dict[str, Longs] = field(default_factory=dict)

    def column(self, name: str) -> Longs:
        """Return a key column, made empty when it is first needed."""
        return self.columns.setdefault(name, np.zeros(len(self.serial), np.int64))


def in_random_order(shuffled: Shuffled) -> Numbered:
    """Return a function that numbers rows from 1 to their count in random order."""
    return lambda _, count: shuffled(count) + 1


def make_keys(
    needs: Needs, rows: Rows, primary: Mapping[str, tuple[str, ...]], numbered: Numbered
) -> dict[str, KeyedTable]:
    """Return the tables of a release with fresh keys, whose numbers are in random order."""
    tables = all_keys(needs, rows, primary, numbered)
    choose_keys(needs.plan, tables, whole_keys(tables), moved_tables(needs.plan, rows))
    return tables


def all_keys(
    needs: Needs, rows: Rows, primary: Mapping[str, tuple[str, ...]], numbered: Numbered
) -> dict[str, KeyedTable]:
    """Return the tables of a release with every key that they may have, of which `choose_keys` leaves those that
    they need.
    """
    plan = needs.plan
    tables = _tables(plan, rows, numbered)
    own = followed_columns(plan)
    for table, column in needs.shared - own:
        tables[table].column(column)[:] = 1
    taken = own | needs.shared
    for key in plan.followed():
        made = tables[key.target]
        made.unique.append(key.target_columns)
        _number(made, [column for column in key.target_columns if (key.target, column) not in taken])
    for table, made in tables.items():
        columns = primary.get(table, ())
        free = [column for column in columns if (table, column) not in taken]
        if free and set(columns).isdisjoint(plan.valued(table)):
            _number(made, free)
            made.unique.append(columns)
    for stop in _in_order(plan):
        _refer(needs, rows, tables, stop)
    return tables


def whole_keys(tables: Mapping[str, KeyedTable]) -> frozenset[KeyColumns]:
    """Return the keys that every row of their table has."""
    return frozenset(
        (name, columns)
        for name, table in tables.items()
        for columns in table.unique
        if all((table.column(column) > 0).all() for column in columns)
    )


def choose_keys(
    plan: Plan, tables: Mapping[str, KeyedTable], whole: Collection[KeyColumns], moved: Collection[str]
) -> None:
    """Keep only the keys that the tables need; those from which nodes were `moved`, and the record table, have one."""
    own = followed_columns(plan)
    for name, table in tables.items():
        referred = {key.target_columns for key in plan.followed() if key.target == name}
        _choose_primary(table, referred, own, whole)
        if not table.primary and (name == plan.stops[0].table or name in moved):
            _give_id(table, set(plan.valued(name)))


def moved_tables(plan: Plan, rows: Rows) -> frozenset[str]:
    """Return the tables from whose rows nodes were moved."""
    return frozenset(stop.table for stop in plan.stops if stop.is_container and stop.container in rows.moved)


def moved_from(plan: Plan, rows: Rows, table: str) -> Iterator[int]:
    """Return the containers that rows of a table are and that have moved nodes."""
    for stop in plan.stops:
        if stop.is_container and stop.table == table and stop.container in rows.moved:
            yield stop.container


def _tables(plan: Plan, rows: Rows, numbered: Numbered) -> dict[str, KeyedTable]:
    found = {}
    for name, blocks in blocks_of(plan, rows).items():
        size = max(block.stop for block in blocks.values())
        found[name] = KeyedTable(name, blocks, numbered(name, size))
    return found


def blocks_of(plan: Plan, rows: Rows) -> dict[str, dict[int, slice]]:
    """Return for every table the slice of the rows of each stop."""
    tables: dict[str, dict[int, slice]] = {}
    for stop in plan.stops:
        blocks = tables.setdefault(stop.table, {})
        start = max((block.stop for block in blocks.values()), default=0)
        blocks[stop.index] = slice(start, start + rows.stops[stop.index].count)
    return tables


def _number(table: KeyedTable, columns: list[str]) -> None:
    for column in columns:
        table.column(column)[:] = table.serial


def _in_order(plan: Plan) -> list[Stop]:
    """Return the links so that the target of each has its keys before: looked-up tables innermost first, then down."""
    up = [stop for stop in plan.stops if stop.link is not None and not stop.link.down]
    down = [stop for stop in plan.stops if stop.link is not None and stop.link.down]
    return [*reversed(up), *down]


def _refer(needs: Needs, rows: Rows, tables: dict[str, KeyedTable], stop: Stop) -> None:
    """Give the rows that refer, at one stop, the key of their target."""
    assert stop.link is not None
    key, here = stop.link.key, needs.plan.stops[stop.above]
    own, target = (stop, here) if stop.link.down else (here, stop)
    row = rows.stops[stop.index].link
    refers = row >= 0
    for column, target_column in zip(key.columns, key.target_columns, strict=True):
        values = tables[key.target].column(target_column)[tables[key.target].blocks[target.index]]
        found = np.where(refers, np.append(values, 0)[row], 0)
        assert np.all(found[refers] > 0), f"{columns_text(key.target, [target_column])} has no number"
        block = tables[key.table].column(column)[tables[key.table].blocks[own.index]]
        # Where several keys share a column, each has a 1 for it or nothing.
        np.maximum(block, found, out=block)


def _choose_primary(
    table: KeyedTable, referred: set[tuple[str, ...]], own: Collection[Column], whole: Collection[KeyColumns]
) -> None:
    """Make the table's first key without nulls its primary key; drop keys that nothing refers to."""
    keys = list(dict.fromkeys(table.unique))
    table.primary = next((columns for columns in keys if (table.name, columns) in whole), ())
    table.unique = [columns for columns in keys if columns != table.primary and columns in referred]
    used = {name for columns in (table.primary, *table.unique) for name in columns}
    for name in list(table.columns):
        if name not in used and (table.name, name) not in own:
            del table.columns[name]


def _give_id(table: KeyedTable, taken: set[str]) -> None:
    """Add a column of random numbers with a new name as the table's primary key."""
    name, number = ID_COLUMN, 1
    while name in taken or name in table.columns:
        number += 1
        name = f"{ID_COLUMN}_{number}"
    _number(table, [name])
    table.primary = (name,)

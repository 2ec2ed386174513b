"""What releases hold in tables of moved nodes, as texts that go into the documents of the rows that nodes belong to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from treeanon.engines.spark.joins.columns import ROW
from treeanon.engines.spark.joins.keys import equal
from treeanon.engines.spark.joins.loading import Loaded
from treeanon.engines.spark.joins.reaching import Reached
from treeanon.engines.spark.records import Batches, map_batches, rows_of
from treeanon.errors import DataError
from treeanon.io.tables.moved import ABOVE, CLASS, HOLDER, NODE, UNDER, VALUE
from treeanon.io.tables.plan import MOVED_TABLE, Plan, Stop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_AT_ONCE = 10_000


def read_moved(loaded: Loaded) -> None:
    """Has the moved nodes ready for the documents; DataError for the first that belongs nowhere."""
    from pyspark.sql import functions as f

    for table, key in loaded.holders.items():
        found = loaded.keep(_trees(loaded, table, key))
        wrong = found.where(f.col("wrong").isNotNull()).orderBy(ROW).limit(1).collect()
        if wrong:
            place = loaded.source.place(MOVED_TABLE + table, wrong[0][ROW])
            raise DataError(wrong[0]["wrong"], source=place.source, place=place.place)
        loaded.moved[table] = found


def with_moved(loaded: Loaded, frame: DataFrame, stop: Stop) -> DataFrame:
    """Rows of the table of a stop with a column `moved`: the nodes that belong to each, as a JSON text, or null."""
    from pyspark.sql import functions as f

    key = _key_of(loaded, stop.table)
    at = [f"h{number}" for number in range(len(key))]
    found = loaded.moved[stop.table].where(f.col("place") == _place(loaded.plan, stop)).select(*at, "moved")
    return frame.join(found, equal(key, at), "left").drop(*at)


def lost_nodes(found: Reached) -> Iterator[tuple[str, DataFrame]]:
    """For every table that nodes were moved from, the nodes of rows that are not there, or that no person has."""
    from pyspark.sql import functions as f

    loaded = found.loaded
    for table, moved in loaded.moved.items():
        at = [f"h{number}" for number in range(len(loaded.holders[table]))]
        for place in _places(loaded.plan, table):
            had = [found.rows(stop) for stop in loaded.plan.stops if _is_at(loaded.plan, stop, place)]
            left = moved.where(f.col("place") == place)
            for rows in had:
                names = [f"g{number}" for number in range(len(at))]
                there = rows.select(*(f.col(a).alias(b) for a, b in zip(_key_of(loaded, table), names, strict=True)))
                left = left.join(there, equal(at, names), "left_anti")
            yield table, left


def _key_of(loaded: Loaded, table: str) -> list[str]:
    return loaded.key_names(table, loaded.holders[table])


def _place(plan: Plan, stop: Stop) -> int:
    """One number for all stops that differ in their predicates only: their rows have one form of document."""
    return min(other.index for other in plan.stops if other.labels == stop.labels)


def _is_at(plan: Plan, stop: Stop, place: int) -> bool:
    return stop.is_container and _place(plan, stop) == place


def _places(plan: Plan, table: str) -> dict[int, None]:
    return dict.fromkeys(_place(plan, stop) for stop in plan.stops if stop.is_container and stop.table == table)


def _homes(plan: Plan, table: str) -> dict[str, int]:
    """The place of the rows to which nodes belong that lie under a class, or under the person ("/")."""
    places = {stop.container: _place(plan, stop) for stop in plan.stops if stop.is_container and stop.table == table}
    homes = {c.name: places[c.container] for c in plan.layout.classes if c.container in places}
    return homes | ({"/": places[0]} if 0 in places else {})


def _trees(loaded: Loaded, table: str, key: tuple[str, ...]) -> DataFrame:
    """The nodes of each row of a table, as a text for each of the places where the table stands."""
    name = MOVED_TABLE + table
    columns = [ROW, *loaded.key_names(name, (NODE, ABOVE)), *(_value(loaded, name, c) for c in (UNDER, CLASS, VALUE))]
    holder = loaded.key_names(name, tuple(HOLDER + column for column in key))
    rows = loaded.frames[name].select(*holder, *columns).repartition(*holder).sortWithinPartitions(*holder, ROW)
    kind = ", ".join([*(f"h{number} string" for number in range(len(key))), _TEXTS])
    return map_batches(rows, partial(_grown, kind=kind, homes=_homes(loaded.plan, table), width=len(key)), kind)


_TEXTS = "place int, moved string, wrong string, row long"


def _value(loaded: Loaded, table: str, column: str) -> str:
    return loaded.asked[table].names["value", column]


def _grown(batches: Batches, kind: str, homes: Mapping[str, int], width: int) -> Iterator[pa.RecordBatch]:
    """The texts of rows that follow each other in the order of the rows that they belong to."""
    waiting: list[tuple[Any, ...]] = []
    for holder, rows in groupby(_each(batches), key=lambda row: row[:width]):
        found = _Trees([row[width:] for row in rows], homes, has_holder=None not in holder)
        waiting += [(*holder, *told) for told in found.texts()]
        if len(waiting) >= _AT_ONCE:
            yield rows_of(kind, *zip(*waiting, strict=True))
            waiting.clear()
    if waiting:
        yield rows_of(kind, *zip(*waiting, strict=True))


def _each(batches: Batches) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


class _Wrong(Exception):
    """What is wrong with a row, and its number."""


class _Trees:
    """The nodes that belong to one row: (row, node, above, under, class, value)."""

    def __init__(self, rows: list[tuple[Any, ...]], homes: Mapping[str, int], *, has_holder: bool) -> None:
        self.rows, self.homes, self.has_holder = rows, homes, has_holder

    def texts(self) -> Iterator[tuple[int | None, str | None, str | None, int | None]]:
        """For each place its number and text, or what is wrong and with which row."""
        try:
            found = self.grown()
        except _Wrong as problem:
            yield (None, None, *problem.args)
            return
        for place, groups in found.items():
            yield place, json.dumps(groups, ensure_ascii=False), None, None

    def grown(self) -> dict[int, dict[str, list[Any]]]:
        """For each place the trees by the class that they lie under."""
        nodes: dict[str, list[Any]] = {row[1]: [row[4] or "", row[5] or "", []] for row in self.rows}
        classes = {row[1]: row[3] or "" for row in self.rows}
        found: dict[int, dict[str, list[Any]]] = {}
        for row, node, above, under, *_ in self.rows:
            if not self.has_holder or (above is not None and above not in nodes):
                raise _Wrong("must name the row and the class of the node above it, or none", row)
            if above is not None:
                if under and under != classes[above]:
                    raise _Wrong("must name the row and the class of the node above it, or none", row)
                nodes[above][2].append(nodes[node])
            elif under not in self.homes:
                raise _Wrong("a node must lie under a class of the row that it belongs to", row)
            else:
                found.setdefault(self.homes[under], {}).setdefault(under, []).append(nodes[node])
        self.refuse_circles()
        return found

    def refuse_circles(self) -> None:
        """Refuses nodes that lie below themselves."""
        above = {row[1]: row[2] for row in self.rows}
        safe: set[Any] = {None}
        for row, node, *_ in self.rows:
            way: dict[Any, None] = {}
            while node not in safe:
                if node in way:
                    raise _Wrong("leads back to itself", row)
                way[node] = None
                node = above[node]
            safe |= way.keys()

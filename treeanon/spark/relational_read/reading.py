"""Reads relational tables as the texts of nested documents, one for each person.

Rows of child tables are collected under the rows they refer to; looked-up rows are inserted where they are referred to.

Nodes that a release holds in tables of their own, because they were disassociated, are inserted as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from treeanon.errors import DataError, UsageError
from treeanon.forest import ReadReport
from treeanon.formats import NESTED
from treeanon.io.interface import ReadOptions
from treeanon.io.reading import nothing_found
from treeanon.io.relational.moved_tables import (
    ABOVE,
    BROKEN_KEYS,
    CIRCLE,
    CLASS,
    HOLDER,
    MISPLACED,
    NO_ROW,
    NODE,
    OTHER_ROW,
    UNDER,
    VALUE,
)
from treeanon.io.relational.plan import MOVED_TABLE, Plan, Stop, make_plan
from treeanon.io.relational.reading import resolved
from treeanon.schema import Schema
from treeanon.schema.keys import ForeignKey
from treeanon.schema.layout import MOVED
from treeanon.schema.relational import nested
from treeanon.spark.lines import Lines, with_moved
from treeanon.spark.records import Batches, map_batches
from treeanon.spark.relational_read.accounts import ReachedRows, account, reached
from treeanon.spark.relational_read.columns import ROW
from treeanon.spark.relational_read.inputs import FolderTables, FrameTables, Tables
from treeanon.spark.relational_read.loading import Loaded, check_keys, circle_of, counted, equal, filled, load, refuse
from treeanon.spark.session import spark_failures

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def check_moved(found: ReachedRows) -> None:
    """Raise an error for disassociated nodes without a place, or in a form that only the local engine reads."""
    loaded = found.loaded
    for table, selections in loaded.selections.items():
        name = MOVED_TABLE + table
        if name not in loaded.selections:
            continue
        above = ForeignKey(name, (ABOVE,), name, (NODE,))
        row = ForeignKey(name, tuple(HOLDER + column for column in selections.holder), table, selections.holder)
        _check_keys(loaded, above, row)
        _check_places(found, above, row)


def _check_keys(loaded: Loaded, *keys: ForeignKey) -> None:
    from pyspark.sql import functions as f

    counts = {}
    broken = False
    for number, key in enumerate(keys):
        own = [loaded.seen.get((key.table, name)) for name in key.columns]
        target = [loaded.seen.get((key.target, name)) for name in key.target_columns]
        broken |= any(a and b and a.clash(b) for a, b in zip(own, target, strict=True))
        names = loaded.target_names(key)
        groups = loaded.frames[key.target].where(filled(names)).groupBy(*names).agg(f.count("*").alias("times"))
        counts[number] = groups.where(f.col("times") > 1).agg(f.count("*"), f.lit(None).cast("long"))
    if broken or any(times for times, _ in counted(counts).values()):
        raise DataError(BROKEN_KEYS, source=loaded.source.name, place=f"table {keys[0].table!r}")


def _check_places(found: ReachedRows, above: ForeignKey, row: ForeignKey) -> None:
    from pyspark.sql import functions as f

    loaded, name = found.loaded, above.table
    node, own = loaded.target_names(above)[0], loaded.own_names(above)[0]
    holder, under = loaded.own_names(row), loaded.value(name, UNDER)
    nodes = loaded.frames[name].withColumn("under", under)
    upper = nodes.select(
        f.col(node).alias("p"),
        f.col("under").alias("pu"),
        *(f.col(one).alias(f"p{at}") for at, one in enumerate(holder)),
    )
    inner = nodes.where(filled([own])).join(upper, f.col(own) == f.col("p"), "left")
    is_same = reduce(
        lambda a, b: a & b,
        (f.col(one).eqNullSafe(f.col(f"p{at}")) for at, one in enumerate(holder)),
        f.col("under").eqNullSafe(f.col("pu")),
    )
    tops = nodes.where(f.col(own).isNull())
    at = [f"a{number}" for number in range(len(holder))]
    here = found.frames[row.target]
    is_held, is_shared = _held(found, row.target)
    keys = (f.col(a).alias(b) for a, b in zip(loaded.target_names(row), at, strict=True))
    # The names of columns are the same in all tables.
    rows = here.select(*keys, is_held.alias("held"), is_shared.alias("shared"))
    tops = tops.join(rows, equal(holder, at), "left")
    is_there, is_silent = f.col("p").isNotNull(), ~filled([*holder, "under"])
    is_met = f.coalesce(f.array_contains("held", f.col("under")), f.lit(False))
    wrong = [
        (NO_ROW, inner.where(~is_there)),
        (NO_ROW, tops.where(f.col("held").isNull())),
        (OTHER_ROW, inner.where(is_there & ~is_silent & ~is_same)),
        ("", inner.where(is_there & is_silent)),
        ("", tops.where(is_met & f.array_contains("shared", f.col("under")))),
        (MISPLACED, tops.where(f.col("held").isNotNull() & ~is_met)),
    ]
    counts = counted({number: frame.agg(f.count("*"), f.min(ROW)) for number, (_, frame) in enumerate(wrong)})
    for number, (what, _) in enumerate(wrong):
        if counts[number][0] and not what:
            raise UsageError(f"{loaded.source.name}: table {name!r} has a form that only --engine local reads")
        if counts[number][0]:
            refuse(loaded, what, name, counts[number][1])
    if (circle := circle_of(loaded, above)) is not None:
        lost = loaded.frames[name].join(circle, f.struct(node) == f.col("circled")).agg(f.min(ROW)).collect()
        refuse(loaded, CIRCLE, name, lost[0][0])


def _held(found: ReachedRows, table: str) -> tuple[Column, Column]:
    """Return the classes that a row's disassociated nodes may lie under, and those whose row several persons have."""
    from pyspark.sql import functions as f

    plan = found.loaded.plan
    held, shared = f.array().cast("array<string>"), f.array().cast("array<string>")
    for stop in plan.stops:
        if stop.is_container and stop.table == table:
            names = f.array(*map(f.lit, _names(plan, stop))).cast("array<string>")
            none = f.array().cast("array<string>")
            held = f.concat(held, f.when(found.had(stop) > 0, names).otherwise(none))
            shared = f.concat(shared, f.when(found.had(stop) > 1, names).otherwise(none))
    return held, shared


def _names(plan: Plan, stop: Stop) -> list[str]:
    """Return the classes that disassociated nodes of rows at a stop may lie under."""
    names = [published.name for published in plan.layout.classes if published.container == stop.container]
    return ["/", *names] if stop.container == 0 else names


def moved_at(loaded: Loaded, stops: Sequence[Stop]) -> DataFrame | None:
    """Return the disassociated nodes of the rows at these stops as JSON texts, by the key of the row (a0, …)."""
    from pyspark.sql import functions as f

    name = MOVED_TABLE + stops[0].table
    names = [one for stop in stops if stop.is_container for one in _names(loaded.plan, stop)]
    if name not in loaded.selections or not names:
        return None
    holder = loaded.key_names(name, tuple(HOLDER + one for one in loaded.selections[stops[0].table].holder))
    columns = loaded.key_names(name, (NODE, ABOVE))
    columns += [loaded.selections[name].names["value", one] for one in (UNDER, CLASS, VALUE)]
    nodes = loaded.frames[name].where(loaded.value(name, UNDER).isin(names))
    at = [f"a{number}" for number in range(len(holder))]
    held = nodes.groupBy(*(f.col(a).alias(b) for a, b in zip(holder, at, strict=True)))
    lists = held.agg(f.sort_array(f.collect_list(f.array(*columns))).alias("nodes"))
    kind = ", ".join(f"{one} string" for one in (*at, "moved"))
    return map_batches(lists, partial(_trees, keys=len(at)), kind)


def _trees(batches: Batches, keys: int) -> Iterator[pa.RecordBatch]:
    """Yield the nodes of rows as the JSON texts of trees."""
    for batch in batches:
        texts = [json.dumps(_grouped(nodes), ensure_ascii=False) for nodes in batch.column(keys).to_pylist()]
        columns = [*batch.columns[:keys], pa.array(texts, pa.string())]
        names = [*batch.schema.names[:keys], "moved"]
        yield pa.RecordBatch.from_arrays(columns, names=names)


def _grouped(nodes: list[list[str | None]]) -> dict[str, list[Any]]:
    """Return nodes as trees, grouped by the class that they lie under.

    >>> _grouped([["1", None, "ill", "drug", "x"], ["2", "1", "ill", "dose", "5"]])
    {'ill': [['drug', 'x', [['dose', '5', []]]]]}
    """
    made: dict[str | None, list[Any]] = {one[0]: [one[3] or "", one[4] or "", []] for one in nodes}
    out: dict[str, list[Any]] = {}
    for node, above, under, _, _ in nodes:
        children = out.setdefault(under or "", []) if above is None else made[above][2]
        children.append(made[node])
    return out


Labels = tuple[str, ...]


def documents(loaded: Loaded) -> DataFrame:
    """Return the persons as JSON texts in the column `text`, in a deterministic order.

    A repeated task must find the same rows, as what is written depends on their places.
    """
    from pyspark.sql import functions as f

    found = _nested(loaded, ()).where(loaded.fits(loaded.plan.stops[0]))
    texts = found.select(f.to_json("document").alias("text"))
    if any(MOVED_TABLE + table in loaded.selections for table in loaded.selections):
        texts = with_moved(texts)
    return texts.repartition("text").sortWithinPartitions("text")


def _nested(loaded: Loaded, labels: Labels) -> DataFrame:
    """Return the rows of the table at the end of these path labels, each with its `document`."""
    from pyspark.sql import functions as f

    stops = [stop for stop in loaded.plan.stops if stop.labels == labels]
    table = stops[0].table
    frame = loaded.frames[table]
    names = [name for stop in stops for name in (*stop.columns.values(), *(stop.fixed or ())[:1])]
    fields = [loaded.value(table, name).alias(name) for name in dict.fromkeys(names)]
    for number, below in enumerate(_below(loaded, labels)):
        frame = _with(loaded, frame, below, f"d{number}")
        fields.append(f.col(f"d{number}").alias(below.labels[-1]))
    moved = moved_at(loaded, stops)
    if moved is not None:
        frame = _joined(frame, moved, loaded.key_names(table, loaded.selections[table].holder))
        fields.append(f.col("moved").alias(MOVED))
    return frame.withColumn("document", f.struct(*fields))


def _below(loaded: Loaded, labels: Labels) -> Sequence[Stop]:
    """Return the stops one step further; stops that differ only in predicates count as one."""
    further = [stop for stop in loaded.plan.stops if stop.labels[:-1] == labels and stop.labels]
    return list({stop.labels: stop for stop in reversed(further)}.values())[::-1]


def _with(loaded: Loaded, frame: DataFrame, stop: Stop, name: str) -> DataFrame:
    """Join rows with the documents at a stop: those of all rows that refer to them, or of the row they refer to."""
    from pyspark.sql import functions as f

    assert stop.link is not None
    key = stop.link.key
    own, target = loaded.own_names(key), loaded.target_names(key)
    here, there = (target, own) if stop.link.down else (own, target)
    at = [f"a{number}" for number in range(len(there))]
    found = _nested(loaded, stop.labels).where(filled(there))
    found = found.select(*(f.col(a).alias(b) for a, b in zip(there, at, strict=True)), f.col("document").alias(name))
    if stop.link.down:
        found = found.groupBy(*at).agg(f.sort_array(f.collect_list(name)).alias(name))
    return _joined(frame, found, here)


def _joined(frame: DataFrame, found: DataFrame, here: Sequence[str]) -> DataFrame:
    """Join a frame with `found` where the columns `here` equal a0, … of `found`."""
    at = [f"a{number}" for number in range(len(here))]
    return frame.join(found, equal(here, at), "left").drop(*at)


def lines_of_folder(spark: SparkSession, source: str, schema: Schema, options: ReadOptions) -> Lines:
    """Return the persons of a folder of tables."""
    return joined(spark, FolderTables(source), schema, options)


def lines_of_frames(frames: Mapping[str, DataFrame], schema: Schema, options: ReadOptions) -> Lines:
    """Return the persons of dataframes, given by table name."""
    for frame in frames.values():
        return joined(frame.sparkSession, FrameTables(frames), schema, options)
    raise UsageError("no dataframe given: pass one for each table, as {name: dataframe, …}")


def joined(spark: SparkSession, source: Tables, schema: Schema, options: ReadOptions) -> Lines:
    """Join tables into the texts of persons, which the nested schema reads; the lines hold both schemas.

    The tables are persisted on the workers' disks until the lines are closed.
    """
    schema = resolved(schema, source)
    plan = make_plan(schema)
    report = ReadReport()
    loaded = load(spark, source, plan)
    try:
        check_keys(loaded, options, report)
        with spark_failures(source.name):
            found = reached(loaded)
            if not account(found, report):
                raise DataError(nothing_found(schema, schema.input.format), source=source.name)
            check_moved(found)
            texts = loaded.keep(documents(loaded))
    except BaseException:
        loaded.close()
        raise
    return Lines(
        _placed(texts), source.name, NESTED, schema=nested(schema), tables=schema, report=report, kept=loaded.kept
    )


def _placed(texts: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    where: Any = (f.lit(-1).cast("long").alias("file"), f.spark_partition_id().cast("long").alias("start"))
    return texts.select(*where, f.col("text").cast("binary").alias("line"))

"""The tables of a plan as Spark has them: read once, their columns checked, kept on the disks of the workers."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING

from treeanon.errors import DataError
from treeanon.io.relational.moved_tables import ABOVE, CLASS, HOLDER, NODE, UNDER, VALUE, holder_key
from treeanon.io.relational.plan import MOVED_TABLE, Plan, Stop
from treeanon.schema.keys import ForeignKey
from treeanon.spark.records import unpersist
from treeanon.spark.relational_read.columns import REPORT, ROW, ColumnSummary, TableSelection
from treeanon.spark.relational_read.inputs import PartitionSummary, Tables
from treeanon.spark.session import spark_failures

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass
class Loaded:
    """The tables of a plan. `frames` has their rows, `sizes` how many, `seen` what was seen of their columns.

    `own` has the columns by which rows refer to others, where these are not those that were read. What is `kept` on
    disks is to be given up in the end.
    """

    source: Tables
    plan: Plan
    selections: dict[str, TableSelection]
    frames: dict[str, DataFrame] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    seen: dict[tuple[str, str], ColumnSummary] = field(default_factory=dict)
    own: dict[ForeignKey, list[str]] = field(default_factory=dict)
    kept: list[DataFrame] = field(default_factory=list)

    def keep(self, frame: DataFrame) -> DataFrame:
        """The frame, worked out once and kept on disks."""
        from pyspark import StorageLevel

        self.kept.append(frame.persist(StorageLevel.DISK_ONLY))
        return frame

    def close(self) -> None:
        """Gives up what is kept."""
        unpersist(self.kept)
        self.kept.clear()

    def value(self, table: str, column: str) -> Column:
        """The texts of a column."""
        from pyspark.sql import functions as f

        return f.col(self.selections[table].names["value", column])

    def key_names(self, table: str, columns: tuple[str, ...]) -> list[str]:
        """The columns of a key, as read."""
        return [self.selections[table].names["key", name] for name in columns]

    def own_names(self, key: ForeignKey) -> list[str]:
        """The columns by which rows of a key's table refer to others."""
        return self.own.get(key) or self.key_names(key.table, key.columns)

    def target_names(self, key: ForeignKey) -> list[str]:
        """The columns that a key refers to."""
        return self.key_names(key.target, key.target_columns)

    def fits(self, stop: Stop) -> Column:
        """Whether rows are of the kind that a stop's predicate asks for, or persons at the first one."""
        from pyspark.sql import functions as f

        mark = self.selections[stop.table].mark
        if stop.link is None:
            return self.value(stop.table, mark) == "1" if mark else f.lit(True)
        if stop.fixed is None:
            return f.lit(True)
        return f.coalesce(self.value(stop.table, stop.fixed[0]) == stop.fixed[1], f.lit(False))


def load(spark: SparkSession, source: Tables, plan: Plan) -> Loaded:
    """The tables of a plan, read; DataError for the first row that cannot be."""
    loaded = Loaded(source, plan, _all_selections(source, plan))
    try:
        with spark_failures(source.name):
            _load(spark, loaded)
    except BaseException:
        loaded.close()
        raise
    return loaded


def _all_selections(source: Tables, plan: Plan) -> dict[str, TableSelection]:
    """What is wanted of all tables of a plan, and of those of what was moved from their rows."""
    out = {table: _selection(source, plan, table) for table in plan.tables()}
    for table in dict.fromkeys(stop.table for stop in plan.stops if stop.is_container):
        name = MOVED_TABLE + table
        if name in source.tables():
            key = holder_key(source, table)
            out[table] = replace(out[table], holder=tuple(key))
            out[name] = TableSelection(name, (NODE, ABOVE, *(HOLDER + column for column in key)), (UNDER, CLASS, VALUE))
    return out


def _selection(source: Tables, plan: Plan, table: str) -> TableSelection:
    """What is wanted of a table."""
    info = source.tables()[table]
    followed = plan.followed()
    keys = [name for key in followed for name in key.columns if key.table == table]
    keys += [name for key in followed for name in key.target_columns if key.target == table]
    values = list(plan.valued(table))
    is_marked = table == plan.stops[0].table and plan.record_column in info.columns
    if is_marked and plan.record_column not in values:
        values.append(plan.record_column)
    keys += info.primary
    return TableSelection(table, tuple(dict.fromkeys(keys)), tuple(values), plan.record_column if is_marked else "")


def _load(spark: SparkSession, loaded: Loaded) -> None:
    """Reads all tables in one run."""
    from pyspark.sql import functions as f

    contents: list[DataFrame] = []
    for table, selections in loaded.selections.items():
        frame = loaded.keep(loaded.source.frame(spark, selections))
        contents.append(frame.where(f.col(REPORT).isNotNull()).select(f.lit(len(contents)).alias("number"), REPORT))
        loaded.frames[table] = frame.where(f.col(ROW).isNotNull()).drop(REPORT)
    reports: list[list[PartitionSummary]] = [[] for _ in contents]
    for row in united(contents).collect():
        reports[row["number"]].append(pickle.loads(row[REPORT]))
    for table, parts in zip(loaded.selections, reports, strict=True):
        _merge_reports(loaded, table, sorted(parts, key=lambda one: one.part))


def _merge_reports(loaded: Loaded, table: str, reports: list[PartitionSummary]) -> None:
    """Takes what the partitions of a table tell; DataError for the first row that is wrong."""
    for summary in reports:
        summary.refuse()
        for name, seen in summary.seen.items():
            loaded.seen.setdefault((table, name), ColumnSummary()).add(seen)
    loaded.sizes[table] = sum(summary.rows for summary in reports)
    if any(seen.is_mixed for (other, _), seen in loaded.seen.items() if other == table):
        raise DataError(f"the parts of table {table!r} have columns of different types", source=loaded.source.name)


def united(frames: Iterable[DataFrame]) -> DataFrame:
    """The rows of frames of one type."""
    return reduce(lambda a, b: a.unionAll(b), frames)


def filled(names: list[str]) -> Column:
    """Whether none of the columns is null."""
    from pyspark.sql import functions as f

    return reduce(lambda a, b: a & b, (f.col(name).isNotNull() for name in names))

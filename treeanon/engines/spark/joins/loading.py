"""The tables of a plan as Spark has them: read once, their columns checked, kept on the disks of the workers."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from treeanon.engines.spark.failures import spark_failures
from treeanon.engines.spark.joins.columns import ROW, TOLD, Asked, Seen
from treeanon.engines.spark.joins.inputs import Tables, What
from treeanon.errors import DataError
from treeanon.io.tables.moved import ABOVE, CLASS, HOLDER, NODE, UNDER, VALUE, holders_of, moved_keys
from treeanon.io.tables.plan import MOVED_TABLE, Plan, Stop
from treeanon.schema.keys import ForeignKey

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass
class Loaded:
    """The tables of a plan. `frames` has their rows, `sizes` how many, `seen` what was seen of their columns.

    `own` has the columns by which rows refer to others, where these are not those that were read. `holders` has, for
    tables that nodes were `moved` from, the key by which these name their rows. What is `kept` on disks is to be given
    up in the end.
    """

    source: Tables
    plan: Plan
    asked: dict[str, Asked]
    frames: dict[str, DataFrame] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    seen: dict[tuple[str, str], Seen] = field(default_factory=dict)
    own: dict[ForeignKey, list[str]] = field(default_factory=dict)
    holders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    moved: dict[str, DataFrame] = field(default_factory=dict)
    kept: list[DataFrame] = field(default_factory=list)

    def keep(self, frame: DataFrame) -> DataFrame:
        """The frame, worked out once and kept on disks."""
        from pyspark import StorageLevel

        self.kept.append(frame.persist(StorageLevel.DISK_ONLY))
        return frame

    def close(self) -> None:
        """Gives up what is kept."""
        for frame in self.kept:
            frame.unpersist()
        self.kept.clear()

    def value(self, table: str, column: str) -> Column:
        """The texts of a column."""
        from pyspark.sql import functions as f

        return f.col(self.asked[table].names["value", column])

    def key_names(self, table: str, columns: tuple[str, ...]) -> list[str]:
        """The columns of a key, as read."""
        return [self.asked[table].names["key", name] for name in columns]

    def own_names(self, key: ForeignKey) -> list[str]:
        """The columns by which rows of a key's table refer to others."""
        return self.own.get(key) or self.key_names(key.table, key.columns)

    def ties(self) -> list[ForeignKey]:
        """The keys that are followed, and those of moved nodes."""
        own = (key for table, columns in self.holders.items() for key in moved_keys(table, columns))
        return [*self.plan.followed(), *own]

    def target_names(self, key: ForeignKey) -> list[str]:
        """The columns that a key refers to."""
        return self.key_names(key.target, key.target_columns)

    def fits(self, stop: Stop) -> Column:
        """Whether rows are of the kind that a stop's predicate asks for, or persons at the first one."""
        from pyspark.sql import functions as f

        mark = self.asked[stop.table].mark
        if stop.link is None:
            return self.value(stop.table, mark) == "1" if mark else f.lit(True)
        if stop.fixed is None:
            return f.lit(True)
        return f.coalesce(self.value(stop.table, stop.fixed[0]) == stop.fixed[1], f.lit(False))


def load(spark: SparkSession, source: Tables, plan: Plan) -> Loaded:
    """The tables of a plan, read; DataError for the first row that cannot be."""
    loaded = Loaded(source, plan, {}, holders=holders_of(source, plan))
    try:
        with spark_failures(source.name):
            _load(spark, loaded)
    except BaseException:
        loaded.close()
        raise
    return loaded


def keys_of(loaded: Loaded, table: str) -> list[str]:
    """The columns of a table that are its primary key, or of keys that are followed."""
    followed = loaded.plan.followed()
    keys = [name for key in followed for name in key.columns if key.table == table]
    keys += [name for key in followed for name in key.target_columns if key.target == table]
    return list(dict.fromkeys([*keys, *loaded.source.tables()[table].primary]))


def _asked(loaded: Loaded, table: str) -> Asked:
    """What is wanted of a table."""
    plan, info = loaded.plan, loaded.source.tables()[table]
    values = list(plan.valued(table))
    is_marked = table == plan.stops[0].table and plan.record_column in info.columns
    if is_marked and plan.record_column not in values:
        values.append(plan.record_column)
    keys = [*keys_of(loaded, table), *loaded.holders.get(table, ())]
    return Asked(table, tuple(dict.fromkeys(keys)), tuple(values), plan.record_column if is_marked else "")


def _load(spark: SparkSession, loaded: Loaded) -> None:
    """Reads all tables in one run."""
    from pyspark.sql import functions as f

    contents: list[DataFrame] = []
    for table in loaded.plan.tables():
        loaded.asked[table] = _asked(loaded, table)
    for table, key in loaded.holders.items():
        name, columns = MOVED_TABLE + table, (HOLDER + column for column in key)
        loaded.asked[name] = Asked(name, (NODE, ABOVE, *columns), (UNDER, CLASS, VALUE))
    for table, asked in loaded.asked.items():
        frame = loaded.keep(loaded.source.frame(spark, asked))
        contents.append(frame.where(f.col(TOLD).isNotNull()).select(f.lit(len(contents)).alias("number"), TOLD))
        loaded.frames[table] = frame.where(f.col(ROW).isNotNull()).drop(TOLD)
    told: list[list[What]] = [[] for _ in contents]
    for row in united(contents).collect():
        told[row["number"]].append(pickle.loads(row[TOLD]))
    for table, parts in zip(loaded.asked, told, strict=True):
        _take(loaded, table, sorted(parts, key=lambda one: one.part))


def _take(loaded: Loaded, table: str, told: list[What]) -> None:
    """Takes what the partitions of a table tell; DataError for the first row that is wrong."""
    for what in told:
        what.refuse()
        for name, seen in what.seen.items():
            loaded.seen.setdefault((table, name), Seen()).add(seen)
    loaded.sizes[table] = sum(what.rows for what in told)
    if any(seen.is_mixed for (other, _), seen in loaded.seen.items() if other == table):
        raise DataError(f"the parts of table {table!r} have columns of different types", source=loaded.source.name)


def united(frames: Iterable[DataFrame]) -> DataFrame:
    """The rows of frames of one type."""
    return reduce(lambda a, b: a.unionAll(b), frames)


def filled(names: list[str]) -> Column:
    """Whether none of the columns is null."""
    from pyspark.sql import functions as f

    return reduce(lambda a, b: a & b, (f.col(name).isNotNull() for name in names))

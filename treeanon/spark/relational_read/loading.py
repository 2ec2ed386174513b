"""The tables of a plan as Spark has them: read once, their columns checked, kept on the disks of the workers.

What must hold of keys before they are followed: comparable, unique, in no circle; and how many lead nowhere.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, NoReturn

from treeanon.errors import DataError
from treeanon.forest import ReadReport
from treeanon.io.options import ReadOptions
from treeanon.io.relational.moved_tables import ABOVE, CLASS, HOLDER, NODE, UNDER, VALUE, holder_key
from treeanon.io.relational.plan import MOVED_TABLE, Plan, Stop
from treeanon.schema.keys import ForeignKey, columns_text
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


_NONE = ColumnSummary()


def check_keys(loaded: Loaded, options: ReadOptions, report: ReadReport) -> None:
    """Refuses keys that cannot be followed; rows in circles and keys that name no row are counted, if that will do."""
    followed = loaded.plan.followed()
    for key in followed:
        _check_types(loaded, key)
    with spark_failures(loaded.source.name):
        _check_unique(loaded)
        for key in followed:
            if key.of_itself:
                _leave_circles(loaded, key, options, report)
        _check_dangling(loaded, followed, options, report)


def refuse(loaded: Loaded, what: str, table: str, row: int, names: Sequence[str] = ()) -> NoReturn:
    """DataError about one row."""
    place = loaded.source.place(table, row)
    path = columns_text(table, names) if names else ""
    raise DataError(what, source=place.source, place=place.place, path=path) from None


def _check_types(loaded: Loaded, key: ForeignKey) -> None:
    for column, other in zip(key.columns, key.target_columns, strict=True):
        own, target = (loaded.seen.get(at, _NONE) for at in ((key.table, column), (key.target, other)))
        if (clash := own.clash(target)) is not None:
            names = columns_text(key.table, [column]), columns_text(key.target, [other])
            what = f"{names[0]} holds {clash[0]}, but {names[1]}, which it refers to, {clash[1]}"
            raise DataError(f"{what}; a key and what it refers to must be of one type", source=loaded.source.name)


def _check_unique(loaded: Loaded) -> None:
    """Refuses rows with one key, where rows of others refer to it or it is declared to be the primary one."""
    from pyspark.sql import functions as f

    reasons: dict[tuple[str, tuple[str, ...]], ForeignKey | None] = {}
    for key in loaded.plan.followed():
        reasons.setdefault((key.target, key.target_columns), key)
    for table in loaded.plan.tables():
        primary = loaded.source.tables()[table].primary
        if primary:
            reasons.setdefault((table, primary), None)
    counts = {}
    for number, (table, columns) in enumerate(reasons):
        names = loaded.key_names(table, columns)
        groups = loaded.frames[table].where(filled(names)).groupBy(*names).agg(f.count("*").alias("times"))
        counts[number] = groups.where(f.col("times") > 1).agg(f.count("*").alias("times"), f.lit(None).cast("long"))
    found = counted(counts)
    for number, ((table, columns), reason) in enumerate(reasons.items()):
        if found[number][0]:
            first, second = _repeated(loaded, table, columns)
            place = loaded.source.place(table, first).place
            what = f"has the same key as {place}; {reason} needs it to be unique"
            if reason is None:
                what = f"has the same primary key as {place}"
            refuse(loaded, what, table, second, columns)


def _repeated(loaded: Loaded, table: str, columns: tuple[str, ...]) -> tuple[int, int]:
    """The first row whose key another has before it, and the first of these."""
    from pyspark.sql import functions as f

    names = loaded.key_names(table, columns)
    frame = loaded.frames[table].where(filled(names))
    firsts = frame.groupBy(*names).agg(f.min(ROW).alias("first"))
    row = frame.join(firsts, names).where(f.col(ROW) > f.col("first")).agg(f.min(f.struct(ROW, "first")).alias("at"))
    ((at,),) = row.collect()
    return at["first"], at[ROW]


def _check_dangling(loaded: Loaded, keys: Sequence[ForeignKey], options: ReadOptions, report: ReadReport) -> None:
    from pyspark.sql import functions as f

    counts = {}
    for number, key in enumerate(keys):
        own = loaded.own_names(key)
        rows = loaded.frames[key.table].where(filled(own)).select(ROW, *own)
        targets = targets_of(loaded, key)
        lost = rows.join(targets, equal(own, targets.columns), "left_anti")
        counts[number] = lost.agg(f.count("*").alias("times"), f.min(ROW))
    for number, (times, row) in counted(counts).items():
        key = keys[number]
        if times and options.strict:
            what = f"refers to a row of {key.target!r} that is not there ({times:,} rows do)"
            refuse(loaded, what, key.table, row, key.columns)
        if times:
            report.dangling[str(key)] += times


def targets_of(loaded: Loaded, key: ForeignKey) -> DataFrame:
    """What a key can refer to, as columns of names that no table has."""
    from pyspark.sql import functions as f

    names = loaded.target_names(key)
    return loaded.frames[key.target].select(*(f.col(name).alias(f"t{at}") for at, name in enumerate(names)))


def equal(own: Sequence[str], targets: Sequence[str]) -> list[Column]:
    """The conditions that columns are equal, one by one."""
    from pyspark.sql import functions as f

    return [f.col(a) == f.col(b) for a, b in zip(own, targets, strict=True)]


def counted(counts: Mapping[int, DataFrame]) -> dict[int, tuple[int, int]]:
    """Frames of one row with a count and the number of a row, counted at once."""
    from pyspark.sql import functions as f

    if not counts:
        return {}
    rows = united(
        frame.toDF("times", "row").select(f.lit(number).alias("number"), "times", "row")
        for number, frame in counts.items()
    )
    return {row["number"]: (row["times"], row["row"]) for row in rows.collect()}


def _leave_circles(loaded: Loaded, key: ForeignKey, options: ReadOptions, report: ReadReport) -> None:
    """Has rows refer to none where they would come back to themselves; DataError if that is asked for."""
    from pyspark.sql import functions as f

    circle = circle_of(loaded, key)
    if circle is None:
        return
    own, target = loaded.own_names(key), loaded.target_names(key)
    frame = loaded.frames[key.table]
    marked = frame.join(circle, f.struct(*target) == f.col("circled"), "left")
    times, row = marked.where("circled is not null").agg(f.count("*"), f.min(ROW)).collect()[0]
    if options.on_error == "error":
        what = f"leads back to itself by {key}: {times:,} rows refer to each other in a circle"
        refuse(loaded, what, key.table, row, key.columns)
    report.circles[str(key)] += times
    names = [f"x{len(loaded.own)}_{name}" for name in own]
    columns = (f.when(f.col("circled").isNull(), f.col(a)).alias(b) for a, b in zip(own, names, strict=True))
    loaded.frames[key.table] = loaded.keep(marked.select(*frame.columns, *columns))
    loaded.own[key] = names


def circle_of(loaded: Loaded, key: ForeignKey) -> DataFrame | None:
    """The keys of the rows that lead back to themselves, in the column `circled`; None where there are none.

    Who is reached in 2, 4, 8 … steps is known from who is reached in half as many. After more steps than there are
    rows, only rows in circles are.
    """
    from pyspark.sql import functions as f

    own, target = loaded.own_names(key), loaded.target_names(key)
    ways = loaded.frames[key.table].where(filled(own) & filled(target))
    ways = loaded.keep(ways.select(f.struct(*target).alias("a"), f.struct(*_as(own, target)).alias("b")))
    most = left = ways.count()
    steps = 1
    while left and steps <= most:
        half = ways.select(f.col("a").alias("b"), f.col("b").alias("c"))
        ways = loaded.keep(ways.join(half, "b").select("a", f.col("c").alias("b")))
        steps, left = 2 * steps, ways.count()
    return ways.select(f.col("b").alias("circled")).distinct() if left else None


def _as(names: Sequence[str], others: Sequence[str]) -> list[Column]:
    """Columns by the names of others."""
    from pyspark.sql import functions as f

    return [f.col(a).alias(b) for a, b in zip(names, others, strict=True)]

"""Loads the tables of a plan: read once, with columns checked, and persisted on the workers' disks.

Keys are checked before they are followed: they must be comparable, unique and not in a cycle; dangling ones are
counted.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, NoReturn

from treeanon.errors import DataError
from treeanon.forest import ReadReport
from treeanon.io.interface import ReadOptions
from treeanon.io.relational.moved_tables import ABOVE, CLASS, HOLDER, NODE, UNDER, VALUE, owner_key
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
    """The tables of a plan: `frames` of their rows, `sizes`, and `seen`, the summaries of their columns.

    `own` has the columns by which rows refer to others, if these are not the columns that were read. Frames in `kept`
    are persisted until `close`.
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
        """Return the frame persisted on the workers' disks."""
        from pyspark import StorageLevel

        self.kept.append(frame.persist(StorageLevel.DISK_ONLY))
        return frame

    def close(self) -> None:
        """Unpersist all frames."""
        unpersist(self.kept)
        self.kept.clear()

    def value(self, table: str, column: str) -> Column:
        """Return the texts of a column."""
        from pyspark.sql import functions as f

        return f.col(self.selections[table].names["value", column])

    def key_names(self, table: str, columns: tuple[str, ...]) -> list[str]:
        """Return the columns of a key, as read."""
        return [self.selections[table].names["key", name] for name in columns]

    def own_names(self, key: ForeignKey) -> list[str]:
        """Return the columns by which rows of a key's table refer to others."""
        return self.own.get(key) or self.key_names(key.table, key.columns)

    def target_names(self, key: ForeignKey) -> list[str]:
        """Return the columns that a key refers to."""
        return self.key_names(key.target, key.target_columns)

    def fits(self, stop: Stop) -> Column:
        """Return whether rows fulfill the predicate of a stop; at the first stop, whether they are persons."""
        from pyspark.sql import functions as f

        mark = self.selections[stop.table].mark
        if stop.link is None:
            return self.value(stop.table, mark) == "1" if mark else f.lit(True)
        if stop.fixed is None:
            return f.lit(True)
        return f.coalesce(self.value(stop.table, stop.fixed[0]) == stop.fixed[1], f.lit(False))


def load(spark: SparkSession, source: Tables, plan: Plan) -> Loaded:
    """Read the tables of a plan; DataError names the first invalid row."""
    loaded = Loaded(source, plan, _all_selections(source, plan))
    try:
        with spark_failures(source.name):
            _load(spark, loaded)
    except BaseException:
        loaded.close()
        raise
    return loaded


def _all_selections(source: Tables, plan: Plan) -> dict[str, TableSelection]:
    """Return the columns to read of all tables of a plan, and of the tables of their disassociated nodes."""
    out = {table: _selection(source, plan, table) for table in plan.tables()}
    for table in dict.fromkeys(stop.table for stop in plan.stops if stop.is_container):
        name = MOVED_TABLE + table
        if name in source.tables():
            key = owner_key(source, table)
            out[table] = replace(out[table], holder=tuple(key))
            out[name] = TableSelection(name, (NODE, ABOVE, *(HOLDER + column for column in key)), (UNDER, CLASS, VALUE))
    return out


def _selection(source: Tables, plan: Plan, table: str) -> TableSelection:
    """Return the columns to read of a table."""
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
    """Read all tables in one job."""
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
    """Merge the summaries of a table's partitions; DataError names the first invalid row."""
    for summary in reports:
        summary.refuse()
        for name, seen in summary.seen.items():
            loaded.seen.setdefault((table, name), ColumnSummary()).add(seen)
    loaded.sizes[table] = sum(summary.rows for summary in reports)
    if any(seen.is_mixed for (other, _), seen in loaded.seen.items() if other == table):
        raise DataError(f"the parts of table {table!r} have columns of different types", source=loaded.source.name)


def united(frames: Iterable[DataFrame]) -> DataFrame:
    """Return the union of frames of one type."""
    return reduce(lambda a, b: a.unionAll(b), frames)


def filled(names: list[str]) -> Column:
    """Return whether none of the columns is null."""
    from pyspark.sql import functions as f

    return reduce(lambda a, b: a & b, (f.col(name).isNotNull() for name in names))


_NONE = ColumnSummary()


def check_keys(loaded: Loaded, options: ReadOptions, report: ReadReport) -> None:
    """Raise an error for keys that cannot be followed; count dangling keys and rows in cycles if errors are skipped."""
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
    """Raise DataError about one row."""
    place = loaded.source.place(table, row)
    path = columns_text(table, names) if names else ""
    raise DataError(what, source=place.source, place=place.place, path=path) from None


def _check_types(loaded: Loaded, key: ForeignKey) -> None:
    for column, other in zip(key.columns, key.target_columns, strict=True):
        own, target = (loaded.seen.get(at, _NONE) for at in ((key.table, column), (key.target, other)))
        if (clash := own.clash(target)) is not None:
            names = columns_text(key.table, [column]), columns_text(key.target, [other])
            what = f"{names[0]} holds {clash[0]}, but {names[1]}, which it refers to, {clash[1]}"
            raise DataError(f"{what}; a key and its target must have the same type", source=loaded.source.name)


def _check_unique(loaded: Loaded) -> None:
    """Raise DataError for duplicate keys, if other rows refer to them or they are declared as primary."""
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
    """Return the first row with a duplicate key, and the first row with the same key."""
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
    """Return the targets of a key, in columns whose names no table has."""
    from pyspark.sql import functions as f

    names = loaded.target_names(key)
    return loaded.frames[key.target].select(*(f.col(name).alias(f"t{at}") for at, name in enumerate(names)))


def equal(own: Sequence[str], targets: Sequence[str]) -> list[Column]:
    """Return the conditions that columns are equal pairwise."""
    from pyspark.sql import functions as f

    return [f.col(a) == f.col(b) for a, b in zip(own, targets, strict=True)]


def counted(counts: Mapping[int, DataFrame]) -> dict[int, tuple[int, int]]:
    """Evaluate frames of one row (a count and a row number) in one job."""
    from pyspark.sql import functions as f

    if not counts:
        return {}
    rows = united(
        frame.toDF("times", "row").select(f.lit(number).alias("number"), "times", "row")
        for number, frame in counts.items()
    )
    return {row["number"]: (row["times"], row["row"]) for row in rows.collect()}


def _leave_circles(loaded: Loaded, key: ForeignKey, options: ReadOptions, report: ReadReport) -> None:
    """Remove references that form a cycle; DataError unless errors are skipped."""
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
    """Return the keys of the rows in cycles, in the column `circled`; None if there are none.

    Rows reached in 2, 4, 8 … steps follow from those reached in half as many. After more steps than there are rows,
    only rows in cycles remain.
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
    """Return columns renamed to others."""
    from pyspark.sql import functions as f

    return [f.col(a).alias(b) for a, b in zip(names, others, strict=True)]

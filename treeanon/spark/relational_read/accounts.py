"""Counts, made by Spark, of what joining leaves out and of what tables say beyond the trees.

They follow from how often persons reach the rows of every table, for each stop of the plan.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow.types as of

from treeanon.forest import ReadReport
from treeanon.io.relational.moved_tables import NODE, Accounting, Numbering, account_moved
from treeanon.io.relational.plan import MOVED_TABLE, Stop
from treeanon.spark.relational_read.columns import ColumnSummary
from treeanon.spark.relational_read.loading import Loaded, equal, filled, united

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass
class ReachedRows:
    """The tables with a column for each of their stops: how often persons reach a row there (`met`).

    A row that does not fulfill the stop's predicate is met but not had: see `had`.
    """

    loaded: Loaded
    frames: dict[str, DataFrame] = field(default_factory=dict)

    def met(self, stop: Stop) -> Column:
        """Return how often a row is met at a stop; null where it is not."""
        from pyspark.sql import functions as f

        return f.col(f"m{stop.index}")

    def had(self, stop: Stop) -> Column:
        """Return how often persons have a row at a stop."""
        from pyspark.sql import functions as f

        return f.when(self.loaded.fits(stop), f.coalesce(self.met(stop), f.lit(0))).otherwise(0)

    def rows(self, stop: Stop) -> DataFrame:
        """Return the rows that persons have at a stop."""
        return self.frames[stop.table].where(self.had(stop) > 0)


def reached(loaded: Loaded) -> ReachedRows:
    """Return how often persons reach rows, computed from the first stop downwards."""
    from pyspark.sql import functions as f

    found = ReachedRows(loaded, {table: loaded.frames[table] for table in loaded.plan.tables()})
    for stop in loaded.plan.stops:
        name, frame = f"m{stop.index}", found.frames[stop.table]
        if stop.link is None:
            found.frames[stop.table] = frame.withColumn(name, f.when(loaded.fits(stop), f.lit(1).cast("long")))
            continue
        key, above = stop.link.key, loaded.plan.stops[stop.above]
        rows = found.rows(above).withColumn(name, found.had(above))
        own, target = loaded.own_names(key), loaded.target_names(key)
        here, there = (own, target) if stop.link.down else (target, own)
        at = [f"a{number}" for number in range(len(there))]
        ways = rows.where(filled(there)).select(*(f.col(a).alias(b) for a, b in zip(there, at, strict=True)), name)
        if not stop.link.down:
            ways = ways.groupBy(*at).agg(f.sum(name).alias(name))
        # Later stops and the counts use this frame: keeping it, each join is computed once.
        found.frames[stop.table] = loaded.keep(frame.join(ways, equal(here, at), "left").drop(*at))
    return found


Counts = Mapping[Hashable, int]


def account(reached: ReachedRows, report: ReadReport) -> int:
    """Return the number of persons; add what was left out to the report."""
    loaded = reached.loaded
    counts = _counts(reached)
    found = SparkAccounts(loaded.source.tables(), loaded.plan, _numberings(loaded, counts), loaded.sizes, counts)
    report.is_relational = True
    report.left_out += loaded.source.left_out
    found.give(report)
    for table in loaded.sizes:
        if ("ownerless", table) in counts:
            report.ownerless[table] += counts["ownerless", table]
    fresh = found.fresh()
    for table, selections in loaded.selections.items():
        name = MOVED_TABLE + table
        if name in loaded.selections:
            is_numbered = found.numberings[name, NODE] != "other"
            columns, size = loaded.source.tables()[name].columns, loaded.sizes[name]
            account_moved(table, columns, selections.holder, size, fresh, report, is_numbered=is_numbered)
    return found.present(loaded.plan.stops[0])


@dataclass(frozen=True)
class SparkAccounts(Accounting):
    """The accounting from counts of rows at stops, of rows with a value there, and of rows of tables."""

    counts: Counts

    def present(self, stop: Stop) -> int:
        """Return the number of rows of all containers at a stop."""
        return self.counts["present", stop.index]

    def held(self, stop: Stop, name: str) -> int:
        """Return in how many of these rows a column holds a value; all rows if the column was not read."""
        return self.counts.get(("held", stop.index, name), self.present(stop))

    def unreached(self, report: ReadReport) -> None:
        """Count rows with values that no person reaches by any path."""
        for table in self.plan.tables():
            if times := self.counts["unreached", table]:
                report.unreached[table] += times

    def unmerged(self, report: ReadReport) -> None:
        """Count looked-up rows that equal others."""
        for stop in self.plan.stops:
            if times := self.counts.get(("unmerged", stop.index), 0):
                report.unmerged[stop.table] += times


def _counts(found: ReachedRows) -> Counts:
    """Return all counts, in one job over the tables."""
    from pyspark.sql import functions as f

    wanted = [(frame, _of_table(found, table)) for table, frame in found.frames.items()]
    wanted += _unmerged(found)
    wanted += _repeated_numbers(found)
    rows = []
    for number, (frame, columns) in enumerate(wanted):
        counted = (f.coalesce(column.cast("long"), f.lit(0).cast("long")) for column in columns.values())
        rows.append(frame.agg(f.array(*counted).alias("counts")).select(f.lit(number).alias("number"), "counts"))
    out: dict[Hashable, int] = {}
    for row in united(rows).collect():
        out.update(zip(wanted[row["number"]][1], row["counts"], strict=True))
    return out


def _of_table(found: ReachedRows, table: str) -> dict[Hashable, Column]:
    """Return the aggregates over the rows of a table."""
    from pyspark.sql import functions as f

    loaded = found.loaded
    stops = [stop for stop in loaded.plan.stops if stop.table == table]
    values = {name: loaded.value(table, name) for name in loaded.plan.valued(table)}
    out: dict[Hashable, Column] = {}
    for stop in stops:
        had = found.had(stop)
        out["present", stop.index] = f.sum(had)
        for name, value in values.items():
            out["held", stop.index, name] = f.sum(f.when(value.isNotNull(), had))
    is_met = _any([found.met(stop).isNotNull() for stop in stops])
    is_had = _any([found.had(stop) > 0 for stop in stops])
    has_value = _any([value.isNotNull() for value in values.values()])
    out["unreached", table] = f.sum((has_value & ~is_had).cast("long"))
    if any(stop.link is not None and stop.link.down for stop in stops):
        out["ownerless", table] = f.sum((~is_met).cast("long"))
    return out


def _any(columns: list[Column]) -> Column:
    from pyspark.sql import functions as f

    return reduce(lambda a, b: a | b, columns, f.lit(False))


def _unmerged(found: ReachedRows) -> list[tuple[DataFrame, dict[Hashable, Column]]]:
    """Return, for stops that look rows up, the aggregate of how many of these equal others."""
    from pyspark.sql import functions as f

    out: list[tuple[DataFrame, dict[Hashable, Column]]] = []
    for stop in found.loaded.plan.stops:
        if stop.is_container:
            continue
        accounts = SparkAccounts({}, found.loaded.plan, {}, {}, {})
        if accounts.merges(stop):
            rows = _identities(found, stop, accounts)
            out.append((rows, {("unmerged", stop.index): f.count("*") - f.countDistinct("identity")}))
    return out


def _identities(found: ReachedRows, stop: Stop, accounts: Accounting) -> DataFrame:
    """Return the rows looked up at a stop by key (t0, …), with the identity that rows equal in a release share."""
    from pyspark.sql import functions as f

    assert stop.link is not None
    loaded = found.loaded
    frame = found.rows(stop)
    target = loaded.target_names(stop.link.key)
    parts = [f.col(name) for name in target]
    if accounts.merges(stop):
        parts = [loaded.value(stop.table, name) for name in stop.columns.values()]
        for other in loaded.plan.below(stop):
            assert other.link is not None
            below, own = _identities(found, other, accounts), loaded.own_names(other.link.key)
            at = [f"b{number}" for number in range(len(own))]
            below = below.toDF(*at, f"i{other.index}")
            frame = frame.join(below, equal(own, at), "left").drop(*at)
            parts.append(f.col(f"i{other.index}"))
    keys = (f.col(name).alias(f"t{number}") for number, name in enumerate(target))
    # The constant distinguishes a row without values from a missing row.
    return frame.select(*keys, f.struct(f.lit(1), *parts).alias("identity"))


def _repeated_numbers(found: ReachedRows) -> list[tuple[DataFrame, dict[Hashable, Column]]]:
    """Return, for key columns that may number their rows, the aggregate of their distinct numbers."""
    from pyspark.sql import functions as f

    loaded = found.loaded
    out: list[tuple[DataFrame, dict[Hashable, Column]]] = []
    for (table, name), seen in _keys(loaded).items():
        if _may_number(seen, loaded.sizes[table]):
            (column,) = loaded.key_names(table, (name,))
            out.append((loaded.frames[table], {("different", table, name): f.countDistinct(column)}))
    return out


def _keys(loaded: Loaded) -> dict[tuple[str, str], ColumnSummary]:
    """Return the summaries of the key columns."""
    keys = ((table, name) for table, selections in loaded.selections.items() for name in selections.keys)
    return {at: loaded.seen.get(at, ColumnSummary()) for at in keys}


def _may_number(seen: ColumnSummary, size: int) -> bool:
    """Return whether a column may number its rows, by its summary."""
    is_integer = bool(seen.filled) and of.is_integer(seen.kind)
    return is_integer and not seen.low == seen.high == 1 and seen.low >= 1 and seen.high <= size


def _numberings(loaded: Loaded, counts: Counts) -> dict[tuple[str, str], Numbering]:
    """Return how the key columns number their rows; see `treeanon.io.relational.moved_tables.numbering`."""
    out: dict[tuple[str, str], Numbering] = {}
    for at, seen in _keys(loaded).items():
        if not seen.filled:
            out[at] = "numbered"
        elif of.is_integer(seen.kind) and seen.low == seen.high == 1:
            out[at] = "ones"
        else:
            out[at] = "numbered" if counts.get(("different", *at)) == seen.filled else "other"
    return out

"""How often persons have the rows of every table, by each of the ways that lead there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treeanon.io.relational.plan import Stop
from treeanon.spark.relational_read.keys import equal
from treeanon.spark.relational_read.loading import Loaded, filled

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass
class Reached:
    """The tables with a column for each of their stops: how often persons have a row by that way (`met`).

    Rows of another kind than a stop's predicate asks for are met there, but not had: see `had`.
    """

    loaded: Loaded
    frames: dict[str, DataFrame] = field(default_factory=dict)

    def met(self, stop: Stop) -> Column:
        """How often a row is met by the way to a stop; null where it is not."""
        from pyspark.sql import functions as f

        return f.col(f"m{stop.index}")

    def had(self, stop: Stop) -> Column:
        """How often persons have a row at a stop; 0 where nobody does."""
        from pyspark.sql import functions as f

        return f.when(self.loaded.fits(stop), f.coalesce(self.met(stop), f.lit(0))).otherwise(0)

    def rows(self, stop: Stop) -> DataFrame:
        """The rows that persons have at a stop."""
        return self.frames[stop.table].where(self.had(stop) > 0)


def reached(loaded: Loaded) -> Reached:
    """How often persons have rows, worked out from the first stop on."""
    from pyspark.sql import functions as f

    found = Reached(loaded, {table: loaded.frames[table] for table in loaded.plan.tables()})
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
        # Later stops begin here, and counts end here: each way is gone once.
        found.frames[stop.table] = loaded.keep(frame.join(ways, equal(here, at), "left").drop(*at))
    return found

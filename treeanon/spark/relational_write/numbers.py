"""Numbers for the rows of all parts: those that are one have one number, those of a part lie in a range of their own.

The range of a part tells nothing beyond what the tables tell: which rows are a person's can be seen by their keys, and
the parts are random.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from treeanon.arrays import Longs
from treeanon.io.relational.arrow_tables import Agreed
from treeanon.spark.relational_write.laying import PartSummary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Overview:
    """What all parts agree upon, and for each the number of the last row, of each table, that comes before its own."""

    agreed: Agreed
    before: Mapping[int, Mapping[str, int]]


def overview(summaries: Sequence[PartSummary], merged: Mapping[str, int]) -> Overview:
    """The overview of what the parts tell; of each table `merged` rows are no part's own, and come first."""
    agreed = reduce(Agreed.with_part, (part.agreed for part in summaries))
    last = {table: merged.get(table, 0) for part in summaries for table in part.own}
    before = {}
    for part in sorted(summaries, key=lambda part: part.part):
        before[part.part] = dict(last)
        for table, rows in part.own.items():
            last[table] += rows
    return Overview(agreed, before)


def numbers_of(looked_up: DataFrame) -> DataFrame:
    """The number of every looked-up row of every part, and whether it is this one's to write it.

    Rows of one name have one number, in the order of names, which are secret.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    names = looked_up.groupBy("held", "name").agg(f.min("part").alias("first"))
    order = Window.partitionBy("held").orderBy("name")
    numbered = names.withColumn("number", f.row_number().over(order).cast("long"))
    is_mine = (f.col("first") == f.col("part")).alias("mine")
    return looked_up.join(numbered, ["held", "name"]).select("part", "held", "row", "number", is_mine)


def count_distinct(looked_up: DataFrame, tables: Sequence[str]) -> dict[str, int]:
    """How many looked-up rows of each table there are, equal ones counted once."""
    counts = looked_up.select("held", "name").distinct().groupBy("held").count().collect()
    return {tables[row["held"]]: int(row["count"]) for row in counts}


def random_order(secret: bytes, part: int, table: str, count: int) -> Longs:
    """The numbers below a count in a random order that is the same for every attempt."""
    digest = hashlib.shake_256(b"%s order %d %s" % (secret, part, table.encode())).digest(8 * count)
    return np.argsort(np.frombuffer(digest, np.uint64), kind="stable").astype(np.int64)

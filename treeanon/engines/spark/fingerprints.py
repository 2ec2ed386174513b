"""A fingerprint of a whole collection, the order of its records and their partitions aside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from treeanon.engines.spark.counting import Forests
from treeanon.engines.spark.records import FINGERPRINT, SECOND, Batches, map_batches, rows_of
from treeanon.kernels.trees import hash_records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PRINTS = "one long, other long"


@dataclass(frozen=True)
class Fingerprints:
    """How many records there are, how many different ones, and sums of two fingerprints of each."""

    records: int
    different: int
    one: int
    other: int


def fingerprints(frame: DataFrame, forests: Forests) -> Fingerprints:
    """The fingerprint of the trees that rows are made into."""
    from pyspark.sql import functions as f

    shared = frame.sparkSession.sparkContext.broadcast(forests)
    found = map_batches(frame, partial(_prints, shared=shared), _PRINTS)
    # Of equal records one sum is enough; as decimals, sums of many fingerprints do not overflow.
    kinds = found.groupBy("one", "other").agg(f.count("*").alias("times"))
    of_one, of_other = (
        f.sum(f.col(name).cast("decimal(20)") * f.col("times").cast("decimal(18)")).cast("string")
        for name in ("one", "other")
    )
    row: Any = kinds.agg(f.sum("times"), f.count("*"), of_one, of_other).collect()[0]
    return Fingerprints(int(row[0] or 0), int(row[1]), int(row[2] or 0), int(row[3] or 0))


def _prints(batches: Batches, shared: Any) -> Iterator[pa.RecordBatch]:
    for forest in shared.value(batches):
        columns = (hash_records(forest.offsets, forest.parent, forest.label, seed) for seed in (FINGERPRINT, SECOND))
        yield rows_of(_PRINTS, *columns)

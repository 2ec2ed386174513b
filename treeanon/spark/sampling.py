"""A sample of the records for the driver to search in: the same one however the records are partitioned."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from treeanon.forest import Forest
from treeanon.spark.reading import Dataset
from treeanon.spark.records import forests_of, to_batch

SAMPLE = 250_000
"""Records that the driver searches in, unless told otherwise: a search takes some kilobytes for each."""


def sample(dataset: Dataset, most: int, seed: int | None) -> Forest:
    """About `most` records, equal ones in proportion, in the order of their fingerprints; all if there are no more.

    Which trees are taken, and how often, depends on the trees, the seed and their number alone.
    """
    from pyspark.sql import functions as f

    if dataset.records <= most:
        return _whole(dataset)
    share = most / dataset.records
    # A number from 0 to 1 that each kind of tree has of its own makes up for what a share of its count lacks.
    draw = (f.xxhash64(f.col("hash"), f.lit(seed or 0)).bitwiseAND((1 << 53) - 1)).cast("double") / float(1 << 53)
    kinds = dataset.rows().select("hash").groupBy("hash").agg(f.count("*").alias("times"))
    taken = kinds.select("hash", f.floor(f.col("times") * share + draw).cast("long").alias("taken")).where("taken > 0")
    chosen = dataset.rows().join(f.broadcast(taken), "hash").dropDuplicates(["hash"])
    table = chosen.select("hash", "parent", "label", "taken").toArrow()
    taken = table.column("taken").to_numpy()
    order = np.argsort(table.column("hash").to_numpy(), kind="stable")
    return dataset.forest(table).take(np.repeat(order, taken[order]))


def _whole(dataset: Dataset) -> Forest:
    """All records."""
    found = forests_of(dataset.frame.toArrow().to_batches(), dataset.schema, dataset.classes)
    tables = [pa.Table.from_batches([to_batch(forest)]) for forest in found]
    table = pa.concat_tables(tables)
    order = np.argsort(table.column("hash").to_numpy(), kind="stable")
    return dataset.forest(table).take(order)

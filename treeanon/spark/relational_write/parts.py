"""Random parts of a release, each laid out in rows of tables by one worker, and the numbers of their rows.

Before rows can be numbered, every part reports how many rows it has and which looked-up rows.

Equal looked-up rows of different parts share one number; the other rows of a part have a range of numbers of their own.

The range of a part reveals nothing beyond the tables: keys show which rows belong to a person, and the parts are
random.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from treeanon.arrays import Longs
from treeanon.forest import Classes, Forest
from treeanon.io.relational.arrow_tables import Agreed, agreement
from treeanon.io.relational.fresh_keys import all_keys, blocks_of, moved_from
from treeanon.io.relational.key_constraints import Needs
from treeanon.io.relational.layout import Rows, contents, lay_out
from treeanon.io.relational.plan import MOVED_TABLE
from treeanon.kernels.tree.forest import hash_records
from treeanon.randomness import keyed_name, words_of
from treeanon.schema import Schema
from treeanon.spark.reading import Dataset, Recipe, classes_of
from treeanon.spark.records import BLOCKS, FINGERPRINT, Batches, batch_of, block_forest, joined, map_batches
from treeanon.spark.writing import random_places

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


PARTS = f"{BLOCKS}, part int, place binary"
"""The type of a row with some records of a part, and their places there."""

_RECORDS = 250_000
_NODES = 8_000_000


def parts_for(records: int, nodes: int) -> int:
    """Return the number of parts such that a worker can lay out one at once.

    >>> parts_for(10, 50), parts_for(1_000_000, 5_000_000), parts_for(10, 80_000_000)
    (1, 4, 10)
    """
    return max(-(-records // _RECORDS), -(-nodes // _NODES), 1)


def parted(dataset: Dataset, recipe: Recipe, parts: int, secret: bytes) -> DataFrame:
    """Divide the published records into parts at random, in the same way for every attempt at a task."""
    work = partial(_split, broadcast=recipe.broadcast(dataset), parts=parts, secret=secret)
    return map_batches(dataset.frame, work, PARTS).repartition(parts, "part")


def _split(batches: Batches, broadcast: Any, parts: int, secret: bytes) -> Iterator[pa.RecordBatch]:
    for number, after in enumerate(broadcast.after(batches)):
        if not len(after):
            continue
        places = random_places(secret, number, len(after))
        part = (places % np.uint64(parts)).astype(np.int32)
        order = np.argsort(part, kind="stable")
        ends = np.flatnonzero(np.diff(part[order], append=parts)) + 1
        blocks = [order[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        forests = [after.take(block) for block in blocks]
        yield batch_of(
            PARTS,
            [forest.offsets.tobytes() for forest in forests],
            [forest.parent.tobytes() for forest in forests],
            [forest.label.tobytes() for forest in forests],
            [part[block[0]] for block in blocks],
            [places[block].tobytes() for block in blocks],
        )


def part_forest(table: pa.Table, schema: Schema, classes: Classes) -> Forest:
    """Return the records of a part in the order of their places, whatever the order of its rows."""
    batches = [(batch, row) for batch in table.to_batches() for row in range(batch.num_rows)]
    forests = [block_forest(batch, row, schema, classes) for batch, row in batches]
    places = np.concatenate([np.frombuffer(batch.column(4)[row].as_buffer(), np.uint64) for batch, row in batches])
    whole = joined(forests)
    prints = hash_records(whole.offsets, whole.parent, whole.label, FINGERPRINT)
    return whole.take(np.lexsort((prints, places)))


LOOKED_UP = "part int, held int, row int, name binary"
"""A looked-up row of a part, which is merged with equal rows of other parts: its table, its place there, and a secret
name for its content; or (table -1) the summary of the part.
"""


@dataclass(frozen=True)
class PartSummary:
    """The summary of a part: the number of its own rows by table, and what all parts must agree upon."""

    part: int
    own: Mapping[str, int]
    agreed: Agreed


@dataclass(frozen=True)
class Work:
    """What the workers need to make tables of parts; `shared` is the broadcast schema of the records."""

    needs: Needs
    primary: Mapping[str, tuple[str, ...]]
    secret: bytes
    shared: Any

    @cached_property
    def tables(self) -> list[str]:
        """The tables that rows are laid out in."""
        return list(dict.fromkeys(stop.table for stop in self.needs.plan.stops))

    def laid_out(self, part: pa.Table) -> tuple[Forest, Rows]:
        """Return the records of a part, and their rows."""
        schema = self.shared.value
        forest = part_forest(part, schema, classes_of(schema))
        return forest, lay_out(forest, self.needs)

    def name(self, stop: int, held: bytes) -> bytes:
        """Return a keyed hash of the content of a looked-up row, which reveals neither the content nor an order."""
        return keyed_name(self.secret, b"%d " % stop + held)

    def survey(self, part: pa.Table) -> pa.Table:
        """Return the looked-up rows of a part and its summary, as rows of LOOKED_UP."""
        number = part.column("part")[0].as_py()
        forest, rows = self.laid_out(part)
        plan = self.needs.plan
        blocks = blocks_of(plan, rows)
        own = {table: max(block.stop for block in blocks[table].values()) for table in self.tables}
        batches = []
        for stop, found in contents(self.needs, rows).items():
            table = plan.stops[stop].table
            own[table] -= len(found.rows)
            names = [self.name(stop, held.tobytes()) for held in found.held]
            places = (found.rows + blocks[table][stop].start).astype(np.int32)
            same = (np.full(len(names), value, np.int32) for value in (number, self.tables.index(table)))
            batches.append(batch_of(LOOKED_UP, *same, places, names))
        for table in self.tables:
            moved = [rows.moved[container] for container in moved_from(plan, rows, table)]
            own[MOVED_TABLE + table] = sum(len(nodes.row) for nodes in moved)
        keyed = all_keys(self.needs, rows, self.primary, lambda _, count: np.arange(1, count + 1))
        summaries = PartSummary(number, own, agreement(forest, plan, rows, keyed))
        batches.append(batch_of(LOOKED_UP, [number], [-1], [-1], [pickle.dumps(summaries)]))
        return pa.Table.from_batches(batches)


@dataclass(frozen=True)
class Overview:
    """What all parts agree upon, and for each part and table the number of the last row before its own."""

    agreed: Agreed
    before: Mapping[int, Mapping[str, int]]


def overview(summaries: Sequence[PartSummary], merged: Mapping[str, int]) -> Overview:
    """Return the overview of the parts; the first `merged` rows of each table are looked-up rows."""
    agreed = reduce(Agreed.with_part, (part.agreed for part in summaries))
    last = {table: merged.get(table, 0) for part in summaries for table in part.own}
    before = {}
    for part in sorted(summaries, key=lambda part: part.part):
        before[part.part] = dict(last)
        for table, rows in part.own.items():
            last[table] += rows
    return Overview(agreed, before)


def numbers_of(looked_up: DataFrame) -> DataFrame:
    """Return the number of every looked-up row of every part, and whether this part writes it.

    Rows with equal names share a number; numbers follow the order of the secret names.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    names = looked_up.groupBy("held", "name").agg(f.min("part").alias("first"))
    order = Window.partitionBy("held").orderBy("name")
    numbered = names.withColumn("number", f.row_number().over(order).cast("long"))
    is_mine = (f.col("first") == f.col("part")).alias("mine")
    return looked_up.join(numbered, ["held", "name"]).select("part", "held", "row", "number", is_mine)


def count_distinct(looked_up: DataFrame, tables: Sequence[str]) -> dict[str, int]:
    """Return the number of distinct looked-up rows of each table."""
    counts = looked_up.select("held", "name").distinct().groupBy("held").count().collect()
    return {tables[row["held"]]: int(row["count"]) for row in counts}


def random_order(secret: bytes, part: int, table: str, count: int) -> Longs:
    """Return the numbers below `count` in random order, the same for every attempt at a task."""
    words = words_of(secret, b"order %d %s" % (part, table.encode()), count)
    return np.argsort(words, kind="stable").astype(np.int64)

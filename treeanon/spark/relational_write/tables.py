"""Published records as relational tables with fresh keys, made by the workers in random parts."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from treeanon.arrays import Longs
from treeanon.forest import Classes, Forest
from treeanon.io.relational.arrow_tables import TableOut, tables_out
from treeanon.io.relational.fresh_keys import Numbered, all_keys, blocks_of, choose_keys
from treeanon.io.relational.layout import Rows, lay_out
from treeanon.io.relational.writing import kept_primary, needs_of
from treeanon.randomness import secret_of
from treeanon.schema import Schema
from treeanon.spark.reading import Dataset, Recipe, without_hierarchies
from treeanon.spark.records import batch_of, persisted
from treeanon.spark.relational_write.parts import (
    LOOKED_UP,
    Overview,
    Work,
    count_distinct,
    numbers_of,
    overview,
    parted,
    random_order,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


CHUNKS = "held int, rows binary"
"""Some rows of a table (given by number) as an Arrow stream."""

_ROWS_A_CHUNK = 20_000


@dataclass(frozen=True)
class DistributedTables:
    """The tables of a release: their descriptions without rows, and rows of CHUNKS for all of them."""

    tables: list[TableOut]
    frame: DataFrame


@contextmanager
def distributed_tables(
    dataset: Dataset, recipe: Recipe, schema: Schema, seed: int | None, parts: int
) -> Iterator[DistributedTables]:
    """Provide the tables of a release by a resolved relational schema; the workers keep them meanwhile."""
    shared = without_hierarchies(schema)
    work = Work(needs_of(shared), kept_primary(shared), secret_of(seed), dataset.shared)
    with (
        persisted(parted(dataset, recipe, parts, work.secret)) as records,
        persisted(records.groupBy("part").applyInArrow(lambda part: work.survey(part), LOOKED_UP)) as surveyed,
    ):
        summaries = [pickle.loads(row["name"]) for row in surveyed.where("held < 0").select("name").collect()]
        looked_up = surveyed.where("held >= 0")
        found = overview(summaries, count_distinct(looked_up, work.tables))
        numbers = numbers_of(looked_up).groupBy("part")
        made = records.groupBy("part").cogroup(numbers)
        with persisted(made.applyInArrow(lambda part, own: _chunks(part, own, work, found), CHUNKS)) as chunks:
            yield DistributedTables(shapes(dataset.schema, dataset.classes, work, found), chunks)


def shapes(schema: Schema, classes: Classes, work: Work, found: Overview) -> list[TableOut]:
    """Return the tables without their rows."""
    nothing = np.empty(0, np.int32)
    forest = Forest(schema, classes, np.zeros(1, np.int64), nothing, nothing)
    return _made(forest, lay_out(forest, work.needs), work, found, lambda _, count: np.zeros(count, np.int64))


def _made(forest: Forest, rows: Rows, work: Work, found: Overview, numbered: Numbered) -> list[TableOut]:
    keyed = all_keys(work.needs, rows, work.primary, numbered)
    choose_keys(work.needs.plan, keyed, found.agreed.whole, found.agreed.moved)
    return tables_out(forest, work.needs.plan, rows, keyed, numbered, found.agreed)


def made_part(part: pa.Table, looked_up: pa.Table, work: Work, found: Overview) -> Iterator[TableOut]:
    """Yield the tables of a part without the looked-up rows that other parts write."""
    number = part.column("part")[0].as_py()
    forest, rows = work.laid_out(part)
    numbers = _Numbers(work, number, found.before[number], looked_up, blocks_of(work.needs.plan, rows))
    for table in _made(forest, rows, work, found, numbers.numbered):
        if table.name in numbers.others:
            # Rows are in the order of their numbers.
            others = numbers.others[table.name][np.argsort(numbers.serial[table.name])]
            yield replace(table, data=table.data.filter(pa.array(~others)))
        else:
            yield table


def _chunks(part: pa.Table, looked_up: pa.Table, work: Work, found: Overview) -> pa.Table:
    """Return the tables of a part as rows of CHUNKS."""
    batches = [batch_of(CHUNKS, [], [])]
    for held, table in enumerate(made_part(part, looked_up, work, found)):
        for batch in table.data.combine_chunks().to_batches(max_chunksize=_ROWS_A_CHUNK):
            batches.append(batch_of(CHUNKS, [held], [_packed(batch)]))
    return pa.Table.from_batches(batches)


def _packed(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


class _Numbers:
    """The numbers of a part's rows; `others` marks, by table, the rows that other parts write."""

    def __init__(
        self,
        work: Work,
        part: int,
        before: Mapping[str, int],
        looked_up: pa.Table,
        blocks: Mapping[str, Mapping[int, slice]],
    ) -> None:
        self.work, self.part, self.before = work, part, before
        self.serial: dict[str, Longs] = {}
        self.others: dict[str, np.ndarray] = {}
        columns = {name: looked_up.column(name).to_numpy() for name in ("held", "row", "number", "mine")}
        for held, table in enumerate(work.tables):
            size = max(block.stop for block in blocks[table].values())
            here = columns["held"] == held
            row, number = columns["row"][here], columns["number"][here]
            serial, others = np.zeros(size, np.int64), np.zeros(size, bool)
            serial[row], others[row] = number, ~columns["mine"][here].astype(bool)
            own = serial == 0
            serial[own] = self.own(table, int(np.count_nonzero(own)))
            self.serial[table], self.others[table] = serial, others

    def own(self, table: str, count: int) -> Longs:
        """Return numbers that no other part has."""
        return random_order(self.work.secret, self.part, table, count) + self.before[table] + 1

    def numbered(self, table: str, count: int) -> Longs:
        """Return the numbers of the rows of a table."""
        return self.serial[table] if table in self.serial else self.own(table, count)

"""The check of a written table over all partitions: whether it is what was to be published, and all models hold.

Shares nothing with the searches: rows are grouped by the texts of their quasi columns, as anybody can who has the
files, and the verifier asks the models of what Spark counts in these groups.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treeanon.arrays import Longs
from treeanon.hierarchy import Hierarchy
from treeanon.privacy.models.model import Model, is_joined
from treeanon.spark.records import Batches, batch_of, map_batches
from treeanon.table import Column
from treeanon.verifier.criteria import failing
from treeanon.verifier.groups import CountedGroups, ValueCounts
from treeanon.verifier.table import Checked, TableVerdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FAILURES = "model int, groups long, persons long, least long"


@dataclass(frozen=True)
class RowFingerprint:
    """A fingerprint of rows in any order: how many there are, and the sums of two hashes."""

    rows: int
    first: int
    second: int


def fingerprint_of(frame: DataFrame, columns: int) -> RowFingerprint:
    """Return the fingerprint of rows with texts v0, v1, …"""
    from pyspark.sql import functions as f

    marked = [f.coalesce(f.concat(f.lit("="), f.col(f"v{i}")), f.lit("-")) for i in range(columns)]
    hashes = [f.xxhash64(f.lit(seed), *marked).cast("decimal(38,0)") for seed in ("one", "two")]
    found = frame.agg(f.count(f.lit(1)), *(f.sum(one) for one in hashes)).collect()[0]
    return RowFingerprint(found[0], int(found[1] or 0), int(found[2] or 0))


def check_written(frame: DataFrame, columns: Sequence[Column], models: Sequence[Model]) -> tuple[TableVerdict, int]:
    """Return the verdict on rows with texts v0, v1, …, and the sum of the squares of the sizes of their groups."""
    from pyspark.sql import functions as f

    begun = time.perf_counter()
    place = {column.name: f"v{i}" for i, column in enumerate(columns)}
    quasi = [place[column.name] for column in columns if column.role == "quasi"]
    sensitive = [column for column in columns if column.role == "sensitive"]
    cells = frame.groupBy(*quasi, *(place[c.name] for c in sensitive)).agg(f.count(f.lit(1)).alias("persons"))
    sizes = cells.groupBy(*quasi).agg(f.sum("persons").alias("persons"))
    square = (f.col("persons") * f.col("persons").cast("decimal(38,0)")).alias("square")
    counted = sizes.select("persons", square).agg(
        f.count(f.lit(1)), f.sum("persons"), f.min("persons"), f.sum("square")
    )
    groups, persons, least, squares = counted.collect()[0]
    checked: dict[int, Checked] = {}
    by_size = {i: model for i, model in enumerate(models) if model.sensitive is None}
    if by_size:
        checked |= _collected(
            map_batches(sizes.select("persons"), partial(_by_size, models=by_size), _FAILURES), by_size, None
        )
    found = [checked[i] for i in by_size]
    for column in sensitive:
        looking = {i: one for i, one in enumerate(models) if one.sensitive is not None and _looks(one, column.name)}
        for joined in (False, True):
            if own := {i: model for i, model in looking.items() if is_joined(model) == joined}:
                others = [place[c.name] for c in sensitive if joined and c.name != column.name]
                failing = _of_column(cells, [*quasi, *others], place[column.name], column, own)
                found += _collected(failing, own, column.name).values()
    return TableVerdict(tuple(found), least, groups, persons or 0, persons or 0, time.perf_counter() - begun), int(
        squares or 0
    )


def _looks(model: Model, column: str) -> bool:
    return not model.sensitive or column in model.sensitive


def _collected(reports: DataFrame, models: dict[int, Model], column: str | None) -> dict[int, Checked]:
    """What came out for each model, of what the partitions tell."""
    from pyspark.sql import functions as f

    summed = reports.groupBy("model").agg(f.sum("groups"), f.sum("persons")).collect()
    failing = {row[0]: (row[1], row[2]) for row in summed}
    return {i: Checked(model.name, column, *failing.get(i, (0, 0))) for i, model in models.items()}


def _by_size(batches: Batches, models: dict[int, Model]) -> Iterator[pa.RecordBatch]:
    """Yield the groups that fail, of models that look at nothing but sizes."""
    for batch in batches:
        sizes = batch.column(0).to_numpy()
        if len(sizes):
            yield _failing(CountedGroups(sizes), models)


def _failing(groups: CountedGroups, models: dict[int, Model]) -> pa.RecordBatch:
    rows = []
    for i, model in models.items():
        fails = failing(groups, model)
        rows.append((i, int(fails.sum()), int(groups.persons[fails].sum()), 0))
    return batch_of(_FAILURES, *zip(*rows, strict=True))


def _of_column(cells: DataFrame, alike: list[str], value: str, column: Column, models: dict[int, Model]) -> DataFrame:
    """Return the groups that fail, of models of one sensitive column, among rows `alike` in these columns."""
    from pyspark.sql import functions as f

    counted = cells.groupBy(value).agg(f.sum("persons").alias("persons")).toArrow()
    hierarchy = column.hierarchy
    whole = np.zeros(len(hierarchy) + 1, np.int64)
    whole[_codes(counted.column(0), hierarchy)] = counted.column(1).to_numpy()
    # Other sensitive columns that are not among those alike may have divided who has one value.
    together = cells.groupBy(*alike, value).agg(f.sum("persons").alias("persons"))
    together = together.repartition(*alike).sortWithinPartitions(*alike).select(*alike, value, "persons")
    shared = cells.sparkSession.sparkContext.broadcast((column.name, hierarchy, whole, models))
    return map_batches(together, partial(_by_values, shared=shared), _FAILURES)


def _by_values(batches: Batches, shared: Any) -> Iterator[pa.RecordBatch]:
    """Yield the groups that fail; rows of one group come one after the other, and may go over the end of a batch."""
    name, hierarchy, whole, models = shared.value
    left: pa.Table | None = None
    for batch in batches:
        some = pa.Table.from_batches([batch])
        some = some if left is None else pa.concat_tables([left, some])
        starts = _starts(some)
        if not len(starts):
            continue
        last = int(starts[-1])
        if last:
            yield _failing(_groups(some.slice(0, last), starts[:-1], name, hierarchy, whole), models)
        left = some.slice(last)
    if left is not None:
        yield _failing(_groups(left, np.zeros(1, np.int64), name, hierarchy, whole), models)


def _starts(some: pa.Table) -> Longs:
    """Return where each group begins: a row that differs from the one before in a column by which they are alike."""
    begins = np.zeros(len(some), np.bool_)
    begins[:1] = True
    for column in some.columns[:-2]:
        codes = pc.fill_null(column.combine_chunks().dictionary_encode().indices, -1).to_numpy(zero_copy_only=False)
        begins[1:] |= codes[1:] != codes[:-1]
    return np.flatnonzero(begins)


def _groups(some: pa.Table, starts: Longs, name: str, hierarchy: Hierarchy, whole: Longs) -> CountedGroups:
    """Return the groups of rows with the values in the last column but one, of which the last says how many."""
    persons = some.column(some.num_columns - 1).to_numpy()
    values = _codes(some.column(some.num_columns - 2), hierarchy)
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(some))))
    order = np.lexsort((values, group))
    counts = ValueCounts(name, group, values[order], persons[order], whole, hierarchy)
    return CountedGroups(np.add.reduceat(persons, starts), counts)


def _codes(texts: pa.ChunkedArray, hierarchy: Hierarchy) -> Longs:
    """Return the nodes of texts, and one more than all for a missing one."""
    coded = texts.combine_chunks().dictionary_encode()
    known = np.append(hierarchy.encode(coded.dictionary.to_pylist()), len(hierarchy)).astype(np.int64)
    if (known < 0).any():
        raise ValueError("a sensitive value is not one of its hierarchy")
    found: Longs = known[pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)]
    return found

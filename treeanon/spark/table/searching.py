"""The search of a table whose different rows fit the driver, and what it makes of each of them.

Spark counts the different rows of quasi and sensitive values. The driver has one row of codes a person of them, in an
order that has nothing to do with the input, so any search of tables runs as it does elsewhere.

The search of a table that does not fit the driver: ranges of the order of its rows, each searched on a worker.

Rows are put in the lexicographic order of their codes, columns of few values first. A range has all persons of its
first quasi row to those of its last. What a search makes of a range holds there, and so it does in the whole: groups of
two ranges that are published alike are one group, and unions of groups satisfy what each of them does. That is not so
for models that compare with the whole table, and searches that find one generalization for all rows would find one for
each range: both are refused.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from treeanon.algorithms.table.partition import Partition
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.arrays import Ints, Longs
from treeanon.errors import GuaranteeError, TreeanonError, UsageError
from treeanon.kernels.table.groups import group_numbers
from treeanon.metrics.table import FlatLosses
from treeanon.metrics.table.groups import height
from treeanon.privacy.models.t_closeness import TCloseness
from treeanon.progress import Progress
from treeanon.release import TableRelease, fulfill_table
from treeanon.release.table_request import TableRequest
from treeanon.release.table_search import largest_k
from treeanon.release.tree_request import persons
from treeanon.schema import Schema
from treeanon.spark.records import Batches, batch_of, map_batches
from treeanon.spark.table.reading import Rows, kinds_of
from treeanon.table import Column, Table
from treeanon.verifier.table import TableVerdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


MAX_CODES = 40_000_000
"""Up to so many codes (rows times quasi and sensitive columns), 160 MB, a table is searched in the driver as a whole;
the searches need some times as much."""


@dataclass(frozen=True)
class PublishedRows:
    """Published rows on the workers: `place` and a text v0, v1, … for every column; and how they were found.

    `release` tells of the search; its verdict is not that of what is written. `columns` are those published, `ranges`
    is in how many parts the table was searched.
    """

    frame: DataFrame
    columns: tuple[Column, ...]
    release: TableRelease
    ranges: int = 1


def fits_driver(rows: Rows, most: int | None) -> bool:
    """Whether the driver can have a row of codes for every person; `most` is how many rows it is to have at most."""
    return rows.rows <= (MAX_CODES // max(len(rows.coded), 1) if most is None else most)


def search_whole(rows: Rows, request: TableRequest, progress: Progress | None = None) -> PublishedRows:
    """The release that a search of all rows finds; GuaranteeError if there is none."""
    table = _table(rows)
    release = fulfill_table(request, table, seed=0, progress=progress)
    recoded, kept = release.found.recoded(table)
    return PublishedRows(_mapped(rows, table, recoded, kept), rows.columns, release)


def _table(rows: Rows) -> Table:
    """A row of codes for every person, in the order of the codes."""
    names = rows.coded
    found: Any = rows.frame.groupBy(*names).count().toArrow()
    codes = [found[name].to_numpy() for name in names]
    times = found["count"].to_numpy()
    ascending = np.lexsort(codes[::-1])
    order = np.repeat(ascending, times[ascending])
    return rows.table({name: own[order] for name, own in zip(names, codes, strict=True)})


@dataclass(frozen=True)
class _Entries:
    """What rows of the same codes become: the codes (`before`) and published ones (`after`) of each entry.

    It is that of the rows number `low` to `high` with these codes, of all that there are if not `is_split`.
    """

    before: list[Ints]
    after: list[Ints]
    low: Longs
    high: Longs
    is_split: bool


def _entries(table: Table, recoded: Table, kept: Longs) -> _Entries:
    key, keys = _numbered(table.columns, len(table))
    after = recoded.quasi
    sizes = [keys, *(column.size + 1 for column in after)]
    both = [key[kept].astype(np.int32), *(column.codes + 1 for column in after)]
    numbers, _ = group_numbers(both, sizes, len(kept))
    _, row, times = np.unique(numbers, return_index=True, return_counts=True)
    order = np.argsort(key[kept[row]], kind="stable")
    row, times = row[order], times[order]
    key_of = key[kept[row]]
    first = np.flatnonzero(np.append(True, key_of[1:] != key_of[:-1])[: len(row)])
    until = np.cumsum(times)
    begin = np.repeat(np.append(0, until)[first], np.diff(np.append(first, len(row))))
    in_all = int(np.bincount(key, minlength=keys)[key_of[first]].sum())
    return _Entries(
        [column.codes[kept[row]] for column in table.columns],
        [column.codes[row] for column in after],
        until - times - begin,
        until - begin,
        len(first) < len(row) or in_all > len(kept),
    )


def _numbered(columns: Sequence[Column], rows: int) -> tuple[Longs, int]:
    """A number for each row, the same for the same codes, and how many there are."""
    return group_numbers([column.codes + 1 for column in columns], [column.size + 1 for column in columns], rows)


def _mapped(rows: Rows, table: Table, recoded: Table, kept: Longs) -> DataFrame:
    """The published rows: of those with the same codes so many get each of the values that the search gives them."""
    from pyspark.sql import functions as f

    names, found = rows.coded, _entries(table, recoded, kept)
    quasi = [n for n, column in zip(names, table.columns, strict=True) if column.role == "quasi"]
    kinds = ", ".join(["low long, high long", *(f"{n} int" for n in names), *(f"p{n[1:]} int" for n in quasi)])
    made = batch_of(kinds, found.low, found.high, *found.before, *found.after)
    entry = rows.frame.sparkSession.createDataFrame(pa.Table.from_batches([made]))
    frame, on = rows.frame, [f.col(f"row.{n}") == f.col(f"entry.{n}") for n in names]
    if found.is_split:
        frame = _counted(rows)
        on += [f.col("row.number") >= f.col("entry.low"), f.col("row.number") < f.col("entry.high")]
    joined = frame.alias("row").join(entry.alias("entry"), on)
    values = [f"entry.p{n[1:]}" if n in quasi else f"row.{n}" for n in rows.names]
    return texts_of(joined.select("row.place", *values), recoded, rows)


def _counted(rows: Rows) -> DataFrame:
    """The rows, each with its number among those of the same codes, in random order."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    texts = [n for n in rows.names if n[0] == "t"]
    same = Window.partitionBy(*rows.coded).orderBy("place", *texts)
    return rows.frame.withColumn("number", f.row_number().over(same).cast("long") - 1)


def texts_of(frame: DataFrame, recoded: Table, rows: Rows) -> DataFrame:
    """The texts of published rows, of which the columns after the place have codes of the recoded ones, or texts."""
    known = iter(recoded.columns)
    values = [pa.array(next(known).values, pa.string()) if n[0] == "c" else None for n in rows.names]
    shared = frame.sparkSession.sparkContext.broadcast(values)
    return map_batches(frame, partial(_spelt, shared=shared), text_kinds(len(values)))


def text_kinds(columns: int) -> str:
    """The Spark type of published rows."""
    return ", ".join(["place long", *(f"v{i} string" for i in range(columns))])


def _spelt(batches: Batches, shared: Any) -> Iterator[pa.RecordBatch]:
    values = shared.value
    for batch in batches:
        place, *columns = batch.columns
        texts = [_texts(known, column) for known, column in zip(values, columns, strict=True)]
        yield batch_of(text_kinds(len(values)), place, *texts)


def _texts(known: pa.Array | None, column: pa.Array) -> pa.Array:
    if known is None:
        return column
    codes = column.to_numpy(zero_copy_only=False)
    return known.take(pa.array(codes, mask=codes < 0))


ROWS_OF_A_RANGE = 1_000_000
"""About so many rows are searched together on a worker, which takes some hundred megabytes."""

_SAMPLE = 100_000
Keys = npt.NDArray[np.bytes_]


def check_request(request: TableRequest, schema: Schema) -> None:
    """UsageError for what this engine cannot do, however many rows there are."""
    request.check(schema)
    if request.publish != "generalized":
        raise UsageError("the engine spark publishes general values: permutations are made in one place, without it")
    if request.search.freeform:
        raise UsageError(
            f"{request.algorithm} links persons to several rows, which is checked in one place: choose a search of"
            " groups, or leave out the engine spark"
        )


def check_ranges(request: TableRequest, rows: Rows) -> None:
    """UsageError for what cannot be searched in ranges."""
    many = f"there are {rows.rows:,} rows, too many to be searched in one place, and in parts"
    if not request.search.in_parts:
        able = ", ".join(one.name for one in TABLE_ALGORITHMS.values() if one.in_parts)
        raise UsageError(f"{many} {request.algorithm} would find another recoding for each; these can: {able}")
    if any(isinstance(model, TCloseness) or not model.is_monotone for model in request.models):
        raise UsageError(f"{many} nothing can be compared with the whole table: t-closeness is for fewer rows")


@dataclass(frozen=True)
class _RangeReport:
    """What the search of a range tells: why there is no release, or how many rows it has and left out, and its losses.

    `steps` has how far each quasi column has gone up.
    """

    problem: str = ""
    rows: int = 0
    suppressed: int = 0
    loss: FlatLosses | None = None
    steps: tuple[int, ...] = ()


def search_ranges(rows: Rows, request: TableRequest, most: int | None) -> DataFrame:
    """What the searches of ranges of about `most` rows find: rows of texts, and one of each range that tells of it."""
    size = max(min(ROWS_OF_A_RANGE, most or ROWS_OF_A_RANGE), largest_k(request.models))
    order = _few_first(rows)
    kinds = f"piece int, {kinds_of(rows.names)}"
    work = partial(_with_range_number, order=order, bounds=_bounds(rows, order, size), kinds=kinds)
    ranged = _of_size(map_batches(rows.frame, work, kinds), max(size // 2, largest_k(request.models)))
    shared = rows.frame.sparkSession.sparkContext.broadcast((replace(rows, frame=cast(Any, None)), request))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return ranged.groupBy("piece").applyInArrow(lambda table: _searched(table, shared), _kinds(rows))


def released(found: DataFrame, rows: Rows, request: TableRequest) -> PublishedRows:
    """The release that ranges make together; GuaranteeError if one of them has none."""
    reports: list[_RangeReport] = [
        pickle.loads(row[0]) for row in found.where("told is not null").select("told").collect()
    ]
    problems = sorted({one.problem for one in reports if one.problem})
    if problems:
        raise GuaranteeError(f"of {len(reports):,} ranges of rows, searched apart, one has no release: {problems[0]}")
    suppressed = sum(one.suppressed for one in reports)
    partition = Partition(
        request.algorithm, request.models, np.zeros(0, np.int64), suppressed, {"ranges": len(reports)}
    )
    # The verdict and the counts are those of what will be written.
    verdict = TableVerdict((), None, 0, 0, 0)
    release = TableRelease(
        rows.table({name: [] for name in rows.coded}), request.models, partition, _combined(reports), verdict, {},
        dict(request.options), request.max_suppressed,
    )  # fmt: skip
    names = [kind.split()[0] for kind in text_kinds(len(rows.columns)).split(", ")]
    return PublishedRows(found.where("told is null").select(*names), rows.columns, release, len(reports))


def _combined(reports: Sequence[_RangeReport]) -> FlatLosses:
    """The losses of all ranges; what depends on the groups of the whole is put in when these are counted."""
    losses = [one.loss for one in reports if one.loss is not None]
    shares = np.array([loss.rows for loss in losses], np.float64) / sum(loss.rows for loss in losses)

    def mean(values: Iterable[float]) -> float:
        return float(shares @ np.fromiter(values, np.float64, len(losses)))

    def means(field: str) -> dict[str, float]:
        return {name: mean(getattr(loss, field)[name] for loss in losses) for name in getattr(losses[0], field)}

    return replace(
        losses[0],
        gcp_taxonomy=mean(loss.gcp_taxonomy for loss in losses),
        gcp_set=mean(loss.gcp_set for loss in losses),
        ncp_taxonomy=means("ncp_taxonomy"),
        ncp_set=means("ncp_set"),
        precision=mean(loss.precision for loss in losses),
        height=int(np.max([one.steps for one in reports], axis=0).sum()),
        rows=sum(loss.rows for loss in losses),
        suppressed=sum(loss.suppressed for loss in losses),
    )


def _few_first(rows: Rows) -> list[str]:
    """The quasi columns, those with few nodes first: to cross the border of their subtrees costs most."""
    quasi = [(len(c.hierarchy), n) for n, c in zip(rows.names, rows.columns, strict=True) if c.role == "quasi"]
    return [name for _, name in sorted(quasi)]


def _bounds(rows: Rows, order: list[str], size: int) -> Keys:
    """Keys that cut the order of the rows into ranges of about that size, by a sample of the different ones.

    The sample is drawn by hashes of the codes, so that the ranges are the same however the rows are partitioned.
    """
    different = rows.frame.groupBy(*order).count()
    step = max(different.count() // _SAMPLE, 1)
    some: Any = different.where(f"pmod(xxhash64({', '.join(order)}), {step}) = 0").toArrow()
    keys = _keys([some[name].to_numpy() for name in order])
    ascending = np.argsort(keys)
    until = np.cumsum(some["count"].to_numpy()[ascending])
    parts = max(rows.rows // size, 1)
    cuts = [i * int(until[-1]) // parts for i in range(1, parts)] if len(until) else []
    return np.unique(keys[ascending][np.searchsorted(until, cuts)])


def _keys(codes: Sequence[Any]) -> Keys:
    """Bytes for each row that are in the order of its codes."""
    big = np.stack([np.asarray(own).astype(np.int64) + 1 for own in codes], axis=1).astype(">u4")
    return np.ascontiguousarray(big).view(f"S{4 * len(codes)}").reshape(-1)


def _with_range_number(batches: Batches, order: list[str], bounds: Keys, kinds: str) -> Iterator[pa.RecordBatch]:
    """The rows, each with the number of its piece of the order."""
    for batch in batches:
        keys = _keys([batch.column(batch.schema.get_field_index(name)).to_numpy() for name in order])
        yield batch_of(kinds, np.searchsorted(bounds, keys, side="right"), *batch.columns)


def _of_size(ranged: DataFrame, least: int) -> DataFrame:
    """The rows in ranges of at least so many: pieces next to each other that have fewer come together."""
    from pyspark.sql import functions as f

    counts = sorted((row[0], row[1]) for row in ranged.groupBy("piece").count().collect())
    of, number, have = {}, 0, 0
    left = sum(count for _, count in counts)
    for piece, count in counts:
        of[piece] = number
        have, left = have + count, left - count
        if have >= least and left >= least:
            number, have = number + 1, 0
    known = [of.get(piece, 0) for piece in range(counts[-1][0] + 1)]
    return ranged.withColumn("piece", f.element_at(f.array(*map(f.lit, known)), f.col("piece") + 1))


def _kinds(rows: Rows) -> str:
    return text_kinds(len(rows.columns)) + ", told binary"


def _searched(table: pa.Table, shared: Any) -> pa.Table:
    """The published rows of a range, and what its search tells."""
    rows, request = shared.value
    order = [(name, "ascending") for name in (*rows.coded, "place")]
    table = table.sort_by(order)
    own = rows.table({name: table[name].to_numpy() for name in rows.coded})
    allowed = persons(request.max_suppressed, rows.rows) * len(own) // rows.rows
    try:
        release = fulfill_table(replace(request, max_suppressed=allowed), own, seed=0)
        recoded, kept = release.found.recoded(own)
    except TreeanonError as problem:
        return _with_report(rows, [], _RangeReport(str(problem)))
    known = iter(recoded.columns)
    values = [next(known).texts() if name[0] == "c" else table[name].take(kept) for name in rows.names]
    steps = tuple(height(Table((column,))) for column in recoded.quasi)
    reports = _RangeReport("", len(own), len(own) - len(kept), release.loss, steps)
    return _with_report(rows, [table["place"].take(kept), *values], reports)


def _with_report(rows: Rows, values: list[Any], reports: _RangeReport) -> pa.Table:
    """Rows of texts, if there are any, and one more that has nothing but what is told."""
    kinds = _kinds(rows)
    width = len(rows.columns) + 1
    last = batch_of(kinds, *([None] for _ in range(width)), [pickle.dumps(reports)])
    if not values:
        return pa.Table.from_batches([last])
    plain = [one.combine_chunks() if isinstance(one, pa.ChunkedArray) else one for one in values]
    return pa.Table.from_batches([batch_of(kinds, *plain, [None] * len(plain[0])), last])

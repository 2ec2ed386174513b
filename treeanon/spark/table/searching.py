"""Searches of tables: in the driver if the distinct rows fit there, else in ranges of rows on the workers.

In the driver, Spark counts the distinct rows of quasi-identifiers and sensitive values; from these counts the driver
makes one row of codes for each person, in an order independent of the input. Any search of tables then runs as usual.

In ranges, each range of the ordered rows is searched on a worker.

Rows are in the lexicographic order of their codes, columns with few values first. Rows with equal quasi-identifiers are
in one range. What holds for the release of each range holds for the whole: groups of two ranges that are published
alike become one group, and a union of groups satisfies what each of them does. This fails for models that compare with
the whole table, and searches for one generalization of all rows would find one for each range: both are refused.
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

from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.table.result import Partition
from treeanon.arrays import Ints, Longs, unique_values
from treeanon.errors import GuaranteeError, TreeanonError, UsageError
from treeanon.kernels.table.groups import group_numbers
from treeanon.metrics.table import FlatLosses
from treeanon.metrics.table.groups import height
from treeanon.privacy.models.model import largest_k
from treeanon.privacy.models.population import refuse_whole
from treeanon.progress import Progress
from treeanon.release import TableRelease, fulfill_table
from treeanon.release.table_request import TableRequest
from treeanon.release.tree_request import persons
from treeanon.schema import Schema
from treeanon.schema.controls import refuse_controls
from treeanon.schema.persons import refuse_persons
from treeanon.spark.records import Batches, batch_of, map_batches
from treeanon.spark.table.reading import Rows, kinds_of
from treeanon.table import Column, Table
from treeanon.verifier.table import TableVerdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


MAX_CODES = 40_000_000
"""Maximum number of codes (rows times quasi-identifying and sensitive columns) of a table that is searched in the
driver: 160 MB, of which searches need a multiple.
"""


@dataclass(frozen=True)
class PublishedRows:
    """Published rows on the workers, with `place` and a text v0, v1, … for every column.

    `release` describes the search; its verdict is not yet that of the written files. `columns` are the published
    columns, `ranges` is the number of ranges.
    """

    frame: DataFrame
    columns: tuple[Column, ...]
    release: TableRelease
    ranges: int = 1


def fits_driver(rows: Rows, most: int | None) -> bool:
    """Return whether the driver can hold a row of codes for every person; `most` limits the rows."""
    return rows.rows <= (MAX_CODES // max(len(rows.coded), 1) if most is None else most)


def search_whole(rows: Rows, request: TableRequest, progress: Progress | None = None) -> PublishedRows:
    """Search all rows in the driver; return the published rows. GuaranteeError if there is no release."""
    table = _table(rows)
    release = fulfill_table(request, table, seed=0, progress=progress)
    recoded, kept = release.recoded(table)
    return PublishedRows(_mapped(rows, table, recoded, kept), rows.columns, release)


def _table(rows: Rows) -> Table:
    """Return the table with a row of codes for every person, in the order of the codes."""
    names = rows.coded
    found: Any = rows.frame.groupBy(*names).count().toArrow()
    codes = [found[name].to_numpy() for name in names]
    times = found["count"].to_numpy()
    ascending = np.lexsort(codes[::-1])
    order = np.repeat(ascending, times[ascending])
    return rows.table({name: own[order] for name, own in zip(names, codes, strict=True)})


@dataclass(frozen=True)
class _Entries:
    """What rows with equal codes become: the original codes (`before`) and published codes (`after`) of each entry.

    An entry is for the rows numbered `low` to `high` among those with these codes; for all of them if not `is_split`.
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
    """Return a number for each row, equal for equal codes, and how many numbers there are."""
    return group_numbers([column.codes + 1 for column in columns], [column.size + 1 for column in columns], rows)


def _mapped(rows: Rows, table: Table, recoded: Table, kept: Longs) -> DataFrame:
    """Return the published rows; rows with equal codes are divided among the values that the search gives them."""
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
    """Return the rows with their numbers, in random order, among those with equal codes."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    texts = [n for n in rows.names if n[0] == "t"]
    same = Window.partitionBy(*rows.coded).orderBy("place", *texts)
    return rows.frame.withColumn("number", f.row_number().over(same).cast("long") - 1)


def texts_of(frame: DataFrame, recoded: Table, rows: Rows) -> DataFrame:
    """Return the texts of published rows, whose columns after the place hold texts or codes of the recoded columns."""
    known = iter(recoded.columns)
    values = [pa.array(next(known).values, pa.string()) if n[0] == "c" else None for n in rows.names]
    shared = frame.sparkSession.sparkContext.broadcast(values)
    return map_batches(frame, partial(_spelt, shared=shared), text_kinds(len(values)))


def text_kinds(columns: int) -> str:
    """Return the Spark type of published rows."""
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
"""Target number of rows in a range; searching it takes some hundred megabytes of a worker's memory."""

_SAMPLE = 100_000
Keys = npt.NDArray[np.bytes_]


def check_request(request: TableRequest, schema: Schema) -> None:
    """Raise UsageError for a request that this engine cannot fulfill for any number of rows."""
    request.check(schema)
    refuse_persons(schema, "engine spark")
    refuse_controls(schema.classes, "engine spark")
    for name, asked in request.controls.items():
        raise UsageError(f"engine spark does not honor {' and '.join(asked)} (class {name!r})")
    if "max_group_loss" in request.options:
        raise UsageError("engine spark does not honor max_group_loss")
    if request.publish != "generalized":
        raise UsageError("engine spark publishes generalized values only: leave it out for permuted releases")
    refuse_whole(request.models, "engine spark")
    if request.search.freeform:
        raise UsageError(
            f"{request.algorithm} links persons to several rows, which only the local engine checks: choose a search of"
            " groups, or leave out --engine spark"
        )


def check_ranges(request: TableRequest, rows: Rows) -> None:
    """Raise UsageError for a request that cannot be fulfilled in ranges."""
    many = f"{rows.rows:,} rows are too many for a search in the driver, and in ranges of rows"
    if not request.search.in_parts:
        able = ", ".join(one.name for one in TABLE_ALGORITHMS.values() if one.in_parts)
        raise UsageError(f"{many} {request.algorithm} would find a different recoding for each; choose from {able}")
    if any(model.compares_with_table or not model.is_monotone for model in request.models):
        raise UsageError(f"{many} nothing can be compared with the whole table, as t-closeness requires")


@dataclass(frozen=True)
class _RangeReport:
    """The report on a range: why there is no release, or the number of rows and of suppressed rows, and the losses.

    `steps` holds the level of generalization of each quasi-identifier.
    """

    problem: str = ""
    rows: int = 0
    suppressed: int = 0
    loss: FlatLosses | None = None
    steps: tuple[int, ...] = ()


def search_ranges(rows: Rows, request: TableRequest, most: int | None) -> DataFrame:
    """Search ranges of about `most` rows; return rows of texts, and one row for each range that holds its report."""
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
    """Return the release that the ranges form; GuaranteeError if one of them has none."""
    reports: list[_RangeReport] = [
        pickle.loads(row[0]) for row in found.where("report is not null").select("report").collect()
    ]
    problems = sorted({one.problem for one in reports if one.problem})
    if problems:
        raise GuaranteeError(f"one of {len(reports):,} ranges of rows has no release: {problems[0]}")
    suppressed = sum(one.suppressed for one in reports)
    partition = Partition(
        request.algorithm, request.models, np.zeros(0, np.int64), suppressed, {"ranges": len(reports)}
    )
    # Verdict and counts are filled in from the written files.
    verdict = TableVerdict((), None, 0, 0, 0)
    release = TableRelease(
        rows.table({name: [] for name in rows.coded}), request.models, partition, _combined(reports), verdict, {},
        request.told(rows.columns), request.max_suppressed,
    )  # fmt: skip
    names = [kind.split()[0] for kind in text_kinds(len(rows.columns)).split(", ")]
    return PublishedRows(found.where("report is null").select(*names), rows.columns, release, len(reports))


def _combined(reports: Sequence[_RangeReport]) -> FlatLosses:
    """Return the losses of all ranges; those that depend on groups of the whole are filled in later."""
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
    """Return the quasi-identifiers, those with few nodes first: groups that cross their subtrees lose most."""
    quasi = [(len(c.hierarchy), n) for n, c in zip(rows.names, rows.columns, strict=True) if c.role == "quasi"]
    return [name for _, name in sorted(quasi)]


def _bounds(rows: Rows, order: list[str], size: int) -> Keys:
    """Return keys that divide the ordered rows into ranges of about that size, estimated from a sample of distinct
    rows.

    The sample is drawn by hashes of the codes, so that the ranges do not depend on the partitions.
    """
    different = rows.frame.groupBy(*order).count()
    step = max(different.count() // _SAMPLE, 1)
    some: Any = different.where(f"pmod(xxhash64({', '.join(order)}), {step}) = 0").toArrow()
    keys = _keys([some[name].to_numpy() for name in order])
    ascending = np.argsort(keys)
    until = np.cumsum(some["count"].to_numpy()[ascending])
    parts = max(rows.rows // size, 1)
    cuts = [i * int(until[-1]) // parts for i in range(1, parts)] if len(until) else []
    return unique_values(keys[ascending][np.searchsorted(until, cuts)])


def _keys(codes: Sequence[Any]) -> Keys:
    """Return bytes for each row that sort in the order of its codes."""
    big = np.stack([np.asarray(own).astype(np.int64) + 1 for own in codes], axis=1).astype(">u4")
    return np.ascontiguousarray(big).view(f"S{4 * len(codes)}").reshape(-1)


def _with_range_number(batches: Batches, order: list[str], bounds: Keys, kinds: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows, each with the number of its range."""
    for batch in batches:
        keys = _keys([batch.column(batch.schema.get_field_index(name)).to_numpy() for name in order])
        yield batch_of(kinds, np.searchsorted(bounds, keys, side="right"), *batch.columns)


def _of_size(ranged: DataFrame, least: int) -> DataFrame:
    """Return the rows in ranges of at least that size; smaller neighboring ranges are merged."""
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
    return text_kinds(len(rows.columns)) + ", report binary"


def _searched(table: pa.Table, shared: Any) -> pa.Table:
    """Return the published rows of a range, and its report."""
    rows, request = shared.value
    order = [(name, "ascending") for name in (*rows.coded, "place")]
    table = table.sort_by(order)
    own = rows.table({name: table[name].to_numpy() for name in rows.coded})
    allowed = persons(request.max_suppressed, rows.rows) * len(own) // rows.rows
    try:
        release = fulfill_table(replace(request, max_suppressed=allowed), own, seed=0)
        recoded, kept = release.recoded(own)
    except TreeanonError as problem:
        return _with_report(rows, [], _RangeReport(str(problem)))
    known = iter(recoded.columns)
    values = [next(known).texts() if name[0] == "c" else table[name].take(kept) for name in rows.names]
    steps = tuple(height(Table((column,))) for column in recoded.quasi)
    reports = _RangeReport("", len(own), len(own) - len(kept), release.loss, steps)
    return _with_report(rows, [table["place"].take(kept), *values], reports)


def _with_report(rows: Rows, values: list[Any], reports: _RangeReport) -> pa.Table:
    """Return the rows of texts, and a last row that holds only the report."""
    kinds = _kinds(rows)
    width = len(rows.columns) + 1
    last = batch_of(kinds, *([None] for _ in range(width)), [pickle.dumps(reports)])
    if not values:
        return pa.Table.from_batches([last])
    plain = [one.combine_chunks() if isinstance(one, pa.ChunkedArray) else one for one in values]
    return pa.Table.from_batches([batch_of(kinds, *plain, [None] * len(plain[0])), last])

"""The search of a table that does not fit the driver: ranges of the order of its rows, each searched on a worker.

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
from treeanon.algorithms.table.registry import FLAT_ALGORITHMS, FlatAlgorithm
from treeanon.errors import GuaranteeError, TreeanonError, UsageError
from treeanon.metrics.table import FlatLosses
from treeanon.metrics.table.groups import height
from treeanon.privacy.models.t_closeness import TCloseness
from treeanon.release import TableRelease, fulfill_table
from treeanon.release.table_request import TableRequest
from treeanon.release.table_search import largest_k
from treeanon.release.tree_request import persons
from treeanon.schema import Schema
from treeanon.spark.records import Batches, batch_of, map_batches
from treeanon.spark.table.reading import Rows, kinds_of
from treeanon.spark.table.searching import PublishedRows, text_kinds
from treeanon.table import Table
from treeanon.verifier.table import TableVerdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
    if not _in_parts(request.search):
        able = ", ".join(one.name for one in FLAT_ALGORITHMS.values() if _in_parts(one))
        raise UsageError(f"{many} {request.algorithm} would find another recoding for each; these can: {able}")
    if any(isinstance(model, TCloseness) or not model.is_monotone for model in request.models):
        raise UsageError(f"{many} nothing can be compared with the whole table: t-closeness is for fewer rows")


def _in_parts(search: FlatAlgorithm) -> bool:
    """Whether a search finds groups of rows that have nothing to do with those of other rows."""
    by_order = search.module == FLAT_ALGORITHMS["hilbert"].module
    return (search.groups and not search.reaches) or by_order


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
    work = partial(_numbered, order=order, bounds=_bounds(rows, order, size), kinds=kinds)
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


def _numbered(batches: Batches, order: list[str], bounds: Keys, kinds: str) -> Iterator[pa.RecordBatch]:
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

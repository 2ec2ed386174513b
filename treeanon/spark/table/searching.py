"""The search of a table whose different rows fit the driver, and what it makes of each of them.

Spark counts the different rows of quasi and sensitive values. The driver has one row of codes a person of them, in an
order that has nothing to do with the input, so any search of tables runs as it does elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from treeanon.arrays import Ints, Longs
from treeanon.kernels.table.groups import group_numbers
from treeanon.progress import Progress
from treeanon.release import TableRelease, fulfill_table
from treeanon.release.table_request import TableRequest
from treeanon.spark.records import Batches, batch_of, map_batches
from treeanon.spark.table.reading import Rows
from treeanon.table import Column, Table

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

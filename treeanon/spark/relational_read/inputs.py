"""Sources of tables: a folder of files, which the workers read with the local engine's readers, or dataframes."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from treeanon.errors import DataError, TreeanonError, UsageError
from treeanon.io.columns.arrow import FrameSource
from treeanon.io.columns.csv_fast import DelimitedFile
from treeanon.io.columns.python_values import check_names
from treeanon.io.relational.folder import FolderSource, Part
from treeanon.io.relational.source import KeyedTables, Place, TableInfo
from treeanon.io.sources import plain_name
from treeanon.schema.keys import ForeignKey
from treeanon.spark.records import Batches, map_batches
from treeanon.spark.relational_read.columns import ColumnSummary, InvalidTable, TableSelection, report_row, texts_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PIECE_BITS = 40
"""The upper bits of a row number hold the number of its piece, above this many bits."""

_ROW = re.compile(r"row ([\d]+)")


class Tables(KeyedTables, Protocol):
    """Relational tables for Spark."""

    def frame(self, spark: SparkSession, selection: TableSelection) -> DataFrame:
        """Return the rows of a table as `selection.kind`, and the pickled `PartitionSummary` of each partition."""

    def place(self, table: str, row: int) -> Place:
        """Return the place of the row with that number."""


@dataclass
class PartitionSummary:
    """A summary of a partition: its number, its rows, the summaries of its columns, and its first error."""

    part: int
    rows: int
    seen: dict[str, ColumnSummary]
    wrong: TreeanonError | tuple[str, str, str, str] | None = None

    def refuse(self) -> None:
        """Raise the error, if there is one."""
        if isinstance(self.wrong, tuple):
            message, source, place, path = self.wrong
            raise DataError(message, source=source, place=place, path=path)
        if self.wrong is not None:
            raise self.wrong


class FolderTables:
    """The tables of a folder that driver and workers can open; a worker reads a CSV file or a row group of Parquet."""

    def __init__(self, given: str) -> None:
        if "://" in given:
            raise UsageError(
                f"{given}: a folder of tables must have a path that driver and workers share; pass tables from"
                " elsewhere as dataframes: treeanon.anonymize({name: dataframe, …}, schema=…)"
            )
        if plain_name(given).endswith(".zip"):
            raise UsageError(f"{given}: engine spark reads folders of tables; unpack the ZIP archive")
        # Workers may have another working directory.
        self._source = FolderSource(Path(given).absolute())
        self.name, self.files, self.left_out = self._source.name, self._source.files, self._source.left_out
        for table in self.tables():
            for part in self._source.parts(table):
                if not isinstance(part, DelimitedFile) and not Path(part.path).is_relative_to(Path(part.name).parent):
                    raise UsageError(f"{part.name}: engine spark needs uncompressed Parquet files; unpack it")

    def tables(self) -> Mapping[str, TableInfo]:
        """Return all tables by name."""
        return self._source.tables()

    def keys(self) -> Sequence[ForeignKey]:
        """Return the foreign keys of datapackage.json."""
        return self._source.keys()

    def close(self) -> None:
        """Delete temporary copies."""
        self._source.close()

    def frame(self, spark: SparkSession, selection: TableSelection) -> DataFrame:
        """Return the rows of a table; see `Tables`."""
        pieces = self._pieces(selection.table)
        rows = [(number, pickle.dumps(piece)) for number, piece in enumerate(pieces)]
        found = spark.sparkContext.parallelize(rows, len(rows))
        return map_batches(
            spark.createDataFrame(found, "number long, piece binary"),
            partial(_files, selection=selection),
            selection.kind,
        )

    def _pieces(self, table: str) -> list[_Piece]:
        out = []
        for part in self._source.parts(table):
            starts = [0] if isinstance(part, DelimitedFile) else part.starts()
            out += [_Piece(part, group, start) for group, start in enumerate(starts)]
        return out

    def place(self, table: str, row: int) -> Place:
        """Return the place of a row: a line of its file, or a row."""
        piece = self._pieces(table)[row >> _PIECE_BITS]
        return piece.part.place(piece.start + (row & ((1 << _PIECE_BITS) - 1)))


@dataclass(frozen=True)
class _Piece:
    """A delimited file, or a row group of a Parquet file, and its first row."""

    part: Part
    group: int
    start: int

    def blocks(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        # If no column is selected, any column gives the number of rows.
        names = list(columns) or [self.part.columns[0]]
        if isinstance(self.part, DelimitedFile):
            yield from self.part.blocks(names)
        else:
            yield self.part.read_group(self.group, self.start, names)


def _files(batches: Batches, selection: TableSelection) -> Iterator[pa.RecordBatch]:
    """Yield the rows of pieces of files, each followed by its summary."""
    for batch in batches:
        for number, content in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            piece: _Piece = pickle.loads(content)
            summary = PartitionSummary(number, 0, {})
            yield from _with_summary(
                summary, selection, piece.blocks(selection.columns), partial(_place_in_file, piece)
            )


def _place_in_file(piece: _Piece, row: int) -> Place:
    return piece.part.place(piece.start + row)


def _with_summary(
    summary: PartitionSummary, selection: TableSelection, blocks: Iterator[pa.Table], place: Any
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a piece up to the first invalid one, and its summary."""
    try:
        for block in blocks:
            try:
                yield texts_of(block, (summary.part << _PIECE_BITS) + summary.rows, selection, summary.seen)
            except InvalidTable as problem:
                at = place(summary.rows + problem.row) if problem.row >= 0 else Place("", "")
                raise DataError(problem.what, source=at.source, place=at.place, path=problem.path) from None
            summary.rows += block.num_rows
    except DataError as problem:
        summary.wrong = (problem.message, problem.source, problem.place, problem.path)
    except TreeanonError as problem:
        summary.wrong = problem
    yield report_row(selection, pickle.dumps(summary))


class FrameTables:
    """Dataframes by table name; their keys are those of the schema."""

    name = "the dataframes"
    files = ""
    left_out: tuple[str, ...] = ()

    def __init__(self, frames: Mapping[str, DataFrame]) -> None:
        self._frames = dict(frames)
        for table, frame in self._frames.items():
            check_names(frame.columns, f"table {table!r}")
            if not frame.columns:
                raise DataError("has no columns", source=f"table {table!r}")
        self._infos = {table: TableInfo(tuple(frame.columns)) for table, frame in self._frames.items()}

    def tables(self) -> Mapping[str, TableInfo]:
        """Return all tables by name."""
        return self._infos

    def keys(self) -> Sequence[ForeignKey]:
        """Return none: dataframes declare no keys."""
        return ()

    def frame(self, spark: SparkSession, selection: TableSelection) -> DataFrame:
        """Return the rows of a table; see `Tables`."""
        found = self._frames[selection.table]
        names = found.columns
        wanted = selection.columns or names[:1]
        # Names of columns may differ only in case, or contain a dot.
        plain = found.toDF(*(f"c{number}" for number in range(len(names))))
        chosen = plain.select(*(f"c{names.index(name)}" for name in wanted))
        return map_batches(chosen, partial(_rows, selection=selection, names=tuple(wanted)), selection.kind)

    def place(self, table: str, row: int) -> Place:
        """Return the place of a row: its partition, and the row there."""
        return _place_in_frame(table, row >> _PIECE_BITS, row & ((1 << _PIECE_BITS) - 1))


def _place_in_frame(table: str, part: int, row: int) -> Place:
    return Place(f"table {table!r}", f"partition {part + 1}, row {row + 1}")


def _rows(batches: Batches, selection: TableSelection, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition of a dataframe."""
    from pyspark import TaskContext

    context = TaskContext.get()
    summary = PartitionSummary(context.partitionId() if context else 0, 0, {})
    place = partial(_place_in_frame, selection.table, summary.part)
    yield from _with_summary(summary, selection, _plain(batches, names, summary, place), place)


def _plain(batches: Batches, names: tuple[str, ...], summary: PartitionSummary, place: Any) -> Iterator[pa.Table]:
    for batch in batches:
        source = FrameSource(pa.Table.from_batches([batch]).rename_columns(list(names)))
        try:
            yield source.read(source.table, names)
        except DataError as problem:
            found = _ROW.search(problem.place)
            at = place(summary.rows + int(found[1]) - 1) if found else Place(place(0).source, "")
            raise DataError(problem.message, source=at.source, place=at.place, path=problem.path) from None

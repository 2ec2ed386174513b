"""The inputs of rows that Spark reads: delimited files, Parquet and dataframes.

A partition is read in pieces of delimited files or of dataframes; each is a source of rows that knows its place.

Spark splits files at line breaks. Every piece is read by the reader of whole files. A value with a line break would be
split, so it is refused.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Protocol, cast

import numpy as np
import orjson
import pyarrow as pa

from treeanon.errors import DataError, UsageError
from treeanon.forest import ReadReport
from treeanon.formats import FORMATS, ROWS, Format
from treeanon.io.columns.arrow import FrameSource
from treeanon.io.columns.csv_dialect import UNCLOSED, Dialect, RowForm, exact_rows, given_delimiter
from treeanon.io.columns.csv_fast import DelimitedFile, Rules
from treeanon.io.columns.frames import as_rows
from treeanon.io.columns.python_values import check_columns_exist, check_names
from treeanon.io.columns.row_files import RowSource, as_tables, read_rows
from treeanon.io.interface import ReadOptions
from treeanon.io.reading import input_format
from treeanon.io.relational.reading import resolved
from treeanon.io.relational.source import OneTable, Place
from treeanon.io.sources import Source, plain_name
from treeanon.schema import Schema
from treeanon.spark.lines import Lines, lines_of_files, read_parquet
from treeanon.spark.reading import blocks_of_batch
from treeanon.spark.records import Batches
from treeanon.spark.session import spark_failures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_LINES = 200_000
_BYTES = 32 << 20
_CUT = (
    "a quoted value does not end on its line; Spark splits files at line breaks, so values cannot hold one: give"
    " the rows as Parquet, or leave out --engine spark"
)


@dataclass(frozen=True)
class Piece:
    """Some rows of a partition, which are parsed when `open` is called.

    `before` is added to line and row numbers in errors.
    """

    file: int
    start: int
    before: int
    open: Callable[[], RowSource]


class Pieces(Protocol):
    """Splits the batches of a partition into pieces, on the workers; files have `lines_before` their rows."""

    @property
    def lines_before(self) -> int:
        """Return the number of lines before the first row of a file."""

    def of(self, batches: Batches) -> Iterator[Piece]:
        """Return the pieces in their order."""


@dataclass(frozen=True)
class FramePieces:
    """Pieces of a dataframe or of columnar files."""

    lines_before: ClassVar[int] = 0

    def of(self, batches: Batches) -> Iterator[Piece]:
        """Yield one piece for each batch."""
        from pyspark import TaskContext

        context = TaskContext.get()
        part, before = context.partitionId() if context else 0, 0
        for batch in batches:
            if len(batch):
                yield Piece(-1, part, before, partial(FrameSource, pa.Table.from_batches([batch])))
            before += len(batch)


@dataclass(frozen=True)
class DelimitedPieces:
    """Pieces of delimited files that share this header, line break included."""

    header: bytes
    columns: tuple[str, ...]
    delimiter: str

    @property
    def lines_before(self) -> int:
        """Return the number of lines of the header."""
        return self.header.count(b"\n")

    def of(self, batches: Batches) -> Iterator[Piece]:
        """Yield pieces of a size that can be read efficiently."""
        for file, start, before, lines in _gathered(batches):
            begins = start == 0 and before == 0
            if begins:
                lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
            text = (b"" if begins else self.header) + b"\n".join(lines) + b"\n"
            shift = before - (0 if begins else self.lines_before)
            yield Piece(file, start, shift, partial(self._source, text))

    def _source(self, text: bytes) -> RowSource:
        """Return the source of a text that begins with a header."""
        dialect = Dialect(self.delimiter)
        form = RowForm(dialect)
        if b'"' in text:
            _refuse_cut(text, form)
        source = Source("lines", len(text), lambda: cast(BinaryIO, io.BytesIO(text)))
        found = Block(DelimitedFile(source, dialect, Rules()))
        if found.file.columns != self.columns:
            raise DataError("the header differs from that of the first file", source="lines", place="line 1")
        return found


class Block(OneTable):
    """The rows of a piece of a delimited file as the only table of a source."""

    name = "lines"
    files = ROWS
    by_column = False

    def __init__(self, file: DelimitedFile) -> None:
        super().__init__("rows", file.columns)
        self.file = file

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return these columns of the rows; see `TableSource`."""
        check_columns_exist(self.tables(), table, columns, self.name)
        return self.file.read(columns, most)

    def place(self, table: str, row: int) -> Place:
        """Return the place of a row."""
        return self.file.place(row)

    def close(self) -> None:
        """Do nothing, as no file is open."""


def _gathered(batches: Batches) -> Iterator[tuple[int, int, int, list[bytes]]]:
    """Yield the lines of a partition by file and block, and the number of earlier lines of the same block."""
    at, before, lines, size = (-1, -1), 0, list[bytes](), 0
    for batch in batches:
        for file, start, texts in blocks_of_batch(batch):
            if lines and ((file, start) != at or len(lines) >= _LINES or size >= _BYTES):
                yield *at, before, lines
                before, lines, size = before + len(lines), [], 0
            if (file, start) != at:
                at, before = (file, start), 0
            lines += texts
            size += sum(map(len, texts))
    if lines:
        yield *at, before, lines


def _refuse_cut(text: bytes, form: RowForm) -> None:
    """Raise DataError if a row continues on the next line, or would if the file had one."""
    for number, line in enumerate(text.split(b"\n"), start=1):
        if b'"' in line and not _is_whole(line, form):
            raise DataError(_CUT, source="lines", place=f"line {number}")


def _is_whole(line: bytes, form: RowForm) -> bool:
    found = form.row.match(line)
    if found is not None and found.end() == len(line):
        return True
    try:
        for _ in exact_rows(io.BytesIO(line).read, form, "lines"):
            pass
    except DataError as problem:
        # The reader reports any other error.
        return problem.message != UNCLOSED
    return True


@dataclass(frozen=True)
class JsonRows:
    """Rows of a table as the JSON texts by which rows of persons are read, with the place that each has in its file."""

    pieces: Pieces
    schema: Schema
    options: ReadOptions

    def blocks(self, batches: Batches) -> Iterator[tuple[int, int, int, list[bytes] | DataError]]:
        """Yield the texts of the rows of a partition by file and block, with the lines before them; last what is wrong
        with a row.
        """
        for piece in self.pieces.of(batches):
            try:
                texts = self._texts(piece.open())
            except DataError as problem:
                yield piece.file, piece.start, piece.before, problem
                return
            yield piece.file, piece.start, piece.before + self.pieces.lines_before, texts

    def _texts(self, source: RowSource) -> list[bytes]:
        batch = read_rows(source, self.schema, self.options, ReadReport())
        if len(batch.moved.held):
            raise DataError("a row stands for a person of whom nothing is published", source="lines", place="line 1")
        (rows,) = batch.tables
        columns: dict[str, list[Any]] = {}
        for index, held in enumerate(self.schema.layout.classes):
            assert held.spec.path is not None
            texts = np.array([*batch.texts[index], None], object)
            columns[str(held.spec.path.steps[0].name)] = texts[rows.codes[index]].tolist()
        (own,) = source.tables().values()
        # That they are dropped is counted by row.
        columns |= {name: [0] * batch.records for name in own.columns if name not in columns}
        return [orjson.dumps(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]


_FIRST_LINES = 50


@dataclass(frozen=True)
class Input:
    """Rows to read: `lines` are rows of a dataframe or lines of files, with their places; `pieces` reads them.

    `schema` is a schema of a flat table, `delimiter` that of delimited files.
    """

    lines: Lines
    pieces: Pieces
    schema: Schema
    delimiter: str = ""


def input_of_files(spark: SparkSession, source: str, schema: Schema, format: str | None, delimiter: str = "") -> Input:
    """Return the rows of a file, a folder or a glob, whose delimited files must share one header."""
    form = flat_format(source, schema, format)
    schema = replace(schema, input=replace(schema.input, format=form))
    delimiter = given_delimiter(delimiter, form)
    if FORMATS[form].spark == "columns":
        with spark_failures(source):
            return input_of_frame(read_parquet(spark, source), schema, source)
    lines = lines_of_files(spark, source, form)
    first = min(lines.files.values())
    with spark_failures(source):
        rows = spark.read.option("lineSep", "\n").text(first).limit(_FIRST_LINES).collect()
    text = "".join(row["value"] + "\n" for row in rows).encode().removeprefix(b"\xef\xbb\xbf")
    if plain_name(first).endswith(".tsv"):
        delimiter = delimiter or "\t"
    name = first if len(set(lines.files.values())) == 1 else source
    begin = DelimitedFile(
        Source(name, len(text), lambda: cast(BinaryIO, io.BytesIO(text))), Dialect(delimiter), Rules()
    )
    pieces = DelimitedPieces(text[: begin.skipped], begin.columns, begin.dialect.delimiter)
    _check_columns(schema, Block(begin))
    return Input(lines, pieces, schema, begin.dialect.delimiter)


def input_of_frame(frame: DataFrame, schema: Schema, name: str = "the dataframe") -> Input:
    """Return the rows of a dataframe."""
    check_names(frame.columns, name)
    schema = as_rows(schema)
    if not frame.columns:
        raise DataError("has no columns", source=name)
    empty: Any = frame.limit(0).toArrow()
    _check_columns(schema, FrameSource(empty))
    return Input(Lines(frame, name, schema.input.format), FramePieces(), schema)


def _check_columns(schema: Schema, source: RowSource) -> None:
    """Raise an error if classes of the schema are not columns of the source."""
    resolved(as_tables(schema, source.table), source)


def flat_format(source: str, schema: Schema, format: str | None) -> str:
    """Return the name of a format of rows: the requested one, that of the file name, or that of the schema."""
    name = format
    if name is None:
        plain = plain_name(source.rstrip("/"))
        name = next((form.name for form in _rows() if plain.endswith(form.endings)), None)
    found = FORMATS.named(name) if name else input_format(source, schema)
    if found not in _rows():
        known = ", ".join(form.name for form in _rows())
        raise UsageError(
            f"engine spark reads and writes tables as {known}, not {found.name}: `treeanon flatten` makes such"
            " a file, a row a person"
        )
    return found.name


def _rows() -> list[Format]:
    """Return the formats of rows that Spark reads and writes."""
    return [form for form in FORMATS.values() if form.is_rows and form.spark]

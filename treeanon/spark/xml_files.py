"""XML files as a Spark dataset of byte ranges, which the workers read as documents; and records as XML files.

A range never splits a record, so that every worker can parse its own.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import quote, unquote

import pyarrow as pa

from treeanon.errors import DataError, FileError, TreeanonError, UsageError
from treeanon.io.documents.xml_ranges import WHOLE, Range, range_source, ranges_of
from treeanon.io.interface import ReadOptions, reader_of, writer_of
from treeanon.io.sources import COMPRESSED, plain_name
from treeanon.schema import Schema
from treeanon.spark.lines import LINES, Lines, is_folder
from treeanon.spark.records import Batches, batch_of, map_batches
from treeanon.spark.session import spark_failures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from treeanon.spark.reading import Taking


RANGE_BYTES = 4 << 20
"""Target size of a range: large enough to be worth starting a parser, small enough for a worker's memory."""


@dataclass(frozen=True)
class Piece:
    """A range of a file for a worker: the file's name as Spark and as users write it, the range and its size.

    `is_one` says whether the input is this single file rather than a collection.
    """

    file: str
    name: str
    is_one: bool
    size: int
    part: Range = WHOLE

    def cut(self, part: Range) -> Piece:
        """Return a range of the file."""
        return replace(self, part=part, size=self.size if part.end is None else part.end - part.begin)

    def open(self) -> BinaryIO:
        """Open the file, in whatever file system it is."""
        import pyarrow.fs as storage

        try:
            if self.file.startswith(("file:", "/")):
                return open(self.name, "rb")  # noqa: PTH123 - closed by its reader
            system, path = storage.FileSystem.from_uri(quote(self.file, safe="/:"))
            return cast(BinaryIO, system.open_input_file(path))
        except (OSError, pa.ArrowException) as problem:
            words = problem.strerror if isinstance(problem, OSError) else None
            raise FileError(f"{self.name}: cannot be read: {words or type(problem).__name__}") from None


def read_pieces(builder: Taking, texts: list[bytes], form: str, options: ReadOptions) -> None:
    """Read ranges as documents; errors name the file and the place in it."""
    for text in texts:
        piece: Piece = pickle.loads(text)
        source = range_source(piece.name, piece.open, piece.part)
        own_options = replace(options, collection=not piece.is_one)
        try:
            for batch in reader_of(form)([source], builder.reads, own_options, builder.report):
                builder.add(batch)
        except DataError as problem:
            place = piece.part.place(problem.place)
            raise DataError(problem.message, source=piece.name, place=place, path=problem.path) from None


def few_at_once(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield batches of ranges whose total size is about that of one, to bound the records in memory."""
    for batch in batches:
        start = held = 0
        for place, text in enumerate(batch.column(2).to_pylist()):
            size = pickle.loads(text).size
            if held and held + size > RANGE_BYTES:
                yield batch.slice(start, place - start)
                start, held = place, 0
            held += size
        yield batch.slice(start)


_PART_BYTES = 64 << 20


def ranges_of_files(spark: SparkSession, source: str, schema: Schema, form: str) -> Lines:
    """Return the records of an XML file, a folder or a glob, as ranges of its files.

    A large file is first read by one worker to find where it can be split; compressed files are not split.
    """
    if plain_name(source).endswith(".zip"):
        raise UsageError(f"{source}: engine spark reads files and folders; unpack the ZIP archive")
    found = _files(spark, source)
    is_one = not is_folder(spark, source) and not any(mark in source for mark in "*?[{")
    names = {file: _plain(file) for file in sorted(found)}
    pieces = {number: Piece(file, name, is_one, found[file]) for number, (file, name) in enumerate(names.items())}
    long = [number for number, piece in pieces.items() if _is_cut(piece, schema)]
    parts = _cut(spark, source, {number: pieces[number] for number in long}, schema)
    rows = [
        (number, part.begin, pickle.dumps(piece.cut(part)))
        for number, piece in pieces.items()
        for part in parts.get(number, [WHOLE])
    ]
    tasks = max(spark.sparkContext.defaultParallelism, -(-sum(found.values()) // _PART_BYTES))
    frame = _frame(spark, rows, tasks, LINES)
    return Lines(frame, source, form, dict(enumerate(names.values())))


def save_documents(texts: DataFrame, schema: Schema, place: str, *, form: str) -> None:
    """Write the column `text` as XML files, one document for each partition."""
    found = writer_of(form).document(schema)
    lines = map_batches(texts, partial(_between, head=found.head, tail=found.tail), "text string")
    lines.write.option("lineSep", "\n").text(place)


def _between(batches: Batches, head: str, tail: str) -> Iterator[pa.RecordBatch]:
    yield batch_of("text string", [head.removesuffix("\n")])
    yield from batches
    yield batch_of("text string", [tail.strip("\n")])


def _plain(file: str) -> str:
    """Return the name of a file as users write it."""
    return "/" + file.removeprefix("file:").lstrip("/") if file.startswith("file:") else file


def _files(spark: SparkSession, source: str) -> dict[str, int]:
    """Return the names of the files, as Spark writes them, and their sizes."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    if is_folder(spark, source):
        reader = reader.option("pathGlobFilter", "*.[xX][mM][lL]{,.gz,.zst}")
    with spark_failures(source):
        files = reader.load(source)
        # Empty files have no row.
        found = {unquote(name).replace("file:///", "file:/", 1): 0 for name in files.inputFiles()}
        found |= {row["path"]: int(row["length"]) for row in files.select("path", "length").collect()}
    if not found:
        raise UsageError(f"{source}: no file in it ends in .xml (optionally followed by .gz or .zst)")
    return found


def _is_cut(piece: Piece, schema: Schema) -> bool:
    """Return whether a file is to be split."""
    record = schema.input.record
    is_long = piece.size > RANGE_BYTES and not piece.name.lower().endswith(COMPRESSED)
    return is_long and record is not None and not record.whole_file


def _cut(spark: SparkSession, source: str, pieces: dict[int, Piece], schema: Schema) -> dict[int, list[Range]]:
    """Return the ranges of large files, each found by one worker."""
    if not pieces:
        return {}
    rows = [(number, 0, pickle.dumps(piece)) for number, piece in pieces.items()]
    with spark_failures(source):
        work = partial(_find, schema=schema, least=RANGE_BYTES)
        found = map_batches(_frame(spark, rows, len(rows), LINES), work, "file long, part binary").collect()
    parts = {row["file"]: pickle.loads(row["part"]) for row in found}
    for problem in parts.values():
        if isinstance(problem, TreeanonError):
            raise problem
    return parts


def _find(batches: Batches, schema: Schema, least: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number, text in zip(batch.column(0).to_pylist(), batch.column(2).to_pylist(), strict=True):
            piece: Piece = pickle.loads(text)
            try:
                with range_source(piece.name, piece.open, WHOLE).open() as stream:
                    found: Any = ranges_of(stream, schema, least)
            except FileError as problem:
                found = problem
            yield batch_of("file long, part binary", [number], [pickle.dumps(found)])


def _frame(spark: SparkSession, rows: list[tuple[int, int, bytes]], parts: int, kind: str) -> DataFrame:
    """Return a frame of rows with deterministic partitions."""
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, max(1, min(parts, len(rows)))), kind)

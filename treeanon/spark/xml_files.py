"""XML files as a Spark dataset: of ranges of bytes, which the workers read as documents; and records as XML files."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from treeanon.errors import FileError, TreeanonError, UsageError
from treeanon.io.documents.xml_ranges import WHOLE, Range, range_source, ranges_of
from treeanon.io.registry import document_format
from treeanon.io.sources import COMPRESSED, plain_name
from treeanon.schema import Schema
from treeanon.spark.lines import LINES, Lines, is_folder
from treeanon.spark.records import Batches, batch_of, map_batches
from treeanon.spark.session import spark_failures
from treeanon.spark.xml_pieces import RANGE_BYTES, Piece

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PART_BYTES = 64 << 20


def ranges_of_files(spark: SparkSession, source: str, schema: Schema) -> Lines:
    """The records of an XML file, a folder or a glob, as ranges of its files.

    A long file is read once by one worker, to find where it can be cut; files that are compressed are not cut.
    """
    if plain_name(source).endswith(".zip"):
        raise UsageError(f"{source}: the engine spark reads files and folders; unpack the zip")
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
    return Lines(frame, source, "xml", dict(enumerate(names.values())))


def save_documents(texts: DataFrame, schema: Schema, place: str) -> None:
    """Writes the column `text` as XML files, a document for each partition."""
    found = document_format("xml").document(schema)
    lines = map_batches(texts, partial(_between, head=found.head, tail=found.tail), "text string")
    lines.write.option("lineSep", "\n").text(place)


def _between(batches: Batches, head: str, tail: str) -> Iterator[pa.RecordBatch]:
    yield batch_of("text string", [head.removesuffix("\n")])
    yield from batches
    yield batch_of("text string", [tail.strip("\n")])


def _plain(file: str) -> str:
    """The name of a file as people write it."""
    return "/" + file.removeprefix("file:").lstrip("/") if file.startswith("file:") else file


def _files(spark: SparkSession, source: str) -> dict[str, int]:
    """The names of the files, as Spark writes them, and their lengths."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    if is_folder(spark, source):
        reader = reader.option("pathGlobFilter", "*.[xX][mM][lL]{,.gz,.zst}")
    with spark_failures(source):
        files = reader.load(source)
        # Rows of files that are empty there are none.
        found = {unquote(name).replace("file:///", "file:/", 1): 0 for name in files.inputFiles()}
        found |= {row["path"]: int(row["length"]) for row in files.select("path", "length").collect()}
    if not found:
        raise UsageError(f"{source}: no file in it ends in .xml (or this with .gz or .zst)")
    return found


def _is_cut(piece: Piece, schema: Schema) -> bool:
    """Whether to look for places to cut a file at."""
    record = schema.input.record
    is_long = piece.size > RANGE_BYTES and not piece.name.lower().endswith(COMPRESSED)
    return is_long and record is not None and not record.whole_file


def _cut(spark: SparkSession, source: str, pieces: dict[int, Piece], schema: Schema) -> dict[int, list[Range]]:
    """The ranges of long files, found by a worker for each."""
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
    """Rows in partitions that are the same each time."""
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, max(1, min(parts, len(rows)))), kind)

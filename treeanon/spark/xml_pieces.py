"""Ranges of XML files, as the workers read them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO, cast
from urllib.parse import quote

import pyarrow as pa

from treeanon.errors import DataError, FileError
from treeanon.forest import ForestBuilder
from treeanon.io.documents.xml_ranges import WHOLE, Range, range_source
from treeanon.io.options import ReadOptions
from treeanon.io.registry import document_format
from treeanon.spark.records import Batches

RANGE_BYTES = 4 << 20
"""What a range should have: enough to be worth a parser, and few enough for the memory of a worker."""


@dataclass(frozen=True)
class Piece:
    """What a worker reads: the name of a file as Spark and as people write it, and a range of it of so many bytes.

    `is_one` is of whether the input is this file, and no collection.
    """

    file: str
    name: str
    is_one: bool
    size: int
    part: Range = WHOLE

    def cut(self, part: Range) -> Piece:
        """A range of the file."""
        return replace(self, part=part, size=self.size if part.end is None else part.end - part.begin)

    def open(self) -> BinaryIO:
        """All the bytes of the file, where it lies."""
        import pyarrow.fs as storage

        try:
            if self.file.startswith(("file:", "/")):
                return open(self.name, "rb")  # noqa: PTH123 - closed by its reader
            system, path = storage.FileSystem.from_uri(quote(self.file, safe="/:"))
            return cast(BinaryIO, system.open_input_file(path))
        except (OSError, pa.ArrowException) as problem:
            words = problem.strerror if isinstance(problem, OSError) else None
            raise FileError(f"{self.name}: cannot be read: {words or type(problem).__name__}") from None


def read_pieces(builder: ForestBuilder, texts: list[bytes], options: ReadOptions) -> None:
    """Reads ranges as the documents that they are; errors name their files, and places in these."""
    for text in texts:
        piece: Piece = pickle.loads(text)
        source = range_source(piece.name, piece.open, piece.part)
        own_options = replace(options, collection=not piece.is_one)
        try:
            for batch in document_format("xml").read([source], builder.schema, own_options, builder.report):
                builder.add(batch)
        except DataError as problem:
            place = piece.part.place(problem.place)
            raise DataError(problem.message, source=piece.name, place=place, path=problem.path) from None


def few_at_once(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Batches of ranges that have together about the bytes of one: as many records as are to be in memory at once."""
    for batch in batches:
        start = held = 0
        for place, text in enumerate(batch.column(2).to_pylist()):
            size = pickle.loads(text).size
            if held and held + size > RANGE_BYTES:
                yield batch.slice(start, place - start)
                start, held = place, 0
            held += size
        yield batch.slice(start)

"""NDJSON: one record per line, in UTF-8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import BinaryIO

import numpy as np

from treeanon.errors import DataError
from treeanon.forest.report import ReadReport
from treeanon.forest.tables import Batch
from treeanon.io.documents.json_records import JsonRecords, Span
from treeanon.io.options import MAX_RECORD_BYTES, ReadOptions, broken_files
from treeanon.io.sources import Source
from treeanon.schema import Schema

_BLOCK = 4 << 20
_MARKS = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"), (b"\xef\xbb\xbf", "UTF-8"))


def refuse_byte_order_mark(start: bytes, source: str) -> None:
    """Refuses a text that begins with a byte order mark, which JSON must not have."""
    for mark, encoding in _MARKS:
        if start.startswith(mark):
            raise DataError(
                f"begins with a {encoding} byte order mark; save the file as UTF-8 without BOM", source=source
            )


def line_blocks(stream: BinaryIO, source: str) -> Iterator[bytes]:
    """The bytes of a stream in blocks of whole lines; each line ends in a newline, except perhaps the very last."""
    rest: list[bytes] = []
    held, line = 0, 1
    first = True
    while block := stream.read(_BLOCK):
        if first:
            refuse_byte_order_mark(block[:4], source)
            first = False
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*rest, block[:cut]])
            line += block.count(b"\n", 0, cut)
            rest, held = [], 0
            block = block[cut:]
        if block:
            rest.append(block)
            held += len(block)
        if held > MAX_RECORD_BYTES:
            words = f"a line is longer than {MAX_RECORD_BYTES >> 20} MB"
            raise DataError(words, source=source, place=f"line {line}")
    if rest:
        yield b"".join(rest)


def spans_of_lines(block: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Where the lines of a block start and stop, newlines left out."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10)
    if not block.endswith(b"\n"):
        ends = np.append(ends, len(block))
    return np.concatenate([[0], ends[:-1] + 1]).astype(np.int64), ends.astype(np.int64)


def _spans(sources: Sequence[Source], options: ReadOptions, report: ReadReport) -> Iterator[Span]:
    for source in sources:
        number = 1
        with broken_files(options, report), source.open(options.advance) as stream:
            for block in line_blocks(stream, source.name):
                starts, stops = spans_of_lines(block)
                yield Span(block, starts, stops, partial(_line_name, source.name, number))
                number += len(starts)


def _line_name(source: str, first: int, position: int) -> tuple[str, str]:
    return source, f"line {first + position}"


def read_ndjson(sources: Sequence[Source], schema: Schema, options: ReadOptions, report: ReadReport) -> Iterator[Batch]:
    """The batches of NDJSON sources."""
    return JsonRecords(schema, options, report).read(_spans(sources, options, report))

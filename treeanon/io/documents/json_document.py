"""JSON: one document with an array of records at any path, or one record per file.

NDJSON: one record per line, in UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import BinaryIO

import numpy as np

from treeanon.arrays import Bytes
from treeanon.errors import DataError
from treeanon.forest.report import ReadReport
from treeanon.forest.tables import Batch
from treeanon.io.documents.json_records import JsonRecords, Span, has_repeated_key, parse
from treeanon.io.interface import MAX_DOCUMENT_BYTES, MAX_RECORD_BYTES, ReadOptions, broken_files
from treeanon.io.sources import Source
from treeanon.kernels.jsontext import array_items, repeats_a_key, skip_blanks, value_end
from treeanon.schema import RecordPath, Schema

_BLOCK = 4 << 20
_MARKS = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"), (b"\xef\xbb\xbf", "UTF-8"))


def refuse_byte_order_mark(start: bytes, source: str) -> None:
    """Check that a text has no byte order mark, which JSON must not have."""
    for mark, encoding in _MARKS:
        if start.startswith(mark):
            raise DataError(
                f"begins with a {encoding} byte order mark; save the file as UTF-8 without BOM", source=source
            )


def line_blocks(stream: BinaryIO, source: str) -> Iterator[bytes]:
    """Yield the bytes of a stream in blocks of whole lines; each line ends in a newline, except perhaps the last."""
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
    """Return where the lines of a block start and stop, newlines left out."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10)
    if not block.endswith(b"\n"):
        ends = np.append(ends, len(block))
    return np.concatenate([[0], ends[:-1] + 1]).astype(np.int64), ends.astype(np.int64)


def lines_of(sources: Sequence[Source], options: ReadOptions, report: ReadReport) -> Iterator[Span]:
    """Yield the lines of sources."""
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
    """Yield the batches of NDJSON sources."""
    return JsonRecords(schema, options, report).read(lines_of(sources, options, report))


OUTSIDE = "(outside records) "
_AT_ONCE = 8192
_TOGETHER = 4 << 20


class JsonDocument:
    """A JSON text and the path to the array of records in it."""

    def __init__(self, data: bytes, source: str) -> None:
        self.data, self.source = data, source
        self.text: Bytes = np.frombuffer(data, np.uint8)

    def fail(self, message: str, at: int) -> DataError:
        """Return the error at a byte."""
        return DataError(f"{message} (at byte {at + 1})", source=self.source)

    def expect(self, char: str, at: int, what: str) -> int:
        """Return the place behind a character that must be next, white space aside."""
        at = skip_blanks(self.text, at)
        if at >= len(self.data) or self.data[at] != ord(char):
            raise self.fail(what, at)
        return at + 1

    def member(self, at: int, name: str, path: str) -> int:
        """Return the start of the value of member `name` of the object at `at`."""
        wrong = f"an object is expected on the path to the records, with the member {path}"
        at = self.expect("{", at, wrong)
        while True:
            at = skip_blanks(self.text, at)
            end = value_end(self.text, at)
            if at >= len(self.data) or self.data[at] != ord('"') or end <= at:
                raise self.fail(f"there is no {path}; check the record path of the schema", at)
            try:
                key = parse(self.data[at:end])
            except DataError as problem:
                raise self.fail(f"a name {problem.message}", at) from None
            at = skip_blanks(self.text, self.expect(":", end, "is not valid JSON"))
            if key == name:
                return at
            end = value_end(self.text, at)
            if end <= at:
                raise self.fail("is not valid JSON, or ends too early", at)
            at = skip_blanks(self.text, end)
            if at < len(self.data) and self.data[at] == ord(","):
                at += 1

    def array(self, record: RecordPath) -> tuple[int, int]:
        """Return the span of the array of records, or of the object whose members are records."""
        names = record.names
        at = skip_blanks(self.text, 0)
        for depth, name in enumerate(names):
            at = self.member(at, name, ".".join(names[: depth + 1]))
        kind = "an object whose members are records" if record.keyed else "an array of records"
        self.expect("{" if record.keyed else "[", at, f"{kind} is expected")
        end = value_end(self.text, at)
        if end < 0:
            raise DataError("ends before the array of records does (truncated?)", source=self.source)
        return at, end

    def around(self, span: tuple[int, int], record: RecordPath) -> bytes:
        """Return the document without its records."""
        return self.data[: span[0]] + (b"{}" if record.keyed else b"[]") + self.data[span[1] :]

    def check_around(self, span: tuple[int, int], record: RecordPath, strict: bool, report: ReadReport) -> None:
        """Check what surrounds the array of records, and count it as dropped."""
        around = self.around(span, record)
        try:
            value = parse(around)
        except DataError as problem:
            raise DataError(f"around the records: {problem.message}", source=self.source) from None
        try:
            repeated = repeats_a_key(np.frombuffer(around, np.uint8), 0, len(around)) and has_repeated_key(around)
        except DataError as problem:
            raise DataError(f"around the records: {problem.message}", source=self.source) from None
        if repeated and strict:
            raise DataError("an object around the records has the same key twice", source=self.source)
        report.duplicate_keys += repeated
        place = OUTSIDE
        for name in record.names:
            if not isinstance(value, dict) or name not in value:
                break
            report.dropped.add_keys(place, value, frozenset({name}))
            place, value = f"{place}{name}.", value[name]
        # Of a repeated key the parser keeps the last: then this is not the array that was found first.
        if value != ({} if record.keyed else []):
            raise DataError("a member on the path to the records occurs twice", source=self.source)


def document_bytes(source: Source, options: ReadOptions) -> bytes:
    """Return all of a document, which must not be empty."""
    blocks: list[bytes] = []
    size = 0
    with source.open(options.advance) as stream:
        while block := stream.read(_TOGETHER):
            blocks.append(block)
            size += len(block)
            if size > MAX_DOCUMENT_BYTES:
                words = f"is longer than {MAX_DOCUMENT_BYTES >> 30} GB, which a JSON document must not be; use NDJSON"
                raise DataError(words, source=source.name)
    data = b"".join(blocks)
    refuse_byte_order_mark(data[:4], source.name)
    if not data.strip():
        raise DataError("is empty", source=source.name)
    return data


def _record_name(source: str, first: int, position: int) -> tuple[str, str]:
    return source, f"record {first + position}"


def items_of(document: JsonDocument, at: int) -> Iterator[Span]:
    """Yield the items of the array that begins at `at`, in blocks of text."""
    spans = np.empty((_AT_ONCE, 2), np.int64)
    closed, number = False, 1
    while not closed:
        count, at, closed = array_items(document.text, at, spans)
        if count < 0:
            raise document.fail("is not valid JSON in the array of records", at)
        if count:
            first = spans[0, 0]
            block = document.data[first : spans[count - 1, 1]]
            name = partial(_record_name, document.source, number)
            yield Span(block, spans[:count, 0] - first, spans[:count, 1] - first, name)
            number += count


def members_of(document: JsonDocument, at: int, keys: list[bytes] | None = None) -> Iterator[Span]:
    """Yield the members of the object that begins at `at`, in blocks of text; their keys are added to `keys`."""
    data, text = document.data, document.text
    found: list[tuple[int, int]] = []
    number = 1
    wrong = "is not valid JSON in the object of records"
    while True:
        at = skip_blanks(text, at)
        is_end = at < len(data) and data[at] == ord("}")
        if found and (is_end or len(found) == _AT_ONCE):
            spans = np.array(found, np.int64)
            first = int(spans[0, 0])
            name = partial(_record_name, document.source, number)
            yield Span(data[first : int(spans[-1, 1])], spans[:, 0] - first, spans[:, 1] - first, name)
            number, found = number + len(found), []
        if is_end:
            return
        end = value_end(text, at)
        if end <= at or data[at] != ord('"'):
            raise document.fail(wrong, at)
        if keys is not None:
            keys.append(data[at:end])
        start = skip_blanks(text, document.expect(":", end, wrong))
        stop = value_end(text, start)
        if stop <= start:
            raise document.fail(wrong, start)
        found.append((start, stop))
        at = skip_blanks(text, stop)
        if data[at : at + 1] == b",":
            at = skip_blanks(text, at + 1)
            if data[at : at + 1] == b"}":
                raise document.fail(wrong, at)
        elif data[at : at + 1] != b"}":
            raise document.fail(wrong, at)


def array_spans(
    sources: Sequence[Source], record: RecordPath, options: ReadOptions, report: ReadReport
) -> Iterator[Span]:
    """Yield the items of the arrays of records of documents."""
    for source in sources:
        with broken_files(options, report):
            document = JsonDocument(document_bytes(source, options), source.name)
            span = document.array(record)
            document.check_around(span, record, options.strict, report)
            yield from (members_of if record.keyed else items_of)(document, span[0] + 1)


def whole_spans(sources: Sequence[Source], options: ReadOptions, report: ReadReport) -> Iterator[Span]:
    """Yield documents that are one record each, many small ones in a block."""
    held: list[bytes] = []
    names: list[str] = []
    for source in sources:
        with broken_files(options, report):
            held.append(document_bytes(source, options))
            names.append(source.name)
        if sum(map(len, held)) > _TOGETHER:
            yield _joined(held, names)
            held, names = [], []
    if held:
        yield _joined(held, names)


def _joined(held: list[bytes], names: list[str]) -> Span:
    sizes = np.array([len(data) for data in held], np.int64)
    stops = np.cumsum(sizes + 1) - 1
    return Span(b"\n".join(held), stops - sizes, stops, lambda position: (names[position], ""))


def read_json(sources: Sequence[Source], schema: Schema, options: ReadOptions, report: ReadReport) -> Iterator[Batch]:
    """Yield the batches of JSON documents."""
    record = schema.input.record
    assert record is not None
    whole = record.whole_file
    spans = whole_spans(sources, options, report) if whole else array_spans(sources, record, options, report)
    return JsonRecords(schema, options, report).read(spans)

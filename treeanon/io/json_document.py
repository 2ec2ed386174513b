"""JSON: one document with an array of records at any path, or one record per file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treeanon.errors import DataError
from treeanon.forest.report import ReadReport
from treeanon.forest.tables import Batch
from treeanon.io.json_records import JsonRecords, has_repeated_key, parse
from treeanon.io.ndjson import refuse_byte_order_mark
from treeanon.io.options import ReadOptions
from treeanon.io.sources import Source
from treeanon.kernels.jsontext import Bytes, Longs, array_items, repeats_a_key, skip_blanks, value_end
from treeanon.schema import Schema

OUTSIDE = "(outside records) "
_AT_ONCE = 8192


class _Document:
    """A JSON text and the way to the array of records in it."""

    def __init__(self, data: bytes, source: str) -> None:
        self.data, self.source = data, source
        self.text: Bytes = np.frombuffer(data, np.uint8)

    def fail(self, message: str, at: int) -> DataError:
        return DataError(f"{message} (at byte {at + 1})", source=self.source)

    def expect(self, char: str, at: int, what: str) -> int:
        at = skip_blanks(self.text, at)
        if at >= len(self.data) or self.data[at] != ord(char):
            raise self.fail(what, at)
        return at + 1

    def member(self, at: int, name: str, path: str) -> int:
        """The start of the value of the member `name` of the object at `at`."""
        wrong = f"an object is expected on the way to the records, with the member {path}"
        at = self.expect("{", at, wrong)
        while True:
            at = skip_blanks(self.text, at)
            end = value_end(self.text, at)
            if at >= len(self.data) or self.data[at] != ord('"') or end <= at:
                raise self.fail(f"there is no {path}; check the record path of the schema", at)
            key = parse(self.data[at:end])
            at = skip_blanks(self.text, self.expect(":", end, "is not valid JSON"))
            if key == name:
                return at
            end = value_end(self.text, at)
            if end <= at:
                raise self.fail("is not valid JSON, or ends too early", at)
            at = skip_blanks(self.text, end)
            if at < len(self.data) and self.data[at] == ord(","):
                at += 1

    def array(self, names: tuple[str, ...]) -> tuple[int, int]:
        """The span of the array of records."""
        at = skip_blanks(self.text, 0)
        for depth, name in enumerate(names):
            at = self.member(at, name, ".".join(names[: depth + 1]))
        self.expect("[", at, "an array of records is expected")
        end = value_end(self.text, at)
        if end < 0:
            raise DataError("ends before the array of records does (truncated?)", source=self.source)
        return at, end

    def check_around(self, span: tuple[int, int], names: tuple[str, ...], strict: bool, report: ReadReport) -> None:
        """Checks what stands around the array of records, and counts it as dropped."""
        around = self.data[: span[0]] + b"[]" + self.data[span[1] :]
        try:
            value = parse(around)
        except DataError as problem:
            raise DataError(f"around the records: {problem.message}", source=self.source) from None
        if repeats_a_key(np.frombuffer(around, np.uint8), 0, len(around)) and has_repeated_key(around):
            if strict:
                raise DataError("an object around the records holds one key twice", source=self.source)
            report.duplicate_keys += 1
        place = OUTSIDE
        for name in names:
            report.dropped.add_keys(place, value, frozenset({name}))
            if value[name] == [] and name != names[-1]:
                break
            place, value = f"{place}{name}.", value[name]
        if value != []:
            raise DataError("the member that holds the records stands there twice", source=self.source)


def read_json(source: Source, schema: Schema, options: ReadOptions, report: ReadReport) -> Iterator[Batch]:
    """The batches of one JSON document."""
    assert schema.input.record is not None
    with source.open(options.advance) as stream:
        data = stream.read()
    refuse_byte_order_mark(data[:4], source.name)
    if not data.strip():
        raise DataError("is empty", source=source.name)
    reader = JsonRecords(schema, options, report, source.name, "record")
    if schema.input.record.whole_file:
        yield from reader.read([(data, np.array([0], np.int64), np.array([len(data)], np.int64))])
        return
    document = _Document(data, source.name)
    span = document.array(schema.input.record.names)
    document.check_around(span, schema.input.record.names, options.strict, report)
    yield from reader.read(_items(document, span[0] + 1))


def _items(document: _Document, at: int) -> Iterator[tuple[bytes, Longs, Longs]]:
    """The items of the array that begins at `at`, in blocks of text."""
    spans = np.empty((_AT_ONCE, 2), np.int64)
    closed = False
    while not closed:
        count, at, closed = array_items(document.text, at, spans)
        if count < 0:
            raise document.fail("is not valid JSON in the array of records", at)
        if count:
            block = document.data[spans[0, 0] : spans[count - 1, 1]]
            yield block, spans[:count, 0] - spans[0, 0], spans[:count, 1] - spans[0, 0]

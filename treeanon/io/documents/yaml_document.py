"""YAML: one document with an array of records at any path, one record per file, or a stream of documents.

Documents are made texts of JSON, which the readers of JSON read; records are written as blocks.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from treeanon.errors import DataError
from treeanon.forest import Batch, Forest
from treeanon.forest.report import ReadReport
from treeanon.io.documents.json_document import array_spans, whole_spans
from treeanon.io.documents.json_records import JsonRecords, Span
from treeanon.io.documents.json_write import JsonTexts
from treeanon.io.documents.yaml_text import Bare, as_json, documents, yaml_lines, yaml_string
from treeanon.io.interface import Document, DocumentWriter, ReadOptions, broken_files
from treeanon.io.sources import Source
from treeanon.schema import RecordPath, Schema

_TOGETHER = 4 << 20


def json_of_file(source: Source, options: ReadOptions) -> bytes:
    """Return the one document of a file as a text of JSON."""
    with source.open(options.advance) as stream:
        found = documents(stream, source.name)
        value = next(found, None)
        if value is None:
            raise DataError("is empty", source=source.name)
        if next(found, None) is not None:
            words = 'is a stream of several documents: set format = "yaml-stream", of which each is one person'
            raise DataError(words, source=source.name)
    return as_json(value).encode()


def as_json_source(source: Source, options: ReadOptions) -> Source:
    """Return a YAML file as a file of JSON."""
    return Source(source.name, source.size, lambda: io.BytesIO(json_of_file(source, options)), True)


def read_yaml(sources: Sequence[Source], schema: Schema, options: ReadOptions, report: ReadReport) -> Iterator[Batch]:
    """Yield the batches of YAML documents."""
    record = schema.input.record
    assert record is not None
    found = [as_json_source(source, options) for source in sources]
    spans = whole_spans if record.whole_file else partial(array_spans, record=record)
    return JsonRecords(schema, options, report).read(spans(found, options=options, report=report))


def read_yaml_stream(
    sources: Sequence[Source], schema: Schema, options: ReadOptions, report: ReadReport
) -> Iterator[Batch]:
    """Yield the batches of streams of YAML documents."""
    return JsonRecords(schema, options, report).read(documents_of(sources, options, report))


def documents_of(sources: Sequence[Source], options: ReadOptions, report: ReadReport) -> Iterator[Span]:
    """Yield the documents of streams as texts of JSON, many in a block."""
    for source in sources:
        with broken_files(options, report), source.open(options.advance) as stream:
            held: list[bytes] = []
            first = number = 1
            for number, value in enumerate(documents(stream, source.name), start=1):
                held.append(as_json(value).encode())
                if sum(map(len, held)) > _TOGETHER:
                    yield _span(held, source.name, first)
                    held, first = [], number + 1
            if held:
                yield _span(held, source.name, first)


def _span(held: list[bytes], source: str, first: int) -> Span:
    sizes = np.array([len(data) for data in held], np.int64)
    stops = np.cumsum(sizes + 1) - 1
    return Span(b"\n".join(held), stops - sizes, stops, partial(_name, source, first))


def _name(source: str, first: int, position: int) -> tuple[str, str]:
    return source, f"document {first + position}"


class YamlTexts:
    """Blocks of records; `start` is what stands before each, `indent` how far they are indented, `item` in a list."""

    def __init__(self, forest: Forest, schema: Schema) -> None:
        self.objects = JsonTexts(forest, schema)
        record = schema.input.record
        self.is_item = record is not None and not record.whole_file and not record.keyed
        self.indent = _indent(record)
        self.is_stream = record is None

    def records(self, forest: Forest) -> list[str]:
        """Return the texts of the records of a part of the forest."""
        return [self._text(text) for text in self.objects.records(forest)]

    def _text(self, text: str) -> str:
        value = json.loads(text, parse_int=Bare, parse_float=Bare)
        block = [value] if self.is_item else value
        lines = list(yaml_lines(block, self.indent)) if block else ["{}"]
        return "\n".join(["---", *lines] if self.is_stream else lines)


def _indent(record: RecordPath | None) -> int:
    """Return how far the blocks of records are indented."""
    if record is None or record.keyed:
        return 0 if record is None else 2 * len(record.names) + 2
    return max(2 * len(record.names) - 2, 0)


def _document(schema: Schema) -> Document:
    record = schema.input.record
    names = record.names if record else ()
    head = "".join(f"{'  ' * depth}{yaml_string(name)}:\n" for depth, name in enumerate(names))
    if record is None or not record.keyed:
        return Document(head, "\n", "\n")
    space = "  " * len(names)

    def member(number: int, text: str) -> str:
        # The keys of the input are ids: these are numbers in random order.
        return f'{space}"{number}":' + (" {}" if text == "{}" else f"\n{text}")

    return Document(head, "\n", "\n", member)


YAML = DocumentWriter(YamlTexts, _document)

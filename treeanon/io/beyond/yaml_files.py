"""What files of YAML hold beyond what is read of them."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, cast

import yaml.events as ev

from treeanon.forest import ReadReport
from treeanon.io.beyond.documents import Records
from treeanon.io.beyond.findings import Findings
from treeanon.io.beyond.json_files import SKIPPING, array_spans, compare_records, whole_spans
from treeanon.io.documents.json_records import Span
from treeanon.io.documents.json_write import JsonTexts
from treeanon.io.documents.yaml_document import as_json_source, documents, documents_of, scalar_json
from treeanon.io.interface import broken_files
from treeanon.io.sources import Source


def look_at_yaml(sources: Sequence[Source], records: Records, found: Findings) -> None:
    """Count what YAML documents hold beyond the records that were read of them."""
    record = records.forest.schema.for_format(records.form.name).input.record
    assert record is not None
    given = [as_json_source(source, SKIPPING) for source in sources]
    spans = whole_spans(given) if record.whole_file else array_spans(given, record, found)
    _look(sources, spans, records, found)


def look_at_yaml_stream(sources: Sequence[Source], records: Records, found: Findings) -> None:
    """Count what streams of YAML documents hold beyond the records that were read of them."""
    _look(sources, documents_of(sources, SKIPPING, ReadReport()), records, found)


def _look(sources: Sequence[Source], spans: Iterator[Span], records: Records, found: Findings) -> None:
    compare_records(spans, records, found, JsonTexts)
    for source in sources:
        with broken_files(SKIPPING, ReadReport()), source.open() as stream:
            text = _Text(stream)
            writing = _Writing(text, found)
            for _ in documents(cast(BinaryIO, text), source.name, writing.note):
                pass
            writing.close()


class _Text:
    """The bytes of a stream, and the part of their text that has not been looked at."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.text, self.begin = stream, "", 0
        self.decoder: codecs.IncrementalDecoder | None = None

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        block = self.stream.read(size)
        if self.decoder is None:
            wide = block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            self.decoder = codecs.getincrementaldecoder("utf-16" if wide else "utf-8")("replace")
        self.text += self.decoder.decode(block)
        return block

    def between(self, start: int, end: int | None = None) -> str:
        """Return a part of the text; what is before its end is forgotten."""
        stop = len(self.text) if end is None else max(end - self.begin, 0)
        part = self.text[max(start - self.begin, 0) : stop]
        self.text, self.begin = self.text[stop:], self.begin + stop
        return part


class _Writing:
    """How a document is written: comments, anchors, tags, quotes and white space."""

    def __init__(self, text: _Text, found: Findings) -> None:
        self.text, self.found = text, found
        self.end = 0
        self.since: list[str] = []
        # Of each open collection whether it is a mapping, and whether a key is next.
        self.open: list[tuple[bool, bool]] = []

    def note(self, event: Any) -> None:
        """Look at an event."""
        if getattr(event, "tag", None) is not None or getattr(event, "anchor", None) is not None:
            self.found.add("form")
        self.since.append(type(event).__name__)
        if isinstance(event, ev.MappingStartEvent | ev.SequenceStartEvent):
            self.since += ["in a line"] * bool(event.flow_style)
            self._turn()
            self.open.append((isinstance(event, ev.MappingStartEvent), True))
        elif isinstance(event, ev.CollectionEndEvent):
            self.open.pop()
        if isinstance(event, ev.ScalarEvent | ev.AliasEvent):
            self._gap(self.text.between(self.end, event.start_mark.index))
            self._turn()
            self.end = event.end_mark.index
            raw = self.text.between(event.start_mark.index, self.end)
            if isinstance(event, ev.ScalarEvent):
                self.found.add("form", event.value == "<<" and not event.style)
                self.found.uniform("spellings", ("scalar", scalar_json(event)), raw.strip())

    def _gap(self, gap: str) -> None:
        """Look at what stands between two values: the same between all that are nested alike."""
        if "#" in gap:
            self.found.add("comments", gap.count("#"))
        else:
            self.found.uniform("white-space", (*self.open, *self.since), gap.replace("\r\n", "\n"))
        self.since = []

    def _turn(self) -> None:
        """Go on from a key to its value, or from that to the next key."""
        if self.open:
            is_mapping, is_key = self.open[-1]
            self.open[-1] = is_mapping, not is_key if is_mapping else False

    def close(self) -> None:
        """Look at what is left."""
        if "#" in self.text.between(self.end):
            self.found.add("comments")

"""What files of JSON, of lines and of trees hold beyond what is read of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from treeanon.forest import ReadReport
from treeanon.io.beyond.documents import Content, Records, TextsOf, compare
from treeanon.io.beyond.findings import Findings
from treeanon.io.beyond.json_texts import Items, JsonLook, Pairs, members, parsed, plain
from treeanon.io.documents.json_document import JsonDocument, document_bytes, items_of, lines_of, members_of
from treeanon.io.documents.json_records import Span
from treeanon.io.documents.json_write import json_text
from treeanon.io.interface import ReadOptions, broken_files
from treeanon.io.sources import Source
from treeanon.schema import RecordPath

SKIPPING = ReadOptions(on_error="skip", collection=True)


def look_at_json(sources: Sequence[Source], records: Records, found: Findings) -> None:
    """Count what JSON documents hold beyond the records that were read of them."""
    record = records.forest.schema.for_format(records.form.name).input.record
    assert record is not None
    spans = whole_spans(sources) if record.whole_file else array_spans(sources, record, found)
    compare_records(spans, records, found)


def look_at_ndjson(sources: Sequence[Source], records: Records, found: Findings) -> None:
    """Count what lines of JSON hold beyond the records that were read of them."""
    compare_records(lines_of(sources, SKIPPING, ReadReport()), records, found)


def compare_records(spans: Iterator[Span], records: Records, found: Findings, writer: TextsOf | None = None) -> None:
    """Count what texts of JSON hold beyond the records that were read of them; `writer` makes the canonical ones."""
    look = JsonLook(records.forest.schema.for_format(records.form.name), found)
    for _, text, canonical in paired(spans, records, writer):
        look.record(text, canonical)
    look.keys.end()


def paired(
    spans: Iterator[Span], records: Records, writer: TextsOf | None = None
) -> Iterator[tuple[tuple[str, str], str, str]]:
    """Yield the source and place of each record, its text there, and as it would be written."""
    texts = records.texts(writer)
    for span in spans:
        for at, (start, stop) in enumerate(zip(span.starts.tolist(), span.stops.tolist(), strict=True)):
            if (name := span.name(at)) not in records.broken:
                yield name, span.block[start:stop].decode(), next(texts)


def whole_spans(sources: Sequence[Source]) -> Iterator[Span]:
    """Yield documents that are one record each."""
    for source in sources:
        with broken_files(SKIPPING, ReadReport()):
            data = document_bytes(source, SKIPPING)
            yield Span(data, np.zeros(1, np.int64), np.array([len(data)]), partial(_whole_name, source.name))


def _whole_name(source: str, position: int) -> tuple[str, str]:
    return source, ""


def array_spans(sources: Sequence[Source], record: RecordPath, found: Findings) -> Iterator[Span]:
    """Yield the items of the arrays of records, and count what is unusual around them."""
    before = 0
    for source in sources:
        with broken_files(SKIPPING, ReadReport()):
            document = JsonDocument(document_bytes(source, SKIPPING), source.name)
            span = document.array(record)
            try:
                _look_around(document.around(span, record), record.names, found)
            except RecursionError:
                found.add("form")
            if not record.keyed:
                yield from items_of(document, span[0] + 1)
                continue
            keys: list[bytes] = []
            yield from members_of(document, span[0] + 1, keys)
            # Numbers go on from one file of a release to the next.
            known = {b'"%d"' % (start + number) for start in (0, before) for number in range(1, len(keys) + 1)}
            found.add("ids", sum(key not in known for key in keys) + len(keys) - len(set(keys)))
            before += len(keys)


def _look_around(text: bytes, names: tuple[str, ...], found: Findings) -> None:
    """Count what is unusual around the records; fields beside them are counted when they are read."""
    value = parsed(text.decode(), Findings())
    for name in names:
        assert isinstance(value, Pairs)
        inner = members(value, found)
        if inner[name][0] != json_text(name):
            found.add("spellings")
        value = inner[name][1]


def look_at_trees(sources: Sequence[Source], records: Records, found: Findings) -> None:
    """Count what trees files hold beyond the records that were read of them."""
    before = line = 0
    file = ""
    for (source, place), text, canonical in paired(lines_of(sources, SKIPPING, ReadReport()), records):
        before, file = (before if source == file else before + line), source
        line = int(place.removeprefix("line "))
        try:
            _look_at_tree(text, canonical, (str(line), str(before + line)), found)
        except RecursionError:
            found.add("form")


def _look_at_tree(text: str, canonical: str, numbers: tuple[str, str], found: Findings) -> None:
    pairs = parsed(text, found)
    named = members(pairs, found)
    found.sequence("a tree", tuple(name for name in named if name in ("id", "tree")))
    if any(found_name != json_text(name) for name, (found_name, _) in named.items()):
        found.add("spellings")
    if "id" in named and named["id"][1] not in numbers:
        found.add("ids")
    compare(_nodes(named["tree"][1], found), _nodes(parsed(canonical, Findings()), Findings()), found)


def _nodes(value: Any, found: Findings) -> Content:
    """Return a list of nodes as content: each holds its class, its value and the nodes below."""
    return plain(value, found) if isinstance(value, Items) else {}


def look_at_lines(
    parse: Callable[[bytes], bytes], sources: Sequence[Source], records: Records, found: Findings
) -> None:
    """Count what lines, each of which `parse` makes a text of JSON, hold beyond the records that were read of them."""
    look = JsonLook(records.forest.schema.for_format(records.form.name), found)
    for _, text, canonical in paired(lines_of(sources, SKIPPING, ReadReport()), records):
        if text.rstrip("\r") != canonical:
            before = found.counts.total()
            look.record(parse(text.encode()).decode(), parse(canonical.encode()).decode())
            if found.counts.total() == before:
                found.add("form")
    look.keys.end()

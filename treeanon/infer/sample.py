"""The first records of an input, whatever its format, and where in the documents they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from treeanon.errors import DataError, UsageError
from treeanon.infer.model import Sample
from treeanon.infer.sample_json import json_sample, ndjson_sample, one_json_record
from treeanon.infer.sample_xml import one_xml_record, xml_sample
from treeanon.io.registry import FORMATS, format_named, format_of_name
from treeanon.io.sources import Source, Sources, find_sources
from treeanon.schema import RecordPath, parse_record
from treeanon.schema.paths import PathError

_PEEK = 1 << 16


class _Replayed:
    """A stream whose first bytes were looked at, and are read again."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self.head, self.rest = head, rest

    def read(self, size: int = -1) -> bytes:
        if not self.head:
            return self.rest.read(size)
        taken = self.head if size < 0 else self.head[:size]
        self.head = self.head[len(taken) :]
        return taken + self.rest.read() if size < 0 else taken


def take_sample(given: str | Path, *, format: str | None, record: str | None, most: int) -> Sample:
    """The first records of a file, folder, glob or zip; errors are those of reading."""
    if format is not None:
        format_named(format)
    sources = find_sources(given, format_named(format).endings if format else _all_endings())
    if not sources.collection:
        return _of_file(sources.items[0], format, record, most)
    format = format or _most_common(sources)
    items = [item for item in sources.items if _format_name(item.name) in (format, None) or format == "ndjson"]
    if format in ("ndjson", "trees"):
        _refuse_record(format, record)
        return ndjson_sample(items, format, most)
    path = _parsed(record or ".", format)
    if not path.whole_file:
        return _records_of_files(items, format, path, most)
    one: Callable[[Source], object] = one_xml_record if format == "xml" else one_json_record
    records = [one(item) for item in items[:most]]
    if format == "xml":
        path = RecordPath((), False)
    return Sample(format, path, records, len(items) <= most, "each file is one record")


def _records_of_files(items: list[Source], format: str, path: RecordPath, most: int) -> Sample:
    records: list[object] = []
    whole = True
    for at, item in enumerate(items):
        with item.open() as stream:
            read = xml_sample if format == "xml" else json_sample
            found = read(stream, item.name, path, most - len(records))
        records += found.records
        whole = found.whole and at + 1 == len(items)
        if len(records) >= most:
            break
    if not records:
        raise DataError("holds no record at the record path", source=items[0].name)
    return Sample(format, path, records, whole, "as given by --record")


def _of_file(item: Source, format: str | None, record: str | None, most: int) -> Sample:
    with item.open() as raw:
        head = raw.read(_PEEK)
        stream = cast(BinaryIO, _Replayed(head, raw))
        format = format or _format_name(item.name) or format_of_content(head)
        if format is None:
            raise DataError("is neither XML nor JSON by its first bytes; name the format with --from", source=item.name)
        if format == "json" and record is None and _is_lines(head):
            format = "ndjson"
        if format in ("ndjson", "trees"):
            _refuse_record(format, record)
            return ndjson_sample([Source(item.name, None, lambda: _Unclosable(stream))], format, most)  # type: ignore[arg-type, return-value]
        path = None if record is None else _parsed(record, format)
        return (xml_sample if format == "xml" else json_sample)(stream, item.name, path, most)


class _Unclosable:
    """A decompressed stream under a source of its own, which is closed elsewhere."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def read(self, size: int = -1) -> bytes:
        return self.stream.read(size)

    def close(self) -> None:
        pass


def format_of_content(head: bytes) -> str | None:
    """The format that the first bytes of a file speak of.

    >>> format_of_content(b" <a/>"), format_of_content(b'{"a": 1}'), format_of_content(b'{"a": 1}\\n{"a": 2}'), format_of_content(b"a,b")
    ('xml', 'json', 'ndjson', None)
    """
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"<", b"\xff\xfe<", b"\xfe\xff\0<")):
        return "xml"
    if _is_lines(text):
        tree = text.split(b"\n", 1)[0]
        return "trees" if b'"tree":' in tree and tree.lstrip(b" {").startswith((b'"id"', b'"tree"')) else "ndjson"
    return "json" if text.startswith((b"{", b"[")) else None


def _is_lines(head: bytes) -> bool:
    """Whether the first line is a JSON object by itself, and another line follows that begins one."""
    from treeanon.io.json_records import parse

    first, _, rest = head.lstrip().partition(b"\n")
    if not first.startswith(b"{") or not rest.lstrip().startswith(b"{"):
        return False
    try:
        parse(first)
    except DataError:
        return False
    return True


def _format_name(name: str) -> str | None:
    form = format_of_name(name)
    return None if form is None else form.name


def _all_endings() -> tuple[str, ...]:
    return tuple(ending for form in FORMATS.values() for ending in form.endings)


def _most_common(sources: Sources) -> str:
    names = Counter(_format_name(item.name) or "ndjson" for item in sources.items)
    return names.most_common(1)[0][0]


def _refuse_record(format: str, record: str | None) -> None:
    if record is not None:
        raise UsageError(f"--record is not for {format}, where each line is one record")


def _parsed(record: str, format: str) -> RecordPath:
    try:
        return parse_record(record, slashed=format == "xml")
    except PathError as problem:
        raise UsageError(f"--record: {problem}") from None

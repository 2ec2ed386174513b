"""The first records of an input, whatever its format, and where in the documents they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from treeanon.errors import DataError, UsageError
from treeanon.infer.json_sample import json_sample, ndjson_sample, one_json_record
from treeanon.infer.model import Prefixes, Sample, all_elements
from treeanon.infer.xml_sample import one_xml_record, xml_sample
from treeanon.io.registry import FORMATS, DocumentFormat, format_named, format_of_name
from treeanon.io.relational.file_store import PACKAGE, open_shelf, table_name
from treeanon.io.relational.urls import is_database
from treeanon.io.sources import Source, Sources, find_sources
from treeanon.schema import RecordPath, parse_record
from treeanon.schema.model import FLAT, RELATIONAL
from treeanon.schema.paths import PathError

_PEEK = 1 << 16
_SQLITE = b"SQLite format 3\0"


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
        return ndjson_sample(_opened(items), format, most)
    path = _parsed(record or ".", format)
    if not path.whole_file:
        return _records_of_files(items, format, path, most)
    whole, why = len(items) <= most, "each file is one record"
    if format == "xml":
        roots = [one_xml_record(item) for item in items[:most]]
        return Sample(format, path, roots, whole, why, prefixes=Prefixes(all_elements(roots)))
    return Sample(format, path, [one_json_record(item) for item in items[:most]], whole, why)


def relational_format(given: str | Path, format: str | None) -> str | None:
    """The format of an input that is tables tied by foreign keys; None for documents and single files of rows.

    >>> [relational_format(name, None) for name in ("clinic.sqlite", "env:CLINIC", "patients.xml")]
    ['sqlite', 'database', None]
    """
    if format is not None:
        return format_named(format).name if format in RELATIONAL else None
    if is_database(str(given)):
        return "database"
    path = Path(given)
    by_name = _format_name(path.name)
    try:
        if path.is_dir():
            return "tables" if _holds_tables(path) else None
        if path.is_file():
            with path.open("rb") as stream:
                head = stream.read(len(_SQLITE))
            if head == _SQLITE:
                return "sqlite"
            if head[:2] == b"PK":
                return "tables" if _holds_tables(path) else None
    except OSError:
        # reading says what is wrong
        return by_name if by_name in RELATIONAL else None
    if by_name == "tables" and path.name != PACKAGE:
        return None
    return by_name if by_name in RELATIONAL else None


def rows_format(given: str | Path, format: str | None) -> str | None:
    """The format of an input that is one file of rows; None for all others.

    >>> [rows_format(name, None) for name in ("people.csv", "people.parquet", "people.tsv.gz", "patients.xml")]
    ['csv', 'parquet', 'csv', None]
    """
    if format is not None:
        return format_named(format).name if format in FLAT else None
    path = Path(given)
    by_name = _format_name(path.name)
    if by_name is None and path.is_file():
        with suppress(OSError), path.open("rb") as stream:
            return "parquet" if stream.read(4) == b"PAR1" else None
    return by_name if by_name in FLAT and not path.is_dir() else None


def _holds_tables(path: Path) -> bool:
    """Whether a folder or zip holds a datapackage.json or, mostly, files of tables."""
    shelf = open_shelf(path)
    if shelf.find(PACKAGE) is not None:
        return True
    names = [name.rpartition("/")[2] for name in shelf.names()]
    documents = sum(isinstance(format_of_name(name), DocumentFormat) for name in names)
    return sum(table_name(name) is not None for name in names) > documents


def _opened(items: list[Source]) -> Iterator[tuple[str, BinaryIO]]:
    for item in items:
        with item.open() as stream:
            yield item.name, stream


def _records_of_files(items: list[Source], format: str, path: RecordPath, most: int) -> Sample:
    records: list[Any] = []
    whole = True
    first: Sample | None = None
    for at, (name, stream) in enumerate(_opened(items)):
        found = (xml_sample if format == "xml" else json_sample)(stream, name, path, most - len(records))
        first = first or found
        records += found.records
        whole = found.whole and at + 1 == len(items)
        if len(records) >= most:
            break
    assert first is not None
    prefixes = Prefixes(all_elements(records)) if format == "xml" else None
    return replace(first, records=records, whole=whole, others=(), prefixes=prefixes)


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
            return ndjson_sample([(item.name, stream)], format, most)
        path = None if record is None else _parsed(record, format)
        return (xml_sample if format == "xml" else json_sample)(stream, item.name, path, most)


def format_of_content(head: bytes) -> str | None:
    """The format that the first bytes of a file speak of.

    >>> [format_of_content(head) for head in (b" <a/>", b'{"a": 1}', b'{"a": 1}\\n{"a": 2}', b"a,b")]
    ['xml', 'json', 'ndjson', None]
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
    from treeanon.io.documents.json_records import parse

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
    return tuple(ending for form in FORMATS.values() if isinstance(form, DocumentFormat) for ending in form.endings)


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

"""The first records of JSON documents and of lines of JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from treeanon.errors import DataError
from treeanon.infer.leaves import dotted_name
from treeanon.infer.model import Sample
from treeanon.io.documents.json_records import parse
from treeanon.io.documents.ndjson import line_blocks, refuse_byte_order_mark
from treeanon.io.sources import Source
from treeanon.schema import RecordPath
from treeanon.schema.dump import record_text


def ndjson_sample(streams: Iterable[tuple[str, BinaryIO]], format: str, most: int) -> Sample:
    """The first lines of one or more named streams, parsed."""
    records: list[Any] = []
    whole = True
    name = ""
    for name, stream in streams:
        for number, line in enumerate(_lines(name, stream), start=1):
            if len(records) == most:
                whole = False
                break
            records.append(_parsed(line, name, f"line {number}"))
        if not whole:
            break
    if not records:
        raise DataError("holds no record", source=name)
    return Sample(format, None, records, whole, "each line is one record")


def _lines(source: str, stream: BinaryIO) -> Iterator[bytes]:
    for block in line_blocks(stream, source):
        yield from block.removesuffix(b"\n").split(b"\n")


def _parsed(text: bytes, source: str, place: str) -> Any:
    try:
        record = parse(text)
    except DataError as problem:
        raise DataError(problem.message, source=source, place=place) from None
    return _checked(record, source, place)


def _checked(record: Any, source: str, place: str) -> Any:
    if record is not None and record != "" and type(record) is not dict:
        raise DataError("an object is expected", source=source, place=place)
    return record


def one_json_record(item: Source) -> Any:
    """The one record of a file."""
    with item.open() as stream:
        data = stream.read()
    refuse_byte_order_mark(data[:4], item.name)
    if not data.strip():
        raise DataError("is empty", source=item.name)
    return _parsed(data, item.name, "record 1")


def json_sample(stream: BinaryIO, source: str, path: RecordPath | None, most: int) -> Sample:
    """The first records of one document: of the array that `path` names, or else of the largest."""
    data = stream.read()
    refuse_byte_order_mark(data[:4], source)
    if not data.strip():
        raise DataError("is empty", source=source)
    try:
        document = parse(data)
    except DataError as problem:
        raise DataError(problem.message, source=source) from None
    arrays = _arrays(document)
    why = "as given by --record" if path is not None else ""
    if path is None:
        path, why = _choose(document, arrays, source)
    found = [document] if path.whole_file else _at(document, path.names, source)
    records = [_checked(record, source, f"record {n}") for n, record in enumerate(found[:most], start=1)]
    if not records:
        raise DataError("holds no record at the record path", source=source)
    others = [_told(names, size) for names, size in arrays if names != path.names or path.whole_file]
    if not path.whole_file and type(document) is dict:
        others.append('"." (the document is one record)')
    return Sample("json", path, records, len(found) <= most, why, tuple(others[:8]))


def _arrays(document: Any) -> list[tuple[tuple[str, ...], int]]:
    """The paths of arrays of objects, through objects only, with their numbers of items, the longest first."""
    found: list[tuple[tuple[str, ...], int]] = []
    queue: list[tuple[tuple[str, ...], Any]] = [((), document)]
    for names, value in queue:
        if type(value) is list and value and all(type(item) is dict or item is None for item in value):
            found.append((names, len(value)))
        elif type(value) is dict and len(queue) < 10_000:
            queue.extend(((*names, key), inner) for key, inner in value.items() if dotted_name(key) is not None)
    return sorted(found, key=lambda pair: (-pair[1], len(pair[0])))


def _choose(document: Any, arrays: list[tuple[tuple[str, ...], int]], source: str) -> tuple[RecordPath, str]:
    if arrays:
        names, size = arrays[0]
        return RecordPath(names, True), f"the longest array of objects ({size:,} items)"
    if type(document) is dict:
        return RecordPath((), False), "there is no array of objects: the document is one record"
    raise DataError("holds no array of objects, and is no object; a record is an object", source=source)


def _at(document: Any, names: tuple[str, ...], source: str) -> list[Any]:
    for depth, name in enumerate(names):
        if type(document) is not dict or name not in document:
            raise DataError(f"there is no {'.'.join(names[: depth + 1])}; check the record path", source=source)
        document = document[name]
    if type(document) is not list:
        raise DataError("an array of records is expected at the record path", source=source)
    return document


def _told(names: tuple[str, ...], size: int) -> str:
    return f"{record_text(RecordPath(names, True), slashed=False)!r} ({size:,} items)"

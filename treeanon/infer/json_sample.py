"""Records of JSON documents and lines of JSON from all parts of them, and counts of the values at each place.

Also records of YAML documents, and of streams of them.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO, cast

from treeanon.errors import DataError
from treeanon.hierarchy.numbers import number_text
from treeanon.infer.leaves import Kinds, dotted_name, find_kinds
from treeanon.infer.model import Head, Sample, SampleRequest
from treeanon.infer.sampling import Place, Spread, spread
from treeanon.io.documents.json_document import line_blocks, refuse_byte_order_mark
from treeanon.io.documents.json_records import parse
from treeanon.io.documents.lines import LineReader
from treeanon.io.interface import ReadOptions
from treeanon.io.sources import Source
from treeanon.schema import RecordPath
from treeanon.schema.dump import record_text


def is_json(text: bytes) -> bool:
    """Return whether a text begins as JSON objects and arrays do."""
    return text.startswith((b"{", b"["))


def is_lines(text: bytes) -> bool:
    """Return whether the first line is a JSON object by itself, and another line follows that begins one."""
    first, _, rest = text.partition(b"\n")
    if not first.startswith(b"{") or not rest.lstrip().startswith(b"{"):
        return False
    try:
        parse(first)
    except DataError:
        return False
    return True


def is_tree_lines(text: bytes) -> bool:
    """Return whether the lines of a text look like those of a trees file."""
    tree = text.partition(b"\n")[0]
    return is_lines(text) and b'"tree":' in tree and tree.lstrip(b" {").startswith((b'"id"', b'"tree"'))


def sample_json(request: SampleRequest) -> Sample:
    """Return records of JSON documents."""
    if request.collection and request.record is not None and request.record.whole_file:
        return request.of_whole_files(one_json_record)
    return request.of_documents(json_sample)


def sample_ndjson(request: SampleRequest) -> Sample:
    """Return records of lines of JSON."""
    return lines_sample(request, _parsed)


sample_trees = sample_ndjson


def sample_lines(request: SampleRequest) -> Sample:
    """Return records of lines that the reader of their format parses."""
    reader = request.format.function("reader")
    assert isinstance(reader, LineReader)
    return lines_sample(request, reader.object)


Lines = Callable[[str, BinaryIO], Iterator[bytes]]
"""Gives the texts of the records of a document, by its name and bytes."""


def lines_sample(request: SampleRequest, parse: Callable[[bytes, str, str], Any], lines: Lines | None = None) -> Sample:
    """Return lines of documents, given what parses one: (line, name of the document, place)."""
    records: list[Any] = []
    total, name = 0, ""
    for name, stream, share in request.shares():
        found = Spread[tuple[int, bytes]](share(len(records)))
        head = Head(stream, request.within)
        for numbered in enumerate(_whole((lines or _lines)(name, cast(BinaryIO, head)), head), start=1):
            found.add(numbered)
        records += [parse(line, name, f"line {number}") for number, line in found.all()]
        total += found.count
    if not records:
        raise DataError("holds no record", source=name)
    whole, why = total == len(records) and not request.unseen, "each line is one record"
    return Sample(request.format.name, None, records, whole, why, total=total, unseen=request.unseen)


def _whole(lines: Iterator[bytes], head: Head) -> Iterator[bytes]:
    """Yield the lines of a document's head, without the one that is cut."""
    line = next(lines, None)
    for following in lines:
        assert line is not None
        yield line
        line = following
    if line is not None and not head.cut:
        yield line


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


def parsed_lines(item: Source) -> Iterator[Any]:
    """Yield the objects of all lines of a file."""
    with item.open() as stream:
        for number, line in enumerate(_lines(item.name, stream), start=1):
            yield _parsed(line, item.name, f"line {number}")


def one_json_record(item: Source) -> Any:
    """Return the one record of a file."""
    with item.open() as stream:
        data = stream.read()
    refuse_byte_order_mark(data[:4], item.name)
    if not data.strip():
        raise DataError("is empty", source=item.name)
    return _parsed(data, item.name, "record 1")


def json_sample(stream: BinaryIO, source: str, path: RecordPath | None, most: int) -> Sample:
    """Return records of one document: of the array that `path` names, or else of the largest."""
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
    found = [document] if path.whole_file else _at(document, path, source)
    records = [_checked(found[n], source, f"record {n + 1}") for n in spread(len(found), most)]
    if not records:
        raise DataError("holds no record at the record path", source=source)
    others = [_described(names, size) for names, size in arrays if names != path.names or path.whole_file or path.keyed]
    if not path.whole_file and type(document) is dict:
        others.append('"." (the document is one record)')
    return Sample("json", path, records, len(found) <= most, why, tuple(others[:8]), total=len(found))


def _arrays(document: Any) -> list[tuple[tuple[str, ...], int]]:
    """Return the paths of arrays of objects, through objects only, with their numbers of items, the longest first."""
    found: list[tuple[tuple[str, ...], int]] = []
    queue: list[tuple[tuple[str, ...], Any]] = [((), document)]
    for names, value in queue:
        if type(value) is list and value and all(type(item) is dict or item is None for item in value):
            found.append((names, len(value)))
        elif type(value) is dict and len(queue) < 10_000:
            queue.extend(((*names, key), inner) for key, inner in value.items() if dotted_name(key) is not None)
    return sorted(found, key=lambda pair: (-pair[1], len(pair[0])))


def _choose(document: Any, arrays: list[tuple[tuple[str, ...], int]], source: str) -> tuple[RecordPath, str]:
    if _are_records(document) and (not arrays or arrays[0][1] < len(document)):
        return RecordPath((), True, True), f"an object whose {len(document):,} members are objects alike"
    if arrays:
        names, size = arrays[0]
        return RecordPath(names, True), f"the longest array of objects ({size:,} items)"
    if type(document) is dict:
        return RecordPath((), False), "there is no array of objects: the document is one record"
    raise DataError("holds no array of objects, and is no object; a record is an object", source=source)


def _are_records(document: Any) -> bool:
    """Return whether a document is an object whose members, several, are all objects with nearly the same keys."""
    if type(document) is not dict or len(document) < _FEW or not all(type(item) is dict for item in document.values()):
        return False
    times = Counter(key for item in document.values() for key in item)
    return bool(times) and 2 * sum(times.values()) >= len(times) * len(document)


def _at(document: Any, path: RecordPath, source: str) -> list[Any]:
    names = path.names
    for depth, name in enumerate(names):
        if type(document) is not dict or name not in document:
            raise DataError(f"there is no {'.'.join(names[: depth + 1])}; check the record path", source=source)
        document = document[name]
    if path.keyed and type(document) is dict:
        return list(document.values())
    if type(document) is not list or path.keyed:
        raise DataError("an array of records is expected at the record path", source=source)
    return document


def _described(names: tuple[str, ...], size: int) -> str:
    return f"{record_text(RecordPath(names, True), slashed=False)!r} ({size:,} items)"


_FEW = 3
CANDIDATES = (("resource", "resourceType"), ("resourceType",), ("type",), ("kind",), ("url",))
_FIELD_DEPTH = 3


def walk_json(records: Iterable[Any], *, apart: bool = True) -> tuple[Place, Kinds]:
    """Return the places of the records, with items of mixed arrays separated by kind, and what distinguishes the kinds.

    With `apart=False` kinds are not separated, as in rows, where all items have the same fields.

    >>> root, _ = walk_json([{"age": 3, "visits": [{"ward": "x"}, {"ward": "y"}]}])
    >>> root.fields["visits"].repeated, root.fields["visits"].fields["ward"].values.distinct
    (True, 2)
    """
    records = list(records)
    if not apart:
        return _Walk({}).all(records), {}
    root = _Walk({}).all(records)
    kinds = find_kinds(root)
    return _Walk(kinds).all(records) if kinds else root, kinds


class _Walk:
    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.record = 0
        self.parents: list[int] = []
        self.row = -1

    def all(self, records: list[Any]) -> Place:
        root = Place(None, parents=self.parents)
        try:
            for self.record, record in enumerate(records, start=1):
                self.instance(root, record)
        except RecursionError:
            raise DataError("is nested too deeply", place=f"record {self.record}") from None
        return root

    def value(self, place: Place, value: Any) -> None:
        """Count the value of a key: all items of an array, or one."""
        if type(value) is not list:
            self.instance(place, value)
            return
        place.repeated = True
        for item in value:
            self.instance(place, item)

    def instance(self, place: Place, value: Any) -> None:
        """Count one object, value, or array directly in an array."""
        place.enter(self.record)
        if value is None or value == "":
            place.absent += 1
        elif type(value) is dict:
            self.object(place, value)
        elif type(value) is list:
            self.array(place, value)
        else:
            self.scalar(place, value)

    def object(self, place: Place, value: dict[str, Any]) -> None:
        place.objects += 1
        kind = self.kinds.get(place.path)
        if kind is not None and (constant := _constant(value, kind.names)) is not None:
            place = place.kind(constant)
            place.enter(self.record)
            place.objects += 1
        elif not self.kinds:
            _note_kinds(place, value)
        around, self.row = self.row, len(self.parents)
        self.parents.append(around)
        for key, inner in value.items():
            at = place.field_named(key)
            if at is not None:
                self.value(at, inner)
        self.row = around

    def array(self, place: Place, value: list[Any]) -> None:
        place.arrays += 1
        place.empty_arrays += not value
        items = place.inner_items()
        for item in value:
            self.instance(items, item)

    def scalar(self, place: Place, value: Any) -> None:
        text = value if type(value) is str else _text(value)
        place.unreadable |= "\0" in text
        place.values.add(text, self.record, quoted=type(value) is str, row=self.row)


def _text(value: Any) -> str:
    if type(value) is bool:
        return "true" if value else "false"
    return number_text(value)


def _constant(value: Any, names: tuple[str, ...]) -> str | None:
    for name in names:
        value = value.get(name) if type(value) is dict else None
    return value if type(value) is str and value else None


def _note_kinds(place: Place, value: dict[str, Any]) -> None:
    for candidate in CANDIDATES:
        constant = _constant(value, candidate)
        if constant is not None:
            fields = set(_fields(value, "", _FIELD_DEPTH)) - {".".join(("", *candidate))}
            place.saw(candidate, constant, fields)


def _fields(value: Any, lead: str, depth: int) -> Iterator[str]:
    """Yield the paths of fields inside an object to the given depth, through first items of arrays."""
    if type(value) is list:
        value = value[0] if value else None
    if type(value) is dict and depth:
        for key, inner in value.items():
            yield f"{lead}.{key}"
            yield from _fields(inner, f"{lead}.{key}", depth - 1)


_MEMBER = re.compile(rb"(?:- )?[A-Za-z_][A-Za-z0-9_ .-]*:(?:\s|$)")
_OPTIONS = ReadOptions()


def is_yaml(text: bytes) -> bool:
    """Return whether a text begins as a YAML document, in blocks.

    >>> is_yaml(b"# people\\npatients:\\n- age: 34\\n"), is_yaml(b"age,sex\\n"), is_yaml(b"{}")
    (True, False, False)
    """
    first = next((line for line in text.split(b"\n") if line.strip() and not line.startswith(b"#")), b"")
    return first.startswith((b"---", b"%YAML")) or _MEMBER.match(first) is not None


def is_yaml_stream(text: bytes) -> bool:
    """Return whether a text is a YAML document with another one after it.

    >>> is_yaml_stream(b"---\\nage: 34\\n---\\nage: 35\\n"), is_yaml_stream(b"---\\nage: 34\\n")
    (True, False)
    """
    return is_yaml(text) and b"\n---" in text.lstrip().removeprefix(b"---")


def sample_yaml(request: SampleRequest) -> Sample:
    """Return records of YAML documents."""
    from treeanon.io.documents.yaml_document import as_json_source

    if request.collection and request.record is not None and request.record.whole_file:
        return request.of_whole_files(lambda item: one_json_record(as_json_source(item, _OPTIONS)))
    return request.of_documents(_document)


def _document(stream: BinaryIO, source: str, path: RecordPath | None, most: int) -> Sample:
    from treeanon.io.documents.yaml_document import json_of_file

    data = json_of_file(Source(source, None, lambda: io.BytesIO(stream.read()), True), _OPTIONS)
    return replace(json_sample(io.BytesIO(data), source, path, most), format="yaml")


def sample_yaml_stream(request: SampleRequest) -> Sample:
    """Return documents of streams."""

    def parse(text: bytes, source: str, place: str) -> Any:
        return json.loads(text)

    return lines_sample(request, parse, _texts)


def _texts(name: str, stream: BinaryIO) -> Iterator[bytes]:
    from treeanon.io.documents.yaml_document import as_json, documents

    return (as_json(value).encode() for value in documents(stream, name))

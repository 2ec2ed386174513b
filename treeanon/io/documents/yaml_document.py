"""YAML: one document with an array of records at any path, one record per file, or a stream of documents.

Documents are made texts of JSON, which the readers of JSON read; records are written as blocks.

Also YAML as texts of JSON: what is safe of it, and nothing that is executed, guessed or blown up.

A scalar without quotes is null, a truth value or a number where JSON would write it so; all others are texts as they
stand: 007, no, 12:30 and 2024-01-31, too (as the core schema of YAML 1.2 has it, but for numbers that JSON writes
otherwise). Aliases are what they stand for, and merge keys (<<) are merged. Tags other than those of JSON's types are
refused.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO

import numpy as np
import yaml
import yaml.events as ev

from treeanon.errors import DataError
from treeanon.forest import Batch, Forest
from treeanon.forest.report import ReadReport
from treeanon.io.documents.json_document import array_spans, whole_spans
from treeanon.io.documents.json_records import JsonRecords, Span
from treeanon.io.documents.json_write import JsonTexts
from treeanon.io.interface import MAX_RECORD_BYTES, Document, DocumentWriter, ReadOptions, broken_files
from treeanon.io.sources import Source
from treeanon.schema import RecordPath, Schema

DEEPEST = 200
_MOST_COPIES = 100
_FEW_COPIES = 100_000
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_KNOWN = {"!", *(_TAG + name for name in ("str", "int", "float", "bool", "null", "seq", "map"))}
NULLS = ("", "~", "null", "Null", "NULL")
_TRUTHS = {"true": "true", "True": "true", "TRUE": "true", "false": "false", "False": "false", "FALSE": "false"}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


class YamlMapping(list[tuple[str, Any]]):
    """The members of a mapping, in order; `size` is what it comes to with all aliases written out."""

    size = 1


class YamlList(list[Any]):
    """The items of a sequence; see `Mapping`."""

    size = 1


Note = Callable[[Any], None]
"""Is told every event, for those who want to know how a document is written."""


class _Counted:
    """A stream that is refused where one document is longer than any may be."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self.stream, self.most, self.since = stream, most, 0

    def read(self, size: int = -1) -> bytes:
        block = self.stream.read(size)
        self.since += len(block)
        if self.since > self.most:
            raise DataError(f"a document is longer than {self.most >> 20} MB, which a YAML document must not be")
        return block


def documents(stream: BinaryIO, source: str, note: Note | None = None) -> Iterator[Any]:
    """Yield the documents of a stream, as `Mapping`, `Sequence` and texts of JSON values; DataError shows no value.

    >>> import io
    >>> list(documents(io.BytesIO(b"a: [1, x]\\nb: 007\\n---\\nc: ~\\n"), "it"))
    [[('a', ['1', '"x"']), ('b', '"007"')], [('c', 'null')]]
    """
    counted = _Counted(stream, MAX_RECORD_BYTES)
    builder = _Builder(source)
    try:
        for event in yaml.parse(counted, _LOADER):
            if note is not None:
                note(event)
            if isinstance(event, ev.DocumentStartEvent):
                builder = _Builder(source)
                counted.since = 0
            elif isinstance(event, ev.DocumentEndEvent):
                yield builder.value
            else:
                builder.take(event)
    except DataError as problem:
        raise DataError(problem.message, source=source, place=problem.place or "", path=problem.path) from None
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        place = f"line {mark.line + 1}" if mark is not None else ""
        # What the library says may quote the document.
        raise DataError("is not valid YAML (in UTF-8 or UTF-16)", source=source, place=place) from None


class _Builder:
    """Builder of one document from events."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.value: Any = "null"
        self.open: list[tuple[Any, str | None]] = []
        self.key: list[str | None] = []
        self.anchors: dict[str, Any] = {}
        self.events = self.copied = 0

    def fail(self, message: str, event: Any) -> DataError:
        """Return the error at an event."""
        return DataError(message, source=self.source, place=f"line {event.start_mark.line + 1}")

    def take(self, event: Any) -> None:
        """Take in an event."""
        self.events += 1
        if isinstance(event, ev.AliasEvent):
            self.put(self._of_alias(event), event)
        elif isinstance(event, ev.ScalarEvent):
            self._check_tag(event)
            text = scalar_json(event)
            if event.anchor is not None:
                self.anchors[event.anchor] = text
            self.put(text, event)
        elif isinstance(event, ev.MappingStartEvent | ev.SequenceStartEvent):
            self._check_tag(event)
            if len(self.open) >= DEEPEST:
                raise self.fail("is nested too deeply", event)
            if self._awaits_key():
                raise self.fail("a key must be a single value", event)
            made: Any = YamlMapping() if isinstance(event, ev.MappingStartEvent) else YamlList()
            self.anchors.pop(event.anchor, None)
            self.open.append((made, event.anchor))
            self.key.append(None)
        elif isinstance(event, ev.MappingEndEvent | ev.SequenceEndEvent):
            made, anchor = self.open.pop()
            self.key.pop()
            made.size = 1 + sum(_size(item[1] if isinstance(made, YamlMapping) else item) for item in made)
            done = _merged(made, self.fail, event) if isinstance(made, YamlMapping) else made
            if anchor is not None:
                self.anchors[anchor] = done
            self.put(done, event)

    def put(self, value: Any, event: Any) -> None:
        """Put a value where it belongs."""
        if not self.open:
            self.value = value
            return
        above, _ = self.open[-1]
        if isinstance(above, YamlList):
            above.append(value)
        elif self.key[-1] is None:
            if not isinstance(value, str):
                raise self.fail("a key must be a single value", event)
            self.key[-1] = event.value if isinstance(event, ev.ScalarEvent) else _plain_key(value)
        else:
            above.append((self.key[-1], value))
            self.key[-1] = None

    def _awaits_key(self) -> bool:
        return bool(self.open) and isinstance(self.open[-1][0], YamlMapping) and self.key[-1] is None

    def _of_alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            raise self.fail("an alias stands for nothing before it, or for what it is a part of", event)
        value = self.anchors[event.anchor]
        self.copied += _size(value)
        if self.copied > _MOST_COPIES * self.events + _FEW_COPIES:
            raise self.fail("aliases blow up to many times the size of the document, and are refused", event)
        return value

    def _check_tag(self, event: Any) -> None:
        if event.tag is not None and event.tag not in _KNOWN:
            raise self.fail("has a tag that is none of JSON's types, and is refused", event)


def scalar_json(event: Any) -> str:
    """Return the scalar of an event as JSON writes it."""
    text: str = event.value
    is_text = event.tag in ("!", _TAG + "str") or (event.tag is None and bool(event.style))
    if not is_text:
        if text in NULLS:
            return "null"
        if text in _TRUTHS:
            return _TRUTHS[text]
        if _NUMBER.fullmatch(text):
            return text
    return json.dumps(text, ensure_ascii=False)


def _plain_key(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text


def _size(value: Any) -> int:
    return 1 if isinstance(value, str) else int(value.size)


def _merged(mapping: YamlMapping, fail: Callable[[str, Any], DataError], event: Any) -> YamlMapping:
    """Return a mapping with what its merge keys name in place of them; its own keys come first."""
    merged = [value for key, value in mapping if key == "<<"]
    if not merged:
        return mapping
    own = YamlMapping((key, value) for key, value in mapping if key != "<<")
    known = {key for key, _ in own}
    for value in merged:
        for one in value if isinstance(value, YamlList) else [value]:
            if not isinstance(one, YamlMapping):
                raise fail("a merge key (<<) must name a mapping, or several", event)
            own.extend((key, inner) for key, inner in one if key not in known)
            known |= {key for key, _ in one}
    own.size = mapping.size
    return own


def as_json(value: Any) -> str:
    """Return a document as a text of JSON; a key that occurs twice stays twice.

    >>> import io
    >>> [as_json(one) for one in documents(io.BytesIO(b"a: &x {b: 1}\\nc: *x\\n"), "it")]
    ['{"a":{"b":1},"c":{"b":1}}']
    """
    if isinstance(value, YamlMapping):
        inner = (f"{json.dumps(key, ensure_ascii=False)}:{as_json(one)}" for key, one in value)
        return "{" + ",".join(inner) + "}"
    if isinstance(value, YamlList):
        return "[" + ",".join(map(as_json, value)) + "]"
    text: str = value
    return text


# --- writing ---------------------------------------------------------------------------------------------------------

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[ .*()/+-]+[A-Za-z0-9_]+)*")
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
_ESCAPED = re.compile("[^\t -~\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029]")


def yaml_string(text: str) -> str:
    r"""Return a text as a scalar: without quotes where no reader of YAML takes it for anything else.

    >>> yaml_string("Lung Disease"), yaml_string("no"), yaml_string("34"), yaml_string('a"b')
    ('Lung Disease', '"no"', '"34"', '"a\\"b"')
    """
    if _BARE.fullmatch(text) and text.lower() not in _WORDS:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\U{ord(found[0]):08x}", quoted)


def yaml_lines(value: Any, indent: int) -> Iterator[str]:
    """Yield the lines of a block, of an object or array as `json.loads` gives them with numbers as `Bare` texts."""
    space = " " * indent
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _member(f"{space}{yaml_string(key)}:", inner, indent)
    else:
        for inner in value:
            if isinstance(inner, dict | list) and inner:
                first, *rest = yaml_lines(inner, indent + 2)
                yield f"{space}- {first[indent + 2 :]}"
                yield from rest
            else:
                yield f"{space}- {_scalar_text(inner)}"


def _member(start: str, value: Any, indent: int) -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        yield start
        yield from yaml_lines(value, indent if isinstance(value, list) else indent + 2)
    else:
        yield f"{start} {_scalar_text(value)}"


class Bare(str):
    """A number as JSON writes it."""

    __slots__ = ()


def _scalar_text(value: Any) -> str:
    if isinstance(value, Bare):
        return value
    if isinstance(value, str):
        return yaml_string(value)
    if isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    return {True: "true", False: "false", None: "null"}[value]


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

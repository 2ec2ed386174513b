"""What files of JSON, of lines and of trees, and the texts of their records, hold beyond what is read of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from treeanon.forest import ReadReport
from treeanon.io.beyond.documents import Content, KeyTexts, Records, TextsOf, compare
from treeanon.io.beyond.findings import Findings
from treeanon.io.documents.json_document import JsonDocument, document_bytes, items_of, lines_of, members_of
from treeanon.io.documents.json_exact import named_keys, predicate_holds
from treeanon.io.documents.json_records import Span
from treeanon.io.documents.json_write import is_number_text, json_text
from treeanon.io.documents.kernel_columns import token_texts
from treeanon.io.interface import ReadOptions, broken_files
from treeanon.io.sources import Source
from treeanon.schema import Container, RecordPath, Schema, Shape
from treeanon.schema.layout import MOVED
from treeanon.schema.references import as_documents

_TOKEN = re.compile(r'[ \t\n\r]*+("(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^ \t\n\r{}\[\],:"]++)')

_LONGEST = 4000


class Pairs(list[tuple[str, Any]]):
    """The members of an object: the texts of keys, and values."""


class Items(list[Any]):
    """The items of an array."""


class _Parser:
    """Parser of a valid text into `Pairs`, `Items` and texts of values; it notes the white space between."""

    def __init__(self, text: str, found: Findings) -> None:
        self.found, self.depth, self.before = found, 0, ""
        self.tokens = self._tokens(text)

    def _tokens(self, text: str) -> Iterator[str]:
        end = 0
        for match in _TOKEN.finditer(text):
            token = match[1]
            kind = token if token in "{}[],:" else "value"
            self.found.uniform("white-space", (self.before, kind, self.depth), text[end : match.start(1)])
            self.before, end = kind, match.end()
            self.depth += (kind in "{[") - (kind in "}]")
            yield token
        self.found.uniform("white-space", "end", text[end:])

    def value(self) -> Any:
        """Return the next value."""
        return self._after(next(self.tokens))

    def close(self) -> None:
        """Read to the end."""
        for _ in self.tokens:
            pass

    def _after(self, token: str) -> Any:
        if token == "[":
            items = Items()
            while (token := next(self.tokens)) != "]":
                if token != ",":
                    items.append(self._after(token))
            return items
        if token == "{":
            pairs = Pairs()
            while (token := next(self.tokens)) != "}":
                if token != ",":
                    next(self.tokens)
                    pairs.append((token, self.value()))
            return pairs
        return token


def parsed(text: str, found: Findings) -> Any:
    """Return a valid text as `Pairs`, `Items` and texts of values.

    >>> parsed('{"a": [1, "x"]}', Findings())
    [('"a"', ['1', '"x"'])]
    """
    parser = _Parser(text, found)
    value = parser.value()
    parser.close()
    return value


def text_of(token: str, found: Findings) -> str:
    """Return the text of a value, and count an unusual spelling of it."""
    text: str = json.loads(token) if token[0] == '"' else token_texts([token.encode()])[0]
    if token != (json_text(text) if token[0] == '"' else text):
        found.add("spellings")
    return text


def members(pairs: Pairs, found: Findings) -> dict[str, tuple[str, Any]]:
    """Return the members of an object by their keys, with the texts of these; the last of each counts."""
    named: dict[str, tuple[str, Any]] = {}
    for token, value in pairs:
        name = json.loads(token)
        if name in named:
            found.add("repeated-keys")
        named[name] = token, value
    return named


def plain(value: Any, found: Findings) -> Content:
    """Return a value as content, whatever it is."""
    if isinstance(value, Pairs):
        return {name: [plain(inner, found)] for name, (_, inner) in members(value, found).items()}
    if isinstance(value, Items):
        return {"": [plain(inner, found) for inner in value]}
    return text_of(value, found)


class JsonLook:
    """Comparison of the texts of records with those that would be written."""

    def __init__(self, schema: Schema, found: Findings) -> None:
        self.schema, self.layout, self.found = schema, as_documents(schema).layout, found
        self.keys = KeyTexts(schema, found)

    def record(self, text: str, canonical: str) -> None:
        """Count what the text of a record holds beyond the canonical one."""
        try:
            compare(self.content(text), JsonLook(self.schema, Findings()).content(canonical), self.found)
        except RecursionError:
            self.found.add("form")

    def content(self, text: str) -> Content:
        """Return what the schema names of a record."""
        content = self._item(parsed(text, self.found), self.layout.containers[0]) or {}
        self.keys.end_record()
        return content

    def _item(self, value: Any, container: Container) -> Content | None:
        shape = container.shape
        content: dict[str, list[Any]] = {}
        if any(self.layout.containers[index].name is None for index in shape.containers):
            self._array(value, shape, None, content)
        elif shape.held >= 0:
            return self._scalar(value, shape.held)
        elif isinstance(value, Pairs):
            return self._object(value, shape, is_container=True)
        else:
            self._nothing(value)
        return content or None

    def _object(self, pairs: Pairs, shape: Shape, *, is_container: bool) -> Content | None:
        found = members(pairs, self.found)
        named = named_keys(shape, self.layout) | ({MOVED} if is_container else set())
        self.found.sequence(id(shape), tuple(name for name in found if name in named))
        for name in named & found.keys():
            if found[name][0] != json_text(name):
                self.found.add("spellings")
        content: dict[str, list[Any]] = {}
        for wrapper in shape.wrappers:
            if wrapper.name in found:
                inner = self._wrapper(found[wrapper.name][1], wrapper)
                if inner is not None:
                    content[wrapper.name] = [inner]
        for key in dict.fromkeys(self.layout.containers[index].name for index in shape.containers):
            if key in found:
                self._array(found[key][1], shape, key, content)
        if is_container and MOVED in found:
            content[MOVED] = [plain(found[MOVED][1], self.found)]
        if not content and shape is not self.layout.containers[0].shape:
            self.found.add("empty")
        return content or None

    def _wrapper(self, value: Any, wrapper: Shape) -> Content | None:
        if wrapper.is_scalar:
            return self._scalar(value, wrapper.held)
        if isinstance(value, Pairs):
            return self._object(value, wrapper, is_container=False)
        self._nothing(value)
        return None

    def _array(self, value: Any, shape: Shape, name: str | None, content: dict[str, list[Any]]) -> None:
        containers = [c for c in (self.layout.containers[i] for i in shape.containers) if c.name == name]
        if not isinstance(value, Items):
            if value in ("null", '""'):
                self._nothing(value)
                return
            self.found.add("form")
            value = Items([value])
        if not value:
            self.found.add("empty")
        for item in value:
            met = [c for c in containers if c.predicate is None or predicate_holds(_python(item), c.predicate)]
            if len(met) > 1:
                self.found.add("form")
            for container in met:
                inner = self._item(item, container)
                if inner is not None:
                    content.setdefault(name or "", []).append(inner)

    def _scalar(self, value: Any, held: int) -> Content | None:
        if isinstance(value, Pairs | Items) or value in ("null", '""'):
            self._nothing(value)
            return None
        text = text_of(value, self.found)
        if held < 0:
            return text
        if value[0] != '"' or is_number_text(text) or text in ("true", "false"):
            # A number may be a text in one record and none in another.
            self.found.uniform("spellings", ("quotes", held), value[0] == '"')
        text = text if self.layout.classes[held].spec.type == "text" else text.strip()
        return self.keys.text(held, text)

    def _nothing(self, value: Any) -> None:
        self.found.add("nulls" if value == "null" else "empty")


def _python(value: Any) -> Any:
    """Return a value as Python has it, for predicates."""
    if isinstance(value, Pairs):
        return {json.loads(token): _python(inner) for token, inner in value}
    if isinstance(value, Items):
        return [_python(inner) for inner in value]
    # No constant is as long as numbers that Python would not read.
    return json.loads(value) if value[0] == '"' or len(value) < _LONGEST else value


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

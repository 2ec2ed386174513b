"""XML in ranges of bytes: where a long document can be cut between records, and a range read as a document.

A range is whole records, between the start and end tags of the elements that are open there. Cuts are found by a
parser that reads the whole document, so that comments, CDATA and elements nested in others of their name do not
mislead it. A document with anything unusual, or wrong, is one range, which the reader of XML handles.

Also how an XML document begins: versions and encodings that its parser would take for something else are refused.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, cast
from xml.parsers import expat

from treeanon.errors import DataError
from treeanon.io.documents.xml_compile import Qualifier
from treeanon.io.documents.xml_write import xml_attribute
from treeanon.io.sources import Source
from treeanon.schema import Schema

_BLOCK = 1 << 20
_BLOCKS_OF_TEXT = 8
_DEEPEST = 250
_PLACE = re.compile(r"(?:record (?P<record>\d+) \()?line (?P<line>\d+)\)?")
_ENCODINGS = (None, "utf-8", "us-ascii")


@dataclass(frozen=True)
class Range:
    """Bytes `begin` to `end` of a document (None: all of it), and the tags that make a document of them.

    `records` and `line` are the number of the records before, and of the line it begins in.
    """

    begin: int = 0
    end: int | None = None
    head: str = ""
    tail: str = ""
    records: int = 0
    line: int = 1

    def place(self, place: str) -> str:
        """Return a place in the range (a line or a record) as a place in the whole document."""
        found = _PLACE.fullmatch(place)
        if found is None:
            return place
        line = f"line {int(found['line']) + self.line - 1}"
        return line if found["record"] is None else f"record {int(found['record']) + self.records} ({line})"


WHOLE = Range()
"""All of a document."""


class _Unsupported(Exception):
    """The document holds something that only the reader of XML handles."""


def ranges_of(stream: BinaryIO, schema: Schema, least: int) -> list[Range]:
    """Return the ranges of a document's records, each of at least so many bytes except the last.

    >>> import io, treeanon as ta
    >>> text = 'version = 1\\n[input]\\nformat = "xml"\\nrecord = "a/b"\\n[[class]]\\nname = "c"\\npath = "@c"'
    >>> found = ranges_of(io.BytesIO(b'<a><b c="1"/>\\n<b c="2"/></a>'), ta.Schema.loads(text), 1)
    >>> [(one.begin, one.end, one.head, one.tail) for one in found]
    [(0, 14, '', '</a>'), (14, 24, '<a>', '</a>'), (24, 28, '<a>', '')]
    """
    assert schema.input.record is not None
    qualifier = Qualifier(schema.input.namespaces)
    cutter = _Cutter([qualifier.element(name) for name in schema.input.record.names], least)
    try:
        return cutter.read(stream)
    except (_Unsupported, expat.ExpatError, UnicodeError):
        return [WHOLE]


class _Cutter:
    """Parser callbacks that note where a document can be cut."""

    def __init__(self, names: list[str], least: int) -> None:
        self.names, self.least = names, least
        self.parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.namespace_prefixes = True
        parser.ordered_attributes = True
        parser.XmlDeclHandler = self.declaration
        parser.StartDoctypeDeclHandler = self.doctype
        parser.StartNamespaceDeclHandler = lambda prefix, uri: self.spaces.append((prefix, uri))
        self.spaces: list[tuple[str | None, str | None]] = []
        self.open: list[tuple[str, str]] = []
        self.ranges: list[Range] = []
        self.begun = WHOLE
        self.records = 0
        self.tags = self.follow()

    def declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        """Refuse encodings other than ASCII and UTF-8, whose bytes cannot be cut."""
        if version != "1.0" or (encoding.lower() if encoding else None) not in _ENCODINGS:
            raise _Unsupported

    def doctype(self, *_: object) -> None:
        """Refuse a DOCTYPE, as the reader does."""
        raise _Unsupported

    def follow(self) -> Callable[[], int]:
        """Register callbacks for elements, most of which are below records; return what counts them."""
        names, least, parser = self.names, self.least, self.parser
        reach, outer = len(names), len(names) - 1
        depth = matched = tags = 0
        due = False

        def start(name: str, attributes: list[str]) -> None:
            nonlocal depth, matched, due, tags
            tags += 1
            if due:
                due = False
                self.cut(parser.CurrentByteIndex)
            if depth < reach:
                if matched == depth and _tag(name) == names[depth]:
                    matched += 1
                    if depth < outer:
                        self.open.append(_tags(name, self.spaces))
            elif depth == _DEEPEST:
                raise _Unsupported
            self.spaces.clear()
            depth += 1

        def end(name: str) -> None:
            nonlocal depth, matched, due
            if due:
                due = False
                self.cut(parser.CurrentByteIndex)
            depth -= 1
            if matched > depth:
                matched = depth
                if depth == outer:
                    self.records += 1
                    due = parser.CurrentByteIndex - self.begun.begin >= least
                else:
                    self.open.pop()

        parser.StartElementHandler, parser.EndElementHandler = start, end
        return lambda: tags

    def cut(self, place: int) -> None:
        """End a range at the first tag after a record, and begin the next.

        Content between records belongs to the one after it, as readers count what is left out when something follows.
        """
        if place <= self.begun.begin:
            raise _Unsupported
        tail = "".join(last for _, last in reversed(self.open))
        self.ranges.append(_ended(self.begun, place, tail))
        head = "".join(first for first, _ in self.open)
        self.begun = Range(place, None, head, "", self.records, self.parser.CurrentLineNumber)

    def read(self, stream: BinaryIO) -> list[Range]:
        """Return the ranges of the whole document."""
        size = last = text = 0
        while block := stream.read(_BLOCK):
            if not size and (b"\0" in block[:4] or block[:2] in (b"\xff\xfe", b"\xfe\xff")):
                raise _Unsupported
            size += len(block)
            self.parser.Parse(block, False)
            text = text + 1 if self.tags() == last else 0
            last = self.tags()
            if text == _BLOCKS_OF_TEXT:
                raise _Unsupported
        self.parser.Parse(b"", True)
        return [*self.ranges, _ended(self.begun, size, "")]


def _ended(begun: Range, end: int, tail: str) -> Range:
    return Range(begun.begin, end, begun.head, tail, begun.records, begun.line)


def _tag(name: str) -> str:
    """Return a name as readers have it, from the form of the parser (namespace, name and prefix)."""
    parts = name.split(" ")
    return parts[0] if len(parts) == 1 else f"{{{parts[0]}}}{parts[1]}"


def _tags(name: str, spaces: list[tuple[str | None, str | None]]) -> tuple[str, str]:
    """Return the start and end tag of an element, with its namespaces and without its attributes."""
    parts = name.split(" ")
    called = f"{parts[2]}:{parts[1]}" if len(parts) == 3 else parts[1] if len(parts) == 2 else parts[0]
    declared = "".join(f" xmlns{':' + prefix if prefix else ''}={xml_attribute(uri or '')}" for prefix, uri in spaces)
    return f"<{called}{declared}>", f"</{called}>"


def range_source(name: str, raw: Callable[[], BinaryIO], part: Range) -> Source:
    """Return a range of a document as a document to read; `raw` opens all of its bytes."""
    if part.end is None:
        return Source(name, None, raw)
    return Source(name, None, lambda: cast(BinaryIO, _Framed(raw(), part)))


class _Framed:
    """The bytes of a range between its tags."""

    def __init__(self, stream: BinaryIO, part: Range) -> None:
        assert part.end is not None
        self.stream, self.left = stream, part.end - part.begin
        self.head, self.tail = part.head.encode(), part.tail.encode()
        stream.seek(part.begin)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; fewer than requested where tags begin or end."""
        if self.head:
            return self._of("head", size)
        if self.left:
            block = self.stream.read(self.left if size < 0 else min(size, self.left))
            if not block:
                raise DataError("has become shorter while it was read")
            self.left -= len(block)
            return block
        return self._of("tail", size)

    def _of(self, part: str, size: int) -> bytes:
        held: bytes = getattr(self, part)
        block = held if size < 0 else held[:size]
        setattr(self, part, held[len(block) :])
        return block

    def close(self) -> None:
        """Close the whole document."""
        self.stream.close()


_DECLARATION = re.compile(
    r"""<\?xml\s+version\s*=\s*["']([^"']*)["'](?:\s+encoding\s*=\s*["']([A-Za-z0-9._-]*)["'])?"""
)
_LONGEST = 512
_UTF_8 = ("utf-8", "utf8")
_WIDE = ("utf-16", "utf16", "iso-10646-ucs-2", "ucs-2")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8", _UTF_8),
    (codecs.BOM_UTF16_LE, "utf-16-le", (*_WIDE, "utf-16le")),
    (codecs.BOM_UTF16_BE, "utf-16-be", (*_WIDE, "utf-16be")),
    # Without a mark the first character tells.
    (b"<\0", "utf-16-le", (*_WIDE, "utf-16le")),
    (b"\0<", "utf-16-be", (*_WIDE, "utf-16be")),
)


def check_head(begin: bytes) -> None:
    """Refuse XML 1.1, UTF-7, and a declaration that contradicts the bytes before it; parsers believe one of them.

    >>> check_head('\\ufeff<?xml version="1.0" encoding="UTF-8"?><a/>'.encode())
    >>> check_head(b'<?xml version="1.1"?><a/>')
    Traceback (most recent call last):
    treeanon.errors.DataError: line 1: is not XML 1.0, the version that is read
    """
    mark, codec, allowed = next((each for each in _MARKS if begin.startswith(each[0])), (b"", "latin-1", None))
    found = _DECLARATION.match(begin[:_LONGEST].decode(codec, "ignore").lstrip("\ufeff"))
    if found is None:
        return
    if found[1] != "1.0":
        raise DataError("is not XML 1.0, the version that is read", place="line 1")
    encoding = (found[2] or "").lower()
    if re.search(r"utf-?_?7$|65000$", encoding):
        raise DataError("declares UTF-7, which can hide markup; convert it to UTF-8", place="line 1")
    if mark and encoding and allowed is not None and encoding not in allowed:
        raise DataError("declares another encoding than its first bytes show; convert it to UTF-8", place="line 1")

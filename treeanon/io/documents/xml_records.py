"""Reads long XML documents of the usual form by a kernel, block by block on all cores.

A block ends with the end tag of a record. Whether the kernel has read all of it, and nothing else, it tells itself: at
the first record that it does not read, for whatever reason, the reader of XML takes over for the rest of the document,
with the numbers of records and lines that it would have had.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

import numpy as np

from treeanon.arrays import Ints
from treeanon.forest.report import Dropped
from treeanon.forest.tables import Batch
from treeanon.io.documents.kernel_columns import Filled, KernelColumns
from treeanon.io.interface import MAX_RECORD_BYTES
from treeanon.kernels.xmlread import ITEM, MAX_KEYS, OBJECT, SCALAR, SKIP, XmlTables, read_elements
from treeanon.progress import in_turn
from treeanon.randomness import hash_seed
from treeanon.schema import Layout, Schema, Shape

LARGE = 1 << 20
"""Bytes of a document from which on it pays to compile a kernel."""

_BLOCK = 4 << 20
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_ENTITY = re.compile("&([a-z]+);")
_DECLARATION = rb"""(?:<\?xml version=(["'])1\.0\1(?: encoding=(["'])[Uu][Tt][Ff]-8\2)? ?\?>)?"""
_BLANK = rb"[ \t\r\n]*"


def _texts(found: list[bytes]) -> list[str]:
    """Return the texts of entries, in which entities stand for characters."""
    if not found:
        return []
    # No text of one form holds the NUL character.
    texts = b"\0".join(found).decode().split("\0")
    return [_ENTITY.sub(lambda m: _ENTITIES[m[1]], text) if "&" in text else text for text in texts]


@dataclass
class _Compiler:
    layout: Layout
    names: bytearray = field(default_factory=bytearray)
    children: list[list[tuple[int, int, int, int, int]]] = field(default_factory=list)
    attributes: list[list[tuple[int, int, int]]] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)
    places: list[str] = field(default_factory=list)

    def name(self, text: str) -> tuple[int, int]:
        start = len(self.names)
        self.names += text.encode()
        return start, len(self.names)

    def state(self, shape: Shape, place: str) -> int:
        """Return the number of the state of an element, with all that is named in it."""
        number = len(self.children)
        self.children.append([])
        self.attributes.append([(*self.name(one.name), one.held) for one in shape.attributes])
        self.texts.append(shape.held)
        self.places.append(place)
        known = [(wrapper.name, *self.wrapper(wrapper, place), -1) for wrapper in shape.wrappers]
        for container in (self.layout.containers[index] for index in shape.containers):
            known.append((container.name, ITEM, self.state(container.shape, container.path + "/"), container.index))
        self.children[number] = [(*self.name(name or ""), *meaning) for name, *meaning in known]  # type: ignore[misc]
        return number

    def wrapper(self, wrapper: Shape, place: str) -> tuple[int, int]:
        if wrapper.is_scalar:
            return (SCALAR, wrapper.held) if wrapper.held >= 0 else (SKIP, -1)
        return OBJECT, self.state(wrapper, f"{place}{wrapper.name}/")


def _is_usual(schema: Schema) -> bool:
    """Return whether the kernel can read by a schema: no constants, no predicates, plain names, a record inside."""
    record, layout = schema.input.record, schema.layout
    if record is None or len(record.names) < 2 or schema.input.namespaces or schema.profile:
        return False
    names = list(record.names)
    for container in layout.containers:
        # Of kinds in one place only predicates tell which is which.
        if container.predicate is not None:
            return False
        for shape in container.shape.walk():
            inner = [layout.containers[index].name or "" for index in shape.containers]
            own = [wrapper.name or "" for wrapper in shape.wrappers] + inner
            if shape.constant is not None or shape.always or len(set(own)) < len(own) or len(own) > MAX_KEYS:
                return False
            if any(attribute.constant is not None for attribute in shape.attributes):
                return False
            names += own + [attribute.name for attribute in shape.attributes]
    return all(_PLAIN_NAME.fullmatch(name) for name in names)


def _first(groups: Sequence[Sequence[tuple[int, ...]]]) -> Ints:
    return np.cumsum([0, *map(len, groups)]).astype(np.int32)


def _columns(groups: Sequence[Sequence[tuple[int, ...]]], width: int) -> list[Ints]:
    return [np.array([entry[i] for group in groups for entry in group], np.int32) for i in range(width)]


class _Found(NamedTuple):
    records: int
    stop: int
    batch: Batch
    dropped: Dropped


class Rest(NamedTuple):
    """What the reader of XML goes on with: the number of records and of line ends before, and what is left."""

    records: int
    lines: int
    stream: Chain


class XmlRecords:
    """Reader of the records of long documents by the kernel."""

    def __init__(self, schema: Schema, dropped: Dropped, jobs: int) -> None:
        assert schema.input.record is not None
        self.dropped, self.jobs = dropped, jobs
        names = [name.encode() for name in schema.input.record.names]
        outer = _BLANK.join(b"<" + re.escape(name) + b">" for name in names[:-1])
        inner = _BLANK.join(b"</" + re.escape(name) + b">" for name in reversed(names[:-1]))
        self.head = re.compile(_DECLARATION + _BLANK + outer)
        self.tail = re.compile(_BLANK + inner + _BLANK)
        self.open_tags = b"".join(b"<" + name + b">" for name in names[:-1])
        self.end_tag = b"</" + names[-1] + b">"
        compiler = _Compiler(schema.layout)
        compiler.children.append([])
        compiler.attributes.append([])
        compiler.texts.append(-1)
        compiler.places.append("")
        root = compiler.state(schema.layout.containers[0].shape, "")
        compiler.children[0] = [(*compiler.name(names[-1].decode()), ITEM, root, 0)]
        child, attribute = _columns(compiler.children, 5), _columns(compiler.attributes, 3)
        arrays = (
            _first(compiler.children),
            *child,
            _first(compiler.attributes),
            *attribute,
            np.array(compiler.texts, np.int32),
        )
        names_of = np.frombuffer(bytes(compiler.names), np.uint8)
        self.tables = XmlTables._make((names_of, *arrays, len(schema.layout.classes)))
        places = compiler.places
        self.columns = KernelColumns(schema.layout, (*places, *(f"{place}@" for place in places)))
        self.seed = hash_seed()

    @classmethod
    def of(cls, schema: Schema, dropped: Dropped, jobs: int) -> XmlRecords | None:
        """Return the reader of a schema, None if the kernel cannot read by it."""
        return cls(schema, dropped, jobs) if _is_usual(schema) else None

    def read(self, begin: bytes, stream: BinaryIO) -> Iterator[Batch | Rest]:
        """Yield the batches of a document, then what is left of it for the reader of XML, if anything is.

        `begin` are its first bytes, which were read from the stream already.
        """
        head = self.head.match(begin)
        if head is None:
            yield Rest(0, 0, Chain([begin], stream))
            return
        blocks = _Blocks(begin, head.end(), stream, self.end_tag)
        records, lines = 0, begin.count(b"\n", 0, head.end())
        for block, found in in_turn(self._run, blocks, self.jobs):
            self.dropped.update(found.dropped)
            blocks.ahead.popleft()
            records, lines = records + found.records, lines + block.count(b"\n", 0, found.stop)
            if found.records:
                yield found.batch
            if found.stop < len(block):
                left = [self.open_tags, block[found.stop :], *blocks.ahead, blocks.rest]
                yield Rest(records, lines, Chain(left, stream, blocks.problem))
                return
        if blocks.problem is not None or self.tail.fullmatch(blocks.rest) is None:
            yield Rest(records, lines, Chain([self.open_tags, blocks.rest], stream, blocks.problem))

    def _run(self, block: bytes) -> _Found:
        """Return what the kernel finds in a block; nothing else changes."""
        with self.columns.buffers(len(block), 0) as rows:
            records, stop, *counts = read_elements(np.frombuffer(block, np.uint8), self.seed, self.tables, rows)
            batch, dropped = self.columns.batch(block, rows, Filled(*counts), _texts, as_texts=True)
        return _Found(records, stop, batch, dropped)


class _Blocks:
    """Blocks of a document that end with the end tag of a record; `ahead` has those not done with, `rest` what is left.

    What fails to be read is a `problem` for whoever reads on.
    """

    def __init__(self, begin: bytes, start: int, stream: BinaryIO, end_tag: bytes) -> None:
        self.rest, self.stream, self.end_tag = begin[start:], stream, end_tag
        self.ahead: deque[bytes] = deque()
        self.problem: Exception | None = None

    def __iter__(self) -> Iterator[bytes]:
        ends = False
        while not ends and len(self.rest) <= MAX_RECORD_BYTES:
            try:
                more = self.stream.read(_BLOCK)
            except Exception as problem:
                self.problem, more = problem, b""
            ends = not more
            parts, self.rest = self.rest + more, b""
            cut = parts.rfind(self.end_tag)
            cut = cut + len(self.end_tag) if cut >= 0 else 0
            block, self.rest = parts[:cut], parts[cut:]
            if block:
                self.ahead.append(block)
                yield block


class Chain:
    """A stream of bytes in hand, then of another stream, or the error that it ended with."""

    def __init__(self, parts: list[bytes], stream: BinaryIO, problem: Exception | None = None) -> None:
        self.held, self.at = b"".join(parts), 0
        self.stream, self.problem = stream, problem

    def read(self, size: int) -> bytes:
        """Return the next bytes; fewer than requested at the end alone, for parsers tell errors by what they have."""
        block = self.held[self.at : self.at + size]
        self.at += len(block)
        if len(block) == size:
            return block
        self.held, self.at = b"", 0
        if self.problem is not None:
            if block:
                return block
            raise self.problem
        return block + self.stream.read(size - len(block))

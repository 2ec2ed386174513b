"""What files of documents hold beyond what is read of them, by what would be written of that.

Records are compared as plain content: what a file holds with what would be written of what was read of it.

Also what the ids and references of documents say beyond which object lies in which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

import numpy as np

from treeanon.forest import Forest
from treeanon.forest.facets import with_facets
from treeanon.formats import Format
from treeanon.io.beyond.findings import Findings
from treeanon.io.interface import Document, RecordTexts, writer_of
from treeanon.io.output import is_part
from treeanon.io.profiles.seam import decoded, document_of, profile_of
from treeanon.io.sources import Source, Sources
from treeanon.schema import Schema
from treeanon.schema.reference_forms import number_of
from treeanon.schema.references import tied

_AT_ONCE = 20_000
_BLOCK = 1 << 20

TextsOf = Callable[[Forest, Schema], RecordTexts]
"""Makes the texts of the records of a forest."""


@dataclass
class Records:
    """The records that were read, in order, as they would be written.

    `broken` are the records that were not read: their sources and places, as readers name them; `kind` is the
    `[[file]]` that they are rows of.
    """

    forest: Forest
    form: Format
    broken: frozenset[tuple[str, str]]
    kind: str = ""

    def __post_init__(self) -> None:
        if not self.form.names_classes:
            object.__setattr__(self, "forest", with_facets(self.forest))

    def texts(self, writer: TextsOf | None = None) -> Iterator[str]:
        """Yield the text of each record, as the format's own writer makes it or another."""
        schema = self.forest.schema.for_format(self.form.name)
        texts = (writer or writer_of(self.form.name).texts)(self.forest, schema)
        for start in range(0, len(self.forest), _AT_ONCE):
            yield from texts.records(self.forest.take(np.arange(start, min(start + _AT_ONCE, len(self.forest)))))


class Look(Protocol):
    """Function of a format that counts what its files hold beyond the records that were read of them."""

    def __call__(self, sources: Sequence[Source], records: Records, found: Findings, /) -> None:
        """Count it."""


def look_at_documents(sources: Sources, records: Records, found: Findings) -> None:
    """Count what documents hold beyond the records that were read of them."""
    if sources.collection:
        found.add("file-names", sum(not is_part(_base(source.name)) for source in sources.items))
    if not records.broken and are_as_written(sources.items, records):
        return
    schema = records.forest.schema
    if profile_of(schema, records.form) is not None:
        # Taking back what a profile has changed could hide something: its releases are as they were written.
        found.add("form")
    if not records.form.beyond:
        found.add("form")
        return
    look: Look = records.form.function("beyond")
    look(decoded(sources.items, schema, records.form), records, found)


def _base(name: str) -> str:
    return name.replace(":", "/").replace("\\", "/").rpartition("/")[2]


def are_as_written(sources: Sequence[Source], records: Records) -> bool:
    """Return whether documents are, byte for byte, as they would be written in this order."""
    schema = records.forest.schema.for_format(records.form.name)
    document = document_of(schema, records.form, records.kind)
    # The texts are made in pieces as they are needed.
    lines = _Lines(document.line(number, text) for number, text in enumerate(records.texts(), start=1))
    if records.form.has_record_path and schema.input.whole_file:
        return all(_is_single(source, document.single, lines) for source in sources)
    return all(_is_document(source, document, lines) for source in sources)


class _Lines:
    """Texts of records, of which the next can be looked at."""

    def __init__(self, texts: Iterator[str]) -> None:
        self.texts = texts
        self.next = next(texts, None)

    def take(self) -> None:
        """Go on to the next one."""
        self.next = next(self.texts, None)


def _is_single(source: Source, single: Callable[[str], str], lines: _Lines) -> bool:
    if lines.next is None:
        return False
    wanted = single(lines.next).encode()
    lines.take()
    with source.open() as stream:
        return _Bytes(stream).has(wanted, only=True)


def _is_document(source: Source, document: Document, lines: _Lines) -> bool:
    joint, tail = document.joint.encode(), document.tail.encode()
    with source.open() as stream:
        content = _Bytes(stream)
        if lines.next is None:
            # A kind of files of which nothing is left.
            return content.has((document.head + document.tail.lstrip("\n")).encode(), only=True)
        before = document.head.encode()
        while lines.next is not None and content.has(before + lines.next.encode()):
            lines.take()
            if content.has(tail, only=True):
                return True
            before = joint
    return False


class _Bytes:
    """The bytes of a stream, compared piece by piece."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.held, self.at = stream, b"", 0

    def has(self, wanted: bytes, *, only: bool = False) -> bool:
        """Return whether these bytes are next (and nothing else follows), and go on behind them if they are."""
        need = len(wanted) + only
        while len(self.held) - self.at < need and (block := self.stream.read(max(_BLOCK, need))):
            self.held, self.at = self.held[self.at :] + block, 0
        if not self.held.startswith(wanted, self.at) or (only and len(self.held) - self.at > len(wanted)):
            return False
        self.at += len(wanted)
        return True


Content = str | dict[str, list[Any]]
"""A value as text, or what stands under each name, in order."""


def compare(own: Content, canonical: Content, found: Findings) -> None:
    """Count how a record differs from the same record as it would be written.

    >>> found = Findings()
    >>> compare({"ill": ["Flu", "Acne"]}, {"ill": ["Acne", "Flu"]}, found)
    >>> compare({"ill": ["Flu", "Flu"]}, {"ill": ["Flu"]}, found)
    >>> compare({"age": ["034"]}, {"age": ["34"]}, found)
    >>> dict(found.counts)
    {'order': 1, 'repeats': 1, 'spellings': 1}
    """
    if own == canonical:
        return
    if _sorted(own) == _sorted(canonical):
        found.add("order")
    elif _sorted(own, values=False) == _sorted(canonical, values=False):
        theirs = list(_values(canonical))
        found.add("spellings", max(1, sum(value not in theirs for value in _values(own))))
    elif (more := _size(own) - _size(canonical)) > 0:
        found.add("repeats", more)
    else:
        found.add("form")


def _sorted(content: Content, *, values: bool = True) -> Any:
    """Return the content without its order, and perhaps without its values."""
    if isinstance(content, str):
        return content if values else ""
    return tuple(
        (name, tuple(sorted((_sorted(item, values=values) for item in content[name]), key=repr)))
        for name in sorted(content)
    )


def _values(content: Content) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    else:
        for items in content.values():
            for item in items:
                yield from _values(item)


def _size(content: Content) -> int:
    """Return the number of values and objects."""
    if isinstance(content, str):
        return 1
    return 1 + sum(_size(item) for items in content.values() for item in items)


Key = tuple[int, int | str]
"""The class of an id, and its number; its text, if it is none."""


class KeyTexts:
    """Reader of the ids and references of records: each is told by where it first stands in its record.

    Counted are ids that are no numbers from 1 to that of all ids, that occur in two records, or that nothing refers to,
    and references to nothing.
    """

    def __init__(self, schema: Schema, found: Findings) -> None:
        self.found = found
        ties = tied(schema).ties if schema.references else ()
        self.called = {tie.target_class: (tie.target_class, tie.called) for tie in ties}
        self.signs = {tie.source_class: (tie.target_class, tie.sign) for tie in ties}
        self.numbers: set[Key] = set()
        self._open()

    def _open(self) -> None:
        self.places: dict[Key, int] = {}
        self.named: set[Key] = set()
        self.asked: set[Key] = set()

    def text(self, held: int, text: str) -> str:
        """Return what is to be compared of a value of a class."""
        form = self.called.get(held, self.signs.get(held))
        if form is None:
            return text
        number = number_of(form[1], text)
        key = form[0], text if number is None else number
        (self.named if held in self.called else self.asked).add(key)
        return str(self.places.setdefault(key, len(self.places) + 1))

    def end_record(self) -> None:
        """Count what is found in a record that ends."""
        if not self.called:
            return
        numbers = {key for key in self.named if isinstance(key[1], int)}
        strange = sum(not isinstance(name, int) for _, name in self.named | self.asked)
        self.found.add("keys", strange + len(numbers & self.numbers) + len(self.named ^ self.asked))
        self.numbers |= numbers
        self._open()

    def end(self) -> None:
        """Count what is found in all records."""
        self.found.add("keys", sum(isinstance(name, int) and name > len(self.numbers) for _, name in self.numbers))

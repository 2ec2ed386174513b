"""A record as the document that it is written as, with the change of every value in its place: for internal eyes.

The record is written by the format's own writer, with a mark in the place of each value, and what was written is taken
apart again. So a document looks as a release does, in every format, with keys and facets where they are.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lxml import etree

from treeanon.errors import TreeanonError
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.hierarchy import Flat
from treeanon.io.documents.json_write import is_number_text, json_text
from treeanon.io.documents.xml_write import xml_attribute
from treeanon.io.interface import writer_of
from treeanon.previews.model import Change, Node, NodeChange, RecordChange
from treeanon.schema import Schema

_MARK = "\ue000"
"""Begins what stands for a value; no name of a document and no constant of a schema has it."""


@dataclass(frozen=True)
class Value:
    """A value in a document: as it was, as it is published (None: not), and its changes.

    Constants of the schema, and ids that a release has, are not the record's `own`.
    """

    before: str
    after: str | None
    changes: frozenset[Change] = frozenset()
    is_own: bool = False


@dataclass(frozen=True)
class Part:
    """A part of a document: `lead`, then a value or further parts, then `trail`."""

    lead: str
    value: Value | None = None
    parts: tuple[Part, ...] = ()
    trail: str = ""

    def walk(self) -> Iterator[Part]:
        """Yield the part and all in it, in order."""
        yield self
        for part in self.parts:
            yield from part.walk()

    @property
    def changed(self) -> int:
        """The number of values that are not published as they were, or elsewhere."""
        return sum(bool(part.value.changes) for part in self.walk() if part.value is not None)

    @property
    def is_gone(self) -> bool:
        """Whether it held values of the record, and none of them is published."""
        own = [part.value for part in self.walk() if part.value is not None and part.value.is_own]
        return bool(own) and all(value.after is None for value in own)


def document_of(change: RecordChange, schema: Schema) -> Part | None:
    """Return the document of a record before its release, with the change of every value; None for formats without.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "age"\\npath = "age"')
    >>> forest = ta.Forest.from_records(schema, [[["age", "34", []]], [["age", "34", []]], [["age", "35", []]]])
    >>> found = document_of(ta.preview(forest, k=2, records=1).changes[0], schema)
    >>> found.lead, found.parts[0].lead, found.parts[0].value.before, found.parts[0].value.after
    ('{', '"age": ', '"34"', '"*"')
    """
    form = schema.input.form
    if not form.is_document or form.names_classes or any(node.cls == STAR for node in _all(change.before)):
        return None
    marked = _marked(schema)
    try:
        types = {held.name for held in schema.layout.classes if held.is_object}
        forest = Forest.from_records(marked, [[_tree(node, types) for node in change.before]])
        (text,) = writer_of("xml" if form.slashed else "json").texts(forest, marked).records(forest)
    except TreeanonError:
        return None
    values = _Values(change, schema)
    if form.slashed:
        spaces = "".join(f" xmlns:{p}={xml_attribute(uri)}" for p, uri in schema.input.namespaces.items() if p)
        return _Xml(values, schema).part(etree.fromstring(f"<r{spaces}>{text}</r>")[0])
    return _json_part("", json.loads(text), values)


def _all(nodes: Sequence[Node]) -> Iterator[Node]:
    return (inner for node in nodes for inner in node.walk())


def _marked(schema: Schema) -> Schema:
    """Return the schema by which marks are written in the place of values."""
    classes = tuple(
        replace(spec, type="text", hierarchy=Flat(), hierarchy_source=None, facets={}, pseudonym=False, role="keep")
        for spec in schema.classes
        if spec.published
    )
    return replace(schema, classes=classes)


def _tree(node: Node, types: Collection[str]) -> list[Any]:
    value = node.value if node.cls in types else f"{_MARK}{node.id:08}"
    return [node.cls, value, [_tree(child, types) for child in node.children]]


class _Values:
    """The values of a record by their marks."""

    def __init__(self, change: RecordChange, schema: Schema) -> None:
        self.before = {node.id: node for node in _all(change.before)}
        self.after = {node.id: node for node in _all(change.after or ())}
        self.fates: dict[int, NodeChange] = {fate.before: fate for fate in change.fates}
        self.typed = {spec.name for spec in schema.classes if spec.type in ("integer", "number")}

    def of(self, text: str, *, quoted: bool) -> Value:
        """Return the value that a text stands for; a constant stands for itself."""
        if not text.startswith(_MARK):
            own = json_text(text) if quoted else text
            return Value(own, own)
        node = self.before[int(text[1:])]
        fate = self.fates[node.id]
        after = None if fate.after is None else self.after[fate.after].value
        show = self._json if quoted else self._plain
        return Value(
            show(node.cls, node.value),
            None if after is None else show(node.cls, after),
            fate.changes,
            is_own=True,
        )

    def _json(self, name: str, text: str) -> str:
        return text if name in self.typed and is_number_text(text) else json_text(text)

    def _plain(self, name: str, text: str) -> str:
        return text


def _json_part(name: str, value: Any, values: _Values) -> Part:
    lead = f"{json_text(name)}: " if name else ""
    if isinstance(value, dict):
        return Part(lead + "{", None, tuple(_json_part(key, inner, values) for key, inner in value.items()), "}")
    if isinstance(value, list):
        return Part(lead + "[", None, tuple(_json_part("", inner, values) for inner in value), "]")
    return Part(lead, values.of(value, quoted=True))


class _Xml:
    """Elements as parts, with the prefixes of the schema."""

    def __init__(self, values: _Values, schema: Schema) -> None:
        self.values = values
        self.prefixes = {uri: prefix for prefix, uri in schema.input.namespaces.items()}

    def name(self, tag: str) -> str:
        """Return a qualified name as the schema writes it."""
        uri, _, local = tag.rpartition("}")
        prefix = self.prefixes.get(uri[1:], "") if uri else ""
        return f"{prefix}:{local}" if prefix else local

    def part(self, element: Any) -> Part:
        """Return an element."""
        name = self.name(element.tag)
        parts = [
            Part(f"@{self.name(key)}=", self.values.of(text, quoted=False)) for key, text in element.attrib.items()
        ]
        text = [Part("", self.values.of(element.text, quoted=False))] if element.text else []
        inner = [self.part(child) for child in element]
        if text and not parts and not inner:
            return replace(text[0], lead=f"<{name}>", trail=f"</{name}>")
        return Part(f"<{name}>", None, (*parts, *text, *inner), f"</{name}>")

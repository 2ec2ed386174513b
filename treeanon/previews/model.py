"""A record before and after, with the change of each of its values, also as the document that it is written as.

It holds *original* values. Renderers for the public show only the `after` side, without `number`.

Changes can be converted to plain data for JSON.

The record is written by the format's own writer, with a mark in the place of each value, and what was written is taken
apart again. So a document looks as a release does, in every format, with keys and facets where they are.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from lxml import etree

from treeanon.errors import TreeanonError
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.hierarchy import Flat
from treeanon.io.documents.json_write import is_number_text, json_text
from treeanon.io.documents.xml_write import xml_attribute
from treeanon.io.interface import writer_of
from treeanon.schema import Schema

Change = Literal["generalized", "moved", "merged", "dropped", "left-out"]
"""Changes of a node: a more general value, another parent, one node with others, or not published."""


@dataclass(frozen=True)
class Node:
    """A node to draw; `id` numbers the nodes of one side (before or after) in preorder from 0."""

    id: int
    cls: str
    value: str
    children: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        """Yield the node and all below it, in preorder."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class NodeChange:
    """The change of one original node.

    `after` is the published node that it became part of (None: dropped), `moved_from` the uppermost former ancestor
    that it was moved away from (None: not moved), and `changes` the kinds of change.
    """

    before: int
    after: int | None
    changes: frozenset[Change] = frozenset()
    moved_from: int | None = None


@dataclass(frozen=True)
class RecordChange:
    """One record before and after. `number` counts the input's records from 0; `after` is None if suppressed.

    `fates` has one entry per node of `before`, in the order of their ids. `change` goes from 0 (unchanged) to 1
    (nothing left); `--worst` sorts by it.
    """

    number: int
    before: tuple[Node, ...]
    after: tuple[Node, ...] | None
    fates: tuple[NodeChange, ...]
    change: float


@dataclass(frozen=True)
class RowChange:
    """One row of a table before and after, a text per column (None: missing); `after` is None if suppressed.

    `alike` is the number of published rows with its quasi-identifiers, itself included.
    """

    number: int
    columns: tuple[str, ...]
    before: tuple[str | None, ...]
    after: tuple[str | None, ...] | None
    alike: int
    change: float


def plain_change(change: RecordChange | RowChange) -> dict[str, Any]:
    """Return a change as plain data; records are counted from 1, as in all output.

    >>> row = RowChange(0, ("age",), ("34",), ("30-39",), 2, 0.5)
    >>> plain_change(row)["after"]
    {'age': '30-39'}
    """
    common = {"record": change.number + 1, "change": round(change.change, 6)}
    if isinstance(change, RowChange):
        sides = {"before": change.before, "after": change.after}
        named = {
            name: None if row is None else dict(zip(change.columns, row, strict=True)) for name, row in sides.items()
        }
        return {**common, **named, "alike": change.alike}
    return {
        **common,
        "before": [_plain_node(node) for node in change.before],
        "after": None if change.after is None else [_plain_node(node) for node in change.after],
        "nodes": [
            {"before": fate.before, "after": fate.after, "changes": sorted(fate.changes), "moved_from": fate.moved_from}
            for fate in change.fates
        ],
    }


def _plain_node(node: Node) -> dict[str, Any]:
    """Return a node as plain data; the recursion is as deep as the class tree, which is shallow."""
    below = [_plain_node(child) for child in node.children]
    return {"id": node.id, "class": node.cls, "value": node.value, "children": below}


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

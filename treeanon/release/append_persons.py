"""Persons of a delivery, and how they are recognized in the next one: by an identifier of theirs, or by their content.

Identifiers are read for that alone, hashed with the key of a history, and never become part of the trees.
"""

from __future__ import annotations

import hmac
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from treeanon.arrays import Longs
from treeanon.errors import DataError, UsageError
from treeanon.forest import Forest
from treeanon.forest.classes import Classes
from treeanon.forest.forest import Tree
from treeanon.schema import Schema


@dataclass(frozen=True, repr=False)
class Persons:
    """The trees of persons, and their identifiers where they are recognized by one."""

    forest: Forest
    ids: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.forest)

    def __repr__(self) -> str:
        return f"<Persons: {len(self):,}>"

    def marked(self, key: bytes) -> Marked:
        """Return the persons with keyed hashes of who everybody is (by content, where nothing else tells)."""
        contents = tuple(content_mark(key, tree) for tree in self.forest.records())
        marks = contents if self.ids is None else tuple(keyed(key, "person", text) for text in self.ids)
        return Marked(self.forest, marks, contents)


@dataclass(frozen=True, repr=False)
class Marked:
    """Persons, and for each the keyed hash of who it is and that of the content."""

    forest: Forest
    marks: tuple[str, ...]
    contents: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.marks)

    def __repr__(self) -> str:
        return f"<Marked: {len(self):,}>"

    def take(self, chosen: Longs) -> Marked:
        """Return the chosen persons."""
        places = chosen.tolist()
        return Marked(
            self.forest.take(chosen), tuple(self.marks[i] for i in places), tuple(self.contents[i] for i in places)
        )

    def delivery(self, key: bytes) -> str:
        """Return the keyed hash of all of them together, in whatever order."""
        return keyed(key, "delivery", " ".join(sorted(map("".join, zip(self.marks, self.contents, strict=True)))))


def content_mark(key: bytes, tree: Tree) -> str:
    """Return the keyed hash of a tree."""
    return keyed(key, "tree", json.dumps(tree, ensure_ascii=True))


def keyed(key: bytes, kind: str, text: str) -> str:
    """Return the keyed hash of a text of a kind.

    >>> keyed(b"0" * 32, "person", "17") == keyed(b"1" * 32, "person", "17")
    False
    """
    return hmac.new(key, f"{kind} {text}".encode("utf-8", "surrogatepass"), sha256).hexdigest()[:40]


def reading_schema(schema: Schema, person: str | None) -> Schema:
    """Return the schema by which persons are read who are recognized by an identifier: that is read, too."""
    if person is None:
        return schema
    known = [spec.name for spec in schema.classes if spec.role == "identifier" and spec.path is not None]
    if person not in known:
        raise UsageError(
            f"persons can be recognized by a class of role identifier, and {person!r} is none of the schema's;"
            f" it has: {', '.join(known) or 'none'}"
        )
    if schema.spec(person).pseudonym:
        # Its pseudonyms, which are published, tell who is who as well.
        return schema
    classes = [replace(spec, role="keep") if spec.name == person else spec for spec in schema.classes]
    return replace(schema, classes=tuple(classes))


def persons_of(forest: Forest, schema: Schema, person: str | None) -> Persons:
    """Return the persons of a forest that was read by `reading_schema`; `schema` is the one given.

    DataError unless everybody has one identifier, and nobody that of another.
    """
    if person is None:
        return Persons(forest)
    index = forest.classes.index(person)
    nodes = np.flatnonzero(forest.classes.class_of[forest.label] == index)
    record = np.searchsorted(forest.offsets, nodes, side="right") - 1
    times = np.bincount(record, minlength=len(forest))
    if (times != 1).any():
        none, several = int((times == 0).sum()), int((times > 1).sum())
        raise DataError(
            f"class {person!r} is to tell who a person is, but {none:,} records have no value of it and {several:,}"
            " several"
        )
    ids = tuple(forest.classes.texts_of(index, forest.label[nodes]))
    if twice := sum(count - 1 for count in Counter(ids).values()):
        raise DataError(f"{twice:,} records have a value of class {person!r} that another record has, too")
    return Persons(forest if schema.spec(person).pseudonym else _without(forest, schema, person), ids)


def _without(forest: Forest, schema: Schema, person: str) -> Forest:
    """Return a forest as the schema without one class would have read it."""
    spec = schema.spec(person)
    own = replace(forest.schema, classes=tuple(spec if each.name == person else each for each in forest.schema.classes))
    rest, layout, old = forest.without([person]), own.layout, forest.classes
    classes = Classes(
        tuple(held.name for held in layout.classes),
        tuple(held.parent for held in layout.classes),
        tuple(old.hierarchies[old.index(held.name)] for held in layout.classes),
        layout.types,
    )
    mapping = np.zeros(len(old), np.int32)
    for index, name in enumerate(classes.names):
        first = int(old.first[old.index(name)])
        mapping[first : first + len(classes.hierarchies[index])] = np.arange(
            classes.first[index], classes.first[index + 1]
        )
    return Forest(own, classes, rest.offsets, rest.parent, mapping[rest.label], forest.report)


def together(forest: Forest, trees: Sequence[Tree]) -> Forest:
    """Return a forest with the trees of others behind its own."""
    if not trees:
        return forest
    found = Forest.from_records(forest.schema, [*forest.records(), *trees])
    return replace(found, report=forest.report)

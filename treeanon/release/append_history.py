"""The private file of what was published so far: who is in it, as keyed hashes, and who waits for the next time.

Nothing of it may be published. Who has it can try out whether a person whose record or identifier is known was
published, as the key lies beside the hashes; and it holds the records of those who wait as they are. The key keeps
hashes of two histories from being compared. So the file is its owner's alone to read.

Also persons of a delivery, and how they are recognized in the next one: by an identifier of theirs, or by their
content.

Identifiers are read for that alone, hashed with the key of a history, and never become part of the trees.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np

from treeanon.algorithms.tree.solution import Solution
from treeanon.arrays import Longs
from treeanon.errors import DataError, UsageError
from treeanon.forest import Forest
from treeanon.forest.classes import Classes
from treeanon.forest.forest import Tree
from treeanon.io.output import open_output
from treeanon.release.solution_file import PlainFile, version
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


VERSION = 1
_KEYS = ("version", "treeanon", "kind", "key", "solution", "person", "published", "deliveries", "held")
_KIND = "history of releases"
_MANY = 50
"""So many persons are not all in a delivery again by chance, who are recognized by their content alone."""

_FIXED = "what is published stays published, and a second version beside it could be compared with the first"


@dataclass(frozen=True, repr=False)
class Held:
    """A person who waits for the next time: the hash of who it is, and the tree as it was read."""

    mark: str
    tree: Tree


@dataclass(frozen=True, repr=False)
class History(PlainFile):
    """Who was published by a solution, and who is held back.

    `published` has by the hash of each person that of the content; where persons are recognized by their content alone,
    how often it was published. `person` is the class that tells who a person is. `deliveries` are hashes of those that
    were appended.
    """

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    solution: str = ""
    person: str | None = None
    published: Mapping[str, str | int] = field(default_factory=dict)
    deliveries: tuple[str, ...] = ()
    held: tuple[Held, ...] = ()

    def __repr__(self) -> str:
        return f"<History: {self.persons:,} persons published, {len(self.held):,} held back>"

    @property
    def persons(self) -> int:
        """How many persons are known to be published."""
        if self.person is not None:
            return len(self.published)
        return sum(times for times in self.published.values() if isinstance(times, int))

    def digest(self, solution: Solution) -> str:
        """Return the keyed hash of what a solution does."""
        plain = solution.as_dict()
        parts = [plain[name] for name in ("cut", "withheld", "disassociated", "left_out", "objects")]
        return keyed(self.key, "solution", json.dumps(parts, sort_keys=True))

    def check(self, solution: Solution, delivery: Marked, person: str | None) -> None:
        """UsageError if the history is of another solution, or recognizes persons otherwise; DataError if it has this
        delivery.
        """
        if self.solution and self.solution != self.digest(solution):
            raise UsageError("the history is of another solution: give the one that was used last")
        if self.person != person and (self.published or self.held):
            how = f"by class {self.person!r} (--person)" if self.person else "by their content (no --person)"
            raise UsageError(f"the history recognizes persons {how}")
        if delivery.delivery(self.key) in self.deliveries:
            raise DataError("this delivery was appended already: nobody in it is new")

    def new_in(self, delivery: Marked, *, full: bool) -> Longs:
        """Return who of a delivery was not published before; DataError for who changed, is missing, or comes again.

        A full delivery has everybody who was published, too; without it everybody is said to be new.
        """
        if self.person is None:
            return self._new_by_content(delivery.contents, full=full)
        known = np.array([mark in self.published for mark in delivery.marks], bool)
        pairs = zip(delivery.marks, delivery.contents, strict=True)
        changed = sum(mark in self.published and self.published[mark] != own for mark, own in pairs)
        missing = len(self.published) - int(known.sum()) if full else 0
        if changed or missing:
            raise DataError(
                f"of the persons published before {changed:,} have changed and {missing:,} are missing: {_FIXED}"
            )
        if known.any() and not full:
            raise DataError(
                f"{int(known.sum()):,} of {len(delivery):,} persons were published before: deliver new persons alone,"
                " or everybody (--full)"
            )
        return np.flatnonzero(~known)

    def _new_by_content(self, contents: Sequence[str], *, full: bool) -> Longs:
        """Return the same where persons are recognized by content: of equal ones it does not matter who is who."""
        left = Counter({mark: int(times) for mark, times in self.published.items()})
        is_new = np.ones(len(contents), bool)
        for number, mark in enumerate(contents):
            if left[mark] > 0:
                left[mark] -= 1
                is_new[number] = False
        missing = left.total()
        if full and missing:
            raise DataError(
                f"{missing:,} of the persons published before are not there as they were, so they have changed or are"
                f" missing (or the schema has changed): {_FIXED}"
            )
        if not full and not missing and self.persons >= _MANY:
            raise DataError(
                "everybody who was published before is in the data again: deliver new persons alone, or say that"
                " everybody is there (--full)"
            )
        return np.flatnonzero(is_new) if full else np.arange(len(contents))

    def alike(self, delivery: Marked, new: Longs) -> int:
        """Return how many persons that are said to be new have the content of somebody who was published."""
        if self.person is not None:
            return 0
        return sum(delivery.contents[i] in self.published for i in new.tolist())

    def with_waiting(self, delivery: Marked, new: Longs, *, full: bool) -> Marked:
        """Return the new persons of a delivery and those who wait, of whom it may have a newer version.

        A full delivery has those who wait, too.
        """
        found, here = delivery.take(new), set(delivery.marks)
        waiting = [] if full else [one for one in self.held if self.person is None or one.mark not in here]
        trees = [one.tree for one in waiting]
        return Marked(
            together(found.forest, trees),
            (*found.marks, *(one.mark for one in waiting)),
            (*found.contents, *(content_mark(self.key, tree) for tree in trees)),
        )

    def of_earlier(self, earlier: Marked, person: str | None) -> History:
        """Return the history with the persons of an earlier release."""
        return replace(self, person=person, published=self._with(earlier, person))

    def after(
        self, delivery: Marked, candidates: Marked, kept: Longs, solution: Solution, person: str | None
    ) -> History:
        """Return the history after a delivery, of whose candidates (with those who waited) some were published."""
        others = candidates.take(np.setdiff1d(np.arange(len(candidates)), kept))
        held = tuple(Held(mark, tree) for mark, tree in zip(others.marks, others.forest.records(), strict=True))
        return replace(
            self,
            solution=self.digest(solution),
            person=person,
            published=self._with(candidates.take(kept), person),
            deliveries=(*self.deliveries, delivery.delivery(self.key)),
            held=held,
        )

    def _with(self, more: Marked, person: str | None) -> dict[str, str | int]:
        out = dict(self.published)
        for mark, content in zip(more.marks, more.contents, strict=True):
            out[mark] = int(out.get(mark, 0)) + 1 if person is None else content
        return out

    def as_dict(self) -> dict[str, Any]:
        """Return the history as plain data; it holds records as they are."""
        return {
            "version": VERSION,
            "treeanon": version(),
            "kind": _KIND,
            "key": self.key.hex(),
            "solution": self.solution,
            "person": self.person,
            "published": dict(self.published),
            "deliveries": list(self.deliveries),
            "held": [{"mark": one.mark, "tree": one.tree} for one in self.held],
        }

    @classmethod
    def from_dict(cls, plain: object) -> Self:
        """Return the history of plain data; UsageError says what is wrong with it."""
        wrong = UsageError("is no history that treeanon append has written")
        if not isinstance(plain, dict) or plain.get("kind") != _KIND or sorted(plain) != sorted(_KEYS):
            raise wrong
        if plain["version"] != VERSION:
            raise UsageError(f"its version is not known; this treeanon reads version {VERSION}")
        published, held = plain["published"], plain["held"]
        if not isinstance(published, dict) or not isinstance(held, list) or not isinstance(plain["deliveries"], list):
            raise wrong
        try:
            own = tuple(Held(str(one["mark"]), list(one["tree"])) for one in held)
            key, deliveries = bytes.fromhex(plain["key"]), tuple(plain["deliveries"])
            return cls(key, plain["solution"], plain["person"], published, deliveries, own)
        except (TypeError, ValueError, KeyError):
            raise wrong from None

    def write(self, target: str | Path, *, force: bool = False) -> None:
        """Write the file, whole or not at all, for its owner alone to read."""
        with self.written_after(target, force=force):
            pass

    @contextmanager
    def written_after(self, target: str | Path, *, force: bool = False) -> Iterator[None]:
        """Write the file when the block has ended without an error: so it never tells of what did not appear."""
        with open_output(target, force=force, private=True) as stream:
            stream.write((json.dumps(self.as_dict(), ensure_ascii=True) + "\n").encode())
            yield

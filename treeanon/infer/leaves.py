"""Paths of possible classes from counted places; arrays of mixed kinds are split by a distinguishing field."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from treeanon.infer.model import LeftOut
from treeanon.infer.sampling import MOST_KINDS, Evidence, Names, Place, Values
from treeanon.schema import FieldPath, Predicate, Step
from treeanon.schema.layout import MOVED

_FEWEST, _MANY = 2, 12
_EACH = 3
"""Least mean number of items of a kind, where there are many kinds: constants of fewer may be values."""

_ALIKE = 0.6
"""Largest mean share of common fields of items of different kinds."""

_SAYS_KIND = frozenset({"resourceType", "templateId", "section"})
"""Steps to a constant that says a kind by the standard it belongs to, whatever the fields beside it."""

_CONSTANT = re.compile(r"[\w][\w .:/+-]{0,60}")

Kinds = Mapping[Names, "Kind"]


@dataclass(frozen=True)
class Kind:
    """The field that distinguishes kinds: its path of names, with an attribute at the end in XML."""

    names: tuple[str, ...]
    attribute: str | None


def find_kinds(root: Place) -> dict[Names, Kind]:
    """Return the field that distinguishes kinds, for every repeated place that needs one."""
    found: dict[Names, Kind] = {}
    stack = [root]
    while stack:
        place = stack.pop()
        stack.extend(place.fields.values())
        if place.items is not None:
            stack.append(place.items)
        if place.repeated and place.name is not None:
            chosen = next((c for c, seen in place.evidence.items() if _tells_apart(c, seen, place)), None)
            if chosen is not None:
                is_attribute = chosen[-1].startswith("@")
                found[place.path] = Kind(
                    chosen[:-1] if is_attribute else chosen, chosen[-1][1:] if is_attribute else None
                )
    return found


def _tells_apart(candidate: tuple[str, ...], evidence: Evidence, place: Place) -> bool:
    """Return whether a field of every item says of which kind it is, at any number of kinds."""
    kinds = len(evidence.kinds)
    if evidence.items != place.objects or not _FEWEST <= kinds < MOST_KINDS:
        return False
    if not all(_CONSTANT.fullmatch(constant) and constant == constant.strip() for constant in evidence.kinds):
        return False
    if _SAYS_KIND & {_local(name) for name in (place.name or "", *candidate)}:
        return True
    if kinds > _MANY and evidence.items < _EACH * kinds:
        return False
    pairs = list(combinations(evidence.kinds.values(), 2))
    return sum(len(a & b) / (len(a | b) or 1) for a, b in pairs) / len(pairs) <= _ALIKE


MOST_FIELDS = 50
"""Objects with more distinct keys than this, most of them rare, are maps: their keys are data."""

_DATA_KEY = re.compile(r"[-+]?\d[\d\-/.:,T ]*|[^@\s]+@[^@\s]+|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}")


@dataclass(eq=False)
class Holder:
    """The record or one repeated object: the future container of classes.

    `most` is the largest number in one record, `kind` the constant that distinguishes it.
    """

    path: FieldPath
    parent: Holder | None
    instances: int
    most: int
    kind: str | None = None

    @property
    def once(self) -> bool:
        """Whether a record has at most one, though it could repeat, because it is one kind among others."""
        return (
            self.parent is not None
            and self.kind is not None
            and self.most <= 1
            and (self.parent.parent is None or self.parent.once)
        )

    @property
    def in_record(self) -> bool:
        """Whether it describes the person as a whole."""
        return self.parent is None or self.once


@dataclass(frozen=True, eq=False)
class Leaf:
    """One place with values; `labels` are the names on the path to it, from which the class gets its name.

    `shared` says that it describes something that many persons have in common, such as a town; `siblings` are the plain
    names of the fields beside it.
    """

    path: FieldPath
    values: Values
    holder: Holder
    labels: tuple[str, ...]
    instances: int
    shared: bool = False
    siblings: frozenset[str] = frozenset()


@dataclass
class Leaves:
    """Collector of leaves from a tree of places; `short` returns a key or tag as paths write it, or None."""

    slashed: bool
    short: Callable[[str], str | None]
    kinds: Kinds
    found: list[Leaf] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    fixed: set[FieldPath] = field(default_factory=set)
    parents: list[int] = field(default_factory=list)

    def gather(self, root: Place) -> Leaves:
        """Collect everything below the record's place, and return the collector."""
        record = Holder(FieldPath(()), None, root.instances, 1)
        self.parents = root.parents
        if root.values.occurrences:
            self.leave("(the record's own text)", "a path cannot name the text of the record's element")
        self.inner(root, (), record, ())
        self.found = _with_siblings([leaf for leaf in self.found if bare(leaf.path) not in self.fixed])
        return self

    def leave(self, path: str, why: str) -> None:
        """Note a place that will not be in the schema."""
        self.left_out.append(LeftOut(path, why))

    def inner(self, place: Place, steps: tuple[Step, ...], holder: Holder, labels: tuple[str, ...]) -> None:
        """Collect the content of the objects or elements at a place."""
        for name, at in place.attributes.items():
            self.attribute(name, at, steps, holder, labels)
        path = FieldPath(steps).text(slashed=self.slashed)
        names = self.proper_fields(place, path or "the record")
        for name in names:
            self.field(name, place.fields[name], steps, holder, labels)

    def proper_fields(self, place: Place, path: str) -> list[str]:
        """Return the names of fields, without those that are data."""
        names = list(place.fields)
        rare = [name for name in names if place.fields[name].records * 2 < place.records]
        if not self.slashed and looks_like_data(names):
            self.leave(path, f"its {len(names):,} keys look like data (numbers, dates, addresses), not like names")
            return []
        if not self.slashed and len(names) >= 10 and all(5 * place.fields[n].records < place.records for n in names):
            self.leave(path, f"its {len(names):,} keys are all rare: they look like data, not like names")
            return []
        if not self.slashed and (place.overflow or len(names) > MOST_FIELDS) and 2 * len(rare) > len(names):
            self.leave(path, f"{len(rare):,} of its keys are rare: they look like data, not like names")
            return [name for name in names if name not in set(rare)] if path == "the record" else []
        return names

    def attribute(self, name: str, at: Place, steps: tuple[Step, ...], holder: Holder, labels: tuple[str, ...]) -> None:
        """Collect one attribute."""
        short = self.short("@" + name)
        if short is None:
            return self.leave(self.path_text(steps, "@" + name), "speaks of the document, or has a name no path has")
        if at.values.occurrences:
            self.found.append(Leaf(FieldPath(steps, short), at.values, holder, (*labels, _local(short)), at.instances))
        else:
            self.leave(self.path_text(steps, "@" + short), "always empty")

    def field(self, name: str, at: Place, steps: tuple[Step, ...], holder: Holder, labels: tuple[str, ...]) -> None:
        """Collect one key or child element."""
        short = self.short(name)
        if short is None:
            return self.leave(self.path_text(steps, name), "a path cannot write this name")
        problem = _problem(at, slashed=self.slashed)
        if problem:
            return self.leave(self.path_text(steps, short), problem)
        labels = (*labels, self.label(steps, short))
        if at.kinds:
            self.of_kinds(short, at, steps, holder, labels)
        elif at.repeated:
            steps = (*steps, self.step(steps, short, repeated=True))
            self.instances(at, steps, Holder(FieldPath(steps), holder, at.instances, at.most), labels)
        else:
            self.instances(at, (*steps, self.step(steps, short, repeated=False)), holder, labels)

    def step(self, steps: tuple[Step, ...], short: str, *, repeated: bool) -> Step:
        """Return the step to a key or child element."""
        return Step(short, repeated)

    def label(self, steps: tuple[Step, ...], short: str) -> str:
        """Return what a step to a key or child element adds to the names of classes."""
        return _local(short) if self.slashed else short

    def of_kinds(self, short: str, at: Place, steps: tuple[Step, ...], holder: Holder, labels: tuple[str, ...]) -> None:
        """Collect each kind of item separately."""
        kind = self.kinds[at.path]
        names = tuple(name if name == "*" else self.short(name) or "" for name in kind.names)
        # the name of an element, which has the prefix of the one around it
        before = names[-2].rpartition(":")[0] + ":" if names[-1:] == ("*",) and ":" in names[-2] else ""
        tail = tuple(Step(name) for name in names)
        fixed = FieldPath((*(Step(s.name) for s in steps), Step(short), *tail), kind.attribute)
        self.fixed.add(fixed)
        for constant, place in sorted(at.kinds.items()):
            own = (*steps, Step(short, True, Predicate(names, kind.attribute, before + constant)))
            inner = Holder(FieldPath(own), holder, place.instances, place.most, constant)
            self.instances(place, own, inner, (*labels, constant))

    def instances(self, at: Place, steps: tuple[Step, ...], holder: Holder, labels: tuple[str, ...]) -> None:
        """Collect the instances of a place: values, arrays, or objects."""
        if at.items is not None and at.arrays > at.empty_arrays:
            problem = _problem(at.items, slashed=self.slashed)
            if problem:
                return self.leave(self.path_text(steps, "[]"), problem)
            steps = (*steps, Step(None, True))
            return self.instances(at.items, steps, Holder(FieldPath(steps), holder, at.instances, at.most), labels)
        if at.values.occurrences:
            self.found.append(Leaf(FieldPath(steps), at.values, holder, labels, at.instances))
        elif not (at.fields or at.attributes or at.kinds):
            self.leave(self.path_text(steps, ""), "always empty")
        self.inner(at, steps, holder, labels)

    def path_text(self, steps: tuple[Step, ...], name: str) -> str:
        """Return the path of something left out, as comments show it."""
        if name == "[]" or not name:
            return FieldPath(steps).text(slashed=self.slashed) + name
        if name.startswith("@") and self.slashed:
            return FieldPath(steps, _local(name[1:])).text(slashed=True)
        return FieldPath((*steps, Step(_local(name) if self.slashed else name))).text(slashed=self.slashed)


def _with_siblings(leaves: list[Leaf]) -> list[Leaf]:
    """Return the leaves, each with the names of the fields beside it."""
    beside: dict[tuple[Step, ...], set[str]] = {}
    places = []
    for leaf in leaves:
        path = leaf.path
        steps, name = (path.steps[:-1], path.steps[-1].name) if path.attribute is None else (path.steps, path.attribute)
        places.append((steps, _local(name or "")))
        beside.setdefault(steps, set()).add(places[-1][1])
    found = zip(leaves, places, strict=True)
    return [replace(leaf, siblings=frozenset(beside[steps] - {name})) for leaf, (steps, name) in found]


def _problem(at: Place, *, slashed: bool) -> str:
    """Return why no path can read the values at a place; empty if one can."""
    if slashed:
        return ""
    is_value, is_object = at.values.occurrences > 0, bool(at.fields)
    arrays = at.arrays - at.empty_arrays
    if at.unreadable:
        return "holds a NUL character, which no value may"
    if is_value + is_object + (arrays > 0) > 1:
        kinds = ("values", is_value), ("objects", is_object), ("arrays in arrays", arrays)
        return "mixes " + " and ".join(name for name, there in kinds if there)
    if arrays and arrays + at.empty_arrays != at.instances:
        return "holds arrays in an array, and beside them null, empty or other items"
    if at.empty_arrays and is_object:
        return "holds objects and, beside them, empty arrays in an array"
    return ""


def dotted_name(name: str) -> str | None:
    """Return the key unchanged, or None if a path cannot write it or it is reserved.

    >>> dotted_name("a.b"), dotted_name("both ' and " + '"')
    ('a.b', None)
    """
    return None if name == MOVED or ("'" in name and '"' in name) else name


def _local(name: str) -> str:
    return name.rpartition("}")[2].rpartition(":")[2]


def looks_like_data(names: Sequence[str]) -> bool:
    """Return whether names are surely data: all of them numbers, dates or addresses.

    >>> looks_like_data(["34", "2020-01-02", "12103"]), looks_like_data(["34", "age", "12103"])
    (True, False)
    """
    return len(names) >= 3 and all(map(_DATA_KEY.fullmatch, names))


def bare(path: FieldPath) -> FieldPath:
    """Return the path without marks and predicates."""
    return FieldPath(tuple(Step(step.name) for step in path.steps), path.attribute)

"""References inside documents: an object that refers to another by a `[[key]]` is an object of it in the tree.

Such a schema has two layouts. That of the *documents* is how readers and writers find the objects, beside one another,
with the fields that refer and those that are referred to as classes of their own. That of the *records* has each object
in the one that it refers to. Classes have the same numbers in both; those of keys come after all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from treeanon.errors import Problem, SchemaError, UsageError
from treeanon.schema.layout import ROOT, Container, Layout, PublishedClass, Shape, compile_layout
from treeanon.schema.model import ClassSpec, Reference
from treeanon.schema.paths import FieldPath
from treeanon.schema.reference_forms import Steps, forms, object_steps, until_repeated

if TYPE_CHECKING:
    from collections.abc import Callable

    from treeanon.schema.model import Schema


@dataclass(frozen=True)
class Tie:
    """A key in use: the class of the field that refers and that of the field referred to, and the containers of both.

    Classes and containers are those of the documents' layout. `sign` and `called` are what stands before the number
    of an object where it is referred to and where it is named. `holder` is the container of the objects that refer:
    that of the field, or, where this is one of a list of references, the one around the items of the list.
    """

    number: int
    reference: Reference
    source_class: int
    target_class: int
    source: int
    target: int
    holder: int
    sign: str
    called: str

    @property
    def is_inside(self) -> bool:
        """Whether one of the two objects lies in the other."""
        return self.reference.inside

    @property
    def is_list(self) -> bool:
        """Whether an object has a list of such references, whose items hold nothing else."""
        return self.holder != self.source

    @property
    def inner(self) -> int:
        """The container of the objects that lie in others: those that refer, or those that are listed."""
        return self.target if self.is_list else self.source

    @property
    def outer(self) -> int:
        """The container of the objects that others lie in."""
        return self.holder if self.is_list else self.target


@dataclass(frozen=True)
class Tied:
    """The two layouts of a schema with keys; `containers` has that of the records for each of the documents.

    Records have no items of lists of references (-1): what is listed lies in the object that has the list.
    """

    records: Layout
    documents: Layout
    containers: tuple[int, ...]
    ties: tuple[Tie, ...]


def _around(steps: Steps) -> Steps:
    """Return the steps to the object around a repeated one."""
    return until_repeated(steps[:-1])


def _published(schema: Schema) -> set[Steps]:
    """Return the objects in which anything is published beside references and what they name."""
    ends = {path for key in schema.references for path in (key.path, key.target)}
    paths = [spec.path for spec in schema.classes if spec.path and spec.published and spec.path not in ends]
    return {path.steps[:at] for path in paths for at in _lengths(path)}


def _is_item(path: FieldPath) -> bool:
    """Return whether a field is the item of a list itself."""
    return bool(path.steps) and path.steps[-1].repeated and path.attribute is None


def _is_list(key: Reference, published: set[Steps]) -> bool:
    """Return whether a key is one of lists of references: items that hold nothing else, in objects other than records.

    Where nothing is published of an object beside what it refers to, it is no list of that.
    """
    item = object_steps(key.path)
    if not item or item in published or not _around(item):
        return False
    return not key.inside or _is_item(key.path) or _around(item) != _around(object_steps(key.target))


def _ends(key: Reference, published: set[Steps]) -> tuple[Steps, Steps]:
    """Return the objects that lie in others by a key, and those that they lie in."""
    source, target = object_steps(key.path), object_steps(key.target)
    return (target, _around(source)) if _is_list(key, published) else (source, target)


@lru_cache(maxsize=32)
def as_documents(schema: Schema) -> Schema:
    """Return the schema by which documents are read, where objects stand beside those that they refer to."""
    return replace(schema, as_documents=True) if schema.references else schema


def refuse_references(schema: Schema, by: str) -> None:
    """UsageError for references inside documents, which whoever is named does not follow."""
    if schema.references:
        raise UsageError(
            f"key: {by} does not follow references inside documents; use the local engine, or leave [[key]]s out"
        )


def through_references(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """Return what a function of the paths of classes makes of a schema, the paths of keys changed as well."""
    if not schema.references:
        return change(schema)
    paths = [path for key in schema.references for path in (key.path, key.target)]
    listed = tuple(ClassSpec(f"treeanon key {at}", path, role="drop") for at, path in enumerate(paths))
    count = len(schema.classes)
    changed = change(replace(schema, classes=(*schema.classes, *listed), references=()))
    found = [spec.path for spec in changed.classes[count:]]
    keys = []
    for at, key in enumerate(schema.references):
        path, target = found[2 * at : 2 * at + 2]
        if path is not None and target is not None:
            keys.append(replace(key, path=path, target=target))
    return replace(changed, classes=changed.classes[:count], references=tuple(keys))


def tied(schema: Schema) -> Tied:
    """Return both layouts of a schema with keys; SchemaError lists what contradicts one.

    >>> from treeanon.schema import Schema
    >>> lines = ['version = 1', '[input]', 'format = "ndjson"', 'objects = "whole"']
    >>> lines += ['[[key]]', 'from = "ills[].stay"', 'to = "stays[].id"']
    >>> for name, path in (("ward", "stays[].ward"), ("ill", "ills[].name")):
    ...     lines += ['[[class]]', f'name = "{name}"', f'path = "{path}"']
    >>> found = tied(Schema.loads("\\n".join(lines)))
    >>> [held.name for held in found.records.classes]
    ['stays[]', 'stays[].ills[]', 'ward', 'ill']
    >>> [container.path for container in found.documents.containers], found.containers
    (['', 'stays[]', 'ills[]'], (0, 1, 2))
    """
    return _tied(schema)


@lru_cache(maxsize=32)
def _tied(schema: Schema) -> Tied:
    if problems := list(_problems(schema)):
        raise SchemaError(problems)
    records = _records_layout(schema)
    used = _used(schema)
    targets = list(dict.fromkeys(key.target for key in used))
    names = {target: f"treeanon id {at}" for at, target in enumerate(targets, start=1)}
    keys = [ClassSpec(names[target], target, role="keep") for target in targets]
    keys += [ClassSpec(f"treeanon reference {at}", key.path, role="keep") for at, key in enumerate(used, start=1)]
    own = tuple(replace(spec, under=None) for spec in schema.classes if spec.published)
    plain = compile_layout(replace(schema, classes=(*own, *keys), references=()))
    of_records = _containers(schema, plain, records)
    known = [each for each in of_records if each >= 0]
    if len(set(known)) < len(known):
        what = "leads into an object that has the same field itself"
        raise SchemaError([Problem(f"{schema.source}, key", what)])
    documents = _numbered(plain, records, of_records, [spec.name for spec in keys])
    at = {held.name: held for held in documents.classes}
    ties = []
    published = _published(schema)
    for number, key in enumerate(used, start=1):
        source, target = at[f"treeanon reference {number}"], at[names[key.target]]
        numbers = documents.class_index(source.name), documents.class_index(target.name)
        holder = documents.containers[source.container].parent if _is_list(key, published) else source.container
        places = source.container, target.container, holder
        ties.append(
            Tie(schema.references.index(key), key, *numbers, *places, *forms(key, slashed=schema.input.slashed))
        )
    return Tied(records, documents, of_records, tuple(ties))


def _moves(schema: Schema) -> dict[Steps, Steps]:
    """Return the objects that lie in others, by their steps."""
    published = _published(schema)
    return dict(_ends(key, published) for key in schema.references if key.inside)


def _moved(steps: Steps, moves: dict[Steps, Steps]) -> Steps:
    """Return the steps, in the records, of what documents have at these steps."""
    for length in range(len(steps), 0, -1):
        own = steps[:length]
        if own in moves:
            return (*_moved(moves[own], moves), *own[len(_around(own)) :], *steps[length:])
    return steps


def _records_layout(schema: Schema) -> Layout:
    moves = _moves(schema)

    def inside(spec: ClassSpec) -> ClassSpec:
        if spec.path is None:
            return spec
        return replace(spec, path=FieldPath(_moved(spec.path.steps, moves), spec.path.attribute), facets={})

    found = compile_layout(replace(schema, classes=tuple(map(inside, schema.classes)), references=()))
    own = {spec.name: spec for spec in schema.classes}
    return replace(found, classes=tuple(replace(held, spec=own.get(held.name, held.spec)) for held in found.classes))


def _used(schema: Schema) -> list[Reference]:
    """Return the keys between objects of which anything is published."""
    published = _published(schema)
    held = set(published)
    inside = [_ends(key, published) for key in schema.references if key.inside]
    while more := {
        outer[:at]
        for inner, outer in inside
        if inner in held
        for at in range(1, len(outer) + 1)
        if outer[at - 1].repeated and outer[:at] not in held
    }:
        held |= more
    return [key for key in schema.references if set(_ends(key, published)) <= held | {()}]


def _lengths(path: FieldPath) -> Iterator[int]:
    return (at for at, step in enumerate(path.steps, start=1) if step.repeated)


def _containers(schema: Schema, plain: Layout, records: Layout) -> tuple[int, ...]:
    """Return the container of the records for each of the documents."""
    known = {(c.parent, c.wrappers, c.name, c.predicate): c.index for c in records.containers[1:]}
    steps = _container_steps(plain, schema)
    moves = _moves(schema)
    at = {own: index for index, own in enumerate(steps)}
    published = _published(schema)
    lists = {at.get(object_steps(key.path)) for key in schema.references if _is_list(key, published)}
    found = {0: 0}

    def of(index: int) -> int:
        if index not in found:
            own = plain.containers[index]
            into = moves.get(steps[index])
            above = of(at[into]) if into is not None and into in at else of(own.parent)
            found[index] = -1 if index in lists else known[above, own.wrappers, own.name, own.predicate]
        return found[index]

    return tuple(of(index) for index in range(len(plain.containers)))


def _container_steps(layout: Layout, schema: Schema) -> list[Steps]:
    """Return the steps to each container of a layout."""
    paths = [held.spec.path for held in layout.classes if held.spec.path is not None]
    prefixes = {path.steps[:at]: None for path in paths for at in _lengths(path)}
    found: list[Steps] = [()]
    for container in layout.containers[1:]:
        above = found[container.parent]
        for steps in prefixes:
            last = steps[-1]
            way = tuple(step.label or "" for step in steps[len(above) : -1])
            same = (last.label, last.predicate, way) == (container.name, container.predicate, container.wrappers)
            if same and steps[: len(above)] == above and _around(steps) == above:
                found.append(steps)
                break
    return found


def _numbered(plain: Layout, records: Layout, of_records: Sequence[int], keys: Sequence[str]) -> Layout:
    """Return the layout of documents with the classes' numbers of the records; those of keys come last."""
    new = {held.name: index for index, held in enumerate(records.classes) if not held.is_object}
    new |= {name: len(records.classes) + at for at, name in enumerate(keys)}
    number = {index: new[held.name] for index, held in enumerate(plain.classes) if not held.is_object} | {-1: -1}
    home = {there: here for here, there in enumerate(of_records) if there >= 0}
    classes = [
        replace(held, container=home[held.container]) if held.container >= 0 else held for held in records.classes
    ]
    of_keys = {held.name: held for held in plain.classes if held.name in keys}
    classes += [PublishedClass(name, ROOT, of_keys[name].container, of_keys[name].spec) for name in keys]
    containers = tuple(_renumbered(container, number) for container in plain.containers)
    return Layout(tuple(classes), containers)


def _renumbered(container: Container, number: dict[int, int]) -> Container:
    def shape(own: Shape) -> Shape:
        attributes = tuple(replace(each, held=number[each.held]) for each in own.attributes)
        return replace(own, held=number[own.held], attributes=attributes, wrappers=tuple(map(shape, own.wrappers)))

    return replace(container, shape=shape(container.shape), held=tuple(number[held] for held in container.held))


def _problems(schema: Schema) -> Iterator[Problem]:
    moves: dict[Steps, Steps] = {}
    fields: dict[Steps, FieldPath] = {}
    published = _published(schema)
    for number, key in enumerate(schema.references, start=1):
        where = f"{schema.source}, key {number}"
        if what := _wrong(key, published):
            yield Problem(where, what)
            continue
        if key.path in {other.path for other in schema.references[: number - 1]} | {
            other.target for other in schema.references
        }:
            yield Problem(where, "refers by a field that another key has: give one of them up")
            continue
        inner, outer = _ends(key, published)
        if key.inside and inner in moves:
            yield Problem(where, "its object lies in one other: of its keys, all but one need inside = false")
            continue
        if fields.setdefault(object_steps(key.target), key.target) != key.target:
            yield Problem(where, "names its object by another field than a key before; take one")
        if key.inside:
            moves[inner] = outer
            if _is_circle(inner, moves):
                yield Problem(where, "keys go round in a circle: set inside = false for one of them")
                return
    ends = {path for key in schema.references for path in (key.path, key.target)}
    for spec in schema.classes:
        if spec.published and spec.path in ends:
            what = "reads a reference, or what it names; both are made anew: leave the class out"
            yield Problem(f"{schema.source}, class {spec.name!r}: path", what)


def _wrong(key: Reference, published: set[Steps]) -> str:
    source, target = object_steps(key.path), object_steps(key.target)
    if not target:
        return "to must be a field of a repeated object: every object lies in the record already"
    if len(key.target.steps) + (key.target.attribute is not None) <= len(target):
        return "to must be a field that an object has once, such as encounters[].id"
    if _is_list(key, published):
        return _wrong_list(key, _around(source), target)
    if _is_item(key.path):
        return "is a list of the record, in which every object lies already: leave the key out"
    if not key.inside:
        return "" if source != target else "refers to objects of its own kind, which are not told apart: leave it out"
    if not source:
        return "from must be a field of a repeated object: the record lies in no other object"
    if source == target:
        return "an object cannot lie in one of its own kind: leave the key out"
    if _around(source) != _around(target):
        return (
            "both objects must lie side by side, in the record or in one object, or from must be a list of which"
            " nothing else is published; else set inside = false"
        )
    return ""


def _wrong_list(key: Reference, holder: Steps, target: Steps) -> str:
    """Return what is wrong with a key of lists of references that objects hold."""
    if holder == target:
        return "lists objects of its own kind, which are not told apart: leave it out"
    if not key.inside:
        return ""
    if holder[: len(target)] == target:
        return "an object cannot lie in one of its own kind: leave the key out"
    around = _around(target)
    if around == holder:
        return "lists objects that lie in the one with the list already: set inside = false"
    if holder[: len(around)] != around:
        return "what is listed must lie beside the object with the list, or one around that; else set inside = false"
    return ""


def _is_circle(start: Steps, moves: dict[Steps, Steps]) -> bool:
    at = moves[start]
    while at[: len(start)] != start:
        above = next((at[:length] for length in range(len(at), 0, -1) if at[:length] in moves), None)
        if above is None:
            return False
        at = moves[above]
    return True

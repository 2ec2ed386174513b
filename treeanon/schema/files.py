"""Several files of one person: each is a kind of object, tied to the person and to others by references.

The first file has a row for each person. Its classes are held by the record; a row of every other file is an object of
the record, or of the object that a key leads to. Each file is read and written by a schema of its own, in which the
references are classes, as by `treeanon.schema.persons`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from treeanon.errors import Problem, SchemaError
from treeanon.schema.layout import Layout, compile_layout
from treeanon.schema.model import ClassSpec, FileKey, FileSpec, ValueType
from treeanon.schema.paths import FieldPath, Step
from treeanon.schema.persons import KEY_CLASS

if TYPE_CHECKING:
    from treeanon.schema.model import Schema

ID_CLASS = "treeanon id"
"""The class of a file's schema that holds what references of other files name."""

REFERENCE_CLASS = "treeanon reference"
"""The class of a file's schema that holds the reference to the object that its rows lie in."""

LIST_CLASS = "treeanon list"
"""What the classes of a file's schema begin with that hold references to rows which lie in its own."""

FILE_FORMATS = ("ndjson", "json", "yaml", "yaml-stream", "csv", "parquet")
"""Formats of files of several kinds of objects."""


@dataclass(frozen=True)
class Part:
    """One kind of files: the schema of its rows, and the container of the records' layout that a row is.

    The file of the persons has container 0, which has all rows of a person. By `key` its rows lie in those of the part
    `above`, whose container encloses this one: a list of theirs names them in the class `listed_by`, or they refer
    (an empty text). `is_named` says whether keys lead here.
    """

    spec: FileSpec
    schema: Schema
    container: int
    key: FileKey | None
    above: int
    is_named: bool
    listed_by: str = ""

    @property
    def is_persons(self) -> bool:
        """Whether each of its rows is one person."""
        return self.container == 0


def parts_of(schema: Schema, kind: ValueType = "text", layout: Layout | None = None) -> tuple[Part, ...]:
    """Return the kinds of files of a schema, each after the one that its key leads to.

    `layout` is that of the records whose containers are meant, if it is not the schema's own.
    """
    layout = layout or schema.layout
    keys = {key.inner: key for key in schema.file_keys}
    named = {key.target for key in schema.file_keys}
    order = sorted(schema.files, key=lambda spec: len(_way(schema, spec.name)))
    place = {spec.name: at for at, spec in enumerate(order)}
    found = []
    for spec in order:
        key = keys.get(spec.name)
        container = 0 if spec is schema.files[0] else _container(layout, _way(schema, spec.name))
        above = place[key.outer] if key is not None else -1
        listed_by = list_class(schema, key) if key is not None and key.is_list else ""
        found.append(Part(spec, _part_schema(schema, spec, kind), container, key, above, spec.name in named, listed_by))
    return tuple(found)


def ties_rows(name: str) -> bool:
    """Return whether a class of a file's schema holds references between rows, or what these name.

    >>> ties_rows(ID_CLASS), ties_rows(f"{LIST_CLASS} 1"), ties_rows(KEY_CLASS)
    (True, True, False)
    """
    return name in (ID_CLASS, REFERENCE_CLASS) or name.startswith(LIST_CLASS)


def list_class(schema: Schema, key: FileKey) -> str:
    """Return the class of a file's schema that holds the items of a list of references."""
    return f"{LIST_CLASS} {schema.file_keys.index(key) + 1}"


def _container(layout: Layout, way: Sequence[str]) -> int:
    """Return the container that the steps of a file's rows lead to; -1 where no class is in it."""
    at = 0
    for name in way:
        at = next((c.index for c in layout.containers if c.parent == at and c.name == name and not c.wrappers), -1)
        if at < 0:
            break
    return at


def _part_schema(schema: Schema, spec: FileSpec, kind: ValueType) -> Schema:
    """Return the schema of the rows of one kind of files."""

    def own(held: ClassSpec) -> ClassSpec:
        assert held.path is not None
        under = held.under
        if under is not None and _file_of(schema, under) != spec.name:
            under = "/"
        facets = {name: _inside(path) for name, path in held.facets.items()}
        return replace(held, path=_inside(held.path), under=under, facets=facets)

    classes = [own(held) for held in schema.classes if held.path is not None and held.path.steps[0].name == spec.name]
    made = partial(ClassSpec, type=kind, under="/", role="keep")
    keys = [made(KEY_CLASS, spec.person)]
    for key in schema.file_keys:
        if key.target == spec.name and key.target_path != spec.person and all(k.name != ID_CLASS for k in keys):
            keys.append(made(ID_CLASS, key.target_path))
        if key.file == spec.name:
            keys.append(made(list_class(schema, key) if key.is_list else REFERENCE_CLASS, key.path))
    return replace(schema, classes=(*classes, *keys), files=(), file_keys=())


def _inside(path: FieldPath) -> FieldPath:
    return FieldPath(path.steps[1:], path.attribute)


def _file_of(schema: Schema, name: str) -> str:
    path = next((held.path for held in schema.classes if held.name == name), None)
    return "" if path is None else path.steps[0].name or ""


def _way(schema: Schema, name: str) -> tuple[str, ...]:
    """Return the files whose rows enclose those of one, and itself, from the person inwards."""
    above = {key.inner: key.outer for key in schema.file_keys}
    way: tuple[str, ...] = ()
    while name != schema.files[0].name:
        way = (name, *way)
        if name not in above:
            break
        name = above[name]
        if name in way:
            raise SchemaError([Problem(f"{schema.source}, key", f"keys go round in a circle: {' -> '.join(way)}")])
    return way


def in_one(schema: Schema) -> Schema:
    """Return the schema of the same records as documents of their own, which hold the rows of all files."""
    first = schema.files[0].name

    def whole(path: FieldPath) -> FieldPath:
        name = path.steps[0].name or ""
        steps = [Step(first)] if name == first else [Step(each, True) for each in _way(schema, name)]
        return FieldPath((*steps, *path.steps[1:]), path.attribute)

    def inside(spec: ClassSpec) -> ClassSpec:
        if spec.path is None:
            return spec
        return replace(spec, path=whole(spec.path), facets={name: whole(path) for name, path in spec.facets.items()})

    source = replace(schema.input, person=None)
    return replace(schema, input=source, classes=tuple(map(inside, schema.classes)), files=(), file_keys=())


def files_layout(schema: Schema) -> Layout:
    """Return the layout of the records of a schema of several files; SchemaError says what contradicts it."""
    problems = list(_problems(schema))
    if problems:
        raise SchemaError(problems)
    own = {spec.name: spec for spec in schema.classes}
    found = compile_layout(in_one(schema))
    return replace(found, classes=tuple(replace(held, spec=own.get(held.name, held.spec)) for held in found.classes))


def _problems(schema: Schema) -> Iterator[Problem]:
    names = [spec.name for spec in schema.files]
    if schema.input.whole_file:
        what = 'must lead to an array of rows, such as "[]", and not take each file for one row'
        yield Problem(f"{schema.source}, [input]: record", what)
    for spec in schema.classes:
        first = spec.path.steps[0] if spec.path is not None and spec.path.steps else Step("")
        where = f"{schema.source}, class {spec.name!r}: path"
        if first.name not in names or first.repeated or first.predicate:
            yield Problem(where, f"must begin with the name of a [[file]], without []; choose from {', '.join(names)}")
        elif spec.path is not None and len(spec.path.steps) < 2 and spec.path.attribute is None:
            yield Problem(where, "must go on after the name of the file")
        elif any(path.steps[:1] != (first,) for path in spec.facets.values()):
            yield Problem(where.replace(": path", ": facets"), "must be fields of the file of the class")
        elif spec.published and spec.path in _references(schema):
            yield Problem(where, "reads a reference; references are made anew: leave the class out")
    for number, key in enumerate(schema.file_keys, start=1):
        where = f"{schema.source}, key {number}"
        for name in (key.file, key.target):
            if name not in names:
                yield Problem(where, f"unknown file {name!r}; choose from {', '.join(names)}")
        if [other.inner for other in schema.file_keys].count(key.inner) > 1:
            yield Problem(where, f"rows of {key.inner} lie in those of one other file: give it one key")
        if key.inner == names[0]:
            yield Problem(where, f"{key.inner} has the persons, which lie in no other file")
        if key.is_list and (what := _wrong_list(schema, key)):
            yield Problem(where, what)
        if len({k.target_path for k in schema.file_keys if k.target == key.target}) > 1:
            yield Problem(where, f"keys name {key.target} by different fields; take one")


def _wrong_list(schema: Schema, key: FileKey) -> str:
    """Return what is wrong with a list of references; an empty text where nothing is."""
    if schema.input.form.delimited:
        return f"{schema.input.format} has no lists"
    if key.outer == schema.files[0].name:
        return f"{key.outer} has the persons, in whom all rows lie already: leave the key out"
    steps = key.path.steps[: next(at for at, step in enumerate(key.path.steps, start=1) if step.repeated)]
    item = (Step(key.file), *steps)
    if any(spec.published and spec.path and spec.path.steps[: len(item)] == item for spec in schema.classes):
        return "is a list of whose items more is published: leave these classes out, or the key"
    if [other.path for other in schema.file_keys if other.file == key.file].count(key.path) > 1:
        return "refers by a field that another key has: give one of them up"
    return ""


def _references(schema: Schema) -> set[FieldPath]:
    """Return the paths of the fields that tie files together."""
    found = {FieldPath((Step(spec.name), *spec.person.steps)) for spec in schema.files}
    for key in schema.file_keys:
        found.add(FieldPath((Step(key.file), *key.path.steps)))
        found.add(FieldPath((Step(key.target), *key.target_path.steps)))
    return found

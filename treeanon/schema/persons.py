"""Persons in several rows or files: a field says whose each row is, and references tie the kinds of objects to them.

A schema with `person` has two layouts. That of the *records* has one container more, the row, around everything that a
row holds. That of the *rows* is the one of a schema without `person`, with the key of the person as a class of its
own; readers and writers work by it, and know nothing of persons.

Of several files the first has a row for each person. Its classes are held by the record; a row of every other file is
an object of the record, or of the object that a key leads to. Each file is read and written by a schema of its own, in
which the references are classes, as the key of the person is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from treeanon.errors import Problem, SchemaError, UsageError
from treeanon.formats import NESTED
from treeanon.schema.facets import refuse_facets, through_facets
from treeanon.schema.layout import Layout, compile_layout
from treeanon.schema.model import ClassSpec, FileKey, FileSpec, ValueType
from treeanon.schema.paths import FieldPath, Step
from treeanon.schema.references import refuse_references

if TYPE_CHECKING:
    from treeanon.schema.model import Schema


KEY_CLASS = "treeanon person"
"""The class of a schema of rows that holds the key of the person."""

ROW = "rows"
"""The name of the container that a row is, inside the record of its person."""


def by_row(schema: Schema, kind: ValueType = "text") -> Schema:
    """Return the schema by which rows are read or written one by one, with the key of the person as a class.

    >>> from treeanon.schema import Schema
    >>> schema = Schema.loads('''
    ... version = 1
    ... [input]
    ... format = "csv"
    ... person = "patient_id"
    ... [[class]]
    ... name = "disease"
    ... path = "disease"
    ... ''')
    >>> [spec.name for spec in by_row(schema).classes], schema.layout.containers[1].path
    (['disease', 'treeanon person'], 'rows[]')
    """
    assert schema.input.person is not None
    key = ClassSpec(KEY_CLASS, schema.input.person, kind, under="/", role="keep")
    return replace(schema, input=replace(schema.input, person=None), classes=(*schema.classes, key))


def with_rows(schema: Schema) -> Schema:
    """Return the schema of the same records as documents of their own, where each holds its rows in an array."""

    def inside(spec: ClassSpec) -> ClassSpec:
        if spec.path is None:
            return spec
        return replace(spec, path=FieldPath((Step(ROW, True), *spec.path.steps), spec.path.attribute))

    return through_facets(
        replace(schema, input=replace(schema.input, person=None)),
        lambda whole: replace(whole, classes=tuple(inside(spec) for spec in whole.classes)),
    )


def as_lines(schema: Schema) -> Schema:
    """Return the schema by which rows of no file, such as dicts, are read: each is a document of its columns."""
    if not schema.input.is_flat or schema.input.person is None:
        return schema
    return replace(schema, input=replace(schema.input, format=NESTED, delimiter=""))


def refuse_persons(schema: Schema, by: str, *, but_rows: bool = False) -> None:
    """UsageError for rows of persons, and for facets, which whoever is named cannot read.

    With `but_rows`, rows of persons are read.
    """
    refuse_facets(schema, by)
    refuse_references(schema, by)
    if (schema.input.person is not None or schema.files) and not but_rows:
        raise UsageError(f"person: {by} takes each row for a person; use the local engine, or one record per person")


def of_merged_trees(schema: Schema, by: str) -> Schema:
    """Return the schema of merged trees, which whoever is named needs; UsageError if objects are to stay whole."""
    if not schema.input.keeps_objects:
        return schema
    if not schema.input.objects_open:
        raise UsageError(f'{by}; use objects = "merged" in [input]')
    return schema.merged


def refuse_shift(specs: Iterable[ClassSpec], by: str) -> None:
    """UsageError for dates that are to move, which whoever is named would publish as they are."""
    found = [spec.name for spec in specs if spec.shift and spec.published]
    if found:
        raise UsageError(f"shift: {by} cannot move the dates of class {found[0]!r}; use the default search of trees")


def person_layout(schema: Schema) -> Layout:
    """Return the layout of the records; SchemaError also where a class would publish the key."""
    own = {spec.name: spec for spec in schema.classes}
    for spec in schema.classes:
        if spec.published and spec.path == schema.input.person:
            what = "reads the key of the person, which is not published: leave the class out"
            raise SchemaError([Problem(f"{schema.source}, class {spec.name!r}: path", what)])
    _ = by_row(schema).layout
    found = compile_layout(with_rows(schema))
    return replace(found, classes=tuple(replace(held, spec=own.get(held.name, held.spec)) for held in found.classes))


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

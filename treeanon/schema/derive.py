"""Schemas derived for another format: the same classes, at the paths of that format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING

from treeanon.errors import UsageError
from treeanon.formats import FORMATS, NESTED, PROFILES, Format, names_of
from treeanon.hierarchy import Flat, Levels
from treeanon.schema.facets import through_facets
from treeanon.schema.model import ClassSpec
from treeanon.schema.paths import FieldPath, Predicate, RecordPath, Step, not_in_xml_names, xml_name_start
from treeanon.schema.persons import in_one, with_rows
from treeanon.schema.references import through_references
from treeanon.schema.relational import nested

if TYPE_CHECKING:
    from treeanon.schema.model import Schema


def derive(schema: Schema, name: str) -> Schema:
    """Return the schema by which another format is read; trees files need none of their own.

    Attributes and texts of XML become fields of JSON, fields become elements; arrays directly in arrays get an
    element `item`. Names that the other format does not allow are changed; all stay apart.
    """
    wanted = FORMATS.named(name)
    if wanted is schema.input.form or wanted.names_classes:
        return schema
    made = through_references(schema, lambda plain: through_facets(plain, lambda whole: _derived(whole, name)))
    kept = bool(made.profile) and PROFILES[made.profile].is_for(wanted) and not schema.files
    return made if kept else replace(made, profile="")


def _derived(schema: Schema, name: str) -> Schema:
    """Return the same for a schema without facets and keys inside documents."""
    source, wanted = schema.input.form, FORMATS.named(name)
    if schema.files:
        source = FORMATS[NESTED]
        schema = in_one(replace(schema, input=replace(schema.input, format=NESTED, record=None, delimiter="")))
        if wanted is source:
            return schema
    if wanted.is_relational:
        if not source.is_relational:
            raise UsageError(f"only what is read from tables can be written as tables; this schema reads {source.name}")
        return replace(schema, input=replace(schema.input, format=name))
    if wanted.is_rows:
        if not source.is_rows:
            what = (
                f"only rows of {' and '.join(names_of('rows'))} are written as {name}; this schema reads {source.name}"
            )
            raise UsageError(f"{what}, of which `treeanon flatten` makes rows")
        return replace(schema, input=replace(schema.input, format=name))
    if source.is_rows:
        schema = replace(schema, input=replace(schema.input, delimiter=""))
    if source.is_relational:
        schema = nested(schema)
    if schema.input.person is not None and not source.is_document:
        # Documents can hold the rows of a person in one record, which then needs no key.
        schema = with_rows(schema)
    if source.is_relational:
        source = schema.input.form
        if wanted is source:
            return schema
    if source.names_classes and any(spec.path is None for spec in schema.classes if spec.published):
        schema = _with_paths(schema, slashed=wanted.slashed)
    elif wanted.slashed and not source.slashed:
        schema = _to_slashed(schema)
    elif source.slashed and not wanted.slashed:
        schema = _to_dotted(schema)
    record = _record(schema.input.record, source, wanted)
    namespaces = schema.input.namespaces if wanted.slashed and source.slashed else {}
    return replace(schema, input=replace(schema.input, format=name, record=record, namespaces=namespaces))


def for_trees(schema: Schema, name: str) -> Schema:
    """Return the schema of a format that names its classes itself; its dotted paths say how to write JSON again.

    Reading a trees file by its name needs no other schema than the input's. A trees file holds whole objects or merged
    trees, so its schema leaves that open no more.
    """
    is_dotted = not schema.input.slashed and not schema.input.is_relational
    if schema.files:
        schema = in_one(schema)
    elif is_dotted and schema.input.person is not None:
        schema = with_rows(schema)
    dotted = schema if is_dotted else derive(schema, NESTED)
    return replace(dotted, input=replace(dotted.input, format=name, record=None, namespaces={}, objects_open=False))


def _record(record: RecordPath | None, source: Format, wanted: Format) -> RecordPath | None:
    if not wanted.has_record_path:
        return None
    if record is not None and record.whole_file:
        return RecordPath((), False)
    if record is not None and record.names and wanted.slashed and source.slashed:
        return record
    if wanted.slashed:
        outer = tuple(xml_name(n) for n in record.names) if record is not None and record.names else ("records",)
        return RecordPath((*outer, "record"), True)
    if record is None:
        return RecordPath(("records",), True)
    return RecordPath((record.names[0],), True) if source.slashed else record


def xml_name(text: str) -> str:
    """Return the nearest name that XML allows.

    >>> xml_name("zip code"), xml_name("1st")
    ('zip_code', '_1st')
    """
    name = not_in_xml_names().sub("_", text)
    return name if xml_name_start().match(name) and not name.lower().startswith("xml") else "_" + name


Scope = tuple[str, ...]


class _Names:
    """New names for old ones, unique within a scope (the old names on the path there)."""

    def __init__(self) -> None:
        self.new: dict[tuple[Scope, str], str] = {}
        self.taken: set[tuple[Scope, str]] = set()

    def give(self, scope: Scope, old: str, wanted: Sequence[str]) -> str:
        """Return the new name of an old one: the first of `wanted` that is free, or one with a number."""
        if (scope, old) not in self.new:
            numbered = (f"{wanted[-1]}{number}" for number in count(2))
            name = next(name for name in chain(wanted, numbered) if (scope, name) not in self.taken)
            self.new[scope, old] = name
            self.taken.add((scope, name))
        return self.new[scope, old]


class _Renamer:
    """Renaming of paths step by step; `wanted` yields the possible names in the other format."""

    def __init__(self, wanted: Callable[[str], list[str]], mixed: frozenset[str], filled: frozenset[Scope]) -> None:
        self.names, self.wanted, self.mixed, self.filled = _Names(), wanted, mixed, filled

    def names_of(self, scope: Scope, olds: Sequence[str]) -> tuple[str, ...]:
        out: list[str] = []
        for old in olds:
            out.append(self.names.give(scope, old, self.wanted(old)))
            scope = (*scope, old)
        return tuple(out)

    def predicate(self, scope: Scope, old: Predicate | None) -> Predicate | None:
        if old is None:
            return None
        olds = old.names if old.attribute is None else (*old.names, "@" + old.attribute)
        if old.attribute is None and (*scope, *old.names) in self.filled:
            olds = (*olds, "text()")
        return Predicate(self.names_of(scope, olds), None, old.value)

    def path(self, spec: ClassSpec) -> ClassSpec:
        """Return the class with its path renamed."""
        if spec.path is None:
            return spec
        scope: Scope = ()
        steps: list[Step] = []
        for old in spec.path.steps:
            (name,) = self.names_of(scope, [old.name or ""])
            scope = (*scope, old.name or "")
            steps.append(Step(name, old.repeated, self.predicate(scope, old.predicate)))
        if spec.path.attribute is not None:
            steps.append(Step(self.names_of(scope, ["@" + spec.path.attribute])[0]))
        elif spec.name in self.mixed:
            steps.append(Step(self.names_of(scope, ["text()"])[0]))
        return replace(spec, path=FieldPath(tuple(steps)))


def _slashed_name(old: str) -> list[str]:
    return [xml_name(old) if old else "item"]


def _dotted_name(old: str) -> list[str]:
    if old == "text()":
        return ["text", "#text"]
    if old == "*":
        return ["element", "#element"]
    return [_local(old[1:]), old] if old.startswith("@") else [_local(old)]


def _to_slashed(schema: Schema) -> Schema:
    return _renamed(schema, _Renamer(_slashed_name, frozenset(), frozenset()))


def _to_dotted(schema: Schema) -> Schema:
    filled = _filled(schema)
    return _renamed(schema, _Renamer(_dotted_name, _mixed_classes(schema, filled), filled))


def _renamed(schema: Schema, renamer: _Renamer) -> Schema:
    classes = tuple(renamer.path(spec) for spec in schema.classes)
    key = None if schema.input.person is None else renamer.path(ClassSpec("", schema.input.person)).path
    return replace(schema, input=replace(schema.input, person=key), classes=classes)


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _mixed_classes(schema: Schema, filled: frozenset[Scope]) -> frozenset[str]:
    """Return the classes that are texts of elements with attributes or children, predicates aside."""
    return frozenset(
        spec.name
        for spec in schema.classes
        if spec.path is not None
        and spec.path.attribute is None
        and tuple(step.name or "" for step in spec.path.steps) in filled
    )


def _filled(schema: Schema) -> frozenset[Scope]:
    """Return the names that lead to elements with attributes or children of their own."""
    found: set[Scope] = set()
    for spec in schema.classes:
        if spec.path is None:
            continue
        names = tuple(step.name or "" for step in spec.path.steps)
        found.update(names[:length] for length in range(len(names)))
        if spec.path.attribute is not None:
            found.add(names)
        for length, step in enumerate(spec.path.steps, start=1):
            if step.predicate is not None:
                inner = (*names[:length], *step.predicate.names)
                found.update(inner[:stop] for stop in range(length, len(inner)))
                if step.predicate.attribute is not None:
                    found.add(inner)
    return frozenset(found)


def _with_paths(schema: Schema, *, slashed: bool) -> Schema:
    """Return the schema with paths for classes that have none: each repeats inside the class it lies under."""
    layout = schema.layout
    inner = {published.parent for published in layout.classes}
    steps: list[tuple[Step, ...]] = []
    paths: dict[str, tuple[FieldPath, str]] = {}
    names = _Names()
    for index, published in enumerate(layout.classes):
        above = steps[published.parent] if published.parent >= 0 else ()
        name = xml_name(published.name) if slashed else published.name
        scope = tuple(step.name or "" for step in above)
        steps.append((*above, Step(names.give(scope, published.name, [name]), True)))
        under = layout.classes[published.parent].name if published.parent >= 0 else "/"
        if index not in inner:
            path = FieldPath(steps[-1])
        elif slashed:
            path = FieldPath(steps[-1], "value")
        else:
            path = FieldPath((*steps[-1], Step(names.give((*scope, published.name), "#", ["value", "#value"]))))
        paths[published.name] = (path, under)
    classes = tuple(
        replace(spec, path=paths[spec.name][0], under=paths[spec.name][1]) if spec.name in paths else spec
        for spec in schema.classes
    )
    return replace(schema, classes=classes)


def as_released(schema: Schema) -> Schema:
    """Return the schema by which a release is read again: pseudonyms are plain values, which need no key.

    Values that are never published (`leaves = false`) are unknown. Means and medians are numbers as they stand.

    >>> from treeanon.schema import Schema
    >>> text = 'version = 1\\n[input]\\nformat = "csv"\\n[[class]]\\nname = "id"\\npath = "id"\\nrole = "identifier"\\n'
    >>> [(spec.role, spec.pseudonym) for spec in as_released(Schema.loads(text + "pseudonym = true")).classes]
    [('keep', False)]
    """
    return replace(schema, classes=tuple(map(_read_again, schema.classes)))


def _read_again(spec: ClassSpec) -> ClassSpec:
    plain = replace(spec, hierarchy=Flat(), hierarchy_source={"flat": True})
    if spec.pseudonym:
        return replace(plain, role="keep", pseudonym=False, type="text")
    if spec.controls.microaggregate:
        return replace(plain, type="number", controls=spec.controls.of_means)
    if isinstance(spec.hierarchy, Levels):
        return replace(spec, hierarchy=replace(spec.hierarchy, knows_values=False))
    return spec

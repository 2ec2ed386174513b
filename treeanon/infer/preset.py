"""A schema by a preset: of its classes those that occur in the input, with the code systems that are there.

Also what of the classes of a preset occurs in records of XML.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lxml import etree

from treeanon.errors import UsageError
from treeanon.formats import FORMATS, NESTED
from treeanon.infer.files import kinds_of
from treeanon.infer.json_sample import parsed_lines
from treeanon.infer.propose import take_sample
from treeanon.io.documents.json_exact import predicate_holds
from treeanon.io.documents.xml_compile import Qualifier
from treeanon.io.documents.xml_compile import predicate_holds as element_holds
from treeanon.io.interface import format_of_name
from treeanon.io.sources import Source
from treeanon.schema import Predicate, parse_path
from treeanon.schema.dump import record_text, toml_pairs
from treeanon.schema.paths import Step
from treeanon.schema.presets import Preset, System, Table, preset_named

_MOST_RECORDS = 200
_MOST_ROWS = 20_000

_SHARE = 0.05
"""Least share of codes that only one more code system has, for which it becomes a class of its own."""


@dataclass
class PresetSchema:
    """A schema that was written by a preset, and what was found on the way."""

    preset: Preset
    head: Table
    persons: int
    extent: str
    files: tuple[str, ...] = ()
    classes: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sensitive: set[str] = field(default_factory=set)
    flat: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)

    def as_dict(self) -> dict[str, Any]:
        """Return the findings as plain data."""
        names = [table["name"] for table in self.classes]
        return {"preset": self.preset.name, "classes": names, "files": list(self.files), "notes": self.notes}

    def text(self) -> str:
        """Return the schema as TOML, with comments."""
        preset = self.preset
        lines = [f"# By the preset {preset.name}: {preset.about}.", f"# Classes of it that occur in {self.extent}."]
        lines += ["#", "# Not published, as of HIPAA's identifiers; nothing that has no class below is:"]
        lines += [f"#   {what}: {where}" for what, where in preset.withheld.items()]
        parts = ["\n".join(lines), "version = 1", "[input]\n" + toml_pairs(iter(self.head.items())).rstrip()]
        if preset.profile:
            parts.append(f'[output]\nprofile = "{preset.profile}"')
        for name in self.files:
            parts.append("[[file]]\n" + toml_pairs(iter({"name": name, "person": preset.kinds[name]}.items())).rstrip())
        if keys := [toml_pairs(iter(key.items())).rstrip() for key in self.keys()]:
            hint = "# With these keys what was found or done lies in its encounter, which costs much of the values:"
            parts.append("\n".join([hint, *("# " + line for key in keys for line in ("[[key]]", *key.splitlines()))]))
        for table in self.classes:
            hint = "# often sensitive: see roles\n" if table["name"] in self.sensitive else ""
            parts.append(f"{hint}[[class]]\n" + toml_pairs(iter(table.items())).rstrip())
        return "\n\n".join(parts) + "\n"

    def keys(self) -> list[Table]:
        """Return the keys between kinds that are both there, as files or documents have them."""
        ends = ((key, key["from"].partition(".")[0], key["to"].partition(".")[0]) for key in self.preset.keys)
        both = [key for key, own, target in ends if {own, target} <= self.kinds]
        return both if self.files else [self.preset.key_inside(key) for key in both]


def schema_by_preset(
    name: str,
    source: str | Path,
    *,
    format: str | None = None,
    record: str | None = None,
    sample: int = _MOST_RECORDS,
    terminologies: Mapping[str, str] | None = None,
) -> PresetSchema:
    """Return the schema that a preset gives of an input; `terminologies` are files by names of code systems."""
    preset = preset_named(name)
    if unknown := [each for each in terminologies or {} if each not in preset.systems]:
        raise UsageError(f"unknown code system {unknown[0]!r}; choose from {', '.join(preset.systems)}")
    kinds = kinds_of(source, NESTED) if preset.kinds and format in (None, NESTED) else None
    person = next(iter(preset.kinds), "")
    if kinds is not None and person in kinds.items:
        made, objects = _of_files(preset, kinds.items)
    else:
        made, objects = _of_documents(preset, str(source), format, record, sample)
    _choose(made, objects, terminologies or {})
    if any("(other " in str(table["name"]) for table in made.classes):
        made.notes.append("codes of systems that the preset does not know: look at their addresses in the schema")
    if made.flat:
        made.notes.append(
            f"codes of {', '.join(sorted(made.flat))} have no hierarchy, so that rare ones become *; a file of concepts"
            " gives them one: --terminology NAME=FILE"
        )
    if not made.classes:
        raise UsageError(f"{source}: nothing in it is of preset {name}: {preset.about}")
    return made


Objects = Mapping[str, Sequence[Any]]
"""The objects of each kind; of the kind "" where there are no kinds."""


def _of_files(preset: Preset, kinds: Mapping[str, Sequence[Source]]) -> tuple[PresetSchema, Objects]:
    known = tuple(name for name in preset.kinds if name in kinds)
    objects: dict[str, list[Any]] = {}
    cut = False
    for name in known:
        rows: list[Any] = []
        for item in kinds[name]:
            for row in parsed_lines(item):
                if len(rows) == _MOST_ROWS:
                    cut = True
                    break
                rows.append(row)
        objects[name] = rows
    persons = len(objects[known[0]])
    extent = f"the first {_MOST_ROWS:,} rows of each file" if cut else f"all rows of {persons:,} persons"
    made = PresetSchema(preset, {"format": "ndjson", "objects": "whole"}, persons, extent, known)
    left = [name for name in kinds if name not in preset.kinds]
    if left:
        made.notes.append(f"files that the preset leaves out: {', '.join(sorted(left))}")
    return made, objects


def _of_documents(
    preset: Preset, source: str, format: str | None, record: str | None, sample: int
) -> tuple[PresetSchema, Objects]:
    if preset.input.get("record") and record is None:
        record = preset.input["record"]
    elif record is None and Path(source).is_file():
        by_name = format_of_name(source) if format is None else FORMATS.named(format)
        if by_name is not None and by_name.name == "json":
            record = "[]" if _begins_with(source, b"[") else "."
    found = take_sample(source, format=format, record=record, most=min(sample, _MOST_RECORDS))
    if found.format not in preset.formats:
        raise UsageError(f"preset {preset.name} is for formats {', '.join(preset.formats)}, not for {found.format}")
    head: Table = {"format": found.format}
    if found.record is not None:
        head["record"] = record_text(found.record, FORMATS[found.format].slashed)
    records = [one for one in found.records if isinstance(one, dict) or found.format == "xml"]
    total = found.total or len(records)
    extent = f"all {total:,} persons" if found.whole else f"{len(records):,} of {total:,} persons"
    made = PresetSchema(preset, {**head, **preset.input, "objects": "whole"}, total, extent)
    if not preset.kinds:
        return made, {"": records}
    return made, _by_kind(preset, records, source, made)


def _begins_with(source: str, start: bytes) -> bool:
    with Path(source).open("rb") as stream:
        return stream.read(64).lstrip().startswith(start)


def _by_kind(preset: Preset, records: Sequence[Any], source: str, made: PresetSchema) -> Objects:
    """Return the resources of bundles by their type, which are of one person each."""
    person = next(iter(preset.kinds))
    objects: dict[str, list[Any]] = {}
    several = none = 0
    for one in records:
        entries = one.get("entry")
        persons = 0
        for entry in entries if isinstance(entries, list) else []:
            resource = entry.get("resource") if isinstance(entry, dict) else None
            if isinstance(resource, dict):
                kind = str(resource.get("resourceType"))
                objects.setdefault(kind, []).append(resource)
                persons += kind == person
        several += persons > 1
        none += persons == 0
    if none == len(records):
        raise UsageError(f"{source}: no record in it is a bundle with an entry of type {person}; check the record path")
    if several:
        raise UsageError(
            f"{source}: {several:,} records in it have several entries of type {person}; a record must be one person: "
            "export a bundle for each, or bulk data"
        )
    if none:
        made.notes.append(f"{none:,} records have no entry of type {person}")
    left = Counter({kind: len(found) for kind, found in objects.items() if kind not in preset.kinds})
    if left:
        # Types of resources are names of the standard, unless there are more of them than it has.
        names = ", ".join(kind for kind, _ in left.most_common(20) if kind.isalpha() and len(kind) < 40)
        made.notes.append(f"resources that the preset leaves out: {names}")
    return objects


def _choose(made: PresetSchema, objects: Objects, terminologies: Mapping[str, str]) -> None:
    """Take the classes that have values, by the code systems that are there."""
    preset = made.preset
    files = made.files or None
    for table in preset.classes:
        if any(one["name"] == table.get("instead_of") for one in made.classes):
            continue
        held = objects.get(preset.kind_of(table), ())
        path = str(table["path"]).partition(".")[2] if preset.kinds else str(table["path"])
        if "systems" not in table:
            tables = list(preset.tables_of(table, files)) if _occurs(preset, held, path) else []
        else:
            tables = _coded(made, table, path, held, terminologies)
        made.classes += tables
        made.kinds |= {preset.kind_of(table)} if tables else set()
        if table.get("sensitive"):
            made.sensitive |= {one["name"] for one in tables}


def _occurs(preset: Preset, objects: Sequence[Any], path: str) -> bool:
    if preset.formats == ("xml",):
        spaces = preset.input.get("namespaces", {})
        return any(True for one in objects for _ in xml_values_at(one, path, spaces))
    return any(True for one in objects for _ in values_at(one, path))


def values_at(value: Any, path: str) -> Iterator[Any]:
    """Yield the values that a path leads to in an object parsed from JSON.

    >>> list(values_at({"a": [{"k": "x", "b": 1}, {"k": "y", "b": 2}]}, "a[k=y].b"))
    [2]
    """
    yield from _values(value, parse_path(path, slashed=False).steps)


def _values(value: Any, steps: Sequence[Step]) -> Iterator[Any]:
    if not steps:
        if value is not None and value != "" and not isinstance(value, dict | list):
            yield value
        return
    step = steps[0]
    inner = value.get(step.name) if isinstance(value, dict) else None
    if not step.repeated:
        yield from _values(inner, steps[1:])
        return
    for item in inner if isinstance(inner, list) else []:
        if step.predicate is None or predicate_holds(item, step.predicate):
            yield from _values(item, steps[1:])


def _coded(
    made: PresetSchema, table: Table, path: str, objects: Sequence[Any], terminologies: Mapping[str, str]
) -> list[Table]:
    """Return the classes of codes, one for each code system that is needed."""
    preset, files = made.preset, made.files or None
    before = path.partition("coding[]")[0].removesuffix(".")
    elements = [_systems_of(concept) for one in objects for concept in _concepts(one, before)]
    elements = [found for found in elements if found]
    preferred = [preset.systems[name] for name in table["systems"]]
    chosen = _needed(elements, preferred)
    if not chosen:
        plain = {name: value for name, value in table.items() if name != "systems"}
        plain["facets"] = {"system": "…coding[].system", **plain.get("facets", {})}
        return list(preset.tables_of(plain, files)) if elements else []
    tables = list(preset.tables_of(table, files, [_with_terminology(one, terminologies) for one in chosen]))
    made.flat |= {one.name for one in chosen if one.hierarchy is None and one.name not in terminologies}
    return tables


def _concepts(value: Any, path: str) -> Iterator[Any]:
    """Yield the objects that a path leads to."""
    held = [value]
    for step in parse_path(path, slashed=False).steps:
        inner = [one.get(step.name) for one in held if isinstance(one, dict)]
        held = [item for one in inner for item in (one if isinstance(one, list) else [one])] if step.repeated else inner
    yield from (one for one in held if isinstance(one, dict))


def _systems_of(concept: Mapping[str, Any]) -> set[str | None]:
    codings = concept.get("coding")
    found = [one for one in (codings if isinstance(codings, list) else []) if isinstance(one, dict) and one.get("code")]
    return {str(one["system"]) if isinstance(one.get("system"), str) else None for one in found}


def _needed(elements: Sequence[set[str | None]], preferred: Sequence[System]) -> list[System]:
    """Return the code systems by which nearly all elements have a code: those preferred first, then frequent ones."""
    times = Counter(url for found in elements for url in found if url)
    others = [url for url, _ in times.most_common() if all(url != one.url for one in preferred)]
    chosen: list[System] = []
    left = list(elements)
    for system in [*preferred, *(System(f"other {at}", url) for at, url in enumerate(others, start=1))]:
        rest = [found for found in left if system.url not in found]
        if len(left) - len(rest) > _SHARE * len(elements):
            chosen.append(system)
            left = rest
    return chosen


def _with_terminology(system: System, terminologies: Mapping[str, str]) -> System:
    if system.name not in terminologies:
        return system
    return System(system.name, system.url, {"terminology": terminologies[system.name]})


def xml_values_at(element: etree._Element, path: str, namespaces: Mapping[str, str]) -> Iterator[str]:
    """Yield the values that a path leads to in an element.

    >>> record = etree.fromstring('<a><b k="x" v="1"/><b k="y" v="2"/></a>')
    >>> list(xml_values_at(record, "b[@k=y]/@v", {}))
    ['2']
    """
    found, names = parse_path(path, slashed=True), Qualifier(namespaces)
    for holder in _holders(element, found.steps, names):
        value = holder.text if found.attribute is None else holder.get(names.attribute(found.attribute))
        if value and value.strip():
            yield str(value)


def _holders(element: etree._Element, steps: Sequence[Step], names: Qualifier) -> Iterator[etree._Element]:
    if not steps:
        yield element
        return
    step = steps[0]
    for child in element.iterchildren(names.element(step.name or "")):
        if step.predicate is None or _holds(child, step.predicate, names):
            yield from _holders(child, steps[1:], names)


def _holds(element: etree._Element, predicate: Predicate, names: Qualifier) -> bool:
    return element_holds(element, *names.predicate(predicate))

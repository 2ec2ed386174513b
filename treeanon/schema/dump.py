"""Schemas written as TOML, so that a converted document comes with a schema that reads it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime, time
from pathlib import Path
from typing import cast

from treeanon.hierarchy import with_files
from treeanon.schema.model import AUTO, SHIFT_DAYS, ClassSpec, FileKey, FileSpec, Reference, Schema
from treeanon.schema.paths import FieldPath, RecordPath, Step

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_NAMED_ESCAPES = {
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
    '"': '\\"',
    "\\": "\\\\",
}


def dump_schema(schema: Schema) -> str:
    r"""Return the TOML text from which the loader makes an equal schema.

    A hierarchy is written as its source names it; one without a source (made in Python) is left out.

    >>> from treeanon.schema.model import InputSpec
    >>> from treeanon.schema.paths import parse_path
    >>> spec = ClassSpec("illness", parse_path("visits[].name", slashed=False), under="/")
    >>> print(dump_schema(Schema(InputSpec("ndjson"), (spec,))), end="")
    version = 1
    <BLANKLINE>
    [input]
    format = "ndjson"
    objects = "merged"
    <BLANKLINE>
    [[class]]
    name = "illness"
    path = "visits[].name"
    under = "/"
    """
    slashed = schema.input.slashed
    tables = ["version = 1\n", "[input]\n" + toml_pairs(_input_items(schema))]
    if schema.input.namespaces:
        tables.append("[input.namespaces]\n" + toml_pairs(iter(schema.input.namespaces.items())))
    output = {"profile": schema.profile, "csv_safe": schema.csv_safe}
    if any(output.values()):
        tables.append("[output]\n" + toml_pairs((key, value) for key, value in output.items() if value))
    tables += ["[[file]]\n" + toml_pairs(_file_items(spec)) for spec in schema.files]
    tables += ["[[key]]\n" + toml_pairs(_key_items(key)) for key in schema.file_keys]
    tables += ["[[key]]\n" + toml_pairs(_reference_items(key, slashed=slashed)) for key in schema.references]
    tables += ["[[class]]\n" + toml_pairs(_class_items(spec, slashed=slashed)) for spec in schema.classes]
    return "\n".join(tables)


def record_text(record: RecordPath, slashed: bool) -> str:
    """Return the record path as the schema writes it.

    >>> record_text(RecordPath(("data", "patients"), True), slashed=False)
    'data.patients[]'
    >>> record_text(RecordPath(("patients", "patient"), True), slashed=True)
    'patients/patient'
    >>> record_text(RecordPath((), False), slashed=True), record_text(RecordPath((), True), slashed=False)
    ('.', '[]')
    """
    if not record.names:
        return "*" if record.keyed else "[]" if record.repeated else "."
    mark = ".*" if record.keyed else "[]" if record.repeated and not slashed else ""
    return FieldPath(tuple(Step(name) for name in record.names)).text(slashed=slashed) + mark


def _input_items(schema: Schema) -> Iterator[tuple[str, object]]:
    spec, slashed = schema.input, schema.input.slashed
    yield "format", spec.format
    if spec.record is not None:
        if spec.is_relational:
            yield "record", FieldPath((Step(spec.record.names[0]),)).text(slashed=False)
        else:
            yield "record", record_text(spec.record, slashed)
    if spec.keys:
        yield "key", [str(key) for key in spec.keys]
    if spec.person is not None:
        yield "person", spec.person.text(slashed=slashed)
        if spec.null_person != "error":
            yield "null_person", spec.null_person
    if spec.one_per_person:
        yield "one_per_person", True
    if (objects := _objects_said(schema)) is not None:
        yield "objects", objects
    if spec.shift_days != SHIFT_DAYS:
        yield "shift_days", spec.shift_days
    if spec.follow_links:
        yield "follow_links", True


def _objects_said(schema: Schema) -> str | None:
    """Return what [input] says of objects; None where it need not say anything."""
    spec = schema.input
    if schema.is_of_rows:
        return None
    if spec.objects_open and spec.objects == schema.auto_objects:
        return AUTO if spec.keeps_objects else None
    return spec.objects


def _file_items(spec: FileSpec) -> Iterator[tuple[str, object]]:
    yield "name", spec.name
    yield "person", spec.person.text(slashed=False)
    if spec.pattern:
        yield "files", spec.pattern


def _key_items(key: FileKey) -> Iterator[tuple[str, object]]:
    yield "from", FieldPath((Step(key.file), *key.path.steps)).text(slashed=False)
    yield "to", FieldPath((Step(key.target), *key.target_path.steps)).text(slashed=False)


def _reference_items(key: Reference, *, slashed: bool) -> Iterator[tuple[str, object]]:
    yield "from", key.path.text(slashed=slashed)
    yield "to", key.target.text(slashed=slashed)
    if not key.inside:
        yield "inside", False


def _class_items(spec: ClassSpec, *, slashed: bool) -> Iterator[tuple[str, object]]:
    yield "name", spec.name
    if spec.path is not None:
        yield "path", spec.path.text(slashed=slashed)
    if spec.type != "text":
        yield "type", spec.type
    if spec.under is not None:
        yield "under", spec.under
    if spec.role != "quasi":
        yield "role", spec.role
    if spec.hierarchy_source is not None:
        yield "hierarchy", spec.hierarchy_source
    if spec.on_unknown != "error":
        yield "on_unknown", spec.on_unknown
    if spec.pseudonym:
        yield "pseudonym", spec.pseudonym
    if spec.facets:
        yield "facets", {name: path.text(slashed=slashed) for name, path in spec.facets.items()}
    if spec.shift:
        yield "shift", spec.shift
    yield from spec.controls.as_dict().items()


def toml_pairs(items: Iterator[tuple[str, object]]) -> str:
    """Return the lines of a table of TOML."""
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in items)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _string(key)


def _value(value: object) -> str:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, date | time | datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(str(key))} = {_value(inner)}" for key, inner in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    raise TypeError(f"TOML has no {type(value).__name__}")


def _string(text: str) -> str:
    return '"' + "".join(_character(char) for char in text) + '"'


def _character(char: str) -> str:
    if char in _NAMED_ESCAPES:
        return _NAMED_ESCAPES[char]
    return char if char >= " " and char != "\x7f" else f"\\u{ord(char):04X}"


def relocated(schema: Schema, home: Path, goal: Path) -> Schema:
    """Return the schema for a file in another folder, with the paths of its hierarchy files relative to that."""

    def moved(spec: ClassSpec) -> ClassSpec:
        found = with_files(spec.hierarchy_source, lambda name: os.path.relpath(home / name, goal))
        return replace(spec, hierarchy_source=cast("str | Mapping[str, object] | None", found))

    return replace(schema, classes=tuple(moved(spec) for spec in schema.classes))


def hierarchy_files(schema: Schema) -> list[str]:
    """Return the paths of the files that the hierarchies of a schema are read from, each once."""
    home = os.path.dirname(os.path.abspath(schema.source))  # noqa: PTH100, PTH120
    files: dict[str, None] = {}

    def noted(name: str) -> str:
        files[os.path.join(home, name)] = None  # noqa: PTH118
        return name

    for spec in schema.classes:
        with_files(spec.hierarchy_source, noted)
    return list(files)

"""The loader of schemas from TOML; it reports all problems at once, each with its line; with the classes of
presets (`use`), of which its own of the same name win.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from treeanon.errors import FileError, HierarchyError, Problem, SchemaError, UsageError
from treeanon.hierarchy import Builder, Flat, Hierarchy, parse_builder, read_hierarchy
from treeanon.hierarchy.builders import height_of
from treeanon.schema.controls import CONTROL_KEYS, EXPECTED, Controls, is_control, unfixed_levels
from treeanon.schema.facets import facet_path, facet_schema
from treeanon.schema.input_tables import InputReader
from treeanon.schema.model import ON_UNKNOWN, ROLES, TYPES, ClassSpec, FileKey, Reference, Schema, Shift, ValueType
from treeanon.schema.paths import FieldPath
from treeanon.schema.presets import Preset, Table, preset_named, preset_names
from treeanon.schema.relational import check_relational
from treeanon.schema.toml_lines import parse_toml


def with_presets(document: dict[str, Any], source: str) -> dict[str, Any]:
    """Return a parsed schema with the classes of the presets that it uses, but for those that it withholds.

    A class of the schema's own takes the place of that of its name, and so of one for each code system. The profile is
    that of the preset, unless an `[output]` names one or is empty.
    """
    used, withheld = (_names(document, key, source) for key in ("use", "withhold"))
    if not used:
        if withheld:
            _fail(source, "withhold", "only goes with use: what a schema does not name is not published")
        return document
    if unknown := [name for name in used if name not in preset_names()]:
        _fail(source, "use", f"unknown preset {unknown[0]!r}; choose from {', '.join(preset_names())}")
    presets = [preset_named(name) for name in used]
    given = document.get("input")
    form = given.get("format") if isinstance(given, dict) else None
    for preset in presets:
        if isinstance(form, str) and form not in preset.formats:
            _fail(source, "use", f"{preset.name!r} is for formats {', '.join(preset.formats)}, not for {form}")
    own = document.get("class", [])
    if not isinstance(own, list):
        return document
    taken = {table.get("name") for table in own if isinstance(table, dict)}
    known = {table["name"] for preset in presets for table in preset.tables()} | set(_bases(presets))
    if wrong := [name for name in withheld if name not in known]:
        near = get_close_matches(wrong[0], known, 1)
        guess = f"; did you mean {near[0]!r}?" if near else ""
        _fail(source, "withhold", f"no class {wrong[0]!r} in what is used{guess}")
    made = {**document, "class": [*own, *_classes(presets, _files(document), taken | set(withheld))]}
    profile = next((preset.profile for preset in presets if preset.profile), "")
    output = made.get("output")
    # An [output] that is empty wants none; one that says something else leaves the profile as it is.
    if not profile or (output is not None and not (isinstance(output, dict) and output)):
        return made
    return {**made, "output": {"profile": profile, **(output or {})}}


def _names(document: dict[str, Any], key: str, source: str) -> list[str]:
    found = document.get(key, [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        _fail(source, key, f'must be a list of names: {key} = ["{"fhir-r4" if key == "use" else "language"}"]')
    return list(found)


def _fail(source: str, key: str, message: str) -> None:
    raise SchemaError([Problem(f"{source}: {key}", message)])


def _bases(presets: Sequence[Preset]) -> list[str]:
    return [str(table["name"]) for preset in presets for table in preset.classes]


def _files(document: dict[str, Any]) -> list[str] | None:
    """Return the names of the kinds that are files of their own; None where there are none."""
    files = document.get("file")
    if not isinstance(files, list) or not files:
        return None
    return [str(table.get("name")) for table in files if isinstance(table, dict)]


def _classes(presets: Sequence[Preset], files: list[str] | None, without: set[Any]) -> list[Table]:
    """Return the tables of the classes of presets but those of some names."""
    found = []
    for preset in presets:
        for table in preset.classes:
            # nothing is known of an input here: the class that is preferred is taken
            if table["name"] not in without and "instead_of" not in table:
                found += [made for made in preset.tables_of(table, files) if made["name"] not in without]
    return found


TOP_KEYS = ("version", "use", "withhold", "input", "output", "release", "file", "key", "class")
CLASS_KEYS = (
    "name", "path", "type", "under", "role", "hierarchy", "on_unknown", "pseudonym", "facets", "shift", *CONTROL_KEYS
)  # fmt: skip

SchemaLike = Schema | str | Path
"""A schema, the path of its file, or its text in TOML (several lines)."""


def schema_of(schema: SchemaLike | None) -> Schema:
    """Return a schema that is given whole, by the path of its file, or as TOML text.

    >>> schema_of('version = 1\\n[input]\\nformat = "csv"\\n[[class]]\\nname = "age"\\npath = "age"').classes[0].name
    'age'
    """
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, str) and "\n" in schema:
        return Schema.loads(schema)
    if isinstance(schema, str | Path):
        return Schema.load(schema)
    if schema is None:
        raise UsageError("data other than a Forest or a Table need a schema, which says what is in them: give schema=…")
    raise UsageError(f"schema must be a Schema, the path of one, or its text in TOML, not {type(schema).__qualname__}")


def load_schema(path: Path) -> Schema:
    """Return the schema in a TOML file; SchemaError lists everything that is wrong with it.

    >>> load_schema(Path("nowhere/schema.toml"))
    Traceback (most recent call last):
    treeanon.errors.FileError: nowhere/schema.toml: cannot be read: No such file or directory
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = Problem(f"{path}, line {line}", "is not UTF-8; save the file as UTF-8")
    else:
        return parse_schema(text, folder=path.parent, source=str(path))
    raise SchemaError([problem])


def parse_schema(text: str, *, folder: Path, source: str) -> Schema:
    """Return the schema in a TOML text; SchemaError lists everything that is wrong with it.

    >>> text = '''
    ... version = 1
    ... [input]
    ... format = "ndjson"
    ... [[class]]
    ... name = "age"
    ... path = "age"
    ... type = "integral"
    ... '''
    >>> parse_schema(text, folder=Path("."), source="s.toml")  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    treeanon.errors.SchemaError: s.toml, line 8, class 'age': type: unknown value 'integral';
    did you mean 'integer'? choose from text, integer, number, date
    """
    loader = _Loader(with_presets(parse_toml(text, source), source), text, folder, source)
    schema = loader.read()
    loader.check_layout(schema)
    if loader.problems:
        raise SchemaError(loader.problems.in_order())
    return schema


class _Loader(InputReader):
    """The reading of one document; problems are noted, and wrong values replaced by harmless ones."""

    def read(self) -> Schema:
        self.problems.unknown_keys(self.document, TOP_KEYS, "a schema")
        self.check_version(self.document.get("version"))
        self.of_files = bool(self.document.get("file"))
        spec = self.read_input(self.document.get("input"))
        files = tuple(found for number, table in self.listed("file") if (found := self.read_file(number, table)))
        keys, references = self.read_all_keys()
        self.check_classes(self.document.get("class"))
        classes = tuple(self.read_class(number, table) for number, table in enumerate(self.tables))
        if not isinstance(self.document.get("release", {}), dict):
            self.problems.add('must be a table: [release] and in it, for instance, output = "out.xml"', "release")
        profile, csv_safe = self.read_output(self.document.get("output"))
        schema = Schema(spec, classes, self.problems.source, files, keys, references, profile=profile)
        schema = schema.with_csv_safe() if csv_safe else schema
        if spec.objects_open:
            schema = replace(schema, input=replace(spec, objects=schema.auto_objects))
        return schema

    def read_all_keys(self) -> tuple[tuple[FileKey, ...], tuple[Reference, ...]]:
        """Return the keys between files, and those inside documents where there are none."""
        if self.of_files:
            found = (self.read_file_key(number, table) for number, table in self.listed("key"))
            return tuple(key for key in found if key is not None), ()
        inside = (self.read_reference(number, table) for number, table in self.listed("key"))
        return (), tuple(key for key in inside if key is not None)

    def check_version(self, version: object) -> None:
        if type(version) is not int or version != 1:
            wrong = "is missing" if version is None else "must be 1, the only one there is"
            self.problems.add(f"{wrong}; write version = 1 at the top", "version")

    def check_classes(self, declared: object) -> None:
        if declared is not None and not isinstance(declared, list):
            self.problems.add("must be written with two brackets: [[class]]", "class")
        elif not declared:
            self.problems.add("is missing; write [[class]] with a name and a path", "class")

    def read_class(self, number: int, table: Any) -> ClassSpec:
        where = ("class", number)
        if not isinstance(table, dict):
            self.problems.add("must be a table: [[class]]", *where)
            return ClassSpec("")
        self.problems.unknown_keys(table, CLASS_KEYS, "a class", *where)
        self.check_name(number, table.get("name"))
        role = self.one_of(table, ROLES, *where, "role")
        value_type = self.one_of(table, TYPES, *where, "type")
        under, pseudonym = table.get("under"), table.get("pseudonym", False)
        if under is not None and not (isinstance(under, str) and under):
            self.problems.add('must be the name of a class, or "/" for the root', *where, "under")
        elif (
            under is not None and self.form is not None and self.form.is_rows and not (self.of_persons or self.of_files)
        ):
            self.problems.add(
                f"is not for format {self.form.name}: a row is flat, no class lies under another", *where, "under"
            )
            under = None
        elif under is not None and self.objects == "whole":
            self.problems.add(
                'is only for merged trees: with objects = "whole" a value stays in the object that holds it',
                *where,
                "under",
            )
            under = None
        is_pseudonym = isinstance(pseudonym, bool) or (isinstance(pseudonym, str) and pseudonym != "")
        if not is_pseudonym:
            self.problems.add("must be true, false, or a name that links classes", *where, "pseudonym")
        elif "pseudonym" in table and role not in (None, "identifier"):
            self.problems.add('is only for role = "identifier"', *where, "pseudonym")
        if role is None or not is_pseudonym:
            self.unsure.add(number)
        on_unknown = self.one_of(table, ON_UNKNOWN, *where, "on_unknown")
        path = self.read_path(table.get("path"), *where, "path")
        hierarchy = self.hierarchy(table.get("hierarchy"), value_type, *where, "hierarchy")
        return ClassSpec(
            name=self.names[number] or "",
            path=path,
            type=value_type or "text",
            under=under if isinstance(under, str) and under else None,
            role=role or "quasi",
            hierarchy=hierarchy,
            hierarchy_source=table.get("hierarchy"),
            on_unknown="suppress" if on_unknown == "suppress" else "error",
            pseudonym=pseudonym if is_pseudonym else False,
            facets=self.read_facets(table, path, *where, "facets"),
            shift=self.read_shift(table, value_type, *where, "shift"),
            controls=self.read_controls(table, hierarchy, *where),
        )

    def read_controls(self, table: Mapping[str, Any], hierarchy: Hierarchy | Builder, *where: str | int) -> Controls:
        """Return what is asked of the class as a column of a table."""
        given = {key: table[key] for key in CONTROL_KEYS if key in table}
        role = table.get("role", "quasi")
        if given and role in ROLES and role != "quasi":
            for key in given:
                self.problems.add(f"is not for role {role}, which is not generalized", *where, key)
            return Controls()
        for key in [key for key, value in given.items() if not is_control(key, value)]:
            self.problems.add(f"must be {EXPECTED[key]}", *where, key)
            del given[key]
        if "microaggregate" in given and table.get("type") not in ("integer", "number"):
            self.problems.add('needs a class of type = "integer" or "number"', *where, "microaggregate")
            del given["microaggregate"]
        found = Controls(**given)
        if wrong := found.wrong_levels(height_of(hierarchy)) or unfixed_levels(found, hierarchy):
            self.problems.add(wrong.split(" ", 1)[1], *where, wrong.split(" ", 1)[0])
        return found

    def read_shift(self, table: Mapping[str, Any], kind: ValueType | None, *where: str | int) -> Shift:
        """Return whether dates move, and check that all that tells them moves with them."""
        if "shift" not in table:
            return ""
        wrong = ""
        if table["shift"] != "person":
            wrong = 'must be "person": all dates of a person move by one secret span'
        elif kind not in (None, "date"):
            wrong = 'needs a class of type = "date"'
        elif table.get("role") in ("identifier", "drop"):
            wrong = f"is not for role {table['role']}, which is not published"
        elif "facets" in table:
            wrong = "is not for a class with facets, which would tell the dates as they were"
        elif isinstance(table.get("hierarchy"), str):
            wrong = 'needs a hierarchy that is built from the dates, such as { dates = ["month", "year"] }, not a file'
        elif isinstance(table.get("hierarchy"), dict) and table["hierarchy"].get("leaves") is False:
            wrong = "moves days, and the hierarchy has none (leaves = false)"
        if wrong:
            self.problems.add(wrong, *where)
        return "" if wrong else "person"

    def read_facets(
        self, table: Mapping[str, Any], path: FieldPath | None, *where: str | int
    ) -> Mapping[str, FieldPath]:
        """Return the fields that say the same as the value of a class."""
        declared = table.get("facets")
        if declared is None:
            return {}
        if not isinstance(declared, dict) or not all(isinstance(text, str) and text for text in declared.values()):
            self.problems.add('must be a table of names and paths: { display = "…coding[].display" }', *where)
            return {}
        wrong = ""
        if table.get("role") in ("identifier", "drop"):
            wrong = f"is not for role {table['role']}, which is not published"
        elif self.form is not None and self.form.names_classes:
            wrong = f"is not for format {self.form.name}, whose records hold classes alone"
        elif self.form is not None and self.form.is_rows and not self.has_objects:
            wrong = f"is not for format {self.form.name} without person: columns of tables count each by itself"
        if wrong:
            self.problems.add(wrong, *where)
            return {}
        found = {}
        for name, text in declared.items():
            one = facet_path(text, path, lambda text: self.read_path(text, *where))
            if one is not None:
                found[name] = one
        return found

    def check_name(self, number: int, name: object) -> None:
        where = ("class", number, "name")
        if name is None:
            self.problems.add('is missing; for example name = "hospital"', *where)
        elif not isinstance(name, str) or name in ("", "*", "/"):
            self.problems.add('must be a string that is not empty and not "*" or "/"', *where)
        elif (first := self.first_named[name]) < number:
            self.unsure |= {first, number}
            self.problems.add(f"is the name of class {first + 1} too; every class needs its own", *where)

    def hierarchy(self, source: object, kind: ValueType | None, *where: str | int) -> Hierarchy | Builder:
        if isinstance(source, str) and "\0" not in source:
            try:
                found = read_hierarchy(self.folder / source)
                if kind not in (None, "text") and any(text != text.strip() for text in found.texts):
                    self.problems.add(f"has texts with blanks around them, which type = {kind!r} cannot have", *where)
                return found
            except (HierarchyError, FileError) as error:
                self.problems.add(str(error), *where)
        elif source is not None and not isinstance(source, dict):
            self.problems.add('must be a file, "hierarchies/city.csv", or a builder, { groups = 5 }', *where)
        if not isinstance(source, dict):
            return Flat()
        # With an invalid type, only the builder's problems that hold for every type are reported.
        made = [parse_builder(source, each, self.folder) for each in ([kind] if kind else TYPES)]
        for key, message in made[0][1]:
            if all((key, message) in wrong for _, wrong in made):
                self.problems.add(message, *where, *([key] if key else []))
        return made[0][0] or Flat()

    def check_layout(self, schema: Schema) -> None:
        """Note contradictions in the layout, except those that may only follow from another problem."""
        if self.problems:
            schema = replace(schema, classes=tuple(self.sure_classes(schema.classes)))
        try:
            if schema.input.is_relational:
                check_relational(schema)
            else:
                _ = facet_schema(schema).layout
        except SchemaError as error:
            for problem in error.problems:
                self.problems.add_problem(problem)

    def sure_classes(self, classes: tuple[ClassSpec, ...]) -> Iterator[ClassSpec]:
        """Return the classes without what is in doubt: defaults of `under`, names that a nameless class may have."""
        for number, spec in enumerate(classes):
            if not spec.name or self.first_named[spec.name] != number:
                continue
            if number in self.unsure:
                spec = replace(spec, path=None, role="quasi", under="/")
            lost = None in self.names and spec.under not in self.names
            yield replace(spec, under="/") if spec.under is None or lost else spec

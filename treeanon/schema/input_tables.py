"""What a schema in TOML says of its input: the tables [input], [[file]] and [[key]]."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from treeanon.formats import FORMATS, NESTED, PROFILES, Format, names_of
from treeanon.schema.keys import ForeignKey, KeyFormError, parse_key
from treeanon.schema.layout import MOVED, MOVED_NAMESPACE
from treeanon.schema.model import (
    AUTO,
    MOST_SHIFT_DAYS,
    NULL_PERSONS,
    OBJECTS,
    SHIFT_DAYS,
    FileKey,
    FileSpec,
    InputSpec,
    Objects,
    Reference,
)
from treeanon.schema.paths import (
    FieldPath,
    PathError,
    RecordPath,
    parse_column,
    parse_path,
    parse_record,
    parse_root,
    xml_name,
)
from treeanon.schema.persons import FILE_FORMATS
from treeanon.schema.toml_lines import SchemaProblems, find_places

FILE_KEYS = ("name", "person", "files")
KEY_KEYS = ("from", "to")
REFERENCE_KEYS = (*KEY_KEYS, "inside")
OUTPUT_KEYS = ("profile", "csv_safe")
INPUT_KEYS = (
    "format", "record", "namespaces", "key", "person", "null_person", "one_per_person", "objects", "shift_days",
    "follow_links",
)  # fmt: skip

_PREFIX = re.compile(r"(?!xml$|xmlns$)[^\W\d][\w.·-]*|")

T = TypeVar("T", bound=str)


def _all_names(path: FieldPath, *, slashed: bool) -> list[str]:
    """Return the names of elements and attributes on a path, those of its predicates too."""
    names: list[str | None] = []
    for step in path.steps:
        names.append(step.name)
        if step.predicate is not None:
            is_of_element = step.predicate.is_of_element(slashed=slashed)
            own = (*step.predicate.names[:-1], step.predicate.value) if is_of_element else step.predicate.names
            names += [*own, step.predicate.attribute]
    return [name for name in (*names, path.attribute) if name is not None]


def _path_example(form: Format | None) -> str:
    if form is None or form.is_document:
        return "visit[]/@hospital" if form is not None and form.slashed else "visits[].hospital"
    return "hospital" if form.is_rows else "visit.hospital"


class InputReader:
    """The reader of one document's input; problems are noted, and wrong values replaced by harmless ones."""

    def __init__(self, document: dict[str, Any], text: str, folder: Path, source: str) -> None:
        declared = document.get("class")
        self.document, self.folder = document, folder
        self.tables: list[Any] = declared if isinstance(declared, list) else []
        names = (table.get("name") if isinstance(table, dict) else None for table in self.tables)
        self.names = tuple(name if isinstance(name, str) and name else None for name in names)
        self.first_named = {name: number for number, name in reversed(tuple(enumerate(self.names))) if name}
        self.problems = SchemaProblems(source, find_places(text), self.names)
        self.form: Format | None = None
        self.prefixes: Collection[str] | None = ()
        self.objects: Objects = OBJECTS[0]
        self.objects_open = False
        self.unsure: set[int] = set()
        self.of_persons = self.of_files = False

    @property
    def has_objects(self) -> bool:
        """Whether rows are objects of their person's record."""
        return self.of_persons or self.of_files

    def read_output(self, table: Any) -> tuple[str, bool]:
        """Return the standard that releases are valid by, if there is one, and whether CSV is for spreadsheets."""
        if table is None:
            return "", False
        if not isinstance(table, dict):
            self.problems.add('must be a table: [output] and in it, for instance, profile = "fhir-r4"', "output")
            return "", False
        self.problems.unknown_keys(table, OUTPUT_KEYS, "[output]", "output")
        safe = table.get("csv_safe", False)
        if not isinstance(safe, bool):
            self.problems.add("must be true or false", "output", "csv_safe")
        return self.read_profile(table.get("profile")), safe is True

    def read_profile(self, name: Any) -> str:
        """Return the standard that releases are valid by, if there is one."""
        where = ("output", "profile")
        if name is None:
            return ""
        if not isinstance(name, str) or name not in PROFILES:
            self.problems.unknown_value(name, tuple(PROFILES), *where)
            return ""
        able = PROFILES[name].formats
        if self.of_persons:
            self.problems.add("is for documents of one person each, or [[file]], not with person", *where)
        elif self.form is not None and self.form.name not in able:
            self.problems.add(f"{name!r} is for formats {', '.join(able)}, not for {self.form.name}", *where)
        return name

    def listed(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the tables of a list by their numbers, and note what is no list of tables."""
        declared = self.document.get(name, [])
        if not isinstance(declared, list) or not all(isinstance(table, dict) for table in declared):
            self.problems.add(f"must be written with two brackets: [[{name}]]", name)
            return
        if name == "file" and declared and self.form is not None and self.form.name not in FILE_FORMATS:
            self.problems.add(f"is for formats {', '.join(FILE_FORMATS)}, not for {self.form.name}", name)
            return
        if name == "key" and declared and not self.of_files and self.form is not None and not self._has_references:
            what = "ties files together, or objects of documents" + (" of one person each" if self.of_persons else "")
            self.problems.add(f"{what}: this schema reads {self.form.name}", name)
            return
        yield from enumerate(declared)

    def read_file(self, number: int, table: dict[str, Any]) -> FileSpec | None:
        """Return one kind of files."""
        self.problems.unknown_keys(table, FILE_KEYS, "a file", "file", number)
        name, pattern = table.get("name"), table.get("files", "")
        if not isinstance(name, str) or not name:
            self.problems.add('is missing; for example name = "Condition"', "file", number, "name")
        if not isinstance(pattern, str):
            self.problems.add('must be a pattern of file names, such as "conditions*.csv"', "file", number, "files")
        person = self.read_field(table.get("person"), "subject.reference", "file", number, "person")
        taken = [each.get("name") for each in self.document["file"][:number] if isinstance(each, dict)]
        if name in taken:
            self.problems.add("is the name of another file too", "file", number, "name")
        if person is None or not isinstance(name, str) or not name or not isinstance(pattern, str):
            return None
        return FileSpec(name, person, pattern)

    def read_file_key(self, number: int, table: dict[str, Any]) -> FileKey | None:
        """Return one key between files."""
        self.problems.unknown_keys(table, KEY_KEYS, "a key", "key", number)
        own = self.read_field(table.get("from"), "Condition.encounter.reference", "key", number, "from", lists=1)
        target = self.read_field(table.get("to"), "Encounter.id", "key", number, "to")
        for path, side in ((own, "from"), (target, "to")):
            if path is not None and len(path.steps) < 2:
                self.problems.add("must begin with the name of a file, such as Encounter.id", "key", number, side)
                return None
        if own is None or target is None:
            return None
        ends = FieldPath(own.steps[1:]), FieldPath(target.steps[1:])
        return FileKey(own.steps[0].name or "", ends[0], target.steps[0].name or "", ends[1])

    @property
    def _has_references(self) -> bool:
        """Whether records are documents, whose objects may refer to one another."""
        form = self.form
        return form is not None and form.is_document and not self.of_persons

    def read_reference(self, number: int, table: dict[str, Any]) -> Reference | None:
        """Return one key inside documents."""
        self.problems.unknown_keys(table, REFERENCE_KEYS, "a key", "key", number)
        example = "conditions[].encounter", "encounters[].id"
        ends = []
        for side, usual in zip(KEY_KEYS, example, strict=True):
            if side in table:
                ends.append(self.read_path(table[side], "key", number, side))
            else:
                self.problems.add(f'is missing; for example {side} = "{usual}"', "key", number, side)
        inside = table.get("inside", True)
        if not isinstance(inside, bool):
            self.problems.add("must be true or false", "key", number, "inside")
        if len(ends) < len(KEY_KEYS) or ends[0] is None or ends[1] is None or not isinstance(inside, bool):
            return None
        return Reference(ends[0], ends[1], inside)

    def read_field(self, text: object, example: str, *where: str | int, lists: int = 0) -> FieldPath | None:
        """Return the path of a field that a row has once, or in so many lists."""
        if not isinstance(text, str):
            wrong = "is missing" if text is None else "must be a string"
            self.problems.add(f'{wrong}; for example {where[-1]} = "{example}"', *where)
            return None
        try:
            path = parse_path(text, slashed=False)
        except PathError as error:
            self.problems.add(str(error), *where)
            return None
        if sum(step.repeated for step in path.steps) > lists or (path.steps[0].repeated and lists):
            once = "must be a field that a row has once, without []"
            self.problems.add(f"{once}, or in one list: Report.result[].reference" if lists else once, *where)
            return None
        return path

    def read_input(self, table: Any) -> InputSpec:
        """Return what [input] says."""
        if not isinstance(table, dict):
            wrong = "is missing; write" if table is None else "must be a table:"
            self.problems.add(f'{wrong} [input] and in it, for instance, format = "json"', "input")
            return InputSpec()
        self.form = self.read_format(table.get("format"))
        self.problems.unknown_keys(table, INPUT_KEYS, "[input]", "input")
        namespaces = self.read_namespaces(table.get("namespaces"))
        person = self.read_person(table)
        self.objects = self.read_objects(table)
        return InputSpec(
            self.form.name if self.form else NESTED,
            self.read_record(table.get("record")),
            namespaces,
            self.read_keys(table.get("key")),
            person=person,
            null_person=self.one_of(table, NULL_PERSONS, "input", "null_person") or "error",
            one_per_person=table.get("one_per_person") is True,
            objects=self.objects,
            shift_days=self.read_shift_days(table),
            objects_open=self.objects_open,
            follow_links=self.read_follow_links(table.get("follow_links", False)),
        )

    def read_follow_links(self, found: object) -> bool:
        """Return whether links out of the folder of an input are followed."""
        if not isinstance(found, bool):
            self.problems.add("must be true or false", "input", "follow_links")
        return found is True

    def read_shift_days(self, table: Mapping[str, Any]) -> int:
        """Return by how many days the dates of a person may move."""
        found, where = table.get("shift_days", SHIFT_DAYS), ("input", "shift_days")
        if type(found) is not int or not 1 <= found <= MOST_SHIFT_DAYS:
            self.problems.add(f"must be a whole number of days from 1 to {MOST_SHIFT_DAYS:,}", *where)
            return SHIFT_DAYS
        if "shift_days" in table and not any(isinstance(each, dict) and "shift" in each for each in self.tables):
            self.problems.add('only goes with a class that has shift = "person"', *where)
        return found

    def read_person(self, table: Mapping[str, Any]) -> FieldPath | None:
        """Return the field that says whose a row is, and check what goes with it."""
        self.of_persons = "person" in table
        if self.of_files and (self.of_persons or "one_per_person" in table):
            self.problems.add("is not for several files: each [[file]] has its own", "input", "person")
            return None
        for key in ("null_person", "one_per_person"):
            if key in table and (key == "null_person") != (self.of_persons or self.of_files):
                with_it = "only goes with person" if key == "null_person" else "contradicts person"
                self.problems.add(f"{with_it}, which says whose a row is", "input", key)
        if not isinstance(table.get("one_per_person", False), bool):
            self.problems.add("must be true or false", "input", "one_per_person")
        if not self.of_persons:
            return None
        where = ("input", "person")
        if self.form is not None and self.form.names_classes:
            self.problems.add(f"is not for format {self.form.name}, where {self.form.no_record}", *where)
            return None
        path = self.read_path(table["person"], *where)
        steps = path.steps if path is not None else ()
        if self.form is not None and self.form.is_relational and len(steps) > 1:
            self.problems.add("must be a column of the table that `record` names", *where)
            return None
        if any(step.repeated for step in steps):
            self.problems.add("must be a field that a row has once, without []", *where)
            return None
        return path

    def read_objects(self, table: Mapping[str, Any]) -> Objects:
        """Return whether objects are merged or stay whole; merged while that is open, as where nothing is said."""
        where, form = ("input", "objects"), self.form
        is_bare = form is not None and form.is_rows and not self.has_objects
        if "objects" in table and form is not None and is_bare:
            able = ", ".join(form.name for form in FORMATS.values() if not form.is_rows)
            able += ", or rows of which several are one person's"
            self.problems.add(f"is only for formats whose records hold objects ({able}), not for {form.name}", *where)
            return OBJECTS[0]
        known: tuple[str, ...] = (AUTO, *OBJECTS)
        chosen = self.one_of(table, known, *where)
        self.objects_open = chosen == AUTO
        return "whole" if chosen == "whole" else "merged"

    def read_format(self, name: object) -> Format | None:
        """Return the format of that name."""
        where = ("input", "format")
        if isinstance(name, str) and name in FORMATS:
            return FORMATS[name]
        if name is None:
            self.problems.add(f"is missing; it is one of: {', '.join(FORMATS)}", *where)
        else:
            self.problems.unknown_value(name, tuple(FORMATS), *where)
        return None

    def read_namespaces(self, declared: Any) -> dict[str, str]:
        """Return the namespaces of XML by their prefixes."""
        where = ("input", "namespaces")
        if declared is not None and self.form is not None and not self.form.slashed:
            able = ", ".join(form.name for form in FORMATS.values() if form.slashed)
            self.problems.add(f"is only for format {able}, not for {self.form.name}", *where)
        elif declared is not None and not isinstance(declared, dict):
            self.problems.add('must be a table of prefixes, such as { h = "urn:hl7-org:v3" }', *where)
            self.prefixes = None
        if not isinstance(declared, dict):
            return {}
        self.prefixes = declared.keys()
        for prefix, address in declared.items():
            if not _PREFIX.fullmatch(prefix):
                self.problems.add("must be a prefix of XML other than xml and xmlns", *where, prefix)
            elif not isinstance(address, str) or not address:
                self.problems.add("must be the address of a namespace, a string", *where, prefix)
            elif list(declared.values()).count(address) > 1:
                self.problems.add("is the namespace of another prefix too; use one prefix for it", *where, prefix)
            elif address == MOVED_NAMESPACE:
                self.problems.add(f"{address} is reserved for what treeanon writes", *where, prefix)
        return declared

    def read_keys(self, declared: Any) -> tuple[ForeignKey, ...]:
        """Return the foreign keys between tables."""
        where = ("input", "key")
        if declared is None:
            return ()
        if self.form is not None and not self.form.is_relational:
            able = ", ".join(names_of("relational"))
            self.problems.add(f"is only for tables ({able}), not for {self.form.name}", *where)
            return ()
        if not isinstance(declared, list):
            self.problems.add('must be a list: key = ["orders.custkey -> customer.custkey"]', *where)
            return ()
        keys: list[ForeignKey] = []
        for number, text in enumerate(declared, start=1):
            try:
                keys.append(parse_key(text if isinstance(text, str) else ""))
            except KeyFormError as error:
                self.problems.add(f"key {number}: {error}", *where)
        return tuple(keys)

    def read_record(self, text: object) -> RecordPath | None:
        """Return the path of a record."""
        where = ("input", "record")
        form = self.form
        if form is not None and not form.has_record_path and text is not None:
            self.problems.add(f"is not for format {form.name}, where {form.no_record}", *where)
        if form is None or not form.has_record_path:
            return None
        if not isinstance(text, str):
            wrong = "is missing" if text is None else "must be a string"
            more = ", the table of which each row is one person" if form.is_relational else ""
            self.problems.add(f'{wrong}; for example record = "{form.record}"{more}', *where)
            return None
        try:
            record = parse_root(text) if form.is_relational else parse_record(text, slashed=form.slashed)
        except PathError as error:
            self.problems.add(str(error), *where)
            return None
        self.check_names(record.names, *where)
        return record

    def check_names(self, names: Collection[str], *where: str | int) -> None:
        """Note reserved names and, in XML, names that are malformed or whose prefix is not declared."""
        wrong = [f"{MOVED!r} is reserved for what treeanon writes"] if MOVED in names else []
        for name in names if self.form is not None and self.form.slashed and not wrong else ():
            prefix = name.partition(":")[0] if ":" in name else ""
            if not all(xml_name().fullmatch(part) for part in name.split(":", 1)):
                wrong.append(f"{name!r} is not the name of an element or attribute")
            elif self.prefixes is not None and prefix not in {"", "xml", *self.prefixes}:
                known = ", ".join(sorted({"xml", *self.prefixes} - {""}))
                wrong.append(f"prefix {prefix!r} is not declared in [input.namespaces]; choose from {known}")
        for message in dict.fromkeys(wrong):
            self.problems.add(message, *where)

    def one_of(self, table: Mapping[str, Any], known: tuple[T, ...], *where: str | int) -> T | None:
        """Return the chosen name, by default the first of those known; None where it is unknown."""
        value = table.get(str(where[-1]), known[0])
        if value in known:
            return known[known.index(value)]
        self.problems.unknown_value(value, known, *where)
        return None

    def read_path(self, text: object, *where: str | int) -> FieldPath | None:
        """Return the path of a class; None where there is none, or a wrong one."""
        form = self.form
        if text is None and (form is None or form.names_classes):
            return None
        if not isinstance(text, str):
            wrong = "is missing" if text is None else "must be a string"
            self.problems.add(f'{wrong}; for example path = "{_path_example(form)}"', *where)
            return None
        # Without a format it is unknown whether paths have dots or slashes.
        if form is None:
            return None
        try:
            if form.is_rows and not self.of_files:
                return parse_column(text)
            path = parse_path(text, slashed=form.slashed, keyed=form.is_relational)
        except PathError as error:
            self.problems.add(str(error), *where)
            return None
        self.check_names(_all_names(path, slashed=form.slashed), *where)
        return path

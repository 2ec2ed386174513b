"""The schema as it is edited on the page: roles and other keys of classes, builders, and hierarchies by hand.

Every edit is checked by the loader of schemas before it counts. Nothing that exists is ever replaced: a draft is saved
to new files.
"""

from __future__ import annotations

import re
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from treeanon.builders import BUILDERS
from treeanon.errors import FileError, SchemaError, UsageError
from treeanon.explore import hand
from treeanon.explore.fields import FILE, KEY, RULE, WrongFields, class_keys, read_fields, rules_for
from treeanon.explore.settings import ExploredData
from treeanon.forest import Forest
from treeanon.hierarchy import Hierarchy, dump_csv
from treeanon.hierarchy.levels import NamedHierarchy
from treeanon.io.output import open_output
from treeanon.schema import ClassSpec, Schema
from treeanon.schema.dump import dump_schema, relocated, toml_pairs
from treeanon.schema.model import ROLES

FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ .-]{0,80}\.toml")
_MOST_UNDO = 100

Reread = Callable[[Schema], ExploredData]
"""Reads the input again by another schema, and draws the same sample."""


@dataclass(frozen=True, eq=False)
class Draft:
    """A schema on the way, whose hierarchies made by hand have no file yet."""

    schema: Schema
    own: Mapping[str, Hierarchy] = field(default_factory=dict)


class Editor:
    """The drafts of one explorer; `folder` is where files are saved to."""

    def __init__(self, schema: Schema, reread: Reread, folder: Path) -> None:
        self.given = self.draft = self.applied = Draft(schema)
        self.reread, self.folder = reread, folder
        self.revision = 0
        self.number = 0
        self.lock = threading.Lock()
        self._past: list[Draft] = []
        self._saved: tuple[Draft, str] | None = None

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to undo."""
        return bool(self._past)

    @property
    def pending(self) -> bool:
        """Whether the page shows results of another draft."""
        return self.draft is not self.applied

    @property
    def is_saved(self) -> bool:
        """Whether the draft is in files: as given, or as saved."""
        return self.draft is self.given or (self._saved is not None and self._saved[0] is self.draft)

    @property
    def label(self) -> str:
        """What the schema in use is called in a table of results."""
        return "as given" if self.applied is self.given else f"edited ({self.number})"

    def schema_file(self) -> str | None:
        """Return the file of the schema in use; None for the one that was given, UsageError if it is in none."""
        if self.applied is self.given:
            return None
        if self._saved is None or self._saved[0] is not self.applied:
            raise UsageError("Save the edited schema first: the command reads it from its file.")
        return self._saved[1]

    def hierarchy(self, spec: ClassSpec, explored: ExploredData) -> Hierarchy | str:
        """Return the hierarchy of a class for editing by hand, or why it cannot be."""
        if spec.type != "text":
            return "Numbers and dates follow their rule."
        if spec.pseudonym or spec.role in ("identifier", "drop"):
            return "This class is not published."
        if any(name.endswith("_level") for name in spec.controls.given):
            return "The schema sets levels of this class, which belong to its hierarchy as it is."
        found = self.draft.own.get(spec.name)
        if found is None and isinstance(spec.hierarchy, Hierarchy):
            found = spec.hierarchy
        as_read = spec.hierarchy is self.applied.schema.spec(spec.name).hierarchy
        if found is None and as_read and not explored.reading.get("reduced"):
            found = _built(explored, spec.name)
        if found is None:
            return "Apply the changes first: the hierarchy is made of the values of the input."
        if isinstance(found, NamedHierarchy):
            return "No value is published as it is, only the levels of the rule: a file cannot hold such a hierarchy."
        if len(found) > hand.MOST_NODES:
            return f"Of {len(found):,} nodes, too many to edit here; its file can be edited elsewhere."
        return found

    def keys(self, at: int) -> dict[str, Any]:
        """Return the keys of a class, as a schema would have them."""
        spec = self._spec(at)
        return next(table for table in _document(self.draft)["class"] if table["name"] == spec.name)

    def rule(self, at: int) -> str:
        """Return the name of the rule by which a class has its hierarchy; "" for one made by hand."""
        spec = self._spec(at)
        if spec.name in self.draft.own:
            return ""
        source = self.keys(at).get("hierarchy", {"flat": True})
        if isinstance(source, str):
            return FILE.name
        return next((name for name in BUILDERS if name in source), "")

    def set_role(self, at: int, role: str) -> None:
        """Give a class another role."""
        if role not in ROLES:
            raise UsageError(f"role must be one of {', '.join(ROLES)}")
        self._replace(at, {**self.keys(at), "role": role}, self.draft.own)

    def set_keys(self, at: int, typed: Mapping[str, str]) -> None:
        """Give a class what its fields say; a hierarchy that is not for its new type goes."""
        before = self.keys(at)
        declared = class_keys(before)
        found = read_fields(KEY, declared, typed, before)
        if found.get("pseudonym") == "true":
            found["pseudonym"] = True
        rest = {name: value for name, value in before.items() if name not in {one.name for one in declared}}
        own, value_type = self.draft.own, str(found.get("type", "text"))
        if self.rule(at) not in rules_for(value_type) and value_type != self._spec(at).type:
            rest.pop("hierarchy", None)
            own = {name: one for name, one in own.items() if name != before["name"]}
        self._replace(at, {**rest, **found}, own)

    def set_rule(self, at: int, kind: str, typed: Mapping[str, str]) -> None:
        """Have a rule make the hierarchy of a class: a builder with what its fields say, or a file."""
        spec, before = self._spec(at), self.keys(at)
        rules = rules_for(spec.type)
        if kind not in rules:
            raise WrongFields({"rule": f"must be one of {', '.join(rules)}"})
        source = before.get("hierarchy")
        old = {FILE.name: source} if isinstance(source, str) else source or {}
        made = read_fields(RULE, rules[kind].parameters, typed, old if self.rule(at) == kind else {})
        own = {name: one for name, one in self.draft.own.items() if name != spec.name}
        self._replace(at, {**before, "hierarchy": made["file"] if kind == FILE.name else made}, own)

    def edit_by_hand(self, at: int, explored: ExploredData, change: Callable[[Hierarchy], Hierarchy], node: int) -> int:
        """Change the hierarchy of a class by hand; return the code that a node of before has now, or 0."""
        spec = self._spec(at)
        before = self.hierarchy(spec, explored)
        if isinstance(before, str):
            raise UsageError(before)
        if not 0 <= node < len(before):
            raise UsageError("select a value or a group first")
        after = change(before)
        self._replace(at, self.keys(at), {**self.draft.own, spec.name: after})
        return after.find(before.texts[node]) or 0

    def undo(self) -> None:
        """Take the last edit back."""
        if self._past:
            self.draft = self._past.pop()
            self.revision += 1

    def apply(self) -> ExploredData:
        """Read the input again by the draft."""
        found = self.reread(self.draft.schema)
        self.applied = self.draft
        if self.draft is not self.given:
            self.number += 1
        return found

    def save(self, name: str) -> list[str]:
        """Write the draft to new files that only their owner can read; return their names, that of the schema first."""
        if not FILE_NAME.fullmatch(name):
            wrong = "the name of the file must end in .toml, and be of letters, digits, - and _, without folders"
            raise WrongFields({"file": wrong})
        schema, files = self._as_files(name)
        texts = {**files, name: dump_schema(schema)}
        for one in texts:
            if (self.folder / one).exists() or (self.folder / one).is_symlink():
                wrong = f"{one} exists already; nothing is replaced from here: choose another name"
                raise WrongFields({"file": wrong})
        self._write(texts)
        self._saved = (self.draft, name)
        return [name, *files]

    def _write(self, texts: Mapping[str, str]) -> None:
        written: list[Path] = []
        try:
            for name, text in texts.items():
                with open_output(self.folder / name, private=True) as stream:
                    stream.write(text.encode())
                written.append(self.folder / name)
        except FileError:
            for path in written:
                with suppress(OSError):
                    path.unlink()
            raise

    def _as_files(self, name: str) -> tuple[Schema, dict[str, str]]:
        """Return the schema as it is written, and by the names of their files the hierarchies made by hand."""
        schema = relocated(self.draft.schema, Path(self.given.schema.source).resolve().parent, self.folder.resolve())
        files: dict[str, str] = {}
        specs = []
        for spec in schema.classes:
            own = self.draft.own.get(spec.name)
            if own is not None:
                file = _free(f"{name.removesuffix('.toml')}-{re.sub('[^A-Za-z0-9_-]+', '-', spec.name)}", files)
                files[file] = dump_csv(own)
                spec = replace(spec, hierarchy_source=file)
            specs.append(spec)
        return replace(schema, classes=tuple(specs)), files

    def _spec(self, at: int) -> ClassSpec:
        if not 0 <= at < len(self.draft.schema.classes):
            raise UsageError("no such class")
        return self.draft.schema.classes[at]

    def _replace(self, at: int, table: Mapping[str, Any], own: Mapping[str, Hierarchy]) -> None:
        """Make the draft in which a class has these keys, if the loader accepts it."""
        document = _document(Draft(self.draft.schema, own))
        name = self._spec(at).name
        # What is made by hand has no file that the loader could read yet.
        plain = {**table, "hierarchy": {"flat": True}} if name in own else dict(table)
        document["class"] = [plain if one["name"] == name else one for one in document["class"]]
        made = Draft(_checked(document, own, self.draft.schema, name), own)
        self._past = [*self._past[1 - _MOST_UNDO :], self.draft]
        self.draft = made
        self.revision += 1


def _document(draft: Draft) -> dict[str, Any]:
    """Return the schema as plain data; hierarchies made by hand are left out."""
    classes = tuple(
        replace(one, hierarchy_source={"flat": True}) if one.name in draft.own else one for one in draft.schema.classes
    )
    return tomllib.loads(dump_schema(replace(draft.schema, classes=classes)))


def _checked(document: dict[str, Any], own: Mapping[str, Hierarchy], before: Schema, name: str) -> Schema:
    """Return the schema as the loader makes it; WrongFields for what is wrong with keys of the class of that name.

    A class whose hierarchy is declared as before keeps it: so it is known whether the data were read by it.
    """
    folder = Path(before.source).resolve().parent
    try:
        loaded = Schema.loads(toml_pairs(iter(document.items())), folder=folder, source="schema")
    except SchemaError as error:
        raise _in_fields(error, document, name) from None

    def kept(spec: ClassSpec) -> ClassSpec:
        if spec.name in own:
            return replace(spec, hierarchy=own[spec.name], hierarchy_source=None)
        old = before.spec(spec.name)
        same = (old.hierarchy_source, old.type) == (spec.hierarchy_source, spec.type)
        return replace(spec, hierarchy=old.hierarchy) if same else spec

    return replace(loaded, classes=tuple(map(kept, loaded.classes)), source=before.source)


def _in_fields(error: SchemaError, document: Mapping[str, Any], name: str) -> UsageError:
    """Return the problems of a schema, those with keys of a class by the names of their fields."""
    fields: dict[str, str] = {}
    others = []
    for problem in error.problems:
        top, at, key, *more = (*problem.path, "", "", "")[: max(3, len(problem.path))]
        if top != "class" or not isinstance(at, int) or document["class"][at]["name"] != name:
            # The lines are of a text that nobody has seen.
            others.append(re.sub(r"^schema(, line \d+)?(, |: )?", "", str(problem)))
        elif key == "role":
            fields.setdefault("role", problem.message)
        elif key == "hierarchy":
            table = document["class"][at].get("hierarchy")
            own = next((one for one in BUILDERS if isinstance(table, dict) and one in table), FILE.name)
            fields.setdefault(f"{RULE}{more[0] if more else own}", problem.message)
        else:
            fields.setdefault(f"{KEY}{str(key).partition('.')[0]}", problem.message)
    return UsageError("\n".join(others)) if others else WrongFields(fields)


def _built(explored: ExploredData, name: str) -> Hierarchy | None:
    """Return the hierarchy that a class has in the data."""
    data = explored.data
    if isinstance(data, Forest):
        return data.classes.hierarchies[data.classes.names.index(name)] if name in data.classes.names else None
    return next((column.hierarchy for column in data.columns if column.name == name), None)


def _free(stem: str, taken: Mapping[str, str]) -> str:
    """Return a name of a file that is not taken; names of classes may differ in marks alone."""
    return next(name for name in _numbered(stem) if name not in taken)


def _numbered(stem: str) -> Iterator[str]:
    yield f"{stem}.csv"
    number = 2
    while True:
        yield f"{stem}-{number}.csv"
        number += 1

"""The schema as it is edited on the page: roles, the widths and levels of builders, and hierarchies by hand.

Every edit is checked by the loader of schemas before it counts. Nothing that exists is ever replaced: a draft is saved
to new files.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from treeanon.errors import FileError, UsageError
from treeanon.explore import hand
from treeanon.explore.settings import ExploredData
from treeanon.forest import Forest
from treeanon.hierarchy import Hierarchy, dump_csv
from treeanon.io.output import open_output
from treeanon.schema import ClassSpec, Schema
from treeanon.schema.dump import dump_schema, relocated
from treeanon.schema.model import ROLES

KINDS = {
    "text": ("groups", "prefix", "flat"),
    "integer": ("intervals", "groups", "flat"),
    "number": ("intervals", "groups", "flat"),
    "date": ("dates", "flat"),
}
"""The builders that can be set on the page, by the type of the class."""

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
            return "Numbers and dates follow their widths and levels."
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
        if len(found) > hand.MOST_NODES:
            return f"Of {len(found):,} nodes, too many to edit here; its file can be edited elsewhere."
        return found

    def set_role(self, at: int, role: str) -> None:
        """Give a class another role."""
        if role not in ROLES:
            raise UsageError(f"role must be one of {', '.join(ROLES)}")
        self._replace(replace(self._spec(at), role=role), self.draft.own)

    def set_levels(self, at: int, kind: str, levels: str, bounds: Mapping[str, str]) -> None:
        """Have a builder make the hierarchy of a class, with these widths or levels."""
        spec = self._spec(at)
        if kind not in KINDS[spec.type]:
            raise UsageError(f"the hierarchy must be one of {', '.join(KINDS[spec.type])}")
        old = spec.hierarchy_source
        rest = dict(old) if isinstance(old, Mapping) and kind in old else {}
        made: dict[str, object] = {**rest, kind: _levels(kind, levels)}
        for name, text in bounds.items() if kind == "intervals" else ():
            made.pop(name, None)
            if text.strip():
                made[name] = _number(text)
        own = {name: one for name, one in self.draft.own.items() if name != spec.name}
        self._replace(replace(spec, hierarchy_source=made), own)

    def edit_by_hand(self, at: int, explored: ExploredData, change: Callable[[Hierarchy], Hierarchy], node: int) -> int:
        """Change the hierarchy of a class by hand; return the code that a node of before has now, or 0."""
        spec = self._spec(at)
        before = self.hierarchy(spec, explored)
        if isinstance(before, str):
            raise UsageError(before)
        if not 0 <= node < len(before):
            raise UsageError("select a value or a group first")
        after = change(before)
        self._replace(spec, {**self.draft.own, spec.name: after})
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
            raise UsageError(
                "the name of the file must end in .toml, and be of letters, digits, - and _, without folders"
            )
        schema, files = self._as_files(name)
        texts = {**files, name: dump_schema(schema)}
        for one in texts:
            if (self.folder / one).exists() or (self.folder / one).is_symlink():
                raise UsageError(f"{one} exists already; nothing is replaced from here: choose another name")
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

    def _replace(self, spec: ClassSpec, own: Mapping[str, Hierarchy]) -> None:
        """Make the draft in which a class is this one, if the loader accepts it."""
        classes = tuple(spec if one.name == spec.name else one for one in self.draft.schema.classes)
        made = Draft(_checked(replace(self.draft.schema, classes=classes), own, self.draft.schema), own)
        self._past = [*self._past[1 - _MOST_UNDO :], self.draft]
        self.draft = made
        self.revision += 1


def _checked(schema: Schema, own: Mapping[str, Hierarchy], before: Schema) -> Schema:
    """Return the schema as the loader makes it; what is made by hand has no file that it could read yet.

    A class whose hierarchy is declared as before keeps it: so it is known whether the data were read by it.
    """
    plain = tuple(replace(one, hierarchy_source={"flat": True}) if one.name in own else one for one in schema.classes)
    folder = Path(schema.source).resolve().parent
    loaded = Schema.loads(dump_schema(replace(schema, classes=plain)), folder=folder, source=schema.source)

    def kept(spec: ClassSpec) -> ClassSpec:
        if spec.name in own:
            return replace(spec, hierarchy=own[spec.name], hierarchy_source=None)
        old = before.spec(spec.name)
        return replace(spec, hierarchy=old.hierarchy) if old.hierarchy_source == spec.hierarchy_source else spec

    return replace(loaded, classes=tuple(map(kept, loaded.classes)))


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


def _levels(kind: str, text: str) -> object:
    """Return the value of a builder's key."""
    if kind == "flat":
        return True
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if kind == "dates":
        return parts
    numbers = [_number(part) for part in parts]
    if kind == "groups":
        if len(numbers) != 1:
            raise UsageError("groups: give one number, how many values or groups are in a group")
        return numbers[0]
    return numbers


def _number(text: str) -> int | float:
    try:
        return int(text) if re.fullmatch(r"\s*-?[0-9]{1,15}\s*", text) else float(text)
    except ValueError:
        raise UsageError("widths, bounds and levels must be numbers, with commas between them") from None

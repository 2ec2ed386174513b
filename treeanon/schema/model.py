"""The declarations of a schema: the classes of a person's tree, their paths, and their hierarchies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from treeanon.errors import UsageError
from treeanon.formats import FORMATS, NESTED, Format
from treeanon.hierarchy import Builder, Flat, Hierarchy
from treeanon.schema.controls import Controls
from treeanon.schema.keys import ForeignKey
from treeanon.schema.paths import FieldPath, RecordPath
from treeanon.shown import Grid, Shown, Summary

if TYPE_CHECKING:
    from treeanon.schema.layout import Layout

Role = Literal["quasi", "sensitive", "identifier", "keep", "drop"]
ValueType = Literal["text", "integer", "number", "date"]
Objects = Literal["merged", "whole"]

ROLES: tuple[Role, ...] = ("quasi", "sensitive", "identifier", "keep", "drop")
TYPES: tuple[ValueType, ...] = ("text", "integer", "number", "date")
ON_UNKNOWN = ("error", "suppress")
OBJECTS: tuple[Objects, ...] = ("merged", "whole")
AUTO = "auto"
"""In a schema: objects stay whole, but where what is asked for needs merged trees."""

Shift = Literal["", "person"]
SHIFT_DAYS = 365
MOST_SHIFT_DAYS = 36_500

NullPerson = Literal["error", "own"]
NULL_PERSONS: tuple[NullPerson, ...] = ("error", "own")


@dataclass(frozen=True)
class ClassSpec:
    """One `[[class]]` of a schema; `facets` are the fields that say the same as its value, by name.

    `shift` says that its dates move, all of a person by one secret span. `controls` has what is
    asked of it as a column of a table. `csv_safe`, which all classes of a schema have or none, says that in CSV files
    its values stand so that no spreadsheet takes them as formulas.

    >>> ClassSpec("age").published, ClassSpec("ssn", role="identifier").published
    (True, False)
    """

    name: str
    path: FieldPath | None = None
    type: ValueType = "text"
    under: str | None = None
    role: Role = "quasi"
    hierarchy: Hierarchy | Builder = field(default_factory=Flat)
    hierarchy_source: str | Mapping[str, object] | None = None
    on_unknown: Literal["error", "suppress"] = "error"
    pseudonym: bool | str = False
    facets: Mapping[str, FieldPath] = field(default_factory=dict)
    shift: Shift = ""
    controls: Controls = field(default_factory=Controls)
    csv_safe: bool = False

    @property
    def pseudonym_kind(self) -> str:
        """What its pseudonyms are told apart by: the class, or the name that it shares with others."""
        return f"class {self.name}" if self.pseudonym is True else f"name {self.pseudonym}"

    @property
    def published(self) -> bool:
        """Whether values of this class become nodes of the trees."""
        return self.role in ("quasi", "sensitive", "keep") or bool(self.pseudonym)


@dataclass(frozen=True)
class Link:
    """The link of a path from one table to the next by a key: down to rows that refer to it, or up to the row it names.

    >>> from treeanon.schema.keys import parse_key
    >>> Link(parse_key("orders.custkey -> customer.custkey"), down=True).table
    'orders'
    """

    key: ForeignKey
    down: bool

    @property
    def table(self) -> str:
        """The table that it leads to."""
        return self.key.table if self.down else self.key.target


@dataclass(frozen=True)
class Relations:
    """The resolved paths of a schema in a relational input: the link of each step, by the labels that lead there.

    `primary` has the primary keys of the tables that the paths go through, `files` the kind of files they are in.
    """

    links: Mapping[tuple[str, ...], Link]
    primary: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: str = ""


@dataclass(frozen=True)
class InputSpec:
    """The `[input]` table of a schema: the format, where one person is, and the namespace prefixes.

    Of tables it has the foreign keys that the schema gives, and `relations` once the keys of the input are known too;
    of a file of rows the `delimiter` that its header was found to have, which is no key of schemas. `person` is the
    field whose values say whose each row (or line, or item) is; `null_person` what a row without one is: an error, or a
    person of its own. `one_per_person` says that each row is known to be another person. `objects` says
    whether the repeated objects of a record stay whole, or are merged by the values at their heads; `objects_open` that
    the schema leaves it open ("auto"), so that what needs merged trees has them. `shift_days` is by how
    much the dates of a person may move where classes have `shift`. `follow_links` says that links
    out of the folder of an input are followed.
    """

    format: str = NESTED
    record: RecordPath | None = None
    namespaces: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[ForeignKey, ...] = ()
    relations: Relations | None = None
    delimiter: str = ""
    person: FieldPath | None = None
    null_person: NullPerson = "error"
    one_per_person: bool = False
    objects: Objects = "merged"
    shift_days: int = SHIFT_DAYS
    objects_open: bool = False
    follow_links: bool = False

    @property
    def keeps_objects(self) -> bool:
        """Whether objects stay whole."""
        return self.objects == "whole"

    @property
    def form(self) -> Format:
        """The format's entry in the table of formats."""
        return FORMATS.named(self.format)

    @property
    def is_flat(self) -> bool:
        """Whether the input is one table of rows."""
        return self.form.is_rows

    @property
    def is_of_rows(self) -> bool:
        """Whether the input is one table of which each row is one person."""
        return self.form.is_rows and self.person is None

    @property
    def is_relational(self) -> bool:
        """Whether the input is tables tied by foreign keys."""
        return self.form.is_relational

    @property
    def slashed(self) -> bool:
        """Whether paths are those of XML."""
        return self.form.slashed

    @property
    def whole_file(self) -> bool:
        """Whether every file of documents is one record."""
        return self.form.is_document and self.record is not None and self.record.whole_file


@dataclass(frozen=True)
class FileSpec:
    """One `[[file]]`: the name that paths begin with, the field that says whose a row is, and a pattern of file names.

    >>> from treeanon.schema.paths import parse_path
    >>> FileSpec("Condition", parse_path("subject.reference", slashed=False)).pattern
    ''
    """

    name: str
    person: FieldPath
    pattern: str = ""


@dataclass(frozen=True)
class FileKey:
    """One `[[key]]`: a field of a file whose values name rows of another by a field of that.

    Rows lie in the row that they name; those named by a list of a row lie in that one.
    """

    file: str
    path: FieldPath
    target: str
    target_path: FieldPath

    @property
    def is_list(self) -> bool:
        """Whether a row may name several."""
        return any(step.repeated for step in self.path.steps)

    @property
    def inner(self) -> str:
        """The file whose rows lie in those of another."""
        return self.target if self.is_list else self.file

    @property
    def outer(self) -> str:
        """The file in whose rows those of another lie."""
        return self.file if self.is_list else self.target

    @property
    def name(self) -> str:
        """The field that refers, as messages show it."""
        return f"{self.file}.{self.path.text(slashed=False)}"


@dataclass(frozen=True)
class Reference:
    """One `[[key]]` inside documents: a field of an object whose values name another object by a field of that.

    The object becomes one of that which it refers to. With `inside = false` it stays where it is, and its reference is
    written where it can mean one object only.
    """

    path: FieldPath
    target: FieldPath
    inside: bool = True


def _hierarchy_name(spec: ClassSpec) -> str:
    """Return what a hierarchy is made by: its file, or the keys of its builder, without what these hold."""
    source = spec.hierarchy_source
    if isinstance(source, str):
        return source
    return type(spec.hierarchy).__name__.lower() if source is None else ", ".join(source)


@dataclass(frozen=True, eq=False, repr=False)
class Schema(Shown):
    """A checked schema. `Schema.load` reads one from a file and reports all of its problems at once.

    `profile` is the standard that releases are valid by, if there is one.

    >>> schema = Schema.loads('''
    ... version = 1
    ... [input]
    ... format = "ndjson"
    ... [[class]]
    ... name = "hospital"
    ... path = "visits[].hospital"
    ... [[class]]
    ... name = "disease"
    ... path = "visits[].diagnoses[].name"
    ... ''')
    >>> [(c.name, c.parent) for c in schema.layout.classes]
    [('visits[]', -1), ('visits[].diagnoses[]', 0), ('hospital', 0), ('disease', 1)]
    >>> [(c.name, c.parent) for c in schema.with_objects("merged").layout.classes]
    [('hospital', -1), ('disease', 0)]
    """

    input: InputSpec
    classes: tuple[ClassSpec, ...]
    source: str = "schema"
    files: tuple[FileSpec, ...] = ()
    file_keys: tuple[FileKey, ...] = ()
    references: tuple[Reference, ...] = ()
    as_documents: bool = False
    """Whether the layout is that of the documents, where objects stand beside those that they refer to."""
    profile: str = ""

    @cached_property
    def layout(self) -> Layout:
        """Where the published classes lie: their containers and the class tree."""
        from treeanon.schema.layout import compile_layout
        from treeanon.schema.persons import files_layout, person_layout
        from treeanon.schema.references import tied
        from treeanon.schema.relational import resolve

        if self.input.is_relational and self.input.relations is None:
            return resolve(self).layout
        if self.files:
            return files_layout(self)
        if self.input.person is not None:
            return person_layout(self)
        if self.references:
            found = tied(self)
            return found.documents if self.as_documents else found.records
        return compile_layout(self)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Return the schema in a TOML file; SchemaError lists everything that is wrong with it."""
        from treeanon.schema.load import load_schema

        return load_schema(Path(path))

    @classmethod
    def loads(cls, text: str, *, folder: str | Path = ".", source: str = "schema") -> Schema:
        """Return the schema in a TOML text; hierarchy files are looked up from `folder`."""
        from treeanon.schema.load import parse_schema

        return parse_schema(text, folder=Path(folder), source=source)

    @property
    def auto_objects(self) -> Objects:
        """What becomes of objects where the schema leaves it open: `under` belongs to merged trees."""
        form = self.input.form
        rows = form.is_rows and self.input.person is None and not self.files
        return "merged" if rows or form.names_classes or self.why_merged else "whole"

    @property
    def why_merged(self) -> str:
        """Why trees are merged where the schema leaves it open; an empty text where nothing in it asks for that."""
        return next((f"class {spec.name!r} has `under`" for spec in self.classes if spec.under is not None), "")

    def with_objects(self, objects: Objects | None) -> Schema:
        """Return the schema that says that objects are merged, or that they stay whole; itself for None.

        UsageError where a class has `under`, which belongs to merged trees.
        """
        if objects is None:
            return self
        if objects == "whole" and any(spec.under is not None for spec in self.classes):
            raise UsageError("objects = whole: classes of the schema have `under`, which is only for merged trees")
        return replace(self, input=replace(self.input, objects=objects, objects_open=False))

    @property
    def csv_safe(self) -> bool:
        """Whether CSV files of a release hold nothing that a spreadsheet takes as a formula."""
        return any(spec.csv_safe for spec in self.classes)

    def with_links(self) -> Schema:
        """Return the schema by which links out of the folder of an input are followed."""
        return replace(self, input=replace(self.input, follow_links=True))

    def with_csv_safe(self) -> Schema:
        """Return the schema by which CSV files are written, and read, so that spreadsheets find no formulas in them."""
        return replace(self, classes=tuple(replace(spec, csv_safe=True) for spec in self.classes))

    def _summary(self) -> Summary:
        slashed = self.input.slashed
        rows = [
            [one.name, "" if one.path is None else one.path.text(slashed=slashed), one.role, _hierarchy_name(one)]
            for one in self.classes
        ]
        line = f"{self.input.format}, {len(self.classes)} classes"
        return Summary("Schema", line, grids=[Grid("Classes", ["Class", "Path", "Role", "Hierarchy"], rows)])

    @property
    def merged(self) -> Schema:
        """The schema of merged trees of the same records; it leaves open what this one does."""
        return replace(self, input=replace(self.input, objects="merged"))

    def for_format(self, name: str) -> Schema:
        """Return the schema by which this one's classes are read from another format; itself where nothing changes."""
        from treeanon.schema.derive import derive

        return derive(self, name)

    @property
    def is_of_rows(self) -> bool:
        """Whether the input is one table of which each row is one person."""
        return self.input.is_of_rows and not self.files

    def spec(self, name: str) -> ClassSpec:
        """Return the class of that name."""
        for spec in self.classes:
            if spec.name == name:
                return spec
        raise KeyError(name)

"""The formats: the one table from which schemas, readers, writers, `init`, Spark and messages know what there is.

Add a format: write one module that holds a `Format` and the functions it names, and give the `Format` an entry point in
the group `treeanon.formats` (see `treeanon.plugins`). Formats of the package itself are entries of the table below.

A format of documents has these functions, whose types `treeanon.io.interface` declares:

- `reader(sources, schema, options, report)` gives batches of records (`Reader`);
- `writer` makes texts of records, and documents of texts (`DocumentWriter`);
- `sample(request)` gives the first records for `treeanon init` (optional; see `treeanon.infer.model.SampleRequest`);
- `beyond(sources, records, found)` counts what files hold beyond what was read of them, for `treeanon verify`
  (`Look`, in `treeanon.io.beyond.documents`; without it files of other programs must be as this one would write them).

Where each record is a line of its own, `treeanon.io.documents.lines.line_format` makes the whole `Format` of two
functions: one that parses a line into an object as JSON has it, one that writes such an object as a line.

This table is read wherever a format has a name, so it imports no reader: a function may be given as "module:name".

Also the output profiles: standards that a release must be valid by, beyond the form of its format.

A canonical record is what a format writes of a tree. A profile writes it as its standard wants it, and takes that back
when the release is read. Add a profile: write one module that holds a codec, and a line in the table below.

This table is read wherever a schema is, so it imports no codec: it is given as "module:name".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Protocol, cast

from treeanon.errors import UsageError
from treeanon.plugins import Registry

Kind = Literal["documents", "rows", "relational"]
"""Records as nested documents; one table of which each row is a record; tables tied by foreign keys."""

SparkAccess = Literal["", "lines", "numbered lines", "ranges", "columns", "folder"]
"""How Spark reads and writes a format, if it does.

By lines, each one record (written with a number before it); by ranges of long files; by columns that Spark knows
itself; as a folder of tables.
"""

Function = str | Callable[..., Any] | object
"""A function or object of a format, or where it is: "module:name", imported when it is needed."""


@dataclass(frozen=True)
class Format:
    """One format: its name in schemas, the endings of its files, and its functions.

    `about` is what a file of it is, for people. `record` is an example of the record path that its schemas need; where
    they have none, `no_record` says why. `slashed` says that paths are those of XML, with slashes, attributes and
    namespaces. `names_classes` says that its files name the classes themselves, so that the schema of any other format
    reads them. `delimited` says that values stand between delimiters. `by_url` says that an input is the URL of a
    database, `in_folder` that it is a folder or zip of files. `magic` are the first bytes of its files;
    `recognizes(head)` tells a document by its first bytes, and where several formats do, the last of them is taken.
    `as_lines` names the format of the same documents with one record in each line.

    >>> FORMATS["xml"].has_record_path, FORMATS["csv"].is_rows, FORMATS["trees"].spark
    (True, True, 'numbered lines')
    """

    name: str
    kind: Kind
    endings: tuple[str, ...] = ()
    about: str = ""
    reader: Function = ""
    writer: Function = ""
    sample: Function = ""
    recognizes: Function = ""
    beyond: Function = ""
    record: str = ""
    no_record: str = "each line is one person"
    as_lines: str = ""
    magic: bytes = b""
    slashed: bool = False
    names_classes: bool = False
    delimited: bool = False
    by_url: bool = False
    in_folder: bool = False
    spark: SparkAccess = ""

    @property
    def is_document(self) -> bool:
        """Whether its records are nested documents."""
        return self.kind == "documents"

    @property
    def is_rows(self) -> bool:
        """Whether it is one table of which each row is one record."""
        return self.kind == "rows"

    @property
    def is_relational(self) -> bool:
        """Whether it is tables tied by foreign keys."""
        return self.kind == "relational"

    @property
    def has_record_path(self) -> bool:
        """Whether its schemas say where one record is."""
        return bool(self.record)

    def function(self, which: Literal["reader", "writer", "sample", "recognizes", "beyond"]) -> Any:
        """Return one of its functions, importing its module if need be; UsageError if it has none."""
        found: Function = getattr(self, which)
        if found == "":
            raise UsageError(f"format {self.name!r} has no {which}")
        if not isinstance(found, str):
            return found
        module, _, name = found.partition(":")
        return getattr(import_module(module), name)


_DOCUMENTS = "treeanon.io.documents"
_BEYOND = "treeanon.io.beyond"
_TABLES = "treeanon.io.relational"
_ROW = "each row is one person"

_OWN = (
    Format(
        "json",
        "documents",
        (".json",),
        "one document with an array of persons",
        reader=f"{_DOCUMENTS}.json_document:read_json",
        writer=f"{_DOCUMENTS}.json_write:JSON",
        sample="treeanon.infer.json_sample:sample_json",
        recognizes="treeanon.infer.json_sample:is_json",
        beyond=f"{_BEYOND}.json_files:look_at_json",
        record="patients[]",
        as_lines="ndjson",
    ),
    Format(
        "ndjson",
        "documents",
        (".ndjson", ".jsonl"),
        "one person per line",
        reader=f"{_DOCUMENTS}.json_document:read_ndjson",
        writer=f"{_DOCUMENTS}.json_write:NDJSON",
        sample="treeanon.infer.json_sample:sample_ndjson",
        recognizes="treeanon.infer.json_sample:is_lines",
        beyond=f"{_BEYOND}.json_files:look_at_ndjson",
        spark="lines",
    ),
    Format(
        "xml",
        "documents",
        (".xml",),
        "one element per person",
        reader=f"{_DOCUMENTS}.xml_document:read_xml",
        writer=f"{_DOCUMENTS}.xml_write:XML",
        sample="treeanon.infer.xml_sample:sample_xml",
        recognizes="treeanon.infer.xml_sample:is_xml",
        beyond=f"{_BEYOND}.xml_files:look_at_xml",
        record="patients/patient",
        slashed=True,
        spark="ranges",
    ),
    Format(
        "trees",
        "documents",
        (".trees.jsonl",),
        "treeanon's own lines of trees",
        reader=f"{_DOCUMENTS}.lines:read_trees",
        writer=f"{_DOCUMENTS}.lines:TREES",
        sample="treeanon.infer.json_sample:sample_trees",
        recognizes="treeanon.infer.json_sample:is_tree_lines",
        beyond=f"{_BEYOND}.json_files:look_at_trees",
        no_record="each line is one record",
        names_classes=True,
        spark="numbered lines",
    ),
    Format(
        "csv",
        "rows",
        (".csv", ".tsv"),
        "one file of comma-, semicolon-, tab- or bar-separated values, one person per row",
        reader=f"{_TABLES}.source:open_delimited",
        writer="treeanon.io.columns.write_table:write_delimited",
        no_record=_ROW,
        delimited=True,
        spark="lines",
    ),
    Format(
        "parquet",
        "rows",
        (".parquet",),
        "one Parquet file, one person per row",
        reader=f"{_TABLES}.source:open_parquet",
        writer="treeanon.io.columns.write_table:write_parquet",
        no_record=_ROW,
        magic=b"PAR1",
        spark="columns",
    ),
    Format(
        "tables",
        "relational",
        ("datapackage.json",),
        "a folder or zip of CSV, TSV or Parquet files",
        reader=f"{_TABLES}.source:open_folder",
        writer=f"{_TABLES}.writing:FOLDER",
        record="patient",
        in_folder=True,
        spark="folder",
    ),
    Format(
        "sqlite",
        "relational",
        (".sqlite", ".sqlite3", ".db"),
        "one database file",
        reader=f"{_TABLES}.source:open_sqlite",
        writer=f"{_TABLES}.writing:SQLITE",
        record="patient",
        magic=b"SQLite format 3\0",
    ),
    Format(
        "duckdb",
        "relational",
        (".duckdb", ".ddb"),
        "one DuckDB file",
        reader=f"{_TABLES}.source:open_duckdb",
        writer=f"{_TABLES}.writing:DUCKDB",
        record="patient",
    ),
    Format(
        "database",
        "relational",
        (),
        "the URL of a database",
        reader=f"{_TABLES}.source:open_database",
        writer=f"{_TABLES}.writing:DATABASE",
        record="patient",
        by_url=True,
    ),
    Format(
        "yaml",
        "documents",
        (".yaml", ".yml"),
        "one YAML document with a list of persons",
        reader=f"{_DOCUMENTS}.yaml_document:read_yaml",
        writer=f"{_DOCUMENTS}.yaml_document:YAML",
        sample="treeanon.infer.json_sample:sample_yaml",
        recognizes="treeanon.infer.json_sample:is_yaml",
        beyond=f"{_BEYOND}.yaml_files:look_at_yaml",
        record="patients[]",
        as_lines="yaml-stream",
    ),
    Format(
        "yaml-stream",
        "documents",
        (".yaml", ".yml"),
        "a stream of YAML documents, one person each",
        reader=f"{_DOCUMENTS}.yaml_document:read_yaml_stream",
        writer=f"{_DOCUMENTS}.yaml_document:YAML",
        sample="treeanon.infer.json_sample:sample_yaml_stream",
        recognizes="treeanon.infer.json_sample:is_yaml_stream",
        beyond=f"{_BEYOND}.yaml_files:look_at_yaml_stream",
        no_record="each document is one person",
    ),
)

FORMATS: Registry[Format] = Registry("treeanon.formats", Format, "format", {form.name: form for form in _OWN})

NESTED = "ndjson"
"""The format whose schema stands for nested records that are in no file, such as those joined of tables."""

ROWS = "csv"
"""The format of rows where nothing says another, such as of standard output or of a data frame."""


@dataclass(frozen=True)
class TableFile:
    """A kind of files that hold the tables of a folder: its ending, the format of rows that writes it, its media types.

    Files without a `delimiter` are read by column. The first media type is the one that is written.
    """

    name: str
    format: str
    delimiter: str
    media: tuple[str, ...]

    @property
    def by_column(self) -> bool:
        """Whether columns are as well read one after another."""
        return not self.delimiter


TABLE_FILES: dict[str, TableFile] = {
    kind.name: kind
    for kind in (
        TableFile("csv", "csv", ",", ("text/csv",)),
        TableFile("tsv", "csv", "\t", ("text/tab-separated-values",)),
        TableFile(
            "parquet",
            "parquet",
            "",
            ("application/vnd.apache.parquet", "application/parquet", "application/x-parquet"),
        ),
    )
}


def names_of(kind: Kind) -> tuple[str, ...]:
    """Return the names of the formats of a kind.

    >>> names_of("rows")
    ('csv', 'parquet')
    """
    return tuple(form.name for form in FORMATS.values() if form.kind == kind)


def the_format(attribute: Literal["by_url", "in_folder"]) -> Format:
    """Return the first format with an attribute that one of the package's own has."""
    return next(form for form in FORMATS.values() if getattr(form, attribute))


class Codec(Protocol):
    """The two directions of a profile; `decode` undoes `encode`, to the byte."""

    def encode(self, text: str, number: int, kind: str) -> str:
        """Return the text of a canonical record as the standard wants it.

        `number` is the fresh number of the record, from 1; `kind` the name of its `[[file]]`, empty where there is
        none. Nothing but these may decide what comes out.
        """

    def decode(self, text: bytes) -> bytes:
        """Return a document (in formats of lines, a line) with all that `encode` changed taken back.

        What `encode` did not write stays as it is. DataError says what cannot be read.
        """


@dataclass(frozen=True)
class Profile:
    """One profile: its name in schemas, the formats that it is for, and its codec.

    Documents without `marker` in their bytes are no releases of it, and are read as they are.

    >>> PROFILES["fhir-r4"].formats
    ('json', 'ndjson')
    """

    name: str
    formats: tuple[str, ...]
    about: str
    marker: bytes
    where: str
    root: str = ""
    """The name of the root element of a document of XML."""

    @property
    def codec(self) -> Codec:
        """Its codec, whose module is imported when it is needed."""
        module, _, name = self.where.partition(":")
        return cast(Codec, getattr(import_module(module), name))

    def is_for(self, form: Format) -> bool:
        """Return whether records of a format are written by it."""
        return form.name in self.formats


_OWN_PROFILES = (
    Profile(
        "fhir-r4",
        ("json", "ndjson"),
        "bundles of one person each, or files of bulk data, as valid FHIR R4",
        b"urn:treeanon:",
        "treeanon.io.profiles.fhir_r4:CODEC",
    ),
    Profile(
        "c-cda",
        ("xml",),
        "Continuity of Care Documents of one person each, with what C-CDA 2.1 demands",
        b"urn:hl7-org:v3",
        "treeanon.io.profiles.c_cda:CODEC",
        root="ClinicalDocument",
    ),
)

PROFILES: Registry[Profile] = Registry(
    "treeanon.profiles", Profile, "profile", {own.name: own for own in _OWN_PROFILES}
)

"""Permuted releases as files: two tables in a folder or a zip, with a datapackage.json that ties them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from treeanon.errors import DataError, UsageError
from treeanon.forest.report import ReadReport
from treeanon.formats import ROWS, TABLE_FILES
from treeanon.io.columns.read_table import table_of_rows
from treeanon.io.columns.write_table import table_out
from treeanon.io.interface import ReadOptions
from treeanon.io.memory import TablesSource
from treeanon.io.output import Check, open_folder
from treeanon.io.relational.folder import FolderSource
from treeanon.io.relational.source import OneTable, Place, TableSource
from treeanon.io.relational.writing import is_release, write_folder
from treeanon.io.sources import follows_links
from treeanon.randomness import shuffled
from treeanon.schema import FieldPath, Schema, Step
from treeanon.schema.keys import ForeignKey
from treeanon.schema.load import SchemaLike, schema_of
from treeanon.schema.model import ClassSpec, InputSpec, Role
from treeanon.table.permuted import Permuted, free_name

if TYPE_CHECKING:
    import pyarrow as pa

RECORDS, VALUES = "records", "values"
"""The names of the two tables."""

_ENDINGS = (".csv", ".tsv", ".parquet", ".gz", ".zst", ".json", ".xml")


def files_of(target: str | Path, files: str) -> str:
    """Return the file kind of a permuted release; UsageError if it is unknown, or the target cannot be a folder.

    >>> files_of("out.zip", "parquet")
    'parquet'
    """
    if str(target) == "-" or str(target).lower().endswith(_ENDINGS):
        raise UsageError(f"{target}: a permuted release is two tables; name a folder or a .zip")
    if files not in TABLE_FILES:
        raise UsageError(f"a permuted release is written as {', '.join(TABLE_FILES)} files, not as {files}")
    return files


def write_permuted(
    made: Permuted,
    target: str | Path,
    *,
    files: str = ROWS,
    force: bool = False,
    seed: int | None = None,
    check: Check | None = None,
) -> None:
    """Write the two tables as files of a kind, in a folder or, if the name ends in .zip, a zip.

    Rows are in random order, which only a `seed` makes repeatable, for tests. All appears or nothing; `check` is given
    the path of what was written before it appears, and keeps it from appearing by raising.

    >>> import tempfile
    >>> import numpy as np
    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> from treeanon.table.permuted import permuted
    >>> columns = {"age": (["1"], Hierarchy.flat("1")), "ill": (["flu"], Hierarchy.flat(["flu"]))}
    >>> path = Path(tempfile.mkdtemp(), "out")
    >>> write_permuted(permuted(Table.of_texts(columns, {"ill": "sensitive"}), np.array([0])), path)
    >>> sorted(file.name for file in path.iterdir()), (path / "values.csv").read_text()
    (['datapackage.json', 'records.csv', 'values.csv'], '"group","ill","count"\\n1,"flu",1\\n')
    """
    kind = files_of(target, files)
    parts = (made.records, made.values)
    seeds = [None if seed is None else seed + part for part in range(2)]
    records, values = (table_out(part, shuffled(len(part), own)) for part, own in zip(parts, seeds, strict=True))
    pair = (made.values.column(made.group).header, made.sensitive.header)
    # A primary key has no null.
    has_null = bool((made.sensitive.codes < 0).any())
    key = ForeignKey(RECORDS, pair[:1], VALUES, pair[:1])
    tables = (
        replace(records, name=RECORDS, foreign=(key,)),
        replace(values, name=VALUES, primary=() if has_null else pair, unique=(pair,) if has_null else ()),
    )
    with open_folder(target, force=force, check=check, is_ours=is_release) as folder:
        write_folder(tables, kind, folder)


@follows_links
def read_permuted(
    source: str | Path | tuple[Any, Any],
    schema: SchemaLike,
    *,
    on_error: Literal["error", "skip"] = "error",
    strict: bool = False,
    show_values: bool = False,
    jobs: int = 1,
    called: str | None = None,
) -> Permuted:
    """Return the permuted release in a folder or a zip: tables `records` and `values`, by the schema of its input.

    Or in the pair of frames, or of lists of dicts, that `anonymize` has returned.

    The records have no sensitive value; the values have the group, the one sensitive column of the schema, and how
    many persons of the group have the value. DataError if the files are not such. `called` is the name in messages.
    Other options are those of `read_table`. The reports of both tables say which columns the schema does not name.
    """
    schema = schema_of(schema)
    options = ReadOptions(on_error, strict, jobs)
    hidden = _sensitive(schema)
    # Whoever reads 3 and 03 sees two groups.
    with closing(_source(source, called)) as folder:
        group, count = _own_columns(folder, _header(hidden))
        names = {spec.name for spec in schema.classes}
        added = [_number_spec(free_name(name, names), name) for name in (group, count)]
        rest = [_spec(spec) for spec in schema.classes if spec.published and spec.role != "sensitive"]
        classes = {RECORDS: (*rest, added[0]), VALUES: (added[0], _spec(hidden), added[1])}
        records, values = (
            table_of_rows(
                _TableOfFolder(folder, name),
                Schema(InputSpec(TABLE_FILES[folder.files or ROWS].format), classes[name], schema.source),
                options,
                show_values=show_values,
            )
            for name in (RECORDS, VALUES)
        )
        if records.report is not None:
            records.report.left_out += folder.left_out
    return Permuted(records, values, *(spec.name for spec in added))


def _source(source: str | Path | tuple[Any, Any], called: str | None) -> FolderSource | TablesSource:
    if not isinstance(source, tuple):
        return FolderSource(source, called=called, as_texts=True)
    if len(source) != 2:
        raise UsageError("a permuted release in memory is a pair: the records, and the values")
    return TablesSource(dict(zip((RECORDS, VALUES), source, strict=True)), "the frames")


def report_of(read: Permuted) -> ReadReport:
    """Return the report of what reading both tables has left out."""
    report = ReadReport()
    for table in (read.records, read.values):
        if table.report is not None:
            report.add(table.report)
    return report


def _sensitive(schema: Schema) -> ClassSpec:
    """Return the one sensitive class of a schema."""
    found = [spec for spec in schema.classes if spec.role == "sensitive"]
    if len(found) != 1:
        raise UsageError("a permuted release has one sensitive column: one class of the schema must have that role")
    return found[0]


def _own_columns(folder: FolderSource | TablesSource, hidden: str) -> tuple[str, str]:
    """Return the columns of the group and of the number of persons with a value."""
    tables = folder.tables()
    if set(tables) != {RECORDS, VALUES}:
        raise DataError(f"a permuted release is two tables, {RECORDS} and {VALUES}", source=folder.name)
    records, values = (tables[name].columns for name in (RECORDS, VALUES))
    if hidden in records:
        raise DataError(f"the records have the sensitive column {hidden!r}", source=folder.name)
    common = [name for name in values if name in records]
    rest = [name for name in values if name not in (*common, hidden)]
    if hidden not in values or len(common) != 1 or len(rest) != 1:
        raise DataError(
            f"the values must have three columns: the group, as the records have it, {hidden!r}, and a count",
            source=folder.name,
        )
    return common[0], rest[0]


def _spec(spec: ClassSpec) -> ClassSpec:
    """Return the specification of a class that is read from a column of its own."""
    role: Role = "keep" if spec.pseudonym else spec.role
    return replace(spec, path=FieldPath((Step(_header(spec)),)), under=None, role=role, pseudonym=False)


def _header(spec: ClassSpec) -> str:
    """Return the name of the column of a class in files."""
    return spec.name if spec.path is None else spec.path.steps[-1].name or spec.name


def _number_spec(name: str, header: str) -> ClassSpec:
    return ClassSpec(name, FieldPath((Step(header),)), type="integer", role="keep")


class _TableOfFolder(OneTable):
    """One of the tables of a folder, as a source with a single table."""

    by_column: bool

    def __init__(self, folder: TableSource, table: str) -> None:
        super().__init__(table, folder.tables()[table].columns)
        self._folder = folder
        self.name, self.files, self.by_column = f"{folder.name}, table {table}", folder.files, folder.by_column

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return these columns of the table."""
        return self._folder.read(table, columns, most)

    def place(self, table: str, row: int) -> Place:
        """Return where a row is."""
        return self._folder.place(table, row)

    def close(self) -> None:
        """Do nothing: the folder is closed by its owner."""

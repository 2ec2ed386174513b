"""Writes a forest as tables: fresh keys, rows in random order, disassociated nodes in tables of their own.

A folder (or zip) of CSV, TSV or Parquet files gets a datapackage.json that has their keys.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, cast
from urllib.parse import quote

import orjson

from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.formats import ROWS, TABLE_FILES, Format
from treeanon.io.columns.write_table import write_rows
from treeanon.io.output import Check, Folder, open_folder, open_output
from treeanon.io.relational.arrow_tables import TableOut, tables_out
from treeanon.io.relational.file_store import PACKAGE
from treeanon.io.relational.fresh_keys import Shuffled, in_random_order, make_keys
from treeanon.io.relational.key_constraints import Needs, find_needs
from treeanon.io.relational.layout import lay_out
from treeanon.io.relational.plan import Plan, make_plan
from treeanon.io.relational.write_sql import write_sqlite
from treeanon.progress import Progress
from treeanon.schema import Schema
from treeanon.schema.relational import resolve

_GENERATOR = "treeanon"
_TYPES = {"integer": "integer", "number": "number", "text": "string"}


def write_folder(tables: Sequence[TableOut], files: str, folder: Folder) -> None:
    """Write a file for every table, and datapackage.json."""
    names = file_names([table.name for table in tables], f".{files}")
    for table, name in zip(tables, names, strict=True):
        with folder.open(name) as stream:
            write_rows(table, TABLE_FILES[files].format, TABLE_FILES[files].delimiter, stream)
    with folder.open(PACKAGE) as stream:
        stream.write(package_of(tables, names, files))


def package_of(tables: Sequence[TableOut], paths: Sequence[str | Sequence[str]], files: str) -> bytes:
    """Return the datapackage.json of tables, each in a file or in several."""
    resources = [_resource(table, path, files) for table, path in zip(tables, paths, strict=True)]
    package = {"profile": "data-package", "generator": _GENERATOR, "resources": resources}
    return json.dumps(package, indent=2, ensure_ascii=False).encode() + b"\n"


def file_names(tables: Sequence[str], ending: str) -> list[str]:
    """Return the name of a file (or, without an ending, a folder) for each table, unique also when case is ignored."""
    names: list[str] = []
    taken = {PACKAGE}
    for table in tables:
        stem = quote(table, safe=" ()-_.").lstrip(".")[:100] or "table"
        name, number = f"{stem}{ending}", 1
        while name.lower() in taken:
            number += 1
            name = f"{stem}-{number}{ending}"
        taken.add(name.lower())
        names.append(name)
    return names


def _resource(table: TableOut, path: str | Sequence[str], files: str) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "fields": [{"name": name, "type": _TYPES[table.kinds[name]]} for name in table.data.column_names]
    }
    if table.primary:
        schema["primaryKey"] = list(table.primary)
    if table.unique:
        schema["uniqueKeys"] = [list(columns) for columns in table.unique]
    if table.foreign:
        schema["foreignKeys"] = [
            {
                "fields": list(key.columns),
                "reference": {"resource": "" if key.of_itself else key.target, "fields": list(key.target_columns)},
            }
            for key in table.foreign
        ]
    shown = path if isinstance(path, str) else list(path)
    kind = TABLE_FILES[files]
    found: dict[str, Any] = {"name": table.name, "path": shown, "format": files, "mediatype": kind.media[0]}
    if kind.delimiter:
        found |= {"profile": "tabular-data-resource", "encoding": "utf-8"}
        if kind.delimiter != ",":
            found["dialect"] = {"delimiter": kind.delimiter}
    return found | {"schema": schema}


def is_release(folder: Path) -> bool:
    """Return whether a folder holds nothing but a package that treeanon wrote: its description and the files named
    there.

    Other packages are never replaced: they may be the only copy of the data.
    """
    try:
        # Other folders may be large: they are not searched.
        description = (folder / PACKAGE).read_bytes()
        if not is_package(description, (), ()):
            return False
        inside = list(folder.rglob("*"))
        folders = {path.relative_to(folder).as_posix() for path in inside if path.is_dir() and not path.is_symlink()}
        files = {path.relative_to(folder).as_posix() for path in inside} - folders
        return is_package(description, files, folders)
    except OSError:
        return False


def is_package(description: bytes, files: Iterable[str], folders: Iterable[str]) -> bool:
    """Return whether files, and folders of them, are no more than a description of ours names."""
    try:
        package = orjson.loads(description)
        paths = [resource["path"] for resource in package["resources"]]
        named = {PACKAGE, *(one for path in paths for one in ([path] if isinstance(path, str) else path))}
        above = {name.rpartition("/")[0] for name in named}
        return package.get("generator") == _GENERATOR and named.issuperset(files) and above.issuperset(folders)
    except (ValueError, TypeError, KeyError, AttributeError):
        return False


_FILES = (".csv", ".tsv", ".parquet", ".gz", ".zst")


def plan_of(schema: Schema) -> Plan:
    """Return the plan by which records of a schema are written as tables; UsageError if that is impossible."""
    return needs_of(schema).plan


def needs_of(schema: Schema) -> Needs:
    """Return what a release as tables needs, by a schema of tables; UsageError if it is impossible."""
    return find_needs(make_plan(schema if schema.input.relations is not None else resolve(schema)))


def make_tables(forest: Forest, schema: Schema, shuffled: Shuffled, progress: Progress | None = None) -> list[TableOut]:
    """Return the tables of a forest, by a relational schema."""
    needs, numbered = needs_of(schema), in_random_order(shuffled)
    rows = lay_out(forest, needs, progress)
    keyed = make_keys(needs, rows, kept_primary(schema), numbered)
    return tables_out(forest, needs.plan, rows, keyed, numbered)


def kept_primary(schema: Schema) -> dict[str, tuple[str, ...]]:
    """Return the primary keys that tables keep: not those of columns that the schema excludes from publication."""
    root = schema.input.record.names[0] if schema.input.record else ""
    hidden = {
        (spec.path.steps[-2].name if len(spec.path.steps) > 1 else root, spec.path.steps[-1].name)
        for spec in schema.classes
        if spec.path is not None and not spec.published
    }
    declared = schema.input.relations.primary if schema.input.relations is not None else {}
    return {
        table: columns
        for table, columns in declared.items()
        if hidden.isdisjoint((table, column) for column in columns)
    }


Tables = Callable[[], list[TableOut]]
"""Makes the tables: a target that cannot be is refused before."""


class TablesWriter(Protocol):
    """Writer of tables as a relational format."""

    def check(self, target: str, plan: Plan | None) -> None:
        """Refuse, before any work, a target that tables cannot go to; with a plan, one that has its tables already."""

    def write(self, made: Tables, target: str, schema: Schema, *, force: bool, check: Check | None) -> None:
        """Write the tables to a target, which appears whole or not at all."""


class FolderWriter:
    """Writer of tables to a folder or zip of files of the same kind as the input."""

    def check(self, target: str, plan: Plan | None) -> None:
        """Refuse a target that is a file."""
        path = Path(target)
        if path.name == PACKAGE or path.suffix.lower() in _FILES:
            raise UsageError(f"{target}: several tables go to a folder (name it, with / at the end) or a .zip")

    def write(self, made: Tables, target: str, schema: Schema, *, force: bool, check: Check | None) -> None:
        """Write a file for each table, and datapackage.json."""
        relations = schema.input.relations
        files = (relations.files if relations is not None else "") or ROWS
        self.check(target, None)
        with open_folder(target, force=force, check=check, is_ours=is_release) as folder:
            write_folder(made(), files, folder)


class SqliteWriter:
    """Writer of tables to a SQLite file."""

    def check(self, target: str, plan: Plan | None) -> None:
        """Do nothing: any name can be that of a file."""

    def write(self, made: Tables, target: str, schema: Schema, *, force: bool, check: Check | None) -> None:
        """Write the file."""
        with open_output(target, force=force, check=check) as stream:
            write_sqlite(made(), stream)


class DuckdbWriter(SqliteWriter):
    """Writer of tables to a DuckDB file."""

    def write(self, made: Tables, target: str, schema: Schema, *, force: bool, check: Check | None) -> None:
        """Write the file."""
        from treeanon.io.relational.duckdb_file import write_duckdb

        with open_output(target, force=force, check=check) as stream:
            write_duckdb(made(), stream)


class DatabaseWriter:
    """Writer of tables to the database of a URL."""

    def check(self, target: str, plan: Plan | None) -> None:
        """Refuse a database that cannot be reached, or that has one of the tables."""
        from treeanon.io.relational.write_sql import check_database

        check_database(target, [stop.table for stop in plan.stops] if plan is not None else [])

    def write(self, made: Tables, target: str, schema: Schema, *, force: bool, check: Check | None) -> None:
        """Write the tables in one transaction."""
        from treeanon.io.relational.write_sql import write_database

        write_database(made(), target, check)


FOLDER, SQLITE, DUCKDB, DATABASE = FolderWriter(), SqliteWriter(), DuckdbWriter(), DatabaseWriter()


def tables_writer(form: Format) -> TablesWriter:
    """Return the writer of a relational format."""
    return cast(TablesWriter, form.function("writer"))


def write_tables(
    forest: Forest,
    target: str | Path,
    schema: Schema,
    shuffled: Shuffled,
    *,
    force: bool,
    progress: Progress | None,
    check: Check | None,
) -> None:
    """Write the tables of a forest to a SQLite file, a folder or zip of files, or a database, as the schema says."""

    def made() -> list[TableOut]:
        return make_tables(forest, schema, shuffled, progress)

    tables_writer(schema.input.form).write(made, str(target), schema, force=force, check=check)

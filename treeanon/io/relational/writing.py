"""Writes a forest as tables: fresh keys, rows in random order, disassociated nodes in tables of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, cast

from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.formats import ROWS, Format
from treeanon.io.output import Check, open_folder, open_output
from treeanon.io.relational.arrow_tables import TableOut, tables_out
from treeanon.io.relational.file_store import PACKAGE
from treeanon.io.relational.fresh_keys import Shuffled, in_random_order, make_keys
from treeanon.io.relational.key_constraints import Needs, find_needs
from treeanon.io.relational.layout import lay_out
from treeanon.io.relational.plan import Plan, make_plan
from treeanon.io.relational.write_folder import is_release, write_folder
from treeanon.io.relational.write_sql import write_sqlite
from treeanon.progress import Progress
from treeanon.schema import Schema
from treeanon.schema.relational import resolve

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


FOLDER, SQLITE, DATABASE = FolderWriter(), SqliteWriter(), DatabaseWriter()


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

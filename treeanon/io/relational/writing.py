"""Writes a forest as tables again: fresh keys, rows in random order, what was disassociated in tables of its own."""

from __future__ import annotations

from pathlib import Path

from treeanon.errors import UsageError
from treeanon.forest import Forest
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
    """The plan by which a schema's records are written as tables; UsageError if they cannot be."""
    return needs_of(schema).plan


def check_target(format: str, target: str, plan: Plan | None) -> None:
    """Refuses, before any work, a target that tables of a format cannot go to; with a plan, one that has its tables."""
    path = Path(target)
    if format == "tables" and (path.name == PACKAGE or path.suffix.lower() in _FILES):
        raise UsageError(f"{target}: several tables go to a folder (name it, with / at the end) or a .zip")
    if format == "database":
        from treeanon.io.relational.write_sql import check_database

        check_database(target, [stop.table for stop in plan.stops] if plan is not None else [])


def needs_of(schema: Schema) -> Needs:
    """What a release as tables needs, by a schema of tables; UsageError if there cannot be one."""
    return find_needs(make_plan(schema if schema.input.relations is not None else resolve(schema)))


def make_tables(forest: Forest, schema: Schema, shuffled: Shuffled, progress: Progress | None = None) -> list[TableOut]:
    """The tables of a forest, by a relational schema."""
    needs, numbered = needs_of(schema), in_random_order(shuffled)
    rows = lay_out(forest, needs, progress)
    keyed = make_keys(needs, rows, kept_primary(schema), numbered)
    return tables_out(forest, needs.plan, rows, keyed, numbered)


def kept_primary(schema: Schema) -> dict[str, tuple[str, ...]]:
    """The primary keys that tables keep: not those of columns that the schema says are not to be published."""
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
    """Writes the tables of a forest to a SQLite file, a folder or zip of files, or a database, as the schema says."""

    def made() -> list[TableOut]:
        return make_tables(forest, schema, shuffled, progress)

    # A target that cannot be is refused before the tables are made.
    if schema.input.format == "sqlite":
        with open_output(target, force=force, check=check) as stream:
            write_sqlite(made(), stream)
    elif schema.input.format == "database":
        from treeanon.io.relational.write_sql import write_database

        write_database(made(), str(target), check)
    else:
        relations = schema.input.relations
        files = (relations.files if relations is not None else "") or "csv"
        check_target("tables", str(target), None)
        with open_folder(target, force=force, check=check, is_ours=is_release) as folder:
            write_folder(made(), files, folder)

"""Random relational schemas with forests to publish by them; loaders of releases that know nothing of the writer."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq

import treeanon as ta
from tests.support.paths import FOLDER
from tests.support.strategies import Case, Field, released, type_and_hierarchy
from tests.support.strategies import make_records as make_records
from treeanon.errors import SchemaError, UsageError
from treeanon.io.relational.writing import plan_of
from treeanon.schema import Schema
from treeanon.schema.keys import ForeignKey
from treeanon.schema.model import Link
from treeanon.schema.relational import resolve

# --- schemas ---------------------------------------------------------------------------------------------------------

TABLES = (
    "person",
    "order lines",
    "visit.x",
    "it's",
    "größe",
    "(odd)",
    "Tab",
    "x[]",
    "a,b",
    "../up",
    "a/b",
    "con",
    "select",
)
MOST_TABLES, MOST_HOPS, MOST_CLASSES = 5, 4, 9


@dataclass
class Design:
    """Tables and keys: the columns and the primary key of each table, and which columns are for values."""

    names: list[str]
    columns: dict[str, list[str]] = field(default_factory=dict)
    primary: dict[str, tuple[str, ...]] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)
    keys: list[ForeignKey] = field(default_factory=list)


def draw_design(rnd: Random) -> Design:
    """Two to five tables, each tied to one before it, and some more keys."""
    design = Design(rnd.sample(TABLES, rnd.choice([1, 2, 3, 3, 4, MOST_TABLES])))
    for name in design.names:
        design.primary[name] = ("id",) if rnd.random() < 0.6 else ("id", "line no")
        design.values[name] = ["value", "Value 2", "kind"][: rnd.choice([1, 2, 3])]
        design.columns[name] = [*design.primary[name], *design.values[name]]
    ties = []
    for at in range(1, len(design.names)):
        pair = (design.names[at], design.names[rnd.randrange(at)])
        ties.append(pair if rnd.random() < 0.65 else pair[::-1])
    ties += [(rnd.choice(design.names), rnd.choice(design.names)) for _ in range(rnd.choice([0, 0, 1, 2, 3]))]
    for own, target in ties:
        add_key(design, own, target, rnd)
    for name in design.names:
        if rnd.random() < 0.2:
            design.primary[name] = ()
    return design


def add_key(design: Design, own: str, target: str, rnd: Random) -> None:
    """A key by columns made for it, or by columns of the table's own key, or of another key."""
    goals = design.primary[target] if rnd.random() < 0.9 else design.primary[target][:1]
    columns = []
    for goal in goals:
        chance = rnd.random()
        spare = [name for name in design.primary[own] if name not in columns]
        used = [name for key in design.keys if key.table == own for name in key.columns if name not in columns]
        if chance < 0.15 and spare and own != target:
            columns.append(spare[0])
        elif chance < 0.2 and used:
            columns.append(used[0])
        else:
            columns.append(f"ref {len(design.keys)} {goal}")
            design.columns[own].append(columns[-1])
    key = ForeignKey(own, tuple(columns), target, tuple(goals))
    if key not in design.keys and len(set(columns)) == len(columns):
        design.keys.append(key)


@dataclass
class _Explorer:
    """Walks from the root along the keys and declares classes on its way."""

    design: Design
    rnd: Random
    found: list[tuple[str, tuple[Link, ...], str, str | None]] = field(default_factory=list)
    taken: set[tuple[Any, ...]] = field(default_factory=set)

    def explore(self, table: str, path: str, way: tuple[Link, ...], been: list[str]) -> None:
        rnd = self.rnd
        for column in self.design.values[table]:
            if rnd.random() < (0.6 if way else 0.4) and column != "kind" and len(self.found) < MOST_CLASSES:
                self.found.append(
                    (f"{path}'{column}'" if "'" not in column else f'{path}"{column}"', way, column, None)
                )
        if len(way) == MOST_HOPS:
            return
        links = [Link(key, True) for key in self.design.keys if key.target == table]
        links += [Link(key, False) for key in self.design.keys if key.table == table]
        rnd.shuffle(links)
        for link in links:
            following = link.table
            if (following in been and not link.key.of_itself) or rnd.random() < 0.15:
                continue
            columns = ", ".join(f"'{name}'" for name in link.key.columns)
            step = f'"{following}"({columns})'
            marks = ["[]" if link.down else ""]
            if link.down and "kind" in self.design.values[following] and rnd.random() < 0.5:
                marks = [f"[kind={kind}]" for kind in rnd.sample(["1", "x y", "A"], rnd.choice([1, 2]))]
            for mark in marks:
                self.explore(following, f"{path}{step}{mark}.", (*way, link), [*been, following])


@dataclass
class Release:
    """A schema, resolved and not, with what forests of it need."""

    design: Design
    case: Case
    resolved: Schema


def draw_schema(rnd: Random, files: str = "") -> Release:
    """A schema of random tables, and the same one resolved as if the tables were an input."""
    while True:
        design = draw_design(rnd)
        explorer = _Explorer(design, rnd)
        explorer.explore(design.names[0], "", (), [design.names[0]])
        if not explorer.found:
            continue
        fields = []
        lines = [
            "version = 1",
            "[input]",
            'format = "tables"',
            'objects = "merged"',
            f"record = {json.dumps(quoted(design.names[0]))}",
        ]
        if rnd.random() < 0.5:  # else they come from the input, and from what is written
            followed = {link.key: None for _, way, _, _ in explorer.found for link in way}
            lines.append(f"key = {json.dumps(list(map(str, followed)), ensure_ascii=False)}")
        for number, (path, _, _, _) in enumerate(explorer.found):
            kind, hierarchy, values, free = type_and_hierarchy(rnd)
            name = f"class {number}"
            lines += ["[[class]]", f"name = {json.dumps(name)}", f"path = {json.dumps(path, ensure_ascii=False)}"]
            lines += [f'type = "{kind}"', *([f"hierarchy = {hierarchy}"] if hierarchy else [])]
            if number and rnd.random() < 0.2:
                lines.append(f"under = {json.dumps(rnd.choice(['/', *(f.name for f in fields)]))}")
            fields.append(Field(name, (), None, "quasi", kind, None, hierarchy, values, free))
        text = "\n".join(lines)
        try:
            schema = ta.Schema.loads(text, folder=FOLDER)
            columns = {name: tuple(found) for name, found in design.columns.items()}
            primary = {name: found for name, found in design.primary.items() if found}
            resolved = resolve(schema, design.keys, columns, primary, files)
            classes = resolved.layout.classes
        except SchemaError:
            continue  # a class under one that does not enclose it, or two that may read the same values
        parents = {c.name: classes[c.parent].name if c.parent >= 0 else None for c in classes}
        return Release(design, Case("tables", tuple(fields), None, text, schema, parents), resolved)


def as_kind(schema: Schema, kind: str) -> Schema:
    """The resolved schema as if its input had been of that kind."""
    assert schema.input.relations is not None
    files = kind if kind in ("csv", "tsv", "parquet") else "csv"
    relations = replace(schema.input.relations, files=files)
    return replace(schema, input=replace(schema.input, relations=relations))


def draw_release(rnd: Random, kind: str, count: int = 6) -> tuple[Release, ta.Forest]:
    """A schema that can be written, and a forest of it: any trees, or trees that were generalized too."""
    while True:
        found = draw_schema(rnd)
        try:
            plan_of(found.resolved)
        except UsageError:
            continue
        schema = as_kind(found.resolved, kind)
        forest = ta.Forest.from_records(schema, make_records(rnd, found.case, count=count))
        return found, released(rnd, forest) if rnd.random() < 0.5 else forest


def quoted(name: str) -> str:
    return f'"{name}"' if "'" in name else f"'{name}'"


# --- loaders ---------------------------------------------------------------------------------------------------------


def sql_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def check_sqlite(path: Path) -> None:
    """Every row goes into a new database of the file's own definitions, with all constraints on, in any order."""
    with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(":memory:")) as new:
        assert old.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert old.execute("PRAGMA foreign_key_check").fetchall() == []
        made = old.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        rows = {name: old.execute(f"SELECT * FROM {sql_name(name)}").fetchall() for name, _ in made}
        fill(new, [sql for _, sql in made], rows)


def fill(database: sqlite3.Connection, statements: Sequence[str], rows: Mapping[str, Iterable[Sequence[Any]]]) -> None:
    """Makes tables and fills them; rows may refer to rows that come later, as long as all are there in the end."""
    database.execute("PRAGMA foreign_keys = ON")
    for statement in statements:
        database.execute(statement)
    database.execute("BEGIN")
    database.execute("PRAGMA defer_foreign_keys = ON")
    for name, found in rows.items():
        for row in found:
            marks = ", ".join("?" * len(row))
            database.execute(f"INSERT INTO {sql_name(name)} VALUES ({marks})", row)
    database.commit()
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []


def load_package(folder: Path, database: sqlite3.Connection) -> None:
    """Fills a database from a datapackage.json and its files, with its keys as constraints."""
    package = json.loads((folder / "datapackage.json").read_text())
    statements, rows = [], {}
    for resource in package["resources"]:
        schema = resource["schema"]
        lines = [f"{sql_name(f['name'])} {SQL_TYPES[f['type']]}" for f in schema["fields"]]
        if "primaryKey" in schema:
            lines.append(f"PRIMARY KEY ({sql_names(schema['primaryKey'])})")
            lines += [f"CHECK ({sql_name(name)} IS NOT NULL)" for name in schema["primaryKey"]]
        lines += [f"UNIQUE ({sql_names(names)})" for names in schema.get("uniqueKeys", [])]
        for key in schema.get("foreignKeys", []):
            goal = key["reference"]["resource"] or resource["name"]
            to = sql_names(key["reference"]["fields"])
            lines.append(f"FOREIGN KEY ({sql_names(key['fields'])}) REFERENCES {sql_name(goal)} ({to})")
        statements.append(f"CREATE TABLE {sql_name(resource['name'])} ({', '.join(lines)})")
        names = [f["name"] for f in schema["fields"]]
        paths = resource["path"] if isinstance(resource["path"], list) else [resource["path"]]
        rows[resource["name"]] = [row for path in paths for row in file_rows(folder / path, resource, names)]
    fill(database, statements, rows)


SQL_TYPES = {"integer": "INTEGER", "number": "REAL", "string": "TEXT"}


def sql_names(names: Sequence[str]) -> str:
    return ", ".join(map(sql_name, names))


def file_rows(path: Path, resource: Mapping[str, Any], names: list[str]) -> Iterable[Sequence[Any]]:
    if resource["format"] == "parquet":
        table = pq.read_table(path)
        assert table.column_names == names
        return [tuple(row[name] for name in names) for row in table.to_pylist()]
    with path.open(newline="", encoding=resource["encoding"]) as stream:
        header, *rows = csv.reader(stream, delimiter=resource.get("dialect", {}).get("delimiter", ","), strict=True)
    assert header == names
    assert all(len(row) == len(names) for row in rows)
    return [[None if value == "" else value for value in row] for row in rows]


def check_package(folder: Path) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        load_package(folder, database)

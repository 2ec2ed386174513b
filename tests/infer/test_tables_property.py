"""Whatever tables and keys an input has: the schema that init writes loads, and reading by it meets no error."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

import treeanon as ta
from treeanon.errors import DataError, HierarchyError
from treeanon.infer import propose, render_schema
from treeanon.infer.relations import find_keys
from treeanon.io.relational.reading import resolved
from treeanon.io.relational.source import open_tables
from treeanon.schema import FieldPath, Step
from treeanon.schema.relational import nested

TABLES = [
    "patient",
    "order lines",
    "visit.x",
    "it's",
    "größe",
    "(odd)",
    "Ward",
    "x[]",
    "a,b",
    "doctor",
    'say "so"',
    "#",
]
COLUMNS = ["name", "sex", "day", "a.b", "c d", "it's", "Größe", "(x)", "note", "id_", "visit.x", "Ward", "1", '"', "="]
VALUES = [None, "", "x", "f", "m", "2020-01-02", "007", "zebra crossing", 3, 3.5, 10**12, -1, "true", "word " * 20]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Draft:
    """A table in the making: its key, the columns by which it refers to others, and those that hold anything."""

    def __init__(self, name: str, rnd: Random) -> None:
        self.name, self.rnd = name, rnd
        self.key = ["no", "year"] if rnd.random() < 0.3 else ["id"]
        self.size = rnd.choice([0, 1, 3, 12, 30])
        self.refers: list[tuple[Draft, list[str]]] = []
        self.plain = rnd.sample(COLUMNS, rnd.randint(0, 4))
        self.kinds = [rnd.sample(VALUES, rnd.randint(1, 4)) for _ in self.plain]

    @property
    def columns(self) -> list[str]:
        return [*self.key, *(name for _, own in self.refers for name in own), *self.plain]

    def refer(self, target: Draft, number: int) -> None:
        told = self.rnd.choice([f"{target.name}_id", f"ref{number}", target.name, f"parent_{target.name}"])
        own = [told] if len(target.key) == 1 else self.rnd.choice([[told + " no", told + " year"], ["no", "year"]])
        if not {name.lower() for name in own} & {name.lower() for name in self.columns}:
            self.refers.append((target, own))

    def script(self) -> str:
        parts = [quoted(name) for name in self.columns]
        for target, own in self.refers:
            if self.rnd.random() < 0.6:
                sides = [", ".join(map(quoted, names)) for names in (own, target.key)]
                parts.append(f"FOREIGN KEY ({sides[0]}) REFERENCES {quoted(target.name)} ({sides[1]})")
        if self.rnd.random() < 0.6:
            parts.append(f"PRIMARY KEY ({', '.join(map(quoted, self.key))})")
        return f"CREATE TABLE {quoted(self.name)} ({', '.join(parts)})"

    def row(self, number: int) -> list[object]:
        values: list[object] = [number, 2000 + number % 3][: len(self.key)]
        for target, _ in self.refers:
            at = self.rnd.choice([-1, 999]) if self.rnd.random() < 0.05 else self.rnd.randrange(max(target.size, 1))
            at = min(at, number - 1) if target is self else at
            values += ([None, None] if at < 0 else [at, 2000 + at % 3])[: len(target.key)]
        return values + [self.rnd.choice(kind) for kind in self.kinds]


def draw(path: Path, rnd: Random) -> None:
    """A SQLite file of a few tables that refer to each other and to themselves, by keys declared or only called so."""
    drafts = [Draft(name, rnd) for name in rnd.sample(TABLES, rnd.randint(1, 6))]
    for draft in drafts:
        for number in range(rnd.randint(0, 3)):
            draft.refer(rnd.choice(drafts), number)
    with closing(sqlite3.connect(path)) as made:
        for draft in drafts:
            made.execute(draft.script())
            for number in range(draft.size):
                row = draft.row(number)
                made.execute(f"INSERT INTO {quoted(draft.name)} VALUES ({', '.join('?' * len(row))})", row)
        made.commit()


@pytest.mark.parametrize("seed", range(80))
def test_what_is_proposed_reads_the_input(seed):
    rnd = Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.sqlite")
        draw(path, rnd)
        with closing(open_tables(path, "sqlite")) as source:
            columns = {table: info.columns for table, info in source.tables().items()}
            check_found(path, source)
        record = rnd.choice([None, *columns])
        try:
            findings = propose(path, record=record, sample=rnd.choice([2, 1000]))
        except DataError as problem:
            assert "holds no row" in str(problem) or "no column in the sample" in str(problem)
            return
        text = render_schema(findings)
        try:
            assert len(ta.read(path, ta.Schema.loads(text))) >= len(findings.sample.records)
        except HierarchyError:
            # values of another type behind the sample
            assert not findings.sample.whole
        assert "zebra" not in text
        if findings.sample.whole:
            assert_nested_alike(path, Path(folder, "x.ndjson"), findings.sample.records, ta.Schema.loads(text))
        # no column of the record table is passed over in silence
        named = [found.path.text(slashed=False) for found in findings.classes] + [
            each.path for each in findings.left_out
        ]
        for column in columns[findings.sample.record.names[0]]:
            assert FieldPath((Step(column),)).text(slashed=False) in named


def assert_nested_alike(path: Path, target: Path, records: list[object], schema: ta.Schema) -> None:
    """The records of the sample, read as documents, are the trees that the tables are read as."""
    target.write_text("".join(json.dumps(record) + "\n" for record in records))
    with closing(open_tables(path, "sqlite")) as source:
        documents = nested(resolved(schema, source))
    assert ta.read(target, documents) == ta.read(path, schema)


def check_found(path: Path, source) -> None:
    """Every key that is found holds, looked at row by row."""
    with closing(sqlite3.connect(path)) as made:
        for found in find_keys(source, source.keys()):
            key = found.key

            def rows(table, columns, made=made):
                query = f"SELECT {', '.join(map(quoted, columns))} FROM {quoted(table)}"
                return [row for row in made.execute(query) if None not in row]

            goals = rows(key.target, key.target_columns)
            own = rows(key.table, key.columns)
            assert len(set(goals)) == len(goals) and own
            assert len(own) == found.values and sum(row in set(goals) for row in own) == found.matched
            assert found.matched >= 0.99 * found.values
            assert set(key.columns) != set(key.target_columns) or key.table != key.target

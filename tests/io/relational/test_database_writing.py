"""Releases written into PostgreSQL (TREEANON_TEST_POSTGRES names a server): all of them or nothing, keys and all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from urllib.parse import quote

import pytest

import treeanon as ta
from tests.support.paths import ROOT
from treeanon.errors import FileError, GuaranteeError, UsageError

sqlalchemy = pytest.importorskip("sqlalchemy")

SERVER = os.environ.get("TREEANON_TEST_POSTGRES", "")
pytestmark = pytest.mark.skipif(not SERVER, reason="TREEANON_TEST_POSTGRES names no server")

SHOP = """
version = 1
[input]
format = "tables"
objects = "merged"
record = "'the \\"people\\"'"
key = [
  '''order.(who, 'a b') -> 'the "people"'.(id, year)''',
  '''order.'50%' -> item.select''',
]
[[class]]
name = "age"
path = "age"
type = "integer"
[[class]]
name = "price"
path = "order.price"
type = "number"
[[class]]
name = "item"
path = "order.item.'it: 50%'"
"""


@pytest.fixture
def empty() -> Iterator[str]:
    """The URL of an empty schema."""
    name = f"writing {os.getpid()}"
    execute(SERVER, f'DROP SCHEMA IF EXISTS "{name}" CASCADE', f'CREATE SCHEMA "{name}"')
    try:
        path = f'-csearch_path="{name}"'.replace(" ", chr(92) + " ")
        yield f"{SERVER}?options={quote(path, safe='')}"
    finally:
        execute(SERVER, f'DROP SCHEMA "{name}" CASCADE')


def execute(url: str, *statements: str) -> list[tuple[object, ...]]:
    engine = sqlalchemy.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        rows: list[tuple[object, ...]] = []
        for statement in statements:
            result = connection.exec_driver_sql(statement)
            rows = [tuple(row) for row in result] if result.returns_rows else []
    engine.dispose()
    return rows


def clinic() -> ta.Forest:
    return ta.read(ROOT / "samples/clinic.sqlite", ta.Schema.load(ROOT / "schemas/clinic-sqlite.toml"))


def tables_of(url: str) -> set[object]:
    return {row[0] for row in execute(url, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")}


def test_a_release_goes_into_a_database_and_is_checked_there(empty: str) -> None:
    release = ta.anonymize(clinic(), k=5, m=2, n=1, seed=1, effort=0.2)
    assert release.write(empty).holds
    schema = ta.Schema.load(ROOT / "schemas/clinic.toml")
    assert ta.read(empty, schema) == release.forest
    assert {"patient", "visit", "ward", "treatment"} <= tables_of(empty)
    own = "connamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())"
    kinds = execute(empty, f"SELECT contype, count(*) FROM pg_constraint WHERE {own} GROUP BY 1")
    found = {str(kind): count for kind, count in kinds}
    assert int(found["f"]) >= 9 and int(found["p"]) >= 6
    with pytest.raises(FileError, match="already, which is never replaced"):
        release.write(empty, force=True)


def test_a_failing_check_leaves_nothing(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    release = ta.anonymize(clinic(), k=5, m=2, n=1, seed=1, effort=0.2)
    monkeypatch.setattr("treeanon.release.tree_release.read_back", lambda *a, **k: release.forest[:10])
    with pytest.raises(GuaranteeError, match="not published"):
        release.write(empty)
    assert tables_of(empty) == set()


def test_names_of_every_kind(empty: str) -> None:
    schema = ta.Schema.loads(SHOP)
    tree = [["age", "7", []], ["price", "1.5", [["item", 'a,"b"\n50%', []]]], ["price", "20-30", []]]
    forest = ta.Forest.from_records(schema, [tree, [["age", "8", []]], []])
    ta.write(forest, empty, format="database")
    assert ta.read(empty, schema) == forest
    assert tables_of(empty) == {'the "people"', "order", "item"}


def test_what_a_database_cannot_hold(empty: str) -> None:
    text = SHOP.replace('path = "age"', f'path = "{"x" * 64}"')
    forest = ta.Forest.from_records(ta.Schema.loads(text), [[["age", "7", []]]])
    with pytest.raises(UsageError, match="too long for this database"):
        ta.write(forest, empty, format="database")
    assert tables_of(empty) == set()

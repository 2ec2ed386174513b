"""Releases written into servers of databases: all of them or nothing, keys and all."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
from urllib.parse import quote

import pytest

import treeanon as ta
from tests.support.databases import MARIADB, POSTGRES, Server, run
from tests.support.paths import ROOT
from treeanon.errors import FileError, GuaranteeError, UsageError
from treeanon.io.relational import write_sql
from treeanon.io.relational.arrow_tables import TableOut

sqlalchemy = pytest.importorskip("sqlalchemy")

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


@pytest.fixture(params=[POSTGRES, MARIADB], ids=lambda server: server.name)
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.param
    return found.required()


@pytest.fixture
def empty(server: Server) -> Iterator[str]:
    """The URL of an empty schema."""
    with server.schema("writing") as url:
        yield url


@cache
def clinic() -> ta.Release:
    """A release of the clinic, which is only written again and again."""
    forest = ta.read(ROOT / "samples/clinic.sqlite", ta.Schema.load(ROOT / "schemas/clinic-sqlite.toml"))
    return ta.anonymize(forest, k=5, m=2, n=1, seed=1, effort=0.2)


def tables_of(url: str) -> set[object]:
    own = "current_schema()" if url.startswith("postgresql") else "database()"
    return {row[0] for row in run(url, f"SELECT table_name FROM information_schema.tables WHERE table_schema = {own}")}


def test_a_release_goes_into_a_database_and_is_checked_there(empty: str, server: Server) -> None:
    release = clinic()
    assert release.write(empty).holds
    schema = ta.Schema.load(ROOT / "schemas/clinic.toml")
    assert ta.read(empty, schema) == release.forest
    assert {"patient", "visit", "ward", "treatment"} <= tables_of(empty)
    own = "current_schema()" if server is POSTGRES else "database()"
    kinds = "SELECT constraint_type FROM information_schema.table_constraints WHERE table_schema = "
    found = Counter(kind for (kind,) in run(empty, kinds + own))
    assert found["FOREIGN KEY"] >= 9 and found["PRIMARY KEY"] >= 6
    with pytest.raises(FileError, match="already, which is never replaced"):
        release.write(empty, force=True)


def test_a_failing_check_leaves_nothing(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    release = clinic()
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
    text = SHOP.replace('path = "age"', f'path = "{"x" * 65}"')
    forest = ta.Forest.from_records(ta.Schema.loads(text), [[["age", "7", []]]])
    with pytest.raises(UsageError, match="too long for this database"):
        ta.write(forest, empty, format="database")
    assert tables_of(empty) == set()


def test_nothing_is_visible_before_the_check(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    release = clinic()
    seen: list[object] = []

    def looking(*_: object, **__: object) -> ta.Forest:
        if "patient" in tables_of(empty):
            seen.extend(run(empty, "SELECT * FROM patient"))
        return release.forest[:10]

    monkeypatch.setattr("treeanon.release.tree_release.read_back", looking)
    with pytest.raises(GuaranteeError):
        release.write(empty)
    assert not seen and tables_of(empty) == set()


def test_a_schema_of_the_url(server: Server) -> None:
    schema = ta.Schema.loads(SHOP)
    forest = ta.Forest.from_records(schema, [[["age", "7", []], ["price", "1.5", []]], []])
    with server.schema("named") as empty:
        name = f"named {os.getpid()}"
        url = f"{server.url}?schema={quote(name)}"
        ta.write(forest, url, format="database")
        assert ta.read(url, schema) == forest
        assert tables_of(empty) == {'the "people"', "order", "item"}
        with pytest.raises(UsageError, match="one schema; the URL names 2"):
            ta.write(forest, f"{url}&schema=other", format="database")
        with pytest.raises(FileError, match="there is no schema of the name"):
            ta.write(forest, f"{server.url}?schema=lost", format="database")


def test_keys_that_lead_nowhere_are_not_written(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """MariaDB is told not to check keys while rows come in: that is made up for."""
    fill = write_sql._fill_database

    def missing(connection: object, made: object, table: TableOut) -> None:
        if table.name != "item":
            fill(connection, made, table)  # type: ignore[arg-type]

    monkeypatch.setattr(write_sql, "_fill_database", missing)
    schema = ta.Schema.loads(SHOP)
    forest = ta.Forest.from_records(schema, [[["age", "7", []], ["price", "1.5", [["item", "x", []]]]]])
    with pytest.raises(FileError):
        ta.write(forest, empty, format="database")
    assert tables_of(empty) == set()

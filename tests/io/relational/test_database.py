"""Databases: PostgreSQL for real (tests/postgres.sh starts a server, TREEANON_TEST_POSTGRES is its URL), and SQLite."""

from __future__ import annotations

import datetime
import os
import sqlite3
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pytest

from treeanon.errors import DataError, FileError, TreeanonError, UsageError
from treeanon.io.relational.open import open_tables
from treeanon.io.relational.source import TableInfo, TableSource

sqlalchemy = pytest.importorskip("sqlalchemy")

SERVER = os.environ.get("TREEANON_TEST_POSTGRES", "")
WORD = "Zwischenfall"
needs_server = pytest.mark.skipif(not SERVER, reason="TREEANON_TEST_POSTGRES names no server")


def password() -> str:
    return SERVER.partition("://")[2].rpartition("@")[0].partition(":")[2]


def no_secret(*texts: str) -> None:
    for text in texts:
        assert WORD not in text
        if SERVER:
            assert password() not in text and unquote(password()) not in text


def refused(action: Callable[[], object], kind: type[TreeanonError] = DataError) -> str:
    with pytest.raises(kind) as caught:
        action()
    no_secret("".join(traceback.format_exception(caught.value)), repr(caught.value))
    return str(caught.value)


def run(url: str, *statements: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[call-overload]


@pytest.fixture
def schema() -> Iterator[str]:
    """The URL of an empty schema of its own."""
    name = f'"test {os.getpid()}"'
    run(SERVER, f"DROP SCHEMA IF EXISTS {name} CASCADE", f"CREATE SCHEMA {name}")
    try:
        yield f"{SERVER}?options={quote(f'-csearch_path={name}'.replace(' ', chr(92) + ' '), safe='')}"
    finally:
        run(SERVER, f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def opened(schema: str) -> Iterator[Callable[..., TableSource]]:
    """Opens the schema, after some statements were run in it."""
    sources: list[TableSource] = []

    def opening(*statements: str) -> TableSource:
        run(schema, *statements)
        sources.append(open_tables(schema, "database"))
        return sources[-1]

    yield opening
    for source in sources:
        source.close()


CLINIC = (
    'CREATE TABLE "the ""Orders""" ("order no" int, "select" int, "50%" text, PRIMARY KEY ("select", "order no"))',
    "CREATE TABLE boss (id bigint PRIMARY KEY, boss bigint REFERENCES boss)",
    'CREATE TABLE line (no int, yr int, boss bigint REFERENCES boss, FOREIGN KEY (yr, no) REFERENCES "the ""Orders""")',
    "CREATE VIEW seen AS SELECT no AS number FROM line",
    "CREATE MATERIALIZED VIEW kept AS SELECT 7 AS seven",
    'INSERT INTO "the ""Orders""" VALUES (1, 2, \'x\'), (3, 4, NULL)',
)


@needs_server
def test_tables_and_keys(opened: Callable[..., TableSource]) -> None:
    source = opened(*CLINIC)
    assert source.tables() == {
        "boss": TableInfo(("id", "boss"), ("id",)),
        "kept": TableInfo(("seven",), view=True),
        "line": TableInfo(("no", "yr", "boss")),
        "seen": TableInfo(("number",), view=True),
        'the "Orders"': TableInfo(("order no", "select", "50%"), ("select", "order no")),
    }
    assert set(map(str, source.keys())) == {
        "boss.boss -> boss.id",
        "line.boss -> boss.id",
        "line.(yr, no) -> 'the \"Orders\"'.(select, 'order no')",
    }
    read = source.read('the "Orders"', ["50%", "select"])
    assert read.to_pydict() == {"50%": ["x", None], "select": [2, 4]}
    assert source.read('the "Orders"', []).num_rows == 2 and source.read("kept", ["seven"], 0).num_rows == 0
    assert source.read('the "Orders"', ["select"], 1)["select"].to_pylist() == [2]
    assert source.place("boss", 0).place == "row 1"
    assert "unknown table 'Boss'; choose from 'boss'" in refused(lambda: source.read("Boss", []))
    assert "unknown column 'x'; choose from 'id', 'boss'" in refused(lambda: source.read("boss", ["x"]))
    no_secret(repr(source), source.name)
    assert source.files == "" and "tester:***@" in source.name


@needs_server
def test_keys_to_another_schema_are_left_out(opened: Callable[..., TableSource]) -> None:
    other = f'"other {os.getpid()}"'
    run(SERVER, f"CREATE SCHEMA {other}", f"CREATE TABLE {other}.t (id int PRIMARY KEY)")
    try:
        source = opened(f"CREATE TABLE t (id int REFERENCES {other}.t)")
        assert not source.keys() and len(source.left_out) == 1  # type: ignore[attr-defined]
        source.close()
    finally:
        run(SERVER, f"DROP SCHEMA {other} CASCADE")


DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 5)
UTC = datetime.UTC
KINDS: list[tuple[str, str, pa.DataType, Any]] = [
    ("bigint", "9223372036854775807", pa.int64(), 2**63 - 1),
    ("smallint", "-7", pa.int64(), -7),
    ("numeric", "98765432109876543210.50", pa.decimal128(22, 2), Decimal("98765432109876543210.50")),
    ("numeric(12,2)", "1.5", pa.decimal128(3, 2), Decimal("1.50")),
    ("double precision", "0.1", pa.float64(), 0.1),
    ("real", "1.5", pa.float64(), 1.5),
    ("boolean", "true", pa.bool_(), True),
    ("date", "'2024-02-29'", pa.date32(), DAY),
    ("timestamp", "'2024-02-29 12:00:00.000005'", pa.timestamp("us"), NOON),
    (
        "timestamptz",
        "'2024-02-29 13:00:00.000005+01'",
        pa.timestamp("us", tz="UTC"),
        NOON.replace(tzinfo=UTC),
    ),
    ("time", "'01:02:03'", pa.string(), "01:02:03"),
    ("uuid", "'00000000-0000-0000-0000-00000000000A'", pa.string(), "00000000-0000-0000-0000-00000000000a"),
    ("text", "'ä'", pa.string(), "ä"),
    ("char(3)", "'a'", pa.string(), "a  "),
]


@needs_server
def test_types(opened: Callable[..., TableSource]) -> None:
    columns = ", ".join(f"c{i} {kind}" for i, (kind, _, _, _) in enumerate(KINDS))
    values = ", ".join(value for _, value, _, _ in KINDS)
    source = opened(
        f"CREATE TABLE t ({columns}, nothing int)",
        f"INSERT INTO t VALUES ({values}, NULL)",
        "INSERT INTO t (nothing) VALUES (NULL)",
    )
    for i, (_, _, kind, expected) in enumerate(KINDS):
        read = source.read("t", [f"c{i}"])[f"c{i}"]
        plain = read.cast(pa.string()) if pa.types.is_dictionary(read.type) else read
        assert (plain.type, plain.to_pylist()) == (kind, [expected, None])
    assert source.read("t", ["nothing"])["nothing"].to_pylist() == [None, None]


@needs_server
def test_chunks_of_decimals(opened: Callable[..., TableSource], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treeanon.io.relational.database.CHUNK", 2)
    source = opened(
        "CREATE TABLE t (a numeric, b numeric)",
        "INSERT INTO t VALUES (1.5, 1), (2, 2), (12345.678, 1e80), (NULL, 7.50), (NULL, NULL)",
    )
    read = source.read("t", ["a", "b"])
    assert pa.types.is_decimal(read["a"].type)
    assert read["a"].to_pylist() == [Decimal("1.5"), 2, Decimal("12345.678"), None, None]
    assert read["b"].to_pylist() == ["1", "2", "1" + "0" * 80, "7.5", None]


@needs_server
@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("float8", "'NaN'", "row 60001, a: is not a number"),
        ("float8", "'-Infinity'", "row 60001, a: is not a number"),
        ("numeric", "'NaN'", "row 60001, a: is not a number"),
        ("numeric", "'Infinity'", "row 60001, a: is not a number"),
        ("bytea", f"'{WORD}'", "a: binary data"),
        ("jsonb", f"'\"{WORD}\"'", "a: "),
        ("text[]", f"'{{{WORD}}}'", "a: values of the kind list"),
        ("interval", "'1 day'", "a: values of the kind timedelta"),
        ("date", "'infinity'", "a date out of range"),
        ("timestamp", "'12024-01-01'", "a date out of range"),
    ],
)
def test_values_that_none_can_be(opened: Callable[..., TableSource], kind: str, value: str, words: str) -> None:
    filler = (
        f"INSERT INTO t SELECT i, {'1' if kind in ('float8', 'numeric') else 'NULL'} FROM generate_series(1, 60000) i"
    )
    source = opened(f"CREATE TABLE t (i int, a {kind})", filler, f"INSERT INTO t VALUES (0, {value})")
    if words == "a: ":
        # JSON that is a text or a number reads as one; objects do not.
        run_object = opened(f"CREATE TABLE o (a {kind})", f"INSERT INTO o VALUES ('{{\"{WORD}\": 1}}')")
        assert "o, row 1, a: values of the kind dict" in refused(lambda: run_object.read("o", ["a"]))
        return
    message = refused(lambda: source.read("t", ["a"]))
    assert words in message and "table t" in message
    assert source.read("t", ["i"]).num_rows == 60_001


@needs_server
def test_one_snapshot_that_is_only_read(opened: Callable[..., TableSource], schema: str) -> None:
    source = opened("CREATE TABLE t (a int)", "INSERT INTO t VALUES (1)")
    run(schema, "INSERT INTO t VALUES (2)")
    assert source.read("t", ["a"])["a"].to_pylist() == [1]
    connection = source._connection  # type: ignore[attr-defined]
    for name, value in (("transaction_read_only", "on"), ("transaction_isolation", "repeatable read")):
        assert connection.exec_driver_sql(f"SHOW {name}").scalar() == value


@needs_server
def test_a_failed_read(opened: Callable[..., TableSource]) -> None:
    source = opened("CREATE TABLE t (a int)", "CREATE VIEW v AS SELECT 1 / a AS a FROM t", "INSERT INTO t VALUES (0)")
    assert "table v" in refused(lambda: source.read("v", ["a"]))
    assert "an earlier read of it failed" in refused(lambda: source.read("t", ["a"]), FileError)


@needs_server
def test_many_rows(opened: Callable[..., TableSource]) -> None:
    source = opened(
        "CREATE TABLE t (a int, b text)",
        "INSERT INTO t SELECT i, 'v' || (i % 3) FROM generate_series(1, 123456) i",
    )
    read = source.read("t", ["a", "b"])
    assert read["a"].to_pylist() == list(range(1, 123_457))
    assert len(read["b"].chunk(0).dictionary) == 3 and read["b"].null_count == 0


@needs_server
def test_doors_that_are_closed() -> None:
    host = SERVER.rpartition("@")[2]
    where, _, _ = host.partition("/")
    user = SERVER.partition("://")[2].partition(":")[0]
    wrong = refused(lambda: open_tables(f"postgresql://{user}:{WORD}@{host}", "database"), FileError)
    assert "the user or password is not accepted" in wrong and f"{user}:***@{where}" in wrong
    assert "not accepted" in refused(lambda: open_tables(f"postgresql://nobody:{WORD}@{host}", "database"), FileError)
    assert "not accepted" in refused(lambda: open_tables(f"postgresql://{user}@{host}", "database"), FileError)
    lost = f"{SERVER.rpartition('/')[0]}/lost"
    assert "there is no database of that name" in refused(lambda: open_tables(lost, "database"), FileError)
    for option in (f"password={WORD}", f"sslmode={WORD}", f"{WORD}=1"):
        refused(lambda option=option: open_tables(f"postgresql://{user}@{host}?{option}", "database"), FileError)  # type: ignore[misc]


@needs_server
def test_other_names_of_the_url(schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(schema, "CREATE TABLE t (a int)")
    monkeypatch.setenv("CLINIC", schema)
    for url in (
        "env:CLINIC",
        schema.replace("postgresql:", "postgres:"),
        schema.replace("postgresql:", "postgresql+psycopg:"),
    ):
        source = open_tables(url, "database")
        assert "t" in source.tables()
        no_secret(repr(source), source.name)
        source.close()


@needs_server
def test_a_server_that_hangs_up(opened: Callable[..., TableSource]) -> None:
    source = opened("CREATE TABLE t (a int)")
    # Its own connection alone: tests of other workers read from the same server.
    process = source._connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()  # type: ignore[attr-defined]
    run(SERVER, f"SELECT pg_terminate_backend({process})")
    message = refused(lambda: source.read("t", ["a"]), FileError)
    assert "table t: " in message and "refuses" not in message
    source.close()
    assert "is closed" in refused(lambda: source.read("t", ["a"]), FileError)


def test_no_permission(request: pytest.FixtureRequest) -> None:
    if not SERVER:
        pytest.skip("TREEANON_TEST_POSTGRES names no server")
    schema = request.getfixturevalue("schema")
    role = f"guest_{os.getpid()}"
    run(schema, "CREATE TABLE t (a int)", f"CREATE ROLE {role} LOGIN PASSWORD '{WORD}'")
    run(schema, f'GRANT USAGE ON SCHEMA "test {os.getpid()}" TO {role}')
    try:
        guest = open_tables(f"postgresql://{role}:{WORD}@{schema.rpartition('@')[2]}", "database")
        assert "the user has no permission to read it" in refused(lambda: guest.read("t", ["a"]), FileError)
        guest.close()
    finally:
        run(schema, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def a_sqlite(path: Path, *statements: str) -> str:
    made = sqlite3.connect(path)
    for statement in statements:
        made.execute(statement)
    made.commit()
    made.close()
    return f"sqlite:///{path}"


def test_sqlite_by_url(tmp_path: Path) -> None:
    url = a_sqlite(
        tmp_path / "a b#.db",
        'CREATE TABLE "the ""Boss""" ("id no" INTEGER PRIMARY KEY)',
        'CREATE TABLE t (a REFERENCES "THE ""boss""", "x y" BOOLEAN, d DATE, gone REFERENCES lost)',
        "CREATE VIEW v AS SELECT a FROM t",
        "INSERT INTO t VALUES (1, 5, 'no date', 0.5)",
    )
    before = (tmp_path / "a b#.db").read_bytes()
    source = open_tables(url, "database")
    assert set(source.tables()) == {'the "Boss"', "t", "v"}
    assert list(map(str, source.keys())) == ["t.a -> 'the \"Boss\"'.'id no'"]
    assert source.read("t", ["x y", "d", "gone"]).to_pylist() == [{"x y": 5, "d": "no date", "gone": 0.5}]
    assert source.read("v", []).num_rows == 1
    other = sqlite3.connect(tmp_path / "a b#.db", timeout=0)
    with pytest.raises(sqlite3.OperationalError):
        other.execute("INSERT INTO t VALUES (1, 1, 1, 1)")
        other.commit()
    other.close()
    source.close()
    assert (tmp_path / "a b#.db").read_bytes() == before


def test_sqlite_files_that_are_none(tmp_path: Path) -> None:
    assert "no such file" in refused(lambda: open_tables(f"sqlite:///{tmp_path}/x.db", "database"), FileError)
    assert not list(tmp_path.iterdir())
    (tmp_path / "x.db").write_text(WORD * 1000)
    assert "not a SQLite database" in refused(lambda: open_tables(f"sqlite:///{tmp_path}/x.db", "database"), FileError)
    assert "names no file" in refused(lambda: open_tables("sqlite://", "database"), UsageError)


def test_sqlite_text_that_is_not_utf8(tmp_path: Path) -> None:
    url = a_sqlite(tmp_path / "t.db", "CREATE TABLE t (a)", f"INSERT INTO t VALUES (CAST(x'ff41' || '{WORD}' AS TEXT))")
    source = open_tables(url, "database")
    assert "table t" in refused(lambda: source.read("t", ["a"]), TreeanonError)
    source.close()


@needs_server
def test_partitions_are_part_of_their_parent_and_views_are_known(schema: str) -> None:
    from treeanon.infer import propose

    run(
        schema,
        "CREATE TABLE customer (customer_id int PRIMARY KEY, sex text)",
        "INSERT INTO customer SELECT n, CASE WHEN n % 2 = 0 THEN 'f' ELSE 'm' END FROM generate_series(1, 40) n",
        "CREATE TABLE payment (customer_id int REFERENCES customer, day date, amount int) PARTITION BY RANGE (day)",
        "CREATE TABLE payment_p1 PARTITION OF payment FOR VALUES FROM ('2020-01-01') TO ('2020-02-01')",
        "CREATE TABLE payment_p2 PARTITION OF payment FOR VALUES FROM ('2020-02-01') TO ('2020-03-01')",
        "INSERT INTO payment SELECT n, date '2020-01-01' + n, n % 7 FROM generate_series(1, 40) n",
        "CREATE VIEW big AS SELECT * FROM payment WHERE amount > 5",
    )
    with closing(open_tables(schema, "database")) as source:
        tables = source.tables()
    assert {name: (info.view, info.part_of) for name, info in tables.items()} == {
        "customer": (False, ""),
        "payment": (False, ""),
        "payment_p1": (False, "payment"),
        "payment_p2": (False, "payment"),
        "big": (True, ""),
    }
    found = propose(schema)
    assert {each.path.text(slashed=False) for each in found.classes if each.path} == {
        "sex", "payment.day", "payment.amount",
    }  # fmt: skip
    left = {each.path: each.why for each in found.left_out}
    assert left["payment_p1"].startswith("a part of payment") and left["big"].startswith("a view")

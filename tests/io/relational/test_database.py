"""Databases: PostgreSQL and MariaDB for real (see tests/support/databases.py), and SQLite."""

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
from urllib.parse import quote

import pyarrow as pa
import pytest

from tests.support.databases import MARIADB, POSTGRES, Server, both, run
from treeanon.errors import DataError, FileError, TreeanonError, UsageError
from treeanon.io.relational.source import TableInfo, TableSource, open_tables

sqlalchemy = pytest.importorskip("sqlalchemy")

WORD = "Zwischenfall"
PASSWORD = "se:c/r@t"


def no_secret(*texts: str) -> None:
    for text in texts:
        assert WORD not in text
        assert PASSWORD not in text and quote(PASSWORD, safe="") not in text


def refused(action: Callable[[], object], kind: type[TreeanonError] = DataError) -> str:
    with pytest.raises(kind) as caught:
        action()
    no_secret("".join(traceback.format_exception(caught.value)), repr(caught.value))
    return str(caught.value)


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Server:
    """PostgreSQL, unless a test asks for others."""
    found: Server = getattr(request, "param", POSTGRES)
    return found.required()


@pytest.fixture
def schema(server: Server) -> Iterator[str]:
    """The URL of an empty schema of its own."""
    with server.schema("test") as url:
        yield url


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
    "CREATE TABLE boss (id bigint PRIMARY KEY, boss bigint REFERENCES boss (id))",
    "CREATE TABLE line (no int, yr int, boss bigint REFERENCES boss (id), FOREIGN KEY (yr, no)"
    ' REFERENCES "the ""Orders""" ("select", "order no"))',
    "CREATE VIEW seen AS SELECT no AS number FROM line",
    "CREATE VIEW kept AS SELECT 7 AS seven",
    'INSERT INTO "the ""Orders""" VALUES (1, 2, \'x\'), (3, 4, NULL)',
)


@both
def test_tables_and_keys(opened: Callable[..., TableSource], server: Server) -> None:
    kept = [line.replace("VIEW kept", "MATERIALIZED VIEW kept") if server is POSTGRES else line for line in CLINIC]
    source = opened(*kept)
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


@both
def test_keys_to_another_schema(opened: Callable[..., TableSource], server: Server) -> None:
    with server.schema("other"):
        other = f'"other {os.getpid()}"'
        run(server.url, f"CREATE TABLE {other}.t (id int PRIMARY KEY)")
        source = opened(f"CREATE TABLE u (id int REFERENCES {other}.t (id))", "INSERT INTO u VALUES (NULL)")
        assert not source.keys() and len(source.left_out) == 1
        mark, names = "&" if "?" in server.url else "?", [f"test {os.getpid()}", f"other {os.getpid()}"]
        url = server.url + mark + "&".join(f"schema={quote(name)}" for name in names)
        with closing(open_tables(url, "database")) as both_schemas:
            assert set(both_schemas.tables()) == {"t", "u"} and not both_schemas.left_out
            assert list(map(str, both_schemas.keys())) == ["u.id -> t.id"]
            assert both_schemas.read("u", ["id"]).num_rows == 1 and both_schemas.read("t", ["id"]).num_rows == 0
        source.close()
        run(server.url, f'CREATE TABLE "test {os.getpid()}".t (id int)')
        assert "table 't' is in two of the schemas" in refused(lambda: open_tables(url, "database"), UsageError)
        run(server.url, f'DROP TABLE "test {os.getpid()}".u')


@both
def test_schemas_that_cannot_be(server: Server) -> None:
    mark = "&" if "?" in server.url else "?"
    lost = refused(lambda: open_tables(f"{server.url}{mark}schema={WORD}", "database"), FileError)
    assert "there is no schema of the name" in lost
    for query, words in (("schema=", "is empty"), ("schema=a&schema=a", "names a schema twice")):
        url = f"{server.url}{mark}{query}"
        assert words in refused(lambda url=url: open_tables(url, "database"), UsageError)  # type: ignore[misc]
    assert "has no schemas" in refused(lambda: open_tables("sqlite:///x.db?schema=a", "database"), UsageError)


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


MARIADB_KINDS = [
    ("bigint unsigned", "18446744073709551615", pa.string(), "18446744073709551615"),
    *(each for each in KINDS if each[0] in ("bigint", "smallint", "numeric(12,2)", "double precision", "date", "uuid")),
    ("tinyint(1)", "true", pa.int64(), 1),
    ("decimal(22,2)", "98765432109876543210.50", pa.decimal128(22, 2), Decimal("98765432109876543210.50")),
    ("datetime(6)", "'2024-02-29 12:00:00.000005'", pa.timestamp("us"), NOON),
    ("time", "'01:02:03'", pa.string(), "01:02:03"),
    ("time", "'-101:02:03'", pa.string(), "-101:02:03"),
    ("text", "'ä 😀'", pa.string(), "ä 😀"),
    ("enum('x','y')", "'y'", pa.string(), "y"),
    ("year", "2024", pa.int64(), 2024),
]


def test_a_view_without_an_end(opened: Callable[..., TableSource], monkeypatch: pytest.MonkeyPatch) -> None:
    # MariaDB ends recursion itself.
    monkeypatch.setattr("treeanon.io.relational.database.MOST_ROWS", 100_000)
    endless = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT i FROM r"
    source = opened(f"CREATE VIEW endless AS {endless}")
    assert "a view of more than 100,000 rows" in refused(lambda: source.read("endless", ["i"]))
    assert source.read("endless", ["i"], 3)["i"].to_pylist() == [1, 2, 3]


@both
def test_types(opened: Callable[..., TableSource], server: Server) -> None:
    kinds = KINDS if server is POSTGRES else MARIADB_KINDS
    columns = ", ".join(f"c{i} {kind}" for i, (kind, _, _, _) in enumerate(kinds))
    values = ", ".join(value for _, value, _, _ in kinds)
    source = opened(
        f"CREATE TABLE t ({columns}, nothing int)",
        f"INSERT INTO t VALUES ({values}, NULL)",
        "INSERT INTO t (nothing) VALUES (NULL)",
    )
    for i, (_, _, kind, expected) in enumerate(kinds):
        read = source.read("t", [f"c{i}"])[f"c{i}"]
        plain = read.cast(pa.string()) if pa.types.is_dictionary(read.type) else read
        assert (plain.type, plain.to_pylist()) == (kind, [expected, None])
    assert source.read("t", ["nothing"])["nothing"].to_pylist() == [None, None]


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


@both
def test_one_snapshot_that_is_only_read(opened: Callable[..., TableSource], schema: str, server: Server) -> None:
    source = opened("CREATE TABLE t (a int)", "INSERT INTO t VALUES (1)")
    run(schema, "INSERT INTO t VALUES (2)")
    assert source.read("t", ["a"])["a"].to_pylist() == [1]
    connection = source._connection  # type: ignore[attr-defined]
    if server is not POSTGRES:
        with pytest.raises(sqlalchemy.exc.DBAPIError, match="READ ONLY"):
            connection.exec_driver_sql("INSERT INTO t VALUES (3)")
        return
    for name, value in (("transaction_read_only", "on"), ("transaction_isolation", "repeatable read")):
        assert connection.exec_driver_sql(f"SHOW {name}").scalar() == value


def test_a_failed_read(opened: Callable[..., TableSource]) -> None:
    source = opened("CREATE TABLE t (a int)", "CREATE VIEW v AS SELECT 1 / a AS a FROM t", "INSERT INTO t VALUES (0)")
    assert "table v" in refused(lambda: source.read("v", ["a"]))
    assert "an earlier read of it failed" in refused(lambda: source.read("t", ["a"]), FileError)


@both
def test_many_rows(opened: Callable[..., TableSource], server: Server) -> None:
    source = opened(
        "CREATE TABLE t (a int PRIMARY KEY, b text)",
        f"INSERT INTO t SELECT i, 'v' || (i % 3) FROM {server.series(123456)}",
    )
    read = source.read("t", ["a", "b"])
    assert read["a"].to_pylist() == list(range(1, 123_457))
    assert len(read["b"].chunk(0).dictionary) == 3 and read["b"].null_count == 0


@both
def test_doors_that_are_closed(server: Server) -> None:
    user, database = server.user, server.url.rpartition("/")[2]
    wrong = refused(lambda: open_tables(f"{server.at(f'{user}:{WORD}')}/{database}", "database"), FileError)
    assert "the user or password is not accepted" in wrong and f"{user}:***@{server.host}" in wrong
    for other in (f"nobody:{WORD}", user):
        assert "not accepted" in refused(
            lambda other=other: open_tables(f"{server.at(other)}/{database}", "database"),
            FileError,  # type: ignore[misc]
        )
    lost = f"{server.url.rpartition('/')[0]}/lost"
    assert "there is no database of that name" in refused(lambda: open_tables(lost, "database"), FileError)
    for option in (f"password={WORD}", f"sslmode={WORD}", f"{WORD}=1"):
        refused(
            lambda option=option: open_tables(f"{server.at(user)}/{database}?{option}", "database"),  # type: ignore[misc]
            TreeanonError,  # type: ignore[type-abstract]
        )


def test_a_url_without_a_database(server: Server = MARIADB) -> None:
    url = server.required().url.rpartition("/")[0]
    assert "names no database" in refused(lambda: open_tables(url, "database"), UsageError)


@both
def test_other_names_of_the_url(schema: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    run(schema, "CREATE TABLE t (a int)")
    monkeypatch.setenv("CLINIC", schema)
    kinds = ("postgres", "postgresql+psycopg") if server is POSTGRES else ("mariadb", "mysql+pymysql")
    for url in ("env:CLINIC", *(f"{kind}:{schema.partition(':')[2]}" for kind in kinds)):
        source = open_tables(url, "database")
        assert "t" in source.tables()
        no_secret(repr(source), source.name)
        source.close()


@both
def test_a_server_that_hangs_up(opened: Callable[..., TableSource], server: Server) -> None:
    source = opened("CREATE TABLE t (a int)")
    # Its own connection alone: tests of other workers read from the same server.
    mine, end = (
        ("pg_backend_pid", "SELECT pg_terminate_backend({})") if server is POSTGRES else ("connection_id", "KILL {}")
    )
    process = source._connection.exec_driver_sql(f"SELECT {mine}()").scalar()  # type: ignore[attr-defined]
    run(server.url, end.format(process))
    message = refused(lambda: source.read("t", ["a"]), FileError)
    assert "table t: " in message and "refuses" not in message
    source.close()
    assert "is closed" in refused(lambda: source.read("t", ["a"]), FileError)


@both
def test_no_permission(schema: str, server: Server) -> None:
    role = f"guest_{os.getpid()}"
    run(schema, "CREATE TABLE t (a int)", "CREATE TABLE u (a int)")
    name = f'"test {os.getpid()}"'
    if server is POSTGRES:
        run(schema, f"CREATE ROLE {role} LOGIN PASSWORD '{WORD}'", f"GRANT USAGE ON SCHEMA {name} TO {role}")
        end = [f"DROP OWNED BY {role}", f"DROP ROLE {role}"]
    else:
        run(schema, f"CREATE USER {role} IDENTIFIED BY '{WORD}'", f"GRANT INSERT ON {name}.t TO {role}")
        end = [f"DROP USER {role}"]
    try:
        guest = open_tables(server.at(f"{role}:{WORD}") + schema.partition(server.host)[2], "database")
        assert "the user has no permission to read it" in refused(lambda: guest.read("t", ["a"]), FileError)
        guest.close()
    finally:
        run(schema, *end)


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

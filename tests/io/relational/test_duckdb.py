"""DuckDB files: tables, keys and types, what a hostile file tries, and releases as such files."""

from __future__ import annotations

import gzip
import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

import treeanon as ta
from tests.support.paths import ROOT
from treeanon.errors import DataError, FileError, TreeanonError, UsageError
from treeanon.infer import propose
from treeanon.io.relational import duckdb_file
from treeanon.io.relational.source import TableInfo, open_tables

duckdb = pytest.importorskip("duckdb")

WORD = "Zwischenfall"
CLINIC = (
    'CREATE TABLE "the ""Boss""" ("id no" BIGINT PRIMARY KEY, up BIGINT REFERENCES "the ""Boss""" ("id no"))',
    'CREATE TABLE t (a BIGINT REFERENCES "the ""Boss""" ("id no"), "x y" VARCHAR, b DECIMAL(10, 2))',
    "CREATE VIEW v AS SELECT a FROM t",
    'INSERT INTO "the ""Boss""" VALUES (1, NULL)',
    "INSERT INTO t VALUES (1, 'ä', 1.5), (NULL, NULL, NULL)",
)


def a_file(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as made:
        for statement in statements:
            made.execute(statement)
    return path


def refused(action: Callable[[], object], kind: type[TreeanonError] = DataError) -> str:
    with pytest.raises(kind) as caught:
        action()
    assert WORD not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_tables_and_keys(tmp_path: Path) -> None:
    path = a_file(tmp_path / "c.duckdb", *CLINIC)
    before = path.read_bytes()
    packed = tmp_path / "c.duckdb.gz"
    packed.write_bytes(gzip.compress(before))
    for given in (path, packed):
        with closing(open_tables(given, "duckdb")) as source:
            assert source.tables() == {
                'the "Boss"': TableInfo(("id no", "up"), ("id no",)),
                "t": TableInfo(("a", "x y", "b")),
                "v": TableInfo(("a",), view=True),
            }
            assert set(map(str, source.keys())) == {
                "t.a -> 'the \"Boss\"'.'id no'",
                "'the \"Boss\"'.up -> 'the \"Boss\"'.'id no'",
            }
            assert source.left_out == ()
            read = source.read("t", ["x y", "a"])
            assert read.to_pydict() == {"x y": ["ä", None], "a": [1, None]}
            assert source.read("t", []).num_rows == 2 and source.read("v", ["a"], 1).num_rows == 1
            assert "unknown column 'z'" in refused(lambda source=source: source.read("t", ["z"]))  # type: ignore[misc]
        assert "is closed" in refused(lambda source=source: source.read("t", ["a"]), FileError)  # type: ignore[misc]
    assert path.read_bytes() == before and sorted(p.name for p in tmp_path.iterdir()) == ["c.duckdb", "c.duckdb.gz"]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("HUGEINT", "170141183460469231731", "170141183460469231731"),
        ("UBIGINT", "18446744073709551615", "18446744073709551615"),
        ("ENUM ('x', 'y')", "'y'", "y"),
        ("UUID", "'00000000-0000-0000-0000-00000000000A'", "00000000-0000-0000-0000-00000000000a"),
        ("TIME", "'01:02:03'", "01:02:03.000000"),
        ("BOOLEAN", "true", "true"),
        ("DATE", "'2024-02-29'", "2024-02-29"),
    ],
)
def test_types(tmp_path: Path, kind: str, value: str, expected: str) -> None:
    path = a_file(tmp_path / "t.duckdb", f"CREATE TABLE t (a {kind})", f"INSERT INTO t VALUES ({value}), (NULL)")
    with closing(open_tables(path, "duckdb")) as source:
        assert source.read("t", ["a"])["a"].cast(pa.string()).to_pylist() == [expected, None]


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("INTERVAL", "INTERVAL 1 DAY", "values of the kind month_day_nano"),
        ("INT[]", "[1]", "values of the kind list"),
        ("STRUCT(b INT)", "{'b': 1}", "values of the kind struct"),
        ("DOUBLE", "'nan'", "row 1, a: is not a number"),
        ("BLOB", f"'{WORD}\\xFF'::BLOB", "row 1, a: is not UTF-8"),
    ],
)
def test_values_that_none_can_be(tmp_path: Path, kind: str, value: str, words: str) -> None:
    path = a_file(tmp_path / "t.duckdb", f"CREATE TABLE t (a {kind})", f"INSERT INTO t VALUES ({value})")
    with closing(open_tables(path, "duckdb")) as source:
        message = refused(lambda: source.read("t", ["a"]))
    assert words in message and "table t" in message


def test_hostile_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text(f"a\n{WORD}\n")
    path = a_file(
        tmp_path / "h.duckdb",
        f"CREATE VIEW thief AS SELECT * FROM read_csv('{secret}')",
        "CREATE VIEW endless AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT i FROM r",
        f"CREATE VIEW wrong AS SELECT '{WORD}'::INT AS a",
        f"CREATE TABLE t (a INT); COMMENT ON TABLE t IS '{WORD}'",
        "CREATE SCHEMA other; CREATE TABLE other.x (a INT); CREATE MACRO m(a) AS a + 1; CREATE SEQUENCE s",
        f"CREATE TYPE mood AS ENUM ('{WORD}')",
    )
    monkeypatch.setattr(duckdb_file, "MOST_ROWS", 100_000)
    with closing(open_tables(path, "duckdb")) as source:
        assert "looks outside of the file" in refused(lambda: source.read("thief", ["a"]), FileError)
    with closing(open_tables(path, "duckdb")) as source:
        assert "a view of more than 100,000 rows" in refused(lambda: source.read("endless", ["i"]))
        assert source.read("endless", ["i"], 3)["i"].to_pylist() == [1, 2, 3]
        assert "table wrong: cannot be read" in refused(lambda: source.read("wrong", ["a"]))
        told = " ".join(source.left_out)
        assert all(f"'{name}'" in told for name in ("x", "m", "s", "mood", "t")) and WORD not in told


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "x.duckdb").write_text(WORD * 10_000)
    assert "is not a DuckDB file" in refused(lambda: open_tables(tmp_path / "x.duckdb", "duckdb"))
    assert "no such file" in refused(lambda: open_tables(tmp_path / "y.duckdb", "duckdb"), FileError)
    assert "is a folder" in refused(lambda: open_tables(tmp_path, "duckdb"), UsageError)
    whole = a_file(tmp_path / "w.duckdb", *CLINIC).read_bytes()
    (tmp_path / "h.duckdb").write_bytes(whole[: len(whole) // 2])
    refused(lambda: open_tables(tmp_path / "h.duckdb", "duckdb").read("t", ["a"]))
    assert {p.name for p in tmp_path.iterdir()} == {"x.duckdb", "w.duckdb", "h.duckdb"}


def test_a_release_goes_into_a_file_and_out_of_it(tmp_path: Path) -> None:
    schema = ta.Schema.load(ROOT / "schemas/clinic.toml")
    forest = ta.read(ROOT / "samples/clinic.sqlite", ta.Schema.load(ROOT / "schemas/clinic-sqlite.toml"))
    release = ta.anonymize(forest, k=5, m=2, n=1, seed=1, effort=0.2)
    path = tmp_path / "out.duckdb"
    assert release.write(path).holds
    assert ta.read(path, schema) == release.forest
    assert ta.verify(path, schema=schema, k=5, m=2, n=1).holds
    with duckdb.connect(str(path), read_only=True) as made:
        keys = made.execute("SELECT count(*) FROM duckdb_constraints() WHERE constraint_type = 'FOREIGN KEY'")
        assert keys.fetchone()[0] >= 9
    with closing(open_tables(path, "duckdb")) as source:
        assert source.left_out == () and source.free == 0  # type: ignore[attr-defined]
    assert len(propose(path).classes) > 5
    assert [p.name for p in tmp_path.iterdir()] == ["out.duckdb"]


def test_names_that_duckdb_cannot_tell_apart(tmp_path: Path) -> None:
    schema = ta.Schema.loads(
        'version = 1\n[input]\nformat = "tables"\nrecord = "p"\n'
        '[[class]]\nname = "a"\npath = "age"\n[[class]]\nname = "b"\npath = "AGE"\n'
    )
    forest = ta.Forest.from_records(schema, [[["a", "7", []]]])
    with pytest.raises(UsageError, match="DuckDB does not distinguish the columns of table 'p'"):
        ta.write(forest, tmp_path / "o.duckdb", format="duckdb")
    assert not list(tmp_path.iterdir())

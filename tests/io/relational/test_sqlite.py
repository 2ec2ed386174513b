"""SQLite files as tables: keys, names, types of single values, and what is wrong with hostile files."""

from __future__ import annotations

import gzip
import os
import sqlite3
import traceback
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from treeanon.errors import DataError, FileError, TreeanonError, UsageError
from treeanon.infer import propose, render_schema
from treeanon.io import read
from treeanon.io.relational.source import open_tables
from treeanon.io.relational.sqlite import SqliteSource
from treeanon.schema import Schema

WORD = "Zwischenfall"


def a_file(path: Path, script: str, rows: dict[str, list[tuple[object, ...]]] | None = None) -> Path:
    made = sqlite3.connect(path)
    made.executescript(script)
    for table, values in (rows or {}).items():
        made.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values[0]))})", values)
    made.commit()
    made.close()
    return path


def refused(action: Callable[[], object], kind: type[TreeanonError] = DataError) -> str:
    with pytest.raises(kind) as caught:
        action()
    assert WORD not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def values(path: Path, column: str = "a", table: str = "t") -> list[object]:
    source = open_tables(path, "sqlite")
    try:
        return source.read(table, [column])[column].to_pylist()
    finally:
        source.close()


CLINIC = '''
CREATE TABLE "the ""Orders""" ("order no" INTEGER, year INT, PRIMARY KEY (year, "order no"));
CREATE TABLE Boss (id INTEGER PRIMARY KEY, boss REFERENCES bOSS);
CREATE TABLE line (no INT, yr INT, boss INT REFERENCES BOSS (ID), gone INT REFERENCES lost (id),
  FOREIGN KEY (yr, no) REFERENCES "THE ""ORDERS""");
CREATE VIEW seen AS SELECT no AS number FROM line;
CREATE VIEW broken AS SELECT x FROM nowhere;
CREATE INDEX i ON line (boss);
CREATE TABLE part (a INTEGER PRIMARY KEY AUTOINCREMENT, b AS (a + 1));
CREATE VIRTUAL TABLE words USING fts5(x);
'''


def test_tables_and_keys(tmp_path: Path) -> None:
    source = open_tables(a_file(tmp_path / "c.db", CLINIC), "sqlite")
    tables = source.tables()
    assert [name for name in tables if not name.startswith("words")] == ['the "Orders"', "Boss", "line", "seen", "part"]
    assert "words" not in tables
    assert tables['the "Orders"'].primary == ("year", "order no")
    assert tables["seen"].columns == ("number",) and tables["part"].columns == ("a", "b")
    assert set(map(str, source.keys())) == {
        "Boss.boss -> Boss.id",
        "line.boss -> Boss.id",
        "line.(yr, no) -> 'the \"Orders\"'.(year, 'order no')",
    }
    assert isinstance(source, SqliteSource)
    assert source.left_out == (
        "a key of table 'line' refers to table 'lost', which there is not",
        "table 'sqlite_sequence' is not looked at",
    )
    assert source.read("part", ["b"]).num_rows == 0
    assert "SqliteSource" in repr(source)
    source.close()


def test_quoted_names_and_missing_ones(tmp_path: Path) -> None:
    path = a_file(
        tmp_path / "a b%20?#.db", 'CREATE TABLE "a ""b"" c" ("select" INT, "x y" TEXT)', {'"a ""b"" c"': [(1, "v")]}
    )
    source = open_tables(path, "sqlite")
    assert source.read('a "b" c', ["x y", "select"]).to_pylist() == [{"x y": "v", "select": 1}]
    assert "unknown table 'b'; choose from 'a \"b\" c'" in refused(lambda: source.read("b", []))
    assert "unknown column 'z'; choose from 'select', 'x y'" in refused(lambda: source.read('a "b" c', ["z", "x y"]))
    assert source.place('a "b" c', 4).place == "row 5"
    source.close()
    source.close()
    assert "closed" in refused(lambda: source.read('a "b" c', []), FileError)


@pytest.mark.parametrize(
    ("given", "kind", "expected"),
    [
        ([1, None, -(2**63)], pa.int64(), [1, None, -(2**63)]),
        ([1.5, None, -2.0], pa.float64(), [1.5, None, -2.0]),
        ([1, 2.5, "x", 2**62, 1e300, 3.0, None], pa.string(), ["1", "2.5", "x", str(2**62), "1e300", "3", None]),
        ([None, None], pa.string(), [None, None]),
        ([], pa.string(), []),
        (["", "x", "y", "ä"], pa.string(), ["", "x", "y", "ä"]),
    ],
)
def test_types_of_values(given: list[object], kind: pa.DataType, expected: list[object], tmp_path: Path) -> None:
    path = a_file(tmp_path / "t.db", "CREATE TABLE t (a)", {"t": [(v,) for v in given]} if given else None)
    source = open_tables(path, "sqlite")
    read = source.read("t", ["a"])["a"]
    assert read.type == kind and read.to_pylist() == expected
    assert source.read("t", []).num_rows == len(given)
    assert source.read("t", ["a"], 1).num_rows == min(1, len(given))
    source.close()


@given(
    chunks=st.lists(
        st.lists(
            st.one_of(
                st.none(),
                st.integers(-(2**63), 2**63 - 1),
                st.floats(allow_nan=False, allow_infinity=False),
                st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4),
            ),
            min_size=1,
            max_size=5,
        ),
        max_size=5,
    )
)
def test_chunks_make_one_column(chunks: list[list[object]]) -> None:
    """However rows fall into chunks, a column is what it would be in one chunk."""
    from treeanon.io.columns.python_values import GrowingColumn, row_errors

    parts, whole = GrowingColumn("a", row_errors("s", "t")), GrowingColumn("a", row_errors("s", "t"))
    for chunk in chunks:
        parts.add(chunk)
    whole.add([value for chunk in chunks for value in chunk])
    assert parts.finish().to_pylist() == whole.finish().to_pylist()


def test_rows_keep_their_order_whatever_is_indexed(tmp_path: Path) -> None:
    rows = [(i, (i * 7919) % 1000, "x") for i in range(1000)]
    path = a_file(tmp_path / "t.db", "CREATE TABLE t (a, b, c); CREATE INDEX i ON t (b)", {"t": rows})
    assert values(path, "b") == [row[1] for row in rows]


def test_many_repeated_texts_become_codes(tmp_path: Path) -> None:
    path = a_file(tmp_path / "t.db", "CREATE TABLE t (a, b)", {"t": [(i, f"v{i % 3}") for i in range(120_000)]})
    source = open_tables(path, "sqlite")
    read = source.read("t", ["b"])["b"]
    assert pa.types.is_dictionary(read.type) and len(read.chunk(0).dictionary) == 3
    assert read.cast(pa.string()).to_pylist()[-1] == "v2"
    source.close()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (WORD.encode(), "binary data"),
        (f"{WORD}\0", "NUL"),
        (float("inf"), "infinite"),
    ],
)
def test_values_that_none_can_be(value: object, words: str, tmp_path: Path) -> None:
    rows = [(i, f"{i}" if isinstance(value, str) else float(i)) for i in range(60_000)]
    path = a_file(tmp_path / "t.db", "CREATE TABLE t (a, b)", {"t": [*rows, (1, value), *rows[:3]]})
    message = refused(lambda: values(path, "b"))
    assert message.startswith(f"{path}, table t, row 60001, b: ") and words in message
    assert len(values(path)) == 60_004


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    script = f"CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x'), (x'ff', CAST(x'ff41' || '{WORD}' AS TEXT))"
    path = a_file(tmp_path / "t.db", script)
    assert refused(lambda: values(path, "b")) == f"{path}, table t, row 2, b: is not UTF-8"


def test_packed_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = a_file(tmp_path / "t.db", "PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (7)")
    data = path.read_bytes()
    for ending, packed in ((".gz", gzip.compress(data)), (".zst", zstandard.ZstdCompressor().compress(data))):
        (tmp_path / f"p.db{ending}").write_bytes(packed)
        assert values(tmp_path / f"p.db{ending}") == [7]
        (tmp_path / f"p.db{ending}").write_bytes(packed[:-9])
        assert "broken or ends too early" in refused(lambda ending=ending: values(tmp_path / f"p.db{ending}"))  # type: ignore[misc]
    with path.open("rb") as handle:
        path.unlink()
        assert values(Path(f"/proc/{os.getpid()}/fd/{handle.fileno()}")) == [7]


@pytest.mark.parametrize("settings", [(512, 0), (4096, 1), (65536, 2)])
def test_copies_of_any_page_size(settings: tuple[int, int], tmp_path: Path) -> None:
    """A copy is opened before its first byte is there."""
    path = tmp_path / "t.db"
    made = sqlite3.connect(path)
    for number, name in zip(settings, ("page_size", "auto_vacuum"), strict=True):
        made.execute(f"PRAGMA {name} = {number}")
    made.execute("CREATE TABLE t (a)")
    made.executemany("INSERT INTO t VALUES (?)", [(str(number) * 50,) for number in range(3000)])
    made.commit()
    made.execute("PRAGMA journal_mode = WAL")
    made.close()
    (tmp_path / "t.db.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert values(tmp_path / "t.db.gz") == values(path)


def test_copies_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    (tmp_path / "temp").mkdir()
    path = tmp_path / "t.db.gz"
    path.write_bytes(gzip.compress(a_file(tmp_path / "t.db", "CREATE TABLE t (a)").read_bytes()))
    source = open_tables(path, "sqlite")
    assert not list((tmp_path / "temp").iterdir())
    assert source.read("t", ["a"]).num_rows == 0
    source.close()
    path.write_bytes(gzip.compress(b"nothing" * 1000))
    assert "not a SQLite database" in refused(lambda: open_tables(path, "sqlite"))
    assert not list((tmp_path / "temp").iterdir())


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    assert "no such file" in refused(lambda: open_tables(path, "sqlite"), FileError)
    assert "is a folder" in refused(lambda: open_tables(tmp_path, "sqlite"), UsageError)
    path.write_text(WORD * 1000)
    assert "is not a SQLite database, or is encrypted" in refused(lambda: open_tables(path, "sqlite"))
    path.write_bytes(b"")
    source = open_tables(path, "sqlite")
    assert not source.tables()
    source.close()
    assert not list(tmp_path.glob("x.db-*"))


def test_truncated_and_damaged(tmp_path: Path) -> None:
    path = a_file(tmp_path / "t.db", "CREATE TABLE t (a)", {"t": [(f"{WORD}{i}",) for i in range(5000)]})
    data = path.read_bytes()
    for cut in (100, 3000, 4096, 5000, 20_000, len(data) - 4096):
        path.write_bytes(data[:cut])
        assert str(path) in refused(lambda: values(path))
    for at in range(0, 4096 * 3, 97):
        path.write_bytes(data[:at] + b"\xff" * 7 + data[at + 7 :])
        try:
            values(path)
        except TreeanonError as problem:
            assert WORD not in "".join(traceback.format_exception(problem))


def test_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treeanon.io.relational.sqlite._WAIT", 0.05)
    path = a_file(tmp_path / "t.db", "CREATE TABLE t (a)")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert "locked by another program" in refused(lambda: open_tables(path, "sqlite"), FileError)
    other.close()


def test_one_state_is_read(tmp_path: Path) -> None:
    path = a_file(tmp_path / "t.db", "PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    source = open_tables(path, "sqlite")
    other = sqlite3.connect(path)
    other.execute("INSERT INTO t VALUES (2)")
    other.commit()
    other.close()
    assert source.read("t", ["a"]).num_rows == 1
    source.close()


def test_nothing_is_written_or_run(tmp_path: Path) -> None:
    script = "CREATE TABLE t (a); CREATE VIEW v AS SELECT load_extension('x') AS a; INSERT INTO t VALUES (1)"
    path = a_file(tmp_path / "t.db", script)
    before = path.read_bytes()
    message = refused(lambda: values(path, "a", "v")) if "v" in open_tables(path, "sqlite").tables() else "v"
    assert "v" in message and path.read_bytes() == before


def test_values_too_long(tmp_path: Path) -> None:
    path = a_file(tmp_path / "t.db", "CREATE TABLE t (a, b)", {"t": [("x" * 11_000_000, 5)]})
    assert "longer than" in refused(lambda: values(path))
    assert values(path, "b") == [5]


def test_views_without_an_end_are_not_read_unless_they_are_named(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, 'x' AS age FROM n"
    path = a_file(
        tmp_path / "t.db",
        f"""CREATE TABLE person (id INTEGER PRIMARY KEY, age TEXT); INSERT INTO person VALUES (1, '3'), (2, '4');
        CREATE VIEW a AS {endless}; CREATE VIEW b AS {endless} WHERE id < 0;
        CREATE VIEW c AS {endless} ORDER BY age;""",
    )
    found = Schema.loads(render_schema(propose(str(path))))
    assert found.input.record is not None and found.input.record.names == ("person",)
    assert len(read(path, found)) == 2
    source = open_tables(path, "sqlite")
    assert source.read("a", ["id"], 5).num_rows == 5
    source.close()

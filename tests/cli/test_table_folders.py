"""Folders and zips whose files are parts of one table of rows."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import treeanon as ta
from tests.support.as_installed import ran
from treeanon.errors import DataError, TreeanonError, UsageError
from treeanon.io.columns.read_table import read_table

SCHEMA = """
version = 1
[input]
format = "{}"
[[class]]
name = "age"
path = "age"
hierarchy = {{ prefix = [1] }}
[[class]]
name = "town"
path = "town"
hierarchy = {{ flat = true }}
"""
ROWS = [("34", "Ulm"), ("35", "Ulm"), ("36", "Bonn"), ("41", "Bonn"), ("42", None), ("43", "Ulm"), ("44", "Bonn")]
SECRET = "s3cret-value"


def schema_of(form: str = "csv") -> ta.Schema:
    return ta.Schema.loads(SCHEMA.format(form))


def csv_text(rows: list[tuple[str, str | None]], between: str = ";") -> str:
    return "".join(f"{between.join(cell or '' for cell in row)}\n" for row in [("age", "town"), *rows])


def parts(folder: Path, between: str = ";") -> Path:
    """The rows in three files, one of them with a header alone, and a file that is no part."""
    folder.mkdir()
    for name, rows in (("part-0.csv", ROWS[:3]), ("part-1.csv", []), ("part-2.csv", ROWS[3:])):
        (folder / name).write_text(csv_text(rows, between))
    (folder / "notes.txt").write_text("no table")
    return folder


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[ta.Table]:
    path = tmp_path / "whole.csv"
    path.write_text(csv_text(ROWS))
    yield read_table(path, schema_of())


def test_parts_are_one_table(tmp_path: Path, whole: ta.Table) -> None:
    folder = parts(tmp_path / "parts")
    assert read_table(folder, schema_of()) == whole
    assert ta.read(folder, schema_of()) == ta.read(tmp_path / "whole.csv", schema_of())
    packed = tmp_path / "parts.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for part in folder.iterdir():
            archive.write(part, f"inner/{part.name}")
    assert read_table(packed, schema_of()) == whole


def test_parts_of_parquet(tmp_path: Path, whole: ta.Table) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, rows in enumerate((ROWS[:2], ROWS[2:])):
        ages, towns = zip(*rows, strict=True)
        pq.write_table(pa.table({"town": towns, "age": ages}), folder / f"{number}.parquet")
    assert sorted(map(repr, read_table(folder, schema_of("parquet")).rows())) == sorted(map(repr, whole.rows()))
    with pytest.raises(UsageError, match="holds parquet files; csv is expected"):
        read_table(folder, schema_of())


def test_a_delimiter_is_of_all_parts(tmp_path: Path, whole: ta.Table) -> None:
    folder = parts(tmp_path / "parts", "|")
    assert read_table(folder, schema_of(), delimiter="|") == whole
    assert ta.anonymize(read_table(folder, schema_of(), delimiter="|"), k=2).delimiter == "|"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"age;{SECRET}\n1;2\n", "has other columns than the first part"),
        (f"age;town\n1;{SECRET};3\n", "part-3.csv, line 2"),
        ("", "part-3.csv"),
    ],
)
def test_broken_parts(tmp_path: Path, text: str, said: str) -> None:
    folder = parts(tmp_path / "parts")
    (folder / "part-3.csv").write_text(text)
    with pytest.raises(DataError) as problem:
        read_table(folder, schema_of())
    assert said in str(problem.value) and (SECRET not in str(problem.value) or "columns" in said)


def test_folders_that_hold_no_table(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(TreeanonError, match="holds no table"):
        read_table(tmp_path / "none", schema_of())
    folder = parts(tmp_path / "mixed")
    (folder / "more.tsv").write_text("age\ttown\n")
    with pytest.raises(DataError, match="mixes 'csv', 'tsv' files"):
        read_table(folder, schema_of())


def test_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts(tmp_path / "parts")
    (tmp_path / "s.toml").write_text(SCHEMA.format("csv"))
    monkeypatch.chdir(tmp_path)
    ran(["anonymize", "parts", "-s", "s.toml", "-k", "2", "-o", "out.csv"], monkeypatch, capsys, 0)
    ran(["verify", "out.csv", "-s", "s.toml", "-k", "2"], monkeypatch, capsys, 0)
    ran(["verify", "parts", "-s", "s.toml", "-k", "2"], monkeypatch, capsys, 1)
    ran(["init", "parts", "--from", "csv", "-o", "made.toml"], monkeypatch, capsys, 0)

"""`--delimiter`: CSV files whose header cannot tell what parts their values, as a user meets them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import treeanon as ta
from treeanon.cli.main import main
from treeanon.errors import DataError, SchemaError, UsageError
from treeanon.io.columns.read_table import read_table

SCHEMA = """version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
hierarchy = { prefix = [1] }
[[class]]
name = "town, land"
path = "'town, land'"
[[class]]
name = "ill"
path = "ill"
"""
ROWS = [("31", "Ulm; old", "flu"), ("32", "Ulm; old", "flu"), ("41", "Bonn", "~"), ("42", "Bonn", "~")]
"""Names and values hold what usually parts values."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SCHEMA)
    write("in.csv", "~")
    return tmp_path


def write(name: str, delimiter: str, rows: list[tuple[str, ...]] = ROWS) -> None:
    with Path(name).open("w", newline="") as stream:
        put = csv.writer(stream, delimiter=delimiter)
        put.writerows([("age", "town, land", "ill"), *rows])


def rows_of(name: str, delimiter: str) -> list[list[str]]:
    with Path(name).open(newline="") as stream:
        return sorted(csv.reader(stream, delimiter=delimiter))


def run(line: str, code: int = 0) -> Any:
    done = CliRunner().invoke(main, line.split())
    assert done.exit_code == code, (done.output, done.exception)
    return done


def test_without_it_the_header_misleads(folder: Path) -> None:
    done = CliRunner().invoke(main, ["anonymize", "in.csv", "-s", "s.toml", "-k", "2", "-o", "out.csv"])
    assert isinstance(done.exception, SchemaError) and not Path("out.csv").exists()


@pytest.mark.parametrize("more", ["", " -m 2 -n 0"])
def test_a_release_has_it_and_is_checked_by_it(folder: Path, more: str) -> None:
    run(f"anonymize in.csv -s s.toml -k 2{more} -o out.csv --delimiter ~")
    released = rows_of("out.csv", "~")
    assert released[-1] == ["age", "town, land", "ill"]
    assert {row[0][0] for row in released[:-1]} == {"3", "4"} and len(released) == 5
    run(f"verify out.csv -s s.toml -k 2{more} --delimiter ~")


def test_tsv_has_tabs_unless_told(folder: Path) -> None:
    run("anonymize in.csv -s s.toml -k 2 -o out.tsv --delimiter ~")
    assert rows_of("out.tsv", "\t")[-1] == ["age", "town, land", "ill"]
    run("verify out.tsv -s s.toml -k 2")
    write("odd.tsv", "|")
    run("verify odd.tsv -s s.toml -k 1 --delimiter |")


def test_compare_and_verify_read_both_by_it(folder: Path) -> None:
    run("anonymize in.csv -s s.toml -k 2 -o out.csv --delimiter ~")
    run("anonymize in.csv -s s.toml -k 2 -o out.parquet --delimiter ~")
    for released in ("out.csv", "out.parquet"):
        assert "GCP" in run(f"compare in.csv {released} -s s.toml --delimiter ~").output
    run("verify out.csv -s s.toml -k 2 --original in.csv --delimiter ~")
    run("verify out.parquet -s s.toml -k 2 --original in.csv --delimiter ~")


def test_solutions_and_flat_views(folder: Path) -> None:
    run("anonymize in.csv -s s.toml -a samarati -k 2 -o out.csv --delimiter ~ --solution x.solution.json")
    run("apply x.solution.json in.csv -s s.toml -o again.csv --delimiter ~")
    assert rows_of("again.csv", "~") == rows_of("out.csv", "~")
    run("flatten in.csv -s s.toml -o flat.csv --delimiter ~")
    assert rows_of("flat.csv", "~") == rows_of("in.csv", "~")
    run("convert in.csv -s s.toml -o rows.ndjson --delimiter ~ --schema-out rows.toml")
    run("flatten rows.ndjson -s rows.toml -o rows.csv")
    assert rows_of("rows.csv", ",") == rows_of("in.csv", "~")


def test_init_proposes_by_it(folder: Path) -> None:
    run("init in.csv -o proposed.toml --delimiter ~")
    proposed = [spec.path and spec.path.steps[-1].name for spec in ta.Schema.load("proposed.toml").classes]
    assert proposed == ["age", "town, land", "ill"]


def test_in_python(folder: Path) -> None:
    schema = ta.Schema.load("s.toml")
    assert sorted(read_table("in.csv", schema, delimiter="~").rows()) == ROWS
    assert len(ta.read("in.csv", schema, delimiter="~")) == 4
    release = ta.anonymize(read_table("in.csv", schema, delimiter="~"), k=2)
    release.write("again.csv")
    release.write("bars.csv", delimiter="|")
    assert rows_of("again.csv", "~") == rows_of("bars.csv", "|")


@pytest.mark.parametrize("given", ["tab", r"\t", "\t"])
def test_tabs_by_name(folder: Path, given: str) -> None:
    write("tabs.csv", "\t")
    table = read_table("tabs.csv", ta.Schema.load("s.toml"), delimiter=given)
    assert sorted(table.rows()) == ROWS


@pytest.mark.parametrize("delimiter", [*"|^]\\ '", "\x01", "\x7f"])
def test_whatever_parts_values_may_stand_in_them(folder: Path, delimiter: str) -> None:
    schema = ta.Schema.load("s.toml")
    rows = [("31", f"x{delimiter}y", 'q"q'), ("32", "two\nlines", "^$ .*"), (delimiter, "\\", "]")]
    write("odd.csv", delimiter, rows)
    assert list(read_table("odd.csv", schema, delimiter=delimiter).rows()) == rows
    with Path("odd.csv").open("a") as stream:
        stream.write(f"1{delimiter}2\n")
    with pytest.raises(DataError, match="line 6"):
        read_table("odd.csv", schema, delimiter=delimiter)


@pytest.mark.parametrize("given", ["ab", "a", "7", '"', "\n", "\0", "ü", "-", ".", "~~"])
def test_what_cannot_part_values_is_refused(folder: Path, given: str) -> None:
    with pytest.raises(UsageError, match="one ASCII character"):
        read_table("in.csv", ta.Schema.load("s.toml"), delimiter=given)


def test_other_formats_have_none(folder: Path) -> None:
    run("convert in.csv -s s.toml -o in.parquet --delimiter ~")
    run("convert in.csv -s s.toml -o in.ndjson --delimiter ~ --schema-out n.toml")
    Path("tables").mkdir()
    write("tables/in.csv", ",")
    for line in (
        "verify in.parquet -s s.toml -k 1",
        "verify in.ndjson -s n.toml -k 1",
        "init in.ndjson",
        "init tables",
        "compare in.ndjson in.parquet -s n.toml --table",
    ):
        done = CliRunner().invoke(main, [*line.split(), "--delimiter", "~"])
        assert isinstance(done.exception, UsageError) and "applies to CSV files" in str(done.exception), (
            line,
            done.output,
        )

"""`treeanon verify` on values that reading would take for others: unknown ones, padded ones, pseudonyms."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.as_installed import ran

SCHEMA = """
version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
[[class]]
name = "town"
path = "town"
hierarchy = "town.csv"
on_unknown = "suppress"
[[class]]
name = "id"
path = "id"
role = "identifier"
pseudonym = true
"""
TOWNS = "Ulm;south;*\nMunich;south;*\nBonn;west;*\n"
ASKED = [["-k", "2"], ["-k", "2", "-m", "1", "-n", "0"]]
"""Of the rows as a table, and as trees."""

Run = Callable[..., tuple[str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "town.csv").write_text(TOWNS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TREEANON_KEY", raising=False)
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line, and gives what it prints on both streams."""

    def command(*arguments: object, code: int = 0) -> tuple[str, str]:
        return ran(arguments, monkeypatch, capsys, code)[1:]

    return command


def write(path: Path, rows: list[tuple[str, str]]) -> None:
    with path.open("w", newline="") as stream:
        put = csv.writer(stream)
        put.writerow(["age", "town", "id"])
        put.writerows((*row, f"p{i}") for i, row in enumerate(rows))


@pytest.mark.parametrize("asked", ASKED)
def test_values_unknown_to_the_hierarchy_are_not_said_to_hold(folder: Path, run: Run, asked: list[str]) -> None:
    write(folder / "out.csv", [("34", "Ulm"), ("34", "Ulm"), ("34", "Atlantis"), ("34", "Eldorado"), ("34", "*")])
    said = run("verify", "out.csv", "-s", "s.toml", *asked, code=1)
    assert said[0] == "Not verified: the hierarchy of class town does not contain 2 values\n"
    assert "Atlantis" not in "".join(said) and " holds" not in said[0]
    told = json.loads(run("verify", "out.csv", "-s", "s.toml", *asked, "--json", code=1)[0])
    assert told["holds"] is False and told["unknown_values"] == {"town": 2}
    run("verify", "out.csv", "-s", "s.toml", *asked, "--ignore-unnamed", code=1)
    said = run("verify", "out.csv", "-s", "s.toml", "-k", 4, *asked[2:], code=1)
    assert "does not hold" in said[0] and "the hierarchy of class town does not contain 2 values" in said[0]


@pytest.mark.parametrize("asked", ASKED)
def test_unknown_values_are_an_error_where_the_schema_says_so(folder: Path, run: Run, asked: list[str]) -> None:
    (folder / "s.toml").write_text(SCHEMA.replace('"suppress"', '"error"'))
    write(folder / "out.csv", [("34", "Ulm"), ("34", "Ulm"), ("34", "Atlantis"), ("34", "Atlantis")])
    said = run("verify", "out.csv", "-s", "s.toml", *asked, code=2)
    assert "does not know 1 distinct values" in said[1] and "Atlantis" not in said[1]
    assert "Atlantis" in run("verify", "out.csv", "-s", "s.toml", *asked, "--show-values", code=2)[1]


def test_ranges_are_not_counted_among_the_unknown(folder: Path, run: Run) -> None:
    rows = [("34", "Ulm … Bonn"), ("34", '["Ulm","Bonn"]'), ("34", "Atlantis"), ("34", "Ulm")]
    write(folder / "out.csv", rows * 2)
    said = run("verify", "out.csv", "-s", "s.toml", "-k", 2, code=1)
    assert said[0] == "Not verified: the hierarchy of class town does not contain 2 values\n"
    write(folder / "out.csv", [row for row in rows if row[1] != "Atlantis"] * 2)
    assert "2-anonymity holds." in run("verify", "out.csv", "-s", "s.toml", "-k", 2)[0]


@pytest.mark.parametrize("asked", ASKED)
def test_white_space_tells_values_apart(folder: Path, run: Run, asked: list[str]) -> None:
    write(folder / "out.csv", [("34", "Ulm"), ("34", "Ulm"), (" 34", "Ulm"), ("34 ", "Ulm")])
    said = run("verify", "out.csv", "-s", "s.toml", *asked, code=1)
    assert "surrounding white space" in said[1] and "2  age" in said[1] and "34" not in said[1]
    told = json.loads(run("verify", "out.csv", "-s", "s.toml", *asked, "--json", code=1)[0])
    assert told["padded_values"] == {"age": 2}
    run("verify", "out.csv", "-s", "s.toml", *asked, "--ignore-unnamed")
    write(folder / "out.csv", [("34", "Ulm"), ("34", "Ulm")])
    told = json.loads(run("verify", "out.csv", "-s", "s.toml", *asked, "--json")[0])
    assert told["holds"] is True and told["padded_values"] == told["unknown_values"] == {}


def test_white_space_in_documents(folder: Path, run: Run) -> None:
    schema = SCHEMA.replace('"csv"', '"xml"\nrecord = "people/person"', 1)
    (folder / "x.toml").write_text(schema)
    person = "<person><age>{}</age><town>Ulm</town></person>"
    (folder / "out.xml").write_text(f"<people>{person.format(34) * 3}{person.format(' 34')}</people>")
    assert "1  age" in run("verify", "out.xml", "-s", "x.toml", "-k", 2, code=1)[1]
    (folder / "out.xml").write_text(f"<people>{person.format(34) * 3}</people>")
    run("verify", "out.xml", "-s", "x.toml", "-k", 2)


@pytest.mark.parametrize("asked", ASKED)
def test_pseudonyms_need_no_key_to_be_verified(
    folder: Path, run: Run, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder / "in.csv", [("34", "Ulm"), ("34", "Ulm"), ("35", "Bonn"), ("35", "Bonn")])
    monkeypatch.setenv("TREEANON_KEY", "a secret of more than 16 bytes")
    run("anonymize", "in.csv", "-s", "s.toml", *asked, "-o", "out.csv")
    monkeypatch.delenv("TREEANON_KEY")
    said = run("verify", "out.csv", "-s", "s.toml", *asked)
    assert "Not verified (declared safe by the schema): id" in said[1]
    assert "TREEANON_KEY" in run("anonymize", "in.csv", "-s", "s.toml", *asked, "-o", "again.csv", code=2)[1]


def test_the_name_tells_csv_from_parquet(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEANON_KEY", "a secret of more than 16 bytes")
    write(folder / "in.csv", [("34", "Ulm"), ("34", "Ulm"), ("35", "Bonn"), ("35", "Bonn")])
    run("anonymize", "in.csv", "-s", "s.toml", "-k", 2, "-o", "out.parquet")
    (folder / "p.toml").write_text(SCHEMA.replace('"csv"', '"parquet"', 1))
    for asked in ASKED:
        run("verify", "out.parquet", "-s", "s.toml", *asked)
        run("verify", "in.csv", "-s", "p.toml", *asked)

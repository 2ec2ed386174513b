"""The schema that `flatten --schema-out` writes: it reads the table that was written, as the one that was made."""

from __future__ import annotations

import csv
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import treeanon as ta
from tests.support.paths import ROOT
from treeanon.cli.main import main
from treeanon.io.columns.read_table import read_table
from treeanon.io.columns.write_table import table_schema
from treeanon.table.reductions import flatten

PATIENTS = ROOT / "samples" / "patients.ndjson"
SCHEMA = """version = 1
[input]
format = "ndjson"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [5, 10], min = 0, max = 120 }
[[class]]
name = "zip.code"
path = "zip"
hierarchy = { prefix = [3, 2] }
[[class]]
name = "ssn"
path = "ssn"
role = "identifier"
[[class]]
name = "hospital"
path = "visits[].hospital"
hierarchy = "hospital.csv"
on_unknown = "suppress"
[[class]]
name = "date"
path = "visits[].date"
type = "date"
hierarchy = { dates = ["month", "year"] }
[[class]]
name = "ill"
path = "visits[].diagnoses[].name"
role = "sensitive"
[[class]]
name = "cost"
path = "cost[]"
type = "number"
"""
REDUCED = {"hospital": "mode", "date": "min", "ill": "count", "cost": "mean"}


def run(*arguments: object) -> Any:
    return CliRunner().invoke(main, [*map(str, arguments)])


def reductions(reduced: dict[str, str]) -> list[str]:
    return [part for name, how in reduced.items() for part in ("--reduce", f"{name}={how}")]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with records, a schema in a folder of its own, and a hierarchy beside that."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "hospital.csv").write_bytes((ROOT / "schemas" / "hierarchies" / "hospital.csv").read_bytes())
    (tmp_path / "in" / "s.toml").write_text(SCHEMA)
    lines = PATIENTS.read_text().splitlines()[:300]
    # Costs of very many sizes, so that their means need intervals.
    texts = [f'{{"cost": [{number % 40}, {number % 7}.5], {line[1:]}\n' for number, line in enumerate(lines)]
    (tmp_path / "p.ndjson").write_text("".join(texts))
    return tmp_path


def flattened(home: Path, name: str, reduced: dict[str, str], *more: object) -> Any:
    asked = (home / "p.ndjson", "-s", home / "in" / "s.toml", "-o", home / "out" / name)
    return run("flatten", *asked, "--schema-out", home / "out" / "rows.toml", *reductions(reduced), *more)


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.parquet", "p.csv.gz"])
def test_what_is_read_is_what_was_made(home: Path, name: str) -> None:
    done = flattened(home, name, REDUCED)
    assert done.exit_code == 0, (done.output, done.exception)
    written = home / "out" / "rows.toml"
    made = flatten(ta.read(home / "p.ndjson", ta.Schema.load(home / "in" / "s.toml")), REDUCED)
    again = read_table(home / "out" / name, ta.Schema.load(written))
    assert again == made
    for one, other in zip(made.columns, again.columns, strict=True):
        assert (one.role, one.spec.type, one.spec.on_unknown) == (other.role, other.spec.type, other.spec.on_unknown)
        if one.name != "date":  # of these only the first are left
            assert one.hierarchy.texts == other.hierarchy.texts, one.name
    declared = {each["name"]: each for each in tomllib.loads(written.read_text())["class"]}
    assert sorted(declared) == ["age", "cost", "date", "hospital", "ill", "zip.code"]
    assert declared["hospital"]["hierarchy"] == "../in/hospital.csv" and declared["zip.code"]["path"] == "'zip.code'"
    assert declared["ill"]["type"] == "integer" and declared["ill"]["role"] == "sensitive"
    assert declared["cost"]["type"] == "number" and len(declared["cost"]["hierarchy"]["intervals"]) == 3
    assert not any("under" in each for each in declared.values())


def test_sets_are_flat(home: Path) -> None:
    assert flattened(home, "p.csv", {**REDUCED, "ill": "set"}).exit_code == 0
    declared = tomllib.loads((home / "out" / "rows.toml").read_text())["class"]
    assert next(each for each in declared if each["name"] == "ill") == {
        "name": "ill",
        "path": "ill",
        "role": "sensitive",
    }
    read_table(home / "out" / "p.csv", ta.Schema.load(home / "out" / "rows.toml"))


def test_the_table_can_be_anonymized(home: Path) -> None:
    assert flattened(home, "p.csv", REDUCED).exit_code == 0
    out = home / "out" / "o.csv"
    done = run("anonymize", home / "out" / "p.csv", "-s", home / "out" / "rows.toml", "-k", 5, "--l", 1, "-o", out)
    assert done.exit_code == 0, (done.output, done.exception)
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    quasi = ["age", "zip.code", "hospital", "date", "cost"]
    assert len(rows) == 300 and min(Counter(tuple(row[name] for name in quasi) for row in rows).values()) >= 5


def test_rows_of_rows(tmp_path: Path) -> None:
    """A table of a table has the schema that it had, but for what is withheld."""
    (tmp_path / "p.csv").write_text("a;b\n1;2\n")
    classes = '[[class]]\nname = "x"\npath = "b"\n[[class]]\nname = "a"\npath = "a"\nrole = "drop"\n'
    (tmp_path / "s.toml").write_text(f'version = 1\n[input]\nformat = "csv"\n{classes}')
    asked = (tmp_path / "p.csv", "-s", tmp_path / "s.toml", "-o", tmp_path / "o.csv")
    assert run("flatten", *asked, "--schema-out", tmp_path / "o.toml").exit_code == 0
    assert (tmp_path / "o.csv").read_text() == '"x"\n"2"\n'
    assert [spec.name for spec in ta.Schema.load(tmp_path / "o.toml").classes] == ["x"]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("in/hospital.csv", "is an input"),
        ("in/s.toml", "is an input"),
        ("p.ndjson", "is an input"),
        ("out/p.csv", "name the same file"),
        ("no/s.toml", "its folder does not exist"),
        ("there.toml", "exists already"),
        ("-", "requires a file name"),
    ],
)
def test_refused(home: Path, target: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    (home / "there.toml").write_text("")
    force = [] if target == "there.toml" else ["--force"]
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    asked = ("p.ndjson", "-s", "in/s.toml", "-o", "out/p.csv", "--schema-out", target)
    done = run("flatten", *asked, *reductions(REDUCED), *force)
    assert done.exit_code != 0 and said in f"{done.output}{done.exception}"
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_an_existing_schema_is_replaced_only_with_force(home: Path) -> None:
    assert flattened(home, "p.csv", REDUCED).exit_code == 0
    assert "exists already" in str(flattened(home, "q.csv", REDUCED).exception)
    assert not (home / "out" / "q.csv").exists()
    assert flattened(home, "q.csv", REDUCED, "--force").exit_code == 0


def test_schema_of_a_table_made_in_python() -> None:
    table = ta.Table.of_texts({"a b": (["x"], ta.Hierarchy.flat(["x"]))}, {"a b": "keep"})
    spec = table_schema(table, "parquet").classes[0]
    assert (spec.name, spec.role, spec.path.text(slashed=False)) == ("a b", "keep", "a b")

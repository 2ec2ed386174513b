"""`--csv-safe` and `[output] csv_safe`: CSV that spreadsheets find no formulas in, read again exactly."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.command_line import treeanon
from treeanon.errors import SchemaError, UsageError
from treeanon.io.columns.texts import is_formula, shielded, unshielded
from treeanon.privacy.models import KAnonymity
from treeanon.release import TableRequest
from treeanon.schema.dump import dump_schema

TOWNS = ["=1+1", "-5 … 3", "+49 7", "@x", "-5", "'=1+1", "''+", "\tx", "Ulm"]
CLASSES = """
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [20], min = -20, max = 99 }
[[class]]
name = "town"
path = "town"
hierarchy = { flat = true }
[[class]]
name = "ill"
path = "ill"
role = "sensitive"
"""
HEAD = 'version = 1\n[input]\nformat = "csv"\n'
SAFE = "[output]\ncsv_safe = true\n"
ASKED = ("-k", "2", "--l", "1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(HEAD + CLASSES)
    Path("safe.toml").write_text(HEAD + SAFE + CLASSES)
    rows = [(age, town, ("=flu", "@cold")[age % 2]) for town in TOWNS for age in (-7, -6, 31, 32)]
    write(Path("in.csv"), [("age", "town", "ill"), *rows])
    return tmp_path


def write(path: Path, rows: list[tuple[object, ...]]) -> None:
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)


def cells(path: str | Path) -> set[str]:
    with Path(path).open(newline="") as stream:
        return {cell for row in csv.reader(stream) for cell in row}


def run(*arguments: str, code: int = 0) -> str:
    done = treeanon(*arguments)
    assert done.returncode == code, done.stderr
    return done.stderr


@given(st.text("'=+-@\t\r\n1,.e a＝", max_size=6))
def test_what_is_shielded_is_read_again_and_no_formula(text: str) -> None:
    assert unshielded(shielded(text)) == text
    assert not is_formula(shielded(text))


def test_plain_numbers_stay() -> None:
    for text in ("-5", "+5", "-5.25", "-5,25", "-1e9", "-.5"):
        assert shielded(text) == text
    for text in ("-5-5", "+", "-5 ", "=5", "-1.2.3"):
        assert shielded(text) == "'" + text


def test_a_table_for_spreadsheets_holds_the_published_values(folder: Path) -> None:
    run("anonymize", "in.csv", "-s", "s.toml", *ASKED, "-o", "plain.csv")
    told = run("anonymize", "in.csv", "-s", "s.toml", *ASKED, "-o", "out.csv", "--csv-safe")
    assert any(map(is_formula, cells("plain.csv")))
    assert not any(map(is_formula, cells("out.csv"))) and "spreadsheet" not in told
    for how in (("s.toml", "--csv-safe"), ("safe.toml",)):
        run("verify", "out.csv", "-s", *how, *ASKED)
        run("compare", "in.csv", "out.csv", "-s", *how)
    by_key = ta.Schema.load("safe.toml")
    # An input that is written so already is the same to it: '=1+1 says =1+1.
    assert set(ta.read_table("in.csv", by_key).rows()) == {
        (age, unshielded(town), ill) for age, town, ill in ta.read_table("in.csv", ta.Schema.load("s.toml")).rows()
    }


def test_the_warning_counts_and_shows_no_value(folder: Path) -> None:
    told = run("anonymize", "in.csv", "-s", "s.toml", *ASKED, "-o", "plain.csv")
    (line,) = [line for line in told.splitlines() if "spreadsheet" in line]
    assert line.startswith("warning: ") and "ill (36)" in line and "--csv-safe" in line
    assert not any(town in line for town in TOWNS) and "=flu" not in line
    told = run("anonymize", "in.csv", "-s", "s.toml", *ASKED, "-o", "quiet.csv", "--quiet")
    assert told == ""
    # Files that no spreadsheet evaluates have no warning.
    assert "spreadsheet" not in run("anonymize", "in.csv", "-s", "s.toml", *ASKED, "-o", "out.parquet")


def test_what_is_not_shielded_is_another_spelling(folder: Path) -> None:
    run("anonymize", "in.csv", "-s", "s.toml", *ASKED, "-o", "plain.csv", "-q")
    assert "spellings" in run("verify", "plain.csv", "-s", "safe.toml", *ASKED, code=1)


@pytest.mark.parametrize("ending", ["csv", "tsv.gz"])
def test_solutions_queries_and_reports_read_it(folder: Path, ending: str) -> None:
    out = f"out.{ending}"
    made = ("-s", "s.toml", *ASKED, "--csv-safe", "-a", "datafly")
    run("anonymize", "in.csv", *made, "-o", out, "--solution", "r.json", "--report", "report.html")
    run("report", "--check", "report.html")
    run("apply", "r.json", "in.csv", "-s", "safe.toml", "-o", f"again.{ending}")
    run("verify", f"again.{ending}", "-s", "safe.toml", *ASKED)
    done = treeanon("query", out, "ill in ('=flu', '@cold')", "-s", "safe.toml", "--json")
    assert done.returncode == 0, done.stderr
    assert 36 in json.loads(done.stdout).values()


def test_permuted_releases(folder: Path) -> None:
    run("anonymize", "in.csv", "-s", "safe.toml", "--l", "2", "--publish", "permuted", "-o", "two")
    assert not any(map(is_formula, cells("two/records.csv") | cells("two/values.csv")))
    run("verify", "two", "-s", "safe.toml", "--l", "2", "--permuted")


def test_folders_of_tables_with_disassociated_values(folder: Path) -> None:
    Path("tables").mkdir()
    write(Path("tables/person.csv"), [("id", "town"), *((number, TOWNS[number % 2]) for number in range(12))])
    visits = [(number, number // 2, TOWNS[3 if number % 5 else 5]) for number in range(24)]
    write(Path("tables/visit.csv"), [("no", "person", "ward"), *visits])
    schema = """
        [[class]]
        name = "town"
        path = "town"
        [[class]]
        name = "ward"
        path = "visit.ward"
    """
    head = 'version = 1\n[input]\nformat = "tables"\nrecord = "person"\nobjects = "merged"\n'
    Path("t.toml").write_text(f'{head}key = ["visit.person -> person.id"]\n{schema}')
    asked = ("-k", "3", "-m", "2", "-n", "1")
    told = run("anonymize", "tables", "-s", "t.toml", *asked, "-o", "plain")
    assert "visit.ward (" in told
    run("anonymize", "tables", "-s", "t.toml", *asked, "-o", "out", "--csv-safe")
    files = list(Path("out").glob("*.csv"))
    assert files and not any(map(is_formula, set[str]().union(*map(cells, files))))
    run("verify", "out", "-s", "t.toml", *asked, "--csv-safe")
    run("convert", "out", "-s", "t.toml", "--csv-safe", "-o", "out.jsonl")
    assert "'" not in Path("out.jsonl").read_text()


def test_rows_of_persons_and_rows_flattened(folder: Path) -> None:
    head = 'version = 1\n[input]\nformat = "csv"\nperson = "who"\n'
    Path("p.toml").write_text(head + CLASSES.replace('"sensitive"', '"quasi"'))
    rows = [(who, 31, town, "=flu") for who in range(6) for town in ("=1", "@2")]
    write(Path("p.csv"), [("who", "age", "town", "ill"), *rows])
    asked = ("-k", "2", "-m", "1", "-n", "0", "--csv-safe")
    run("anonymize", "p.csv", "-s", "p.toml", *asked, "-o", "out.csv")
    assert cells("out.csv") >= {"'=1", "'@2", "'=flu"}
    run("verify", "out.csv", "-s", "p.toml", *asked)
    flat = ("flatten", "p.csv", "-s", "p.toml", "-o", "flat.csv", "--schema-out", "flat.toml", "--csv-safe")
    run(*flat, "--reduce", "age=min", "--reduce", "town=set", "--reduce", "ill=mode")
    assert "'=flu" in cells("flat.csv") and "csv_safe = true" in Path("flat.toml").read_text()
    assert {row[2] for row in ta.read_table("flat.csv", Path("flat.toml")).rows()} == {"=flu"}


def test_the_key_is_read_written_and_checked(folder: Path) -> None:
    found = ta.Schema.load("safe.toml")
    assert found.csv_safe and ta.Schema.loads(dump_schema(found)).csv_safe
    Path("wrong.toml").write_text(HEAD + '[output]\ncsv_safe = "yes"\n' + CLASSES)
    with pytest.raises(SchemaError, match=r"csv_safe.*must be true or false"):
        ta.Schema.load("wrong.toml")
    Path("both.toml").write_text('version = 1\nuse = ["fhir-r4"]\n[input]\nformat = "ndjson"\n' + SAFE)
    both = ta.Schema.load("both.toml")
    assert both.csv_safe and both.profile == "fhir-r4"


def test_spark_refuses(folder: Path) -> None:
    from treeanon.spark.engine import SparkEngine
    from treeanon.spark.interface import Job

    job = Job("in.csv", ta.Schema.load("safe.toml"), "out.csv")
    with pytest.raises(UsageError, match="--csv-safe"):
        SparkEngine().publish_rows(job, TableRequest((KAnonymity(2),), "mondrian"))

"""The command `risk`: what it prints for trees and tables, of input and of releases, and what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.support.command_line import treeanon
from tests.support.paths import ROOT
from treeanon.cli.main import main

PATIENTS = [str(ROOT / "samples/patients.xml"), "-s", str(ROOT / "schemas/hospital-xml.toml")]
CENSUS = [str(ROOT / "samples/census.csv"), "-s", str(ROOT / "schemas/census.toml")]
CLINIC = [str(ROOT / "samples/clinic"), "-s", str(ROOT / "schemas/clinic.toml")]

SCHEMA = """version = 1
[input]
format = "ndjson"
[[class]]
name = "town"
path = "town"
hierarchy = { groups = 2 }
[[class]]
name = "ill <b>\\u001b[31m"
path = "ill[]"
hierarchy = { groups = 2 }
[[class]]
name = "pay"
path = "pay"
role = "sensitive"
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["risk", *arguments])


def told(*arguments: str) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def small(tmp_path: Path, *lines: str) -> list[str]:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "data.ndjson").write_text("".join(f"{line}\n" for line in lines))
    return [str(tmp_path / "data.ndjson"), "-s", str(tmp_path / "schema.toml")]


def test_the_text_fits_a_terminal_and_names_the_dangerous_classes() -> None:
    done = run(*PATIENTS, "-k", "5")
    assert done.exit_code == 0
    assert done.stdout.startswith("1,000 persons, all examined\n")
    assert max(map(len, done.stdout.splitlines())) < 80
    assert "age + diagnosis" in done.stdout and "3 relations" in done.stdout
    assert "@ssn" in done.stderr


def test_json_has_all_cells() -> None:
    found = told(*PATIENTS, "-m", "3", "-n", "2")
    assert {(cell["m"], cell["n"]) for cell in found["below_k"]} == {(m, n) for m in (1, 2, 3) for n in (0, 1, 2)}
    assert (found["persons"], found["decided"], found["exactness"]) == (1000, 1000, "exact")
    assert found["not_read"]["@ssn"] == 1000


def test_a_release_shows_nobody_in_the_cell_of_its_guarantee(tmp_path: Path) -> None:
    out = str(tmp_path / "out.xml")
    done = CliRunner().invoke(
        main, ["anonymize", *PATIENTS, "-k", "5", "-m", "2", "-n", "1", "--effort", "1", "-o", out]
    )
    assert done.exit_code == 0, done.output
    shares = {
        (cell["m"], cell["n"]): cell["persons"] for cell in told(out, *PATIENTS[1:], "-m", "3", "-n", "2")["below_k"]
    }
    assert shares[1, 0] == shares[2, 0] == shares[1, 1] == shares[2, 1] == 0
    assert shares[3, 2] > 0


def test_a_sample_tells_its_bounds() -> None:
    done = run(*PATIENTS, "--sample", "50", "--seed", "3", "-n", "6")
    assert "of whom 50 were examined" in done.stdout and "95 % confidence" in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 80
    one, same = (told(*PATIENTS, "--sample", "50", "--seed", "3") for _ in range(2))
    assert one["below_k"] == same["below_k"] and one["decided"] == 50


def test_rows_have_columns_and_the_risks_of_three_attackers() -> None:
    done = run(*CENSUS)
    assert "4 columns" in done.stdout and "without --population" in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 80
    found = told(*CENSUS, "--population", CENSUS[0])
    whole = found["all_columns"]
    assert (found["kind"], whole["journalist"], whole["population"], whole["absent"]) == ("table", 1.0, 2000, 0)
    assert "population of 2,000" in run(*CENSUS, "--population", CENSUS[0]).stdout


def test_a_population_knows_nothing_of_what_is_sensitive(tmp_path: Path) -> None:
    with Path(CENSUS[0]).open(newline="") as file:
        people = list(csv.reader(file))
    known = people[0].index("occupation")
    for name, rows in (("town.csv", [row[:known] for row in people]), ("some.csv", people[:101])):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    found = told(str(tmp_path / "some.csv"), *CENSUS[1:], "-m", "1", "--population", str(tmp_path / "town.csv"))
    assert (found["all_columns"]["population"], found["all_columns"]["absent"]) == (2000, 0)
    assert found["not_known"] == ["occupation"] and list(found["not_read"]) == ["salary_class"]


def test_rows_as_trees_and_records_as_rows() -> None:
    assert told(*CENSUS, "-n", "0", "-m", "2")["kind"] == "trees"
    # Of values that everybody has once, sets of them and sets of columns say the same.
    rows, trees = told(*CENSUS, "-m", "2"), told(*CENSUS, "-n", "0", "-m", "2")
    assert [c["persons"] for c in rows["below_k"]] == [c["persons"] for c in trees["below_k"]]
    found = told(
        *PATIENTS, *[f"--reduce={name}=count" for name in ("hospital", "diagnosis", "treatment", "date")], "-m", "2"
    )
    assert found["kind"] == "table"


def test_a_released_table_with_ranges(tmp_path: Path) -> None:
    out = str(tmp_path / "out.csv")
    done = CliRunner().invoke(main, ["anonymize", *CENSUS, "-k", "5", "-a", "mondrian", "--l", "1", "-o", out])
    assert done.exit_code == 0, done.output
    found = told(out, *CENSUS[1:], "-m", "2")
    assert found["all_columns"]["smallest"] >= 5 and found["below_k"][1]["persons"] == 0
    against = told(out, *CENSUS[1:], "-m", "1", "--population", CENSUS[0])["all_columns"]
    # All whose values a published row stands for are people whom it may be of.
    assert against["journalist"] <= found["all_columns"]["prosecutor"] and against["absent"] == 0


def test_tables_with_keys() -> None:
    assert told(*CLINIC, "-m", "1", "-n", "0")["kind"] == "trees"


def test_neither_values_nor_escapes_are_shown(tmp_path: Path) -> None:
    lines = ['{"town": "CANARY", "ill": ["CANARY2", "b"], "pay": "9"}', '{"town": "Ulm", "ill": ["b"]}']
    done = run(*small(tmp_path, *lines))
    assert done.exit_code == 0
    assert "CANARY" not in done.output and "\x1b" not in done.output and "ill <b>" in done.stdout
    assert "Assumed unknown to an attacker, by their role: pay" in done.stderr
    assert "CANARY" not in run(*small(tmp_path, *lines), "--json").output


def test_white_space_that_tells_apart_is_told(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("age\n7\n 7\n")
    text = 'version = 1\n[input]\nformat = "csv"\n[[class]]\nname = "age"\npath = "age"\ntype = "integer"\n'
    (tmp_path / "s.toml").write_text(text)
    done = run(str(tmp_path / "p.csv"), "-s", str(tmp_path / "s.toml"), "-k", "2")
    assert done.exit_code == 0 and "white space" in done.stderr


def test_quiet_prints_nothing() -> None:
    assert run(*CENSUS, "-q", "-m", "1").output == ""


@pytest.mark.parametrize(
    "wrong",
    [
        ["-m", "5"],
        ["-n", "7"],
        ["-k", "1"],
        ["--seconds", "0"],
        ["--sample", "0"],
        ["--table", "-n", "1"],
        ["--table", "--seed", "1"],
    ],
)
def test_what_cannot_be_asked(wrong: list[str]) -> None:
    assert run(*PATIENTS, *wrong).exit_code == 2


def test_a_population_that_lacks_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The number of the test's folder must not be taken for an age.
    monkeypatch.chdir(tmp_path)
    lines = Path(CENSUS[0]).read_text().splitlines()
    Path("few.csv").write_text("\n".join(lines[:4]) + "\n")
    done = run(*CENSUS, "--population", "few.csv")
    assert done.exit_code == 2 and "that do not occur in" in done.output and lines[9].split(",")[0] not in done.output


def test_exit_codes_of_the_installed_command(tmp_path: Path) -> None:
    def code(*arguments: str) -> int:
        return treeanon("risk", *arguments).returncode

    assert code(str(tmp_path / "none.xml"), *PATIENTS[1:]) == 4
    assert code(*small(tmp_path, "{broken")) == code(*small(tmp_path)) == 3

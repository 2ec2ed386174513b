"""`treeanon anonymize --html`: where pages go, for whom they are, and that they appear whole or not at all."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.support.as_installed import ran
from tests.support.hospital import HOSPITALS, folder_of, write_persons

Run = Callable[..., tuple[str, str]]

TABLE = """
version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [5, 10, 20, 40], min = 0, max = 99 }
[[class]]
name = "town"
path = "town"
[[class]]
name = "illness"
path = "illness"
role = "sensitive"
"""

TREES = "in.ndjson -s s.toml -k 3 -a gcs -o out.ndjson"
ROWS = "people.csv -s table.toml -k 3 --l 1 -o out.csv"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = folder_of(tmp_path / "place")
    write_persons(folder / "in.ndjson", 1)
    (folder / "table.toml").write_text(TABLE)
    rnd = Random(1)
    with (folder / "people.csv").open("w", newline="") as stream:
        put = csv.writer(stream)
        put.writerow(["name", "age", "town", "illness"])
        for i in range(60):
            put.writerow([f"NAME{i}", rnd.randint(18, 90), rnd.choice(["Ulm", "Bonn"]), rnd.choice("ABCDE")])
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs anonymize with a line of arguments; gives standard output and standard error."""

    def go(line: str, code: int = 0) -> tuple[str, str]:
        return ran(["anonymize", *line.split()], monkeypatch, capsys, code)[1:]

    return go


def test_a_page_is_for_the_public_unless_said_otherwise(run: Run, home: Path) -> None:
    _, said = run(f"{TREES} --html page.html")
    assert "Report for the public written to page.html" in said
    shown = (home / "page.html").read_text()
    assert "Public" in shown and "of the input" not in shown
    assert not re.search("[0-9]+ of [0-9]+", shown)


def test_an_internal_page_says_so_and_shows_originals(run: Run, home: Path) -> None:
    _, said = run(f"{TREES} --html page.html --audience internal")
    assert "Report with ORIGINAL data written to page.html; not for publishing" in said
    shown = (home / "page.html").read_text()
    assert "do not publish it" in shown and any(text in shown for text in HOSPITALS)
    for heading in ("Records before and after", "Hierarchies and the cut", "Relations", "Losses", "Risk"):
        assert f">{heading}</h2>" in shown
    assert "ssn" in shown, "what the schema dropped"


@pytest.mark.parametrize("more", ["", "-a freeform-greedy", "-a mondrian", "-a samarati --max-suppressed 20%"])
@pytest.mark.parametrize("audience", ["public", "internal"])
def test_pages_of_tables(run: Run, home: Path, audience: str, more: str) -> None:
    run(f"{ROWS} {more} --html page.html --audience {audience}")
    shown = (home / "page.html").read_text()
    assert "NAME" not in shown and "Holds." in shown
    assert ("Rows before and after" in shown) == (audience == "internal")
    assert not re.search("[0-9] persons?</title>", shown), "rows are counted, and called so"


@pytest.mark.parametrize("audience", ["public", "internal"])
def test_pages_of_permuted_tables(run: Run, home: Path, audience: str) -> None:
    line = "people.csv -s table.toml --publish permuted --l 2 --diversity frequency -o out --html page.html"
    run(f"{line} --audience {audience}")
    shown = (home / "page.html").read_text()
    assert "Nobody can tell which person of a group has which value of illness" in shown


def test_a_page_does_not_promise_what_groups_of_one_value_break(run: Run, home: Path) -> None:
    (home / "people.csv").write_text("age,town,illness,name\n" + "30,Ulm,flu,N\n" * 6 + "70,Bonn,gout,N\n" * 6)
    _, said = run("people.csv -s table.toml --publish permuted -k 2 --t 1 -o out --html page.html")
    shown = (home / "page.html").read_text()
    for text in (said, shown):
        assert "Nobody can tell" not in text and "which tells it of each of them" in text


@pytest.mark.parametrize("audience", ["public", "internal"])
@pytest.mark.parametrize("rest", ["drop", "anonymize"])
def test_pages_of_documents(run: Run, home: Path, audience: str, rest: str) -> None:
    line = f"in.ndjson -s s.toml -a samarati -k 3 --release documents --rest {rest} -o out.ndjson --html page.html"
    run(f"{line} --audience {audience}")
    shown = (home / "page.html").read_text()
    assert "each person looks like others of a group" in shown and "Holds." in shown


def test_the_result_is_as_without_a_page(run: Run) -> None:
    told = json.loads(run(f"{TREES} --html page.html --json -q")[0])
    assert told["verification"]["holds"] and told["output"] == "out.ndjson"


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ("--html old.html", 4, "exists already; use --force to replace it"),
        ("--html nowhere/page.html", 4, "its folder does not exist"),
        ("--html .", 4, "is a folder"),
        ("--html -", 2, "--html requires a file name"),
        ("--html out.ndjson", 2, "--html and --output name the same file"),
        ("--html x.json --solution x.json", 2, "--html and --solution name the same file"),
        ("--html in.ndjson --force", 2, "is an input; choose another output"),
        ("--html s.toml --force", 2, "is an input; choose another output"),
        ("--html hospital.csv --force", 2, "is an input; choose another output"),
        ("--audience internal", 2, "--audience requires --html"),
        ("--html page.html --audience everybody", 2, "Invalid value"),
    ],
)
def test_places_that_cannot_be_are_refused_before_any_work(
    run: Run, home: Path, more: str, code: int, words: str
) -> None:
    (home / "old.html").write_text("old")
    _, said = run(f"{TREES} {more}", code)
    assert words in said
    assert not (home / "out.ndjson").exists() and not (home / "page.html").exists()
    assert (home / "old.html").read_text() == "old"


def test_force_replaces_a_page(run: Run, home: Path) -> None:
    (home / "old.html").write_text("old")
    run(f"{TREES} --html old.html --force")
    assert "<html" in (home / "old.html").read_text()


def test_where_there_is_no_release_there_is_no_page(run: Run, home: Path) -> None:
    run("in.ndjson -s s.toml -k 1000 -o out.ndjson --html page.html", 1)
    assert sorted(path.name for path in home.iterdir() if "html" in path.name) == []


def test_a_seed_repeats_the_page(run: Run, home: Path) -> None:
    run(f"{TREES} --html one.html --seed 3")
    run(f"{TREES} --html two.html --seed 3 --force")
    assert (home / "one.html").read_text() == (home / "two.html").read_text()


def test_a_freeform_release_is_not_told_of_by_groups(run: Run, home: Path) -> None:
    """Its rows need not look alike: groups smaller than k would seem to break what was promised."""
    _, err = run("people.csv -s table.toml -k 3 --l 1 -a ring -o out.csv --html page.html --audience internal")
    assert "finds at least 3 rows that can be theirs" in err
    text = (home / "page.html").read_text()
    for told in (err, text):
        assert "rows in a group" not in told and "discernibility" not in told and "\ngroups" not in told
    assert "Input: singled out" in text and "Release: singled out" not in text
    assert "Rows of this release need not be alike" in text


def test_what_rows_promise_is_said_for_people(run: Run) -> None:
    _, err = run("people.csv -s table.toml -k 3 --l 2 -o out.csv")
    assert err.startswith(
        "Guarantee: Whoever knows all quasi values of a person finds no person, or at least 3 alike; each group of"
        " persons alike also satisfies: distinct 2-diversity."
    )


def test_one_person_left_out_is_one_person(run: Run, home: Path) -> None:
    (home / "one.csv").write_text("age,town,illness\n" + "34,Ulm,A\n" * 9 + "90,Bonn,B\n")
    _, err = run("one.csv -s table.toml -k 3 --l 1 -a suppress-tuples --max-suppressed 1 -o out.csv")
    assert "Suppressed: 1 record" in err

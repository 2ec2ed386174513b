"""`treeanon query`, as a user meets it."""

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
hierarchy = { intervals = [5, 10, 20], min = 0, max = 99 }
[[class]]
name = "home town"
path = "town"
[[class]]
name = "illness"
path = "illness"
role = "sensitive"
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command; gives its exit code, standard output and standard error."""
    return lambda *line: ran(line, monkeypatch, capsys)


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A table of 60 people beside its schema, in the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SCHEMA)
    rows = [[str(20 + i % 23), "Bad Ems" if i % 3 else "Ulm", "Flu" if i % 2 else "Gout"] for i in range(60)]
    with Path("people.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["age", "town", "illness"], *rows])
    return rows


def test_answers_with_bounds(people: list[list[str]], run: Run) -> None:
    query = "age 20-29 and 'home town' = \"Bad Ems\" or not illness = Flu"
    true = sum((int(age) < 30 and town == "Bad Ems") or illness != "Flu" for age, town, illness in people)
    anonymize = ("anonymize", "people.csv", "-s", "s.toml", "--l", "2", "--quiet")
    run(*anonymize, "-k", "3", "--max-suppressed", "10%", "-o", "out.csv", "--solution", "out.json")
    run(*anonymize, "--publish", "permuted", "--diversity", "frequency", "-a", "onedim-l", "-o", "apart")
    for release in (("out.csv", "--solution", "out.json"), ("apart", "--permuted", "--suppressed", "6")):
        code, out, _ = run("query", release[0], query, "-s", "s.toml", *release[1:], "--json")
        found = json.loads(out)
        assert code == 0 and found["least"] <= true <= found["most"] and found["of"] >= 60
        assert found["share"]["least"] == found["least"] / found["of"]
    _, out, err = run("query", "people.csv", query, "-s", "s.toml")
    assert out == f"{true} to {true} of 60 rows, estimated {true:.1f}\n"
    assert "equally frequent" in err and "--suppressed N or --solution FILE adds what was suppressed" in err
    _, out, _ = run("query", "people.csv", "age < 99", "-s", "s.toml", "--share", "--suppressed", "5")
    assert out == "92.3 % to 100.0 % of 65 rows, estimated 100.0 %\n"


def test_errors_name_the_place(people: list[list[str]], run: Run) -> None:
    for query, words in (
        ("age >", "character 6: a value is expected"),
        ("age = 3 or", "character 11: the name of a class is expected"),
        ("(age = 3", "character 9: a closing parenthesis is expected"),
        ("age = 'x", "character 7: this quote is not closed"),
        ("town = Ulm", "character 1: unknown class 'town'; choose from age, home town, illness"),
    ):
        code, _, err = run("query", "people.csv", query, "-s", "s.toml")
        assert code == 2 and words in err
    assert run("query", "nowhere.csv", "age = 3", "-s", "s.toml")[0] == 4
    assert run("query", "people.csv", "age = 3", "-s", "s.toml", "--solution", "people.csv")[0] == 2

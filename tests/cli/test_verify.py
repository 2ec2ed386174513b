"""`treeanon verify`: what it prints, and how it exits."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from treeanon.cli import main as command_line

SCHEMA = """version = 1
[input]
format = "ndjson"
[[class]]
name = "city"
path = "city"
[[class]]
name = "hospital"
path = "visits[].hospital"
[[class]]
name = "dx"
path = "visits[].dx[]"
role = "sensitive"
[[class]]
name = "note"
path = "note"
role = "keep"
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a schema and persons, of whom one is alone in a city."""
    person = {"city": "Turin", "visits": [{"hospital": "H", "dx": ["x"]}], "note": "n"}
    people = [person] * 4 + [{**person, "city": "Secret Valley"}]
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "in.ndjson").write_text("".join(json.dumps(one) + "\n" for one in people))
    (tmp_path / "notes.ndjson").write_text('{"note": "n"}\n' * 3)
    (tmp_path / "broken.ndjson").write_text(json.dumps(person) + "\n{\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("signal.signal", lambda *given: None)
    return tmp_path


BOTH = ", for what is known of the original and as published (TREE)"


def verify(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of `treeanon verify`."""
    monkeypatch.setattr(sys, "argv", ["treeanon", "verify", *line.split()])
    with pytest.raises(SystemExit) as caught:
        command_line.run()
    assert isinstance(caught.value.code, int)
    return caught.value.code


Capture = pytest.CaptureFixture[str]


def test_holds(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert verify("in.ndjson -s s.toml -k 1", monkeypatch) == 0
    told = capsys.readouterr()
    assert told.out.startswith(f"1^(2,1)-anonymity holds{BOTH}. The largest k that holds is 1.")
    assert "Not verified (declared safe by the schema): note" in told.err


def test_does_not_hold(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert verify("in.ndjson -s s.toml -k 2 -m 1 -n 0", monkeypatch) == 1
    told = capsys.readouterr()
    assert f"2^(1,0)-anonymity does not hold{BOTH}. The largest k that holds is 1." in told.out
    assert "city: 1 combination held by as few as 1 person" in told.out
    assert "Secret" not in told.out + told.err


def test_json(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    line = "in.ndjson -s s.toml -k 2 -m 2 -n 1 --attacker joint --l 2 --diversity frequency --negative city --json -q"
    assert verify(line, monkeypatch) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["guarantee"] == {
        **{"k": 2, "m": 2, "n": 1, "attacker": "joint", "l": 2},
        **{"diversity": "frequency", "negative": ["city"], "as_published": False},
    }
    assert (told["holds"], told["largest_k"], told["persons"]) == (False, 1, 5)
    assert told["diversity"] == [{"class": "dx", "holds": False, "largest_l": 1}]
    assert {"labels": ["hospital"], "relations": [], "combinations": 1, "least": 5, "sensitive": "dx"} in told[
        "failures"
    ]
    assert told["declared_safe"] == ["note"]


def test_quiet(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert verify("in.ndjson -s s.toml -k 2 -q", monkeypatch) == 1
    told = capsys.readouterr()
    assert told.out == told.err == ""


def test_nobody(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert verify("notes.ndjson -s s.toml -k 2", monkeypatch) == 0
    assert "no person has a label" in capsys.readouterr().out


def test_skipped_records_are_told(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert verify("broken.ndjson -s s.toml -k 1 --on-error skip", monkeypatch) == 0
    assert "1 malformed record skipped" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("in.ndjson -s s.toml", 2),
        ("in.ndjson -s s.toml -k 0", 2),
        ("in.ndjson -s s.toml -k 2 -m 9", 2),
        ("in.ndjson -s s.toml -k 2 --negative dx", 2),
        ("in.ndjson -s s.toml -k 2 --negative none", 2),
        ("missing.ndjson -s s.toml -k 2", 4),
        ("broken.ndjson -s s.toml -k 2", 3),
    ],
)
def test_exit_codes(line: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verify(line, monkeypatch) == code


def test_fields_that_the_schema_does_not_name(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    lines = [json.dumps({"city": "Turin", "ssn": f"Secret{i}"}) + "\n" for i in range(5)]
    (place / "more.ndjson").write_text("".join(lines))
    assert verify("more.ndjson -s s.toml -k 5", monkeypatch) == 1
    told = capsys.readouterr()
    assert "so the release as a whole is not verified" in told.err and "ssn" in told.err and "Secret" not in told.err
    assert verify("more.ndjson -s s.toml -k 5 --ignore-unnamed --json", monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["not_looked_at"] == {"ssn": 5}


def test_diversity_counts_persons(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """All thirty persons of the hospital have HIV and two other illnesses: that is not 3-diverse in any form."""
    others = [["Flu", "Gout"], ["Acne", "Flu"], ["Acne", "Gout"], ["Cold", "Gout"]]
    persons = [{"visits": [{"hospital": "H1", "dx": sorted(["HIV", *others[i % 4]])}]} for i in range(30)]
    (place / "ill.ndjson").write_text("".join(json.dumps(one) + "\n" for one in persons))
    for form in ("", " --diversity frequency", " --diversity distinct"):
        assert verify(f"ill.ndjson -s s.toml -k 30 --l 3 --ignore-unnamed{form}", monkeypatch) == 1
        said = capsys.readouterr().out
        assert "3-diversity of dx does not hold: the largest l is 1." in said and "HIV" not in said
    assert verify("ill.ndjson -s s.toml -k 30 --l 1 --ignore-unnamed", monkeypatch) == 0


def test_what_is_not_below_a_value_can_be_known(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """At H1, and never flu there: one of four."""
    (place / "n.toml").write_text(SCHEMA.replace('role = "sensitive"\n', ""))
    odd = [{"dx": ["Gastritis"], "hospital": "H1"}, {"dx": ["Flu"], "hospital": "H2"}]
    usual = [{"dx": ["Flu", "Gastritis"], "hospital": "H1"}, {"dx": ["Flu"], "hospital": "H2"}]
    (place / "flu.ndjson").write_text("".join(json.dumps({"visits": one}) + "\n" for one in [odd, *[usual] * 3]))
    line = "flu.ndjson -s n.toml -k 3 --as-published --ignore-unnamed"
    assert verify(f"{line} -n 0 --negative dx", monkeypatch) == 0
    assert verify(f"{line} --negative dx", monkeypatch) == 1
    alone = "1 combination held by as few as 1 person"
    assert f"hospital and not dx in one visits[]: {alone}" in capsys.readouterr().out
    assert verify(f"{line} --negative dx --objects merged", monkeypatch) == 1
    assert f"no such dx below hospital: {alone}" in capsys.readouterr().out

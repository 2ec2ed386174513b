"""`treeanon convert`: what it writes, tells and counts."""

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
name = "age"
path = "age"
[[class]]
name = "hospital"
path = "visits[].hospital"
hierarchy = "h/hospital.csv"
[[class]]
name = "dx"
path = "visits[].dx[]"
"""
PERSON = '{{"age":{},"visits":[{{"hospital":"a","dx":["x","y"]}},{{"hospital":"b"}}],"note":"n"}}\n'
PEOPLE = "".join(PERSON.format(i) for i in range(100))


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a schema, its hierarchy and an input."""
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "hospital.csv").write_text("a;*\nb;*\n")
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "in.ndjson").write_text(PEOPLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("signal.signal", lambda *given: None)
    return tmp_path


def convert(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of `treeanon convert`."""
    monkeypatch.setattr(sys, "argv", ["treeanon", "convert", *line.split()])
    with pytest.raises(SystemExit) as caught:
        command_line.run()
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.mark.parametrize(
    "name", ["o.json", "o.xml", "o.xml.gz", "o.trees.jsonl", "o.ndjson.zst", "sub/o.json", "f/", "o.zip"]
)
def test_there_and_back(
    name: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over any format and back, by the schemas that the command writes, from and to other folders."""
    (place / "sub").mkdir()
    assert convert(f"in.ndjson -s s.toml -o {name} --schema-out sub/out.toml", monkeypatch) == 0
    told = capsys.readouterr()
    assert told.out == "" and "100 records, 900 nodes written to" in told.err and "100  note" in told.err
    assert convert(f"{name} -s sub/out.toml -o back.ndjson --seed 1 -q", monkeypatch) == 0
    assert capsys.readouterr() == ("", "")
    back = [json.loads(line) for line in (place / "back.ndjson").read_text().splitlines()]
    assert sorted(int(person["age"]) for person in back) == list(range(100))
    assert all(len(person["visits"]) == 2 for person in back)


def test_result_as_json(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "in.ndjson").write_text(PEOPLE + '{"age":1,"age":2}\n{"age":[1]}\n')
    assert convert("in.ndjson -s s.toml -o o.json --json -q --on-error skip", monkeypatch) == 0
    out, err = capsys.readouterr()
    assert err == ""
    told = json.loads(out)
    assert told.pop("objects")["visits[]"] == {"before": 200, "after": 200, "whole": 1.0}
    assert told == {
        "records": 101, "nodes": 901, "dropped": {"note": 100}, "skipped_records": 1, "records_with_duplicate_keys": 1,
        "unknown_values_suppressed": {}, "files": 1, "ignored_files": 0,
    }  # fmt: skip
    assert convert("in.ndjson -s s.toml -o p.json --on-error skip", monkeypatch) == 0
    told = capsys.readouterr().err
    assert "1 malformed record skipped" in told and "1 record with duplicate JSON keys" in told
    assert "--schema-out FILE writes a schema" in told
    assert convert("in.ndjson -s s.toml -o q.json --strict", monkeypatch) == 3
    assert "line 101: an object has the same key twice" in capsys.readouterr().err


def test_seeds(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seed in {"a": "--seed 1", "b": "--seed 1", "c": "--seed 2", "d": "", "e": ""}.items():
        assert convert(f"in.ndjson -s s.toml -o {name}.json {seed}", monkeypatch) == 0
    a, b, c, d, e = ((place / f"{name}.json").read_text() for name in "abcde")
    assert a == b and len({a, c, d, e}) == 4 and len({len(a), len(c), len(d), len(e)}) == 1


def test_show_values(monkeypatch: pytest.MonkeyPatch, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "in.ndjson").write_text('{"visits":{"hospital":"CANARY-7f3a"}}\n')
    assert convert("in.ndjson -s s.toml -o o.json", monkeypatch) == 2
    assert "CANARY" not in capsys.readouterr().err
    assert convert("in.ndjson -s s.toml -o o.json --show-values", monkeypatch) == 2
    assert "'CANARY-7f3a'" in capsys.readouterr().err
    assert not (place / "o.json").exists()


def test_input_is_not_replaced_by_its_own_output(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for force in ("", " --force"):
        assert convert("in.ndjson -s s.toml -o in.ndjson" + force, monkeypatch) == 2
        assert (place / "in.ndjson").read_text() == PEOPLE


SCHEMA_OUT = "the schema is written after the data, and nothing compares the two targets"


@pytest.mark.parametrize(
    "line",
    [
        "-o o.ndjson --schema-out none/o.toml",
        "-o o.ndjson --schema-out o.ndjson",
        "-o o.ndjson --schema-out ./o.ndjson --force",
        "-o - --schema-out -",
    ],
)
def test_schema_out_that_cannot_be(
    line: str, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It fails before anything is written."""
    assert convert(f"in.ndjson -s s.toml {line}", monkeypatch) in (2, 4)
    assert capfd.readouterr().out == "" and not (place / "o.ndjson").exists()


def test_an_ending_that_is_no_format(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert convert("in.ndjson -s s.toml -o out.tab", monkeypatch) == 2
    assert "no format has the ending .tab" in capsys.readouterr().err
    assert convert("in.ndjson -s s.toml -o out.tab --to xml", monkeypatch) == 0

"""`treeanon demo`: the files are there, and what it says to try next works."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from treeanon.cli import main as command_line
from treeanon.io import read
from treeanon.schema import Schema


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("signal.signal", lambda *given: None)
    return tmp_path


def run(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of a line of arguments."""
    monkeypatch.setattr(sys, "argv", ["treeanon", *shlex.split(line)])
    with pytest.raises(SystemExit) as caught:
        command_line.run()
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_what_it_says_to_try_next(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("demo", monkeypatch) == 0
    told = capsys.readouterr().out
    lines = [line.strip() for line in told.splitlines() if line.startswith("  ")]
    assert max(map(len, told.splitlines())) <= 120 and lines[0] == "cd treeanon-demo"
    monkeypatch.chdir(lines[0].removeprefix("cd "))
    assert any("clinic.toml" in line for line in lines)
    for line in lines[1:]:
        # The searches of the demo look long for what is best; whether they run is seen sooner.
        short = " --effort 0.1" if line.startswith("treeanon anonymize") and " -m " in line else ""
        assert run(line.removeprefix("treeanon ") + short, monkeypatch) == 0, line
    assert run("verify clinic-release -s clinic.toml -k 5", monkeypatch) == 0


def test_every_file_is_that_of_the_package(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("demo d --json", monkeypatch) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert files == sorted(str(path.relative_to("d")) for path in Path("d").rglob("*") if path.is_file())
    for name in files:
        shipped = [ROOT / home / name for home in ("samples", "schemas") if (ROOT / home / name).exists()]
        assert [path.read_bytes() for path in shipped] == [(place / "d" / name).read_bytes()]
    assert {path.name for path in (ROOT / "samples" / "clinic").iterdir()} == {
        p.name for p in Path("d/clinic").iterdir()
    }


def test_both_forms_of_the_clinic_read_alike(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("demo d -q", monkeypatch) == 0
    folder = read("d/clinic", Schema.load("d/clinic.toml"))
    database = read("d/clinic.sqlite", Schema.load("d/clinic-sqlite.toml"))
    assert len(folder) == len(database) == 600 and folder.nodes == database.nodes


def test_nothing_is_written_over(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "d" / "clinic").mkdir(parents=True)
    (place / "d" / "clinic" / "visit.csv").write_text("mine")
    assert run("demo d", monkeypatch) == 4
    assert [path.name for path in (place / "d").rglob("*")] == ["clinic", "visit.csv"]
    assert run("demo d --force -q", monkeypatch) == 0


def test_health_records_are_written_on_request(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("demo health --health 2", monkeypatch) == 0
    assert [len(list((place / "health" / form).iterdir())) for form in ("bundles", "ccda")] == [2, 2]
    assert (place / "health" / "bulk" / "Patient.ndjson").exists()
    assert run("demo health --health 2", monkeypatch) == 4

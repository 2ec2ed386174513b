"""`treeanon append`: files, exit codes and words; no value of the data in any of them."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

import treeanon as ta
from tests.cli.test_anonymize import Told, files, run
from tests.support.hospital import WORD, folder_of, write_persons
from treeanon.algorithms.tree.solution import Solution
from treeanon.privacy import Guarantee
from treeanon.release import SolutionFile

DISEASE, HOSPITAL = (f"{WORD}-kind 0", f"{WORD}-kind 1"), (f"{WORD}-group 0", f"{WORD}-group 1")
COARSE = Solution(Guarantee(2), "maximal", {"sex": ("*",), "hospital": ("*",), "diagnosis": DISEASE})
FINE = replace(COARSE, guarantee=Guarantee(6), cut={"sex": ("*",), "hospital": HOSPITAL, "diagnosis": DISEASE})


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with solutions, the persons of a first release, and new ones."""
    folder = folder_of(tmp_path / "place")
    text = (folder / "s.toml").read_text()
    (folder / "s.toml").write_text(text + '[[class]]\nname = "ssn"\npath = "ssn"\nrole = "identifier"\n')
    for seed, (name, count) in enumerate({"first": 60, "new": 30, "more": 30, "one": 1}.items()):
        write_persons(folder / f"{name}.ndjson", seed, count)
    both = (folder / "first.ndjson").read_text() + (folder / "new.ndjson").read_text()
    (folder / "both.ndjson").write_text(both)
    (folder / "gone.ndjson").write_text("".join(both.splitlines(keepends=True)[1:]))
    SolutionFile(COARSE).write(folder / "plan.solution.json")
    SolutionFile(FINE).write(folder / "fine.json")
    (folder / "table.json").write_text('{"version": 1, "kind": "table"}')
    monkeypatch.chdir(folder)
    first = ta.apply(replace(FINE, guarantee=Guarantee(2, 1, 0)), ta.read("first.ndjson", ta.Schema.load("s.toml")))
    first.write("published.ndjson")
    return folder


def test_batches(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told) -> None:
    line = "--solution plan.solution.json -s s.toml --person ssn --max-held 100%"
    assert run(f"new.ndjson {line} --earlier first.ndjson -o two.ndjson", monkeypatch, "append") == 0
    told = capsys.readouterr()
    assert told.out == "" and WORD not in told.err
    assert "New: 30 persons; published 30, held back 0" in told.err and "2^(2,1)-anonymity holds" in told.err
    assert "Recognized by class ssn" in told.err and "History written to plan.history.json: private" in told.err
    assert stat.S_IMODE((place / "plan.history.json").stat().st_mode) == 0o600
    assert run(f"one.ndjson {line} -o three.ndjson --json -q", monkeypatch, "append") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["append"]["held"] == 1 and not (place / "three.ndjson").exists()
    assert run(f"more.ndjson {line} -o three.ndjson", monkeypatch, "append") == 0
    assert "New: 30 persons, and 1 held back before; published 31, held back 0" in capsys.readouterr().err
    assert len((place / "three.ndjson").read_text().splitlines()) == 31


def test_everything_anew(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told) -> None:
    before = files(place)
    assert run("new.ndjson --solution fine.json -s s.toml -o two.ndjson", monkeypatch, "append") == 1
    told = capsys.readouterr().err
    assert "would be held back" in told and "a coarser cut holds back" in told and WORD not in told
    assert files(place) == before
    line = "new.ndjson --solution fine.json -s s.toml -o all.ndjson --earlier first.ndjson --published published.ndjson"
    assert run(f"{line} --anew --solution-out coarse.solution.json", monkeypatch, "append") == 0
    told = capsys.readouterr().err
    assert "Published anew: 60 persons" in told and "coarse.history.json" in told and WORD not in told
    assert run("all.ndjson -s s.toml -k 6", monkeypatch, "verify") == 0
    assert not (place / "fine.history.json").exists()
    capsys.readouterr()
    line = "more.ndjson --solution coarse.solution.json -s s.toml -o rest.ndjson --max-held 100%"
    assert run(line, monkeypatch, "append") == 0


CASES: dict[str, tuple[int, str]] = {
    "new.ndjson --solution plan.solution.json -s s.toml -o o.ndjson --full": (2, "nobody is known from before"),
    "new.ndjson --solution table.json -s s.toml -o o.ndjson": (2, "solution of a table"),
    "new.ndjson --solution plan.solution.json -s s.toml -o o.ndjson --anew": (2, "--anew requires --published"),
    "new.ndjson --solution plan.solution.json -s s.toml -o o.ndjson --solution-out x": (2, "is for --anew"),
    "new.ndjson --solution plan.solution.json -s s.toml -o o.ndjson --person sex": (2, "it has: ssn"),
    "new.ndjson --solution plan.solution.json -s s.toml -o o.ndjson --history new.ndjson": (2, "choose another output"),
    "new.ndjson --solution plan.solution.json -s s.toml -o o.ndjson --history o.ndjson": (2, "name the same file"),
    "new.ndjson --solution plan.solution.json -s s.toml -o new.ndjson --force": (2, "choose another output"),
    "new.ndjson --solution plan.solution.json -s s.toml -o o.ndjson --history fine.json": (2, "is no history"),
    "new.ndjson --solution plan.solution.json -s s.toml -o o.ndjson --max-held x": (2, "max_held must be"),
    "new.ndjson --solution plan.solution.json -s s.toml -o no/o.ndjson": (4, "its folder does not exist"),
    "nothing.ndjson --solution plan.solution.json -s s.toml -o o.ndjson": (4, "nothing.ndjson"),
    "both.ndjson --solution plan.solution.json -s s.toml -o o.ndjson --earlier first.ndjson --person ssn": (
        3,
        "60 of 90 persons were published before",
    ),
    "gone.ndjson --solution plan.solution.json -s s.toml -o o.ndjson --earlier first.ndjson --person ssn --full": (
        3,
        "0 have changed and 1 are missing",
    ),
}


@pytest.mark.parametrize("line", CASES)
def test_refused(line: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told) -> None:
    code, words = CASES[line]
    before = files(place)
    assert run(line, monkeypatch, "append") == code
    out, err = capsys.readouterr()
    assert out == "" and words in err and WORD not in err and "Traceback" not in err
    assert files(place) == before


def test_the_history_does_not_change_when_the_release_does_not_appear(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    line = "new.ndjson --solution plan.solution.json -s s.toml --max-held 100% -o"
    (place / "there.ndjson").write_text("old")
    assert run(f"{line} there.ndjson", monkeypatch, "append") == 4
    assert not (place / "plan.history.json").exists()
    monkeypatch.setattr("treeanon.release.tree_release.require_same", _fails)
    assert run(f"{line} two.ndjson", monkeypatch, "append") == 1
    assert not (place / "plan.history.json").exists() and not (place / "two.ndjson").exists()
    assert WORD not in capsys.readouterr().err


def _fails(*given: object) -> None:
    raise ta.GuaranteeError("not the same")

"""`treeanon apply`: the solution of some data on other data; nothing appears that does not hold there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import treeanon as ta
from tests.cli.test_anonymize import Told, files, run
from tests.reference.trees import multiset
from tests.support.hospital import WORD, folder_of, slow_release, write_persons
from treeanon.algorithms.tree.solution import Solution
from treeanon.privacy import Guarantee
from treeanon.release import SolutionFile

DISEASE = f"{WORD}-kind 0", f"{WORD}-kind 1"
HOSPITAL = f"{WORD}-group 0", f"{WORD}-group 1"
CUT = {"sex": ("*",), "hospital": HOSPITAL, "diagnosis": DISEASE}
PAIRS = ((("hospital", HOSPITAL[1]), ("diagnosis", DISEASE[1])),)
SOLUTION = Solution(Guarantee(3), "maximal", CUT, PAIRS)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a solution and persons it was not made for."""
    folder = folder_of(tmp_path / "place")
    write_persons(folder / "in.ndjson", 1, 100)
    write_persons(folder / "few.ndjson", 2, 5)
    write_persons(folder / "two.ndjson", 2, 2)
    for name, solution in {
        "s": SOLUTION,
        "local": replace(SOLUTION, cut=None, algorithm="miracle"),
        "strange": replace(SOLUTION, cut={**CUT, "diagnosis": (*DISEASE, f"{WORD}-strange")}),
        "other": replace(SOLUTION, cut={**CUT, "age": ("*",)}),
    }.items():
        SolutionFile(solution).write(folder / f"{name}.json")
    (folder / "broken.json").write_text(f'{{"version": 1, "{WORD}": ')
    (folder / "version.json").write_text('{"version": 9}')
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("target", ["out.ndjson", "out.xml", "out.trees.jsonl.gz", "out/", "out.zip"])
def test_applied(target: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told) -> None:
    assert run(f"s.json in.ndjson -s s.toml -o {target}", monkeypatch, "apply") == 0
    told = capsys.readouterr()
    assert told.out == "" and WORD not in told.err
    assert "100 of 100 records" in told.err and "3^(2,1)-anonymity holds" in told.err
    assert "Disassociated: 1 relation: hospital ⇝ diagnosis (1)" in told.err
    schema = ta.Schema.load("s.toml")
    before = ta.read("in.ndjson", schema)
    after = ta.read(place / target, schema.for_format("xml") if target == "out.xml" else schema)
    assert multiset(after.records()) == multiset(slow_release(before, SOLUTION))
    assert multiset(after.records()) != multiset(before.records())


def test_result_as_json(monkeypatch: pytest.MonkeyPatch, capsys: Told) -> None:
    assert run("s.json in.ndjson -s s.toml -o out.xml --json --quiet", monkeypatch, "apply") == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert err == "" and result["verification"]["holds"] and result["counts"]["records"] == 100
    assert WORD not in out


CASES: dict[str, tuple[int, str]] = {
    "s.json few.ndjson -s s.toml -o o.ndjson": (1, "does not hold for these data: new data may need a new search"),
    "s.json few.ndjson -s s.toml -o -": (1, "does not hold for these data"),
    "s.json two.ndjson -s s.toml -o o.ndjson": (1, "2 records are fewer than k = 3"),
    "local.json in.ndjson -s s.toml -o o.ndjson": (2, "a solution of miracle recodes every record by itself"),
    "strange.json in.ndjson -s s.toml -o o.ndjson": (2, "nodes that the hierarchy of class 'diagnosis' does not have"),
    "other.json in.ndjson -s s.toml -o o.ndjson": (2, "speaks of class 'age', which the schema lacks"),
    "broken.json in.ndjson -s s.toml -o o.ndjson": (2, "broken.json, line 1: is not JSON"),
    "version.json in.ndjson -s s.toml -o o.ndjson": (2, "version.json: its version is not known"),
    "in.ndjson in.ndjson -s s.toml -o o.ndjson": (2, "in.ndjson, line 2: is not JSON"),
    "s.json in.ndjson -s s.toml -o s.json --force": (2, "s.json is an input; choose another output"),
    "s.json in.ndjson -s s.toml -o - --json": (2, "choose one"),
    "none.json in.ndjson -s s.toml -o o.ndjson": (4, "none.json: cannot be read: No such file"),
    "s.json in.ndjson -s s.toml -o few.ndjson": (4, "few.ndjson: exists already; use --force"),
}


@pytest.mark.parametrize("arguments", CASES)
def test_errors(arguments: str, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: Told) -> None:
    code, words = CASES[arguments]
    before = files(place)
    assert run(arguments, monkeypatch, "apply") == code
    out, err = capfd.readouterr()
    assert out == "" and words in err and "Traceback" not in err and WORD not in err
    assert files(place) == before


def test_no_check_no_file(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told) -> None:
    def fails(*given: Any, **options: Any) -> Any:
        return replace(ta.verify(*given, **options), holds=False)

    before = files(place)
    monkeypatch.setattr("treeanon.release.tree_release.verify", fails)
    assert run("s.json in.ndjson -s s.toml -o o.ndjson", monkeypatch, "apply") == 1
    assert "does not hold for what was written" in capsys.readouterr().err and files(place) == before

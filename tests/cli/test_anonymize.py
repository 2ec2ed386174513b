"""`treeanon anonymize`: from the samples to a checked release, what it says, and what it answers to errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numba
import pytest

import treeanon as ta
from tests.reference.trees import multiset
from tests.support.hospital import WORD, folder_of, slow_release, write_persons
from tests.support.paths import ROOT
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS
from treeanon.cli import checks
from treeanon.cli import main as command_line
from treeanon.errors import GuaranteeError
from treeanon.privacy.guarantee import ATTACKERS, DIVERSITIES
from treeanon.privacy.models.registry import FORMS
from treeanon.release import SolutionFile


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow obvious search as the default."""
    real = TREE_ALGORITHMS["maximal"]
    monkeypatch.setitem(TREE_ALGORITHMS.built_in, "maximal", replace(real, module="tests.support.stand_in_search"))


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with schemas and persons."""
    folder = folder_of(tmp_path / "place", "note")
    folder_of(folder / "secret", "secret")
    write_persons(folder / "in.ndjson", 1)
    (folder / "few.ndjson").write_text((folder / "in.ndjson").read_text().splitlines()[0] + "\n")
    (folder / "empty.ndjson").write_text("")
    (folder / "bad.ndjson").write_text((folder / "in.ndjson").read_text() + f'{{"sex":["{WORD}","x"]}}\n')
    (folder / "keep.toml").write_text((folder / "s.toml").read_text().replace("\npath", '\nrole = "keep"\npath', 3))
    (folder / "old.ndjson").write_text("old")
    monkeypatch.chdir(folder)
    return folder


def run(line: str, monkeypatch: pytest.MonkeyPatch, command: str = "anonymize") -> int:
    """The exit code of a command line, run in this process as the installed command runs it."""
    monkeypatch.setattr(sys, "argv", ["treeanon", command, *line.split()])
    monkeypatch.setattr("signal.signal", lambda *given: None)
    with pytest.raises(SystemExit) as caught:
        command_line.run()
    assert isinstance(caught.value.code, int)
    return caught.value.code


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


Told = pytest.CaptureFixture[str]

# --- the samples, by the real searches -------------------------------------------------------------------------------


TREES = ["maximal", "gcs", "gcs --complete", "ocs", "miracle"]


@pytest.mark.parametrize(("format", "algorithm"), [*product(["xml"], TREES), ("ndjson", "maximal"), ("ndjson", "gcs")])
def test_the_samples(format: str, algorithm: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told) -> None:
    source = ROOT / "samples" / f"patients.{format}"
    schema = ROOT / "schemas" / f"hospital-{'json' if format == 'ndjson' else format}.toml"
    line = f"{source} -s {schema} -k 5 -m 2 -n 1 -o out.{format} -a {algorithm} --solution s.json --json -q --seed 1"
    line += " --effort 0.1" if algorithm == "maximal" else ""
    assert run(line, monkeypatch) == 0
    told = capsys.readouterr()
    result = json.loads(told.out)
    assert result["verification"]["holds"] and result["verification"]["largest_k"] >= 5 and told.err == ""
    loaded = ta.Schema.load(schema).with_objects(None if algorithm == "maximal" else "merged")
    before, after = ta.read(source, loaded), ta.read(place / f"out.{format}", loaded)
    assert ta.verify(after, k=5, m=2, n=1).holds
    solution = SolutionFile.load(place / "s.json").solution
    if solution.cut is not None and not solution.suppressed:
        assert multiset(slow_release(before, solution)) == multiset(after.records())
    values = {value for name in ("ssn", "name") for value in map(str, people(name))}
    assert not any(value in told.out for value in values)


def people(name: str) -> list[Any]:
    lines = (ROOT / "samples" / "patients.ndjson").read_text().splitlines()
    return [json.loads(line)[name] for line in lines]


# --- what it says ----------------------------------------------------------------------------------------------------


def test_plain_words(stand_in: None, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told) -> None:
    line = "in.ndjson -s s.toml -k 3 -o out.ndjson --max-suppressed 5% --solution s.json --as-published"
    assert run(line, monkeypatch) == 0
    out, err = capsys.readouterr()
    solution = SolutionFile.load(place / "s.json").solution
    assert out == "" and WORD not in err and solution.disassociated
    for words in (
        "Whoever knows up to 2 published values of a person and up to 1 relation between them finds no record, or at",
        "Verified in the output: 3^(2,1)-anonymity holds as published (TREE). The largest k",
        "for what is known of the original",
        "This protects less than the default: what is left of moved nodes points to",
        "38 of 40 records",
        "Written to out.ndjson: ",
        "Solution written to s.json",
        "Suppressed: 2 records",
        "Disassociated: 1 relation: hospital ⇝ diagnosis",
        "Published unchanged (declared safe by the schema): note",
        "       40  ssn",
        "value loss",
        "relations kept",
    ):
        assert words in err
    assert run("in.ndjson -s s.toml -k 3 -o out2.ndjson --quiet", monkeypatch) == 0
    assert capsys.readouterr() == ("", "")


def test_result_as_json(stand_in: None, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told) -> None:
    line = "in.ndjson -s s.toml -k 3 -o out.xml --json --weight sex=2 --weight hospital=0.5 --mining"
    assert run(line, monkeypatch) == 0
    told = capsys.readouterr()
    result = json.loads(told.out)
    assert WORD not in told.out + told.err
    assert result["guarantee"] == {"k": 3, "m": 2, "n": 1, "attacker": "independent", "as_published": False}
    assert result["options"]["weights"] == {"sex": 2, "hospital": 0.5} and result["output"] == "out.xml"
    assert 0 <= result["losses"]["mining"]["ml2"] <= 1 and result["counts"]["published_records"] == 40
    assert result["published_as_they_are"] == {"keep": ["note"]}


@pytest.mark.parametrize("module", ["treeanon.release.tree_release", "treeanon.release.tree"])
@pytest.mark.parametrize("target", ["out.ndjson", "out.xml.gz", "out/", "-", "old.ndjson --force"])
def test_no_check_no_file(
    stand_in: None, target: str, module: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    def fails(*given: Any, **options: Any) -> Any:
        return replace(ta.verify(*given, **options), holds=False)

    before = files(place)
    monkeypatch.setattr(f"{module}.verify", fails)
    assert run(f"in.ndjson -s s.toml -k 3 -o {target} --solution x.json", monkeypatch) == 1
    told = capsys.readouterr()
    assert told.out == "" and WORD not in told.err
    assert "does not hold for what was written" in told.err or "did not pass the check" in told.err
    assert files(place) == before


def test_seeds(stand_in: None, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seed in {"a": "--seed 1", "b": "--seed 1", "c": "--seed 2", "d": "", "e": ""}.items():
        assert run(f"in.ndjson -s s.toml -k 3 -q -o {name}.ndjson {seed} --solution {name}.json", monkeypatch) == 0
    a, b, c, d, e = ((place / f"{name}.ndjson").read_text() for name in "abcde")
    assert a == b and len({a, c, d, e}) == 4
    assert [json.loads((place / f"{name}.json").read_text())["options"] for name in "acd"] == [
        {"seed": 1}, {"seed": 2}, {},
    ]  # fmt: skip


def test_largest_k(stand_in: None, monkeypatch: pytest.MonkeyPatch, capsys: Told) -> None:
    assert run("in.ndjson -s s.toml --max-loss 0.6 -o out.ndjson --json -q", monkeypatch) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["losses"]["value_loss"] <= 0.6 and result["guarantee"]["k"] >= 2
    assert run("in.ndjson -s s.toml --max-loss 0 -o out2.ndjson", monkeypatch) == 1
    assert "already k = 2 loses more than a value loss of 0" in capsys.readouterr().err


# --- errors ----------------------------------------------------------------------------------------------------------

CASES: dict[str, tuple[int, str]] = {
    "": (2, "Missing argument 'INPUT'"),
    "in.ndjson -s s.toml -o o.ndjson": (2, "-k is required"),
    "in.ndjson -s s.toml -k x -o o.ndjson": (2, "-k"),
    "in.ndjson -s s.toml -k 0 -o o.ndjson": (2, "k must be a whole number from 1"),
    "in.ndjson -s s.toml -k 3 -m 0 -o o.ndjson": (2, "m must be a whole number from 1 to 8"),
    "in.ndjson -s s.toml -k 3 -n -1 -o o.ndjson": (2, "n must be a whole number from 0"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --attacker both": (2, "attacker"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --l 2": (2, "needs a class with role sensitive; the schema has none"),
    "in.ndjson -s secret/s.toml -k 3 -o o.ndjson": (2, "'secret' sensitive: give l (--l N"),
    "in.ndjson -s keep.toml -k 3 -o o.ndjson": (2, "no class of the schema has role quasi"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson -a magic": (2, "algorithm"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson -a gcs --effort 3": (
        2,
        "'gcs' has no parameter 'effort'; its parameters: g, closed, scope",
    ),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --g 3": (2, "'maximal' has no parameter 'g'"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --complete": (2, "cannot be completed"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --negative date": (2, "unknown class 'date'; choose from sex, hospital"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --negative note": (2, "the role of class 'note' is not quasi"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --weight date=2": (2, "unknown class 'date'"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --sensitive joined": (2, "--sensitive applies to tables only"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --emd ordered": (2, "--emd applies to tables only"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --weight date": (2, "must be CLASS=NUMBER"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --weight sex=-1": (2, "must be CLASS=NUMBER"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --max-suppressed all": (2, "must be a number of persons, or a share"),
    "in.ndjson -s s.toml --max-loss 3 -o o.ndjson": (2, "max_loss must be a number from 0"),
    "in.ndjson -s s.toml -k 3 -o - --json": (2, "choose one"),
    "in.ndjson -s s.toml -k 3 -o in.ndjson --force": (2, "in.ndjson is an input; choose another output"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --solution s.toml --force": (2, "s.toml is an input"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --solution ./o.ndjson": (2, "name the same file"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --solution -": (2, "--solution requires a file name"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --to csv": (2, "`treeanon flatten` makes rows"),
    "in.ndjson -s s.toml -k 41 -o o.ndjson": (1, "40 records are fewer than k = 41: nobody can be hidden"),
    "few.ndjson -s s.toml -k 2 -o o.ndjson": (1, "1 record is fewer than k = 2"),
    "empty.ndjson -s s.toml -k 2 -o o.ndjson": (3, "empty.ndjson: holds no record"),
    "bad.ndjson -s s.toml -k 2 -o o.ndjson": (3, "bad.ndjson, line 41, sex: repeats here"),
    "none.ndjson -s s.toml -k 2 -o o.ndjson": (4, "none.ndjson: there is no such file"),
    "in.ndjson -s none.toml -k 2 -o o.ndjson": (4, "none.toml"),
    "in.ndjson -s s.toml -k 3 -o old.ndjson": (4, "old.ndjson: exists already; use --force"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --solution old.ndjson": (4, "old.ndjson: exists already"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --solution none/s.json": (4, "its folder does not exist"),
    "in.ndjson -s s.toml -k 3 -o o.ndjson --solution secret --force": (4, "secret: is a folder"),
    "in.ndjson -s s.toml -k 3 -o /dev/full": (4, "/dev/full: cannot be written: No space left on device"),
}


@pytest.mark.parametrize("arguments", CASES)
def test_errors(
    stand_in: None,
    arguments: str,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    code, words = CASES[arguments]
    before = files(place)
    assert run(arguments, monkeypatch) == code
    out, err = capfd.readouterr()
    assert out == "" and words in err and "Traceback" not in err and WORD not in err
    assert files(place) == before


def test_a_search_that_finds_nothing(
    stand_in: None, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    def nothing(*given: Any, **options: Any) -> Any:
        raise GuaranteeError("no cut holds")

    monkeypatch.setattr("tests.support.stand_in_search.search", nothing)
    before = files(place)
    assert run("in.ndjson -s s.toml -k 3 -o o.ndjson", monkeypatch) == 1
    assert "error: no cut holds" in capsys.readouterr().err and files(place) == before


# --- in a process of its own -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["anonymize", "apply"])
def test_help_is_light(command: str) -> None:
    code = (
        f"import sys; sys.argv = ['treeanon', {command!r}, '--help']\n"
        "from treeanon.cli.main import run\n"
        "try:\n    run()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('numba', 'numpy', 'lxml', 'orjson', 'mlxtend', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]" and "treeanon" in done.stdout


def test_the_help_knows_what_the_guarantee_knows() -> None:
    from treeanon.cli.anonymize import command

    choices = {option.name: getattr(option.type, "choices", ()) for option in command.params}
    assert tuple(choices["attacker"]) == ATTACKERS and tuple(choices["diversity"]) == FORMS
    assert set(DIVERSITIES) <= set(FORMS)


def test_through_pipes(place: Path) -> None:
    """Standard input to standard output, by a real search."""
    name = next(a.name for a in TREE_ALGORITHMS.values() if find_spec(a.module) is not None)
    line = [sys.executable, "-m", "treeanon", "anonymize", "-", "-s", "s.toml", "-k", "3", "-o", "-", "-a", name]
    with (place / "in.ndjson").open("rb") as stdin:
        done = subprocess.run(line, stdin=stdin, capture_output=True, cwd=place)
    assert done.returncode == 0 and done.stdout.count(b"\n") == 40
    (place / "out.ndjson").write_bytes(done.stdout)
    assert ta.verify(ta.read("out.ndjson", ta.Schema.load("s.toml")), k=3, m=2, n=1).holds
    done = subprocess.run([*line[:-4], "-k", "41", *line[-4:]], stdin=(place / "in.ndjson").open("rb"), cwd=place,
                          capture_output=True)  # fmt: skip
    assert done.returncode == 1 and done.stdout == b"" and WORD.encode() not in done.stderr


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled")
def test_compiling_is_told_of_when_it_happens_and_once(capsys: pytest.CaptureFixture[str]) -> None:
    checks.announce_compilation(quiet=False)
    assert capsys.readouterr().err == ""
    for _ in range(2):
        numba.njit(lambda x: x)(1)
    assert capsys.readouterr().err == "compiling kernels; this takes some seconds on the first run only\n"
    checks.announce_compilation(quiet=True)
    numba.njit(lambda x: x)(1)
    assert capsys.readouterr().err == ""

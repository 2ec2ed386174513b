"""What the command line answers to errors: the exit code, and words without a value of the data."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from treeanon.cli import main as command_line

WORD, NUMBER = "CANARY-7f3a", "99887766"
SCHEMA = 'version = 1\n[input]\nformat = "ndjson"\n[[class]]\nname = "age"\npath = "age"\n'
JSON = SCHEMA.replace('"ndjson"', '"json"\nrecord = "patients[]"')
XML = SCHEMA.replace('"ndjson"', '"xml"\nrecord = "patients/patient"')
GOOD = f'{{"age":"{WORD}"}}\n{{"age":{NUMBER}}}\n'


def run(*arguments: str | Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of the command line, run in this process as the installed command runs it."""
    monkeypatch.setattr(sys, "argv", ["treeanon", *map(str, arguments)])
    monkeypatch.setattr("signal.signal", lambda *given: None)
    with pytest.raises(SystemExit) as caught:
        command_line.run()
    assert isinstance(caught.value.code, int)
    return caught.value.code


def files(folder: Path) -> dict[str, str]:
    """The files of a folder tree, and what is in them."""
    return {str(p.relative_to(folder)): p.read_text("latin-1") for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with schemas and inputs."""
    for name, text in {
        "s.toml": SCHEMA, "j.toml": JSON, "x.toml": XML, "in.ndjson": GOOD, "broken.toml": "version = 1\n[inpt]\n",
        "no.toml": "version = ", "pseudonym.toml": SCHEMA + 'role = "identifier"\npseudonym = true\n',
        "number.toml": SCHEMA + 'type = "integer"\nhierarchy = { intervals = [5], min = 0, max = 9 }\n',
        "bad.ndjson": GOOD + f'{{"age":["{WORD}"]}}\n', "bad.json": f'{{"patients":[{{"age":"{WORD}"',
        "bad.xml": f"<patients><patient><age>{WORD}</age></{WORD}>", "bad.ndjson.gz": WORD, "empty.ndjson": "",
        "bad.trees.jsonl": f'{{"tree":[["{WORD}","{NUMBER}",[]]]}}', "bad.zip": WORD, "old.ndjson": "old",
        "full/mine.txt": "x",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TREEANON_KEY", raising=False)
    return tmp_path


CASES: dict[str, tuple[int, str]] = {
    "": (2, "Missing argument 'INPUT'"),
    "in.ndjson": (2, "Missing option"),
    "in.ndjson -s s.toml": (2, "Missing option"),
    "in.ndjson -s s.toml -o ''": (2, "--output: is empty"),
    "in.ndjson -s s.toml -o '' --force": (2, "--output: is empty"),
    "'' -s s.toml -o o.ndjson": (2, "INPUT: is empty"),
    "in.ndjson -s '' -o o.ndjson": (2, "--schema: is empty"),
    "in.ndjson -s s.toml -o o.ndjson --schema-out ''": (2, "--schema-out: is empty"),
    "in.ndjson -s s.toml -o o.ndjson --wat": (2, "No such option"),
    "in.ndjson -s s.toml -o o.ndjson --on-error ignore": (2, "on-error"),
    "in.ndjson -s s.toml -o o.ndjson --seed x": (2, "seed"),
    "in.ndjson -s s.toml -o o.ndjson --jobs 0": (2, "jobs"),
    "in.ndjson -s s.toml -o o.ndjson --to xls": (2, "unknown format 'xls'; choose from json"),
    "in.ndjson -s s.toml -o o.ndjson --from xls": (2, "unknown format 'xls'; choose from json"),
    "in.ndjson -s s.toml -o - --json": (2, "choose one"),
    "in.ndjson -s broken.toml -o o.ndjson": (2, "inpt"),
    "in.ndjson -s no.toml -o o.ndjson": (2, "no.toml, line 1"),
    "in.ndjson -s pseudonym.toml -o o.ndjson": (2, "TREEANON_KEY"),
    "in.ndjson -s number.toml -o o.ndjson": (2, "its hierarchy does not know 2 distinct values"),
    "full -s s.toml -o o.ndjson": (2, "full: no file in it ends in .ndjson"),
    "*.none -s s.toml -o o.ndjson": (2, "*.none: no file in it ends in"),
    "bad.ndjson -s s.toml -o o.ndjson": (3, "bad.ndjson, line 3, age: repeats here"),
    "bad.ndjson -s s.toml -o o.zip": (3, "bad.ndjson, line 3, age: repeats here"),
    "bad.ndjson -s s.toml -o folder/": (3, "bad.ndjson, line 3, age: repeats here"),
    "bad.ndjson -s s.toml -o -": (3, "bad.ndjson, line 3, age: repeats here"),
    "bad.ndjson -s s.toml -o old.ndjson --force": (3, "bad.ndjson, line 3, age: repeats here"),
    "empty.ndjson -s s.toml -o o.ndjson": (3, "empty.ndjson: holds no record"),
    "bad.json -s j.toml -o o.ndjson": (3, "bad.json: ends before the array of records does"),
    "bad.xml -s x.toml -o o.ndjson": (3, "bad.xml, line 1: an end tag does not match"),
    "bad.ndjson.gz -s s.toml -o o.ndjson": (3, "bad.ndjson.gz: the compressed data is broken"),
    "bad.zip -s s.toml -o o.ndjson": (3, "bad.zip: the compressed data is broken"),
    "bad.trees.jsonl -s s.toml -o o.ndjson": (3, "bad.trees.jsonl, line 1: a node names a class"),
    "none.ndjson -s s.toml -o o.ndjson": (4, "none.ndjson: there is no such file"),
    "in.ndjson/x -s s.toml -o o.ndjson": (4, "in.ndjson/x: "),
    "in.ndjson -s none.toml -o o.ndjson": (4, "none.toml"),
    "in.ndjson -s full -o o.ndjson": (4, "full"),
    "in.ndjson -s s.toml -o old.ndjson": (4, "old.ndjson: exists already; use --force"),
    "in.ndjson -s s.toml -o full": (4, "full: exists already; use --force"),
    "in.ndjson -s s.toml -o full --force": (4, "full: holds files that are not from treeanon"),
    "in.ndjson -s s.toml -o none/o.ndjson": (4, "none/o.ndjson: its folder does not exist"),
    "in.ndjson -s s.toml -o in.ndjson/o.ndjson": (4, "its folder does not exist"),
    "in.ndjson -s s.toml -o /dev/full": (4, "/dev/full: cannot be written: No space left on device"),
    "in.ndjson -s s.toml -o o.ndjson --schema-out old.ndjson": (4, "old.ndjson: exists already"),
}


@pytest.mark.parametrize("arguments", CASES)
def test_errors(
    arguments: str, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    code, words = CASES[arguments]
    before = files(place)
    assert run("convert", *shlex.split(arguments), monkeypatch=monkeypatch) == code
    out, err = capfd.readouterr()
    assert out == "" and words in err and "Traceback" not in err
    assert not any(canary in err for canary in ("CANARY", "7f3a", NUMBER))
    assert files(place) == before


def test_other_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("convrt", monkeypatch=monkeypatch) == 2
    assert "Did you mean 'convert'?" in capsys.readouterr().err
    assert run("--version", monkeypatch=monkeypatch) == 0
    assert run("convert", "--help", monkeypatch=monkeypatch) == 0
    assert run("demo", "in.ndjson", monkeypatch=monkeypatch) == 4
    assert run("demo", "d", monkeypatch=monkeypatch) == 0
    assert run("demo", "d", monkeypatch=monkeypatch) == 4
    assert run("demo", "d", "--force", monkeypatch=monkeypatch) == 0
    arguments = ("d/patients.xml", "-s", "d/hospital-xml.toml", "-o", "d/p.trees.jsonl.zst")
    assert run("convert", *arguments, monkeypatch=monkeypatch) == 0


@pytest.mark.parametrize(
    ("raised", "code"),
    [(ValueError(WORD), 70), (MemoryError(WORD), 4), (RecursionError(WORD), 70)],
)
def test_unforeseen_errors_show_no_value(
    raised: Exception, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(**given: object) -> None:
        raise raised

    monkeypatch.setattr(command_line.main, "main", fails)
    assert run(monkeypatch=monkeypatch) == code
    out, err = capsys.readouterr()
    assert out == "" and "error" in err and WORD not in err and "Traceback" not in err


@pytest.mark.parametrize(("cause", "code"), [(SystemExit(143), 143), (KeyboardInterrupt(), 130)])
@pytest.mark.parametrize("times", [1, 3])
def test_a_signal_in_compiled_code(
    times: int, cause: BaseException, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cause_now = [cause]

    def fails(**given: object) -> None:
        for _ in range(times):
            wrapped = SystemError("returned a result with an exception set")
            wrapped.__cause__, cause_now[0] = cause_now[0], wrapped
        raise cause_now[0]

    monkeypatch.setattr(command_line.main, "main", fails)
    assert run(monkeypatch=monkeypatch) == code


def test_a_signal_while_packages_are_loaded(tmp_path: Path, place: Path) -> None:
    """numpy cannot be loaded again where a signal came amid that: what is said then must not need it."""
    (tmp_path / "numpy.py").write_text(
        "from pathlib import Path\n"
        "begun = Path(__file__).with_name('begun')\n"
        "if begun.exists():\n    raise ImportError('cannot load module more than once per process')\n"
        "begun.touch()\nraise KeyboardInterrupt\n"
    )
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "treeanon", "explore", "in.ndjson", "-s", "s.toml"],
        cwd=place, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr.strip()) == (130, "treeanon: interrupted")


def shell(line: str, place: Path) -> subprocess.CompletedProcess[str]:
    """Runs a line of sh in which $T is the command."""
    environment = os.environ | {"T": f"{sys.executable} -m treeanon"}
    return subprocess.run(["sh", "-c", line], cwd=place, env=environment, capture_output=True, text=True)


def test_in_a_process_of_its_own(place: Path) -> None:
    done = shell("$T convert bad.ndjson -s s.toml -o o.ndjson", place)
    assert (done.returncode, done.stdout) == (3, "") and "line 3" in done.stderr and WORD not in done.stderr
    done = shell("$T convert - -s s.toml -o - < in.ndjson", place)
    assert done.returncode == 0 and sorted(done.stdout.split()) == [f'{{"age":"{NUMBER}"}}', f'{{"age":"{WORD}"}}']
    done = shell("$T convert - -s s.toml -o - < bad.ndjson", place)
    assert (done.returncode, done.stdout) == (3, "") and "standard input, line 3, age" in done.stderr


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("$T convert in.ndjson -s s.toml -o o.ndjson >&-", 0),
        ("$T convert in.ndjson -s s.toml -o - >&-", 4),
        ("$T convert in.ndjson -s s.toml -o o.ndjson --json >&-", 4),
        ("$T convert - -s s.toml -o o.ndjson <&-", 4),
        # A log that is lost changes nothing.
        ("$T convert in.ndjson -s s.toml -o o.ndjson 2>&-", 0),
        ("$T convert in.ndjson -s s.toml -o o.ndjson 2>/dev/full", 0),
        ("$T convert bad.ndjson -s s.toml -o o.ndjson 2>/dev/full", 3),
        ("$T convert bad.ndjson -s s.toml -o o.ndjson 2>&- >&- <&-", 3),
        ("$T convert bad.ndjson -s s.toml -o o.ndjson --json >/dev/full", 3),
        # Nor does who stops reading it; a result that is lost is a failure to write.
        ("($T convert in.ndjson -s s.toml -o o.ndjson 2>&1 >/dev/null; echo $? >&3) 3>code | true", 0),
        ("($T convert bad.ndjson -s s.toml -o o.ndjson 2>&1; echo $? >&3) 3>code | true", 3),
        ("($T verify in.ndjson -s s.toml -k 2 -m 1; echo $? >&3) 3>code | true", 4),
        ("$T verify in.ndjson -s s.toml -k 2 -m 1 -n 0 2>&-", 1),
        ("$T verify in.ndjson -s s.toml -k 2 -m 1 -n 0 >/dev/full", 4),
    ],
)
def test_closed_streams(line: str, code: int, place: Path) -> None:
    done = shell(line, place)
    assert (int((place / "code").read_text()) if "3>code" in line else done.returncode) == code


def test_what_fails_beside_a_release(place: Path) -> None:
    (place / "full.html").symlink_to("/dev/full")
    done = shell("$T anonymize in.ndjson -s s.toml -k 1 -m 1 -n 0 -o o.ndjson --html full.html", place)
    assert done.returncode == 4 and "The output is complete: o.ndjson" in done.stderr and (place / "o.ndjson").exists()


def test_result_on_a_full_device(place: Path) -> None:
    done = shell("$T convert in.ndjson -s s.toml -o o.ndjson --json > /dev/full", place)
    assert done.returncode == 4 and "No space left" in done.stderr


def test_names_cannot_steer_the_terminal(place: Path) -> None:
    (place / "\r\ax.ndjson").write_text("{")
    done = shell("$T convert \"$(printf '\\r\\007x.ndjson')\" -s s.toml -o o.ndjson", place)
    assert done.returncode == 3 and "\a" not in done.stderr


@pytest.mark.parametrize(("given", "found"), [(None, "0"), ("1", "1")])
def test_the_command_wants_no_huge_pages_unless_they_are_asked_for(given: str | None, found: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "NUMPY_MADVISE_HUGEPAGE"}
    if given is not None:
        environment["NUMPY_MADVISE_HUGEPAGE"] = given
    program = """
import os, sys
from treeanon.cli.main import run
sys.argv = ["treeanon", "--version"]
try:
    run()
except SystemExit:
    # Later, numpy would not read it.
    print(os.environ["NUMPY_MADVISE_HUGEPAGE"], "numpy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.split()[-2:] == [found, "False"]

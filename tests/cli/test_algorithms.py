"""`treeanon algorithms`, `--param`, and the options that became parameters."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from treeanon.algorithms.algorithm import parse_parameters
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS
from treeanon.cli.main import main
from treeanon.cli.options import FORMER_OPTIONS, own_parameters

SCHEMA = """
version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [10, 50] }
"""

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SCHEMA)
    Path("p.csv").write_text("age\n" + "".join(f"{20 + i % 30}\n" for i in range(60)))

    def command(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    return command


def anonymized(run: Run, *more: str) -> Result:
    line = ("anonymize", "p.csv", "-s", "s.toml", "-k", "3", "-a", "mondrian", "-o", "o.csv", "--seed", "1", "--force")
    return run(*line, *more)


def test_all_searches_are_listed(run: Run) -> None:
    said = run("algorithms").stdout
    assert all(f"\n  {name} " in said for name in (*TREE_ALGORITHMS, *TABLE_ALGORITHMS))
    listed = json.loads(run("algorithms", "--json").stdout)
    assert listed["trees"]["default"] == "maximal" and listed["tables"]["default"] == "local"
    assert [one["name"] for one in listed["tables"]["algorithms"]] == list(TABLE_ALGORITHMS)


@pytest.mark.parametrize("name", [*TREE_ALGORITHMS, *TABLE_ALGORITHMS])
def test_a_search_is_described(run: Run, name: str) -> None:
    algorithm = TREE_ALGORITHMS[name] if name in TREE_ALGORITHMS else TABLE_ALGORITHMS[name]
    said = " ".join(run("algorithms", name).stdout.split())
    assert all(f"{one.name} {one.help}" in said for one in own_parameters(algorithm))
    assert algorithm.paper is None or algorithm.paper.title in said
    told = json.loads(run("algorithms", name, "--json").stdout)
    assert told["guarantees"] == list(algorithm.guarantees)
    assert {one["name"] for one in (*told["parameters"], *told["options"])} >= {
        one.name for one in algorithm.parameters
    }


def test_an_unknown_search_is_answered_with_all(run: Run) -> None:
    for line in (
        ("algorithms", "magic"),
        ("anonymize", "p.csv", "-s", "s.toml", "-k", "3", "-o", "o.csv", "-a", "magic"),
    ):
        done = run(*line)
        assert done.exit_code == 2 and "unknown algorithm 'magic'; choose from maximal, acs" in done.stderr


def test_every_parameter_is_reached_by_one_option_or_by_param() -> None:
    own = {one.name for a in (*TREE_ALGORITHMS.values(), *TABLE_ALGORITHMS.values()) for one in own_parameters(a)}
    assert set(FORMER_OPTIONS) <= own
    assert parse_parameters(TREE_ALGORITHMS["miracle"], {"window": "8"}) == {"window": 8}


def test_a_former_option_is_the_parameter_with_a_hint(run: Run) -> None:
    old = anonymized(run, "--mode", "relaxed", "--look-back", "2", "-q")
    assert (old.exit_code, old.stderr) == (1, "") and "no parameter 'look_back'" in str(old.exception)
    old = anonymized(run, "--mode", "relaxed")
    assert old.exit_code == 0, old.output
    assert old.stderr.splitlines()[0] == "hint: --mode relaxed is deprecated; use --param mode=relaxed"
    text = Path("o.csv").read_text()
    new = anonymized(run, "--param", "mode=relaxed")
    assert new.exit_code == 0 and "hint" not in new.stderr and Path("o.csv").read_text() == text
    assert anonymized(run, "--mode", "relaxed", "-q").stderr == ""


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("--param mode", "must be NAME=VALUE"),
        ("--param mode=", "must be NAME=VALUE"),
        ("--param mode=strict --param mode=relaxed", "mode is given twice"),
        ("--param mode=strict --mode relaxed", "--mode and --param mode are the same"),
        ("--param mode=odd", "mode must be one of strict, relaxed"),
        ("--param modus=strict", "no parameter 'modus'; its parameters: mode, split, style"),
        ("--param complete=true", "no parameter 'complete'"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(run: Run, more: str, words: str) -> None:
    done = anonymized(run, *more.split())
    assert done.exit_code != 0 and words in f"{done.stderr} {done.exception}"
    assert not Path("o.csv").exists()


def test_the_help_fits_two_screens(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = run("anonymize", "--help").stdout
    # A terminal of 80 columns has 78 for the text; the runner gives it 80.
    assert len(said.splitlines()) <= 54 and max(map(len, said.splitlines())) <= 78
    assert "--look-back" not in said and "--strict" not in said
    every = run("anonymize", "--help-all").stdout
    assert all(flag in every for flag in ("--strict", "--emd", "--rest", "--sample", "--seed")) and "--g " not in every
    assert every.count("--help-all") == every.count("-h, --help") == 1


@pytest.mark.parametrize(
    ("typed", "begun", "offered"),
    [
        (
            ["anonymize", "-a", "gcs", "--param"],
            "cl",
            {"closed=values", "closed=cuts"},
        ),
        (["anonymize", "-a", "mondrian", "--param"], "mode=r", {"mode=relaxed"}),
        (["anonymize", "-a"], "sam", {"samarati"}),
        (["convert", "--to"], "n", {"ndjson"}),
        (["algorithms"], "idis", {"idistance", "idistance-fast"}),
    ],
)
def test_the_shell_completes_parameters(typed: list[str], begun: str, offered: set[str]) -> None:
    shell = ShellComplete(main, {}, "treeanon", "_TREEANON_COMPLETE")
    assert {item.value for item in shell.get_completions(typed, begun)} == offered


def test_listing_loads_no_arrays() -> None:
    code = (
        "import sys; sys.argv = ['treeanon', 'algorithms', 'gcs']\n"
        "from treeanon.cli.main import run\n"
        "try:\n    run()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('numba', 'numpy', 'lxml', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]" and "Guarantees: k^(m,n)-anonymity" in done.stdout


def test_models_are_listed_and_described(run: Run) -> None:
    listed = run("algorithms").output
    assert "k-map" in listed
    assert "beta-likeness" in listed
    told = run("algorithms", "k-map").output
    assert "Parameters (--model k-map:NAME=VALUE,…):" in told
    assert "population" in told
    plain = json.loads(run("algorithms", "average-risk", "--json").output)
    assert [one["name"] for one in plain["parameters"]] == ["share"]
    assert "t-closeness" in [one["name"] for one in json.loads(run("algorithms", "--json").output)["models"]]

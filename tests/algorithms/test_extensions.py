"""A search of trees and a search of tables in another package, each in one file: from Python and the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import treeanon as ta
from tests.support.command_line import treeanon
from tests.support.paths import ROOT
from tests.support.plugins import installed, make_package
from treeanon.algorithms.algorithm import GROUP, parse_parameters
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS, table_algorithm_named
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS, tree_algorithm_named
from treeanon.errors import UsageError

TREE_SEARCH = '''
from treeanon.parameters import Parameter
from treeanon.algorithms.tree.registry import TreeAlgorithm
from treeanon.algorithms.tree.solution import Result, Solution


def search(forest, guarantee, *, x=1, progress=None):
    """Publish nothing but how many values a person has."""
    solution = Solution(guarantee, "star", {"*": ("*",)}, options={"x": x})
    return Result(solution, forest.project("*"), report={"x": x})


ALGORITHM = TreeAlgorithm(
    "star", __name__, "publishes every value as *", (Parameter("x", "int", "A number.", 1, minimum=1),)
)
'''

TABLE_SEARCH = '''
import numpy as np

from treeanon.parameters import Parameter
from treeanon.algorithms.table.result import Partition
from treeanon.algorithms.table.registry import TableAlgorithm


def search(problem, *, x=1):
    """Put all rows in x groups by the order of the first column."""
    place = np.argsort(np.argsort(problem.table.quasi[0].codes, kind="stable"))
    return Partition("slices", problem.models, place * x // len(place), counts={"slices": x})


ALGORITHM = TableAlgorithm(
    "slices", __name__, "cuts one order into slices", (Parameter("x", "int", "Slices.", 1, minimum=1),), groups=True
)
'''

SCHEMA = """
version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [10, 100] }
"""
PERSONS = "age\n" + "\n".join(map(str, range(20, 60))) + "\n"
TREE_SCHEMA = SCHEMA.replace('"csv"', '"ndjson"')
TREES = "\n".join(json.dumps({"age": age}) for age in range(20, 60)) + "\n"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder with inputs, while the package `more` with both searches is installed."""
    points = {GROUP: {"star": "more_trees:ALGORITHM", "slices": "more_tables:ALGORITHM"}}
    files = {"more_trees.py": TREE_SEARCH, "more_tables.py": TABLE_SEARCH}
    package = make_package(tmp_path / "package", "more", points, files)
    for name, text in (("t.toml", TREE_SCHEMA), ("t.ndjson", TREES), ("c.toml", SCHEMA), ("c.csv", PERSONS)):
        (tmp_path / name).write_text(text)
    with installed(package):
        yield tmp_path


def run(place: Path, *arguments: object) -> str:
    """The output of a command of its own process."""
    command = [sys.executable, "-m", "treeanon", *map(str, arguments)]
    path = os.pathsep.join([os.environ["PYTHONPATH"], str(ROOT)])
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_registries_have_each_by_its_kind(place: Path) -> None:
    assert "star" in TREE_ALGORITHMS and "star" not in TABLE_ALGORITHMS
    assert "slices" in TABLE_ALGORITHMS and "slices" not in TREE_ALGORITHMS
    assert list(TREE_ALGORITHMS)[-1] == "star" and list(TABLE_ALGORITHMS)[-1] == "slices"
    assert len(TREE_ALGORITHMS) == len(TREE_ALGORITHMS.built_in) + 1
    assert TREE_ALGORITHMS["star"].name == "star"
    with pytest.raises(KeyError):
        TREE_ALGORITHMS["slices"]
    assert parse_parameters(tree_algorithm_named("star"), {"x": "2"}) == {"x": 2}
    with pytest.raises(UsageError, match=r"unknown algorithm 'slices'; choose from maximal, .*star$"):
        tree_algorithm_named("slices")
    with pytest.raises(UsageError, match="algorithm 'slices': x must be a whole number from 1"):
        table_algorithm_named("slices").checked({"x": 0})


def test_tree_search_from_python(place: Path) -> None:
    forest = ta.read(place / "t.ndjson", ta.Schema.load(place / "t.toml"))
    release = ta.anonymize(forest, k=5, algorithm="star", parameters={"x": 2})
    assert release.verdict.holds and release.solution.algorithm == "star"
    assert dict(release.solution.options) == {"x": 2}
    with pytest.raises(UsageError, match="algorithm 'star' has no parameter 'y'; its parameters: x"):
        ta.anonymize(forest, k=5, algorithm="star", parameters={"y": 2})


def test_table_search_from_python(place: Path) -> None:
    table = ta.read_table(place / "c.csv", ta.Schema.load(place / "c.toml"))
    release = ta.anonymize(table, k=5, algorithm="slices", parameters={"x": 2})
    assert release.verdict.holds and release.found.counts == {"slices": 2}


@pytest.mark.parametrize(("name", "given", "schema"), [("star", "t.ndjson", "t.toml"), ("slices", "c.csv", "c.toml")])
def test_from_the_command_line(place: Path, name: str, given: str, schema: str) -> None:
    output = f"out.{given.partition('.')[2]}"
    run(place, "anonymize", given, "-s", schema, "-k", 5, "-a", name, "--param", "x=2", "-o", output)
    verified = treeanon("verify", place / output, "-s", place / schema, "-k", 5)
    told = treeanon("algorithms", name)
    assert verified.returncode == told.returncode == 0 and name in told.stdout and "x" in told.stdout


def test_what_is_no_algorithm_is_named(tmp_path: Path) -> None:
    package = make_package(tmp_path, "wrong", {GROUP: {"odd": "wrong:ALGORITHM"}}, {"wrong.py": "ALGORITHM = 1\n"})
    with installed(package), pytest.raises(UsageError, match=r"entry point 'odd' .* is neither a TreeAlgorithm nor"):
        list(TREE_ALGORITHMS)

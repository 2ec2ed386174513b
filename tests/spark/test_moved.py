"""Nodes that were moved to tables of their own are read by Spark as by the reader of one machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import treeanon as ta
from tests.reference.relational_releases import draw_release
from tests.reference.trees import multiset
from tests.support.spark_worlds import by_spark, said
from treeanon.errors import DataError
from treeanon.schema import Schema
from treeanon.spark.relational_read.inputs import FolderTables

SECRET = "s3cret"
SCHEMA = """
version = 1
[input]
format = "tables"
objects = "merged"
record = "person"
key = ["visit.person -> person.id"]
[[class]]
name = "age"
path = "age"
[[class]]
name = "ward"
path = "visit[kind=in].ward"
[[class]]
name = "illness"
path = "visit[kind=in].illness"
[[class]]
name = "drug"
path = "visit[kind=in].drug"
under = "illness"
[[class]]
name = "reason"
path = "visit[kind=out].illness"
[[class]]
name = "advice"
path = "visit[kind=out].drug"
"""


def check(spark: Any, folder: Path, schema: Schema) -> None:
    """The same trees, and the same to tell of them."""
    forest = ta.read(folder, schema)
    found, report = by_spark(spark, FolderTables(str(folder)), schema)
    assert forest.report is not None
    assert multiset(found) == multiset(forest.records())
    assert said(report) == said(forest.report)


def check_release(spark: Any, folder: Path, seed: int) -> None:
    rnd = Random(seed)
    while True:
        found, forest = draw_release(rnd, rnd.choice(["csv", "parquet"]))
        ta.write(forest, folder)
        if list(folder.glob("treeanon_moved_*")):
            break
        shutil.rmtree(folder)
    check(spark, folder, found.case.schema)


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_random_releases(spark: Any, tmp_path: Path, seed: int) -> None:
    check_release(spark, tmp_path / "out", seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_many_random_releases(spark: Any, tmp_path: Path, seed: int) -> None:
    check_release(spark, tmp_path / "out", seed)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release in which drugs and advice were moved, to rows of visits and to persons."""
    place = tmp_path_factory.mktemp("release")
    folder = place / "in"
    folder.mkdir()
    (folder / "person.csv").write_text("id,age\n" + "".join(f"{n},{n % 5}\n" for n in range(20)))
    visits = [f"{n % 20},{('in', 'out')[n % 2]},W{n % 3},I{n % 2},D{n % 4}\n" for n in range(60)]
    (folder / "visit.csv").write_text("person,kind,ward,illness,drug\n" + "".join(visits))
    forest = ta.read(folder, ta.Schema.loads(SCHEMA))
    pairs = [(("illness", "I0"), ("drug", "D2")), (("reason", "I1"), ("advice", "D3")), (("age", "4"), ("ward", "W1"))]
    ta.write(forest.disassociate(pairs), place / "out")
    assert len(list((place / "out").glob("treeanon_moved_*"))) == 2
    return place / "out"


def test_moved_nodes(spark: Any, release: Path) -> None:
    check(spark, release, ta.Schema.loads(SCHEMA))


Change = Callable[[list[str]], list[str]]


def of_line(change: Callable[[list[str]], list[str]]) -> Change:
    """A change of the first row."""
    return lambda lines: [lines[0], ",".join(change(lines[1].split(","))), *lines[2:]]


WRONG: dict[str, Change] = {
    "a node above that is not there": of_line(lambda cells: [cells[0], "999", *cells[2:]]),
    "a node above itself": of_line(lambda cells: [cells[0], cells[0], *cells[2:]]),
    "a row that is not there": of_line(lambda cells: [*cells[:-1], "999"]),
    "no row": of_line(lambda cells: [*cells[:-1], ""]),
    "a class that is not there": of_line(lambda cells: [*cells[:2], f'"{SECRET}"', *cells[3:]]),
    "a node twice": lambda lines: [*lines, lines[1]],
    "a key of another type": of_line(lambda cells: [*cells[:-1], SECRET]),
    "no class": lambda lines: [line.replace('"class"', '"kind"') for line in lines],
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_as_by_the_reader(spark: Any, release: Path, tmp_path: Path, name: str) -> None:
    folder = changed(release, tmp_path, WRONG[name])
    for read in (lambda: ta.read(folder, SPEC), lambda: by_spark(spark, FolderTables(str(folder)), SPEC)):
        with pytest.raises(DataError) as caught:
            read()
        assert SECRET not in str(caught.value)


MORE: dict[str, Change] = {
    "a further column": lambda lines: [lines[0] + ",more", *(f"{line},{SECRET}" for line in lines[1:])],
    "other numbers": lambda lines: [lines[0], *(f"7{line}" for line in lines[1:])],
    "an order": lambda lines: [lines[0], *reversed(lines[1:])],
}


@pytest.mark.parametrize("name", MORE)
def test_what_says_more_is_told(spark: Any, release: Path, tmp_path: Path, name: str) -> None:
    check(spark, changed(release, tmp_path, MORE[name]), SPEC)


SPEC = ta.Schema.loads(SCHEMA)


def changed(release: Path, tmp_path: Path, change: Change) -> Path:
    """The release with one table of moved nodes changed, and its description without that of the columns."""
    folder = tmp_path / "changed"
    shutil.copytree(release, folder)
    (folder / "datapackage.json").unlink()
    path = folder / "treeanon_moved_visit.csv"
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    return folder

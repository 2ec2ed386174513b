"""Flat views: against a slow twin that goes through records one by one."""

from __future__ import annotations

import csv
import json
import sqlite3
import statistics
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.profiles import few
from treeanon.cli.flatten import command
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.table.covers import level_maps
from treeanon.table.reductions import flatten, number_builder, set_hierarchy

SECRET = "s3cret-value"
TEXT = """
version = 1
[input]
format = "ndjson"
[[class]]
name = "town"
path = "town"
[[class]]
name = "ward"
path = "stays[].ward"
[[class]]
name = "ill"
path = "stays[].ills[].name"
[[class]]
name = "cost"
path = "stays[].ills[].cost"
type = "number"
[[class]]
name = "day"
path = "stays[].ills[].day"
type = "date"
"""
SCHEMA = ta.Schema.loads(TEXT)
HOW = {
    "town": ["count", "mode", "set"],
    "ward": ["count", "mode", "set"],
    "ill": ["count", "mode", "set"],
    "cost": ["count", "min", "max", "mean", "mode", "set"],
    "day": ["count", "min", "max", "mode", "set"],
}
VALUES = {
    "town": ["Ulm", "Bonn"],
    "ward": ["W1", "W2", 'a"b'],
    "ill": ["Flu", "Gout", "*x", "["],
    "cost": ["0", "-1.5", "0.1", "0.2", "1e3", "1000", "12345678901234567890", "1e-9"],
    "day": ["2020-02-29", "2020-03-01", "1999-12-31"],
}


@st.composite
def records(draw: st.DrawFn) -> list[Any]:
    def node(name: str, children: list[Any]) -> list[Any]:
        return [name, draw(st.sampled_from(VALUES[name])), children]

    def ill() -> list[Any]:
        names = [name for name in ("cost", "day") for _ in range(draw(st.integers(0, 2)))]
        return node("ill", [node(name, []) for name in names])

    def stay() -> list[Any]:
        return node("ward", [ill() for _ in range(draw(st.integers(0, 3)))])

    def record() -> list[Any]:
        towns = [node("town", []) for _ in range(draw(st.integers(0, 1)))]
        return towns + [stay() for _ in range(draw(st.integers(0, 3)))]

    return [record() for _ in range(draw(st.integers(1, 6)))]


def values_in(tree: list[Any], wanted: str) -> list[str]:
    found: list[str] = []
    for name, value, children in tree:
        found += [value] if name == wanted else []
        found += values_in(children, wanted)
    return found


def slow(values: list[str], how: str, order: list[str]) -> str | None:
    """One value for many, by the words of the reductions; `order` is that of the hierarchy."""
    if how == "count":
        return str(len(values))
    if not values:
        return None
    if how == "set":
        return json.dumps(sorted(set(values)), separators=(",", ":"), ensure_ascii=False)
    in_order = sorted(values, key=order.index)
    if how == "mode":
        most = max(Counter(values).values())
        return next(value for value in in_order if values.count(value) == most)
    if "-0" in values[0] or "-1" in values[0][1:]:  # days
        return min(values) if how == "min" else max(values)
    if how == "mean":
        mean = float(statistics.mean(map(Fraction, values)))
        return mean  # type: ignore[return-value]
    best = (min if how == "min" else max)(map(Fraction, values))
    return next(value for value in in_order if Fraction(value) == best)


@few(40, 80)
@given(records(), st.data())
def test_it_does_what_a_slow_twin_does(trees: list[Any], data: st.DataObject) -> None:
    forest = ta.Forest.from_records(SCHEMA, trees)
    # Equal siblings are one: the records as the forest has them.
    merged = list(forest.records())
    reductions = {name: data.draw(st.sampled_from(ways), name) for name, ways in HOW.items()}
    single = [name for name in HOW if all(len(values_in(tree, name)) <= 1 for tree in merged)]
    for name in single:
        if data.draw(st.booleans()):
            del reductions[name]
    table = flatten(forest, reductions)
    assert len(table) == len(trees) and [column.name for column in table.columns] == list(HOW)
    for name in HOW:
        own = forest.classes.hierarchies[forest.classes.index(name)]
        how = reductions.get(name)
        found = table.column(name).texts()
        wanted = [
            slow(values, how, list(own.texts)) if how else (values[0] if values else None)
            for values in (values_in(tree, name) for tree in merged)
        ]
        if how == "mean":
            assert [None if text is None else float(text) for text in found] == wanted
        else:
            assert found == wanted
        if how in (None, "min", "max", "mode"):
            assert table.column(name).hierarchy is own


@few(50, 100)
@given(records())
def test_never_a_silent_choice(trees: list[Any]) -> None:
    forest = ta.Forest.from_records(SCHEMA, trees)
    several = [name for name in HOW if any(len(values_in(tree, name)) > 1 for tree in forest.records())]
    if not several:
        assert len(flatten(forest).columns) == 5
        return
    with pytest.raises(UsageError, match="occur several times") as problem:
        flatten(forest)
    for name in HOW:
        assert (f"{name} ({', '.join(HOW[name])})" in str(problem.value)) == (name in several)


def test_reductions_that_do_not_fit() -> None:
    forest = ta.Forest.from_records(SCHEMA, [[["town", "Ulm", []], ["cost", SECRET, []], ["day", "2020", []]]])
    for reductions, said in (
        ({"city": "count"}, "unknown class 'city' to reduce; choose from town, ward, ill, cost, day"),
        ({"town": "min"}, "'min' is no reduction of a class of type text; choose from count, mode, set"),
        ({"day": "mean"}, "'mean' is no reduction of a class of type date; choose from count, min, max, mode, set"),
        ({"town": "first"}, "'first' is no reduction"),
        ({"cost": "mean"}, "class 'cost': 1 of its 1 different values are no numbers"),
        ({"cost": "max"}, "are no numbers"),
        ({"day": "min"}, "class 'day': 1 of its 1 different values are no days"),
    ):
        with pytest.raises(UsageError) as problem:
            flatten(forest, reductions)
        assert said in str(problem.value) and SECRET not in str(problem.value)


def test_missing_and_star() -> None:
    forest = ta.Forest.from_records(SCHEMA, [[], [["town", "Ulm", []]]])
    everything = flatten(forest, {name: "count" for name in HOW if name != "town"})
    assert list(everything.rows()) == [(None, "0", "0", "0", "0"), ("Ulm", "0", "0", "0", "0")]
    assert list(flatten(forest.project("*")).rows()) == [(None,) * 5] * 2
    empty = ta.Forest.from_records(SCHEMA, [[]])
    assert list(flatten(empty, dict.fromkeys(HOW, "set")).rows()) == [(None,) * 5]
    assert list(flatten(empty, {"cost": "mean", "day": "max"}).rows()) == [(None,) * 5]


# --- hierarchies of what is new ---------------------------------------------------------------------------------------


@few(50, 100)
@given(st.lists(st.integers(-(10**6), 10**6), unique=True, min_size=1, max_size=60), st.booleans())
def test_numbers_have_a_place(numbers: list[int], is_integer: bool) -> None:
    texts = [str(number) if is_integer else str(number / 4) for number in numbers]
    hierarchy = number_builder(texts, is_integer=is_integer).build(texts)
    codes = hierarchy.encode(texts)
    assert (codes > 0).all() and all(hierarchy.is_leaf(code) for code in codes.tolist())
    assert (hierarchy.height > 1) <= (len(numbers) > 8)


ILLS = Hierarchy.from_paths(
    [["flu", "lung", "*"], ["cold", "lung", "*"], ["acne", "skin", "*"], ["gout", "*"], ["a", "b", "c", "lung", "*"]]
)


@few(75, 150)
@given(st.sets(st.sets(st.integers(0, len(ILLS) - 1), min_size=1).map(lambda s: tuple(sorted(s))), min_size=1))
def test_sets_go_up_together(sets: set[tuple[int, ...]]) -> None:
    """At every level, a set is the set of what its members are at that level of their own hierarchy."""
    hierarchy, place = set_hierarchy(ILLS, sets)
    own, maps = level_maps(ILLS), level_maps(hierarchy)
    for one in sets:
        seen = {hierarchy.texts[maps[level, place[one]]] for level in range(hierarchy.height + 1)}
        wanted = []
        for level in range(len(own)):
            members = sorted({int(own[level, node]) for node in one})
            texts = sorted(ILLS.texts[node] for node in members)
            wanted.append("*" if members == [0] else json.dumps(texts, separators=(",", ":")))
        assert seen <= set(wanted) and seen >= {wanted[0], "*"}
        path = [hierarchy.texts[node] for node in hierarchy.ancestors(place[one])]
        assert path == list(dict.fromkeys(wanted))


# --- foreign keys, and the command ------------------------------------------------------------------------------------


def clinic(folder: Path) -> tuple[Path, Path]:
    """A database of persons, their visits and looked-up wards; and a schema of it."""
    made = sqlite3.connect(folder / "clinic.db")
    made.executescript(
        """
        CREATE TABLE ward (id INTEGER PRIMARY KEY, name);
        CREATE TABLE person (id INTEGER PRIMARY KEY, age, ward REFERENCES ward (id));
        CREATE TABLE visit (person REFERENCES person (id), cost, ill);
        INSERT INTO ward VALUES (1, 'North'), (2, 'South');
        INSERT INTO person VALUES (1, 34, 1), (2, 35, NULL), (3, NULL, 1);
        INSERT INTO visit VALUES (1, 10, 'Flu'), (1, 10, 'Flu'), (1, 20, 'Gout'), (2, 5, NULL);
        """
    )
    made.close()
    schema = folder / "s.toml"
    schema.write_text(
        'version = 1\n[input]\nformat = "sqlite"\nrecord = "person"\n'
        '[[class]]\nname = "age"\npath = "age"\ntype = "integer"\n'
        '[[class]]\nname = "ward"\npath = "ward.name"\n'
        '[[class]]\nname = "ill"\npath = "visit.ill"\n'
        '[[class]]\nname = "cost"\npath = "visit.cost"\ntype = "integer"\n'
    )
    return folder / "clinic.db", schema


def run(*arguments: object) -> Any:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_one_row_a_person_of_a_database(tmp_path: Path) -> None:
    source, schema = clinic(tmp_path)
    forest = ta.read(source, ta.Schema.load(schema))
    rows = list(flatten(forest, {"ill": "set", "cost": "max"}).rows())
    assert rows == [("34", "North", '["Flu","Gout"]', "20"), ("35", None, None, "5"), (None, "North", None, None)]


def test_command(tmp_path: Path) -> None:
    source, schema = clinic(tmp_path)
    done = run(
        source, "-s", schema, "-o", tmp_path / "o.csv", "--reduce", "ill=count", "--reduce", "cost=mean", "--json"
    )
    assert done.exit_code == 0
    with (tmp_path / "o.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["age", "ward", "ill", "cost"]
    # Equal visits are one.
    assert sorted(rows) == [["", "North", "0", ""], ["34", "North", "2", "15"], ["35", "", "0", "5"]]
    told = json.loads(done.stdout)
    assert told["rows"] == 3 and told["columns"][3] == {
        "name": "cost",
        "reduction": "mean",
        "missing": 1,
        "different": 2,
    }
    done = run(source, "-s", schema, "-o", tmp_path / "o.parquet", "--reduce", "ill=set", "--reduce", "cost=min", "-q")
    assert done.exit_code == 0 and done.output == ""
    assert sorted(pq.read_table(tmp_path / "o.parquet")["cost"].to_pylist(), key=str) == [10, 5, None]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "o.csv"], "cost (count, min, max, mean, mode, set)"),
        (["-o", "o.csv", "--reduce", "ill"], "must be CLASS=HOW"),
        (["-o", "o.csv", "--reduce", "ill=set", "--reduce", "ill=mode"], "is given twice"),
        (["-o", "o.xml"], "a table is written as csv or parquet"),
        (["-o", "o"], "a table is written as csv or parquet"),
        (["-o", "clinic.db", "--to", "csv", "--force"], "is an input; choose another output"),
        (["-o", "-", "--json"], "choose one"),
        (["-o", "no/o.csv"], "its folder does not exist"),
    ],
)
def test_command_refuses(arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clinic(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    done = run("clinic.db", "-s", "s.toml", *arguments)
    assert done.exit_code != 0 and said in f"{done.output}{done.exception}"
    assert sorted(tmp_path.rglob("*")) == before


def test_rows_keep_their_delimiter(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("a;b\n1;2\n")
    (tmp_path / "s.toml").write_text(
        'version = 1\n[input]\nformat = "csv"\n[[class]]\nname = "b"\npath = "b"\n[[class]]\nname = "a"\npath = "a"\n'
    )
    assert run(tmp_path / "p.csv", "-s", tmp_path / "s.toml", "-o", tmp_path / "o.csv").exit_code == 0
    assert (tmp_path / "o.csv").read_text() == '"b";"a"\n"2";"1"\n'

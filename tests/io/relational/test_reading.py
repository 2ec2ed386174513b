"""Reading tables gives the trees that nesting their rows one by one gives."""

from __future__ import annotations

import json
import re
import tempfile
import traceback
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import treeanon as ta
from tests.reference.relational import Hop, MemorySource, MemoryTable, SlowReader, World, memory, schema_text
from tests.support.relational_worlds import draw_world
from tests.support.strategies import properties
from treeanon.errors import DataError
from treeanon.forest import Forest, ForestBuilder
from treeanon.io.interface import ReadOptions
from treeanon.io.relational.reading import read_tables, resolved
from treeanon.schema import Schema
from treeanon.schema.relational import nested


def read(source: MemorySource, schema: Schema, options: ReadOptions | None = None) -> Forest:
    schema = resolved(schema, source)
    builder = ForestBuilder(schema)
    builder.add(read_tables(source, schema, options or ReadOptions(), builder.report))
    return builder.finish()


def labels_of(world: World, plain: Schema) -> dict[tuple[Hop, ...], str]:
    """The name that each step has in nested documents."""
    labels = {}
    for f, spec in zip(world.fields, plain.classes, strict=True):
        assert spec.path is not None
        for depth in range(len(f.hops)):
            labels[f.hops[: depth + 1]] = spec.path.steps[depth].name or ""
    return labels


def check_reading(rnd: Random) -> None:
    world = draw_world(rnd)
    schema = resolved(Schema.loads(schema_text(world, rnd)), world.source)
    forest = read(world.source, schema, ReadOptions(on_error="skip"))
    plain = nested(schema)
    slow = SlowReader(world, labels_of(world, plain))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "slow.ndjson")
        path.write_text("".join(json.dumps(document) + "\n" for document in slow.documents()))
        twin = ta.read(path, plain)
    assert forest == twin
    report = forest.report.as_dict()
    assert report["dangling_keys"] == slow.dangling()
    assert report["rows_in_circles"] == slow.circles()
    assert report["rows_of_nobody"] == slow.of_nobody()
    assert report["tables_not_read"] == slow.unread()
    assert len(world.source.asked) == len(set(world.source.asked)), "a table is read once"
    if not any(hop.kind for f in world.fields for hop in f.hops):
        assert plain_dropped(forest, world) == plain_dropped(twin, world)


def plain_dropped(forest: Forest, world: World) -> dict[str, int]:
    """What was dropped of columns that hold no key and that no class has, in whichever table."""
    wanted = {name for name in ("value 0", "value 1", "value 2") if all(f.column != name for f in world.fields)}
    counts = forest.report.dropped.places
    return {
        re.sub(r"[\[\]'\"]", "", place) + name: times
        for place, names in counts.items()
        for name, times in names.items()
        if name in wanted
    }


test_reading, test_reading_thoroughly = properties(check_reading, 50)


# --- examples --------------------------------------------------------------------------------------------------------

SECRET = "s3cret"
HEAD = 'version = 1\n[input]\nformat = "tables"\nobjects = "merged"\n'


def schema_of(record: str, keys: list[str], **paths: str) -> Schema:
    classes = "".join(
        f"[[class]]\nname = {json.dumps(name)}\npath = {json.dumps(path)}\n" for name, path in paths.items()
    )
    return Schema.loads(f"{HEAD}record = {json.dumps(record)}\nkey = {json.dumps(keys)}\n{classes}")


def trees(source: MemorySource, schema: Schema, options: ReadOptions | None = None) -> list[object]:
    return list(read(source, schema, options).records())


def test_overlapping_composite_keys() -> None:
    source = memory(
        {
            "orders": {"id": [1, 2], "date": ["May", "June"]},
            "lines": {"order_id": [1, 1, 2], "line_no": [1, 2, 1], "item": ["nut", "bolt", "nut"]},
            "notes": {"order_id": [1, 2, 2], "line_no": [2, 1, None], "text": ["late", "lost", "whole order"]},
        },
    )
    keys = [
        "lines.order_id -> orders.id",
        "notes.order_id -> orders.id",
        "notes.(line_no, order_id) -> lines.(line_no, order_id)",
    ]
    schema = schema_of("orders", keys, date="date", item="lines.item", note="lines.notes.text", all="notes.text")
    assert trees(source, schema) == [
        [["all", "late", []], ["date", "May", []], ["item", "bolt", [["note", "late", []]]], ["item", "nut", []]],
        [
            ["all", "lost", []],
            ["all", "whole order", []],
            ["date", "June", []],
            ["item", "nut", [["note", "lost", []]]],
        ],
    ]


def test_many_to_many() -> None:
    source = memory(
        {
            "student": {"id": [1, 2], "year": [1, 2]},
            "enrolled": {"s": [1, 1, 2, 9], "c": [7, 8, 7, 7], "grade": ["A", "B", None, "D"]},
            "course": {"id": [7, 8], "title": ["maths", "art"]},
        },
    )
    keys = ["enrolled.s -> student.id", "enrolled.c -> course.id"]
    schema = schema_of("student", keys, title="enrolled.course.title", grade="enrolled.grade")
    assert trees(source, schema) == [
        [["title", "art", [["grade", "B", []]]], ["title", "maths", [["grade", "A", []]]]],
        [["title", "maths", []]],
    ]
    report = read(source, schema).report.as_dict()
    assert (report["dangling_keys"], report["rows_of_nobody"]) == ({"enrolled.s -> student.id": 1}, {"enrolled": 1})


def test_a_table_of_persons_alone_and_one_without_rows() -> None:
    source = memory({"person": {"id": [1, 2], "ssn": ["1", "2"]}, "visit": {"of": [], "why": []}})
    only = schema_of("person", ["visit.of -> person.id"], why="visit.why")
    assert trees(source, only) == [[], []]
    hidden = Schema.loads(f'{HEAD}record = "person"\n[[class]]\nname = "ssn"\npath = "ssn"\nrole = "identifier"\n')
    assert trees(source, hidden) == [[], []]
    source.held["person"] = MemoryTable({"id": [], "ssn": []})
    assert len(read(source, only)) == 0


def test_the_kind_of_a_row_is_compared_as_its_text() -> None:
    source = memory(
        {"person": {"id": [1]}, "fact": {"of": [1, 1, 1], "code": [1.5, 2.0, None], "what": ["a", "b", "c"]}}
    )
    schema = schema_of(
        "person", ["fact.of -> person.id"], a="fact[code=1.5].what", b="fact[code=2].what", c="fact[code=9].what"
    )
    assert trees(source, schema) == [[["a", "a", []], ["b", "b", []]]]


# --- what is refused -------------------------------------------------------------------------------------------------

VISITS = ["visit.of -> person.id"]


def refused(source: MemorySource, schema: Schema, options: ReadOptions | None = None) -> str:
    """The message, which holds no value of the data."""
    with pytest.raises(DataError) as caught:
        read(source, schema, options)
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in shown and "77123" not in shown
    return str(caught.value)


def people(ids: list[Any], of: list[Any], why: list[Any] | None = None) -> MemorySource:
    return memory({"person": {"id": ids}, "visit": {"of": of, "why": why or ["x"] * len(of)}})


def test_keys_of_different_types_clash() -> None:
    schema = schema_of("person", VISITS, why="visit.why")
    assert refused(people([77123], [SECRET]), schema) == (
        "memory: visit.of holds texts, but person.id, which it refers to, integers;"
        " a key and its target must have the same type"
    )
    clash = "visit.of holds values of type bool, but person.id, which it refers to, texts"
    assert clash in refused(people([SECRET], [True]), schema)


def test_a_key_that_is_referred_to_is_unique() -> None:
    schema = schema_of("person", VISITS, why="visit.why")
    expected = (
        "memory, table 'person', row 4, person.id: has the same key as table 'person', row 2;"
        " visit.of -> person.id needs it to be unique"
    )
    assert refused(people([1, 77123, None, 77123, 77123], [1]), schema) == expected
    assert refused(people(["a", SECRET, None, SECRET, "b"], ["a"]), schema) == expected
    assert refused(people([2**62, 77123, None, 77123, -(2**62)], [1]), schema) == expected
    assert len(read(people([1, None, None], [1]), schema)) == 3, "null is no key"


def test_dangling_keys_are_counted_or_refused() -> None:
    schema = schema_of("person", VISITS, why="visit.why")
    source = people([1], [1, None, 77123, 5])
    assert read(source, schema).report.dangling == {"visit.of -> person.id": 2}
    expected = "memory, table 'visit', row 3, visit.of: refers to a row of 'person' that is not there (2 rows do)"
    assert refused(source, schema, ReadOptions(strict=True)) == expected


@pytest.mark.parametrize("path", ["staff(boss)[].name", "staff(boss).name"])
def test_rows_in_a_circle_are_refused_or_cut(path: str) -> None:
    ids, bosses = [1, 2, 3, 4, 5, 6], [2, 3, 2, 1, 5, None]
    source = memory({"staff": {"id": ids, "boss": bosses, "name": list("abcdef")}})
    schema = schema_of("staff", ["staff.boss -> staff.id"], own="name", other=path)
    assert refused(source, schema) == (
        "memory, table 'staff', row 2, staff.boss: leads back to itself by staff.boss -> staff.id:"
        " 3 rows refer to each other in a circle"
    )
    forest = read(source, schema, ReadOptions(on_error="skip"))
    assert forest.report.circles == {"staff.boss -> staff.id": 3} and not forest.report.dangling
    pairs = {("a", "b"), ("d", "a")}
    met = {(tree[1][1], tree[0][1]) if "[]" in path else (tree[0][1], tree[1][1]) for tree in _pairs(forest)}
    assert met == pairs


def _pairs(forest: Forest) -> list[list[list[str]]]:
    """Own and other name of the records that have both, the subordinate first."""
    found = []
    for record in forest.records():
        names = {name: value for name, value, _ in record}
        if len(names) == 2:
            found.append([["own", names["own"]], ["other", names["other"]]])
    return found


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ([1.0, float("nan")], pa.float64(), "row 2, visit.why: holds a number that is not finite (NaN or infinity)"),
        (["a", SECRET + "\0"], pa.string(), "row 2, visit.why: holds a NUL character, which no value may"),
        ([[SECRET], []], pa.list_(pa.string()), "visit.why: holds values of type list<item: string>, which no class"),
        ([b"s3cret", None], pa.binary(), "visit.why: holds values of type binary, which no class can have"),
    ],
)
def test_a_column_without_texts_is_refused(values: list[Any], kind: pa.DataType, message: str) -> None:
    source = people([1], [1, 1], values)
    source.held["visit"].types["why"] = kind
    assert message in refused(source, schema_of("person", VISITS, why="visit.why"))


# --- moved nodes -----------------------------------------------------------------------------------------------------

MOVED = {
    "node": [1, 2, 3, 4],
    "above": [None, None, 2, None],
    "under": ["why", "/", None, "/"],
    "class": ["drug", "why", "drug", "*"],
    "value": ["rest", "flu", "tea", "*"],
    "of_id": [12, 11, None, 11],
}


def moved(table: str, **changed: list[Any]) -> MemorySource:
    """Two persons, their visits, and moved nodes: those of visits by default; columns may be changed."""
    columns = {**MOVED, **changed}
    return memory(
        {
            "person": {"id": [11, 10]},
            "visit": {"id": [11, 12], "of": [11, 10], "why": ["cold", "flu"], "drug": ["tea", None]},
            f"treeanon_moved_{table}": {name: values for name, values in columns.items() if values != []},
        }
    )


WHY = schema_of("person", VISITS, why="visit.why", drug="visit.drug")


def rows(*chosen: int) -> dict[str, list[Any]]:
    """The moved nodes of some rows only."""
    return {name: [values[row] for row in chosen] for name, values in MOVED.items()}


def test_moved_nodes_hang_on_the_rows_that_are_left() -> None:
    cold = ["why", "cold", [["drug", "tea", []]]]
    flu = ["why", "flu", []]
    assert trees(moved("visit", **rows(0)), WHY) == [[cold], [["why", "flu", [["drug", "rest", []]]]]]
    found = read(moved("person", **rows(1, 2, 3)), WHY)
    assert list(found.records()) == [[["*", "*", []], cold, ["why", "flu", [["drug", "tea", []]]]], [flu]]
    assert found.report.unread_tables == []


@pytest.mark.parametrize(
    ("table", "changed", "message"),
    [
        ("visit", {"above": []}, "memory, table 'treeanon_moved_visit': has no column 'above'"),
        ("visit", {"of_id": []}, "its columns of_… must name the key of table 'visit'"),
        ("visit", {"of_no": [1, 2, 3, 4]}, "its columns of_… must name the key of table 'visit'"),
        ("visit", rows(0) | {"class": [SECRET]}, "row 1: a node names a class that the schema does not publish"),
        ("visit", rows(0) | {"class": [None]}, "row 1: a node names a class that the schema does not publish"),
        ("visit", rows(0) | {"value": [None]}, "row 1: a value must not be empty or hold a NUL character"),
        ("visit", rows(0) | {"value": [SECRET + "\0"]}, "treeanon_moved_visit'"),
        ("visit", rows(0) | {"under": ["/"]}, "row 1: a node must lie under a class of the row that it belongs to"),
        ("visit", rows(0) | {"under": [SECRET]}, "row 1: a node must lie under a class of the row that it"),
        ("visit", rows(0) | {"class": ["why"]}, "row 1: a node lies under a class that is not above its own"),
        ("visit", rows(0) | {"of_id": [77123]}, "row 1: refers to a row that is not there"),
        ("visit", rows(0) | {"of_id": [None]}, "row 1: refers to a row that is not there"),
        ("visit", rows(0) | {"of_id": [SECRET]}, "not of the type of those they refer to"),
        ("visit", rows(0) | {"above": [77123]}, "row 1: refers to a row that is not there"),
        ("visit", rows(0) | {"above": [1]}, "row 1: leads back to itself"),
        ("person", rows(1, 2) | {"above": [3, 2]}, "row 1: leads back to itself"),
        ("person", rows(1, 2) | {"node": [2, 2]}, "holds keys that are not unique"),
        ("person", rows(1, 2) | {"class": ["drug", "why"]}, "row 1: a node lies under a class that is not"),
        ("person", rows(3) | {"value": ["?"]}, "row 1: the class '*' has one value, '*', directly under"),
    ],
)
def test_malformed_moved_nodes_are_refused(table: str, changed: dict[str, list[Any]], message: str) -> None:
    assert message in refused(moved(table, **changed), WHY)


@pytest.mark.parametrize("primary", [("id",), ("id", "year")])
def test_rows_with_one_primary_key_are_refused(primary: tuple[str, ...]) -> None:
    """Also where no key refers to them: a person must not stand in the record table twice."""
    columns = {"id": [5, 7, 5, None], "year": [1, 1, 1, 1], "age": ["a", "b", "c", "d"]}
    source = MemorySource({"person": MemoryTable(columns, primary=primary)})
    schema = Schema.loads(
        'version = 1\n[input]\nformat = "tables"\nrecord = "person"\n[[class]]\nname = "age"\npath = "age"'
    )
    with pytest.raises(DataError, match=r"row 3.*has the same primary key as .*row 1"):
        read_tables(source, resolved(schema, source), ReadOptions(), ForestBuilder(resolved(schema, source)).report)

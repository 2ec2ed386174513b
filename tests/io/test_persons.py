"""`person`: rows with one value are one record, in every format, and releases are such rows again."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from tests.support.profiles import few
from treeanon.errors import DataError, SchemaError, UsageError
from treeanon.forest import persons as forest_persons
from treeanon.io.columns.read_table import read_table
from treeanon.io.memory import forest_of_records

INPUTS = {
    "ndjson": 'format = "ndjson"\nperson = "subject.reference"\n',
    "json": 'format = "json"\nrecord = "rows[]"\nperson = "subject.reference"\n',
    "xml": 'format = "xml"\nrecord = "rows/row"\nperson = "subject/@ref"\n',
    "csv": 'format = "csv"\nperson = "pid"\n',
    "parquet": 'format = "parquet"\nperson = "pid"\n',
}
CLASS = '[[class]]\nname = "{0}"\npath = "{1}"\n'
FLAT = CLASS.format("disease", "disease") + CLASS.format("drug", "drug") + CLASS.format("sex", "sex") + 'under = "/"\n'
NESTED = CLASS.format("code", "codes[]{0}code") + CLASS.format("display", "codes[]{0}display")
IS_FLAT = ("csv", "parquet")


WHOLE = 'objects = "whole"\n'


def schema_of(form: str, *, nested: bool = False, more: str = "") -> ta.Schema:
    classes = FLAT.replace('under = "/"\n', "") if WHOLE in more else FLAT
    classes += NESTED.format("/@" if form == "xml" else ".") if nested and form not in IS_FLAT else ""
    return ta.Schema.loads(f"version = 1\n[input]\n{INPUTS[form]}{more}{classes}")


def put(rows: list[dict[str, Any]], form: str, folder: Path) -> Path:
    """Write rows as a file of a format, by hand."""
    path = folder / f"in.{form}"
    if form in IS_FLAT:
        names = ("pid", "disease", "drug", "sex")
        columns = {name: pa.array([row.get(name) for row in rows], pa.string()) for name in names}
        if form == "parquet":
            pq.write_table(pa.table(columns), path)
            return path
        with path.open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(names)
            writer.writerows([row.get(name) or "" for name in names] for row in rows)
        return path
    path.write_text({"ndjson": _lines, "json": _array, "xml": _elements}[form](rows))
    return path


def _document(row: dict[str, Any]) -> dict[str, Any]:
    own = {"subject": {"reference": row["pid"]}} if row.get("pid") else {}
    return own | {name: value for name, value in row.items() if name != "pid" and value}


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(_document(row)) + "\n" for row in rows)


def _array(rows: list[dict[str, Any]]) -> str:
    return json.dumps({"rows": [_document(row) for row in rows]})


def _elements(rows: list[dict[str, Any]]) -> str:
    texts = []
    for row in rows:
        inner = f'<subject ref="{escape(row["pid"])}"/>' if row.get("pid") else ""
        inner += "".join(f"<{n}>{row[n]}</{n}>" for n in ("disease", "drug", "sex") if row.get(n))
        for code in row.get("codes", []):
            inner += "<codes" + "".join(f' {name}="{value}"' for name, value in code.items()) + "/>"
        texts.append(f"<row>{inner}</row>")
    return f"<rows>{''.join(texts)}</rows>"


def trees(forest: ta.Forest) -> list[str]:
    """Return the records of a forest as texts, in an order of their own."""
    return sorted(map(json.dumps, forest.records()))


def twin(rows: list[dict[str, Any]], *, nested: bool, more: str = "") -> list[str]:
    """Return the trees of persons as nested documents would have them, grouped by a dict."""
    people: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        people[row["pid"]].append({name: value for name, value in row.items() if name != "pid" and value})
    text = f'version = 1\n[input]\nformat = "ndjson"\n{more}{FLAT}' + (NESTED.format(".") if nested else "")
    if more == WHOLE:
        text = text.replace('under = "/"\n', "")
    schema = ta.Schema.loads(text.replace('path = "', 'path = "rows[].'))
    return trees(forest_of_records([{"rows": own} for own in people.values()], schema))


CODES = st.lists(
    st.fixed_dictionaries({}, optional={"code": st.sampled_from("CD"), "display": st.sampled_from("uv")}).filter(bool),
    max_size=2,
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"pid": st.sampled_from(["7", "b & c", "Ä"])},
        optional={
            "disease": st.sampled_from(["Flu", "Cold", None]),
            "drug": st.sampled_from("xyz"),
            "sex": st.sampled_from("fm"),
            "codes": CODES,
        },
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("more", ["", WHOLE])
@pytest.mark.parametrize("form", INPUTS)
@settings(max_examples=30)
@given(rows=ROWS)
def test_rows_are_grouped_and_written_again(
    tmp_path_factory: pytest.TempPathFactory, form: str, more: str, rows: Any
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    nested = form not in IS_FLAT
    schema = schema_of(form, nested=nested, more=more)
    forest = ta.read(put(rows, form, folder), schema)
    known = [{n: v for n, v in r.items() if nested or n != "codes"} for r in rows]
    assert trees(forest) == twin(known, nested=nested, more=more)
    ta.write(forest, folder / f"out.{form}")
    again = ta.read(folder / f"out.{form}", schema)
    assert trees(again) == trees(forest)
    ta.write(forest, folder / "out.trees.jsonl")
    assert trees(ta.read(folder / "out.trees.jsonl", schema)) == trees(forest)


@pytest.mark.parametrize("form", INPUTS)
@settings(max_examples=25)
@given(rows=ROWS, data=st.data())
def test_what_is_out_of_place_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, form: str, rows: Any, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    schema = schema_of(form, nested=True)
    forest = ta.read(put(rows, form, folder), schema)
    layout = forest.schema.layout
    pairs = [
        (above, below)
        for above, below in product(sorted(labels(forest)), repeat=2)
        if above[0] != below[0] and layout.is_below(layout.class_index(below[0]), layout.class_index(above[0]))
    ]
    if not pairs:
        return
    chosen = data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=3))
    moved = forest.disassociate(chosen)
    ta.write(moved, folder / f"out.{form}")
    assert trees(ta.read(folder / f"out.{form}", schema)) == trees(moved)


def labels(forest: ta.Forest) -> set[tuple[str, str]]:
    return {forest.classes.decode(label) for label in np.unique(forest.label).tolist()}


def test_a_worked_example(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("pid,disease,drug,sex\n7,Flu,x,f\n8,Cold,y,m\n7,Flu,z,f\n7,,y,f\n")
    forest = ta.read(tmp_path / "in.csv", schema_of("csv"))
    assert list(forest.records()) == [
        [
            ["disease", "Flu", [["drug", "x", []], ["drug", "z", []]]],
            ["drug", "y", []],
            ["sex", "f", []],
        ],
        [["disease", "Cold", [["drug", "y", []]]], ["sex", "m", []]],
    ]
    assert forest.report is not None and forest.report.rows == 4
    ta.write(forest, tmp_path / "out.csv", seed=1)
    rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    # A sex lies under the root, so that every row of the person can have it.
    assert sorted((row["disease"], row["drug"], row["sex"]) for row in rows) == [
        ("", "y", "f"), ("Cold", "y", "m"), ("Flu", "x", "f"), ("Flu", "z", "f"),
    ]  # fmt: skip
    assert {row["pid"] for row in rows} == {"1", "2"}


def people(count: int) -> list[dict[str, Any]]:
    """Return rows of invented persons: each has up to four."""
    rng = np.random.default_rng(3)
    return [
        {
            "pid": f"secret-{person}",
            "disease": str(rng.choice(["Flu", "Cold", "Asthma"])),
            "drug": str(rng.choice(["x", "y", "z", ""])),
            "sex": "fm"[person % 2],
        }
        for person in rng.permutation(np.repeat(np.arange(count), rng.integers(1, 5, count))).tolist()
    ]


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_a_release_counts_persons_and_tells_no_key(tmp_path: Path, form: str) -> None:
    """Groups are counted here by code of their own, straight from the file."""
    path, schema = put(people(60), form, tmp_path), schema_of(form)
    release = ta.anonymize(path, schema=schema, k=4, m=2, n=0)
    release.write(tmp_path / f"out.{form}")
    text = (tmp_path / f"out.{form}").read_text()
    assert "secret" not in text and len(release.forest) == 60
    held: dict[str, set[tuple[str, str]]] = defaultdict(set)
    rows = csv.DictReader(text.splitlines()) if form == "csv" else map(json.loads, text.splitlines())
    for row in rows:
        key = row.get("pid") or row["subject"]["reference"]
        held[key].update((name, str(row[name])) for name in ("disease", "drug", "sex") if row.get(name))
    assert len(held) == 60
    for size in (1, 2):
        counts: dict[Any, int] = defaultdict(int)
        for own in held.values():
            for known in combinations(sorted(own), size):
                counts[known] += 1
        assert min(counts.values()) >= 4
    assert ta.verify(tmp_path / f"out.{form}", schema=schema, k=4, m=2, n=0).holds


def test_tables_count_persons_in_groups(tmp_path: Path) -> None:
    path, schema = put(people(60), "csv", tmp_path), schema_of("csv")
    release = ta.anonymize(path, schema=schema, k=5, algorithm="mondrian")
    release.write(tmp_path / "out.csv")
    groups: dict[Any, set[str]] = defaultdict(set)
    keys: dict[str, set[Any]] = defaultdict(set)
    for row in csv.DictReader((tmp_path / "out.csv").open()):
        group = (row["disease"], row["drug"], row["sex"])
        groups[group].add(row["pid"])
        keys[row["pid"]].add(group)
    assert min(map(len, groups.values())) >= 5
    # In another group a person has another number, so that no rows of different groups can be put together.
    assert max(map(len, keys.values())) == 1
    assert release.counts["persons"] == 60 and release.counts["rows"] == len(people(60))
    assert ta.verify(read_table(tmp_path / "out.csv", schema, published=True), k=5).holds
    sensitive = replace(schema, classes=(*schema.classes[:2], replace(schema.classes[2], role="sensitive")))
    with pytest.raises(UsageError, match="compares with the whole table"):
        ta.anonymize(path, schema=sensitive, algorithm="mondrian", k=2, t=0.3)


def test_two_rows_of_one_person_are_one(tmp_path: Path) -> None:
    rows = [{"pid": str(n // 2), "disease": "Flu", "drug": "x", "sex": "f"} for n in range(8)]
    path, schema = put(rows, "csv", tmp_path), schema_of("csv")
    assert read_table(path, schema).persons == 4
    with pytest.raises(ta.GuaranteeError):
        ta.anonymize(path, schema=schema, k=5, algorithm="mondrian")
    with pytest.raises(ta.GuaranteeError):
        ta.anonymize(path, schema=schema, k=5)


def test_data_in_memory() -> None:
    rows = [{**row, "pid": int(row["pid"].removeprefix("secret-"))} for row in people(40)]
    schema = schema_of("csv")
    made = ta.anonymize(rows, schema=schema, k=3)
    assert len({row["pid"] for row in made}) == 40
    frame = ta.anonymize(pa.Table.from_pylist(rows), schema=schema, k=3)
    assert ta.verify(frame, schema=schema, k=3).holds
    table = ta.anonymize(pa.Table.from_pylist(rows), schema=schema, k=3, algorithm="mondrian")
    assert set(table.column_names) == {"pid", "disease", "drug", "sex"}


RELATIONAL = """version = 1
[input]
format = "tables"
objects = "merged"
record = "visit"
key = ["test.visit -> visit.no"]
person = "patient"
[[class]]
name = "ward"
path = "ward"
[[class]]
name = "result"
path = "test.result"
"""


def test_a_column_of_the_root_table(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "visit.csv").write_text("no,patient,ward\n1,p,A\n2,q,B\n3,p,C\n")
    (folder / "test.csv").write_text("visit,result\n3,high\n2,low\n1,low\n")
    schema = ta.Schema.loads(RELATIONAL)
    forest = ta.read(folder, schema)
    assert list(forest.records()) == [
        [["ward", "A", [["result", "low", []]]], ["ward", "C", [["result", "high", []]]]],
        [["ward", "B", [["result", "low", []]]]],
    ]
    ta.write(forest, tmp_path / "out/")
    rows = list(csv.DictReader((tmp_path / "out/visit.csv").open()))
    assert sorted(row["ward"] for row in rows) == ["A", "B", "C"] and {row["patient"] for row in rows} == {"1", "2"}
    assert trees(ta.read(tmp_path / "out", schema)) == trees(forest)


@pytest.mark.parametrize("form", INPUTS)
def test_rows_of_nobody(tmp_path: Path, form: str) -> None:
    rows = [{"pid": "a" if number % 2 else None, "disease": "Flu"} for number in range(1, 7)]
    path = put(rows, form, tmp_path)
    with pytest.raises(DataError, match=r"record 2.*null_person"):
        ta.read(path, schema_of(form))
    assert len(ta.read(path, schema_of(form, more='null_person = "own"\n'))) == 4
    left = ta.read(path, schema_of(form), on_error="skip")
    assert len(left) == 1 and left.report is not None and left.report.skipped == 3
    if form == "csv":
        with pytest.raises(DataError, match=r"record 2.*null_person"):
            read_table(path, schema_of(form))
        assert read_table(path, schema_of(form, more='null_person = "own"\n')).persons == 4


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ('format = "trees"\nperson = "id"\n', "is not for format trees"),
        ('format = "ndjson"\nperson = "ids[]"\n', "without \\[\\]"),
        ('format = "ndjson"\nnull_person = "own"\n', "only goes with person"),
        ('format = "ndjson"\nperson = "id"\none_per_person = true\n', "contradicts person"),
        ('format = "ndjson"\nperson = "a"\n', "is not published"),
        ('format = "tables"\nrecord = "t"\nperson = "t.id"\n', "a column of the table"),
    ],
)
def test_schemas_that_contradict_themselves(head: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        ta.Schema.loads(f"version = 1\n[input]\n{head}{CLASS.format('a', 'a')}")


@few(30, 60)
@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", "d", None]), max_size=6), min_size=1, max_size=4))
def test_numbers_of_persons_are_those_of_a_dict(parts: list[list[str | None]]) -> None:
    keys, digests = [], []
    for part in parts:
        texts = list(dict.fromkeys(text for text in part if text is not None))
        keys.append(np.array([-1 if text is None else texts.index(text) for text in part], np.int32))
        digests.append(forest_persons.digests_of(texts, b"key"))
    found, persons = forest_persons.numbered(keys, digests)
    known: dict[Any, int] = {}
    wanted = [known.setdefault(object() if text is None else text, len(known)) for part in parts for text in part]
    assert found.tolist() == wanted and persons == len(known)


def testdigests_of_that_agree_in_half_are_two() -> None:
    same = np.array([[1, 2], [1, 3], [1, 2], [1, 3]], np.uint64)
    assert forest_persons.numbered([np.arange(4)], [same])[0].tolist() == [0, 1, 0, 1]


def test_rows_of_many_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's lines stand in several blocks, with values of their own in each."""
    monkeypatch.setattr("treeanon.io.documents.json_document._BLOCK", 256)
    rows = [{"pid": str(number % 7), "disease": f"d{number % 11}", "drug": "xyz"[number % 3]} for number in range(300)]
    path = put(rows, "ndjson", tmp_path)
    assert trees(ta.read(path, schema_of("ndjson"))) == twin(rows, nested=False)

"""`verify` of several files of persons: what a release never holds is found, and its own holds none of it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta

KINDS = ("Patient", "Visit", "Illness")
SCHEMA = """
version = 1
input = { format = "%s"%s }
[[file]]
name = "Patient"
person = "id"
[[file]]
name = "Visit"
person = "subject.reference"
[[file]]
name = "Illness"
person = "subject.reference"
[[key]]
from = "Illness.visit.reference"
to = "Visit.id"
[[class]]
name = "age"
path = "Patient.age"
type = "integer"
[[class]]
name = "kind"
path = "Visit.kind"
[[class]]
name = "grade"
path = "Illness.grade"
[[class]]
name = "code"
path = "Illness.codes[].code"
facets = { display = "…codes[].display", text = "Illness.text" }
"""
FORMS = {"ndjson": "", "json": ', record = "[]"', "yaml": ', record = "[]"', "yaml-stream": "", "parquet": ""}
Rows = dict[str, list[dict[str, Any]]]


def schema_of(form: str = "ndjson", objects: str = "merged") -> ta.Schema:
    return ta.Schema.loads(SCHEMA % (form, f'{FORMS[form]}, objects = "{objects}"'))


def some_rows() -> Rows:
    """Rows with every corner: values that are missing, rows of nothing, references that lead nowhere."""
    rows: Rows = {kind: [] for kind in KINDS}
    for n in range(12):
        rows["Patient"].append({"id": f"p{n}", "age": 30 + n % 3})
        for v in range(n % 4):
            kind = {"kind": "AB"[v % 2]} if v != 1 else {}
            rows["Visit"].append({"id": f"v{n}-{v}", "subject": {"reference": f"Patient/p{n}"}, **kind})
        for v in range(n % 5):
            codes = [{"code": c, "display": f"Name {c}"} for c in "XYZ"[: 1 + n % 3]] if v != 3 else []
            row = {"subject": {"reference": f"Patient/p{n}"}, "codes": codes, "text": "text"}
            row |= {"visit": {"reference": f"Visit/v{n}-{v}"}} if v != 2 else {}
            rows["Illness"].append(row | ({"grade": "hi"[n % 2]} if v != 1 else {}))
    return rows


def put(rows: Rows, folder: Path) -> Path:
    folder.mkdir()
    for kind, own in rows.items():
        (folder / f"{kind}.ndjson").write_text("".join(json.dumps(row) + "\n" for row in own))
    return folder


def beyond(folder: Path, schema: ta.Schema) -> dict[str, int]:
    found = ta.verify(folder, schema=schema, k=1, m=1, n=0).beyond
    return {one.kind: one.number for one in found}


@pytest.mark.parametrize("objects", ["merged", "whole"])
@pytest.mark.parametrize("form", FORMS)
def test_own_releases_hold_nothing_else(tmp_path: Path, form: str, objects: str) -> None:
    forest = ta.read(put(some_rows(), tmp_path / "in"), schema_of(objects=objects))
    schema = schema_of(form, objects)
    same = ta.Forest(schema, forest.classes, forest.offsets, forest.parent, forest.label, forest.report)
    ta.write(same, tmp_path / "out/")
    assert beyond(tmp_path / "out", schema) == {}
    assert list(ta.read(tmp_path / "out", schema).records()) != []
    ta.write(same, tmp_path / "out.zip")
    assert beyond(tmp_path / "out.zip", schema) == {}


@pytest.mark.parametrize("asked", [{"k": 3, "m": 2, "n": 1}, {"k": 4, "m": 2, "n": 1, "algorithm": "gcs"}])
def test_releases_hold_nothing_else(tmp_path: Path, asked: dict[str, Any]) -> None:
    release = ta.anonymize(put(some_rows(), tmp_path / "in"), schema=schema_of(), as_published=True, **asked)
    release.write(tmp_path / "out/")
    assert beyond(tmp_path / "out", schema_of()) == {}


VALUES = st.sampled_from([None, "A", "B"])


@pytest.mark.parametrize("objects", ["merged", "whole"])
@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 2), VALUES), max_size=4),
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(-1, 4), VALUES, st.lists(st.sampled_from("XY"), max_size=2)),
        max_size=6,
    ),
)
def test_any_rows_are_written_as_releases_are(
    tmp_path_factory: pytest.TempPathFactory, objects: str, visits: list[Any], illnesses: list[Any]
) -> None:
    rows: Rows = {
        "Patient": [{"id": str(n)} for n in range(3)],
        "Visit": [
            {"id": f"v{n}", "subject": {"reference": str(who)}, "kind": kind} for n, (who, kind) in enumerate(visits)
        ],
        "Illness": [
            {
                "subject": {"reference": str(who)},
                "grade": grade,
                "text": "".join(sorted(set(codes))),
                "codes": [{"code": code, "display": code * 2} for code in codes],
                "visit": {"reference": f"v{at}"} if at >= 0 else None,
            }
            for who, at, grade, codes in illnesses
        ],
    }
    folder, schema = tmp_path_factory.mktemp("files"), schema_of(objects=objects)
    forest = ta.read(put(rows, folder / "in"), schema)
    ta.write(forest, folder / "out/")
    again = ta.read(folder / "out", schema)
    assert sorted(map(json.dumps, again.records())) == sorted(map(json.dumps, forest.records()))
    assert beyond(folder / "out", schema) == {}


def person(text: str) -> Callable[[Rows], object]:
    def change(rows: Rows) -> None:
        for row in rows["Visit"]:
            if row["subject"]["reference"] == "Patient/5":
                row["subject"]["reference"] = text

    return change


def named(text: object) -> Callable[[Rows], object]:
    def change(rows: Rows) -> None:
        own = next(row for row in rows["Visit"] if "id" in row)
        before, own["id"] = own["id"], text
        for row in rows["Illness"]:
            if row.get("visit", {}).get("reference") == f"Visit/{before}":
                row["visit"]["reference"] = f"Visit/{text}"

    return change


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (person("Ann-of-Ulm/5"), "keys"),
        (person("5"), "keys"),
        (named("2024"), "keys"),
        (named("seen on Monday"), "keys"),
        (lambda rows: rows["Illness"][0].setdefault("visit", {}).update(reference="Visit/77"), "keys"),
        (lambda rows: next(row for row in rows["Visit"] if "id" not in row).update(id=len(rows["Visit"])), "keys"),
        (lambda rows: rows["Visit"].append(dict(rows["Visit"][0], id=None)), "nulls"),
        (lambda rows: rows["Visit"].append({k: v for k, v in rows["Visit"][0].items() if k != "id"}), "repeats"),
        (lambda rows: rows["Patient"][0].update(age=31.0), "spellings"),
        (lambda rows: rows["Patient"][0].update(mood="good"), "fields"),
        (lambda rows: rows["Patient"][0].update(age=rows["Patient"][0].pop("age")), "order"),
        (lambda rows: rows["Illness"].append({"subject": {"reference": "Patient/5"}, "codes": []}), "empty"),
    ],
)
def test_what_a_release_never_holds_is_found(tmp_path: Path, change: Callable[[Rows], object], kind: str) -> None:
    ta.write(ta.read(put(some_rows(), tmp_path / "in"), schema_of()), tmp_path / "out/", seed=3)
    rows: Rows = {}
    for name in KINDS:
        lines = (tmp_path / "out" / f"{name}.ndjson").read_text().splitlines()
        rows[name] = [json.loads(line) for line in lines]
    change(rows)
    for name, own in rows.items():
        text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in own)
        (tmp_path / "out" / f"{name}.ndjson").write_text(text)
    assert kind in beyond(tmp_path / "out", schema_of())


def test_names_of_files_and_files_of_other_kinds_are_found(tmp_path: Path) -> None:
    ta.write(ta.read(put(some_rows(), tmp_path / "in"), schema_of()), tmp_path / "out/")
    (tmp_path / "out/Visit.ndjson").rename(tmp_path / "out/17-Visit.ndjson")
    (tmp_path / "out/Doctor.ndjson").write_text("{}\n")
    assert beyond(tmp_path / "out", schema_of()) == {"file-names": 1, "ignored-files": 1}


def test_files_of_rows(tmp_path: Path) -> None:
    text = (
        'version = 1\ninput = { format = "csv" }\n[[file]]\nname = "people"\nperson = "id"\n[[file]]\nname = "visits"\n'
    )
    text += 'person = "who"\n[[class]]\nname = "age"\npath = "people.age"\ntype = "integer"\n[[class]]\nname = "ward"\n'
    schema = ta.Schema.loads(text + 'path = "visits.ward"\n')
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "people.csv").write_text("id,age\na, 30\nb,31\nc,31\n")
    (folder / "visits.csv").write_text("who;ward\na;W1\na;W2\nb;W1\n")
    assert set(beyond(folder, schema)) == {"keys", "white-space"}
    ta.write(ta.read(folder, schema), tmp_path / "out/")
    assert beyond(tmp_path / "out", schema) == {}
    with (tmp_path / "out/visits.csv").open() as stream:
        rows = list(csv.reader(stream))
    (tmp_path / "out/visits.csv").write_text("".join(f"{','.join(row)}\n" for row in [*rows, rows[1]]))
    assert beyond(tmp_path / "out", schema) == {"repeats": 1}


def test_metadata_of_parquet(tmp_path: Path) -> None:
    schema = schema_of("parquet")
    forest = ta.read(put(some_rows(), tmp_path / "in"), schema_of())
    same = ta.Forest(schema, forest.classes, forest.offsets, forest.parent, forest.label, forest.report)
    ta.write(same, tmp_path / "out/")
    table: pa.Table = pq.read_table(tmp_path / "out/Visit.parquet")
    pq.write_table(table.replace_schema_metadata({"made by": "somebody"}), tmp_path / "out/Visit.parquet")
    assert beyond(tmp_path / "out", schema) == {"metadata": 1}

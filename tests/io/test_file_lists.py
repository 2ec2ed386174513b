"""Lists of references between files: what a row lists lies in it, and is listed again by fresh numbers."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from tests.io.test_files import MERGED, WHOLE, Rows, bulk, last, put, schema_of, trees, twin
from treeanon.cli.main import main
from treeanon.errors import DataError, SchemaError
from treeanon.forest import files
from treeanon.io.beyond.look import look_beyond
from treeanon.schema.dump import dump_schema

KEY = """
[[key]]
from = "Encounter.found[].item.reference"
to = "Condition.id"
"""


def listed(rows: Rows) -> Rows:
    """Return the rows in which encounters list their conditions, instead of being referred to."""
    lists: dict[str, list[Any]] = {}
    conditions = []
    for number, row in enumerate(rows["Condition"]):
        row = {"id": f"c-{number}", **row}
        if "encounter" in row:
            item = {"item": {"reference": f"https://host/fhir/Condition/c-{number}"}}
            lists.setdefault(last(row.pop("encounter")["reference"]), []).append(item)
        conditions.append(row)
    encounters = [{**row, "found": lists.get(row["id"], [])} for row in rows["Encounter"]]
    return {**rows, "Encounter": encounters, "Condition": conditions}


def rows_of(folder: Path) -> Rows:
    return {path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in folder.glob("*.ndjson")}


@pytest.mark.parametrize("more", [MERGED, WHOLE])
@pytest.mark.parametrize("form", ["ndjson", "json", "parquet"])
def test_what_a_row_lists_lies_in_it(tmp_path: Path, form: str, more: str) -> None:
    rows = bulk(30)
    schema = schema_of(form, key=KEY, more=more)
    forest = ta.read(put(listed(rows), tmp_path / "in", form), schema)
    assert trees(forest) == twin(rows, more)
    ta.write(forest, tmp_path / "out")
    again = ta.read(tmp_path / "out", schema)
    assert trees(again) == trees(forest)
    assert not look_beyond(tmp_path / "out", schema, again).counts


@pytest.mark.parametrize("more", [MERGED, WHOLE])
def test_facets_stay_with_what_is_listed(tmp_path: Path, more: str) -> None:
    rows = listed(bulk(10))
    for row in rows["Condition"]:
        for coding in row["code"]["coding"]:
            coding["display"] = {"X": "flu", "Y": "gout", "Z": "acne"}[coding["code"]]
    facets = 'facets = { display = "…code.coding[].display" }\n'
    own = ta.Schema.loads(dump_schema(schema_of(key=KEY, more=more)) + facets)
    assert own.classes[-1].facets
    forest = ta.read(put(rows, tmp_path / "in"), own)
    ta.write(forest, tmp_path / "out")
    again = ta.read(tmp_path / "out", own)
    assert trees(again) == trees(forest) and not look_beyond(tmp_path / "out", own, again).counts
    found = [coding for row in rows_of(tmp_path / "out")["Condition"] for coding in row["code"]["coding"]]
    assert found and all(one["display"] for one in found)


def test_many_rows_wait_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_ROWS", 50)
    monkeypatch.setattr(files, "BLOCK", 4)
    rows = bulk(60)
    assert trees(ta.read(put(listed(rows), tmp_path / "in"), schema_of(key=KEY))) == twin(rows)


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 12), st.integers(0, 10**6), st.sampled_from([MERGED, WHOLE]))
def test_any_rows_are_read_and_written(people: int, seed: int, more: str) -> None:
    folder = Path(tempfile.mkdtemp())
    rows = bulk(people, seed)
    schema = schema_of(key=KEY, more=more)
    forest = ta.read(put(listed(rows), folder / "in"), schema)
    assert trees(forest) == twin(rows, more)
    ta.write(forest, folder / "out")
    again = ta.read(folder / "out", schema)
    assert trees(again) == trees(forest)
    assert not look_beyond(folder / "out", schema, again).counts


def test_a_release_has_fresh_references(tmp_path: Path) -> None:
    schema = schema_of(key=KEY, more=WHOLE)
    release = ta.anonymize(ta.read(put(listed(bulk(40)), tmp_path / "in"), schema), k=4, m=2, n=1)
    release.write(tmp_path / "out")
    text = "".join(path.read_text() for path in (tmp_path / "out").glob("*"))
    assert not any(word in text for word in ("secret", "c-", "e-", "host"))
    rows = rows_of(tmp_path / "out")
    people = {str(row["id"]): last(row["subject"]["reference"]) for row in rows["Condition"] if "id" in row}
    asked = [
        (last(item["item"]["reference"]), last(row["subject"]["reference"]))
        for row in rows["Encounter"]
        for item in row.get("found", [])
    ]
    assert len(asked) > 10 and dict(asked) == people and len(asked) == len(people)
    items = [item["item"]["reference"] for row in rows["Encounter"] for item in row.get("found", [])]
    assert all(item.startswith("Condition/") for item in items)
    assert not any("id" in row for row in rows["Encounter"])


CHANGES = {
    "an item more": lambda row, other: row["found"].append({"item": {"reference": "Condition/99999"}}),
    "an item of another list": lambda row, other: row["found"].append(other["found"][0]),
    "an item twice": lambda row, other: row["found"].append(row["found"][0]),
    "an item less": lambda row, other: row["found"].pop(),
    "a name of the input": lambda row, other: row["found"][0]["item"].update(reference="Condition/c-1"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_verify_sees_lists_that_say_more(tmp_path: Path, change: str) -> None:
    schema = schema_of(key=KEY, more=WHOLE)
    (tmp_path / "schema.toml").write_text(dump_schema(schema))
    ta.anonymize(ta.read(put(listed(bulk(30)), tmp_path / "in"), schema), k=2).write(tmp_path / "out")
    args = ["verify", str(tmp_path / "out"), "-s", str(tmp_path / "schema.toml"), "-k", "2"]
    assert "Does not hold" not in CliRunner().invoke(main, args).output
    path = tmp_path / "out" / "Encounter.ndjson"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    CHANGES[change](*[row for row in rows if row.get("found")][:2])
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
    assert "Does not hold" in CliRunner().invoke(main, args).output


def test_what_leads_nowhere_is_counted_and_what_two_list_refused(tmp_path: Path) -> None:
    rows = listed(bulk(20))
    lists = [row["found"] for row in rows["Encounter"] if row["found"]]
    lists[0].append({"item": {"reference": "Condition/nothing"}})
    lists[1].append({"item": {"reference": " "}})
    forest = ta.read(put(rows, tmp_path / "in"), schema_of(key=KEY))
    assert forest.report is not None and dict(forest.report.dangling) == {"Encounter.found[].item.reference": 1}
    own = next(row for row in rows["Encounter"] if row["found"])
    rows["Encounter"].append({**own, "id": "e-more", "found": own["found"][:1]})
    put(rows, tmp_path / "in")
    with pytest.raises(DataError, match="another list has, too"):
        ta.read(tmp_path / "in", schema_of(key=KEY))
    forest = ta.read(tmp_path / "in", schema_of(key=KEY), on_error="skip")
    assert forest.report is not None and dict(forest.report.dangling) == {"Encounter.found[].item.reference": 2}


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (KEY.replace("found[].item", "found[].item[]"), "in one list"),
        (KEY.replace("Encounter.found", "Patient.found"), "all rows lie already"),
        (KEY.replace("Encounter.found", "Condition.found").replace("Condition.id", "Encounter.id") + KEY, "circle"),
        (KEY + '[[key]]\nfrom = "Condition.encounter.reference"\nto = "Encounter.id"\n', "give it one key"),
        (KEY + '[[class]]\nname = "rank"\npath = "Encounter.found[].rank"\n', "of whose items more is published"),
    ],
)
def test_lists_that_cannot_be_are_refused(key: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        schema_of(key=key)


def test_flat_files_have_no_lists() -> None:
    names = (("Patient", "id"), ("Encounter", "person"), ("Condition", "person"))
    own = "".join(f'[[file]]\nname = "{name}"\nperson = "{person}"\n' for name, person in names)
    own += (
        KEY + '[[class]]\nname = "kind"\npath = "Encounter.kind"\n[[class]]\nname = "code"\npath = "Condition.code"\n'
    )
    with pytest.raises(SchemaError, match="csv has no lists"):
        ta.Schema.loads(f'version = 1\n[input]\nformat = "csv"\n{own}')


def test_a_schema_is_written_as_it_was_read() -> None:
    schema = schema_of(key=KEY)
    assert ta.Schema.loads(dump_schema(schema)).file_keys == schema.file_keys

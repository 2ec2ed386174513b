"""`[[file]]`: several files of one person, tied by references, are read as one record and written again as such."""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.profiles import few
from treeanon.errors import DataError, SchemaError, UsageError
from treeanon.forest import files
from treeanon.io.documents import json_document
from treeanon.io.memory import forest_of_records
from treeanon.schema.dump import dump_schema

HEADS = {
    "ndjson": "",
    "json": 'record = "[]"\n',
    "yaml": 'record = "[]"\n',
    "yaml-stream": "",
    "parquet": "",
    "csv": "",
}
FILES = """
[[file]]
name = "Patient"
person = "id"
[[file]]
name = "Encounter"
person = "subject.reference"
[[file]]
name = "Condition"
person = "subject.reference"
"""
KEY = """
[[key]]
from = "Condition.encounter.reference"
to = "Encounter.id"
"""
CLASSES = """
[[class]]
name = "sex"
path = "Patient.gender"
[[class]]
name = "city"
path = "Patient.address[].city"
[[class]]
name = "kind"
path = "Encounter.class.code"
[[class]]
name = "status"
path = "Condition.status"
[[class]]
name = "code"
path = "Condition.code.coding[].code"
"""
NESTED = CLASSES.replace('path = "', 'path = "').replace("Encounter.", "Encounter[].")
NESTED = NESTED.replace("Condition.", "Encounter[].Condition[].")


MERGED, WHOLE = 'objects = "merged"\n', 'objects = "whole"\n'


def schema_of(form: str = "ndjson", *, key: str = KEY, files: str = FILES, more: str = MERGED) -> ta.Schema:
    return ta.Schema.loads(f'version = 1\n[input]\nformat = "{form}"\n{HEADS[form]}{more}{files}{key}{CLASSES}')


Rows = dict[str, list[dict[str, Any]]]


def put(rows: Rows, folder: Path, form: str = "ndjson") -> Path:
    """Write rows of each kind as bulk exports have them."""
    folder.mkdir(exist_ok=True)
    for name, own in rows.items():
        if form == "json":
            (folder / f"{name}.json").write_text(json.dumps(own))
        elif form == "yaml":
            (folder / f"{name}.yaml").write_text(yaml.safe_dump(own))
        elif form == "yaml-stream":
            (folder / f"{name}.yaml").write_text(yaml.safe_dump_all(own))
        elif form == "parquet":
            names = dict.fromkeys(key for row in own for key in row)
            pq.write_table(
                pa.Table.from_pylist([{key: row.get(key) for key in names} for row in own]), folder / f"{name}.parquet"
            )
        else:
            for number, some in enumerate((own[: len(own) // 2], own[len(own) // 2 :])):
                (folder / f"{name}.{number:03}.ndjson").write_text("".join(json.dumps(row) + "\n" for row in some))
    return folder


def bulk(people: int, seed: int = 1) -> Rows:
    """Return rows of invented patients, with references in the forms that servers write."""
    rng = np.random.default_rng(seed)
    patients = [
        {"id": f"secret{n}", "gender": "mf"[n % 2], "address": [{"city": str(rng.choice(["Ulm", "Bonn"]))}]}
        for n in range(people)
    ]
    encounters, conditions = [], []
    for number in range(3 * people):
        person = int(rng.integers(people))
        own = {"subject": {"reference": f"Patient/secret{person}"}, "class": {"code": str(rng.choice(["IMP", "AMB"]))}}
        encounters.append({"id": f"e-{number}", **own})
        for _ in range(int(rng.integers(3))):
            made: dict[str, Any] = {"subject": {"reference": f"urn:uuid:secret{person}"}, "status": "ab"[number % 2]}
            made["code"] = {"coding": [{"code": str(code)} for code in rng.choice(list("XYZ"), 2)]}
            if rng.random() < 0.7:
                made["encounter"] = {"reference": f"https://host/fhir/Encounter/e-{number}"}
            conditions.append(made)
    return {"Patient": patients, "Encounter": encounters, "Condition": conditions}


def last(reference: str) -> str:
    return reference.rpartition("/")[2].rpartition(":")[2]


def twin(rows: Rows, more: str = MERGED) -> list[str]:
    """Return the trees of the same persons as nested documents, put together by dicts.

    Where objects stay whole, a condition of no encounter lies alone in one that has nothing else.
    """
    people: dict[str, dict[str, Any]] = {row["id"]: {"Patient": row, "Encounter": []} for row in rows["Patient"]}
    encounters = {}
    for row in rows["Encounter"]:
        encounters[row["id"]] = {**row, "Condition": []}
        people[last(row["subject"]["reference"])]["Encounter"].append(encounters[row["id"]])
    for row in rows["Condition"]:
        own = people[last(row["subject"]["reference"])]["Encounter"]
        found = encounters.get(last(row.get("encounter", {"reference": ""})["reference"]))
        if found is None or not any(found is each for each in own):
            found = {"Condition": []}
            own.append(found)
        found["Condition"].append(row)
    schema = ta.Schema.loads(f'version = 1\n[input]\nformat = "ndjson"\n{more}{NESTED}')
    return trees(forest_of_records(list(people.values()), schema))


def trees(forest: ta.Forest) -> list[str]:
    return sorted(map(json.dumps, forest.records()))


@pytest.mark.parametrize("more", [MERGED, WHOLE])
@pytest.mark.parametrize("form", ["ndjson", "json", "yaml", "yaml-stream", "parquet"])
def test_rows_find_their_persons_and_objects(tmp_path: Path, form: str, more: str) -> None:
    """Of folders, globs and zips, whose files may be packed."""
    rows, schema = bulk(15), schema_of(form, more=more)
    forest = ta.read(put(rows, tmp_path / "in", form), schema)
    assert len(forest) == 15 and trees(forest) == twin(rows, more)
    assert trees(ta.read(str(tmp_path / "in/*"), schema)) == trees(forest)
    ending = form.removesuffix("-stream")
    ta.write(forest, tmp_path / "out/")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {f"{name}.{ending}" for name in rows}
    assert trees(ta.read(tmp_path / "out", schema)) == trees(forest)
    ta.write(forest, tmp_path / "out.zip")
    assert trees(ta.read(tmp_path / "out.zip", schema)) == trees(forest)
    ta.write(forest, tmp_path / "out.trees.jsonl")
    assert trees(ta.read(tmp_path / "out.trees.jsonl", schema)) == trees(forest)
    if form != "parquet":
        for path in list((tmp_path / "in").iterdir()):
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
        assert trees(ta.read(tmp_path / "in", schema)) == trees(forest)


def test_many_rows_wait_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of few rows and records of few persons at a time give the same, also of moved nodes."""
    rows, schema = bulk(40), schema_of()
    expected = list(ta.read(put(rows, tmp_path / "in"), schema).records())
    moved = ta.anonymize(tmp_path / "in", schema=schema, k=18, m=2, n=1, algorithm="gcs", as_published=True)
    assert moved.solution.disassociated
    moved.write(tmp_path / "out/")
    published = trees(ta.read(tmp_path / "out", schema))
    for most, block in ((7, 1), (50, 8), (1, 3)):
        monkeypatch.setattr(files, "MOST_ROWS", most)
        monkeypatch.setattr(files, "BLOCK", block)
        monkeypatch.setattr(json_document, "_BLOCK", 1000)
        assert list(ta.read(tmp_path / "in", schema).records()) == expected
        assert trees(ta.read(tmp_path / "out", schema)) == published


@pytest.mark.parametrize("more", [MERGED, WHOLE])
def test_facets_that_clash(tmp_path: Path, more: str) -> None:
    """Where two files, or two rows of a person, say other things of one value, the facet is withheld, and counted."""
    rows: Rows = {
        "Patient": [{"id": "a"}, {"id": "b"}],
        "Encounter": [{"subject": {"reference": w}, "class": {"code": "X", "display": w}} for w in "aab"],
        "Condition": [
            {"subject": {"reference": w}, "code": {"coding": [{"code": "X", "display": "one"}]}} for w in "ab"
        ],
    }
    text = dump_schema(schema_of(more=more))
    for name in ("class", "code.coding[]"):
        kind = "Encounter" if name == "class" else "Condition"
        path = f'path = "{kind}.{name}.code"'
        text = text.replace(path, f'{path}\nfacets = {{ display = "{kind}.{name}.display" }}')
    schema = ta.Schema.loads(text)
    forest = ta.read(put(rows, tmp_path / "in"), schema)
    assert forest.report is not None
    said = {name: facet.agreed() for (name, _), facet in forest.report.facets.items()}
    assert said == {"kind": {}, "code": {"X": "one"}}
    ta.write(forest, tmp_path / "out/")
    assert "display" not in (tmp_path / "out/Encounter.ndjson").read_text()
    assert '"one"' in (tmp_path / "out/Condition.ndjson").read_text()


def test_rows_are_named_within_their_persons(tmp_path: Path) -> None:
    """The first encounter of each of two persons may have the number 1."""
    rows: Rows = {
        "Patient": [{"id": "a"}, {"id": "b"}],
        "Encounter": [{"id": 1, "subject": {"reference": who}, "class": {"code": who * 2}} for who in "ab"],
        "Condition": [
            {"subject": {"reference": who}, "encounter": {"reference": "1"}, "status": who * 3} for who in "ba"
        ],
    }
    forest = ta.read(put(rows, tmp_path / "in"), schema_of())
    assert list(forest.records()) == [[["kind", who * 2, [["status", who * 3, []]]]] for who in "ab"]


CODES = st.lists(st.sampled_from("XY"), max_size=2)


@few(25, 50)
@given(
    st.sampled_from([MERGED, WHOLE]),
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["IMP", None])), max_size=4),
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(-1, 4), st.sampled_from("ab"), CODES),
        max_size=6,
    ),
)
def test_any_rows_are_read_and_written(
    tmp_path_factory: pytest.TempPathFactory, more: str, encounters: list[Any], conditions: list[Any]
) -> None:
    """Kinds are missing, references dangle or name what is another person's, objects have no values."""
    rows: Rows = {
        "Patient": [{"id": str(n), "gender": "f"} for n in range(3)],
        "Encounter": [
            {
                "id": f"e{n}",
                "subject": {"reference": f"Patient/{person}"},
                **({"class": {"code": kind}} if kind else {}),
            }
            for n, (person, kind) in enumerate(encounters)
        ],
        "Condition": [
            {"subject": {"reference": str(person)}, "status": status, "code": {"coding": [{"code": c} for c in codes]}}
            | ({"encounter": {"reference": f"Encounter/e{at}"}} if at >= 0 else {})
            for person, at, status, codes in conditions
        ],
    }
    folder, schema = tmp_path_factory.mktemp("files"), schema_of(more=more)
    forest = ta.read(put(rows, folder / "in"), schema)
    assert trees(forest) == twin(rows, more)
    for number, kept in enumerate((forest, forest.without(["kind"]), forest.without(["kind", "status"]))):
        if more == WHOLE or not number:
            ta.write(kept, folder / f"out{number}/")
            assert trees(ta.read(folder / f"out{number}", schema)) == trees(kept)


def test_a_release_of_whole_objects_hides_what_they_hold_together(tmp_path: Path) -> None:
    """Pairs of values, in one encounter or not, are counted here straight from the files."""
    release = ta.anonymize(put(bulk(60), tmp_path / "in"), schema=schema_of(more=WHOLE), k=4, m=2, n=1)
    release.write(tmp_path / "out/")
    encounters: dict[Any, tuple[str, set[Any]]] = {}
    of_person: dict[str, set[Any]] = defaultdict(set)
    for name in ("Encounter", "Condition"):
        for number, line in enumerate((tmp_path / "out" / f"{name}.ndjson").read_text().splitlines()):
            row = json.loads(line)
            own = {("kind", row.get("class", {}).get("code")), ("status", row.get("status"))}
            own |= {("code", each["code"]) for each in row.get("code", {}).get("coding", [])}
            own = {each for each in own if each[1] is not None}
            person = last(row["subject"]["reference"])
            of_person[person] |= own
            if name == "Encounter":
                encounters[str(row["id"]) if "id" in row else f"no {number}"] = (person, set(own))
            else:
                reference = row.get("encounter", {}).get("reference", f"none/{number}")
                encounters.setdefault(last(reference), (person, set()))[1].update(own)
    persons: dict[Any, set[str]] = defaultdict(set)
    for person, held in of_person.items():
        for pair in combinations(sorted(held), 2):
            persons[pair].add(person)
    for person, held in encounters.values():
        for pair in combinations(sorted(held), 2):
            persons["together", pair].add(person)
    assert any(key[0] == "together" for key in persons) and min(map(len, persons.values())) >= 4
    assert ta.verify(tmp_path / "out", schema=schema_of(more=WHOLE), k=4).holds
    assert release.loss.objects is not None


def test_a_release_counts_persons_and_has_fresh_references(tmp_path: Path) -> None:
    """Groups are counted here by code of their own, straight from the files."""
    rows, schema = bulk(60), schema_of()
    release = ta.anonymize(put(rows, tmp_path / "in"), schema=schema, k=4, m=2, n=0)
    release.write(tmp_path / "out/")
    found = {
        name: [json.loads(line) for line in (tmp_path / "out" / f"{name}.ndjson").read_text().splitlines()]
        for name in rows
    }
    text = json.dumps(found)
    assert "secret" not in text and "e-" not in text and "host" not in text
    assert sorted(row["id"] for row in found["Patient"]) == list(range(1, 61))
    encounters = {str(row["id"]): row for row in found["Encounter"] if "id" in row}
    held: dict[str, set[Any]] = {str(row["id"]): {("sex", row.get("gender"))} for row in found["Patient"]}
    for row in found["Patient"]:
        held[str(row["id"])] |= {("city", each["city"]) for each in row.get("address", [])}
    for row in found["Encounter"]:
        held[last(row["subject"]["reference"])].add(("kind", row.get("class", {}).get("code")))
    for row in found["Condition"]:
        own = last(row["subject"]["reference"])
        held[own].add(("status", row.get("status")))
        held[own] |= {("code", each["code"]) for each in row.get("code", {}).get("coding", [])}
        if "encounter" in row:
            # What an encounter holds is its own person's.
            assert last(encounters[last(row["encounter"]["reference"])]["subject"]["reference"]) == own
    for size in (1, 2):
        counts: dict[Any, int] = defaultdict(int)
        for labels in held.values():
            for known in combinations(sorted(each for each in labels if each[1] is not None), size):
                counts[known] += 1
        assert min(counts.values()) >= 4
    assert ta.verify(tmp_path / "out", schema=schema, k=4, m=2, n=0).holds
    assert not ta.verify(tmp_path / "in", schema=schema, k=1).holds  # its references are more than numbers


def test_files_of_rows(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "people.csv").write_text("Id,sex\na,f\nb,m\n")
    (folder / "visits.csv").write_text("PATIENT,ward\na,W1\nb,W2\na,W3\n")
    schema = ta.Schema.loads(
        'version = 1\n[input]\nformat = "csv"\nobjects = "merged"\n'
        '[[file]]\nname = "person"\nperson = "Id"\nfiles = "people*.csv"\n'
        '[[file]]\nname = "visits"\nperson = "PATIENT"\n'
        '[[class]]\nname = "sex"\npath = "person.sex"\n[[class]]\nname = "ward"\npath = "visits.ward"\n'
    )
    forest = ta.read(folder, schema)
    assert list(forest.records()) == [
        [["sex", "f", []], ["ward", "W1", []], ["ward", "W3", []]],
        [["sex", "m", []], ["ward", "W2", []]],
    ]
    assert trees(ta.read(str(folder / "*.csv"), schema)) == trees(forest)
    ta.write(forest, tmp_path / "out/", seed=1)
    ta.write(forest, tmp_path / "out.zip", seed=1)
    assert trees(ta.read(tmp_path / "out.zip", schema)) == trees(forest)
    assert {row["Id"] for row in csv.DictReader((tmp_path / "out/people.csv").open())} == {"1", "2"}
    assert trees(ta.read(tmp_path / "out", schema)) == trees(forest)


def test_names_of_files_that_end_in_numbers(tmp_path: Path) -> None:
    """`visits1` is not `visits2`, and a file that two kinds would have is refused: its rows would count for both."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name, values in (("people", "ab"), ("visits1", "x"), ("visits2_001", "y"), ("visits2_002", "z")):
        rows = "".join(f'{{"id":"{at}","kind":"{value}"}}\n' for at, value in enumerate(values))
        (folder / f"{name}.ndjson").write_text(rows)
    text = 'version = 1\ninput = { format = "ndjson", objects = "merged" }\n'
    for name in ("people", "visits1", "visits2"):
        text += f'[[file]]\nname = "{name}"\nperson = "id"\n[[class]]\nname = "{name}"\npath = "{name}.kind"\n'
    forest = ta.read(folder, ta.Schema.loads(text))
    assert next(iter(forest.records())) == [
        ["people", "a", []],
        ["visits1", "x", []],
        ["visits2", "y", []],
        ["visits2", "z", []],
    ]
    assert forest.report is not None and (forest.report.files, forest.report.ignored_files) == (4, 0)
    both = ta.Schema.loads(text.replace('"visits1"\nperson = "id"', '"visits1"\nperson = "id"\nfiles = "visits*"'))
    with pytest.raises(UsageError, match="'visits1' and 'visits2' are found by the same name"):
        ta.read(folder, both)


def test_a_schema_is_written_as_it_was_read() -> None:
    schema = schema_of()
    again = ta.Schema.loads(dump_schema(schema))
    assert again.files == schema.files and again.file_keys == schema.file_keys


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows["Condition"][3].pop("subject"), r"Condition.*record 4|record 4.*Condition"),
        (lambda rows: [row.pop("subject") for row in rows["Encounter"]], "record 1"),
        (lambda rows: [row.pop("subject") for row in rows["Condition"][::2]], "record 1"),
        (lambda rows: rows["Patient"].append(dict(rows["Patient"][0])), "same person as a row before it"),
        (lambda rows: rows["Patient"].pop(), "refers to no row of Patient"),
        (
            lambda rows: rows["Encounter"].append(dict(rows["Encounter"][0])),
            r"Encounter\.id: names this row like one before it",
        ),
        (lambda rows: rows.pop("Encounter"), "holds no ndjson file of Encounter"),
    ],
)
def test_broken_data(tmp_path: Path, change: Any, words: str) -> None:
    rows = bulk(20)
    change(rows)
    with pytest.raises(DataError, match=words) as wrong:
        ta.read(put(rows, tmp_path / "in"), schema_of())
    assert "secret" not in str(wrong.value)


def test_errors_name_the_row_as_it_was_read(tmp_path: Path) -> None:
    """Also after rows that no fast reader takes, and after rows of nobody that are left out."""
    source = put(bulk(4), tmp_path / "in")
    rows = [{"gender": "f"}, *({"id": f"secret{n}"} for n in (0, 1, 2, 1, 3))]
    lines = [json.dumps(row) for row in rows]
    lines[3] = lines[3].replace('"id"', '"i\\u0064"')
    (source / "Patient.000.ndjson").write_text("\n".join(lines) + "\n")
    (source / "Patient.001.ndjson").unlink()
    with pytest.raises(DataError, match=r"record 5, Patient\.id: has the same person"):
        ta.read(source, schema_of(), on_error="skip")


def test_what_is_broken_can_be_left_out(tmp_path: Path) -> None:
    rows = bulk(20)
    gone = rows["Patient"].pop()["id"]
    rows["Condition"][0].pop("subject")
    forest = ta.read(put(rows, tmp_path / "in"), schema_of(), on_error="skip")
    lost = sum(last(row.get("subject", {"reference": "x"})["reference"]) == gone for name in rows for row in rows[name])
    assert len(forest) == 19 and forest.report is not None and forest.report.skipped == lost + 1


def test_references_that_lead_nowhere_are_counted(tmp_path: Path) -> None:
    rows = bulk(20)
    wrong = sum("encounter" in row for row in rows["Condition"][:10])
    for row in rows["Condition"][:10]:
        if "encounter" in row:
            row["encounter"]["reference"] = "Encounter/nowhere"
    forest = ta.read(put(rows, tmp_path / "in"), schema_of())
    assert forest.report is not None and dict(forest.report.dangling) == {"Condition.encounter.reference": wrong}


CIRCLE = KEY + '[[key]]\nfrom = "Encounter.reason.reference"\nto = "Condition.id"\n'


@pytest.mark.parametrize(
    ("given_schema", "words"),
    [
        (lambda: schema_of(key=CIRCLE), "round in a circle"),
        (lambda: schema_of(key=KEY.replace("Encounter.id", "Visit.id")), "unknown file 'Visit'"),
        (lambda: schema_of(key=KEY + KEY), "give it one key"),
        (lambda: schema_of(key=KEY.replace("Condition.enc", "Patient.enc")), "lie in no other file"),
        (lambda: schema_of(files=FILES.replace('person = "id"\n', "")), "person: is missing"),
        (lambda: schema_of(files=FILES.replace('"Condition"', '"Problem"')), "must begin with the name of a"),
        (lambda: schema_of(files=FILES + '[[file]]\nname = "Patient"\nperson = "id"\n'), "is the name of another file"),
        (lambda: schema_of(more='person = "id"\n'), "is not for several files"),
        (lambda: ta.Schema.loads(dump_schema(schema_of()).replace('"ndjson"', '"xml"\nrecord = "a/b"')), "not for xml"),
        (lambda: schema_of(files=""), "a field of a repeated object"),
        (
            lambda: ta.Schema.loads(dump_schema(schema_of()).replace('"ndjson"', '"json"\nrecord = "."')),
            "array of rows",
        ),
    ],
)
def test_schemas_that_contradict_themselves(given_schema: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        given_schema()


def test_a_reference_is_not_published() -> None:
    with pytest.raises(SchemaError, match="references are made anew"):
        schema_of(key=KEY + '[[class]]\nname = "id"\npath = "Encounter.id"\n')


def test_files_are_not_written_to_one(tmp_path: Path) -> None:
    forest = ta.read(put(bulk(5), tmp_path / "in"), schema_of())
    with pytest.raises(UsageError, match="go to a folder"):
        ta.write(forest, tmp_path / "out.ndjson")


def test_facets_of_files(tmp_path: Path) -> None:
    """What else a file says where it says a value is written again with it."""
    rows = bulk(20)
    for row in rows["Condition"]:
        for each in row["code"]["coding"]:
            each["display"] = f"Name of {each['code']}"
    text = dump_schema(schema_of()).replace(
        'path = "Condition.code.coding[].code"',
        'path = "Condition.code.coding[].code"\nfacets = { display = "…coding[].display" }',
    )
    schema = ta.Schema.loads(text)
    forest = ta.read(put(rows, tmp_path / "in"), schema)
    assert trees(forest) == twin(rows)
    ta.write(forest, tmp_path / "out/")
    written = [json.loads(line) for line in (tmp_path / "out/Condition.ndjson").read_text().splitlines()]
    told = [each for row in written for each in row.get("code", {}).get("coding", [])]
    assert told and all(each.get("display") in (None, f"Name of {each['code']}") for each in told)
    assert any("display" in each for each in told)
    assert trees(ta.read(tmp_path / "out", schema)) == trees(forest)
    release = ta.anonymize(forest, k=2, m=1, n=0)
    release.write(tmp_path / "release/")
    assert ta.verify(tmp_path / "release", schema=schema, k=2, m=1, n=0).holds

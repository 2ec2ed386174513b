"""The profile fhir-r4: what is written is valid, reads back as what was published, and holds nothing beyond it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from fhir.resources.R4B import get_fhir_model_class
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.profiles import few
from treeanon.errors import SchemaError
from treeanon.io.beyond.look import look_beyond
from treeanon.io.profiles.fhir_elements import as_primitive, type_of
from treeanon.io.profiles.fhir_r4 import CODEC, PUBLISHED

ICD = "http://hl7.org/fhir/sid/icd-10-cm"
CLASSES = f"""
[[class]]
name = "born"
path = "{{Patient}}birthDate"
type = "date"
hierarchy = {{{{ dates = ["year", "decade"] }}}}
[[class]]
name = "dead"
path = "{{Patient}}deceasedBoolean"
[[class]]
name = "kind"
path = "{{Encounter}}class.code"
[[class]]
name = "illness"
path = "{{Condition}}code.coding[system={ICD}].code"
facets = {{{{ display = "…coding.display", text = "…code.text" }}}}
hierarchy = {{{{ icd10 = "cm" }}}}
on_unknown = "suppress"
[[class]]
name = "onset"
path = "{{Condition}}onsetDateTime"
type = "date"
hierarchy = {{{{ dates = ["month", "quarter", "year", "decade"] }}}}
on_unknown = "suppress"
[[class]]
name = "measured"
path = "{{Observation}}valueQuantity.value"
type = "number"
hierarchy = {{{{ intervals = [10, 50], min = 0, max = 500 }}}}
on_unknown = "suppress"
[[class]]
name = "given"
path = "{{Patient}}name[].given[]"
"""
KINDS = ("Patient", "Encounter", "Condition", "Observation")
CODES = {"J18.9": "Pneumonia", "J18.1": "Lobar pneumonia", "J45.0": "Asthma", "E11.9": "Diabetes", "I10": "Pressure"}


def of_bundles(lead: str = 'format = "ndjson"') -> ta.Schema:
    classes = CLASSES.format(**{kind: f"entry[resource.resourceType={kind}].resource." for kind in KINDS})
    return ta.Schema.loads(
        f'version = 1\n[input]\nobjects = "whole"\n{lead}\n[output]\nprofile = "fhir-r4"\n{classes}', source="s.toml"
    )


def of_bulk() -> ta.Schema:
    files = "".join(
        f'[[file]]\nname = "{kind}"\nperson = "{"id" if kind == "Patient" else "subject.reference"}"\n'
        for kind in KINDS
    )
    key = '[[key]]\nfrom = "Condition.encounter.reference"\nto = "Encounter.id"\n'
    classes = CLASSES.format(**{kind: f"{kind}." for kind in KINDS})
    head = 'version = 1\n[input]\nformat = "ndjson"\n[output]\nprofile = "fhir-r4"\n'
    return ta.Schema.loads(head + files + key + classes)


def resources(number: int, chance: Random) -> Iterator[dict[str, Any]]:
    yield {
        "resourceType": "Patient",
        "id": f"SECRET{number}",
        "birthDate": f"19{chance.randrange(30, 99)}-0{chance.randrange(1, 9)}-11",
        "deceasedBoolean": chance.random() < 0.3,
        "name": [{"given": [chance.choice(["Al", "Bo"])], "family": f"SECRET{number}"}],
    }
    subject = {"reference": f"Patient/SECRET{number}", "display": f"SECRET{number}"}
    for visit in range(chance.randrange(1, 4)):
        code = chance.choice(list(CODES))
        own = f"SECRET{number}-{visit}"
        yield {
            "resourceType": "Encounter",
            "id": own,
            "status": "finished",
            "subject": subject,
            "class": {"code": chance.choice(["AMB", "IMP"])},
        }
        coding = [{"system": ICD, "code": code, "display": CODES[code]}, {"system": "http://other", "code": "SECRET"}]
        yield {
            "resourceType": "Condition",
            "subject": subject,
            "encounter": {"reference": f"Encounter/{own}"},
            "onsetDateTime": f"20{chance.randrange(10, 20)}-0{chance.randrange(1, 9)}-11T10:10:10Z",
            "code": {"coding": coding, "text": CODES[code]},
            "note": [{"text": "SECRET"}],
        }
        value = {"value": round(chance.random() * 300, 1), "unit": "SECRET"}
        yield {"resourceType": "Observation", "subject": subject, "status": "final", "valueQuantity": value}


def write_bundles(path: Path, persons: int = 60) -> Path:
    chance = Random(3)
    lines = []
    for number in range(persons):
        entries = [{"fullUrl": f"urn:uuid:SECRET{number}", "resource": one} for one in resources(number, chance)]
        lines.append(json.dumps({"resourceType": "Bundle", "type": "transaction", "entry": entries}))
    path.write_text("\n".join(lines) + "\n")
    return path


def write_bulk(folder: Path, persons: int = 60) -> Path:
    folder.mkdir()
    chance = Random(3)
    rows: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for number in range(persons):
        for one in resources(number, chance):
            rows[one["resourceType"]].append(json.dumps(one))
    for kind, lines in rows.items():
        (folder / f"{kind}.ndjson").write_text("\n".join(lines) + "\n")
    return folder


def check_valid(text: str) -> None:
    value = orjson.loads(text)
    get_fhir_model_class(value["resourceType"]).model_validate(value)


def test_a_release_of_bundles_is_valid_and_reads_back(tmp_path: Path) -> None:
    schema = of_bundles()
    release = ta.anonymize(ta.read(write_bundles(tmp_path / "in.ndjson"), schema), k=5, m=2, n=1)
    release.write(out := tmp_path / "out.ndjson")
    text = out.read_text()
    for line in text.splitlines():
        check_valid(line)
    again = ta.read(out, schema)
    assert sorted(map(str, again.records())) == sorted(map(str, release.forest.records()))
    assert ta.verify(out, schema=schema, k=5, m=2, n=1).holds
    assert "SECRET" not in text and PUBLISHED in text
    entries = [entry["resource"] for entry in orjson.loads(text.splitlines()[0])["entry"]]
    assert {one["subject"]["reference"] for one in entries[1:]} == {"urn:uuid:00000001-0000-4000-8000-000000000000"}


def test_a_release_of_bulk_data_is_valid_and_reads_back(tmp_path: Path) -> None:
    schema = of_bulk()
    release = ta.anonymize(ta.read(write_bulk(tmp_path / "in"), schema), k=5, m=2, n=1)
    release.write(out := tmp_path / "out")
    for kind in KINDS:
        for line in (out / f"{kind}.ndjson").read_text().splitlines():
            check_valid(line)
            assert "SECRET" not in line and orjson.loads(line)["resourceType"] == kind
    again = ta.read(out, schema)
    assert sorted(map(str, again.records())) == sorted(map(str, release.forest.records()))
    assert dict(look_beyond(out, schema, again).counts) == {}
    conditions = out / "Condition.ndjson"
    conditions.write_text(conditions.read_text().replace('"masked"', '"unknown"', 1))
    assert look_beyond(out, schema, ta.read(out, schema)).counts["form"] == 1


@pytest.mark.parametrize("record", [".", "[]"])
def test_documents_of_json_are_valid(tmp_path: Path, record: str) -> None:
    schema = of_bundles(f'format = "json"\nrecord = "{record}"')
    lines = write_bundles(tmp_path / "in.ndjson", 20).read_text().splitlines()
    if record == ".":
        (source := tmp_path / "in").mkdir()
        for number, line in enumerate(lines):
            (source / f"{number}.json").write_text(line)
        out = tmp_path / "out"
    else:
        (source := tmp_path / "in.json").write_text("[" + ",".join(lines) + "]")
        out = tmp_path / "out.json"
    ta.anonymize(ta.read(source, schema), k=2, m=2, n=1).write(out)
    for path in out.iterdir() if record == "." else [out]:
        value = orjson.loads(path.read_text())
        for one in [value] if record == "." else value:
            check_valid(orjson.dumps(one).decode())
    assert ta.verify(out, schema=schema, k=2, m=2, n=1).holds


@pytest.mark.parametrize(
    "change",
    [
        ('"gender"', '"id":"x","gender"'),
        ('"valueCode":"masked"', '"valueCode":"unknown"'),
        ("urn:uuid:00000001-0000", "urn:uuid:00000077-0000"),
        ('{"reference":', '{ "reference":'),
        ('"type":"collection",', '"type":"collection","type":"collection",'),
        ('"type":"collection",', '"type":"batch",'),
        ('"meta":{', '"meta":{"lastUpdated":"2020-01-01T00:00:00Z",'),
        ('"fullUrl":', '"search":{"mode":"match"},"fullUrl":'),
        ('"resourceType":"Condition",', '"resourceType":"Condition","_status":{"id":"x"},'),
        ('{"url":"urn:treeanon:published",', '{"id":"x","url":"urn:treeanon:published",'),
    ],
)
def test_additions_are_found(tmp_path: Path, change: tuple[str, str]) -> None:
    schema = of_bundles()
    source = write_bundles(tmp_path / "in.ndjson", 20)
    source.write_text(source.read_text().replace('"birthDate"', '"gender": "male", "birthDate"'))
    classes = '[[class]]\nname = "sex"\npath = "entry[resource.resourceType=Patient].resource.gender"\n'
    (path := tmp_path / "s.toml").write_text(_text(schema) + classes)
    schema = ta.Schema.load(path)
    ta.anonymize(ta.read(source, schema), k=2, m=2, n=1).write(out := tmp_path / "out.ndjson")
    assert ta.verify(out, schema=schema, k=2, m=2, n=1).holds
    text = out.read_text()
    assert change[0] in text
    out.write_text(text.replace(*change, 1))
    assert not ta.verify(out, schema=schema, k=2, m=2, n=1).holds


def _text(schema: ta.Schema) -> str:
    from treeanon.schema.dump import dump_schema

    return dump_schema(schema)


def test_a_schema_with_a_profile_is_written_with_it() -> None:
    schema = of_bundles()
    assert ta.Schema.loads(_text(schema)).profile == "fhir-r4"
    assert schema.for_format("xml").profile == "" and schema.for_format("ndjson").profile == "fhir-r4"
    assert of_bulk().for_format("xml").profile == ""


@pytest.mark.parametrize(
    ("lead", "output", "said"),
    [
        ('format = "ndjson"', '[output]\nprofile = "fhir"', "unknown value 'fhir'"),
        ('format = "ndjson"', '[output]\nprofil = "fhir-r4"', "is not a key of"),
        ('format = "ndjson"', "output = 3", "must be a table"),
        ('format = "csv"', '[output]\nprofile = "fhir-r4"', "is for formats json, ndjson, not for csv"),
        ('format = "ndjson"\nperson = "id"', '[output]\nprofile = "fhir-r4"', "not with person"),
    ],
)
def test_profiles_that_cannot_be(lead: str, output: str, said: str) -> None:
    first = output if not output.startswith("[") else ""
    last = output if output.startswith("[") else ""
    text = f'version = 1\n{first}\n[input]\n{lead}\n{last}\n[[class]]\nname = "a"\npath = "a"\n'
    with pytest.raises(SchemaError, match=said.replace("[", r"\[")):
        ta.Schema.loads(text)


@pytest.mark.parametrize(
    ("label", "way", "wanted"),
    [
        ("2021", ("birthDate",), "2021"),
        ("2021-05", ("onsetDateTime",), "2021-05"),
        ("2021-13", ("onsetDateTime",), None),
        ("2021-Q2", ("period", "start"), None),
        ("2021-05-03T10:00:00", ("period", "start"), None),
        ("2021-05-03T10:00:00+01:00", ("period", "start"), "2021-05-03T10:00:00+01:00"),
        ("2021-05-03", ("issued",), None),
        ("true", ("deceasedBoolean",), True),
        ("*", ("deceasedBoolean",), None),
        ("[10, 20)", ("valueQuantity", "value"), None),
        ("12.50", ("valueQuantity", "value"), None),
        ("12.5", ("valueQuantity", "value"), 12.5),
        ("J09-J18 Influenza", ("code", "coding", "code"), None),
        ("J18", ("code", "coding", "code"), "J18"),
        ("J1*", ("code", "coding", "code"), None),
        ("*", ("code", "text"), None),
        ("any text", ("code", "text"), "any text"),
        ("\x07", ("code", "text"), None),
    ],
)
def test_what_stands_in_its_element(label: str, way: tuple[str, ...], wanted: object) -> None:
    assert as_primitive(label, type_of(way)) == wanted


LABELS = st.sampled_from(["*", "2020s", "2021", "2021-05", "A b", "J18", "a\nb", "\x07", " ", "true", "[1, 2)", "\xa0"])


@few(30, 60)
@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), LABELS, LABELS, st.booleans()), max_size=5), st.booleans())
def test_any_record_is_valid_and_comes_back(drawn: list[tuple[str, str, str, bool]], moved: bool) -> None:
    entries = []
    for kind, first, second, both in drawn:
        body: dict[str, Any] = {"resourceType": kind}
        if kind == "Patient":
            body |= {"birthDate": first, "name": [{"given": [first, None, second] if both else [second]}]}
        elif kind == "Encounter":
            body |= {"class": {"code": first}} | ({"status": second} if both else {})
        elif kind == "Condition":
            body |= {"code": {"coding": [{"system": ICD, "code": first}, {}], "text": second}}
        else:
            body |= {"valueQuantity": {"value": first}} | ({"effectiveDateTime": second} if both else {})
        entries.append({"resource": body})
    record: dict[str, Any] = {"entry": entries} if entries else {}
    if moved:
        record["treeanon:moved"] = {"/": [["born", "2021", []]]}
    text = orjson.dumps(record).decode()
    written = CODEC.encode(text, 7, "")
    check_valid(written)
    back = CODEC.decode(written.encode())
    assert _as_texts(orjson.loads(back)) == _as_texts(record)
    assert CODEC.encode(back.decode(), 7, "") == written


def _as_texts(value: Any) -> Any:
    """Return a value as readers take it: numbers and truth values are texts."""
    if isinstance(value, dict):
        return {name: _as_texts(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_as_texts(inner) for inner in value]
    return json.dumps(value) if isinstance(value, bool | int | float) else value


def test_lines_that_are_no_release_are_read_as_they_are() -> None:
    foreign = b'{"resourceType":"Bundle","note":"urn:treeanon:","_birthDate":{"extension":[]}}'
    assert orjson.loads(CODEC.decode(foreign)) == orjson.loads(foreign)
    assert CODEC.decode(b'{"urn:treeanon:') == b'{"urn:treeanon:'

"""One patient per file, entries of several kinds in one array: FHIR bundles, clinical documents."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from lxml import etree

import treeanon as ta
from treeanon.errors import DataError

FHIR = """
version = 1
[input]
format = "json"
objects = "merged"
record = "."
[[class]]
name = "gender"
path = "entry[resource.resourceType=Patient].resource.gender"
under = "/"
[[class]]
name = "condition"
path = "entry[resource.resourceType=Condition].resource.code.text"
[[class]]
name = "onset"
path = "entry[resource.resourceType=Condition].resource.onsetDateTime"
type = "date"
hierarchy = { dates = ["month", "year"] }
[[class]]
name = "drug"
path = "entry[resource.resourceType=MedicationRequest].resource.medication.coding[].display"
"""

CDA = """
version = 1
[input]
format = "xml"
objects = "merged"
record = "ClinicalDocument"
namespaces = { "" = "urn:hl7-org:v3", sdtc = "urn:hl7-org:sdtc" }
[[class]]
name = "sex"
path = "recordTarget/patient/gender/@code"
[[class]]
name = "race"
path = "recordTarget/patient/sdtc:race[]/@code"
[[class]]
name = "problem"
path = "section[code/@code=11450-4]/entry[]/value/@displayName"
[[class]]
name = "since"
path = "section[code/@code=11450-4]/entry[]/low"
[[class]]
name = "drug"
path = "section[code/@code=10160-0]/entry[]/drug"
"""


def bundle(number: int) -> dict[str, object]:
    condition = {
        "resourceType": "Condition",
        "code": {"text": ["Flu", "Asthma"][number % 2]},
        "onsetDateTime": "2019-03-04",
    }
    drug = {"resourceType": "MedicationRequest", "medication": {"coding": [{"display": "A"}, {"display": "B"}]}}
    entries = [{"resourceType": "Patient", "gender": "female", "id": "x"}, condition, drug, {"resourceType": "Claim"}]
    return {"resourceType": "Bundle", "entry": [{"fullUrl": "u", "resource": entry} for entry in entries]}


def document(number: int) -> str:
    problem = ["Flu", "Asthma"][number % 2]
    return f"""<?xml version="1.0"?>
<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:s="urn:hl7-org:sdtc">
 <recordTarget><patient><name>Ann</name>
  <gender code="F"/><s:race code="r1"/><s:race code="r2"/></patient></recordTarget>
 <section><code code="11450-4"/><text>narrative</text>
  <entry><value displayName="{problem}"/><low>2019</low></entry></section>
 <section><code code="10160-0"/><entry><drug>A</drug></entry><entry><drug>B</drug></entry></section>
 <section><code code="99999-9"/><entry><drug>not this one</drug></entry></section>
</ClinicalDocument>"""


def write_folder(folder: Path, *, zipped: bool, xml: bool) -> Path:
    ending = "xml" if xml else "json"
    files = {f"ward/Smith-{i}.{ending}": document(i) if xml else json.dumps(bundle(i)) for i in range(6)}
    if zipped:
        with zipfile.ZipFile(folder / "dump.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
            archive.writestr("readme.txt", "not a record")
        return folder / "dump.zip"
    for name, text in files.items():
        (folder / "dump" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "dump" / name).write_text(text)
    (folder / "dump" / "readme.txt").write_text("not a record")
    return folder / "dump"


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("xml", [False, True])
@pytest.mark.parametrize("target", ["out", "out.zip"])
def test_dump_of_one_patient_per_file(tmp_path: Path, zipped: bool, xml: bool, target: str) -> None:
    schema = ta.Schema.loads(CDA if xml else FHIR)
    forest = ta.read(write_folder(tmp_path, zipped=zipped, xml=xml), schema)
    assert len(forest) == 6
    assert forest.report is not None and forest.report.ignored_files == 1
    first = forest.record(0)
    if xml:
        assert first == [
            ["drug", "A", []],
            ["drug", "B", []],
            ["problem", "Flu", [["since", "2019", []]]],
            ["race", "r1", []],
            ["race", "r2", []],
            ["sex", "F", []],
        ]
    else:
        assert first == [
            ["condition", "Flu", [["onset", "2019-03-04", []]]],
            ["drug", "A", []],
            ["drug", "B", []],
            ["gender", "female", []],
        ]
    changed = forest.project({"onset": ["2019"]}) if not xml else forest.project({"drug": ["*"]})
    ta.write(changed, tmp_path / target)
    assert ta.read(tmp_path / target, schema) == changed
    names = (
        zipfile.ZipFile(tmp_path / target).namelist()
        if target.endswith(".zip")
        else [path.name for path in (tmp_path / target).iterdir()]
    )
    assert sorted(names) == [f"record-{i:07}.{'xml' if xml else 'json'}" for i in range(1, 7)]


def test_constants_of_predicates_are_published(tmp_path: Path) -> None:
    schema = ta.Schema.loads(FHIR)
    forest = ta.read(write_folder(tmp_path, zipped=False, xml=False), schema)
    ta.write(forest, tmp_path / "out")
    entries = json.loads((tmp_path / "out" / "record-0000001.json").read_text())["entry"]
    assert sorted(entry["resource"]["resourceType"] for entry in entries) == [
        "Condition",
        "MedicationRequest",
        "Patient",
    ]
    assert forest.report is not None
    assert forest.report.dropped.paths()["entry[]"] == 6  # the claims, which no predicate chooses


def test_namespaces_are_written_as_declared(tmp_path: Path) -> None:
    schema = ta.Schema.loads(CDA)
    ta.write(ta.read(write_folder(tmp_path, zipped=True, xml=True), schema), tmp_path / "out")
    root = etree.parse(tmp_path / "out" / "record-0000001.xml").getroot()
    assert root.tag == "{urn:hl7-org:v3}ClinicalDocument"
    assert {e.get("code") for e in root.iter("{urn:hl7-org:sdtc}race")} == {"r1", "r2"}


def test_other_namespace_is_another_name(tmp_path: Path) -> None:
    (tmp_path / "one.xml").write_text(document(0).replace("urn:hl7-org:v3", "urn:other"))
    with pytest.raises(DataError, match="root element is not ClinicalDocument"):
        ta.read(tmp_path / "one.xml", ta.Schema.loads(CDA))


def test_a_broken_file_of_many_can_be_skipped(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, zipped=False, xml=True)
    (folder / "ward" / "Jones.xml").write_text(document(0)[:300])
    schema = ta.Schema.loads(CDA)
    with pytest.raises(DataError, match=r"Jones\.xml"):
        ta.read(folder, schema)
    forest = ta.read(folder, schema, on_error="skip")
    assert len(forest) == 6 and forest.report is not None and forest.report.skipped == 1


def test_many_files_are_read_in_processes(tmp_path: Path) -> None:
    (tmp_path / "dump").mkdir()
    for i in range(1100):
        (tmp_path / "dump" / f"{i:04}.json").write_text(json.dumps(bundle(i)))
    schema = ta.Schema.loads(FHIR)
    assert ta.read(tmp_path / "dump", schema, jobs=2) == ta.read(tmp_path / "dump", schema)

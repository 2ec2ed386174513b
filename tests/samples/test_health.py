"""The generator of health records: valid FHIR and well-formed C-CDA of the same persons, with all their secrets."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from tests.support.health_samples import Health
from tests.support.paths import ROOT

V3 = {"v": "urn:hl7-org:v3"}
SECTIONS = {
    "48765-2", "10160-0", "11450-4", "47519-4", "46240-8", "30954-2", "8716-3", "11369-6", "29762-2", "11348-0",
}  # fmt: skip


@pytest.fixture(scope="module")
def health() -> Health:
    return Health(persons=25, kilobytes=60)


@pytest.fixture(scope="module")
def bundles(health: Health) -> list[dict[str, Any]]:
    return list(health.bundles())


@pytest.fixture(scope="module")
def bulk(health: Health) -> list[dict[str, Any]]:
    return list(health.bulk())


def references(thing: Any) -> Iterator[str]:
    if isinstance(thing, dict):
        for key, value in thing.items():
            yield from [value] if key == "reference" else references(value)
    elif isinstance(thing, list):
        for value in thing:
            yield from references(value)


def test_every_resource_is_valid_fhir(bundles: list[dict[str, Any]]) -> None:
    fhir = pytest.importorskip("fhir.resources.R4B")
    for entry in (entry for bundle in bundles for entry in bundle["entry"]):
        resource = entry["resource"]
        fhir.get_fhir_model_class(resource["resourceType"]).model_validate(resource)
    fhir.get_fhir_model_class("Bundle").model_validate(bundles[0])


def test_all_types_of_a_usual_export_are_there(bulk: list[dict[str, Any]]) -> None:
    usual = {
        "AllergyIntolerance", "CarePlan", "CareTeam", "Claim", "Condition", "Coverage", "Device", "DiagnosticReport",
        "DocumentReference", "Encounter", "ExplanationOfBenefit", "Goal", "ImagingStudy", "Immunization", "Location",
        "MedicationRequest", "Observation", "Organization", "Patient", "Practitioner", "PractitionerRole", "Procedure",
        "Provenance", "RelatedPerson",
    }  # fmt: skip
    assert {each["resourceType"] for each in bulk} == usual


def test_references_lead_to_what_the_same_form_has(bundles: list[dict[str, Any]], bulk: list[dict[str, Any]]) -> None:
    for bundle in bundles:
        held = [entry["fullUrl"] for entry in bundle["entry"]]
        assert len(set(held)) == len(held)
        assert set(references(bundle)) <= set(held)
    told = {f"{each['resourceType']}/{each['id']}" for each in bulk}
    assert len(told) == len(bulk)
    assert set(references(bulk)) <= told


def test_both_forms_say_the_same(bundles: list[dict[str, Any]], bulk: list[dict[str, Any]]) -> None:
    def plain(one: dict[str, Any]) -> str:
        for kind in {each["resourceType"] for each in bulk}:
            one = json.loads(json.dumps(one).replace(f'"reference": "{kind}/', '"reference": "urn:uuid:'))
        return json.dumps(one, sort_keys=True)

    held = {plain(entry["resource"]) for bundle in bundles for entry in bundle["entry"]}
    assert held == {plain(each) for each in bulk}


def test_documents_have_their_sections_and_the_same_persons(health: Health, bundles: list[dict[str, Any]]) -> None:
    documents = [etree.fromstring(text.encode()) for text in health.documents()]
    for document in documents:
        assert (
            set(document.xpath("v:component/v:structuredBody/v:component/v:section/v:code/@code", namespaces=V3))
            == SECTIONS
        )
        assert document.xpath("count(//v:section[not(v:templateId and v:title and v:text)])", namespaces=V3) == 0
    families = [document.findtext(".//v:patient/v:name/v:family", namespaces=V3) for document in documents]
    assert families == [bundle["entry"][0]["resource"]["name"][0]["family"] for bundle in bundles]
    problems = {
        code
        for document in documents
        for code in document.xpath(
            "//v:section[v:code/@code='11450-4']/v:entry//v:observation/v:value/@code", namespaces=V3
        )
    }
    resources = [entry["resource"] for bundle in bundles for entry in bundle["entry"]]
    assert problems == {one["code"]["coding"][0]["code"] for one in resources if one["resourceType"] == "Condition"}


def test_the_secrets_are_those_of_the_documents(health: Health, bundles: list[dict[str, Any]]) -> None:
    texts = [json.dumps(bundles, ensure_ascii=False), *health.documents()]
    everything = "\n".join(texts)
    for kind in ("ssn", "mrn", "license", "passport", "member", "device", "udi", "narrative", "encoded", "place"):
        assert len(health.secrets.kinds[kind]) >= 25
        assert [secret for secret in health.secrets.kinds[kind] if secret not in everything] == []
    assert health.secrets.found_in(texts[1])
    assert not health.secrets.found_in("Hypertension, 5961 of them")


def test_the_same_options_give_the_same_bytes(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "samples" / "make_health.py"), "--persons", "3", "--kilobytes", "30"]
    subprocess.run([*command, "--out", str(tmp_path), "--secrets", str(tmp_path / "s.json")], check=True)
    again = Health(persons=3, kilobytes=30)
    for form, write in (
        ("bundles", again.write_bundles), ("bulk", again.write_bulk), ("ccda", again.write_documents),
    ):  # fmt: skip
        folder = write(tmp_path / "again" / form)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
            path.name: path.read_bytes() for path in (tmp_path / form).iterdir()
        }
    assert again.write_secrets(tmp_path / "t.json").read_bytes() == (tmp_path / "s.json").read_bytes()


@pytest.mark.parametrize("kilobytes", [60, 400])
def test_bundles_have_about_the_size_asked_for(kilobytes: int) -> None:
    sizes = [len(json.dumps(bundle)) for bundle in Health(persons=20, kilobytes=kilobytes).bundles()]
    assert 0.8 < sum(sizes) / len(sizes) / kilobytes / 1000 < 1.25

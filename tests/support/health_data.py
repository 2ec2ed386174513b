"""Invented records of health care in the forms in which they are exchanged: bundles and bulk export as of FHIR,
clinical documents as of C-CDA, and CSV extracts. No person, clinic or illness in them exists.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from tests.support.planted import Planted

Json = dict[str, Any]

ILLNESSES = {
    "44054006": "Diabetes type 2",
    "38341003": "Hypertension",
    "195967001": "Asthma",
    "10509002": "Acute bronchitis",
    "444814009": "Viral sinusitis",
    "55822004": "Hyperlipidemia",
}
DRUGS = {
    "860975": "Metformin 500 MG",
    "314076": "Lisinopril 10 MG",
    "245314": "Albuterol 5 MG",
    "308136": "Amlodipine 2 MG",
}
MEASURES = {"8302-2": ("Body height", "cm", 150, 195), "29463-7": ("Body weight", "kg", 50, 110)}
_RACES = ["White", "Asian", "Black or African American"]


def _coding(system: str, code: str, display: str) -> Json:
    return {"coding": [{"system": system, "code": code, "display": display}], "text": display}


class People:
    """Persons with everything that is known of them, as resources of FHIR; `planted` has their secrets."""

    def __init__(self, persons: int, seed: int = 7) -> None:
        self.planted = Planted(seed)
        self.random = self.planted.random
        self.doctors = [(self.planted.uuid(), self.planted.few_names()) for _ in range(4)]
        self.resources = [self.person(number) for number in range(persons)]

    def person(self, number: int) -> list[Json]:
        made, p = self.random, self.planted
        patient = self.patient()
        found = [patient]
        subject = {"reference": f"urn:uuid:{patient['id']}", "display": patient["name"][0]["text"]}
        doctor_id, doctor = made.choice(self.doctors)
        found.append(
            {"resourceType": "Practitioner", "id": doctor_id, "active": True, "name": [{"text": doctor}],
             "telecom": [{"system": "email", "value": p.mail()}]}
        )  # fmt: skip
        found.append(
            {"resourceType": "Organization", "id": p.uuid(), "type": [_coding("http://orgs", "prov", "Provider")],
             "contact": [{"name": {"family": p.family()}}], "address": [{"line": [p.street()], "city": "Lake Town"}]}
        )  # fmt: skip
        for _ in range(made.randrange(1, 4)):
            visit, start = p.uuid(), self.day(2015, 2021)
            found.append(
                {"resourceType": "Encounter", "id": visit, "status": "finished", "subject": subject,
                 "class": {"code": made.choice(["AMB", "EMER", "IMP"])}, "period": {"start": start, "end": start},
                 "participant": [{"individual": {"reference": f"Practitioner/{doctor_id}", "display": doctor}}]}
            )  # fmt: skip
            code, display = made.choice(list(ILLNESSES.items()))
            found.append(
                {"resourceType": "Condition", "id": p.uuid(), "subject": subject, "recordedDate": start,
                 "encounter": {"reference": f"urn:uuid:{visit}"},
                 "code": _coding("http://snomed.info/sct", code, display),
                 "note": [{"text": p.tale()}]}
            )  # fmt: skip
            for code, (display, unit, low, high) in MEASURES.items():
                found.append(
                    {"resourceType": "Observation", "id": p.uuid(), "subject": subject, "status": "final",
                     "code": _coding("http://loinc.org", code, display), "effectiveDateTime": start,
                     "valueQuantity": {"value": made.randrange(low, high), "unit": unit}}
                )  # fmt: skip
            code, display = made.choice(list(DRUGS.items()))
            found.append(
                {"resourceType": "MedicationRequest", "id": p.uuid(), "subject": subject, "authoredOn": start,
                 "medicationCodeableConcept": _coding("http://rxnorm", code, display),
                 "requester": {"reference": f"Practitioner/{doctor_id}", "display": doctor},
                 "dosageInstruction": [{"sequence": 1, "text": p.tale()}]}
            )  # fmt: skip
        found += [self.rarer(kind, subject) for kind in _RARER]
        return found

    def patient(self) -> Json:
        made, p = self.random, self.planted
        given, family = p.given(), p.family()
        race = {"url": "text", "valueString": made.choice(_RACES)}
        return {
            "resourceType": "Patient",
            "id": p.uuid(),
            "text": {"status": "generated", "div": f"<div>{p.tale()}</div>"},
            "extension": [
                {"url": "http://hl7.example/race", "extension": [race]},
                {"url": "http://hl7.example/mothersMaidenName", "valueString": p.family()},
            ],
            "identifier": [{"system": "http://hospital.example/mrn", "value": p.number()}, {"value": p.ssn()}],
            "name": [{"use": "official", "family": family, "given": [given], "text": p.keep(f"{given} {family}")}],
            "telecom": [{"system": "phone", "value": p.phone(), "use": "home"}],
            "gender": made.choice(["male", "female"]),
            "birthDate": self.day(1930, 2010),
            "address": [{"line": [p.street()], "city": made.choice(["Lake Town", "Hill End"]), "state": "MA"}],
            "maritalStatus": {"text": made.choice(["Married", "Never Married"])},
            "contact": [{"relationship": [{"text": "guardian"}], "name": {"text": p.few_names()}}],
            "photo": [{"url": p.url()}],
        }

    def rarer(self, kind: str, subject: Json) -> Json:
        p = self.planted
        field, value = _RARER[kind]
        return {
            "resourceType": kind,
            "id": p.uuid(),
            "patient": subject,
            field: value,
            "meta": {"versionId": p.number()},
        }

    def day(self, first: int, last: int) -> str:
        made = self.random
        return f"{made.randrange(first, last)}-{made.randrange(1, 13):02d}-{made.randrange(1, 29):02d}"


_RARER: dict[str, tuple[str, Any]] = {
    "AllergyIntolerance": ("criticality", "low"),
    "CarePlan": ("intent", "order"),
    "CareTeam": ("managing", {"role": "primary"}),
    "Claim": ("total", {"value": 129.16, "currency": "USD"}),
    "Device": ("deviceName", [{"kind": "udi"}]),
    "DiagnosticReport": ("category", [{"text": "LAB"}]),
    "ExplanationOfBenefit": ("outcome", "complete"),
    "Goal": ("lifecycleStatus", "active"),
    "ImagingStudy": ("series", [{"modality": {"code": "DX"}}]),
    "Immunization": ("vaccineCode", {"text": "Influenza"}),
    "Procedure": ("performedPeriod", {"start": "2019-01-04"}),
}


def bundles(folder: Path, people: People) -> Path:
    """Write a bundle for each person: one file with entries of all their resources."""
    folder.mkdir()
    for resources in people.resources:
        entries = [{"fullUrl": f"urn:uuid:{one['id']}", "resource": one} for one in resources]
        document = {"resourceType": "Bundle", "type": "transaction", "entry": entries}
        (folder / f"{resources[0]['name'][0]['text']}.json").write_text(json.dumps(document))
    return folder


def bulk_export(folder: Path, people: People) -> Path:
    """Write a file of lines for each kind of resource, as bulk export does."""
    folder.mkdir()
    lines: dict[str, list[str]] = {}
    for one in (one for resources in people.resources for one in resources):
        lines.setdefault(one["resourceType"], []).append(json.dumps(one))
    for kind, found in lines.items():
        (folder / f"{kind}.ndjson").write_text("\n".join(dict.fromkeys(found)) + "\n")
    return folder


_SECTIONS = {
    "11450-4": ("Problems", ILLNESSES),
    "10160-0": ("Medications", DRUGS),
    "48765-2": ("Allergies", {"91936005": "Penicillin", "300913006": "Shellfish"}),
    "47519-4": ("Procedures", {"180256009": "Subcutaneous immunotherapy", "430193006": "Medication reconciliation"}),
}


def clinical_documents(folder: Path, persons: int, seed: int = 11) -> tuple[Path, Planted]:
    """Write a document as of C-CDA for each person: sections by code, entries by template."""
    folder.mkdir()
    planted = Planted(seed)
    for number in range(persons):
        (folder / f"{number}.xml").write_text(_document(planted))
    return folder, planted


def _document(p: Planted) -> str:
    made = p.random
    born = f"{made.randrange(1930, 2010)}{made.randrange(1, 13):02d}{made.randrange(1, 29):02d}"
    doctor = p.few_names()
    sections = "".join(_section(p, code, title, values) for code, (title, values) in _SECTIONS.items())
    return f"""<?xml version="1.0"?>
<ClinicalDocument xmlns="urn:hl7-org:v3">
 <id root="2.16.840.1" extension="{p.uuid()}"/>
 <title>Continuity of Care</title>
 <recordTarget><patientRole>
  <id root="2.16.840.1.113883.4.1" extension="{p.ssn()}"/>
  <addr><streetAddressLine>{p.street()}</streetAddressLine><city>{made.choice(["Lake Town", "Hill End"])}</city></addr>
  <telecom use="HP" value="tel:{p.phone()}"/>
  <patient>
   <name><given>{p.given()}</given><family>{p.family()}</family></name>
   <administrativeGenderCode code="{made.choice("MF")}"/><birthTime value="{born}"/>
   <guardian><guardianPerson><name><given>{p.given()}</given><family>{p.family()}</family></name></guardianPerson></guardian>
  </patient>
 </patientRole></recordTarget>
 <author><assignedAuthor><id extension="{p.number()}"/>
  <assignedPerson><name>{doctor}</name></assignedPerson></assignedAuthor></author>
 <component><structuredBody>{sections}</structuredBody></component>
</ClinicalDocument>
"""


def _section(p: Planted, code: str, title: str, values: dict[str, str]) -> str:
    made = p.random
    entries = ""
    for each, display in made.sample(list(values.items()), made.randrange(1, 3)):
        year = made.randrange(2012, 2021)
        entries += (
            f'<entry><observation><templateId root="2.16.{code}"/><id root="{p.uuid()}"/>'
            f'<text><reference value="#{p.number()}"/></text><effectiveTime value="{year}0{made.randrange(1, 9)}15"/>'
            f'<value code="{each}" displayName="{escape(display)}"/></observation></entry>'
        )
    table = f"<table><tbody><tr><td ID='a'>{p.tale()}</td></tr></tbody></table><paragraph>{p.tale()}</paragraph>"
    return (
        f'<component><section><templateId root="1.3.{code}"/><code code="{code}"/><title>{title}</title>'
        f"<text>{table}</text>{entries}</section></component>"
    )


def extract(path: Path, persons: int, *, contacts: bool, seed: int = 13) -> tuple[Path, Planted]:
    """Write a CSV extract as of a register: persons, if asked for with a contact for each."""
    planted = Planted(seed)
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow([*_COLUMNS, *(_CONTACT if contacts else [])])
        for number in range(persons):
            rows.writerow([*_row(planted, number), *(_contact(planted) if contacts else [])])
    return path, planted


_COLUMNS = [
    "case",
    "mrn",
    "surname",
    "forename",
    "born",
    "sex",
    "zip",
    "gp_name",
    "diagnosis",
    "weight",
    "remark",
    "pwd_hash",
]
_CONTACT = ["next_of_kin", "kin_phone", "last_ip", "portrait"]


def _row(p: Planted, number: int) -> Iterator[str]:
    made = p.random
    yield str(100_000 + number * 7)
    p.keep(str(100_000 + number * 7))
    yield from (p.number(), p.family(), p.given())
    yield f"{made.randrange(1930, 2010)}-{made.randrange(1, 13):02d}-{made.randrange(1, 29):02d}"
    yield made.choice(["F", "M"])
    yield made.choice(["54100", "54101", "54200", "54210"])
    yield p.few_names()
    yield made.choice(list(ILLNESSES.values()))
    yield str(made.randrange(45, 120))
    yield p.tale()
    yield p.hash()


def _contact(p: Planted) -> Iterator[str]:
    yield p.few_names()
    yield p.phone()
    yield p.ip()
    yield p.url()


def generators() -> Iterator[tuple[str, Any]]:
    """Yield each form of input by name, with what writes it into a folder and returns its path and its secrets."""
    yield "bundles", lambda folder: _of_people(bundles, folder)
    yield "bulk export", lambda folder: _of_people(bulk_export, folder)
    yield "documents", lambda folder: clinical_documents(folder / "documents", 80)
    yield "register", lambda folder: extract(folder / "register.csv", 150, contacts=False)
    yield "contacts", lambda folder: extract(folder / "contacts.csv", 150, contacts=True)


def _of_people(write: Any, folder: Path) -> tuple[Path, Planted]:
    people = People(60)
    return write(folder / "export", people), people.planted

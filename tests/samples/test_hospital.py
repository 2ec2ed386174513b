"""The shipped sample hospital: it is what its generator makes, and its files agree with one another."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from lxml import etree

from tests.support.paths import ROOT

SAMPLES, HIERARCHIES = ROOT / "samples", ROOT / "schemas" / "hierarchies"
NAMES = ("hospital", "diagnosis", "treatment")

Person = dict[str, object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that the generator writes."""
    folder = tmp_path_factory.mktemp("hospital")
    command = [
        sys.executable,
        str(SAMPLES / "make_hospital.py"),
        "--out",
        str(folder),
        "--schemas",
        str(folder),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def persons() -> list[Person]:
    return [json.loads(line) for line in (SAMPLES / "patients.ndjson").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def from_xml() -> list[Person]:
    root = etree.parse(SAMPLES / "patients.xml").getroot()
    assert root.tag == "patients"
    return [person_of(element) for element in root]


def person_of(element: etree._Element) -> Person:
    """The person of a <patient>, in the shape that the NDJSON has."""
    return {
        "ssn": element.get("ssn"),
        "record": int(element.get("record") or ""),
        "name": element.findtext("name"),
        "age": int(element.findtext("age") or ""),
        "sex": element.findtext("sex"),
        "zip": element.findtext("zip"),
        "visits": [
            {
                "hospital": visit.get("hospital"),
                "date": visit.findtext("date"),
                "note": visit.findtext("note"),
                "diagnoses": [
                    {"name": found.get("name"), "treatments": [t.text for t in found.iterfind("treatment")]}
                    for found in visit.iterfind("diagnosis")
                ],
            }
            for visit in element.iterfind("visit")
        ],
    }


def rows_of(name: str) -> list[list[str]]:
    return [line.split(";") for line in (HIERARCHIES / f"{name}.csv").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("name", ["patients.xml", "patients.ndjson"])
def test_patients_are_regenerated_byte_for_byte(made: Path, name: str) -> None:
    assert (made / name).read_bytes() == (SAMPLES / name).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_hierarchies_are_regenerated_byte_for_byte(made: Path, name: str) -> None:
    file = f"{name}.csv"
    assert (made / "hierarchies" / file).read_bytes() == (HIERARCHIES / file).read_bytes()


def test_another_seed_makes_other_patients(tmp_path: Path, persons: list[Person]) -> None:
    command = [sys.executable, str(SAMPLES / "make_hospital.py"), "--out", str(tmp_path)]
    subprocess.run([*command, "--seed", "8", "--patients", "20"], check=True, capture_output=True)
    lines = (tmp_path / "patients.ndjson").read_text("utf-8").splitlines()
    assert len(lines) == 20
    assert [json.loads(line) for line in lines] != persons[:20]


def test_both_formats_hold_the_same_persons(persons: list[Person], from_xml: list[Person]) -> None:
    assert from_xml == persons


def test_there_are_enough_patients_and_they_are_distinct(persons: list[Person]) -> None:
    assert len(persons) >= 800
    assert len({person["ssn"] for person in persons}) == len(persons)
    assert len({person["record"] for person in persons}) == len(persons)


@pytest.mark.parametrize("name", ["patients.xml", "patients.ndjson"])
def test_files_stay_small(name: str) -> None:
    assert (SAMPLES / name).stat().st_size < 1_000_000


def test_every_patient_looks_as_described(persons: list[Person]) -> None:
    for person in persons:
        assert 0 <= int(str(person["age"])) <= 120
        assert person["sex"] in ("F", "M")
        assert len(str(person["zip"])) == 5
        visits = person["visits"]
        assert isinstance(visits, list) and 1 <= len(visits) <= 4
        for visit in visits:
            assert date(2023, 1, 1) <= date.fromisoformat(visit["date"]) <= date(2024, 12, 31)
            assert 1 <= len(visit["diagnoses"]) <= 3
            assert all(len(found["treatments"]) <= 2 for found in visit["diagnoses"])


def values_of(persons: list[Person]) -> dict[str, set[str]]:
    """The values of each class that has a hierarchy file."""
    values: dict[str, set[str]] = {name: set() for name in NAMES}
    for person in persons:
        visits = person["visits"]
        assert isinstance(visits, list)
        for visit in visits:
            values["hospital"].add(visit["hospital"])
            for found in visit["diagnoses"]:
                values["diagnosis"].add(found["name"])
                values["treatment"].update(found["treatments"])
    return values


@pytest.mark.parametrize("name", NAMES)
def test_hierarchies_know_every_value(persons: list[Person], name: str) -> None:
    assert values_of(persons)[name] <= {row[0] for row in rows_of(name)}


@pytest.mark.parametrize("name", NAMES)
def test_hierarchies_are_trees_of_distinct_texts(name: str) -> None:
    rows = rows_of(name)
    leaves = [row[0] for row in rows]
    assert len(set(leaves)) == len(leaves)
    levels = [{row[level] for row in rows} for level in range(len(rows[0]))]
    assert levels[-1] == {"*"}
    assert len(set().union(*levels)) == sum(len(level) for level in levels)
    for level in range(len(levels) - 1):
        assert len({(row[level], row[level + 1]) for row in rows}) == len(levels[level])

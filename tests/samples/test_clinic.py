"""The shipped sample clinic: it is what its generator makes, its keys fit, and both its forms read alike."""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import treeanon as ta
from tests.support.paths import ROOT

SAMPLES, SCHEMAS = ROOT / "samples", ROOT / "schemas"
HIERARCHIES = SCHEMAS / "hierarchies"
FOLDER, DATABASE = SAMPLES / "clinic", SAMPLES / "clinic.sqlite"
TABLES = ("practice", "doctor", "ward", "substance", "patient", "allergy", "visit", "diagnosis", "treatment")

Row = dict[str, str]
Keys = set[tuple[str, tuple[str, ...], str, tuple[str, ...]]]


def generate(folder: Path, *options: str) -> None:
    command = [sys.executable, str(SAMPLES / "make_clinic.py"), "--out", str(folder), "--schemas", str(folder)]
    subprocess.run([*command, *options], check=True, capture_output=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that the generator writes."""
    folder = tmp_path_factory.mktemp("clinic")
    generate(folder)
    return folder


@pytest.fixture(scope="module")
def tables() -> dict[str, list[Row]]:
    """The rows of each CSV file, all cells as text."""
    found = {}
    for name in TABLES:
        with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
            found[name] = list(csv.DictReader(lines))
    return found


@pytest.fixture(scope="module")
def package() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "datapackage.json").read_text("utf-8"))
    return found


def as_list(names: str | list[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def declared_keys(package: dict[str, Any]) -> Keys:
    return {
        (
            resource["name"],
            as_list(key["fields"]),
            reference["resource"] or resource["name"],
            as_list(reference["fields"]),
        )
        for resource in package["resources"]
        for key in resource["schema"].get("foreignKeys", ())
        for reference in [key["reference"]]
    }


def primary_keys(package: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    return {one["name"]: as_list(one["schema"].get("primaryKey", [])) for one in package["resources"]}


@pytest.mark.parametrize("name", [*(f"{table}.csv" for table in TABLES), "datapackage.json"])
def test_files_are_regenerated_byte_for_byte(made: Path, name: str) -> None:
    assert (made / "clinic" / name).read_bytes() == (FOLDER / name).read_bytes()


@pytest.mark.parametrize("name", ["specialty", "substance"])
def test_hierarchies_are_regenerated_byte_for_byte(made: Path, name: str) -> None:
    assert (made / "hierarchies" / f"{name}.csv").read_bytes() == (HIERARCHIES / f"{name}.csv").read_bytes()


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as file:
        return list(file.iterdump())


def test_the_database_is_regenerated_row_for_row(made: Path) -> None:
    assert dump(made / "clinic.sqlite") == dump(DATABASE)


def test_another_seed_makes_other_patients(tmp_path: Path, tables: dict[str, list[Row]]) -> None:
    generate(tmp_path, "--seed", "12", "--patients", "20")
    lines = (tmp_path / "clinic" / "patient.csv").read_text("utf-8").splitlines()
    assert len(lines) == 21
    assert {line.split(",")[2] for line in lines[1:]} != {row["ssn"] for row in tables["patient"][:20]}


def test_nothing_else_is_shipped_and_it_stays_small() -> None:
    names = {path.name for path in FOLDER.iterdir()}
    assert names == {"datapackage.json", *(f"{name}.csv" for name in TABLES)}
    assert sum(path.stat().st_size for path in [DATABASE, *FOLDER.iterdir()]) < 400_000


def test_the_database_has_the_rows_of_the_csv_files(tables: dict[str, list[Row]]) -> None:
    with closing(sqlite3.connect(DATABASE)) as file:
        for name in TABLES:
            found = file.execute(f"SELECT * FROM {name} ORDER BY rowid")
            columns = [column for column, *_ in found.description]
            assert columns == list(tables[name][0])
            rows = [["" if cell is None else str(cell) for cell in row] for row in found]
            assert rows == [list(row.values()) for row in tables[name]]


def test_the_database_accepts_its_own_keys() -> None:
    with closing(sqlite3.connect(DATABASE)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert file.execute("PRAGMA foreign_key_check").fetchall() == []


def test_the_package_describes_the_files(package: dict[str, Any], tables: dict[str, list[Row]]) -> None:
    assert package["profile"] == "tabular-data-package"
    assert [resource["name"] for resource in package["resources"]] == list(TABLES)
    for resource in package["resources"]:
        assert resource["path"] == f"{resource['name']}.csv"
        fields = resource["schema"]["fields"]
        assert [field["name"] for field in fields] == list(tables[resource["name"]][0])
        assert {field["type"] for field in fields} <= {"integer", "string", "date"}


def test_cells_have_the_types_that_the_package_declares(package: dict[str, Any], tables: dict[str, list[Row]]) -> None:
    checks: dict[str, Callable[[str], object]] = {"integer": int, "date": date.fromisoformat, "string": str}
    for resource in package["resources"]:
        for field in resource["schema"]["fields"]:
            for row in tables[resource["name"]]:
                if row[field["name"]]:
                    checks[field["type"]](row[field["name"]])


def test_keys_name_fields_that_exist(package: dict[str, Any], tables: dict[str, list[Row]]) -> None:
    primary = primary_keys(package)
    keys = declared_keys(package)
    assert len(keys) == 11
    for table, columns, target, target_columns in keys:
        assert set(columns) <= set(tables[table][0])
        assert target_columns == primary[target]
        assert len(columns) == len(target_columns)
    for table, columns in primary.items():
        assert set(columns) <= set(tables[table][0])


def test_the_database_declares_the_keys_of_the_package(package: dict[str, Any]) -> None:
    primary, keys = {}, set()
    with closing(sqlite3.connect(DATABASE)) as file:
        for table in TABLES:
            columns = file.execute("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", (table,))
            primary[table] = tuple(name for (name,) in columns)
        for table in TABLES:
            parts = defaultdict(list)
            for part in file.execute("SELECT * FROM pragma_foreign_key_list(?) ORDER BY id, seq", (table,)):
                parts[part[0]].append(part)
            for found in parts.values():
                target = found[0][2]
                # a key that names no columns refers to the primary key
                target_columns = tuple(part[4] for part in found) if found[0][4] else primary[target]
                keys.add((table, tuple(part[3] for part in found), target, target_columns))
    assert primary == primary_keys(package)
    assert keys == declared_keys(package)


def test_primary_keys_are_there_and_distinct(package: dict[str, Any], tables: dict[str, list[Row]]) -> None:
    for table, columns in primary_keys(package).items():
        found = [tuple(row[column] for column in columns) for row in tables[table]]
        assert all(all(key) for key in found)
        assert not columns or len(set(found)) == len(found)


def test_no_key_dangles_and_some_are_null(package: dict[str, Any], tables: dict[str, list[Row]]) -> None:
    nulls = Counter[str]()
    for table, columns, target, target_columns in declared_keys(package):
        there = {tuple(row[column] for column in target_columns) for row in tables[target]}
        for row in tables[table]:
            key = tuple(row[column] for column in columns)
            if any(key):
                assert key in there
            else:
                nulls[f"{table}.{columns[0]}"] += 1
    assert set(nulls) == {"patient.gp_id", "doctor.practice_id", "ward.part_of", "visit.referred_by"}


def test_it_has_what_makes_exports_hard(tables: dict[str, list[Row]]) -> None:
    visits = Counter(row["patient_id"] for row in tables["visit"])
    assert 0 < sum(row["patient_id"] not in visits for row in tables["patient"]) < 60
    assert max(visits.values()) >= 4
    assert any(row["postcode"].startswith("0") for row in tables["patient"])
    owners = [row["patient_id"] for row in tables["visit"]]
    assert owners != sorted(owners)
    assert any("," in row["full_name"] for row in tables["doctor"])
    assert any(not row["dose"] for row in tables["treatment"])
    assert len(tables["patient"]) == len({row["ssn"] for row in tables["patient"]}) == 600


def load(name: str) -> ta.Schema:
    return ta.Schema.load(SCHEMAS / name)


@pytest.mark.parametrize("name", ["specialty", "substance"])
def test_hierarchies_know_every_value(name: str, tables: dict[str, list[Row]]) -> None:
    lines = [line.split(";") for line in (HIERARCHIES / f"{name}.csv").read_text("utf-8").splitlines()]
    table, column = {"specialty": ("doctor", "specialty"), "substance": ("substance", "name")}[name]
    assert {row[column] for row in tables[table]} == {line[0] for line in lines}
    groups = {line[1] for line in lines}
    assert groups.isdisjoint(line[0] for line in lines)


def test_no_class_publishes_a_key_column(package: dict[str, Any]) -> None:
    secret = {(table, column) for table, columns in primary_keys(package).items() for column in columns}
    secret |= {(table, column) for table, columns, _, _ in declared_keys(package) for column in columns}
    names = {column for _, column in secret}
    for schema in (load("clinic.toml"), load("clinic-sqlite.toml")):
        assert not {str(one.path).rpartition(".")[2] for one in schema.classes} & names


def test_both_schemas_have_the_same_classes() -> None:
    assert load("clinic.toml").classes == load("clinic-sqlite.toml").classes


# --- The same persons as documents, joined by hand: the slow twin of reading by keys.

CLASS_PATHS = {
    "visit.ward.ward(part_of).": "visit[].ward.main.",
    "visit.ward.": "visit[].ward.",
    "visit.doctor(attending_id).": "visit[].attending.",
    "visit.doctor(referred_by).": "visit[].referrer.",
    "visit.diagnosis.treatment.": "visit[].diagnosis[].treatment[].",
    "visit.diagnosis.": "visit[].diagnosis[].",
    "visit.day": "visit[].day",
    "allergy.": "allergy[].",
}


def document_schema() -> ta.Schema:
    """The schema of the CSV files, its paths turned into those of the documents below."""
    text = (SCHEMAS / "clinic.toml").read_text("utf-8")
    text = text.replace('format = "tables" ', 'format = "ndjson"').replace('record = "patient"', "")
    for ours, theirs in CLASS_PATHS.items():
        text = text.replace(f'path = "{ours}', f'path = "{theirs}')
    return ta.Schema.loads(text.replace('"hierarchies/', f'"{HIERARCHIES}/'))


def documents(tables: dict[str, list[Row]]) -> list[dict[str, Any]]:
    """Each patient with all that is known, as one document."""

    def by(table: str, *columns: str) -> dict[tuple[str, ...], list[Row]]:
        found = defaultdict(list)
        for row in tables[table]:
            found[tuple(row[column] for column in columns)].append(row)
        return found

    def one(rows: dict[tuple[str, ...], list[Row]], key: str) -> dict[str, Any]:
        return dict(*rows.get((key,), [{}]))

    doctors, wards = by("doctor", "doctor_id"), by("ward", "ward_id")
    practices, substances = by("practice", "practice_id"), by("substance", "substance_id")
    visits, allergies = by("visit", "patient_id"), by("allergy", "patient_id")
    diagnoses, treatments = by("diagnosis", "visit_id"), by("treatment", "visit_id", "line_no")

    def visit(row: Row) -> dict[str, Any]:
        found = [
            {**line, "treatment": treatments.get((line["visit_id"], line["line_no"]), [])}
            for line in diagnoses[(row["visit_id"],)]
        ]
        ward = one(wards, row["ward_id"])
        return {
            "day": row["day"],
            "ward": {**ward, "main": one(wards, ward["part_of"])},
            "attending": one(doctors, row["attending_id"]),
            "referrer": one(doctors, row["referred_by"]),
            "diagnosis": found,
        }

    def person(row: Row) -> dict[str, Any]:
        gp = one(doctors, row["gp_id"])
        if gp:
            gp = {**gp, "practice": one(practices, gp["practice_id"])}
        return {
            **row,
            "doctor": gp,
            "visit": [visit(each) for each in visits.get((row["patient_id"],), [])],
            "allergy": [
                {"substance": one(substances, each["substance_id"])} for each in allergies.get((row["patient_id"],), [])
            ],
        }

    return [person(row) for row in tables["patient"]]


@pytest.fixture(scope="module")
def joined(tables: dict[str, list[Row]], tmp_path_factory: pytest.TempPathFactory) -> ta.Forest:
    """The persons as documents, read as documents."""
    path = tmp_path_factory.mktemp("joined") / "patients.ndjson"
    path.write_text("".join(json.dumps(one) + "\n" for one in documents(tables)), "utf-8")
    return ta.read(path, document_schema())


@pytest.mark.parametrize(("source", "schema"), [(FOLDER, "clinic.toml"), (DATABASE, "clinic-sqlite.toml")])
def test_tables_are_read_as_the_trees_that_their_keys_mean(joined: ta.Forest, source: Path, schema: str) -> None:
    assert ta.read(source, load(schema)) == joined


def test_a_release_of_the_clinic_keeps_much(joined: ta.Forest) -> None:
    release = ta.anonymize(joined, k=5, m=2, n=1, seed=1, effort=0.05)
    assert release.loss.value_loss < 0.4
    assert release.loss.relations_kept > 0.8

"""init for tables: which keys are found, which table is the person, which paths are proposed; and the schema reads."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import treeanon as ta
from tests.support.paths import ROOT
from treeanon.cli.main import main
from treeanon.errors import DataError, FileError, UsageError
from treeanon.infer import propose, render_schema
from treeanon.infer.relations import find_keys
from treeanon.io.relational.source import open_tables

CLINIC = ROOT / "samples" / "clinic"


def database(path: Path, script: str, **rows: list[tuple]) -> Path:
    """A SQLite file of the tables of a script, with rows."""
    with closing(sqlite3.connect(path)) as made:
        made.executescript(script)
        for table, content in rows.items():
            for row in content:
                made.execute(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(row))})', row)
        made.commit()
    return path


def proposed(source: Path | str, **options):
    """The findings and the schema's text, after reading the input by it."""
    findings = propose(source, **options)
    text = render_schema(findings)
    forest = ta.read(source, ta.Schema.loads(text))
    if findings.sample.whole:
        assert len(forest) == len(findings.sample.records)
    return findings, text


def paths(findings) -> dict[str, str]:
    """The roles of all paths; a facet has that of its class."""
    return {
        path.text(slashed=False): found.role
        for found in findings.classes
        for path in (found.path, *found.facets.values())
    }


def found_keys(source: Path, format: str = "sqlite") -> list[str]:
    with closing(open_tables(source, format)) as tables:
        return [str(found.key) for found in find_keys(tables, tables.keys())]


def left(findings) -> dict[str, str]:
    return {each.path: each.why for each in findings.left_out}


@pytest.mark.parametrize("kind", ["folder", "zip", "package", "sqlite", "url"])
def test_the_clinic_gets_the_paths_of_its_shipped_schema(tmp_path, kind):
    shutil.make_archive(str(tmp_path / "clinic"), "zip", CLINIC)
    source = {
        "folder": CLINIC,
        "zip": tmp_path / "clinic.zip",
        "package": CLINIC / "datapackage.json",
        "sqlite": ROOT / "samples" / "clinic.sqlite",
        "url": f"sqlite:///{ROOT / 'samples' / 'clinic.sqlite'}",
    }[kind]
    findings, text = proposed(source)
    shipped = ta.Schema.load(ROOT / "schemas" / "clinic.toml")
    found = paths(findings)
    for spec in shipped.classes:
        assert found[spec.path.text(slashed=False)] == spec.role
    written = tomllib.loads(text)["input"]
    assert written == {"format": findings.sample.format, "record": "patient", "objects": "auto"}
    assert findings.warnings == ()
    assert "#   treatment.(visit_id, line_no) -> diagnosis.(visit_id, line_no)" in text
    jsonschema.validate(tomllib.loads(text), json.loads((ROOT / "schemas" / "treeanon.schema.json").read_text()))
    assert max(map(len, text.splitlines())) <= 120


def test_keys_that_the_clinic_does_not_declare_are_found(tmp_path):
    for file in CLINIC.glob("*.csv"):
        shutil.copy(file, tmp_path)
    findings, text = proposed(tmp_path)
    assert set(tomllib.loads(text)["input"]["key"]) == {
        "visit.patient_id -> patient.patient_id",
        "visit.ward_id -> ward.ward_id",
        "ward.part_of -> ward.ward_id",
        "diagnosis.visit_id -> visit.visit_id",
        "treatment.(visit_id, line_no) -> diagnosis.(visit_id, line_no)",
        "allergy.patient_id -> patient.patient_id",
        "allergy.substance_id -> substance.substance_id",
        "doctor.practice_id -> practice.practice_id",
        "patient.gp_id -> doctor.doctor_id",
        "visit.attending_id -> doctor.doctor_id",
    }
    assert "  # FOUND, NOT DECLARED: the names fit, and all 905 values are there.\n" in text
    assert "  # FOUND, NOT DECLARED: the name does not say it, but all " in text
    assert "FOUND, NOT DECLARED" in findings.warnings[0]
    assert left(findings)["visit.treatment"] == "all of its rows lie under visit.diagnosis.treatment too"
    assert "visit.diagnosis.treatment.dose" in paths(findings)


def test_no_value_of_the_data_is_in_the_schema(tmp_path):
    findings, text = proposed(ROOT / "samples" / "clinic.sqlite")
    told = (text + json.dumps(findings.as_dict())).lower()
    for file in CLINIC.glob("*.csv"):
        with file.open(newline="") as lines:
            for row in csv.DictReader(lines):
                for column, value in row.items():
                    if len(value) > 5 and column not in ("certainty", "department"):
                        assert value.lower() not in told


@pytest.mark.parametrize(
    "table, key, child, column",
    [
        ("customer", "id", "orders", "customer_id"),
        ("customers", "id", "orders", "customerId"),
        ("customer", "customer_id", "orders", "customer"),
        ("CUSTOMERS", "CUSTOMER_ID", "ORDERS", "Customer_Id"),
        ("customer", "c_custkey", "orders", "o_custkey"),
        ("customer", "customer_no", "orders", "customer_nr"),
        ("customer", "id", "orders", "billing_customer_id"),
        ("customer", "id", "orders", "cust_id"),
        ("cities", "code", "orders", "city"),
        ("dim_customer", "customer_sk", "fact_orders", "customer_sk"),
        ("person", "id", "orders", "people_id"),
        ("the customers", "the customers id", "orders", "the customers id"),
        ("employee", "id", "employee", "manager_id"),
        ("ward", "id", "ward", "parent_ward"),
    ],
)
def test_spellings_of_keys(tmp_path, table, key, child, column):
    rows = [(f"K{i}", i, f"K{i // 2}" if i else None) for i in range(30)]
    path = tmp_path / "x.db"
    if child == table:
        database(path, f'CREATE TABLE "{table}" ("{key}", n, "{column}")', **{table: rows})
    else:
        mark = f"{key[:2]}" if key[1:2] == "_" else ""
        own = f"{column[:2]}" if column[1:2] == "_" else ""
        script = f'CREATE TABLE "{table}" ("{key}", {mark}age); CREATE TABLE "{child}" ({own}x, "{column}")'
        database(path, script, **{table: [row[:2] for row in rows], child: [row[1:] for row in rows]})
    (only,) = found_keys(path)
    assert ta.schema.keys.parse_key(only) == ta.schema.keys.ForeignKey(child, (column,), table, (key,))


@pytest.mark.parametrize(
    "script, children",
    [
        # contained, but called otherwise
        ("CREATE TABLE line (quantity, product)", [(i, "x") for i in range(1, 20)]),
        ("CREATE TABLE line (id, product)", [(i, "x") for i in range(1, 20)]),
        ("CREATE TABLE line (code, product)", [(i, "x") for i in range(1, 20)]),
        # yes and no, counts, other kinds of values
        ("CREATE TABLE line (customer, product)", [(i % 2, "x") for i in range(20)]),
        ("CREATE TABLE line (is_customer, product)", [(i, "x") for i in range(1, 20)]),
        ("CREATE TABLE line (num_customer, product)", [(i, "x") for i in range(1, 20)]),
        ("CREATE TABLE line (customer_id, product)", [(f"{i}", "x") for i in range(1, 20)]),
        ("CREATE TABLE line (customer_id, product)", [(i + 0.5, "x") for i in range(1, 20)]),
        # called so, but not contained, or nothing at all
        ("CREATE TABLE line (customer_id, product)", [(i, "x") for i in range(190, 211)]),
        ("CREATE TABLE line (customer_id, product)", [(None, "x")]),
        ("CREATE TABLE line (customer_id, product)", []),
    ],
)
def test_what_is_no_key(tmp_path, script, children):
    path = tmp_path / "x.db"
    script = f"CREATE TABLE customer (id, quantity); {script}"
    database(path, script, customer=[(i, i) for i in range(201)], line=children)
    assert found_keys(path) == []


def test_a_share_may_dangle_and_is_told(tmp_path):
    script = "CREATE TABLE patient (id, sex); CREATE TABLE visit (patient_id, day)"
    lines = [(i % 50, f"2020-01-{1 + i % 28:02d}") for i in range(198)]
    lines += [(900, "2020-01-01"), (901, "2020-01-02")]
    people = [(i, "fm"[i % 2]) for i in range(50)]
    _, text = proposed(database(tmp_path / "x.db", script, patient=people, visit=lines))
    assert "the names fit, and 198 of 200 values are there; 2 rows name no row." in text
    lines += [(902, "2020-01-03")]
    assert found_keys(database(tmp_path / "y.db", script, patient=people, visit=lines)) == []
    twice = [*people, (3, "f")]
    assert found_keys(database(tmp_path / "z.db", script, patient=twice, visit=lines[:198])) == []


def test_one_row_for_each_other_refers_one_way_only(tmp_path):
    script = "CREATE TABLE patient (patient_id, sex); CREATE TABLE patient_details (patient_id, weight)"
    path = database(
        tmp_path / "x.db",
        script,
        patient=[(i, "f") for i in range(30)],
        patient_details=[(i, i) for i in range(30)],
    )
    assert found_keys(path) == ["patient_details.patient_id -> patient.patient_id"]
    assert "patient_details.weight" in paths(proposed(path)[0])


def test_a_key_that_is_declared_is_not_found_again(tmp_path):
    script = """
        CREATE TABLE patient (id INTEGER PRIMARY KEY, sex);
        CREATE TABLE visit (id INTEGER PRIMARY KEY, patient_id REFERENCES patient(id), ward_id);
        CREATE TABLE ward (id INTEGER PRIMARY KEY, name);
    """
    rows = {"patient": [(i, "f") for i in range(9)], "ward": [(i, f"w{i}") for i in range(9)]}
    path = database(tmp_path / "x.db", script, **rows, visit=[(i, i, i) for i in range(9)])
    findings, text = proposed(path)
    assert tomllib.loads(text)["input"]["key"] == ["visit.ward_id -> ward.id"]
    assert "#   visit.patient_id -> patient.id\n" in text
    assert [str(key) for key in findings.sample.keys.declared] == ["visit.patient_id -> patient.id"]


def test_found_and_declared_keys_between_the_same_tables(tmp_path):
    script = """
        CREATE TABLE doctor (id INTEGER PRIMARY KEY, specialty);
        CREATE TABLE patient (id INTEGER PRIMARY KEY, sex, gp REFERENCES doctor(id), ward_doctor_id);
    """
    doctors = [(i, f"s{i % 3}") for i in range(30)]
    people = [(i, "fm"[i % 2], i, (11 * i + i // 7) % 30) for i in range(30)]
    findings, text = proposed(database(tmp_path / "x.db", script, doctor=doctors, patient=people))
    assert {"doctor(gp).specialty", "doctor(ward_doctor_id).specialty"} <= paths(findings).keys()
    assert tomllib.loads(text)["input"]["key"] == ["patient.ward_doctor_id -> doctor.id"]
    assert {found.name for found in findings.classes} >= {"gp_specialty", "ward_doctor_specialty"}


def tpch(folder: Path, customers: int = 40) -> Path:
    """Tables with the names and keys of TPC-H, none of them declared."""
    numbers = range(1, customers + 1)
    tables = {
        "region": {"r_regionkey": [0, 1], "r_name": ["A", "B"]},
        "nation": {"n_nationkey": [0, 1, 2], "n_name": ["x", "y", "z"], "n_regionkey": [0, 1, 1]},
        "customer": {
            "c_custkey": list(numbers),
            "c_phone": [f"1-{n:05d}" for n in numbers],
            "c_nationkey": [n % 3 for n in numbers],
        },
        "orders": {
            "o_orderkey": [10 * n for n in range(3 * customers)],
            "o_custkey": [n % customers + 1 for n in range(3 * customers)],
            "o_status": ["OFP"[n % 3] for n in range(3 * customers)],
        },
        "part": {"p_partkey": list(range(1, 21)), "p_brand": [f"b{n % 4}" for n in range(20)]},
        "supplier": {"s_suppkey": list(range(1, 11)), "s_nationkey": [n % 3 for n in range(10)]},
        "partsupp": {
            "ps_partkey": [n // 2 + 1 for n in range(40)],
            "ps_suppkey": [(n // 2 + n % 2) % 10 + 1 for n in range(40)],
            "ps_availqty": list(range(40)),
        },
        "lineitem": {
            "l_orderkey": [10 * (n // 2) for n in range(6 * customers)],
            "l_linenumber": [n % 2 + 1 for n in range(6 * customers)],
            "l_partkey": [n % 20 + 1 for n in range(6 * customers)],
            "l_suppkey": [(n % 20 + (n // 20) % 2) % 10 + 1 for n in range(6 * customers)],
            "l_quantity": [float(n % 50) for n in range(6 * customers)],
        },
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return folder


def test_tables_without_a_declared_key(tmp_path):
    findings, text = proposed(tpch(tmp_path))
    assert findings.sample.record.names == ("customer",)
    assert "lineitem.(l_partkey, l_suppkey) -> partsupp.(ps_partkey, ps_suppkey)" in tomllib.loads(text)["input"]["key"]
    assert paths(findings).keys() == {
        "c_phone",
        "nation.n_name",
        "nation.region.r_name",
        "orders.o_status",
        "orders.lineitem.l_linenumber",
        "orders.lineitem.l_quantity",
        "orders.lineitem.part.p_brand",
        "orders.lineitem.supplier.nation.n_name",
        "orders.lineitem.supplier.nation.region.r_name",
        "orders.lineitem.partsupp.ps_availqty",
    }
    why = left(findings)
    assert why["orders.lineitem.partsupp.part"] == "is the row that lineitem.l_partkey names already"
    assert why["orders.lineitem.l_partkey"] == "a key; keys are made anew"
    # only keys that a path follows are written
    assert not any(key.startswith("partsupp.") for key in tomllib.loads(text)["input"]["key"])


ODD = """
    CREATE TABLE "the country" (code TEXT PRIMARY KEY);
    CREATE TABLE "city's" (
        id INTEGER PRIMARY KEY, "name, full" TEXT, "country.code" REFERENCES "the country"(code), photo BLOB
    );
    CREATE TABLE person (
        no INTEGER, year INTEGER, gender TEXT, height REAL, visit TEXT, boss_no INTEGER, boss_year INTEGER,
        city_id INTEGER REFERENCES "city's"(id), last_visit INTEGER REFERENCES visit(id), PRIMARY KEY (no, year),
        FOREIGN KEY (boss_no, boss_year) REFERENCES person(no, year)
    );
    CREATE TABLE visit (
        id INTEGER PRIMARY KEY, p_no INTEGER, p_year INTEGER, day TEXT, FOREIGN KEY (p_no, p_year) REFERENCES person
    );
    CREATE TABLE friend (
        a_no INTEGER, a_year INTEGER, b_no INTEGER, b_year INTEGER, since INTEGER,
        FOREIGN KEY (a_no, a_year) REFERENCES person, FOREIGN KEY (b_no, b_year) REFERENCES person
    );
    CREATE TABLE person_tag (no INTEGER, year INTEGER, tag_id INTEGER);
    CREATE TABLE tag (tag_id INTEGER PRIMARY KEY, label TEXT);
    CREATE TABLE "visit item" (visit_id INTEGER, no INTEGER, year INTEGER, article TEXT);
    CREATE TABLE log (message TEXT);
"""


@pytest.fixture
def odd(tmp_path) -> Path:
    people = [(i, 2000 + i % 3) for i in range(60)]
    return database(
        tmp_path / "odd.sqlite",
        ODD,
        **{
            "the country": [("DE",), ("FR",)],
            "city's": [(i, f"c{i}", "DE" if i % 2 else "FR", b"\1") for i in range(9)],
            "visit": [(i, *people[i % 50], f"2020-01-{1 + i % 28:02d}") for i in range(200)],
            "person": [
                (*p, "fm"[i % 2], 1.5 + i / 100, "x", *(people[i // 2] if i else (None, None)), i % 9, i)
                for i, p in enumerate(people)
            ],
            "friend": [(*people[i], *people[(i * 7 + 1) % 60], 2000 + i % 20) for i in range(60)],
            "person_tag": [(*people[i], i % 12) for i in range(60)],
            "tag": [(i, f"t{i}") for i in range(12)],
            "visit item": [(i // 2, *people[i // 2 % 50], f"a{i % 9}") for i in range(400)],
            "log": [("hello",)],
        },
    )


def test_composite_cyclic_and_quoted_keys(odd):
    findings, text = proposed(odd)
    found = paths(findings).keys()
    assert found == {
        "gender",
        "height",
        "visit",
        "\"city's\".'name, full'",
        "\"city's\".'country.code'",
        "person(boss_no, boss_year).gender",
        "person(boss_no, boss_year).height",
        "person(boss_no, boss_year).visit",
        "visit(last_visit).day",
        "visit(p_no, p_year).day",
        "visit(p_no, p_year).visit item.article",
        "friend(a_no, a_year).since",
        "friend(b_no, b_year).since",
        "person_tag.tag.label",
    }
    assert set(tomllib.loads(text)["input"]["key"]) == {
        "person_tag.(no, year) -> person.(no, year)",
        "person_tag.tag_id -> tag.tag_id",
        "'visit item'.visit_id -> visit.id",
    }
    why = left(findings)
    assert "closes a circle (person → visit → person)" in why["visit(last_visit).person(p_no, p_year)"]
    assert "person → friend → person" in why["friend(a_no, a_year).person(b_no, b_year)"]
    assert "persons apart" in why["person(boss_no, boss_year)[]"]
    assert why["visit item"] == "all of its rows lie under visit.visit item too"
    assert "binary" in why['"city\'s".photo']
    assert why["log"] == "a table to which no key leads"
    names = [each.name for each in findings.classes]
    assert {"friend_a_since", "friend_b_since", "tag", "boss_height"} <= set(names)


def test_another_table_may_be_the_record(odd):
    findings, _ = proposed(odd, record="visit item")
    assert findings.sample.record.names == ("visit item",) and "as given by --record" in findings.sample.record_why
    assert "article" in paths(findings) and "visit.day" in paths(findings)
    # never down again from a looked-up row: those rows belong to others too
    assert not any(path.startswith("visit.person(p_no, p_year).friend") for path in paths(findings))
    proposed(odd, record='"city\'s"')
    with pytest.raises(UsageError, match=r"unknown table 'visits'; did you mean 'visit'\? choose from 'the country'"):
        propose(odd, record="visits")


def test_a_column_that_is_called_like_a_step_is_left_out(tmp_path):
    script = """
        CREATE TABLE patient (id INTEGER PRIMARY KEY, sex, visit);
        CREATE TABLE visit (patient_id REFERENCES patient(id), day);
    """
    path = database(tmp_path / "x.db", script, patient=[(1, "f", 3)], visit=[(1, "2020-01-01")])
    findings, _ = proposed(path)
    assert paths(findings).keys() == {"sex", "visit.day"}
    assert left(findings)["visit"] == "has the name of a table that paths go to from here"


def test_names_of_towns_are_published_and_those_of_persons_are_not(tmp_path):
    script = """
        CREATE TABLE town (id INTEGER PRIMARY KEY, name);
        CREATE TABLE doctor (id INTEGER PRIMARY KEY, name);
        CREATE TABLE patient (id INTEGER PRIMARY KEY, name, town_id, doctor_id);
    """
    towns, doctors = ([(i, f"{what} {i}") for i in range(20)] for what in ("Town", "Doctor"))
    people = [(i, f"P{i}", i % 20, i % 20) for i in range(100)]
    findings, _ = proposed(database(tmp_path / "x.db", script, town=towns, doctor=doctors, patient=people))
    assert paths(findings) == {"name": "identifier", "town.name": "quasi", "doctor.name": "identifier"}


@pytest.mark.parametrize(
    "tables, record",
    [
        ({"visit": "id, day", "patient": "id, sex", "ward": "id, name"}, "patient"),
        ({"employee": "id, name", "customer": "id, name"}, "customer"),
        ({"a": "x, y", "b": "first_name, birth_date"}, "b"),
        ({"customer_address": "customer_id, street", "customers": "id, email"}, "customers"),
        ({"tbl_member": "id, joined", "email": "id, subject"}, "tbl_member"),
    ],
)
def test_the_record_table_is_guessed(tmp_path, tables, record):
    script = "".join(f"CREATE TABLE {table} ({columns});" for table, columns in tables.items())
    rows = {
        table: [tuple(f"{table}{i}{c}" for c in columns.split()) for i in range(5)] for table, columns in tables.items()
    }
    findings = propose(database(tmp_path / "x.db", script, **rows))
    assert findings.sample.record.names == (record,)
    assert findings.warnings and "no foreign key" in findings.warnings[0]


def test_the_sample_is_of_the_beginning_the_middle_and_the_end(tmp_path):
    findings, text = proposed(CLINIC, sample=50)
    assert len(findings.sample.records) == 50 and not findings.sample.whole
    assert "50 of 600 records, from the beginning, middle and end" in text
    visits = sum(len(record["visit"]) for record in findings.sample.records)
    with (CLINIC / "visit.csv").open(newline="") as visit, (CLINIC / "patient.csv").open(newline="") as patient:
        ids = [row["patient_id"] for row in csv.DictReader(patient)]
        chosen = {*ids[:17], *ids[292:308], *ids[-17:]}
        assert visits == sum(row["patient_id"] in chosen for row in csv.DictReader(visit))


def test_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(DataError, match="holds no table"):
        propose(database(tmp_path / "none.db", ""))
    empty = database(
        tmp_path / "empty.db", "CREATE TABLE patient (id, sex); CREATE TABLE ward (id, name)", ward=[(1, "x")]
    )
    with pytest.raises(DataError, match="table 'patient', of which each row is one person, holds no row"):
        propose(empty, record="patient")
    keys = database(tmp_path / "keys.db", "CREATE TABLE patient (id INTEGER PRIMARY KEY)", patient=[(1,)])
    with pytest.raises(DataError, match="no column in the sample could become a class"):
        propose(keys)
    (tmp_path / "people.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="tables are read from a folder"):
        propose(tmp_path / "people.csv", format="tables")
    with pytest.raises(FileError, match="there is no such file"):
        propose(tmp_path / "nowhere.sqlite")
    with pytest.raises(FileError) as away:
        propose("postgresql://ann:secret@127.0.0.1:1/clinic")
    assert "secret" not in str(away.value)
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "patient.csv").write_text("id,sex\n1,f\n2,m\n")
    (folder / "visit.csv").write_text("patient_id,day\n1,2020-01-01\n2,SECRET,9\n")
    with pytest.raises(DataError, match=r"visit\.csv, line 3") as broken:
        propose(folder)
    assert "SECRET" not in str(broken.value)


def test_a_folder_of_documents_is_no_folder_of_tables(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.json").write_text(json.dumps({"age": number}))
    (tmp_path / "notes.csv").write_text("a\n1\n")
    assert propose(tmp_path).sample.format == "json"


def test_the_command(tmp_path):
    target = tmp_path / "schema.toml"
    for file in CLINIC.glob("*.csv"):
        shutil.copy(file, tmp_path)
    done = CliRunner().invoke(main, ["init", str(tmp_path), "-o", str(target), "--json", "--explain"])
    assert done.exit_code == 0
    assert "note: 10 foreign keys were FOUND, NOT DECLARED" in done.stderr
    told = json.loads(done.stdout)
    assert told["record"] == "patient" and len(told["keys"]) == 10 and not any(key["declared"] for key in told["keys"])
    assert "visit.diagnosis.name" in done.stderr
    assert len(ta.read(tmp_path, ta.Schema.load(target))) == 600

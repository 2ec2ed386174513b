"""The question whose a record is: asked where a field looks like the id of a person and repeats, and only there."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import treeanon as ta
from treeanon.cli import main as command_line
from treeanon.errors import UsageError
from treeanon.infer import persons, propose, render_schema, xml_sample
from treeanon.io.columns.read_table import read_table

CLASSES = '[[class]]\nname = "disease"\npath = "disease"\n'
HEADS = {
    "csv": 'format = "csv"\n',
    "ndjson": 'format = "ndjson"\n',
    "json": 'format = "json"\nrecord = "[]"\n',
    "xml": 'format = "xml"\nrecord = "rows/row"\n',
    "tables": 'format = "tables"\nrecord = "visit"\n',
}
CHANCE = random.Random(18)
VISITS = [(CHANCE.randrange(453), CHANCE.choice(["Flu", "Cold"]), CHANCE.choice("fm")) for _ in range(2791)]
PATIENTS = len({person for person, _, _ in VISITS})


def schema(form: str, more: str = "") -> ta.Schema:
    return ta.Schema.loads(f"version = 1\n[input]\n{HEADS[form]}{more}{CLASSES}")


def put_csv(path: Path, name: str, rows: list[tuple[Any, ...]] = VISITS) -> Path:
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([name, "disease", "sex"])
        writer.writerows(rows)
    return path


def put(form: str, folder: Path) -> Path:
    """Write the visits with a field of their patients, as each format would name it."""
    path = folder / f"in.{form}"
    lines = [
        json.dumps({"subject": {"reference": f"Patient/{person}"}, "disease": disease, "sex": sex})
        for person, disease, sex in VISITS
    ]
    if form == "ndjson":
        path.write_text("\n".join(lines))
    elif form == "json":
        path.write_text(f"[{','.join(lines)}]")
    elif form == "xml":
        rows = (f'<row patientId="{person}"><disease>{disease}</disease></row>' for person, disease, _ in VISITS)
        path.write_text(f"<rows>{''.join(rows)}</rows>")
    elif form == "tables":
        path.mkdir()
        put_csv(path / "visit.csv", "patient_id")
    else:
        put_csv(path, "patient_id")
    return path


FIELDS = dict.fromkeys(HEADS, "subject.reference") | {
    "csv": "patient_id", "tables": "patient_id", "xml": "@patientId",
}  # fmt: skip


@pytest.mark.parametrize("form", HEADS)
def test_the_question_is_asked(tmp_path: Path, form: str) -> None:
    path = put(form, tmp_path)
    with pytest.raises(UsageError) as wrong:
        ta.anonymize(path, schema=schema(form), k=5)
    text = str(wrong.value)
    assert repr(FIELDS[form]) in text and "2,791" in text and f"{PATIENTS:,} different values" in text
    assert f'person = "{FIELDS[form]}"' in text and "one_per_person = true" in text
    assert "Patient/" not in text and "Flu" not in text
    release = ta.anonymize(path, schema=schema(form, f'person = "{FIELDS[form]}"\n'), k=5)
    assert len(release.forest) == PATIENTS  # type: ignore[union-attr]
    ta.anonymize(path, schema=schema(form, "one_per_person = true\n"), k=5)


def test_the_library_asks_for_what_was_read_and_for_what_is_in_memory(tmp_path: Path) -> None:
    path = put("csv", tmp_path)
    rows = [{"patient_id": person, "disease": disease} for person, disease, _ in VISITS]
    calls: list[Callable[[], object]] = [
        lambda: ta.anonymize(ta.read(path, schema("csv")), k=5),
        lambda: ta.anonymize(read_table(path, schema("csv")), k=5),
        lambda: ta.anonymize(rows, schema=schema("csv"), k=5),
        lambda: ta.anonymize(rows, schema=schema("ndjson"), k=5),
        lambda: ta.anonymize(pa.Table.from_pylist(rows), schema=schema("csv"), k=5),
        lambda: ta.anonymize({"visit": pa.Table.from_pylist(rows)}, schema=schema("tables"), k=5),
    ]
    for call in calls:
        with pytest.raises(UsageError, match="looks like the id of a person"):
            call()


@pytest.mark.parametrize("source", ["in.csv", "-"])
@pytest.mark.parametrize("search", ["local", "mondrian", "maximal"])
def test_the_command_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], source: str, search: str
) -> None:
    put("csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(f"version = 1\n[input]\n{HEADS['csv']}{CLASSES}")
    arguments = ["treeanon", *f"anonymize {source} -s s.toml -k 5 -a {search} -o out.csv".split()]
    monkeypatch.setattr("sys.argv", arguments)
    monkeypatch.setattr("signal.signal", lambda *given: None)
    with Path("in.csv").open() as stream, pytest.raises(SystemExit) as stopped:
        monkeypatch.setattr("sys.stdin", stream)
        command_line.run()
    assert stopped.value.code == 2 and not Path("out.csv").exists()
    assert f"2,791 rows have {PATIENTS:,} different values" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["PatientID", "patient_key", "subject.id", "custkey", "SSN", "MRN", "memberNo", "id"])
def test_names_of_ids_of_persons(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="looks like the id of a person"):
        ta.anonymize(put_csv(tmp_path / "in.csv", name), schema=schema("csv"), k=2)


@pytest.mark.parametrize("name", ["doctor_id", "age", "zip", "hospital", "patient_age", "product_no", "guests", "no"])
def test_no_false_alarm_by_name(tmp_path: Path, name: str) -> None:
    ta.anonymize(put_csv(tmp_path / "in.csv", name), schema=schema("csv"), k=2)


def test_no_alarm_where_nothing_repeats(tmp_path: Path) -> None:
    rows = [(number, disease, sex) for number, (_, disease, sex) in enumerate(VISITS)]
    ta.anonymize(put_csv(tmp_path / "in.csv", "patient_id", rows), schema=schema("csv"), k=2)


def test_one_repetition_far_behind_the_sample_is_found(tmp_path: Path) -> None:
    rows = [(number % 2790, disease, sex) for number, (_, disease, sex) in enumerate(VISITS)]
    with pytest.raises(UsageError, match="2,791 rows have 2,790 different values"):
        ta.anonymize(put_csv(tmp_path / "in.csv", "patient_id", rows), schema=schema("csv"), k=2)


@pytest.mark.parametrize("within", [10, 100, 5000, 20_000])
@pytest.mark.parametrize("form", ["ndjson", "xml"])
def test_the_head_of_a_long_document_is_enough(
    tmp_path: Path, form: str, within: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is cut within a record, or before the first one ends."""
    monkeypatch.setattr(persons, "_WITHIN", within)
    monkeypatch.setattr(xml_sample, "_BLOCK", 64)
    with pytest.raises(UsageError, match=f"{PATIENTS}"):
        ta.anonymize(ta.read(put(form, tmp_path), schema(form)), k=5)


@pytest.mark.parametrize("form", ["csv", "ndjson", "xml"])
def test_init_proposes_the_person(tmp_path: Path, form: str) -> None:
    path = put(form, tmp_path)
    text = render_schema(propose(path))
    assert f'person = "{FIELDS[form]}"' in text
    proposed = ta.Schema.loads(text)
    assert len(ta.read(path, proposed)) == PATIENTS
    assert len(ta.anonymize(path, schema=proposed, k=5).forest) == PATIENTS  # type: ignore[union-attr]


def test_what_a_person_has_once_lies_under_the_person(tmp_path: Path) -> None:
    rows = [(person, disease, "fm"[person % 2]) for person, disease, _ in VISITS]
    findings = propose(put_csv(tmp_path / "in.csv", "patient_id", rows))
    assert {found.name: found.under for found in findings.classes} == {"disease": None, "sex": "/"}
    # Where objects stay whole it is a value of each row, as it was.
    schema = ta.Schema.loads(render_schema(findings))
    assert schema.input.keeps_objects and {spec.under for spec in schema.classes} == {None}


def test_init_proposes_no_person_where_nothing_repeats(tmp_path: Path) -> None:
    rows = [(number, disease, sex) for number, (_, disease, sex) in enumerate(VISITS)]
    assert "person =" not in render_schema(propose(put_csv(tmp_path / "in.csv", "patient_id", rows)))


def test_rows_of_persons_have_facets(tmp_path: Path) -> None:
    """Code and description of a row say each other: one fact of two columns."""
    rows = "".join(f"p{n % 40},{n % 7}4054006,Illness {n % 7},W{n % 3}\n" for n in range(200))
    (tmp_path / "in.csv").write_text(f"patient_id,code,description,ward\n{rows}")
    found = propose(tmp_path / "in.csv")
    assert {each.name: set(each.facets) for each in found.classes} == {"code": {"description"}, "ward": set()}


def test_tables_without_one_of_persons(tmp_path: Path) -> None:
    """A column of the record table says whose its rows are, though no table has the persons."""
    folder = tmp_path / "in"
    folder.mkdir()
    visits = "".join(f"{n},P{n % 30:04},W{n % 4}\n" for n in range(90))
    (folder / "visits.csv").write_text(f"visit_id,patient_id,ward\n{visits}")
    (folder / "labs.csv").write_text("lab,kind\n1,A\n2,B\n")
    bills = "".join(f"{n % 90},{'XYZ'[n % 3]}\n" for n in range(150))
    (folder / "bills.csv").write_text(f"visit_id,item\n{bills}")
    found = propose(folder)
    assert found.record_text == "visits" and found.person is not None and found.person.text == "patient_id"
    schema = ta.Schema.loads(render_schema(found))
    assert len(ta.read(folder, schema)) == 30
    release = ta.anonymize(folder, schema=schema, k=3, m=1, n=0)
    release.write(tmp_path / "out/")
    assert ta.verify(tmp_path / "out", schema=schema, k=3, m=1, n=0).holds

"""`treeanon anonymize --release documents` on the samples: what is written, counted by lxml, json and csv alone."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from tests.support.as_installed import ran
from tests.support.paths import ROOT

XML = f"{ROOT}/samples/patients.xml -s {ROOT}/schemas/hospital-xml.toml"
NDJSON = f"{ROOT}/samples/patients.ndjson -s {ROOT}/schemas/hospital-json.toml"
DOCUMENTS = "--release documents"

Told = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Told:
    """Runs a line of arguments in a folder of its own: the exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def running(line: str) -> tuple[int, str, str]:
        return ran(line.split(), monkeypatch, capfd)

    return running


def least(rows: Iterable[Any]) -> int:
    return min(Counter(rows).values())


def xml_persons(path: str) -> list[Any]:
    return list(etree.parse(path).getroot())


def top(person: Any) -> tuple[Any, ...]:
    return tuple(person.findtext(name) for name in ("age", "sex", "zip"))


def known_of(person: Any) -> tuple[set[Any], set[Any]]:
    """The labels of a person, and the pairs of labels of which one lies under the other, from XML alone."""
    labels, relations = {(name, person.findtext(name)) for name in ("age", "sex", "zip")}, set()

    def hang(upper: list[Any], label: Any) -> list[Any]:
        labels.add(label)
        relations.update((one, label) for one in upper)
        return [*upper, label]

    for visit in person.findall("visit"):
        hospital = visit.get("hospital")
        at = hang([], ("hospital", hospital)) if hospital is not None else []
        if visit.findtext("date") is not None:
            hang(at, ("date", visit.findtext("date")))
        for found in visit.findall("diagnosis"):
            name = found.get("name")
            under = hang(at, ("diagnosis", name)) if name is not None else at
            for treatment in found.findall("treatment"):
                hang(under, ("treatment", treatment.text))
    return {label for label in labels if label[1] is not None}, relations


def test_the_rest_dropped(run: Told) -> None:
    code, out, err = run(f"anonymize {XML} -a samarati -k 5 --max-suppressed 2% {DOCUMENTS} -o o.xml --json")
    told = json.loads(out)
    assert code == 0 and told["classes_of_the_person"] == ["age", "sex", "zip"]
    assert told["rest"] == {"classes": ["hospital", "date", "diagnosis", "treatment"], "treated": "dropped"}
    persons = xml_persons("o.xml")
    assert len(persons) == 1000 - told["rows"]["suppressed"] >= 980 and least(map(top, persons)) >= 5
    assert {child.tag for person in persons for child in person} == {"age", "sex", "zip"}
    assert not any(person.attrib for person in persons)
    assert "Guarantee: by age, sex, zip, every group" in err and "Dropped: hospital, date, diagnosis, treatment" in err
    assert "GCP (taxonomy)" in err and "value loss" in err
    assert run(f"verify o.xml -s {ROOT}/schemas/hospital-xml.toml --table -k 5")[0] == 0
    code, _, err = run(f"anonymize {XML} -a samarati -k 5 {DOCUMENTS} -o o.xml")
    assert code == 4 and "exists already" in err


def test_the_rest_anonymized(run: Told) -> None:
    """Both guarantees hold in the file, of rows and of trees."""
    line = f"anonymize {XML} -a samarati -k 5 -m 2 -n 1 --max-suppressed 2% {DOCUMENTS} --rest anonymize --effort 0.1"
    code, out, err = run(f"{line} --seed 1 -o o.xml --json")
    told = json.loads(out)
    assert code == 0 and told["trees"]["guarantee"] == {
        "k": 5,
        "m": 2,
        "n": 1,
        "attacker": "independent",
        "as_published": False,
    }
    assert told["rest"]["treated"] == "anonymized" and told["losses"]["value_loss"] < 0.5
    persons = xml_persons("o.xml")
    assert len(persons) == 1000 - told["rows"]["suppressed"] and least(map(top, persons)) >= 5
    assert any(person.findall("visit") for person in persons)
    assert "Whoever knows up to 2 values" in err and "5-anonymity holds" in err
    assert run(f"verify o.xml -s {ROOT}/schemas/hospital-xml.toml -k 5 -m 2 -n 1")[0] == 0
    assert told["trees"]["disassociated"] == []  # so that all is where the schema says
    counts: Counter[Any] = Counter()
    for person in persons:
        labels, relations = known_of(person)
        counts.update(frozenset(pair) for pair in combinations(sorted(labels), 2))
        counts.update(labels)
        counts.update(("under", *pair) for pair in relations)
    assert min(counts.values()) >= 5


def test_ndjson(run: Told) -> None:
    for rest, keys in (("drop", {"age", "sex", "zip"}), ("anonymize --effort 0.1", {"age", "sex", "zip", "visits"})):
        assert run(f"anonymize {NDJSON} -k 4 {DOCUMENTS} --rest {rest} -o o.ndjson -q --force")[0] == 0
        persons = [json.loads(line) for line in Path("o.ndjson").read_text().splitlines()]
        assert least(tuple(person.get(name) for name in ("age", "sex", "zip")) for person in persons) >= 4
        assert {key for person in persons for key in person} - {"treeanon:moved"} == keys
        assert run(f"verify o.ndjson -s {ROOT}/schemas/hospital-json.toml -k 4 -m 2 -n 1")[0] == 0


def test_tables(run: Told) -> None:
    """A folder of tables, and a database: what a looked-up row says of a person is of the person too."""
    clinic = f"{ROOT}/samples/clinic -s {ROOT}/schemas/clinic.toml"
    assert run(f"anonymize {clinic} -k 5 {DOCUMENTS} -o out -q")[0] == 0
    tables = {}
    for name in ("patient", "doctor", "practice", "visit"):
        with Path(f"out/{name}.csv").open(newline="") as lines:
            tables[name] = list(csv.DictReader(lines))
    doctors = {row["doctor_id"]: row for row in tables["doctor"]}
    regions = {row["practice_id"]: row["region"] for row in tables["practice"]}
    rows = []
    for row in tables["patient"]:
        doctor = doctors.get(row["gp_id"], {})
        region = regions.get(doctor.get("practice_id", ""))
        rows.append((row["birth_year"], row["sex"], row["postcode"], doctor.get("specialty"), region))
    assert len(rows) == 600 and least(rows) >= 5 and tables["visit"] == []
    line = f"anonymize {ROOT}/samples/clinic.sqlite -s {ROOT}/schemas/clinic-sqlite.toml -k 5 {DOCUMENTS}"
    assert run(f"{line} --rest anonymize --effort 0.05 -o out.sqlite -q")[0] == 0
    with closing(sqlite3.connect("out.sqlite")) as made:
        query = "SELECT count(*) FROM patient GROUP BY birth_year, sex, postcode"
        assert min(count for (count,) in made.execute(query)) >= 5
        assert made.execute("SELECT count(*) FROM visit").fetchone()[0] > 0
    assert run(f"verify out.sqlite -s {ROOT}/schemas/clinic-sqlite.toml -k 5 -m 2 -n 1")[0] == 0


SENSITIVE = """version = 1
[input]
format = "ndjson"
[[class]]
name = "age"
path = "age"
hierarchy = { prefix = [1] }
[[class]]
name = "job"
path = "job"
role = "sensitive"
[[class]]
name = "ward"
path = "visits[].ward"
[[class]]
name = "ill"
path = "visits[].ill"
role = "sensitive"
"""


def put_persons(schema: str = SENSITIVE) -> None:
    Path("s.toml").write_text(schema)
    persons = [
        {"age": f"{3 + i % 2}{i % 3}", "job": "xyz"[i % 3], "visits": [{"ward": "AB"[i % 2], "ill": "pqr"[i % 3]}]}
        for i in range(24)
    ]
    Path("in.ndjson").write_text("".join(json.dumps(person) + "\n" for person in persons))


@pytest.mark.parametrize(
    ("models", "code", "words"),
    [
        ("", 2, "sensitive: give l"),
        ("--l 2", 0, "distinct 2-diversity"),
        ("--l job=2", 0, "distinct 2-diversity of job"),
        ("--l ill=2", 2, "the schema calls job sensitive"),
        ("--l 2 --diversity entropy", 0, "entropy 2-diversity"),
        ("--l 2 --diversity frequency", 0, "frequency 2-diversity"),
        ("--l 2 --diversity recursive --c 3", 0, "recursive (3, 2)-diversity"),
        ("--l 2 --t 0.5", 0, "0.5-closeness"),
        ("--t 0.5", 2, "sensitive: give l"),
        ("--l 1", 0, "Published unchanged (sensitive): job, ill"),
    ],
)
def test_sensitive_classes(run: Told, models: str, code: int, words: str) -> None:
    """Those of the person are of the models of rows, all of them of the guarantee of trees."""
    put_persons()
    found, _, err = run(
        f"anonymize in.ndjson -s s.toml -k 3 {models} {DOCUMENTS} --rest anonymize --effort 0.1 -o o.ndjson"
    )
    assert found == code and words in err, err
    if code == 0 and models != "--l 1":
        jobs: dict[Any, set[str]] = {}
        for line in Path("o.ndjson").read_text().splitlines():
            person = json.loads(line)
            jobs.setdefault(person.get("age"), set()).add(person["job"])
        assert min(map(len, jobs.values())) >= 2
        assert "share a value of a sensitive class" in err


def test_sensitive_classes_of_the_rest_alone(run: Told) -> None:
    put_persons(SENSITIVE.replace('path = "job"\nrole = "sensitive"', 'path = "job"'))
    line = f"anonymize in.ndjson -s s.toml -k 3 {DOCUMENTS} --force -o o.ndjson"
    code, _, err = run(f"{line} --l 2 --rest anonymize --effort 0.1")
    assert code == 0 and "satisfies: 3-anonymity." in err and "at most 1/2 share a value of a sensitive class" in err
    assert run(f"{line} --l ill=2 --rest anonymize --weight ill=2 --effort 0.1")[0] == 2
    assert run(f"{line} --l ill=2 --rest anonymize --weight ward=2 --weight age=3 --effort 0.1")[0] == 0
    assert run(line)[0] == 0
    code, _, err = run(f"{line} --l 2")
    assert code == 2 and "needs a class of role sensitive that the record itself holds once" in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--rest drop", "--rest applies to --release documents only"),
        ("-a samarati --rest drop", "--rest applies to --release documents only"),
        ("-a samarati --negative age", "--negative applies to trees only"),
        ("-a samarati -m 2 -n 0", "-m and -n apply to trees only"),
        (
            f"{DOCUMENTS} -m 2",
            "quasi-identifiers of a row are taken as known (--rest anonymize",
        ),
        (f"{DOCUMENTS} --attacker joint --negative age", "--attacker and --negative apply to trees only"),
        (f"{DOCUMENTS} --recoding subtree", "'local' has no parameter 'recoding'"),
        (f"{DOCUMENTS} --solution s.json", "--solution applies to a table or to trees"),
        (f"{DOCUMENTS} --mining", "--mining applies to trees only"),
        (f"{DOCUMENTS} --reduce diagnosis=set", "--reduce applies to rows"),
        (f"{DOCUMENTS} -a hilbert", "--param style=hierarchy"),
        (f"{DOCUMENTS} -a gcs", "--release applies to tables only"),
        (f"{DOCUMENTS} -a optimal --effort 2", "no parameter 'effort'"),
        (f"{DOCUMENTS} --rest anonymize --g 3", "'maximal' has no parameter 'g'"),
        (f"{DOCUMENTS} --rest anonymize --complete", "cannot be completed"),
        (f"{DOCUMENTS} --rest anonymize -m 9", "m must be a whole number from 1 to 8"),
        (f"{DOCUMENTS} --rest anonymize --weight age=x", "must be CLASS=NUMBER"),
    ],
)
def test_refused(run: Told, options: str, words: str) -> None:
    code, out, err = run(f"anonymize {XML} -k 5 -o o.xml {options}")
    assert (code, out) == (2, "") and words in err, err
    assert not Path("o.xml").exists()


def test_it_cannot_be_reached(run: Told) -> None:
    put_persons()
    code, _, err = run(f"anonymize in.ndjson -s s.toml -k 3 --l 4 {DOCUMENTS} -o o.ndjson")
    assert code == 1 and not Path("o.ndjson").exists(), err
    assert run(f"anonymize in.ndjson -s s.toml -k 25 --l 1 {DOCUMENTS} -o o.ndjson")[0] == 1

"""Tables through the command line: exit codes, what is told and counted, and that no value of the data is ever told."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.as_installed import ran
from tests.support.databases import MARIADB, POSTGRES, Server
from tests.support.paths import ROOT

WORD, NUMBER = "CANARY-7f3a", "99887766"
CANARIES = ("CANARY", "7f3a", NUMBER)

SCHEMA = """version = 1
[input]
format = "tables"
objects = "merged"
record = "person"
key = ["visit.person_id -> person.id", "visit.ward_id -> ward.id"]
[[class]]
name = "age"
path = "age"
[[class]]
name = "dx"
path = "visit.dx"
[[class]]
name = "ward"
path = "visit.ward.name"
"""
CIRCLE = """version = 1
[input]
format = "tables"
objects = "merged"
record = "person"
key = ["person.boss -> person.id"]
[[class]]
name = "age"
path = "age"
[[class]]
name = "report"
path = "person(boss)[].age"
"""
PERSON = f"id,age\n1,{WORD}\n2,{NUMBER}\n"
VISIT = f"person_id,dx,ward_id\n1,{WORD}a,{NUMBER}\n1,{WORD}b,{NUMBER}\n2,{WORD}a,\n"
WARD = f"id,name\n{NUMBER},{WORD}w\n"
GOOD = {"person.csv": PERSON, "visit.csv": VISIT, "ward.csv": WARD}

DDL = """CREATE TABLE person (id PRIMARY KEY, age);
CREATE TABLE ward (id PRIMARY KEY, name);
CREATE TABLE visit (person_id {} REFERENCES person (id), dx, ward_id REFERENCES ward (id));"""


def package(**types: str) -> str:
    """A datapackage.json that gives key columns of the good tables a type."""
    columns = {"person": ["id", "age"], "visit": ["person_id", "dx", "ward_id"], "ward": ["id", "name"]}
    resources = [
        {
            "name": table,
            "path": f"{table}.csv",
            "schema": {"fields": [{"name": name, "type": types.get(f"{table}_{name}", "string")} for name in names]},
        }
        for table, names in columns.items()
    ]
    return json.dumps({"resources": resources})


def put(folder: Path, files: dict[str, str | bytes]) -> None:
    """Writes files to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def database(path: Path, visits: int = 3, key_type: str = "") -> None:
    """The good tables as a SQLite file; beside the first visits others that fill some pages."""
    with closing(sqlite3.connect(path)) as made:
        made.executescript(DDL.format(key_type))
        made.executemany("INSERT INTO person VALUES (?, ?)", [(1, WORD), (2, NUMBER)])
        made.execute("INSERT INTO ward VALUES (?, ?)", (int(NUMBER), WORD))
        made.executemany("INSERT INTO visit VALUES (?, ?, ?)", [(1, f"{WORD}{i}", None) for i in range(visits)])
        made.commit()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with schemas and a good input."""
    put(tmp_path, {"s.toml": SCHEMA, "c.toml": CIRCLE, "q.toml": SCHEMA.replace('"tables"', '"sqlite"')})
    put(tmp_path / "in", dict(GOOD))
    put(tmp_path / "mine", {"notes.txt": "x"})
    monkeypatch.chdir(tmp_path)
    return tmp_path


Told = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Told:
    """Runs a line of arguments: the exit code, standard output and standard error, in which is no value."""

    def running(line: str) -> tuple[int, str, str]:
        code, out, err = ran(line.split(), monkeypatch, capfd)
        assert not any(canary in out + err for canary in CANARIES), err
        return code, out, err

    return running


# Each: files beside or instead of the good ones (None: taken away), changes of the schema, options, code, words.
Files = dict[str, str | bytes | None]
Case = tuple[Files, dict[str, str], str, int, str]
DANGLING: Files = {"visit.csv": VISIT + f"{NUMBER},{WORD},\n"}
BOSSES: Files = {"person.csv": f"id,age,boss\n1,{WORD},2\n2,{NUMBER},1\n3,{WORD},\n"}
AMBIGUOUS = {"visit.person_id -> person.id": 'visit.person_id -> person.id", "visit.ward_id -> person.id'}
CASES: dict[str, Case] = {
    "missing table": ({"visit.csv": None}, {}, "", 2, "unknown table 'visit'; choose from person, ward"),
    "missing record table": ({}, {'"person"': '"patient"'}, "", 2, "unknown table 'patient'; choose from person"),
    "missing column": ({}, {"visit.dx": "visit.diagnosis"}, "", 2, "has no column 'diagnosis'; it has: person_id, dx"),
    "missing key column": ({}, {"visit.person_id": "visit.pid"}, "", 2, "'visit' has no column 'pid'"),
    "no key": ({}, {"visit.ward_id -> ward.id": "ward.id -> person.id"}, "", 2, "no key leads from 'visit' to 'ward'"),
    "ambiguous key": ({}, AMBIGUOUS, "", 2, "several keys lead from 'person' to 'visit'"),
    "key published": ({}, {"visit.dx": "visit.person_id"}, "", 2, "column 'person_id' of table 'visit' is a key"),
    "circle of tables": ({}, {"visit.dx": "visit.person.age"}, "", 2, "goes in a circle: person → visit → person"),
    "type clash": ({"datapackage.json": package(person_id="integer")}, {}, "", 3, "visit.person_id holds texts, but"),
    "not its type": ({"datapackage.json": package(person_age="integer")}, {}, "", 3, "in/person.csv, line 2, age: is"),
    "repeated key": ({"person.csv": PERSON + f"2,{WORD}\n"}, {}, "", 3, "in/person.csv, line 4, person.id: has the"),
    "dangling": (DANGLING, {}, "--strict", 3, "in/visit.csv, line 5, visit.person_id: refers to a row of 'person'"),
    "fields": ({"visit.csv": VISIT + f"1,{WORD},,{WORD}\n"}, {}, "", 3, "in/visit.csv, line 5: 3 values are expected"),
    "few fields": ({"visit.csv": VISIT + f"{WORD}\n"}, {}, "", 3, "in/visit.csv, line 5: 3 values are expected"),
    "open quote": ({"visit.csv": VISIT + f'1,"{WORD}'}, {}, "", 3, "in/visit.csv, line 5: a quote is opened"),
    "encodings": ({"visit.csv": VISIT.encode() + b"1,caf\xe9,\n"}, {}, "", 3, "in/visit.csv, line 5: is not UTF-8"),
    "utf-16": ({"visit.csv": VISIT.encode("utf-16")}, {}, "", 3, "in/visit.csv: is UTF-16"),
    "empty file": ({"ward.csv": ""}, {}, "", 3, "in/ward.csv: is empty"),
    "nobody": ({"person.csv": "id,age\n"}, {}, "", 3, "holds no row in its table 'person'"),
    "no tables": (dict.fromkeys(GOOD), {}, "", 2, "in: holds no table"),
    "package": ({"datapackage.json": f'{{"a": "{WORD}"'}, {}, "", 3, "in/datapackage.json, line 1: is not valid JSON"),
    "package's file": ({"datapackage.json": package(), "ward.csv": None}, {}, "", 3, "there is no file 'ward.csv'"),
}


@pytest.mark.parametrize("name", CASES)
def test_refused(name: str, place: Path, run: Told) -> None:
    changed, schema, options, code, words = CASES[name]
    for file, content in changed.items():
        if content is None:
            (place / "in" / file).unlink()
        else:
            put(place / "in", {file: content})
    text = SCHEMA
    for old, new in schema.items():
        assert old in text
        text = text.replace(old, new, 1)
    put(place, {"s.toml": text})
    before = contents(place)
    for target in ("out", "out.zip"):
        told = run(f"convert in -s s.toml -o {target} {options}")
        assert told[:2] == (code, "") and words in told[2], told
    assert run(f"verify in -s s.toml -k 1 {options}")[0] == code
    assert contents(place) == before


def test_rows_in_a_circle(place: Path, run: Told) -> None:
    put(place / "in", {"person.csv": f"id,age,boss\n1,{WORD},2\n2,{NUMBER},1\n3,{WORD},\n4,{WORD}d,3\n"})
    code, _, err = run("convert in -s c.toml -o out")
    assert code == 3 and "in/person.csv, line 2, person.boss: leads back to itself" in err
    code, out, err = run("convert in -s c.toml -o out --on-error skip --json")
    assert code == 0 and "2 rows refer to each other in a cycle by person.boss -> person.id" in err
    counts = json.loads(out)
    assert counts["rows_in_circles"] == {"person.boss -> person.id": 2} and counts["records"] == 4
    assert counts["nodes"] == 5 and run("verify out -s c.toml -k 1")[0] == 0


def test_what_is_counted(place: Path, run: Told) -> None:
    head, *rows = [*VISIT.splitlines(), f",{WORD},", f"{NUMBER},{WORD},"]
    visits = "\n".join([f"{head},note", *(f"{row},{WORD}" for row in rows)])
    put(place / "in", {"visit.csv": visits, "town.csv": f"name\n{WORD}\n"})
    code, out, err = run("convert in -s s.toml -o out --json")
    counts = json.loads(out)
    assert code == 0 and counts["records"] == 2 and counts["nodes"] == 7
    assert counts["dangling_keys"] == {"visit.person_id -> person.id": 1}
    assert counts["rows_of_nobody"] == {"visit": 2}
    assert counts["tables_not_read"] == ["town"] and counts["dropped"] == {"visit.note": 3}
    for words in (
        "(an error with --strict)",
        "2 rows of visit belong to no record",
        "no path leads through them: town",
        "visit.note",
    ):
        assert words in err
    code, out, err = run("convert in -s s.toml -o out --json --force -q")
    assert code == 0 and err == "" and json.loads(out) == counts


# --- what is written, and where ---


def test_the_output_is_like_the_input(place: Path, run: Told) -> None:
    for kind in ("tsv", "parquet"):
        (place / kind).mkdir()
    for name, text in GOOD.items():
        rows = [line.split(",") for line in text.splitlines()]
        columns = {head: [row[at] or None for row in rows[1:]] for at, head in enumerate(rows[0])}
        pq.write_table(pa.table(columns), place / "parquet" / name.replace("csv", "parquet"))
        put(place / "tsv", {name.replace("csv", "tsv"): text.replace(",", "\t")})
    with zipfile.ZipFile(place / "in.zip", "w") as packed:
        for name, text in GOOD.items():
            packed.writestr(name, text)
    for source, ending in (("in", "csv"), ("in.zip", "csv"), ("tsv", "tsv"), ("parquet", "parquet")):
        assert run(f"convert {source} -s s.toml -o out --force")[0] == 0
        names = {path.name for path in (place / "out").iterdir()}
        assert names == {"datapackage.json", *(f"{table}.{ending}" for table in ("person", "visit", "ward"))}
        assert run(f"convert {source} -s s.toml -o out.zip --force")[0] == 0
        assert set(zipfile.ZipFile(place / "out.zip").namelist()) == names
        for again in ("out", "out.zip"):
            code, out, _ = run(f"convert {again} -s s.toml -o back.trees.jsonl --force --json")
            assert code == 0 and json.loads(out)["nodes"] == 7 and json.loads(out)["keys_made_anew"] == {}


@pytest.mark.parametrize(
    "target", ["o.sqlite", "o.db", "o.ndjson", "o.json", "o.xml", "o.trees.jsonl.gz", "o.zip", "o/"]
)
def test_there_and_back(target: str, place: Path, run: Told) -> None:
    """By the schema that the command writes, to any format and back to tables."""
    assert run(f"convert in -s s.toml -o {target} --schema-out out.toml")[0] == 0
    code, out, _ = run(f"convert {target} -s out.toml -o back.trees.jsonl --json")
    assert code == 0 and (json.loads(out)["records"], json.loads(out)["nodes"]) == (2, 7)


def test_what_objects_are_is_told_where_a_database_declares_the_keys(place: Path, run: Told) -> None:
    """The schema alone does not know them: the command asks what was read."""
    database(place / "in.sqlite")
    assert run("init in.sqlite -o open.toml")[0] == 0
    assert 'objects = "auto"' in (place / "open.toml").read_text()
    for more, options in (("", ""), (" -a gcs --as-published", " --objects merged")):
        assert run(f"anonymize in.sqlite -s open.toml -k 1 -m 1 -n 0 -o out.sqlite --force{more}")[0] == 0
        assert run(f"verify out.sqlite -s open.toml -k 1 -m 1 -n 0{options}")[0] == 0
    code, told = run("verify out.sqlite -s open.toml -k 1 -m 1 -n 0")[:2]
    assert code in (0, 1) and "no key leads" not in told


def test_sqlite_loads_with_its_keys_on(place: Path, run: Told) -> None:
    database(place / "in.sqlite")
    with closing(sqlite3.connect(place / "in.sqlite")) as made:
        made.execute("UPDATE visit SET ward_id = ?", (int(NUMBER),))
        made.commit()
    assert run("convert in.sqlite -s q.toml -o out.sqlite")[0] == 0
    with closing(sqlite3.connect("out.sqlite")) as made:
        assert made.execute("PRAGMA foreign_key_check").fetchall() == []
        keys = {row[2:5] for row in made.execute("PRAGMA foreign_key_list(visit)")}
        assert keys == {("person", "person_id", "id"), ("ward", "ward_id", "id")}
        assert made.execute("SELECT count(*) FROM visit").fetchone() == (3,)


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("in -s s.toml -o in --force", 2, "in is an input"),
        ("in -s s.toml -o in/ --force", 2, "in/ is an input"),
        ("in -s s.toml -o mine", 4, "mine: exists already; use --force"),
        ("in -s s.toml -o mine --force", 4, "mine: holds files that are not from treeanon"),
        ("in -s s.toml -o copy --force", 4, "copy: holds files that are not from treeanon"),
        ("in -s s.toml -o -", 2, "cannot go to standard output"),
        ("in -s s.toml -o o.csv", 2, "o.csv: several tables go to a folder"),
        ("in -s s.toml -o none/out", 4, "none/out: its folder does not exist"),
        ("in -s q.toml -o out", 2, "in: is a folder; a SQLite file is expected"),
        ("in/person.csv -s s.toml -o out", 2, "tables are read from a folder, a zip or a datapackage.json"),
        ("none -s s.toml -o out", 4, "none: there is no such file or folder"),
        ("none.sqlite -s q.toml -o out", 4, "none.sqlite: there is no such file or folder"),
        ("in/person.csv -s q.toml -o out", 3, "in/person.csv: is not a SQLite database"),
        ("half.sqlite -s q.toml -o out", 3, "half.sqlite: the database is damaged or ends too early"),
        ("clash.sqlite -s q.toml -o out", 3, "clash.sqlite: visit.person_id holds texts, but person.id"),
        ("whole.sqlite -s q.toml -o whole.sqlite --force", 2, "whole.sqlite is an input"),
    ],
)
def test_sources_and_targets_that_cannot_be(line: str, code: int, words: str, place: Path, run: Told) -> None:
    put(place / "copy", {**GOOD, "datapackage.json": package()})
    database(place / "whole.sqlite", 2000)
    whole = (place / "whole.sqlite").read_bytes()
    (place / "half.sqlite").write_bytes(whole[: len(whole) // 2])
    database(place / "clash.sqlite", key_type="TEXT")
    before = contents(place)
    told = run(f"convert {line}")
    assert told[:2] == (code, "") and words in told[2], told
    assert contents(place) == before


def test_an_output_is_replaced_only_with_force(place: Path, run: Told) -> None:
    for target in ("out", "out.zip", "out.sqlite"):
        assert run(f"convert in -s s.toml -o {target}")[0] == 0
        code, _, err = run(f"convert in -s s.toml -o {target}")
        assert code == 4 and f"{target}: exists already; use --force" in err
        assert run(f"convert in -s s.toml -o {target} --force")[0] == 0
    put(place / "out", {"notes.txt": "mine"})
    code, _, err = run("convert in -s s.toml -o out --force")
    assert code == 4 and "holds files that are not from treeanon" in err


# --- databases ---

AWAY = f"postgresql://ann:{WORD}@127.0.0.1:1/clinic"


@pytest.mark.parametrize(
    "line",
    [f"{AWAY} -s s.toml -o out", f"in -s s.toml -o {AWAY}", f"{AWAY}?password={WORD} -s s.toml -o out --json"],
)
def test_a_database_that_is_away(line: str, place: Path, run: Told) -> None:
    pytest.importorskip("psycopg")
    before = contents(place)
    code, out, err = run(f"convert {line}")
    assert (code, out) == (4, "") and "postgresql://ann:***@127.0.0.1:1/clinic" in err and "refused" in err
    assert contents(place) == before


def test_a_database_named_by_the_environment(place: Path, run: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    assert run("convert env:CLINIC_DB -s s.toml -o out")[0] == 2
    monkeypatch.setenv("CLINIC_DB", AWAY)
    code, _, err = run("convert env:CLINIC_DB -s s.toml -o out")
    assert code == 4 and "env:CLINIC_DB: " in err and "postgresql" not in err
    monkeypatch.setenv("CLINIC_DB", f"ann:{WORD}@host")
    assert run("convert env:CLINIC_DB -s s.toml -o out")[0] == 2
    monkeypatch.setenv("CLINIC_DB", f"wat://ann:{WORD}@host")
    assert run("convert env:CLINIC_DB -s s.toml -o out")[0] == 2


@pytest.fixture(params=[POSTGRES, MARIADB], ids=lambda server: server.name)
def empty_schema(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An empty schema of a test server, whose URL is in CLINIC_DB."""
    server: Server = request.param
    with server.required().schema("cli") as url:
        monkeypatch.setenv("CLINIC_DB", url)
        yield url


def test_into_a_database_and_out_of_it(empty_schema: str, place: Path, run: Told) -> None:
    people(place / "many")
    put(place, {"d.toml": MANY.replace('"tables"', '"database"')})
    code, out, err = run(f"anonymize many -s m.toml -k 3 -o {empty_schema} --json")
    secret = empty_schema.partition("://")[2].rpartition("@")[0].partition(":")[2]
    assert code == 0 and json.loads(out)["verification"]["holds"] and secret not in out + err
    assert run("verify env:CLINIC_DB -s d.toml -k 3")[0] == 0
    code, _, err = run("convert many -s m.toml -o env:CLINIC_DB --force")
    assert code == 4 and "has a table 'person' already, which is never replaced" in err
    assert run("convert env:CLINIC_DB -s d.toml -o out")[0] == 0
    assert run("verify out -s m.toml -k 3")[0] == 0
    code, told, err = run("init env:CLINIC_DB --record person -o proposed.toml")
    assert code == 0 and secret not in told + err + Path("proposed.toml").read_text()
    assert run("verify env:CLINIC_DB -s proposed.toml -k 3")[0] in (0, 1)


# --- anonymize, verify, apply ---

MANY = """version = 1
[input]
format = "tables"
objects = "merged"
record = "person"
key = ["visit.person_id -> person.id", "visit.ward_id -> ward.id"]
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [10, 50], min = 0, max = 100 }
[[class]]
name = "dx"
path = "visit.dx"
hierarchy = { flat = true }
[[class]]
name = "ward"
path = "visit.ward.name"
hierarchy = { flat = true }
"""


def people(folder: Path) -> None:
    """Sixty persons with some visits each; a schema for them beside the folder."""
    person = "".join(f"{1000 + i},{20 + i % 30}\n" for i in range(60))
    visits = "".join(f"{1000 + i % 60},{WORD}{'abc'[i % 3]},{(i * 7) % 5}\n" for i in range(100))
    wards = "".join(f"{i},{WORD}ward{i}\n" for i in range(5))
    put(folder, {"person.csv": "id,age\n" + person, "visit.csv": "person_id,dx,ward_id\n" + visits})
    put(folder, {"ward.csv": "id,name\n" + wards})
    put(folder.parent, {"m.toml": MANY})


def test_releases(place: Path, run: Told) -> None:
    people(place / "in")
    code, out, err = run("anonymize in -s m.toml -k 5 -o out --solution out.solution.json --json")
    result: dict[str, Any] = json.loads(out)
    assert code == 0 and result["verification"]["holds"] and result["counts"]["records"] == 60
    assert "Written to out" in err and "for `treeanon apply`" in err
    code, out, _ = run("verify out -s m.toml -k 5")
    assert code == 0 and "5^(2,1)-anonymity holds" in out
    assert run("verify in -s m.toml -k 5")[0] == 1
    assert run("anonymize in -s m.toml -k 61 -o too-few")[0] == 1 and not (place / "too-few").exists()
    # A release is an input like any other.
    assert run("anonymize out -s m.toml -k 10 -o coarser.sqlite")[0] == 0
    put(place, {"m-sqlite.toml": MANY.replace('"tables"', '"sqlite"')})
    assert run("verify coarser.sqlite -s m-sqlite.toml -k 10")[0] == 0
    # What was found is done again to the same data, in another form.
    assert run("convert in -s m.toml -o same.sqlite")[0] == 0
    assert run("apply out.solution.json same.sqlite -s m-sqlite.toml -o again.sqlite")[0] == 0
    assert run("verify again.sqlite -s m-sqlite.toml -k 5")[0] == 0
    assert run("apply out.solution.json in -s m.toml -o again")[0] == 0
    assert run("verify again -s m.toml -k 5")[0] == 0
    code, _, err = run("apply out.solution.json in -s m.toml -o in --force")
    assert code == 2 and "in is an input" in err


def test_a_release_with_more_in_it_is_not_said_to_be_safe(place: Path, run: Told) -> None:
    people(place / "in")
    assert run("anonymize in -s m.toml -k 5 -o out")[0] == 0
    column, table = place / "column", place / "table"
    shutil.copytree(place / "out", column)
    lines = (column / "person.csv").read_text().splitlines()
    wide = [f"{line},{'name' if not at else WORD}" for at, line in enumerate(lines)]
    described = json.loads((column / "datapackage.json").read_text())
    described["resources"][0]["schema"]["fields"].append({"name": "name", "type": "string"})
    put(column, {"person.csv": "\n".join(wide) + "\n", "datapackage.json": json.dumps(described)})
    code, out, err = run("verify column -s m.toml -k 5 --json")
    assert code == 1 and json.loads(out)["not_looked_at"] == {"name": 60} and "not verified" in err
    assert run("verify column -s m.toml -k 5 --ignore-unnamed")[0] == 0

    shutil.copytree(place / "out", table)
    described = json.loads((table / "datapackage.json").read_text())
    described["resources"].append({"name": "letter", "path": "letter.csv"})
    put(table, {"letter.csv": f"person,text\n1,{WORD}\n", "datapackage.json": json.dumps(described)})
    code, out, err = run("verify table -s m.toml -k 5 --json")
    assert code == 1 and json.loads(out)["strays"] == ["table letter is on no path"] and "letter" in err
    assert run("verify table -s m.toml -k 5 --ignore-unnamed")[0] == 0


def test_keys_of_the_input_are_not_safe(place: Path, run: Told) -> None:
    """Keys that are more than numbers of rows may be anything, a social security number among others."""
    people(place / "in")
    code, out, _ = run("verify in -s m.toml -k 1 --json")
    assert code == 1 and not json.loads(out)["holds"]
    assert json.loads(out)["not_looked_at"]["person.id"] == 60


# --- what the docs say ---


def test_the_schema_of_tables_in_the_docs(place: Path, run: Told) -> None:
    home = ROOT
    (text,) = re.findall(
        r"```toml\n(version = 1\ninput = .*?)```", (home / "docs/how-to/relational.md").read_text(), re.DOTALL
    )
    put(place, {"readme.toml": text})
    (place / "hierarchies").symlink_to(home / "schemas" / "hierarchies")
    code, out, _ = run(f"convert {home / 'samples' / 'clinic'} -s readme.toml -o out --json")
    assert code == 0 and json.loads(out)["records"] == 600
    assert {path.stem for path in Path("out").iterdir()} == {"datapackage", "doctor", "patient", "practice", "visit"}
    for column, step in (("part_of", "ward(part_of)"), ("part_of", "ward(part_of)[]")):
        path = f'[[class]]\nname = "{column}"\npath = "visit.ward.{step}.name"\n'
        put(place, {"readme.toml": text + path})
        assert run(f"convert {home / 'samples' / 'clinic'} -s readme.toml -o out --force")[0] == 0


def test_nothing_that_is_read_is_written_over(place: Path, run: Told) -> None:
    people(place / "in")
    assert run("convert in -s s.toml -o base.sqlite")[0] == 0
    before = (place / "base.sqlite").read_bytes()
    for source in (f"sqlite:///{place}/base.sqlite", "sqlite:///base.sqlite"):
        code, _, err = run(f"convert {source} -s s.toml -o base.sqlite --force")
        assert code == 2 and "is an input" in err
    assert (place / "base.sqlite").read_bytes() == before
    for target in ("in/person.csv --to ndjson", "in/out", "in/new.sqlite"):
        code, _, err = run(f"convert in -s s.toml -o {target} --force")
        assert code == 2 and "is inside an input folder" in err
    text = (place / "s.toml").read_text()
    (place / "h.csv").write_text("a;*\n")
    (place / "h.toml").write_text(text + '[[class]]\nname = "more"\npath = "more"\nhierarchy = "h.csv"\n')
    code, _, err = run("convert in -s h.toml -o h.csv --to sqlite --force")
    assert code == 2 and "h.csv is an input" in err and (place / "h.csv").read_text() == "a;*\n"


@pytest.mark.parametrize(
    "url", ["postgresql:/ann:{}@h/db", "postgresql:ann:{}@h/db", "jdbc:postgresql://ann:{}@h/db", "ann:{}@h/db"]
)
def test_what_is_nearly_a_url_shows_no_password(url: str, place: Path, run: Told) -> None:
    people(place / "in")
    mistyped = url.format(WORD)
    for asked in (f"convert {mistyped} -s s.toml -o out", f"convert in -s s.toml -o {mistyped}"):
        code, out, err = run(asked)
        assert code in (2, 4) and WORD not in out + err, err

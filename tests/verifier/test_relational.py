"""`verify` on tables that somebody changed, or made: whatever says more than the trees is told, and fails."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import treeanon as ta
from treeanon.cli.main import main

SCHEMA = """
version = 1
[input]
format = "sqlite"
objects = "merged"
record = "person"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [10, 50], min = 0, max = 100 }
[[class]]
name = "town"
path = "home.town"
hierarchy = { flat = true }
[[class]]
name = "illness"
path = "visit.illness"
hierarchy = { flat = true }
[[class]]
name = "drug"
path = "visit.drug"
hierarchy = { flat = true }
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with a moved node, and the schema beside it."""
    place = tmp_path_factory.mktemp("release")
    (place / "s.toml").write_text(SCHEMA)
    base = sqlite3.connect(place / "in.sqlite")
    base.executescript("""
        CREATE TABLE home (id INTEGER PRIMARY KEY, town TEXT);
        CREATE TABLE person (id INTEGER PRIMARY KEY, age INTEGER, home INTEGER REFERENCES home);
        CREATE TABLE visit (id INTEGER PRIMARY KEY, person INTEGER REFERENCES person, illness TEXT, drug TEXT);
        INSERT INTO home VALUES (71, 'A'), (72, 'B');
    """)
    for number in range(40):
        base.execute("INSERT INTO person VALUES (?, ?, ?)", (900 + number, 30 + number % 2 * 20, 71 + number % 2))
        base.execute("INSERT INTO visit VALUES (?, ?, ?, ?)", (500 + number, 900 + number, "flu", "tea"))
    base.commit()
    base.close()
    schema = ta.Schema.load(place / "s.toml")
    forest = ta.read(place / "in.sqlite", schema).disassociate([(("illness", "flu"), ("drug", "tea"))])
    ta.write(forest, place / "out.sqlite")
    return place


def verified(release: Path, folder: Path, change: Callable[[sqlite3.Connection], object]) -> tuple[int, str]:
    shutil.copy(release / "out.sqlite", folder / "changed.sqlite")
    with sqlite3.connect(folder / "changed.sqlite") as base:
        change(base)
    base.close()
    done = CliRunner().invoke(
        main,
        ["verify", str(folder / "changed.sqlite"), "-s", str(release / "s.toml"), "-k", "5"],
        standalone_mode=False,
    )
    return (int(done.return_value) if done.exception is None else 3), f"{done.output} {done.exception}"


def test_what_treeanon_wrote_holds(release: Path, tmp_path: Path) -> None:
    code, told = verified(release, tmp_path, lambda base: None)
    assert code == 0, told
    with sqlite3.connect(release / "out.sqlite") as base:
        assert base.execute("SELECT count(*) FROM treeanon_moved_person").fetchone() == (40,)
    base.close()


CHANGES = {
    "an original key": "UPDATE person SET id = 901 WHERE id = 1; UPDATE visit SET person = 901 WHERE person = 1;"
    "UPDATE treeanon_moved_person SET of_id = 901 WHERE of_id = 1",
    "a looked-up row twice": "INSERT INTO home SELECT 3, town FROM home WHERE id = 1;"
    " UPDATE person SET home = 3 WHERE id IN (SELECT max(id) FROM person WHERE home = 1)",
    "a looked-up row of nobody": "INSERT INTO home VALUES (3, 'A')",
    "a child row of nobody": "INSERT INTO visit SELECT max(id) + 1, NULL, 'flu', NULL FROM visit",
    "a child row of a person who is not there": "INSERT INTO visit SELECT max(id) + 1, 41, 'flu', NULL FROM visit",
    "a column in the moved table": "ALTER TABLE treeanon_moved_person ADD COLUMN name TEXT DEFAULT 'x'",
    "another number of a moved node": "UPDATE treeanon_moved_person SET node = 4711 WHERE node = 1",
    "a trigger": "CREATE TRIGGER hidden AFTER INSERT ON person BEGIN SELECT 'somebody'; END",
    "a table": "CREATE TABLE more (name TEXT); INSERT INTO more VALUES ('x')",
    "a column": "ALTER TABLE visit ADD COLUMN note TEXT; UPDATE visit SET note = 'x' WHERE id = 1",
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_says_more_fails(name: str, release: Path, tmp_path: Path) -> None:
    code, told = verified(release, tmp_path, lambda base: base.executescript(CHANGES[name]))
    assert code in (1, 3), told


def test_a_record_column_cannot_hide_rows(release: Path, tmp_path: Path) -> None:
    marked = "ALTER TABLE person ADD COLUMN treeanon_record"
    code, told = verified(release, tmp_path, lambda base: base.executescript(f"{marked} DEFAULT 1"))
    assert code == 0, told
    hidden = f"{marked} DEFAULT 1; UPDATE person SET treeanon_record = 0 WHERE id = 1"
    assert verified(release, tmp_path, lambda base: base.executescript(hidden))[0] in (1, 3)
    secret = f"{marked} DEFAULT 1; UPDATE person SET treeanon_record = 'SECRET' WHERE id = 1"
    code, told = verified(release, tmp_path, lambda base: base.executescript(secret))
    assert code == 3 and "must be 1 for a person" in told and "SECRET" not in told


def test_a_value_in_a_primary_key_is_no_number_of_rows(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCHEMA.split('[[class]]\nname = "town"')[0].replace('"age"', '"kind"'))
    with sqlite3.connect(tmp_path / "in.sqlite") as base:
        base.execute("CREATE TABLE person (id INTEGER, age INTEGER, kind INTEGER, PRIMARY KEY (id, age))")
        base.executemany("INSERT INTO person VALUES (?, ?, 7)", [(n, 30 + n % 3) for n in range(1, 101)])
    base.close()
    asked = ["verify", str(tmp_path / "in.sqlite"), "-s", str(tmp_path / "s.toml"), "-k", "5"]
    done = CliRunner().invoke(main, asked, standalone_mode=False)
    assert done.return_value == 1 and "person.age" in done.output

"""Objects keyed by ids: their members are records, and their keys are never published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.as_installed import ran
from tests.support.paths import new_path
from treeanon.errors import DataError, SchemaError
from treeanon.schema import parse_record
from treeanon.schema.dump import record_text

SCHEMA = """version = 1
[input]
format = "{}"
objects = "merged"
record = "{}"
[[class]]
name = "age"
path = "age"
type = "integer"
[[class]]
name = "ill"
path = "ills[]"
"""


def put(path: Path, people: dict[str, Any], *names: str) -> Path:
    value: Any = people
    for name in names[::-1]:
        value = {"by": "SECRET", name: value}
    path.write_text(json.dumps(value, indent=1))
    return path


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize(("record", "names"), [("*", ()), ("data.patients.*", ("data", "patients"))])
def test_members_are_records(form: str, record: str, names: tuple[str, ...], tmp_path: Path) -> None:
    people = {f"SECRET-{n}": {"age": 30 + n % 2, "ills": ["Flu", "Acne"][: n % 3]} for n in range(40)}
    schema = SCHEMA.format(form, record)
    forest = ta.read(put(tmp_path / f"in.{form}", people, *names), schema)
    assert sorted(map(str, forest.records())) == sorted(
        str([["age", str(one["age"]), []], *(["ill", ill, []] for ill in sorted(one["ills"]))])
        for one in people.values()
    )
    release = ta.anonymize(forest, k=2)
    for other in ("json", "yaml"):
        out = tmp_path / f"out.{other}"
        release.write(out)
        assert "SECRET" not in out.read_text()
        again = schema.replace(f'"{form}"', f'"{other}"')
        assert ta.read(out, again) == release.forest
        assert ta.verify(out, schema=again, k=2).holds
    release.write(tmp_path / "out.ndjson")
    value = json.loads((tmp_path / "out.json").read_text())
    for name in names:
        value = value[name]
    assert list(value) == [str(number) for number in range(1, 41)]


def test_keys_that_are_ids_do_not_hold(tmp_path: Path) -> None:
    person = {"age": 34, "ills": ["Flu"]}
    for form in ("json", "yaml"):
        schema = SCHEMA.format(form, "*")
        path = put(tmp_path / f"in.{form}", {"1": person, "2": person, "3": person})
        assert ta.verify(path, schema=schema, k=2).holds
        put(path, {"1": person, "SECRET": person, "3": person})
        assert [(one.kind, one.number) for one in ta.verify(path, schema=schema, k=2).beyond] == [("ids", 1)]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[]", "an object whose members are records"),
        ('{"P1":{"age":1},}', "is not valid JSON"),
        ('{"P1":{"age":1} "P2":{"age":2}}', "is not valid JSON"),
        ('{"P1" {"age":1}}', "is not valid JSON"),
        ('{P1:{"age":1}}', "is not valid JSON"),
        ('{"P1":{"age":1}', "ends before"),
        ('{"P1":{"age":1},"P2":7}', "record 2"),
        ("{}", "no record"),
    ],
)
def test_what_is_refused(text: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(text)
    with pytest.raises(DataError, match=what):
        ta.read(tmp_path / "in.json", SCHEMA.format("json", "*"))


def test_paths() -> None:
    for text in ("*", "data.patients.*", "'a.b'.*"):
        assert record_text(parse_record(text, slashed=False), slashed=False) == text
    for text in ("a[].*", "*.a", "a.*.b"):
        with pytest.raises(SchemaError):
            ta.Schema.loads(SCHEMA.format("json", text))
    with pytest.raises(SchemaError):
        ta.Schema.loads(SCHEMA.format("xml", "*"))


@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 9), min_size=1, max_size=20),
    st.sampled_from([None, 1]),
)
def test_a_slow_twin(ages: dict[str, int], indent: int | None) -> None:
    path = new_path("in", ".json")
    try:
        path.write_text(json.dumps({key: {"age": age} for key, age in ages.items()}, indent=indent, ensure_ascii=False))
        forest = ta.read(path, SCHEMA.format("json", "*"))
        assert [record[0][1] for record in forest.records()] == [str(age) for age in ages.values()]
    finally:
        path.unlink(missing_ok=True)


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    people = {f"P{n}": {"age": 30 + n % 4, "ward": "AB"[n % 2], "visits": [{"ill": "Flu"}]} for n in range(40)}
    put(Path("in.json"), people)
    ran(["init", "in.json", "-o", "s.toml"], monkeypatch, capsys, 0)
    assert 'record = "*"' in Path("s.toml").read_text()
    ran(["anonymize", "in.json", "-s", "s.toml", "-k", 5, "-o", "out.json"], monkeypatch, capsys, 0)
    ran(["verify", "out.json", "-s", "s.toml", "-k", 5], monkeypatch, capsys, 0)
    ran(["convert", "in.json", "-s", "s.toml", "-o", "out.yaml", "--schema-out", "y.toml"], monkeypatch, capsys, 0)
    assert 'record = "*"' in Path("y.toml").read_text()
    ran(["convert", "out.yaml", "-s", "y.toml", "-o", "out.xml"], monkeypatch, capsys, 0)

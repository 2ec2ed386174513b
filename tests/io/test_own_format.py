"""A format of documents that another package adds in one file, from the API, the command line, init and convert."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import treeanon as ta
from tests.support.as_installed import ran
from tests.support.plugins import installed, make_package
from treeanon.errors import DataError, SchemaError, UsageError
from treeanon.formats import FORMATS
from treeanon.resources import folder
from treeanon.schema.json_schema import with_formats

KV = '''"""Lines of fields that tabs part, each a name, = and a value as JSON has it."""

import json

from treeanon.io.documents.lines import line_format


def parse(line):
    pairs = (field.split("=", 1) for field in line.decode().split("\\t"))
    return {name: json.loads(value) for name, value in pairs}


def text(record):
    return "\\t".join(f"{name}={json.dumps(value)}" for name, value in record.items())


FORMAT = line_format("kv", (".kv",), parse, text, "one person per line, in fields parted by tabs")
'''
SCHEMA = """version = 1
[input]
format = "kv"
[[class]]
name = "age"
path = "age"
type = "integer"
[[class]]
name = "ward"
path = "visits[].ward"
[[class]]
name = "ill"
path = "visits[].ills[]"
"""
PEOPLE = "".join(
    f'age={30 + i % 2}\tvisits=[{{"ward": "{"AB"[i % 2]}", "ills": ["flu", "{"xyz"[i % 3]}"]}}]\tnote="n"\n'
    for i in range(60)
)


@pytest.fixture(autouse=True)
def _kv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = {"treeanon.formats": {"kv": "kv_format:FORMAT"}}
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SCHEMA)
    Path("in.kv").write_text(PEOPLE)
    with installed(make_package(tmp_path / "installed", "kv-format", points, {"kv_format.py": KV})):
        yield


Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command that must work, and returns what it prints."""
    return lambda *arguments: ran(arguments, monkeypatch, capsys, 0)[1]


def test_api_reads_and_writes_it() -> None:
    forest = ta.read("in.kv", ta.Schema.load("s.toml"))
    assert len(forest) == 60 and forest.report is not None and forest.report.dropped.paths() == {"note": 60}
    ta.write(forest, "out.kv.gz")
    again = ta.read("out.kv.gz", forest.schema)
    assert sorted(map(str, again.records())) == sorted(map(str, forest.records()))


def test_api_anonymizes_it() -> None:
    forest = ta.read("in.kv", ta.Schema.load("s.toml"))
    release = ta.anonymize(forest, k=20, m=2, n=1)
    release.write("out.kv", seed=1)
    assert ta.verify(ta.read("out.kv", forest.schema), k=20, m=2, n=1).holds


def test_broken_line_is_named_without_its_value() -> None:
    Path("in.kv").write_text("age=31\nage=secret\nage=32\n")
    schema = ta.Schema.load("s.toml")
    with pytest.raises(DataError, match=r"^in\.kv, line 2: cannot be parsed$"):
        ta.read("in.kv", schema)
    forest = ta.read("in.kv", schema, on_error="skip")
    assert len(forest) == 2 and forest.report is not None and forest.report.skipped == 1


def test_command_line_anonymizes_and_verifies_it(run: Run) -> None:
    run("anonymize", "in.kv", "-s", "s.toml", "-k", "20", "-o", "out.kv", "--seed", "1", "-q")
    found = json.loads(run("verify", "out.kv", "-s", "s.toml", "-k", "20", "--json"))
    assert found["holds"] and Path("out.kv").read_text().count("\n") == 60


def test_init_proposes_a_schema_and_convert_reads_by_it(run: Run) -> None:
    run("init", "in.kv", "-o", "made.toml", "-q")
    schema = ta.Schema.load("made.toml")
    assert schema.input.format == "kv"
    assert {"age", "visits[].ward", "visits[].ills[]"} <= {
        spec.path.text(slashed=False) for spec in schema.classes if spec.path is not None
    }
    for name in ("out.xml", "out.json", "out.trees.jsonl"):
        made = f"{name}.toml"
        run("convert", "in.kv", "-s", "made.toml", "-o", name, "--schema-out", made, "-q")
        run("convert", name, "-s", made, "-o", "again.kv", "--schema-out", "kv.toml", "--force", "-q")
        assert ta.Schema.load("kv.toml").input.format == "kv"
        again, before = (ta.read(path, ta.Schema.load("kv.toml")) for path in ("again.kv", "in.kv"))
        assert len(again) == len(before) == 60
        Path("kv.toml").unlink()


def test_folder_of_it_is_an_input() -> None:
    Path("many").mkdir()
    for part in range(3):
        Path("many", f"{part}.kv").write_text(PEOPLE)
    assert len(ta.read("many", ta.Schema.load("s.toml"))) == 180


def test_unknown_format_lists_it() -> None:
    with pytest.raises(UsageError, match=r"unknown format 'kw'; choose from json, .*, kv$"):
        FORMATS.named("kw")


def test_it_has_no_record_path() -> None:
    with pytest.raises(SchemaError, match="is not for format kv, where each line is one person"):
        ta.Schema.loads(SCHEMA.replace('format = "kv"', 'format = "kv"\nrecord = "people[]"'))


def test_json_schema_for_editors_knows_it() -> None:
    rules = with_formats(json.loads((folder("schemas") / "treeanon.schema.json").read_text()))
    Draft202012Validator(rules).validate(tomllib.loads(SCHEMA))


def test_package_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    points = {"treeanon.formats": {"broken": "no_such_module:FORMAT"}}
    with (
        installed(make_package(tmp_path / "broken", "broken-format", points, {})),
        pytest.raises(UsageError, match=r"entry point 'broken' in treeanon\.formats of package 'broken-format'"),
    ):
        ta.read("in.xyz", SCHEMA.replace('"kv"', '"broken"'))

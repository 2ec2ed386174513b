"""Cases that a review found: each was once wrong."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import treeanon as ta
from treeanon.errors import DataError, UsageError

PLAIN = 'version = 1\n[input]\nformat = "{}"\n{}[[class]]\nname = "age"\npath = "age"\n'


def test_an_id_that_looks_like_a_pseudonym_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEANON_KEY", "k" * 16)
    odd = "p-d41d8cd98f00b204e9800998ecf8427e"
    schema = ta.Schema.loads(PLAIN.format("ndjson", "") + 'role = "identifier"\npseudonym = true\n')
    (tmp_path / "in.ndjson").write_text(json.dumps({"age": odd}) + "\n")
    forest = ta.read(tmp_path / "in.ndjson", schema)
    assert forest.record(0)[0][1] != odd
    ta.write(forest, tmp_path / "out.ndjson")
    assert ta.read(tmp_path / "out.ndjson", schema) == forest


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_with_one_name_twice(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
        archive.writestr("a.json", '{"age": 1}')
        archive.writestr("a.json", '{"age": 2}')
    schema = ta.Schema.loads(PLAIN.format("json", 'record = "."\n'))
    assert sorted(r[0][1] for r in ta.read(tmp_path / "in.zip", schema).records()) == ["1", "2"]


@pytest.mark.parametrize("ending", ["json", "ndjson", "xml"])
def test_a_trees_schema_with_paths_on_some_classes(ending: str, tmp_path: Path) -> None:
    schema = ta.Schema.loads(
        'version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "tag"\npath = "tags[]"\n'
        '[[class]]\nname = "note"\nunder = "tag"\n'
    )
    forest = ta.Forest.from_records(schema, [[["tag", "a", [["note", "b", []], ["note", "c", []]]]]])
    ta.write(forest, tmp_path / f"o.{ending}")
    assert ta.read(tmp_path / f"o.{ending}", schema.for_format(ending)) == forest


def test_texts_that_only_some_kinds_mix_with_attributes(tmp_path: Path) -> None:
    schema = ta.Schema.loads(
        'version = 1\n[input]\nformat = "xml"\nobjects = "merged"\nrecord = "a/b"\n'
        '[[class]]\nname = "code"\npath = "obs[@t=a]/value"\n'
        '[[class]]\nname = "unit"\npath = "obs[@k=b]/value/@unit"\n'
    )
    forest = ta.Forest.from_records(schema, [[["code", "1", []], ["unit", "mg", []]]])
    ta.write(forest, tmp_path / "o.json")
    assert ta.read(tmp_path / "o.json", schema.for_format("json")) == forest


def test_a_value_too_long_for_xml_readers(tmp_path: Path) -> None:
    schema = ta.Schema.loads(PLAIN.format("ndjson", ""))
    forest = ta.Forest.from_records(schema, [[["age", "x" * 11_000_000, []]]])
    with pytest.raises(DataError, match="longer than"):
        ta.write(forest, tmp_path / "o.xml")


def test_files_for_records_need_a_folder(tmp_path: Path) -> None:
    schema = ta.Schema.loads(PLAIN.format("json", 'record = "."\n'))
    forest = ta.Forest.from_records(schema, [[["age", "1", []]], [["age", "2", []]]])
    with pytest.raises(UsageError, match="folder"):
        ta.write(forest, tmp_path / "o.json.gz")
    assert not list(tmp_path.iterdir())


def test_keys_that_occur_once_are_no_names(tmp_path: Path) -> None:
    lines = [json.dumps({"age": i, f"Sm{i}th": 1}) for i in range(20)]
    (tmp_path / "in.ndjson").write_text("\n".join(lines))
    report = ta.read(tmp_path / "in.ndjson", ta.Schema.loads(PLAIN.format("ndjson", ""))).report
    assert report is not None and report.dropped.paths() == {"*": 20}


def run(*arguments: object) -> int:
    done = subprocess.run([sys.executable, "-m", "treeanon", *map(str, arguments)], capture_output=True)
    return done.returncode


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "in.ndjson").write_text('{"age": 1, "note": 2}\n')
    (tmp_path / "s.toml").write_text(PLAIN.format("ndjson", ""))
    for output in ("in.ndjson", "s.toml"):
        assert (
            run("convert", tmp_path / "in.ndjson", "-s", tmp_path / "s.toml", "-o", tmp_path / output, "--force") == 2
        )
    assert "note" in (tmp_path / "in.ndjson").read_text()


def test_the_schema_of_a_trees_file_reads_it_under_any_name(tmp_path: Path) -> None:
    (tmp_path / "in.ndjson").write_text('{"age": 1}\n')
    (tmp_path / "s.toml").write_text(PLAIN.format("ndjson", ""))
    out, schema = tmp_path / "out.trees.jsonl", tmp_path / "t.toml"
    assert run("convert", tmp_path / "in.ndjson", "-s", tmp_path / "s.toml", "-o", out, "--schema-out", schema) == 0
    out.rename(tmp_path / "odd.name")
    assert ta.read(tmp_path / "odd.name", ta.Schema.load(schema)).record(0) == [["age", "1", []]]


def test_clear_errors_of_the_library() -> None:
    schema = ta.Schema.loads(PLAIN.format("ndjson", ""))
    forest = ta.Forest.from_records(schema, [[["age", "1", []]]])
    assert repr(forest) == "<Forest: 1 records, 1 nodes, 1 classes>"
    with pytest.raises(UsageError, match="toml"):
        schema.for_format("toml")
    with pytest.raises(UsageError, match="list"):
        forest.project({"age": "*"})
    with pytest.raises(TypeError, match="record"):
        forest[0]  # type: ignore[index]

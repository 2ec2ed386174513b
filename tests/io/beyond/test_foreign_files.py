"""Whatever a reader of a file sees and the count does not is found, by kind and number, in every format."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sqlite3
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import treeanon as ta
from tests.support.as_installed import ran
from treeanon.errors import DataError, UsageError
from treeanon.io.beyond.findings import KINDS, UNKNOWN

CLASSES = """
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { prefix = [1] }
[[class]]
name = "ward"
path = "VISIT"
[[class]]
name = "ill"
path = "ILL"
"""
INPUT = {
    "json": 'format = "json"\nrecord = "people[]"',
    "ndjson": 'format = "ndjson"',
    "xml": 'format = "xml"\nrecord = "people/person"\n[input.namespaces]\nx = "urn:x"',
    "trees": 'format = "ndjson"',
    "whole": 'format = "json"\nrecord = "."',
}


def schema_for(format: str) -> str:
    classes = CLASSES.replace("VISIT", "visits[].ward").replace("ILL", "visits[].ills[]")
    if format == "xml":
        classes = CLASSES.replace("VISIT", "visit[]/@ward").replace("ILL", "visit[]/ill[]")
    return f'version = 1\n[input]\nobjects = "merged"\n{INPUT[format]}\n{classes}'


def person(age: Any = 34, ills: Sequence[Any] = ("Acne", "Flu"), **more: Any) -> dict[str, Any]:
    return {"age": age, "visits": [{"ward": "A", "ills": list(ills)}], **more}


PLAIN = '{"age":34,"visits":[{"ward":"A","ills":["Acne","Flu"]}]}'
SAME = json.dumps(person(), separators=(",", ":"))
JSON = {
    "repeated-keys": PLAIN.replace('"age":34', '"age":34,"age":34'),
    "fields": PLAIN.replace('"age":34', '"age":34,"name":"SECRET"'),
    "nulls": PLAIN.replace('"Flu"', '"Flu",null'),
    "empty": PLAIN.replace("}]}", '},{"ills":[]}]}'),
    "repeats": PLAIN.replace('"Flu"', '"Flu","Flu"'),
    "repeats of objects": PLAIN.replace("}]}", '},{"ward":"A","ills":["Flu"]}]}'),
    "spellings": PLAIN.replace("Flu", "Fl\\u0075"),
    "spellings of numbers": PLAIN.replace("34", "3.4e1"),
    "spellings as texts": PLAIN.replace("34", '"34"'),
    "spellings of keys": PLAIN.replace('"age"', '"\\u0061ge"'),
    "white-space": PLAIN.replace('"age":34', '"age": 34'),
    "white-space around values": PLAIN.replace("34", '" 34"'),
    "order": PLAIN.replace('"Acne","Flu"', '"Flu","Acne"'),
    "order of keys": '{"visits":[{"ward":"A","ills":["Acne","Flu"]}],"age":34}',
    "form": PLAIN.replace('[{"ward":"A","ills":["Acne","Flu"]}]', '{"ward":"A","ills":["Acne","Flu"]}'),
}
XML_PLAIN = '<person><age>34</age><visit ward="A"><ill>Acne</ill><ill>Flu</ill></visit></person>'
XML = {
    "comments": XML_PLAIN.replace("<age>", "<!-- SECRET --><age>"),
    "instructions": XML_PLAIN.replace("<age>", "<?SECRET?><age>"),
    "namespaces": XML_PLAIN.replace("<person>", '<person xmlns:SECRET="urn:secret">'),
    "fields": XML_PLAIN.replace("<age>", "<name>SECRET</name><age>"),
    "fields in attributes": XML_PLAIN.replace("<age>", "<age name='SECRET'>"),
    "fields in texts": XML_PLAIN.replace("<age>", "SECRET<age>"),
    "empty": XML_PLAIN.replace("</visit>", "</visit><visit/>"),
    "empty values": XML_PLAIN.replace("<ill>Flu", "<ill></ill><ill>Flu"),
    "repeats": XML_PLAIN.replace("<ill>Flu</ill>", "<ill>Flu</ill><ill>Flu</ill>"),
    "repeats of objects": XML_PLAIN.replace("</visit>", '</visit><visit ward="A"><ill>Flu</ill></visit>'),
    "spellings": XML_PLAIN.replace("Flu", "Fl&#117;"),
    "spellings in attributes": XML_PLAIN.replace('"A"', '"&#65;"'),
    "spellings by sections": XML_PLAIN.replace("Flu", "<![CDATA[Flu]]>"),
    "white-space": XML_PLAIN.replace("<age>", "\n <age>"),
    "white-space in tags": XML_PLAIN.replace(" ward", "  ward"),
    "white-space by quotes": XML_PLAIN.replace('"A"', "'A'"),
    "order": XML_PLAIN.replace("<ill>Acne</ill><ill>Flu</ill>", "<ill>Flu</ill><ill>Acne</ill>"),
    "order of elements": '<person><visit ward="A"><ill>Acne</ill><ill>Flu</ill></visit><age>34</age></person>',
}
TREE = '{"id":1,"tree":[["age","34",[]],["ward","A",[["ill","Acne",[]],["ill","Flu",[]]]]]}'
TREES = {
    "ids": TREE.replace("1", '"SECRET"', 1),
    "ids as numbers": TREE.replace("1", "4711", 1),
    "fields": TREE.replace('"id"', '"name":"SECRET","id"'),
    "repeated-keys": TREE.replace('"id"', '"id":"SECRET","id"'),
    "repeats": TREE.replace('["ill","Flu",[]]', '["ill","Flu",[]],["ill","Flu",[]]'),
    "order": TREE.replace('["ill","Acne",[]],["ill","Flu",[]]', '["ill","Flu",[]],["ill","Acne",[]]'),
    "spellings": TREE.replace("Flu", "Fl\\u0075"),
    "white-space": TREE.replace('"tree":', '"tree": '),
}


def numbered(text: str, number: int) -> str:
    return text.replace('"id":1,', f'"id":{number},')


def document(format: str, records: Sequence[str]) -> str:
    if format == "json":
        return '{"people":[\n' + ",\n".join(records) + "\n]}\n"
    if format == "xml":
        return '<?xml version="1.0" encoding="UTF-8"?>\n<people>\n' + "\n".join(records) + "\n</people>\n"
    if format == "trees":
        return "".join(numbered(text, at) + "\n" for at, text in enumerate(records, start=1))
    return "".join(text + "\n" for text in records)


CASES = [
    *(("json", name, PLAIN, text) for name, text in JSON.items()),
    *(("ndjson", name, PLAIN, text) for name, text in JSON.items()),
    *(("xml", name, XML_PLAIN, text) for name, text in XML.items()),
    *(("trees", name, TREE, text) for name, text in TREES.items()),
]


def beyond(path: Path, schema: str, **asked: Any) -> dict[str, int]:
    verdict = ta.verify(path, schema=schema, k=2, **asked)
    assert verdict.holds == (not verdict.beyond) == bool(verdict)
    return {found.kind: found.number for found in verdict.beyond}


@pytest.mark.parametrize(("format", "name", "plain", "odd"), CASES)
def test_one_record_says_more(format: str, name: str, plain: str, odd: str, tmp_path: Path) -> None:
    kind = name.split()[0]
    assert odd != plain
    path = tmp_path / ("out.trees.jsonl" if format == "trees" else f"out.{format}")
    path.write_text(document(format, [plain] * 6))
    assert beyond(path, schema_for(format)) == {}
    path.write_text(document(format, [plain] * 3 + [odd] + [plain] * 2))
    found = beyond(path, schema_for(format))
    assert kind in found, found
    # A key that is not where others have it, or an element, is no other difference.
    assert set(found) <= {kind, "white-space", "order", "spellings", "form", "empty"}, found
    assert beyond(path, schema_for(format), ignore=list(found)) == {}
    with pytest.raises(UsageError, match="choose from fields, keys"):
        ta.verify(path, schema=schema_for(format), k=2, ignore=["something"])


@pytest.mark.parametrize(("format", "name", "plain", "odd"), CASES[::7])
def test_the_first_line_is_the_verdict_of_the_exit_code(
    format: str, name: str, plain: str, odd: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = tmp_path / ("out.trees.jsonl" if format == "trees" else f"out.{format}")
    path.write_text(document(format, [plain] * 3 + [odd] + [plain] * 2))
    (tmp_path / "s.toml").write_text(schema_for(format))
    asked = ["verify", path, "-s", tmp_path / "s.toml", "-k", 2]
    _, out, err = ran(asked, monkeypatch, capsys, 1)
    kind = name.split()[0]
    assert out.startswith("Does not hold: the release holds more than is counted: ") and kind in out.split("\n")[0]
    assert KINDS[kind] in err and "SECRET" not in out + err and "Flu" not in out + err
    _, out, _ = ran([*asked, "--json"], monkeypatch, capsys, 1)
    told = json.loads(out)
    assert not told["holds"] and told["verdict"].startswith("Does not hold: ") and kind in told["beyond"]
    ignored = [word for one in told["beyond"] for word in ("--ignore", one)]
    _, out, _ = ran([*asked, *ignored], monkeypatch, capsys, 0)
    assert out.startswith("2^(2,1)-anonymity holds")
    told = json.loads(ran([*asked, *ignored, "--json"], monkeypatch, capsys, 0)[1])
    assert told["holds"] and told["verdict"].startswith("2^(2,1)-anonymity holds")
    _, _, err = ran([*asked, "--ignore", "nothing"], monkeypatch, capsys, 2)
    assert "choose from" in err


def test_a_document_laid_out_the_same_everywhere_says_nothing(tmp_path: Path) -> None:
    people = [person(), person(ills=["Flu"]), person(ills=["Flu"]), person()]
    path = tmp_path / "out.json"
    for how in ({}, {"indent": 2}, {"separators": (", ", ":")}):
        path.write_text(json.dumps({"people": people}, **how))
        assert beyond(path, schema_for("json")) == {}
    lines = [f"\n    {line}" for line in XML_PLAIN.replace("><age", ">\n      <age").split("\n")]
    path = tmp_path / "out.xml"
    path.write_text(f"<people>{''.join(lines) * 5}\n</people>")
    assert beyond(path, schema_for("xml")) == {}


def test_another_namespace_prefix_everywhere_says_nothing(tmp_path: Path) -> None:
    schema = schema_for("xml").replace("people/person", "x:people/x:person").replace('path = "age"', 'path = "x:age"')
    schema = schema.replace("visit[]", "x:visit[]").replace("ill[]", "x:ill[]")
    other = XML_PLAIN
    for name in ("person", "age", "visit", "ill"):
        other = other.replace(f"<{name}", f"<y:{name}").replace(f"</{name}", f"</y:{name}")
    path = tmp_path / "out.xml"
    head = '<y:people xmlns:y="urn:x" xmlns:z="urn:x">'
    path.write_text(f"{head}{other * 4}</y:people>")
    assert beyond(path, schema) == {}
    path.write_text(f"{head}{other * 3}{other.replace('y:', 'z:')}</y:people>")
    assert set(beyond(path, schema)) == {"namespaces"}


def test_what_surrounds_the_records(tmp_path: Path) -> None:
    path = tmp_path / "out.xml"
    path.write_text(document("xml", [XML_PLAIN] * 3).replace("<people>", "<people by='SECRET'><!-- x -->SECRET"))
    assert set(beyond(path, schema_for("xml"))) >= {"fields", "comments", "content"}
    path = tmp_path / "out.json"
    path.write_text('{"people":1,"by":"SECRET",' + document("json", [PLAIN] * 3)[1:].replace("people", "peopl\\u0065"))
    with pytest.raises(DataError):
        beyond(path, schema_for("json"))
    path.write_text('{"by":"SECRET",' + document("json", [PLAIN] * 3)[1:].replace("people", "peopl\\u0065"))
    assert set(beyond(path, schema_for("json"))) == {"fields", "spellings"}


def test_names_of_files_and_files_that_are_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    for number in range(1, 4):
        (folder / f"record-{number:07}.json").write_text(PLAIN + "\n")
    assert beyond(folder, schema_for("whole")) == {}
    (folder / "record-0000002.json").rename(folder / "Jane Doe.json")
    assert beyond(folder, schema_for("whole")) == {"file-names": 1}
    (folder / "notes.txt").write_text("SECRET")
    assert beyond(folder, schema_for("whole")) == {"file-names": 1, "ignored-files": 1}


def test_broken_records_are_left_out_of_the_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = PLAIN.replace('"Flu"', '"Flu",null')
    for format, broken, text in (
        ("ndjson", PLAIN.replace("[{", "7,[{"), odd),
        ("json", PLAIN.replace("34", "[34, 35]"), odd),
        ("xml", XML_PLAIN.replace("<age>34</age>", "<age>34</age><age>35</age>"), XML["empty"]),
        ("trees", TREE.replace("ill", "rash"), TREES["repeats"]),
    ):
        path = tmp_path / ("out.trees.jsonl" if format == "trees" else f"out.{format}")
        plain = {"xml": XML_PLAIN, "trees": TREE}.get(format, PLAIN)
        (tmp_path / "s.toml").write_text(schema_for(format))
        asked = ["verify", path, "-s", tmp_path / "s.toml", "-k", 2, "--on-error", "skip", "--json"]
        path.write_text(document(format, [plain, broken, plain, broken, plain]))
        told = json.loads(ran(asked, monkeypatch, capsys, 0)[1])
        assert told["skipped_records"] == 2 and "beyond" not in told
        path.write_text(document(format, [plain, broken, text, broken, plain]))
        assert len(json.loads(ran(asked, monkeypatch, capsys, 1)[1])["beyond"]) == 1


def test_standard_input_is_looked_at_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.toml").write_text(schema_for("xml"))
    asked = ["verify", "-", "-s", tmp_path / "s.toml", "-k", 2]
    for odd, code in ((XML_PLAIN, 0), (XML["comments"], 1)):
        data = document("xml", [XML_PLAIN, odd, XML_PLAIN]).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        _, out, _ = ran(asked, monkeypatch, capsys, code)
        assert ("comments (1)" in out) == bool(code)


def test_encodings_and_compression(tmp_path: Path) -> None:
    text = document("xml", [XML_PLAIN.replace("Flu", "Grüße")] * 3 + [XML["comments"]])
    for encoding in ("utf-16", "iso-8859-1", "utf-8-sig"):
        named = text.replace("UTF-8", encoding.removesuffix("-sig"))
        path = tmp_path / "out.xml.gz"
        path.write_bytes(gzip.compress(named.encode(encoding)))
        found = {one.kind for one in ta.verify(path, schema=schema_for("xml"), k=1).beyond}
        assert found == {"comments"}


FLAT = """version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { prefix = [1] }
[[class]]
name = "ward"
path = "ward"
"""
PAY = '[[class]]\nname = "pay"\npath = "pay"\ntype = "number"\nrole = "sensitive"\n'


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("", 'age,ward\n34,"A, B"\n34,"A, B"\n,\n,\n'),
        ("", '"age";"ward"\r\n"34";"A"\r\n"34";"A"\r\n'),
        ("fields", "age,ward,name\n34,A,SECRET\n34,A,\n"),
        ("spellings", "age,ward,pay\n34,A,1\n34,A,1.0\n"),
        ("spellings", 'age,ward\n34,A\n34,"A"\n'),
        ("white-space", "age,ward\n34,A\n 34,A\n"),
        ("white-space", "age,ward\n34,A\n\n34,A\n34,A\n"),
        ("white-space", "age,ward\n34,A\r\n34,A\n34,A\n"),
        ("nulls", 'age,ward\n34,\n34,""\n'),
    ],
)
def test_rows(kind: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_bytes(text.encode())
    schema = FLAT + (PAY if "pay" in text else "")
    found = beyond(path, schema)
    assert set(found) == ({kind} if kind else set()), found
    # As trees, too.
    verdict = ta.verify(path, schema=schema, k=1, m=2)
    assert {one.kind for one in verdict.beyond} == set(found)


def test_columns(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    table = pa.table({"age": pa.array([34, 34], pa.int16()), "ward": ["A", "A"]})
    pq.write_table(table, path)
    assert beyond(path, FLAT) == {}
    pq.write_table(pa.table({"age": ["34", "34"], "ward": ["A", "A"], "pay": ["1", "1.0"]}), path)
    assert beyond(path, FLAT + PAY) == {"spellings": 1}
    pq.write_table(table.append_column("name", pa.array(["SECRET", None])), path)
    assert set(beyond(path, FLAT)) == {"fields"}
    pq.write_table(table.replace_schema_metadata({"made by": "SECRET"}), path)
    assert beyond(path, FLAT) == {"metadata": 1}


def test_data_in_memory() -> None:
    rows = [{"age": 34, "ward": "A"}] * 3
    assert ta.verify(rows, schema=FLAT, k=2).holds
    verdict = ta.verify([*rows, {"age": 34, "ward": "A", "name": "SECRET"}], schema=FLAT, k=2)
    assert not verdict.holds and [one.kind for one in verdict.beyond] == ["fields"]
    assert ta.verify([*rows, {**rows[0], "name": "x"}], schema=FLAT, k=2, ignore=["fields"]).holds
    table = ta.Table.of_texts({"age": (["34", "34"], ta.Hierarchy.flat(["34"]))})
    with pytest.raises(UsageError, match="ignore is for what is read"):
        ta.verify(table, k=2, ignore=["fields"])


def test_values_that_no_hierarchy_has_cannot_be_ignored(tmp_path: Path) -> None:
    (tmp_path / "age.csv").write_text("34;*\n35;*\n")
    given = FLAT.replace("{ prefix = [1] }", '"age.csv"\non_unknown = "suppress"')
    (tmp_path / "s.toml").write_text(given)
    verdict = ta.verify([{"age": 34, "ward": "A"}, {"age": 340, "ward": "A"}], schema=tmp_path / "s.toml", k=1)
    assert [one.kind for one in verdict.beyond] == [UNKNOWN] and not verdict.holds
    with pytest.raises(UsageError):
        ta.verify([{"age": 34, "ward": "A"}], schema=tmp_path / "s.toml", k=1, ignore=[UNKNOWN])


TABLES = """version = 1
[input]
format = "sqlite"
record = "person"
[[class]]
name = "age"
path = "age"
[[class]]
name = "ward"
path = "visit.ward"
"""
CHANGES: dict[str, str] = {
    "repeats": "INSERT INTO visit SELECT max(id) + 1, 1, (SELECT ward FROM visit WHERE person = 1) FROM visit",
    "fields": "ALTER TABLE person ADD COLUMN name TEXT; UPDATE person SET name = 'SECRET' WHERE id = 1",
    "metadata": "CREATE TABLE gone (x TEXT); INSERT INTO gone VALUES (hex(randomblob(20000))); DROP TABLE gone",
}


@pytest.mark.parametrize("kind", CHANGES)
def test_tables(kind: str, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "in.sqlite") as base:
        base.executescript("""
            CREATE TABLE person (id INTEGER PRIMARY KEY, age TEXT);
            CREATE TABLE visit (id INTEGER PRIMARY KEY, person INTEGER REFERENCES person, ward TEXT);
            INSERT INTO person VALUES (7, 'x34'), (8, 'x34'), (9, 'x34');
            INSERT INTO visit SELECT id, id, 'A' FROM person;
        """)
    base.close()
    path = tmp_path / "out.sqlite"
    ta.write(ta.read(tmp_path / "in.sqlite", TABLES), path)
    assert beyond(path, TABLES) == {}
    with sqlite3.connect(path) as base:
        base.executescript(CHANGES[kind])
    base.close()
    assert kind in beyond(path, TABLES, m=1)


PERSONS = FLAT.replace('format = "csv"', 'format = "csv"\nperson = "id"')


@pytest.mark.parametrize(("kind", "change"), [("", ""), ("keys", "4711"), ("repeats", "again")])
def test_rows_of_persons(kind: str, change: str, tmp_path: Path) -> None:
    rows = [("1", "34", "A"), ("1", "34", "B"), ("2", "34", "A"), ("2", "34", "B"), ("3", "34", "A"), ("3", "34", "B")]
    if kind == "keys":
        rows = [(change if key == "3" else key, *row) for key, *row in rows]  # type: ignore[misc]
    elif kind == "repeats":
        rows.append(rows[0])
    path = tmp_path / "out.csv"
    path.write_text("".join(",".join(row) + "\n" for row in [("id", "age", "ward"), *rows]))
    found = {one.kind for one in ta.verify(path, schema=PERSONS, k=1, m=1).beyond}
    assert found == ({kind} if kind else set())


def test_a_zip_of_parts(tmp_path: Path) -> None:
    path = tmp_path / "out.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("part-00001.ndjson", document("ndjson", [PLAIN] * 2))
        archive.writestr("part-00002.ndjson", document("ndjson", [PLAIN] * 2))
    assert beyond(path, schema_for("ndjson")) == {}
    shutil.copy(path, tmp_path / "more.zip")
    with zipfile.ZipFile(tmp_path / "more.zip", "a") as archive:
        archive.writestr("part-00003.ndjson", document("ndjson", [JSON["nulls"]]))
    assert beyond(tmp_path / "more.zip", schema_for("ndjson")) == {"nulls": 1}


DEEP = "[" * 900 + "]" * 900
LONG = "7" * 200


@pytest.mark.parametrize("odd", [DEEP, LONG, f'{{"a":{DEEP}}}', f"[{LONG}]"], ids=["deep", "long", "inner", "item"])
def test_hostile_content_that_is_not_named(odd: str, tmp_path: Path) -> None:
    mixed = schema_for("json").replace("visits[]", "visits[kind=x]")
    people = PLAIN.replace('"ward"', '"kind":"x","ward"')
    for format, schema, texts in (
        ("json", schema_for("json"), [PLAIN, PLAIN.replace("{", f'{{"odd":{odd},', 1)]),
        ("json", mixed, [people, people.replace('"kind"', f'"odd":{odd},"kind"')]),
        ("trees", schema_for("trees"), [TREE, TREE.replace("{", f'{{"odd":{odd},', 1)]),
    ):
        path = tmp_path / ("out.trees.jsonl" if format == "trees" else f"out.{format}")
        path.write_text(document(format, texts))
        assert "fields" in {one.kind for one in ta.verify(path, schema=schema, k=1).beyond}
    path = tmp_path / "out.json"
    path.write_text(document("json", [PLAIN] * 2).replace("{", f'{{"odd":{odd},', 1))
    assert "fields" in {one.kind for one in ta.verify(path, schema=schema_for("json"), k=1).beyond}

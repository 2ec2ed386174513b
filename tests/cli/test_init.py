from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest
from click.testing import CliRunner

import treeanon as ta
from tests.support.command_line import treeanon
from tests.support.paths import ROOT
from treeanon.cli.main import exit_code, main
from treeanon.errors import TreeanonError

SAMPLES = ROOT / "samples"


def run(*args, input=None):
    result = CliRunner().invoke(main, [*map(str, args)], input=input)
    if isinstance(result.exception, TreeanonError):
        result.exit_code = exit_code(result.exception)
    elif result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def init(source, folder, *args):
    """The schema that init writes, after converting the input by it."""
    target = folder / "schema.toml"
    done = run("init", source, "-o", target, "--force", *args)
    assert done.exit_code == 0, done.exception
    assert run("convert", source, "-s", target, "-o", folder / "out.trees.jsonl", "--force").exit_code == 0
    return ta.Schema.load(target)


def shapes(schema):
    slashed = schema.input.format == "xml"
    return {spec.name: (spec.path.text(slashed=slashed), spec.type, spec.role) for spec in schema.classes}


@pytest.mark.parametrize("name, example", [("patients.xml", "hospital-xml"), ("patients.ndjson", "hospital-json")])
def test_the_samples_get_the_classes_of_the_shipped_schemas(tmp_path, name, example):
    made = init(SAMPLES / name, tmp_path)
    shipped = ta.Schema.load(ROOT / "schemas" / f"{example}.toml")
    found = {path: (kind, role) for path, kind, role in shapes(made).values()}
    for path, kind, role in shapes(shipped).values():
        assert found[path] == (kind, role)
    hidden = {spec.name for spec in made.classes if not spec.published}
    assert hidden == {"ssn", "record", "name", "note"}
    assert made.input.keeps_objects and made.input.objects_open
    parents = [c.parent for c in made.merged.layout.classes]
    assert parents == [c.parent for c in shipped.merged.layout.classes]


def test_no_value_of_the_data_is_in_the_schema(tmp_path):
    text = run("init", SAMPLES / "patients.ndjson").stdout.lower()
    for line in (SAMPLES / "patients.ndjson").read_text().splitlines():
        record = json.loads(line)
        values = [record["ssn"], record["name"], record["zip"], *(v["hospital"] for v in record["visits"])]
        values += [d["name"] for v in record["visits"] for d in v["diagnoses"]]
        assert not [value for value in values if value.lower() in text]


def test_standard_output_is_the_schema_and_nothing_else():
    command = [sys.executable, "-m", "treeanon", "init", str(SAMPLES / "patients.xml")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "Persons: 1,000" in done.stderr
    assert treeanon("init", SAMPLES / "patients.xml", "--quiet").stderr == ""
    assert tomllib.loads(done.stdout)["input"] == {
        "format": "xml", "record": "patients/patient", "objects": "auto",
    }  # fmt: skip


def test_standard_input_and_compression(tmp_path):
    data = (SAMPLES / "patients.ndjson").read_bytes()
    done = treeanon("init", "-", input=data)
    assert done.returncode == 0
    (tmp_path / "p.ndjson.gz").write_bytes(gzip.compress(data))
    assert tomllib.loads(done.stdout) == tomllib.loads(run("init", tmp_path / "p.ndjson.gz").stdout)


def test_the_format_is_found_by_content(tmp_path):
    for name, form in (("patients.xml", "xml"), ("patients.ndjson", "ndjson")):
        shutil.copy(SAMPLES / name, tmp_path / "data.json" if form == "ndjson" else tmp_path / "data.bin")
    assert init(tmp_path / "data.bin", tmp_path).input.format == "xml"
    assert init(tmp_path / "data.json", tmp_path).input.format == "ndjson"
    (tmp_path / "data.txt").write_text("name;age\nx;5\n")
    assert run("init", tmp_path / "data.txt").exit_code == 3
    assert run("init", SAMPLES / "patients.xml", "--from", "toml").exit_code == 2


def test_trees_files_give_classes_and_their_order(tmp_path):
    trees = tmp_path / "p.trees.jsonl"
    shipped = ta.Schema.load(ROOT / "schemas" / "hospital-json.toml").with_objects("merged")
    ta.write(ta.read(SAMPLES / "patients.ndjson", shipped), trees)
    made = init(trees, tmp_path)
    under = {spec.name: spec.under for spec in made.classes}
    at_root = dict.fromkeys(["age", "sex", "zip", "hospital"], "/")
    assert under == at_root | {"date": "hospital", "diagnosis": "hospital", "treatment": "diagnosis"}


def bundle(number):
    def resource(kind, **fields):
        url = f"urn:uuid:{number:08d}-0000-4000-8000-000000000000"
        return {"fullUrl": url, "resource": {"resourceType": kind, **fields}}

    subject = {"reference": f"P/{number:06d}"}
    visits = [
        resource("Condition", id=f"c-{number}-{i}", code={"text": f"illness {i}"}, subject=subject)
        for i in range(number % 4)
    ]
    measured = [resource("Observation", value={"value": 3.5 * i, "unit": "mg"}, status="final") for i in range(3)]
    person = resource("Patient", id=f"{number:06d}", gender="fm"[number % 2], birthDate=f"19{number:02d}-03-04")
    person["resource"]["name"] = [{"family": f"Name{number}", "given": [f"G{number}"]}]
    return {"resourceType": "Bundle", "entry": [person, *visits, *measured]}


def test_bundles_are_told_apart_by_kind(tmp_path):
    folder = tmp_path / "bundles"
    folder.mkdir()
    for number in range(30):
        (folder / f"{number}.json").write_text(json.dumps(bundle(number)))
    schema = init(folder, tmp_path)
    assert schema.input.record.whole_file
    paths = {spec.path.text(slashed=False): spec for spec in schema.classes}
    gender = paths["entry[resource.resourceType=Patient].resource.gender"]
    assert gender.under is None and gender.role == "quasi"
    for withheld in ("Patient].resource.id", "Patient].resource.name[].family", "Condition].resource.id"):
        assert paths["entry[resource.resourceType=" + withheld].role == "identifier"
    assert paths["entry[resource.resourceType=Condition].resource.code.text"].role == "quasi"
    assert paths["entry[resource.resourceType=Condition].resource.subject.reference"].role == "identifier"
    assert paths["entry[resource.resourceType=Observation].resource.value.value"].type == "number"
    assert not any(path.endswith("resource.resourceType") for path in paths)


def test_a_zip_of_files_is_read_like_a_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        for number in range(5):
            archive.writestr(f"{number}.json", json.dumps(bundle(number)))
    assert len(init(tmp_path / "b.zip", tmp_path, "--sample", 3).classes) > 5


def test_namespaces_are_declared(tmp_path):
    people = "".join(f'<p xmlns:x="urn:x" x:w="{i % 3}"><h:sex>F</h:sex><x:u>u</x:u></p>' for i in range(5))
    (tmp_path / "p.xml").write_text(f'<ps xmlns="urn:d" xmlns:h="urn:h">{people}</ps>')
    schema = init(tmp_path / "p.xml", tmp_path)
    assert schema.input.namespaces == {"": "urn:d", "h": "urn:h", "x": "urn:x"}
    assert {path for path, _, _ in shapes(schema).values()} == {"@x:w", "h:sex", "x:u"}
    assert len(ta.read(tmp_path / "p.xml", schema)) == 5


def test_xml_kinds_by_a_code(tmp_path):
    section = '<section><code code="{0}"/><{1}><{2} v="x"/></{1}></section>'
    one = section.format("11450-4", "problem", "name") + section.format("8716-3", "vital", "pulse")
    (tmp_path / "p.xml").write_text("<all>" + f"<doc>{one}</doc>" * 4 + "</all>")
    schema = init(tmp_path / "p.xml", tmp_path)
    assert {path for path, _, _ in shapes(schema).values()} == {
        "section[code/@code=11450-4]/problem/name/@v",
        "section[code/@code=8716-3]/vital/pulse/@v",
    }


def test_xml_kinds_by_a_code_inside_a_wrapper(tmp_path):
    section = '<component><section><code code="{0}"/><{1}><{2} v="x"/></{1}></section></component>'
    one = section.format("11450-4", "problem", "name") + section.format("8716-3", "vital", "pulse")
    (tmp_path / "p.xml").write_text("<all>" + f"<doc>{one}</doc>" * 4 + "</all>")
    assert {path for path, _, _ in shapes(init(tmp_path / "p.xml", tmp_path)).values()} == {
        "component[section/code/@code=11450-4]/section/problem/name/@v",
        "component[section/code/@code=8716-3]/section/vital/pulse/@v",
    }


def test_arrays_of_scalars_and_arrays_in_arrays(tmp_path):
    lines = [{"tags": ["a", "b"], "grid": [[1, 2], [3]], "one": "x", "maybe": "y"}, {"tags": [], "maybe": ["y", "z"]}]
    (tmp_path / "p.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    paths = {path for path, _, _ in shapes(init(tmp_path / "p.ndjson", tmp_path)).values()}
    assert paths == {"tags[]", "grid[][]", "one", "maybe[]"}


def test_what_no_path_can_say_is_left_out_with_the_reason(tmp_path):
    lines = [{"a": 1, "b": 1, "c": [[1], 2], "d": "\0", "e": None}, {"a": 2, "b": {"x": 1}, "c": [], "e": ""}]
    (tmp_path / "p.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert set(shapes(init(tmp_path / "p.ndjson", tmp_path))) == {"a"}
    text = (tmp_path / "schema.toml").read_text()
    for told in ("# b: mixes values and objects", "# c: mixes", "# d: holds a NUL", "# e: always empty"):
        assert told in text


def test_maps_are_left_out_and_their_keys_not_shown(tmp_path):
    lines = [{"age": 5, "by_friend": {f"friend{i}{j}": 1 for j in range(3)}} for i in range(40)]
    lines[0]["log"] = {"2019-01-01": 1, "2019-01-02": 1, "2019-01-03": 2}
    (tmp_path / "p.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert set(shapes(init(tmp_path / "p.ndjson", tmp_path))) == {"age"}
    text = (tmp_path / "schema.toml").read_text()
    assert "by_friend" in text and "friend1" not in text and "2019" not in text


def test_the_record_path(tmp_path):
    document = {"meta": {"wards": [{"w": 1}]}, "data": {"people": [{"age": 1}, {"age": 2}]}}
    (tmp_path / "p.json").write_text(json.dumps(document))
    assert init(tmp_path / "p.json", tmp_path).input.record.names == ("data", "people")
    assert "'meta.wards[]' (1 items)" in (tmp_path / "schema.toml").read_text()
    assert set(shapes(init(tmp_path / "p.json", tmp_path, "--record", "meta.wards[]"))) == {"w"}
    assert init(tmp_path / "p.json", tmp_path, "--record", ".").input.record.whole_file
    assert run("init", tmp_path / "p.json", "--record", "data.nobody[]").exit_code == 3
    assert run("init", tmp_path / "p.json", "--record", "data").exit_code == 2
    assert run("init", SAMPLES / "patients.ndjson", "--record", "x[]").exit_code == 2


def test_the_record_element(tmp_path):
    wards, people = "<w n='1'/><w n='2'/>", "<p a='1'/><p a='2'/><p a='3'/>"
    (tmp_path / "p.xml").write_text(f"<db><wards>{wards}</wards><ps>{people}</ps></db>")
    assert init(tmp_path / "p.xml", tmp_path).input.record.names == ("db", "ps", "p")
    assert init(tmp_path / "p.xml", tmp_path, "--record", "db/wards/w").input.record.names == ("db", "wards", "w")
    (tmp_path / "p.xml").write_text("<patients><patient><visit d='1'/><visit d='2'/></patient></patients>")
    assert init(tmp_path / "p.xml", tmp_path).input.record.names == ("patients", "patient")
    (tmp_path / "p.xml").write_text("<patient><age>3</age></patient>")
    assert init(tmp_path / "p.xml", tmp_path).input.record.whole_file


def test_explain_and_json(tmp_path):
    target = tmp_path / "s.toml"
    done = run("init", SAMPLES / "patients.xml", "-o", target, "--json", "--explain", "--quiet")
    found = json.loads(done.stdout)
    assert found["record"] == "patients/patient" and found["records"] == 1000 and found["whole_input"]
    ages = next(each for each in found["classes"] if each["name"] == "age")
    assert ages["hierarchy"] == {"intervals": [5, 10, 20, 40], "min": 0, "max": 120}
    assert next(each for each in found["classes"] if each["name"] == "treatment")["under"] == "diagnosis"
    lines = done.stderr.splitlines()
    assert lines[0].split() == ["path", "type", "records", "distinct", "decision", "why"]
    assert len(lines) == 1 + len(found["classes"]) + len(found["left_out"])
    assert run("init", SAMPLES / "patients.xml", "--json").exit_code == 2


def test_the_sample_is_of_the_beginning_the_middle_and_the_end(tmp_path):
    text = run("init", SAMPLES / "patients.ndjson", "--sample", 50).stdout
    assert "50 of 1,000 records, from the beginning, middle and end" in text
    where = {"first": 0, "middle": 1000, "last": 1999}
    for ending, lead, between, end in (("ndjson", "", "\n", "\n"), ("json", "[", ",", "]")):
        rows = [{"age": n % 90} | {key: "x" for key, at in where.items() if abs(n - at) < 3} for n in range(2000)]
        (tmp_path / f"p.{ending}").write_text(lead + between.join(map(json.dumps, rows)) + end)
        found = json.loads(
            run("init", tmp_path / f"p.{ending}", "-o", tmp_path / "s", "--json", "--sample", 900, "--force").stdout
        )
        names = {each["name"] for each in found["classes"]}
        assert {"first", "last"} <= names and (found["records"], found["total"]) == (900, 2000)
        assert "middle" in names or ending == "ndjson"
    people = "".join(f"<p><a>{n % 90}</a>{'<late>x</late>' if n > 39_990 else ''}</p>" for n in range(40_000))
    (tmp_path / "p.xml").write_text(f"<ps>{people}{' ' * (5 << 20)}<p><later>y</later></p></ps>")
    found = json.loads(run("init", tmp_path / "p.xml", "-o", tmp_path / "s", "--json", "--force").stdout)
    assert {each["name"] for each in found["classes"]} == {"a", "late", "later"} and found["total"] == 40_001


def test_broken_lines_anywhere_are_told(tmp_path):
    (tmp_path / "p.ndjson").write_text('{"age": 1}\n' * 3 + "broken\n")
    assert run("init", tmp_path / "p.ndjson", "--sample", 3).exit_code == 3


def test_all_files_are_looked_at_or_it_is_said(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(20):
        (folder / f"{number:02d}.ndjson").write_text('{"age": 3}\n' * 30 + f'{{"only_in_{number}": "x"}}\n')
    done = run("init", folder, "-o", tmp_path / "s.toml", "--json")
    assert len(json.loads(done.stdout)["classes"]) == 21 and "ot looked at" not in done.stderr
    done = run("init", folder, "--sample", 5, "-o", tmp_path / "t.toml")
    assert "15 of 20 files were not looked at" in done.stderr


def test_an_existing_file_is_kept_without_force(tmp_path):
    target = tmp_path / "s.toml"
    target.write_text("mine")
    assert treeanon("init", SAMPLES / "patients.xml", "-o", target).returncode == 4
    assert target.read_text() == "mine"
    assert treeanon("init", SAMPLES / "patients.xml", "-o", target, "--force").returncode == 0


@pytest.mark.parametrize(
    "name, content, told",
    [
        ("p.ndjson", b"", "holds no record"),
        ("p.json", b"", "is empty"),
        ("p.json", b"[]", "array of objects"),
        ("p.json", b"[1, 2]", "array of objects"),
        ("p.json", b'{"secret": tru', "not valid JSON"),
        ("p.ndjson", b'{"a": 1}\n[1]\n', "line 2: an object is expected"),
        ("p.ndjson", b"{}\n{}\n", "could become a class"),
        ("p.ndjson", b"\xff\xfe{\0", "byte order mark"),
        ("p.xml", b"", "is empty"),
        ("p.xml", b"<a><b>secret</a>", "does not match"),
        ("p.xml", b'<!DOCTYPE a [<!ENTITY x "secret">]><a><b>&x;</b></a>', "DOCTYPE"),
        ("p.trees.jsonl", b'{"tree": {}}\n', "record 1: a tree is an array"),
    ],
)
def test_broken_input_is_told_without_its_values(tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)
    done = treeanon("init", tmp_path / name)
    assert done.returncode == 3 and done.stdout == ""
    assert told in done.stderr and "secret" not in done.stderr and "Traceback" not in done.stderr


def test_what_is_not_there_cannot_be_read(tmp_path):
    assert treeanon("init", tmp_path / "none.xml").returncode == 4

"""`treeanon init --preset`, and what is released by the schema that it writes, untouched."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from fhir.resources.R4B import get_fhir_model_class

import treeanon as ta
from tests.support.health_samples import Health
from treeanon.cli.main import main
from treeanon.errors import SchemaError, UsageError
from treeanon.infer.preset import schema_by_preset, values_at
from treeanon.io.beyond.look import look_beyond
from treeanon.schema.presets import preset_named, preset_names

PERSONS = 40


@pytest.fixture(scope="module")
def health() -> Health:
    return Health(persons=PERSONS, kilobytes=40)


@pytest.fixture(scope="module")
def folder(health: Health, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same persons as a folder of bundles, as lines of bundles, as an array of them, and as bulk data."""
    folder = tmp_path_factory.mktemp("health")
    (folder / "bundles").mkdir()
    (folder / "bulk").mkdir()
    texts = [json.dumps(bundle) for bundle in health.bundles()]
    for number, text in enumerate(texts):
        (folder / "bundles" / f"{number}.json").write_text(text)
    (folder / "bundles.ndjson").write_text("\n".join(texts) + "\n")
    (folder / "bundles.json").write_text("[" + ",".join(texts) + "]")
    rows: dict[str, list[str]] = {}
    for one in health.bulk():
        rows.setdefault(one["resourceType"], []).append(json.dumps(one))
    for kind, lines in rows.items():
        (folder / "bulk" / f"{kind}.ndjson").write_text("\n".join(lines) + "\n")
    return folder


def released(path: Path) -> list[str]:
    """Return the texts of the resources of a release."""
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    texts = []
    for file in files:
        if file.suffix == ".ndjson":
            texts += file.read_text().splitlines()
        else:
            value = orjson.loads(file.read_bytes())
            texts += [orjson.dumps(one).decode() for one in (value if isinstance(value, list) else [value])]
    return texts


@pytest.mark.parametrize("form", ["bundles", "bundles.ndjson", "bundles.json", "bulk"])
def test_from_init_to_a_checked_release(folder: Path, health: Health, tmp_path: Path, form: str) -> None:
    made = schema_by_preset("fhir-r4", folder / form)
    (path := tmp_path / "s.toml").write_text(made.text())
    schema = ta.Schema.load(path)
    assert schema.profile == "fhir-r4" and schema.input.keeps_objects
    release = ta.anonymize(ta.read(folder / form, schema), k=5, m=2, n=1)
    out = tmp_path / ("out" + Path(form).suffix)
    release.write(out)
    texts = released(out)
    for text in texts:
        value = orjson.loads(text)
        get_fhir_model_class(value["resourceType"]).model_validate(value)
    assert health.secrets.found_in("\n".join(texts)) == []
    assert health.secrets.found_in(made.text()) == []
    again = ta.read(out, schema)
    assert sorted(map(str, again.records())) == sorted(map(str, release.forest.records()))
    assert dict(look_beyond(out, schema, again).counts) == {}
    assert ta.verify(out, schema=schema, k=5, m=2, n=1).holds


def test_bundles_and_bulk_data_have_the_same_classes(folder: Path) -> None:
    names = [
        [table["name"] for table in schema_by_preset("fhir-r4", folder / form).classes] for form in ("bundles", "bulk")
    ]
    assert names[0] == names[1]
    assert "condition (icd10cm)" in names[0] and "condition (snomed)" not in names[0]
    # what does not occur is not in the schema
    assert "administration" not in names[0] and "dead" not in names[0]


def test_a_preset_alone_is_a_schema(folder: Path, tmp_path: Path) -> None:
    text = """
version = 1
use = ["fhir-r4"]
withhold = ["race", "condition (snomed)", "observation"]
[input]
format = "ndjson"
objects = "whole"
[[class]]
name = "gender"
path = "entry[resource.resourceType=Patient].resource.gender"
role = "keep"
"""
    schema = ta.Schema.loads(text)
    names = [spec.name for spec in schema.classes]
    assert names.count("gender") == 1 and schema.spec("gender").role == "keep"
    assert "race" not in names and "condition (icd10cm)" in names and "condition (snomed)" not in names
    assert not any(name.startswith("observation (") for name in names)
    assert schema.profile == "fhir-r4"
    assert ta.Schema.loads(text + "[output]\n").profile == ""
    release = ta.anonymize(ta.read(folder / "bundles.ndjson", schema), k=10, m=1, n=0)
    release.write(out := tmp_path / "out.ndjson")
    assert ta.verify(out, schema=schema, k=10, m=1, n=0).holds


def test_a_preset_beside_files_has_their_classes_alone() -> None:
    text = 'version = 1\nuse = ["fhir-r4"]\n[input]\nformat = "ndjson"\n[[file]]\nname = "Patient"\nperson = "id"\n'
    schema = ta.Schema.loads(text)
    assert {spec.path.steps[0].name for spec in schema.classes if spec.path} == {"Patient"}


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ('use = ["fhir"]', "unknown preset 'fhir'"),
        ('use = "fhir-r4"', "must be a list of names"),
        ('withhold = ["race"]', "only goes with use"),
        ('use = ["fhir-r4"]\nwithhold = ["rase"]', "did you mean 'race'"),
    ],
)
def test_what_cannot_be_used(head: str, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        ta.Schema.loads(f'version = 1\n{head}\n[input]\nformat = "ndjson"\n')
    with pytest.raises(SchemaError, match="is for formats json, ndjson, not for xml"):
        ta.Schema.loads('version = 1\nuse = ["fhir-r4"]\n[input]\nformat = "xml"\nrecord = "a/b"\n')


def test_every_preset_is_a_schema() -> None:
    for name in preset_names():
        preset = preset_named(name)
        assert preset.about and preset.classes
        for table in preset.classes:
            assert {"name", "path"} <= set(table)
            assert not preset.kinds or preset.kind_of(table) in preset.kinds


def coded(*codings: dict[str, str]) -> dict[str, object]:
    return {"resourceType": "Condition", "code": {"coding": list(codings)}}


def bundle(*resources: dict[str, object]) -> dict[str, object]:
    entries = [{"resource": one} for one in ({"resourceType": "Patient"}, *resources)]
    return {"resourceType": "Bundle", "entry": entries}


def schema_of(tmp_path: Path, *bundles: dict[str, object], **options: object) -> list[dict[str, object]]:
    (path := tmp_path / "in.ndjson").write_text("".join(json.dumps(one) + "\n" for one in bundles))
    return schema_by_preset("fhir-r4", path, **options).classes  # type: ignore[arg-type]


def test_code_systems_that_are_there(tmp_path: Path) -> None:
    icd = {"system": "http://hl7.org/fhir/sid/icd-10", "code": "J18.9"}
    own = {"system": "http://codes.example/x", "code": "1"}
    assert [one["name"] for one in schema_of(tmp_path, bundle(coded(icd, own)))] == ["condition (icd10)"]
    assert [one["name"] for one in schema_of(tmp_path, bundle(coded(icd), coded(own)))] == [
        "condition (icd10)",
        "condition (other 1)",
    ]
    (plain,) = schema_of(tmp_path, bundle(coded({"code": "1"})))
    assert plain["name"] == "condition" and plain["path"].endswith("coding[].code")  # type: ignore[attr-defined]


def test_a_terminology_is_given(tmp_path: Path) -> None:
    (tmp_path / "sct.csv").write_text("code,parent,name\n1,,All\n2,1,Some\n")
    sct = {"system": "http://snomed.info/sct", "code": "2"}
    (found,) = schema_of(tmp_path, bundle(coded(sct)), terminologies={"snomed": "sct.csv"})
    assert found["hierarchy"] == {"terminology": "sct.csv"} and found["on_unknown"] == "suppress"
    with pytest.raises(UsageError, match="unknown code system 'sct'"):
        schema_of(tmp_path, bundle(coded(sct)), terminologies={"sct": "sct.csv"})


def test_what_is_no_record_of_one_person(tmp_path: Path) -> None:
    two = bundle({"resourceType": "Patient"})
    with pytest.raises(UsageError, match="1 records in it have several entries of type Patient"):
        schema_of(tmp_path, two)
    with pytest.raises(UsageError, match="no record in it is a bundle"):
        schema_of(tmp_path, {"a": 1})
    with pytest.raises(UsageError, match="nothing in it is of preset"):
        schema_of(tmp_path, bundle())
    (path := tmp_path / "in.xml").write_text("<a><b>1</b><b>2</b></a>")
    with pytest.raises(UsageError, match="is for formats json, ndjson, not for xml"):
        schema_by_preset("fhir-r4", path)
    with pytest.raises(UsageError, match="unknown preset 'fhir'; choose from"):
        schema_by_preset("fhir", path)


def test_values_at_a_path() -> None:
    thing = {"a": [{"k": True, "b": [1, None]}, {"k": "y", "b": ["", {"c": 3}]}]}
    assert list(values_at(thing, "a[].b[]")) == [1]
    assert list(values_at(thing, "a[k=true].b[]")) == [1]
    assert list(values_at(thing, "a[].b[].c")) == [3]


def test_the_command(folder: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke(main, ["init", "--preset", "help"])
    assert run.exit_code == 0 and "fhir-r4: FHIR R4" in run.output
    out = str(tmp_path / "s.toml")
    run = CliRunner().invoke(main, ["init", str(folder / "bulk"), "--preset", "fhir-r4", "-o", out, "--json"])
    assert run.exit_code == 0 and "files that the preset leaves out: CareTeam, Claim" in run.output
    assert ta.Schema.load(out).files[0].name == "Patient"
    for wrong in (
        ["init"],
        ["init", str(folder / "bulk"), "--terminology", "snomed=x"],
        ["init", str(folder / "bulk"), "--preset", "fhir-r4", "--terminology", "snomed"],
        ["init", str(folder / "bulk"), "--preset", "fhir-r4", "--publish", "note"],
    ):
        assert CliRunner().invoke(main, wrong).exit_code == 2


@pytest.mark.parametrize("form", ["bundles.ndjson", "bulk"])
def test_keys_to_encounters_are_there_to_be_taken(folder: Path, tmp_path: Path, form: str) -> None:
    text = schema_by_preset("fhir-r4", folder / form).text()
    keyed = text.replace("# [[key]]", "[[key]]").replace("# from =", "from =").replace("# to =", "to =")
    schema = ta.Schema.loads(keyed)
    assert len(schema.references) + len(schema.file_keys) == 4
    release = ta.anonymize(ta.read(folder / form, schema), k=5, m=1, n=0)
    out = tmp_path / ("out" + Path(form).suffix)
    release.write(out)
    for resource in released(out):
        value = orjson.loads(resource)
        get_fhir_model_class(value["resourceType"]).model_validate(value)
    assert ta.verify(out, schema=schema, k=5, m=1, n=0).holds
    assert '"encounter":{"reference":' in "".join(released(out))

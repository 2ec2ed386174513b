"""What is withheld by name or shape, what is not, how the owner takes a field back, and which records are looked at."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support import health_data, shop_data
from treeanon.cli.main import exit_code, main
from treeanon.errors import UsageError
from treeanon.infer import propose, render_schema
from treeanon.infer.sampling import Spread, spread
from treeanon.infer.secrets import secret_name, secret_shape, words

SECRET = """
patient.name doctor.full_name staff.password customer.pwd_hash user.apiToken visits.attending visits.performed_by
gp_name guardian.names.given next_of_kin emergency_contact.name contact.homePhone e-mail BillingAddress address.line
lastLogin.ip photo.data creditCardNumber iban iban_2 remark visit.notes section.text text.div subject.reference
identifier.value practitioner.name.text author.name MothersMaidenName geo.lat SSN mrn nameOfDoctor.name
patient.telecom.value
"""
PUBLIC = """
hospital.name ward.name city country card_type has_phone emailVerified diagnosis.code.text photo_count note_type
department film.title genre.name address.city address.postal_code age sex condition.display hashtag_count income
cellType.result
"""


def why(path: str, *siblings: str) -> str:
    labels = [tuple(words(name)) for name in path.split(".")]
    return secret_name(labels, siblings, of_record=False, shared=False)


@pytest.mark.parametrize("path", SECRET.split())
def test_secrets_by_name(path: str) -> None:
    assert why(path)


@pytest.mark.parametrize("path", PUBLIC.split())
def test_no_secrets_by_name(path: str) -> None:
    assert not why(path)


def test_what_stands_beside_counts() -> None:
    assert why("subject.display", "reference") and not why("subject.display", "code")
    assert why("thing.name.text", "family") and not why("thing.name.text", "code")


SHAPES = """
a.b@c.example\nhttps://x.example/1\n+49 30 1234567\n123-45-6789\n10.0.0.1\nda39a3ee5e6b4b0d3255bfef95601890afd80709
$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy\n4111 1111 1111 1111\nDr. Ann Example
DE89 3704 0044 0532 0130 00
"""


@pytest.mark.parametrize("text", SHAPES.strip().split("\n"))
def test_secrets_by_shape(text: str) -> None:
    assert secret_shape([text, *(f"word {n}" for n in range(8))], 9)
    assert not secret_shape([text, *(f"word {n}" for n in range(99))], 100)


@pytest.mark.parametrize("text", ["2.16.840.1", "8302-2", "44054006", "2020-01-31", "Asthma", "E11.9", "1.5", "true"])
def test_no_secrets_by_shape(text: str) -> None:
    assert not secret_shape([text], 9)


def test_addresses_that_repeat_name_systems_of_codes() -> None:
    assert not secret_shape(["http://loinc.org", "http://snomed.info/sct"], 400)
    assert secret_shape([f"http://x.example/{n}" for n in range(40)], 40)


def lines(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def roles(path: Path, **options: object) -> dict[str, str]:
    return {found.name: found.role for found in propose(path, **options).classes}


def test_the_number_of_values_does_not_matter(tmp_path: Path) -> None:
    records = [{"doctor": {"name": "AB"[n % 2]}, "email": "one", "sex": "fm"[n % 2]} for n in range(60)]
    found = roles(lines(tmp_path / "p.ndjson", records))
    assert found == {"doctor": "identifier", "email": "identifier", "sex": "quasi"}


def test_an_identifier_of_a_house_is_one_at_few_values(tmp_path: Path) -> None:
    records = [{"house": {"id": {"root": "2.16.840", "extension": str(9_000 + n % 2)}}} for n in range(60)]
    found = roles(lines(tmp_path / "p.ndjson", records))
    assert found["extension"] == "identifier" and found.get("root") != "identifier"


def test_ids_that_look_like_numbers(tmp_path: Path) -> None:
    records = [
        {"seq": n, "age": 20 + n % 50, "visits": [{"pos": 3 * n + i, "cost": i} for i in range(3)]} for n in range(60)
    ]
    found = roles(lines(tmp_path / "p.ndjson", records))
    assert found == {"seq": "identifier", "age": "quasi", "pos": "identifier", "cost": "quasi"}


def test_days_of_birth_become_years_first(tmp_path: Path) -> None:
    records = [{"birthDate": f"19{n:02d}-01-02", "seen": f"20{n % 20:02d}-01-02"} for n in range(30, 70)]
    found = {each.name: each.hierarchy for each in propose(lines(tmp_path / "p.ndjson", records)).classes}
    assert found["birthDate"] == {"dates": ["year", "decade"]} and found["seen"] != found["birthDate"]


def test_publish_takes_a_field_back(tmp_path: Path) -> None:
    source = lines(tmp_path / "p.ndjson", [{"city": "x", "staff": {"name": "ab"[n % 2]}} for n in range(40)])
    assert roles(source)["staff"] == "identifier"
    for field in ("staff", "staff.name"):
        done = CliRunner().invoke(main, ["init", str(source), "--publish", field])
        assert done.exit_code == 0
        assert "PUBLISHED BECAUSE --publish NAMES IT: it is the name of a person." in done.stdout
        assert "Published because you ask for it: staff" in done.stderr
    with pytest.raises(UsageError, match="--publish: there is no field 'stuff'; did you mean 'staff'"):
        propose(source, publish=["stuff"])
    done = CliRunner().invoke(main, ["init", str(source), "--publish", "zzz"])
    assert exit_code(done.exception) == 2


def test_all_rows_show_what_the_sample_does_not(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    code = [f"a{n}@post.example" if n % 3 == 1 and 20 < n < 40 else f"k{n % 7}" for n in range(60)]
    path.write_text("code,sex\n" + "".join(f"{text},{'fm'[n % 2]}\n" for n, text in enumerate(code)))
    assert roles(path, sample=9) == {"code": "identifier", "sex": "quasi"}


def test_views_are_left_out_unless_named(tmp_path: Path) -> None:
    source = next(make for name, make in shop_data.generators() if name == "rental sqlite")(tmp_path)[0]
    left = {each.path: each.why for each in propose(source).left_out}
    assert left["customer_list"].startswith("a view")
    named = propose(source, record="customer_list")
    assert named.sample.record is not None and named.sample.record.names == ("customer_list",)


def test_keys_by_values_of_columns_named_after_no_table(tmp_path: Path) -> None:
    source = next(make for name, make in shop_data.generators() if name == "shop folder")(tmp_path)[0]
    keys = propose(source).sample.keys
    assert keys is not None
    found = {str(key): why for key, why in keys.found}
    assert "the name does not say it, but all 60" in found["Customer.SupportRepId -> Employee.EmployeeId"]


@given(st.integers(0, 60), st.integers(1, 20))
def test_spread_of_a_stream(count: int, most: int) -> None:
    stream: Spread[int] = Spread(most)
    for number in range(count):
        stream.add(number)
    kept, known = stream.all(), spread(count, most)
    for found in (kept, known):
        assert found == sorted(set(found)) and len(found) == min(count, most)
    first, last = -(-most // 3), most // 3
    if count > most:
        assert kept[:first] == known[:first] == list(range(first))
        assert kept[len(kept) - last :] == list(range(count - last, count))


def test_columns_of_extracts_that_are_parts_of_names() -> None:
    assert why("patients.FIRST") and why("LAST") and why("patients.PREFIX", "First", "Last") and why("title", "LAST")
    assert not why("observations.prefix", "code") and not why("film.title", "year") and not why("visits.first_seen")


def test_ids_that_repeat_are_withheld_by_their_shape() -> None:
    """Of encounters in a file of conditions; codes of many digits are none."""
    assert secret_shape(["9f86d081884c7d65", "60303ae22b998861"], 9)
    assert not secret_shape(["1234567890123456", "44054006"], 9)


def test_bulk_export_becomes_files_of_persons(tmp_path: Path) -> None:
    source = next(make for name, make in health_data.generators() if name == "bulk export")(tmp_path)[0]
    found = propose(source)
    assert found.sample.format == "ndjson"
    persons = {each.name: each.person.text(slashed=False) for each in found.files}
    assert next(iter(persons)) == "Patient" and persons["Patient"] == "id"
    assert persons["Condition"] == "subject.reference" and persons["Claim"] == "patient.reference"
    assert not {"Practitioner", "Organization"} & persons.keys()
    keys = {(key.file, key.target, key.path.text(slashed=False)) for key in found.file_keys}
    assert ("Condition", "Encounter", "encounter.reference") in keys
    facets = {each.name: set(each.facets) for each in found.classes if each.facets}
    assert facets["Condition_code"] == {"display", "text"}
    schema = ta.Schema.loads(render_schema(found))
    assert len(ta.read(source, schema)) == 60
    left = {each.path: each.why for each in found.left_out}
    assert left["Practitioner"] == "no field of these files says whose a row is"


KINDS = {
    "Patient": [{"id": f"p{n}", "sex": "mf"[n % 2], "where": [{"city": "UBK"[n % 3]}]} for n in range(40)],
    "Visit": [
        {"id": f"v{n}", "who": {"reference": f"Patient/p{n % 40}"}, "codes": [{"code": "XYZ"[n % 3]}]}
        for n in range(90)
    ],
    "Drug": [
        {"who": {"reference": f"p{n % 40}"}, "visit": {"reference": f"Visit/v{n % 80}"}, "codes": ["abc"[n % 3]]}
        for n in range(160)
    ],
}


@pytest.mark.parametrize("form", ["ndjson", "json", "yaml", "yaml-stream", "parquet"])
def test_files_of_several_kinds_of_any_format(tmp_path: Path, form: str) -> None:
    """The unedited schema is a release of persons, whose ids are nowhere."""
    source = tmp_path / "in"
    source.mkdir()
    for name, rows in KINDS.items():
        match form:
            case "ndjson":
                (source / f"{name}.ndjson").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
            case "json":
                (source / f"{name}.json").write_text(json.dumps(rows, indent=1))
            case "yaml":
                (source / f"{name}.yaml").write_text(yaml.safe_dump(rows))
            case "yaml-stream":
                (source / f"{name}.yaml").write_text(yaml.safe_dump_all(rows))
            case _:
                pq.write_table(pa.Table.from_pylist(rows), source / f"{name}.parquet")
    found = propose(source)
    assert (found.sample.format, [each.name for each in found.files]) == (form, ["Patient", "Drug", "Visit"])
    assert [(key.file, key.target) for key in found.file_keys] == [("Drug", "Visit")]
    schema = ta.Schema.loads(render_schema(found))
    assert {each.path.text(slashed=False) for each in found.classes if each.path and each.published} == {
        "Patient.sex",
        "Patient.where[].city",
        "Visit.codes[].code",
        "Drug.codes[]",
    }
    release = ta.anonymize(source, schema=schema, k=3, m=1, n=0)
    release.write(tmp_path / "out/")
    assert ta.verify(tmp_path / "out", schema=schema, k=3, m=1, n=0).holds
    zipped = shutil.make_archive(str(tmp_path / "zipped"), "zip", source)
    assert [each.name for each in propose(zipped).files] == ["Patient", "Drug", "Visit"]


def test_documents_of_one_person_each_are_no_kinds(tmp_path: Path) -> None:
    for name in ("anna", "bert", "cleo"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"visits": [{"ward": "W"}]}))
    found = propose(tmp_path)
    assert not found.files and found.sample.record is not None and found.sample.record.whole_file

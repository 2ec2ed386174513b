"""Releases of C-CDA documents: valid by structural rules of our own, read again as published, and without a secret."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

import treeanon as ta
from tests.support.c_cda_rules import problems_of
from tests.support.command_line import treeanon
from tests.support.health_samples import Health
from treeanon.errors import DataError
from treeanon.forest.facets import with_facets
from treeanon.io.interface import writer_of
from treeanon.io.profiles.c_cda import CODEC, from_hl7, to_hl7


def run(*arguments: object, code: int = 0) -> str:
    done = treeanon(*map(str, arguments))
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@dataclass(frozen=True)
class Made:
    """The generator, its documents, the schema that the preset makes of them, and a release."""

    health: Health
    source: Path
    schema: Path
    release: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("c-cda")
    health = Health(persons=40, kilobytes=30)
    made = Made(health, health.write_documents(folder / "in"), folder / "schema.toml", folder / "out")
    run("init", made.source, "--preset", "c-cda", "-o", made.schema)
    run("anonymize", made.source, "-s", made.schema, "-k", 3, "-m", 1, "-o", made.release)
    return made


def documents(folder: Path) -> list[etree._Element]:
    return [etree.parse(str(path)).getroot() for path in sorted(folder.iterdir())]


def test_the_generator_and_the_release_keep_the_rules(made: Made) -> None:
    for folder in (made.source, made.release):
        found = [problem for document in documents(folder) for problem in problems_of(document)]
        assert not found, sorted(set(found))


def test_the_release_is_verified_and_tells_no_secret(made: Made) -> None:
    health, release = made.health, made.release
    run("verify", release, "-s", made.schema, "-k", 3, "-m", 1)
    text = "\n".join(path.name + path.read_text() for path in release.iterdir())
    # zips and towns are not told either, and no time but for its year
    assert health.secrets.found_in(text) == []
    assert not [day for day in health.secrets.kinds["day"] if day.replace("-", "") in text]


def test_the_preset_takes_what_occurs_and_prefers_codes_that_have_a_hierarchy(made: Made, tmp_path: Path) -> None:
    schema = ta.Schema.load(made.schema)
    names = {spec.name for spec in schema.classes}
    assert {"problem (icd10cm)", "drug (atc)", "smoking", "vital sign value"} <= names
    assert not {"problem", "drug", "encounter diagnosis"} & names
    (tmp_path / "in").mkdir()
    for path in made.source.iterdir():
        plain = re.sub(r"<translation [^>]*/>", "", path.read_text())
        (tmp_path / "in" / path.name).write_text(plain)
    run("init", tmp_path / "in", "--preset", "c-cda", "-o", tmp_path / "s.toml")
    names = {spec.name for spec in ta.Schema.load(tmp_path / "s.toml").classes}
    assert {"problem", "drug", "encounter diagnosis"} <= names and "drug (atc)" not in names


def test_a_schema_can_use_the_preset_and_withhold_classes_of_it() -> None:
    spaces = 'namespaces = { "" = "urn:hl7-org:v3", sdtc = "urn:hl7-org:sdtc", xsi = "' + XSI + '" }'
    text = f'version = 1\nuse = ["c-cda"]\nwithhold = ["race"]\n[input]\nformat = "xml"\nrecord = "."\n{spaces}\n'
    schema = ta.Schema.loads(
        text + '[[class]]\nname = "born"\npath = "recordTarget/patientRole/patient/birthTime/@value"'
    )
    names = [spec.name for spec in schema.classes]
    assert schema.profile == "c-cda" and "race" not in names and "problem (icd10cm)" in names
    assert schema.spec("born").type == "text"


def test_codes_and_their_names_survive(made: Made) -> None:
    codes = {value.get("code") for one in documents(made.release) for value in one.iter("{*}translation")}
    assert len(codes) > 3
    assert any(value.get("displayName") for one in documents(made.release) for value in one.iter("{*}code"))


def test_what_is_added_to_a_release_is_found(made: Made, tmp_path: Path) -> None:
    text = next(made.release.iterdir()).read_text()
    for number, changed in enumerate((
        text.replace("<title>Anonymized summary<", "<title>Summary of a person<"),
        text.replace('<telecom nullFlavor="MSK"/>', '<telecom value="tel:1"/>', 1),
        text.replace("<entry>", "<entry><!-- somebody -->", 1),
    )):  # fmt: skip
        assert changed != text
        folder = tmp_path / str(number)
        folder.mkdir()
        for path in made.release.iterdir():
            (folder / path.name).write_text(path.read_text())
        (folder / path.name).write_text(changed)
        assert "Does not hold" in run("verify", folder, "-s", made.schema, "-k", 3, "-m", 1, code=1)


XSI = "http://www.w3.org/2001/XMLSchema-instance"
HEAD = "component/structuredBody/component[section/code/@code=11450-4]/section/entry[]/act/"
labels = st.one_of(
    st.sampled_from(["*", "2010s", "2019", "2019-03", "20190304", "J00-J99 Lungs", "E11.9", "?>", "[1, 5)"]),
    st.dates().map(lambda day: day.isoformat()),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"]), min_size=1, max_size=5),
).filter(str.strip)  # fmt: skip
SMALL = f"""
version = 1
[input]
format = "xml"
record = "."
objects = "whole"
[input.namespaces]
"" = "urn:hl7-org:v3"
sdtc = "urn:hl7-org:sdtc"
xsi = "http://www.w3.org/2001/XMLSchema-instance"
[output]
profile = "c-cda"
[[class]]
name = "born"
path = "recordTarget/patientRole/patient/birthTime/@value"
[[class]]
name = "state"
path = "recordTarget/patientRole/addr[]/state"
[[class]]
name = "status"
path = "{HEAD}statusCode/@code"
[[class]]
name = "problem"
path = "{HEAD}entryRelationship[]/observation/value/translation[@codeSystem=1.2]/@code"
[[class]]
name = "since"
path = "{HEAD}entryRelationship[]/observation/effectiveTime/low/@value"
[[class]]
name = "amount"
path = "component/structuredBody/component[section/code/@code=8716-3]/section/entry[]/organizer/component[]/observation/value/@value"
[[class]]
name = "taken"
path = "component/structuredBody/component[section/code/@code=10160-0]/section/entry[]/substanceAdministration/effectiveTime[@xsi:type=IVL_TS]/low/@value"
"""  # noqa: E501


def tree_of(labels: list[str]) -> str:
    """A canonical record with a label in each place, or with none where it is empty."""
    born, state, status, problem, since, amount, taken = (label.replace("&", "").replace("<", "") for label in labels)

    def given(name: str, text: str, *, attribute: str = "value") -> str:
        escaped = text.replace('"', "&quot;")
        return f'<{name} {attribute}="{escaped}"/>' if text else ""

    code = ' code="{}"'.format(problem.replace('"', "&quot;")) if problem else ""
    problems = (
        f"<entry><act>{given('statusCode', status, attribute='code')}<entryRelationship><observation>"
        + (f"<effectiveTime>{given('low', since)}</effectiveTime>" if since else "")
        + f'<value><translation codeSystem="1.2"{code}/></value></observation></entryRelationship></act></entry>'
    )
    vital = f"<component><observation>{given('value', amount)}</observation></component>"
    vital = f"<entry><organizer>{vital}</organizer></entry>"
    drug = f'<entry><substanceAdministration><effectiveTime xsi:type="IVL_TS">{given("low", taken)}</effectiveTime></substanceAdministration></entry>'  # noqa: E501
    parts = "".join(
        f'<component><section><code code="{number}"/>{entry}</section></component>'
        for number, entry in (("11450-4", problems), ("8716-3", vital), ("10160-0", drug))
    )
    patient = f"<patient>{given('birthTime', born)}</patient>" if born else ""
    return (
        f"<ClinicalDocument><recordTarget><patientRole><addr>{f'<state>{state}</state>' if state else ''}</addr>"
        f"{patient}</patientRole></recordTarget><component><structuredBody>{parts}</structuredBody></component>"
        "</ClinicalDocument>"
    )


@given(st.lists(st.one_of(labels, st.just("")), min_size=7, max_size=7))
def test_every_label_comes_back_and_every_document_keeps_the_rules(found: list[str]) -> None:
    schema = ta.Schema.loads(SMALL)
    document = writer_of("xml").document(schema)
    canonical = tree_of(found)
    written = document.single(CODEC.encode(canonical, 7, ""))
    assert not list(problems_of(etree.fromstring(written.encode())))
    before = ta.read(_file(document.single(canonical)), schema)
    assert before.report is not None and not before.report.dropped.total()
    after = ta.read(_file(written), schema)
    assert after == before and after.report is not None and not after.report.dropped.total()
    again = writer_of("xml").texts(with_facets(after), schema).records(after)
    assert document.single(CODEC.encode(again[0], 7, "")) == document.single(
        CODEC.encode(writer_of("xml").texts(with_facets(before), schema).records(before)[0], 7, "")
    )


def _file(text: str) -> Path:
    from tests.support.paths import new_path

    path = new_path("document", ".xml")
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("hl7", "iso"),
    [
        ("2019", "2019"), ("201903", "2019-03"), ("20190304", "2019-03-04"), ("2019030410", "2019-03-04T10"),
        ("201903041021", "2019-03-04T10:21"), ("20190304102105.25-0500", "2019-03-04T10:21:05.25-05:00"),
        ("201903041021+01", "2019-03-04T10:21+01"),
    ],
)  # fmt: skip
def test_times_are_written_in_both_ways(hl7: str, iso: str) -> None:
    assert from_hl7(hl7) == iso and to_hl7(iso) == hl7


def test_documents_of_others_keep_all_but_the_spelling_of_times() -> None:
    document = (
        b'<ClinicalDocument xmlns="urn:hl7-org:v3"><title>A</title><effectiveTime value="201903"/>'
        b'<value value="201903"/></ClinicalDocument>'
    )
    assert CODEC.decode(document).endswith(document.replace(b'Time value="201903"', b'Time value="2019-03"'))
    for broken in (b"<ClinicalDocument", b'<!DOCTYPE x [<!ENTITY a "b">]><x xmlns="urn:hl7-org:v3">&a;</x>'):
        assert CODEC.decode(broken) == broken


def test_elements_that_the_profile_makes_are_no_classes() -> None:
    with pytest.raises(DataError, match="makes the element title itself"):
        CODEC.encode("<ClinicalDocument><title>x</title></ClinicalDocument>", 1, "")
    with pytest.raises(DataError, match="a section has a code that the profile"):
        CODEC.encode(
            "<ClinicalDocument><component><structuredBody><component><section><code code='1'/></section></component>"
            "</structuredBody></component></ClinicalDocument>", 1, "",
        )  # fmt: skip

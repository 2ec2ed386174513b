"""FHIR as XML: kinds of resources told apart by the names of elements, references tied to objects and written fresh."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from lxml import etree

import treeanon as ta
from treeanon.cli.main import main
from treeanon.errors import SchemaError
from treeanon.io.beyond.look import look_beyond
from treeanon.schema.dump import dump_schema

FHIR = "{http://hl7.org/fhir}"


def at(kind: str, path: str) -> str:
    return f"entry[resource/*={kind}]/{path.replace('.', f'resource/{kind}')}"


CLASSES = {
    "gender": at("Patient", "./gender/@value"),
    "class": at("Encounter", "./class/code/@value"),
    "ill": at("Condition", "./code/coding[]/code/@value"),
    "drug": at("MedicationRequest", "./contained[]/Medication/code/text/@value"),
    "dose": at("MedicationRequest", "./dose/@value"),
}
KEYS = {
    at("Condition", "./encounter/reference/@value"): at("Encounter", "fullUrl/@value"),
    at("Condition", "./subject/reference/@value"): at("Patient", "./id/@value"),
    at("MedicationRequest", "./medication/reference/@value"): at(
        "MedicationRequest", "./contained[]/Medication/id/@value"
    ),
}


def toml(keys: dict[str, str] = KEYS, more: str = "") -> str:
    lines = ["version = 1", "[input]", 'format = "xml"', 'record = "Bundles/Bundle"']
    lines += [f'namespaces = {{ "" = "{FHIR[1:-1]}" }}', more]
    for source, target in keys.items():
        lines += ["[[key]]", f'from = "{source}"', f'to = "{target}"']
        lines += ["inside = false"] if "encounter" not in source else []
    for name, path in CLASSES.items():
        lines += ["[[class]]", f'name = "{name}"', f'path = "{path}"']
    return "\n".join(lines)


def schema() -> ta.Schema:
    return ta.Schema.loads(toml())


def entry(kind: str, called: str, content: str) -> str:
    id = f'<id value="{called}"/>'
    return f'<entry><fullUrl value="urn:uuid:{called}"/><resource><{kind}>{id}{content}</{kind}></resource></entry>'


def to(field: str, name: str) -> str:
    return f'<{field}><reference value="{name}"/></{field}>'


def coding(*codes: str) -> str:
    return "<code>" + "".join(f'<coding><code value="{code}"/></coding>' for code in codes) + "</code>"


def bundle(*more: str) -> str:
    medication = (
        '<contained><Medication><id value="med"/><code><text value="Ibuprofen"/></code></Medication></contained>'
    )
    subject = to("subject", "Patient/p-4711")
    entries = [
        entry("Patient", "p-4711", '<gender value="female"/>'),
        entry("Encounter", "e-4711", '<class><code value="AMB"/></class>' + to("partOf", "urn:uuid:f-4711")),
        entry("Encounter", "f-4711", '<class><code value="IMP"/></class>' + to("partOf", "urn:uuid:e-4711")),
        entry("Condition", "c-4711", coding("E11", "44") + subject + to("encounter", "urn:uuid:f-4711")),
        entry("Condition", "d-4711", coding("J45") + subject + to("encounter", "Group/e-4711")),
        entry("MedicationRequest", "m-4711", medication + to("medication", "#med") + '<dose value="2"/>'),
        entry("Organization", "o-4711", '<name value="X"/>'),
    ]  # fmt: skip
    return f"<Bundle>{''.join([*entries, *more])}</Bundle>"


def document(path: Path, *bundles: str) -> Path:
    path.write_text(f'<Bundles xmlns="{FHIR[1:-1]}">{"".join(bundles)}</Bundles>')
    return path


def resources(record: etree._Element, kind: str) -> list[etree._Element]:
    return list(record.iterfind(f"{FHIR}entry/{FHIR}resource/{FHIR}{kind}"))


def value(element: etree._Element, path: str) -> str | None:
    found = element.find("/".join(FHIR + name if name != ".." else name for name in path.split("/")))
    return None if found is None else found.get("value")


def full_url(resource: etree._Element) -> str | None:
    return value(resource, "../../fullUrl")


def test_a_bundle_points_where_it_pointed(tmp_path: Path) -> None:
    """Circles of encounters are not read, a group is no encounter, and contained resources are referred to."""
    forest = ta.read(document(tmp_path / "in.xml", *[bundle()] * 3), schema())
    assert forest.report is not None
    counts = forest.report.as_dict()
    assert counts["dangling_references"] == {next(iter(KEYS)): 3}
    assert "references_not_written" not in counts
    ta.anonymize(forest, k=3, m=2, n=1).write(tmp_path / "out.xml")
    assert "4711" not in (tmp_path / "out.xml").read_text()
    assert ta.read(tmp_path / "out.xml", schema()) == forest
    records = list(etree.parse(tmp_path / "out.xml").getroot())
    assert len(records) == 3
    for record in records:
        (patient,) = resources(record, "Patient")
        by_class = {value(one, "class/code"): one for one in resources(record, "Encounter")}
        sugar, asthma = sorted(resources(record, "Condition"), key=lambda one: -len(one.findall(f".//{FHIR}coding")))
        (request,) = resources(record, "MedicationRequest")
        assert value(sugar, "encounter/reference") == full_url(by_class["IMP"])
        assert value(sugar, "subject/reference") == value(asthma, "subject/reference")
        assert value(sugar, "subject/reference") == f"Patient/{value(patient, 'id')}"
        assert value(asthma, "encounter/reference") is None and full_url(by_class["AMB"]) is None
        assert value(request, "medication/reference") == f"#{value(request, 'contained/Medication/id')}"
    verified = CliRunner().invoke(main, ["verify", *_arguments(tmp_path)])
    assert "Does not hold" not in verified.output


def _arguments(folder: Path) -> list[str]:
    (folder / "schema.toml").write_text(toml())
    return [str(folder / "out.xml"), "-s", str(folder / "schema.toml"), "-k", "3", "-m", "2", "-n", "1"]


CHANGES = {
    "an id that nothing refers to": ("<gender", '<identifier value="9"/><gender'),
    "a resource of another kind": ("<Bundle>", "<Bundle>" + entry("Group", "g", "")),
    "two resources in one entry": ("</Patient>", '</Patient><Encounter><class><code value="AMB"/></class></Encounter>'),
    "a reference to nothing": ("urn:uuid:0", "urn:uuid:f"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_verify_sees_what_is_more(tmp_path: Path, change: str) -> None:
    ta.write(ta.read(document(tmp_path / "in.xml", *[bundle()] * 3), schema()), tmp_path / "out.xml")
    text = (tmp_path / "out.xml").read_text()
    assert CHANGES[change][0] in text
    (tmp_path / "out.xml").write_text(text.replace(*CHANGES[change], 1))
    assert "Does not hold" in CliRunner().invoke(main, ["verify", *_arguments(tmp_path)]).output


@pytest.mark.parametrize("name", ["out.xml", "out.ndjson", "out.json", "out.trees.jsonl"])
def test_every_format_gives_the_same_objects(tmp_path: Path, name: str) -> None:
    """The name of the element is a field of JSON; an entry of which nothing is published keeps its kind."""
    bare = entry("Condition", "x", to("subject", "Patient/p-4711"))
    forest = ta.read(document(tmp_path / "in.xml", bundle(), bundle(bare), "<Bundle/>"), schema())
    ta.write(forest, tmp_path / name)
    own = schema().for_format(name.partition(".")[2].replace("trees.jsonl", "trees"))
    again = ta.read(tmp_path / name, own)
    assert again == forest
    if "trees" not in name:
        assert not look_beyond(tmp_path / name, own, again).counts


def test_the_first_element_says_the_kind(tmp_path: Path) -> None:
    ill = '<code><text value="flu"/></code>'
    both = entry("Patient", "q", "").replace("</Patient>", f"</Patient><Condition>{ill}</Condition>")
    kind = "entry[resource/*=Condition]/resource/Condition/code/text/@value"
    own = ta.Schema.loads(toml({}).partition("[[class]]")[0] + f'[[class]]\nname = "ill"\npath = "{kind}"\n')
    forest = ta.read(document(tmp_path / "in.xml", f"<Bundle>{both}{entry('Condition', 'c', ill)}</Bundle>"), own)
    ta.write(forest, tmp_path / "out.xml")
    assert (tmp_path / "out.xml").read_text().count("<resource><Condition") == 1


def test_schemas_with_kinds_of_elements(tmp_path: Path) -> None:
    again = ta.Schema.loads(dump_schema(schema()))
    assert again.references == schema().references
    assert [spec.path for spec in again.classes] == [spec.path for spec in schema().classes]
    for wrong in ("1st", "a:Condition"):
        with pytest.raises(SchemaError):
            ta.Schema.loads(toml().replace("*=Condition", f"*={wrong}"))

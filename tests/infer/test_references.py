"""init finds references inside documents, and proposes keys that a release can be made by."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import treeanon as ta
from treeanon.infer import propose
from treeanon.infer.render import render_schema


def bundle(number: int, draw: random.Random) -> dict[str, Any]:
    def entry(kind: str, called: str, **fields: Any) -> dict[str, Any]:
        address = f"urn:uuid:{called}-{number}"
        return {"fullUrl": address, "resource": {"resourceType": kind, "id": f"{called}-{number}", **fields}}

    def to(called: str) -> dict[str, str]:
        return {"reference": f"urn:uuid:{called}-{number}"}

    entries = [entry("Patient", "p", gender=draw.choice(["male", "female"]))]
    for at in range(draw.randint(1, 3)):
        kind = {"class": {"code": draw.choice(["AMB", "IMP"])}}
        entries.append(
            entry("Encounter", f"e{at}", status=draw.choice(["finished", "planned"]), subject=to("p"), **kind)
        )
        for more in range(draw.randint(1, 2)):
            fields = {"text": draw.choice(["Flu", "Asthma", "Gout"]), "subject": to("p"), "encounter": to(f"e{at}")}
            entries.append(entry("Condition", f"c{at}{more}", **fields))
    return {"resourceType": "Bundle", "type": "collection", "entry": entries}


def test_references_of_bundles(tmp_path: Path) -> None:
    draw = random.Random(1)
    path = tmp_path / "in.ndjson"
    path.write_text("".join(json.dumps(bundle(number, draw)) + "\n" for number in range(60)))
    found = propose(path)
    keys = {
        (key.path.text(slashed=False), key.target.text(slashed=False).rpartition("=")[2]): key.inside
        for key in found.references
    }
    assert keys == {
        ("entry[resource.resourceType=Condition].resource.encounter.reference", "Encounter].fullUrl"): True,
        ("entry[resource.resourceType=Condition].resource.subject.reference", "Patient].fullUrl"): False,
        ("entry[resource.resourceType=Encounter].resource.subject.reference", "Patient].fullUrl"): False,
    }
    text = render_schema(found)
    assert "# FOUND: fields whose values are ids" in text
    own = ta.Schema.loads(text)
    forest = ta.read(path, own)
    ta.write(forest, tmp_path / "out.ndjson")
    assert ta.read(tmp_path / "out.ndjson", own) == forest
    assert found.as_dict()["references"][0]["inside"] is True


def test_lists_that_refer_by_numbers(tmp_path: Path) -> None:
    draw = random.Random(2)
    people = []
    for _ in range(40):
        stays = [{"id": at, "ward": draw.choice("ABC")} for at in range(1, draw.randint(2, 5))]
        ills = [{"stay": draw.randint(1, len(stays)), "name": draw.choice("XYZ"), "times": 1} for _ in range(3)]
        people.append({"stays": stays, "ills": ills})
    path = tmp_path / "in.ndjson"
    path.write_text("".join(json.dumps(one) + "\n" for one in people))
    (key,) = propose(path).references
    assert (key.path.text(slashed=False), key.target.text(slashed=False)) == ("ills[].stay", "stays[].id")


def test_no_key_without_a_reason(tmp_path: Path) -> None:
    """A number of times is no reference, whatever ids there are."""
    people = [
        {"stays": [{"id": 1, "ward": "A"}, {"id": 2, "ward": "B"}], "ills": [{"times": 1 + at % 2}]} for at in range(40)
    ]
    path = tmp_path / "in.ndjson"
    path.write_text("".join(json.dumps(one) + "\n" for one in people))
    assert propose(path).references == ()


def test_attributes_of_xml(tmp_path: Path) -> None:
    draw = random.Random(3)
    people = ""
    for _ in range(40):
        stays = "".join(f'<stay id="s{at}"><ward>{draw.choice("ABC")}</ward></stay>' for at in range(3))
        ills = "".join(f'<ill stay="s{draw.randrange(3)}">{draw.choice("XYZ")}</ill>' for _ in range(2))
        people += f"<p>{stays}{ills}</p>"
    path = tmp_path / "in.xml"
    path.write_text(f"<ps>{people}</ps>")
    (key,) = propose(path, record="ps/p").references
    assert (key.path.text(slashed=True), key.target.text(slashed=True)) == ("ill[]/@stay", "stay[]/@id")


def resource(kind: str, called: str, content: str) -> str:
    own = f'<{kind}><id value="{called}"/>{content}</{kind}>'
    return f'<entry><fullUrl value="urn:uuid:{called}"/><resource>{own}</resource></entry>'


def test_fhir_as_xml(tmp_path: Path) -> None:
    """Kinds are told apart by the names of elements that hold objects, and fields by the names around `@value`."""
    draw = random.Random(3)
    bundles = ""
    for person in range(40):
        bundles += "<Bundle>" + resource("Patient", f"p{person}", '<gender value="female"/>')
        for at in range(3):
            bundles += resource("Encounter", f"e{at}", f'<class value="{draw.choice("ABC")}"/>')
            stay = f'<encounter><reference value="Encounter/e{draw.randrange(3)}"/></encounter>'
            bundles += resource("Condition", f"c{at}", f'<code value="{draw.choice("XYZ")}"/>{stay}')
        bundles += "</Bundle>"
    path = tmp_path / "in.xml"
    path.write_text(f"<Bundles>{bundles}</Bundles>")
    (key,) = propose(path, record="Bundles/Bundle").references
    assert key.path.text(slashed=True) == "entry[resource/*=Condition]/resource/Condition/encounter/reference/@value"
    assert key.target.text(slashed=True) == "entry[resource/*=Encounter]/fullUrl/@value"


def test_the_name_of_an_empty_element_is_no_kind(tmp_path: Path) -> None:
    items = "<p><n>1</n><test><is><yes/></is></test><test><is><no/></is></test></p>" * 40
    path = tmp_path / "in.xml"
    path.write_text(f"<ps>{items}</ps>")
    paths = [found.path.text(slashed=True) for found in propose(path, record="ps/p").classes if found.path]
    assert not any("*" in text for text in paths)

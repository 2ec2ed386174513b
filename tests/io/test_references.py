"""Objects that refer to others inside one document: put into them, written beside them again, with fresh ids."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.reference.references import facts, nested
from tests.support.paths import ROOT
from tests.support.profiles import few
from treeanon.cli.main import main
from treeanon.errors import DataError, SchemaError, UsageError
from treeanon.io.beyond.look import look_beyond
from treeanon.schema.dump import dump_schema

CLASSES = {
    "kind": "episodes[].kind",
    "ward": "stays[].ward",
    "test": "stays[].tests[].name",
    "ill": "ills[].name",
    "drug": "ills[].drugs[]",
}
KEYS = {"stays[].episode": "episodes[].id", "ills[].stay": "stays[].id"}


def toml(classes: dict[str, str], keys: dict[str, str], objects: str = "whole", more: str = "") -> str:
    lines = ["version = 1", "[input]", 'format = "ndjson"', f'objects = "{objects}"']
    for source, target in keys.items():
        lines += ["[[key]]", f'from = "{source}"', f'to = "{target}"', *(["inside = false"] if target in more else [])]
    for name, path in classes.items():
        lines += ["[[class]]", f'name = "{name}"', f'path = "{path}"']
    return "\n".join(lines)


def schema(objects: str = "whole") -> ta.Schema:
    return ta.Schema.loads(toml(CLASSES, KEYS, objects))


def lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def objects_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


PERSON = {
    "episodes": [{"id": "e-4711", "kind": "cancer"}],
    "stays": [
        {"id": "s-1234", "episode": "e-4711", "ward": "A", "tests": [{"name": "T1"}]},
        {"id": "s-1235", "episode": "e-4711", "ward": "B"},
        {"id": "s-1236", "ward": "A"},
    ],
    "ills": [
        {"stay": "s-1234", "name": "Flu", "drugs": ["P", "Q"]},
        {"stay": "s-1234", "name": "Acne"},
        {"stay": "s-1235", "name": "Flu", "drugs": ["P"]},
        {"stay": "s-9999", "name": "Gout"},
        {"name": "Gout"},
    ],
}


@pytest.mark.parametrize("objects", ["whole", "merged"])
def test_an_object_is_one_of_that_which_it_refers_to(tmp_path: Path, objects: str) -> None:
    own = schema(objects)
    forest = ta.read(lines(tmp_path / "in.ndjson", [PERSON] * 5), own)
    assert forest.report is not None
    assert forest.report.as_dict()["dangling_references"] == {"ills[].stay": 5}
    release = ta.anonymize(forest, k=5, m=2, n=1)
    release.write(tmp_path / "out.ndjson")
    text = (tmp_path / "out.ndjson").read_text()
    assert not any(word in text for word in ("4711", "123", "9999"))
    assert ta.read(tmp_path / "out.ndjson", own) == forest
    if objects == "whole":
        for record in objects_of(tmp_path / "out.ndjson"):
            assert facts(record) == facts(PERSON)
            assert len(record["stays"]) == 3
            assert ["id" in stay for stay in record["stays"]].count(True) == 2


def test_the_relation_is_under_the_guarantee(tmp_path: Path) -> None:
    odd = {"stays": [{"id": 1, "ward": "A"}, {"id": 2, "ward": "B"}], "ills": [{"stay": 1, "name": "Flu"}]}
    usual = {"stays": [{"id": 1, "ward": "A"}, {"id": 2, "ward": "B"}], "ills": [{"stay": 2, "name": "Flu"}]}
    classes = {name: CLASSES[name] for name in ("ward", "ill")}
    keyed = ta.Schema.loads(toml(classes, {"ills[].stay": "stays[].id"}))
    path = lines(tmp_path / "in.ndjson", [odd, *[usual] * 6])
    assert not ta.verify(ta.read(path, keyed), k=2, m=2, n=1).holds
    assert ta.verify(ta.read(path, ta.Schema.loads(toml(classes, {}))), k=2, m=2, n=1).holds
    release = ta.anonymize(ta.read(path, keyed), k=2, m=2, n=1)
    release.write(tmp_path / "out.ndjson")
    assert ta.verify(ta.read(tmp_path / "out.ndjson", keyed), k=2, m=2, n=1).holds


def test_objects_that_are_in_no_other_are_not_in_one(tmp_path: Path) -> None:
    """Else two diagnoses without a stay would count for those who are known to have both in one stay."""
    person = {"ills": [{"name": "Flu"}, {"name": "Gout", "stay": "gone"}]}
    (record,) = ta.read(lines(tmp_path / "in.ndjson", [person]), schema()).records()
    assert [len(stay[2]) for episode in record for stay in episode[2]] == [1, 1]
    ta.write(ta.read(tmp_path / "in.ndjson", schema()), tmp_path / "out.ndjson")
    assert objects_of(tmp_path / "out.ndjson") == [{"ills": [{"name": "Flu"}, {"name": "Gout"}]}]


def test_ids_are_fresh_unique_and_referred_to(tmp_path: Path) -> None:
    forest = ta.read(lines(tmp_path / "in.ndjson", [PERSON] * 20), schema())
    ta.write(forest, tmp_path / "out.ndjson")
    ids: list[str] = []
    for record in objects_of(tmp_path / "out.ndjson"):
        own = [one["id"] for name in ("episodes", "stays") for one in record[name] if "id" in one]
        asked = {stay["episode"] for stay in record["stays"] if "episode" in stay}
        asked |= {ill["stay"] for ill in record["ills"] if "stay" in ill}
        assert set(own) == asked
        ids += own
    assert ids == [str(number) for number in range(1, len(ids) + 1)] or sorted(map(int, ids)) == list(
        range(1, len(ids) + 1)
    )


@st.composite
def records(draw: st.DrawFn) -> list[Any]:
    letters = st.sampled_from(["A", "B", "C"])
    number = st.integers(0, 3)

    def some(make: Any) -> list[Any]:
        return [make() for _ in range(draw(number))]

    def own(**fields: Any) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if value not in (None, [])}

    def person() -> dict[str, Any]:
        episodes = some(lambda: own(kind=draw(st.none() | letters)))
        stays = some(
            lambda: own(
                ward=draw(st.none() | letters),
                episode=draw(st.none() | number.map("e{}".format)),
                tests=some(lambda: own(name=draw(letters))),
            )
        )
        ills = some(
            lambda: own(
                name=draw(st.none() | letters),
                stay=draw(st.none() | number.map("s{}".format)),
                drugs=some(lambda: draw(letters)),
            )
        )
        for at, one in enumerate(episodes):
            one["id"] = f"e{at}"
        for at, one in enumerate(stays):
            one["id"] = f"s{at}"
        return {"episodes": episodes, "stays": stays, "ills": ills}

    return [person() for _ in range(draw(st.integers(1, 4)))]


@few(30, 60)
@given(records(), st.sampled_from(["whole", "merged"]), st.sampled_from(["out.ndjson", "out.json", "out.xml"]))
def test_documents_are_read_as_if_nested_and_come_back(people: list[Any], objects: str, name: str) -> None:
    folder = Path(tempfile.mkdtemp())
    own = schema(objects)
    forest = ta.read(lines(folder / "in.ndjson", people), own)
    inside = {
        "episodes[].": "episodes[].",
        "stays[].": "episodes[].stays[].",
        "ills[].": "episodes[].stays[].ills[].",
    }
    paths = {name: inside[path.split("[].")[0] + "[]."] + path.split("[].", 1)[1] for name, path in CLASSES.items()}
    twin = ta.read(
        lines(folder / "twin.ndjson", [nested(one) for one in people]), ta.Schema.loads(toml(paths, {}, objects))
    )
    assert list(forest.records()) == list(twin.records())
    ta.write(forest, folder / name)
    format = name.partition(".")[2]
    again = ta.read(folder / name, own.for_format(format))
    assert again == forest
    assert not look_beyond(folder / name, own.for_format(format), again).counts


def test_several_objects_of_one_name_are_an_error(tmp_path: Path) -> None:
    twice = {"stays": [{"id": "1", "ward": "A"}, {"id": "1", "ward": "B"}], "ills": [{"stay": "1", "name": "Flu"}]}
    path = lines(tmp_path / "in.ndjson", [PERSON, twice])
    with pytest.raises(DataError, match=r"record 2.*ills\[\].stay.*an id that several objects of the record have"):
        ta.read(path, schema())
    forest = ta.read(path, schema(), on_error="skip")
    assert forest.report is not None
    assert forest.report.as_dict()["dangling_references"] == {"ills[].stay": 2}
    unasked = {**twice, "ills": [{"name": "Flu"}]}
    assert len(ta.read(lines(tmp_path / "in.ndjson", [unasked]), schema())) == 1


BUNDLE = {
    "gender": "entry[resource.resourceType=Patient].resource.gender",
    "class": "entry[resource.resourceType=Encounter].resource.class.code",
    "ill": "entry[resource.resourceType=Condition].resource.code.coding[].code",
    "drug": "entry[resource.resourceType=MedicationRequest].resource.contained[].code.text",
    "dose": "entry[resource.resourceType=MedicationRequest].resource.dose",
}
ILL, REQUEST = "entry[resource.resourceType=Condition]", "entry[resource.resourceType=MedicationRequest]"
LINKS = {
    f"{ILL}.resource.encounter.reference": "entry[resource.resourceType=Encounter].fullUrl",
    f"{ILL}.resource.subject.reference": "entry[resource.resourceType=Patient].fullUrl",
    f"{REQUEST}.resource.medicationReference.reference": f"{REQUEST}.resource.contained[].id",
}
OUTSIDE = " ".join(list(LINKS.values())[1:])


def entry(kind: str, called: str, **fields: Any) -> dict[str, Any]:
    return {"fullUrl": f"urn:uuid:{called}", "resource": {"resourceType": kind, **fields}}


def to(name: str) -> dict[str, str]:
    return {"reference": name}


def bundle(*more: dict[str, Any]) -> dict[str, Any]:
    return {
        "entry": [
            entry("Patient", "p", gender="female"),
            entry("Encounter", "e", **{"class": {"code": "AMB"}}, partOf=to("urn:uuid:f")),
            entry("Encounter", "f", **{"class": {"code": "IMP"}}, partOf=to("urn:uuid:e")),
            entry(
                "Condition",
                "c",
                code={"coding": [{"code": "E11"}, {"code": "44"}]},
                encounter=to("urn:uuid:f"),
                subject=to("urn:uuid:p"),
            ),
            entry(
                "Condition", "d", code={"coding": [{"code": "J45"}]}, encounter=to("Group/e"), subject=to("urn:uuid:p")
            ),
            entry(
                "MedicationRequest",
                "m",
                dose="2",
                medicationReference=to("#med"),
                contained=[{"resourceType": "Medication", "id": "med", "code": {"text": "Ibuprofen"}}],
            ),
            *more,
        ]
    }


def bundles(**more: str) -> ta.Schema:
    return ta.Schema.loads(toml({**BUNDLE, **more}, LINKS, more=OUTSIDE))


def resources(record: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [
        one["resource"] | {"fullUrl": one.get("fullUrl")}
        for one in record["entry"]
        if one["resource"]["resourceType"] == kind
    ]


def test_a_bundle_points_where_it_pointed(tmp_path: Path) -> None:
    """Circles of encounters are not read, a group is no encounter, and contained resources are referred to."""
    forest = ta.read(lines(tmp_path / "in.ndjson", [bundle()] * 3), bundles())
    ta.write(forest, tmp_path / "out.ndjson")
    assert ta.read(tmp_path / "out.ndjson", bundles()) == forest
    assert forest.report is not None
    counts = forest.report.as_dict()
    assert counts["dangling_references"] == {next(iter(LINKS)): 3}
    assert "references_not_written" not in counts
    for record in objects_of(tmp_path / "out.ndjson"):
        (patient,) = resources(record, "Patient")
        (inpatient,) = [one for one in resources(record, "Encounter") if one["class"]["code"] == "IMP"]
        (ambulant,) = [one for one in resources(record, "Encounter") if one["class"]["code"] == "AMB"]
        sugar, asthma = sorted(resources(record, "Condition"), key=lambda one: len(one["code"]["coding"]), reverse=True)
        (request,) = resources(record, "MedicationRequest")
        assert sugar["encounter"]["reference"] == inpatient["fullUrl"] != patient["fullUrl"]
        assert sugar["subject"]["reference"] == asthma["subject"]["reference"] == patient["fullUrl"]
        assert "encounter" not in asthma and ambulant["fullUrl"] is None
        assert request["medicationReference"]["reference"] == "#" + request["contained"][0]["id"]


def test_a_key_outside_is_written_only_where_all_agree(tmp_path: Path) -> None:
    """A patient twice leaves it open which of them is meant; one object without the reference takes it from all."""
    name = list(LINKS)[1]
    twice = bundle(entry("Patient", "q", gender="male"))
    forest = ta.read(lines(tmp_path / "in.ndjson", [twice, bundle()]), bundles())
    assert forest.report is not None
    assert forest.report.as_dict()["dangling_references"][name] == 2
    ta.write(forest, tmp_path / "out.ndjson")
    found = {len(resources(one, "Patient")): resources(one, "Condition") for one in objects_of(tmp_path / "out.ndjson")}
    assert all("subject" not in one for one in found[2]) and all("subject" in one for one in found[1])
    without = bundle(entry("Condition", "x", code={"coding": [{"code": "X"}]}))
    forest = ta.read(lines(tmp_path / "in.ndjson", [without, bundle()]), bundles())
    assert forest.report is not None
    assert forest.report.as_dict()["references_not_written"] == {name: 1}
    ta.write(forest, tmp_path / "bare.ndjson")
    assert "subject" not in (tmp_path / "bare.ndjson").read_text()
    assert ta.read(tmp_path / "bare.ndjson", bundles()) == forest


def test_a_bundle_of_nobody_is_a_record_still(tmp_path: Path) -> None:
    forest = ta.read(
        lines(tmp_path / "in.ndjson", [{"entry": [entry("Organization", "o", name="X")]}, bundle()]), bundles()
    )
    ta.write(forest, tmp_path / "out.ndjson")
    assert sorted(len(one.get("entry", [])) for one in objects_of(tmp_path / "out.ndjson")) == [0, 6]


def test_a_release_of_odd_bundles_has_all_objects(tmp_path: Path) -> None:
    """A patient twice, a diagnosis of nobody and of no encounter, several codings, circles, what is contained."""
    diagnosis = entry("Condition", "x", code={"coding": [{"code": "E11"}, {"code": "44"}]})
    odd = bundle(entry("Patient", "q", gender="male"), diagnosis)
    own = bundles()
    release = ta.anonymize(ta.read(lines(tmp_path / "in.ndjson", [odd, bundle()] * 4), own), k=4, m=2, n=1)
    release.write(tmp_path / "out.ndjson")
    assert ta.verify(ta.read(tmp_path / "out.ndjson", own), k=4, m=2, n=1).holds
    assert all(kept.whole == 1 and kept.after == kept.before for kept in release.loss.objects.values())
    counts = sorted(len(record["entry"]) for record in objects_of(tmp_path / "out.ndjson"))
    assert counts == [6] * 4 + [8] * 4
    text = (tmp_path / "out.ndjson").read_text()
    assert "urn:uuid:e" not in text and "urn:uuid:p" not in text and "partOf" not in text


CHANGES = {
    "an id of the input": (lambda record: record["stays"][2].update(id="s-1236"), {"keys", "repeats"}),
    "an id that nothing refers to": (lambda record: record["stays"][2].update(id="1"), {"keys", "repeats"}),
    "a reference to nothing": (lambda record: record["ills"][3].update(stay="7"), {"keys", "content"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_verify_sees_ids_that_say_more(tmp_path: Path, change: str) -> None:
    (tmp_path / "schema.toml").write_text(toml(CLASSES, KEYS))
    release = ta.anonymize(ta.read(lines(tmp_path / "in.ndjson", [PERSON] * 5), schema()), k=2)
    release.write(tmp_path / "out.ndjson")
    args = ["verify", str(tmp_path / "out.ndjson"), "-s", str(tmp_path / "schema.toml"), "-k", "2"]
    assert "Does not hold" not in CliRunner().invoke(main, args).output
    changed = objects_of(tmp_path / "out.ndjson")
    edit, kinds = CHANGES[change]
    changed[0]["stays"].sort(key=lambda stay: "id" not in stay)
    changed[0]["ills"].sort(key=lambda ill: "stay" not in ill)
    edit(changed[0])
    lines(tmp_path / "out.ndjson", changed)
    assert "Does not hold" in CliRunner().invoke(main, args).output
    assert kinds <= set(
        look_beyond(tmp_path / "out.ndjson", schema(), ta.read(tmp_path / "out.ndjson", schema())).counts
    )


def test_verify_accepts_a_release_in_another_order(tmp_path: Path) -> None:
    forest = ta.read(lines(tmp_path / "in.ndjson", [PERSON] * 5), schema())
    ta.write(forest, tmp_path / "out.ndjson")
    text = (tmp_path / "out.ndjson").read_text().splitlines()
    (tmp_path / "out.ndjson").write_text("".join(line + "\n" for line in text[::-1]))
    assert not look_beyond(tmp_path / "out.ndjson", schema(), ta.read(tmp_path / "out.ndjson", schema())).counts


def test_facets_stay_with_their_object(tmp_path: Path) -> None:
    text = toml({"ward": "stays[].ward"}, {"ills[].stay": "stays[].id"})
    text += '\n[[class]]\nname = "ill"\npath = "ills[].code"\nfacets = { display = "ills[].display" }\n'
    own = ta.Schema.loads(text)
    ills = [{"stay": "1", "code": "E11", "display": "sugar"}, {"stay": "2", "code": "J45", "display": "asthma"}]
    person = {"stays": [{"id": "1", "ward": "A"}, {"id": "2", "ward": "B"}], "ills": ills}
    forest = ta.read(lines(tmp_path / "in.ndjson", [person] * 3), own)
    ta.write(forest, tmp_path / "out.ndjson")
    for record in objects_of(tmp_path / "out.ndjson"):
        ward = {stay["id"]: stay["ward"] for stay in record["stays"]}
        found = {(ill["code"], ill["display"], ward[ill["stay"]]) for ill in record["ills"]}
        assert found == {("E11", "sugar", "A"), ("J45", "asthma", "B")}


WRONG = {
    "its own kind": ({"stays[].last": "stays[].id"}, "one of its own kind"),
    "a circle": ({"stays[].ill": "ills[].id", "ills[].stay": "stays[].id"}, "circle"),
    "two owners": ({"ills[].stay": "stays[].id", "ills[].episode": "episodes[].id"}, "all but one need inside = false"),
    "the record": ({"ills[].person": "id"}, "in the record already"),
    "from the record": ({"last": "stays[].id"}, "the record lies in no other object"),
    "another field": ({"ills[].stay": "stays[].id", "tests[].stay": "stays[].number"}, "another field"),
    "one field for two": ({"ills[].stay": "stays[].id", "stays[].id": "episodes[].id"}, "another key has"),
    "a published reference": ({"ills[].name": "stays[].id"}, "leave the class out"),
    "a list of the record": ({"last[]": "stays[].id"}, "a list of the record"),
    "a list of its own kind": ({"stays[].before[]": "stays[].id"}, "objects of its own kind"),
    "a list of what is around": ({"stays[].tests[].of[]": "stays[].id"}, "one of its own kind"),
    "a list of what is inside": ({"stays[].last[]": "stays[].tests[].id"}, "in the one with the list already"),
    "a list and its object": ({"ills[].stay": "stays[].id", "stays[].ills[]": "ills[].number"}, "all but one"),
    "a circle with a list": ({"stays[].ills[]": "ills[].id", "stays[].of": "ills[].id"}, "circle"),
    "a list of items with values": ({"stays[].tests[].ill": "ills[].id"}, "a list of which nothing else is published"),
}


@pytest.mark.parametrize("what", WRONG)
def test_keys_that_cannot_be_are_refused(what: str) -> None:
    keys, message = WRONG[what]
    with pytest.raises(SchemaError, match=message):
        ta.Schema.loads(toml(CLASSES, keys))


def test_schemas_with_keys_are_written_and_described(tmp_path: Path) -> None:
    import tomllib

    rules = json.loads((ROOT / "schemas" / "treeanon.schema.json").read_text())
    text = toml(BUNDLE, LINKS, more=OUTSIDE)
    jsonschema.validate(tomllib.loads(text), rules)
    again = ta.Schema.loads(dump_schema(ta.Schema.loads(text)))
    assert again.references == ta.Schema.loads(text).references
    with pytest.raises(SchemaError, match="this schema reads csv"):
        ta.Schema.loads(toml({"age": "age"}, KEYS).replace("ndjson", "csv").replace('objects = "whole"', ""))


def test_whoever_cannot_follow_references_says_so(tmp_path: Path) -> None:
    forest = ta.read(lines(tmp_path / "in.ndjson", [PERSON] * 3), schema("merged"))
    with pytest.raises(UsageError, match="references inside documents"):
        from treeanon.schema.persons import refuse_persons

        refuse_persons(forest.schema, "engine spark")

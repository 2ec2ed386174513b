"""Lists of references inside documents: what an object lists lies in it, and is listed with fresh ids again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.io.test_references import entry, lines, objects_of, resources, to, toml
from tests.reference.references import with_lists
from tests.support.profiles import few
from treeanon.cli.main import main
from treeanon.io.beyond.look import look_beyond

CLASSES = {
    "ward": "stays[].ward",
    "kind": "reports[].kind",
    "test": "tests[].name",
    "part": "tests[].parts[].value",
}
KEYS = {"reports[].stay": "stays[].id", "reports[].results[]": "tests[].id"}
INSIDE = {"stays[].": "stays[].", "reports[].": "stays[].reports[].", "tests[].": "stays[].reports[].tests[]."}


def schema(objects: str = "whole", keys: dict[str, str] = KEYS, more: str = "") -> ta.Schema:
    return ta.Schema.loads(toml(CLASSES, keys, objects, more))


PERSON = {
    "stays": [{"id": "s-4711", "ward": "A"}],
    "reports": [
        {"kind": "blood", "stay": "s-4711", "results": ["t-4712", "t-4713", "t-4799"]},
        {"kind": "urine", "results": ["t-4713", "t-4713"]},
        {"kind": "none", "results": []},
    ],
    "tests": [
        {"id": "t-4712", "name": "T1", "parts": [{"value": "a"}, {"value": "b"}]},
        {"id": "t-4713", "name": "T2"},
        {"id": "t-4714", "name": "T1"},
    ],
}


def findings(record: dict[str, Any]) -> list[Any]:
    """Return what a document says of its reports: each with its ward and with what it lists."""
    wards = {stay["id"]: stay["ward"] for stay in record["stays"] if "id" in stay}
    tests = {test["id"]: test for test in record["tests"] if "id" in test}
    return sorted(
        (
            report["kind"],
            wards.get(report.get("stay")),
            sorted({(tests[each]["name"], len(tests[each].get("parts", []))) for each in report.get("results", [])
                    if each in tests}),
        )
        for report in record["reports"]
    )  # fmt: skip


@pytest.mark.parametrize("objects", ["whole", "merged"])
def test_what_an_object_lists_lies_in_it(tmp_path: Path, objects: str) -> None:
    own = schema(objects)
    forest = ta.read(lines(tmp_path / "in.ndjson", [PERSON] * 5), own)
    assert forest.report is not None
    counts = forest.report.as_dict()
    assert counts["dangling_references"] == {"reports[].results[]": 5}
    assert counts["listed_again"] == {"reports[].results[]": 5}
    release = ta.anonymize(forest, k=5, m=2, n=1)
    release.write(tmp_path / "out.ndjson")
    assert "47" not in (tmp_path / "out.ndjson").read_text()
    assert ta.read(tmp_path / "out.ndjson", own) == forest
    if objects == "whole":
        for record in objects_of(tmp_path / "out.ndjson"):
            assert findings(record) == findings(PERSON)
            assert len(record["tests"]) == 4, "what two lists have is an object of each"
            asked = [each for report in record["reports"] for each in report.get("results", [])]
            assert sorted(asked) == sorted(test["id"] for test in record["tests"] if "id" in test)


def test_what_is_in_which_list_is_under_the_guarantee(tmp_path: Path) -> None:
    def person(one: str, other: str) -> dict[str, Any]:
        reports = [{"kind": "blood", "results": [one]}, {"kind": "urine", "results": [other]}]
        return {"reports": reports, "tests": [{"id": "1", "name": "A"}, {"id": "2", "name": "B"}]}

    path = lines(tmp_path / "in.ndjson", [person("2", "1"), *[person("1", "2")] * 6])
    keyed = schema(keys={"reports[].results[]": "tests[].id"})
    assert not ta.verify(ta.read(path, keyed), k=2, m=2, n=1).holds
    assert ta.verify(ta.read(path, schema(keys={})), k=2, m=2, n=1).holds
    ta.anonymize(ta.read(path, keyed), k=2, m=2, n=1).write(tmp_path / "out.ndjson")
    assert ta.verify(ta.read(tmp_path / "out.ndjson", keyed), k=2, m=2, n=1).holds


@st.composite
def people(draw: st.DrawFn) -> list[Any]:
    letters = st.sampled_from(["A", "B"])
    number = st.integers(0, 3)

    def own(**fields: Any) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if value not in (None, [])}

    def person() -> dict[str, Any]:
        stays = [own(id=f"s{at}", ward=draw(st.none() | letters)) for at in range(draw(number))]
        tests = [
            own(
                id=f"t{at}",
                name=draw(st.none() | letters),
                parts=[own(value=draw(letters)) for _ in range(draw(st.integers(0, 2)))],
            )
            for at in range(draw(number))
        ]
        reports = [
            own(
                kind=draw(st.none() | letters),
                stay=draw(st.none() | number.map("s{}".format)),
                results=draw(st.lists(number.map("t{}".format), max_size=3)),
            )
            for _ in range(draw(number))
        ]
        return {"stays": stays, "reports": reports, "tests": tests}

    return [person() for _ in range(draw(st.integers(1, 3)))]


@few(30, 60)
@given(people(), st.sampled_from(["whole", "merged"]), st.sampled_from(["out.ndjson", "out.json", "out.xml"]))
def test_lists_are_read_as_if_nested_and_come_back(records: list[Any], objects: str, name: str) -> None:
    folder = Path(tempfile.mkdtemp())
    own = schema(objects)
    forest = ta.read(lines(folder / "in.ndjson", records), own)
    paths = {at: INSIDE[path.split("[].")[0] + "[]."] + path.split("[].", 1)[1] for at, path in CLASSES.items()}
    twin = lines(folder / "twin.ndjson", [with_lists(one) for one in records])
    assert list(forest.records()) == list(ta.read(twin, ta.Schema.loads(toml(paths, {}, objects))).records())
    ta.write(forest, folder / name)
    format = name.partition(".")[2]
    again = ta.read(folder / name, own.for_format(format))
    assert again == forest
    assert not look_beyond(folder / name, own.for_format(format), again).counts


CHANGES = {
    "an item more": lambda record: record["reports"][0].setdefault("results", []).append("9"),
    "an item twice": lambda record: record["reports"][0]["results"].append(record["reports"][0]["results"][0]),
    "an item of another list": lambda record: record["reports"][1]["results"].append(
        record["reports"][0]["results"][0]
    ),
    "an empty list": lambda record: record["reports"][-1].update(results=[]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_verify_sees_lists_that_say_more(tmp_path: Path, change: str) -> None:
    (tmp_path / "schema.toml").write_text(toml(CLASSES, KEYS))
    ta.anonymize(ta.read(lines(tmp_path / "in.ndjson", [PERSON] * 5), schema()), k=2).write(tmp_path / "out.ndjson")
    args = ["verify", str(tmp_path / "out.ndjson"), "-s", str(tmp_path / "schema.toml"), "-k", "2"]
    assert "Does not hold" not in CliRunner().invoke(main, args).output
    changed = objects_of(tmp_path / "out.ndjson")
    changed[0]["reports"].sort(key=lambda report: "results" not in report)
    CHANGES[change](changed[0])
    lines(tmp_path / "out.ndjson", changed)
    assert "Does not hold" in CliRunner().invoke(main, args).output


REPORT, RESULT = "entry[resource.resourceType=DiagnosticReport]", "entry[resource.resourceType=Observation]"
VISIT = "entry[resource.resourceType=Encounter]"
BUNDLE = {
    "class": f"{VISIT}.resource.class.code",
    "report": f"{REPORT}.resource.code.text",
    "result": f"{RESULT}.resource.code.text",
}
OF_REPORT = (f"{REPORT}.resource.encounter.reference", f"{VISIT}.fullUrl")
OF_RESULT = (f"{RESULT}.resource.encounter.reference", f"{VISIT}.fullUrl")
IN_REPORT = (f"{REPORT}.resource.result[].reference", f"{RESULT}.fullUrl")
IN_VISIT = (f"{VISIT}.resource.found[].item.reference", f"{RESULT}.fullUrl")


def bundles(*inside: tuple[str, str], outside: tuple[str, str]) -> ta.Schema:
    keys = [*inside, outside]
    text = toml(BUNDLE, {})
    for source, target in keys:
        text += f'\n[[key]]\nfrom = "{source}"\nto = "{target}"\ninside = {str((source, target) != outside).lower()}'
    return ta.Schema.loads(text)


def bundle(*listed: str, other: str = "e") -> dict[str, Any]:
    """Return an encounter with a report and two results, which are in lists of both, and a result of nobody's."""
    items = [to(f"urn:uuid:{each}") for each in listed]
    return {
        "entry": [
            entry("Encounter", "e", **{"class": {"code": "AMB"}}, found=[{"item": each} for each in items]),
            entry("Encounter", "f", **{"class": {"code": "IMP"}}),
            entry("Observation", "o", code={"text": "height"}, encounter=to("urn:uuid:e")),
            entry("Observation", "q", code={"text": "weight"}, encounter=to(f"urn:uuid:{other}")),
            entry("DiagnosticReport", "d", code={"text": "vitals"}, encounter=to("urn:uuid:e"), result=items),
        ]
    }


def found(record: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    (visit,) = [one for one in resources(record, "Encounter") if one["class"]["code"] == "AMB"]
    (report,) = resources(record, "DiagnosticReport")
    return visit, report, {one["code"]["text"]: one for one in resources(record, "Observation")}


def test_who_lies_in_a_list_refers_to_what_is_around(tmp_path: Path) -> None:
    """Results lie in their report, which lies in an encounter: that the results refer to it, too, is written."""
    own = bundles(OF_REPORT, IN_REPORT, outside=OF_RESULT)
    forest = ta.read(lines(tmp_path / "in.ndjson", [bundle("o", "q")] * 3), own)
    ta.write(forest, tmp_path / "out.ndjson")
    assert ta.read(tmp_path / "out.ndjson", own) == forest
    for record in objects_of(tmp_path / "out.ndjson"):
        visit, report, results = found(record)
        assert {one["reference"] for one in report["result"]} == {one["fullUrl"] for one in results.values()}
        assert all(one["encounter"]["reference"] == visit["fullUrl"] for one in (report, *results.values()))
    forest = ta.read(lines(tmp_path / "odd.ndjson", [bundle("o", "q", other="f")]), own)
    assert forest.report is not None
    assert forest.report.as_dict()["references_not_written"] == {OF_RESULT[0]: 1}


def test_a_list_of_all_that_lies_in_an_object(tmp_path: Path) -> None:
    own = bundles(OF_REPORT, OF_RESULT, outside=IN_VISIT)
    forest = ta.read(lines(tmp_path / "in.ndjson", [bundle("q", "o")] * 3), own)
    ta.write(forest, tmp_path / "out.ndjson")
    assert ta.read(tmp_path / "out.ndjson", own) == forest
    for record in objects_of(tmp_path / "out.ndjson"):
        visit, _, results = found(record)
        assert {one["item"]["reference"] for one in visit["found"]} == {one["fullUrl"] for one in results.values()}
    for odd in (bundle("o"), bundle("o", "q", other="f"), bundle()):
        forest = ta.read(lines(tmp_path / "odd.ndjson", [bundle("o", "q"), odd]), own)
        assert forest.report is not None
        wrong = 2 if odd == bundle("o", "q", other="f") else 1
        assert forest.report.as_dict()["references_not_written"] == {IN_VISIT[0]: wrong}
        ta.write(forest, tmp_path / "bare.ndjson", force=True)
        assert "found" not in (tmp_path / "bare.ndjson").read_text()
        assert ta.read(tmp_path / "bare.ndjson", own) == forest

"""Facets: read and checked, published with their values alone, read again as the same; in every format."""

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
from tests.reference.facets import agreed, told
from tests.support import health_data
from tests.support.paths import ROOT
from tests.support.profiles import few
from treeanon.cli.main import main
from treeanon.errors import DataError, SchemaError, UsageError
from treeanon.io.beyond.look import look_beyond
from treeanon.schema.dump import dump_schema

CLASSES = """
[[class]]
name = "illness"
path = "conditions[].coding[].code"
facets = { display = "…coding[].display", text = "conditions[].text" }
hierarchy = { prefix = [1] }
"""
MORE = """
[[class]]
name = "year"
path = "conditions[].year"
[[class]]
name = "system"
path = "conditions[].coding[].system"
"""


def schema(*, more: str = "", objects: str = "merged") -> ta.Schema:
    return ta.Schema.loads(f'version = 1\n[input]\nformat = "ndjson"\nobjects = "{objects}"\n{CLASSES}{more}')


def lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def condition(code: str, display: str | None = None, text: str | None = None, **more: Any) -> dict[str, Any]:
    coding = {"code": code, "display": display, "system": more.pop("system", None)}
    return {"text": text, **more, "coding": [{key: value for key, value in coding.items() if value}]}


PEOPLE = [{"conditions": [condition("E11", "Diabetes", "sugar")]} for _ in range(4)]
PEOPLE += [{"conditions": [condition("J45", "Asthma", "asthma"), condition("E11", "Diabetes", "sugar")]}] * 3


def test_a_worked_example(tmp_path: Path) -> None:
    odd = [{"conditions": [condition("J45", "Asthma", "something else"), condition("J46", None, "status")]}]
    forest = ta.read(lines(tmp_path / "p.ndjson", PEOPLE + odd), schema())
    assert forest.report is not None
    assert forest.report.as_dict()["facets"] == {
        "illness": {
            "display": {"values": 2, "disagree": 0, "missing": 0},
            "text": {"values": 2, "disagree": 1, "missing": 0},
        }
    }
    assert forest.report.as_dict()["dropped"] == {}
    release = ta.anonymize(forest, k=3, m=2, n=1)
    release.write(tmp_path / "out.ndjson")
    found = [json.loads(line) for line in (tmp_path / "out.ndjson").read_text().splitlines()]
    codings = [coding for one in found for each in one.get("conditions", []) for coding in each["coding"]]
    assert {json.dumps(coding, sort_keys=True) for coding in codings} == {
        '{"code": "E11", "display": "Diabetes"}',
        '{"code": "J*"}',
    } or {coding.get("display") for coding in codings} <= {"Diabetes", "Asthma", None}
    texts = {each.get("text") for one in found for each in one.get("conditions", [])}
    assert "something else" not in texts and "status" not in texts and "sugar" in texts


def test_the_command_tells_what_is_lost(tmp_path: Path) -> None:
    odd = [{"conditions": [condition("J45", "Asthma", "other"), condition("E11", None, "sugar")]}]
    lines(tmp_path / "p.ndjson", PEOPLE + odd)
    (tmp_path / "s.toml").write_text(dump_schema(schema()))
    args = ["anonymize", str(tmp_path / "p.ndjson"), "-s", str(tmp_path / "s.toml"), "-k", "3", "-o"]
    done = CliRunner().invoke(main, [*args, str(tmp_path / "out.ndjson")])
    assert done.exit_code == 0, done.output
    assert "class illness: facet text is published for 1 value: records disagree on 1 value" in done.stderr
    assert "facet display is published for 1 value: 1 value stand" in done.stderr


def test_a_fact_counts_once() -> None:
    """Three classes that say the same make three times as much to be known; facets make nothing more."""
    one, three = schema(), ta.Schema.loads(
        'version = 1\n[input]\nformat = "ndjson"\nobjects = "merged"\n'
        + "".join(
            f'[[class]]\nname = "{name}"\npath = "conditions[].{path}"\n'
            for name, path in (("code", "coding[].code"), ("display", "coding[].display"), ("text", "text"))
        )
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        source = lines(Path(folder, "p.ndjson"), PEOPLE)
        assert ta.read(source, one).nodes * 3 == ta.read(source, three).nodes
        assert ta.read(source, one).classes.names == ("illness",)


CODES = st.sampled_from(["E11", "E10", "J45", "J44", "I10"])
TEXTS = st.sampled_from(["", "sugar", "asthma", "Q<&>"]) | st.none()


@st.composite
def people(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Records whose displays and texts mostly, but not always, go with their codes."""
    usual = {code: (draw(TEXTS), draw(TEXTS)) for code in ("E11", "E10", "J45", "J44", "I10")}

    def one(code: str, odd: bool, display: Any, text: Any) -> tuple[str, Any, Any]:
        return (code, display, text) if odd else (code, *usual[code])

    facts = st.builds(one, CODES, st.integers(0, 9).map(lambda number: number == 0), TEXTS, TEXTS)
    made = []
    for _ in range(draw(st.integers(1, 6))):
        conditions = []
        for _ in range(draw(st.integers(0, 3))):
            code, display, text = draw(facts)
            more = {
                "year": draw(st.sampled_from(["2019", "2020", None])),
                "system": draw(st.sampled_from(["s", "t", None])),
            }
            conditions.append(condition(code, display, text, **more))
            if draw(st.booleans()):
                other, shown, _ = draw(facts)
                conditions[-1]["coding"].append({"code": other, "display": shown})
        made.append({"conditions": conditions})
    return made


@few(50, 500)
@given(people(), st.booleans(), st.sampled_from(["ndjson", "json", "xml"]), st.sampled_from(["merged", "whole"]))
def test_what_is_read_is_what_all_records_say_and_it_is_read_again(
    records: list[dict[str, Any]], with_more: bool, form: str, objects: str
) -> None:
    given_schema = schema(more=MORE if with_more else "", objects=objects)
    with tempfile.TemporaryDirectory() as folder:
        forest = ta.read(lines(Path(folder, "p.ndjson"), records), given_schema)
        assert forest.report is not None
        displays, texts = map(agreed, told(records))
        assert {facet: found.agreed() for (_, facet), found in forest.report.facets.items()} == {
            "display": displays, "text": texts,
        }  # fmt: skip
        out = Path(folder, f"out.{form}")
        ta.write(forest, out)
        again = given_schema.for_format(form)
        back = ta.read(out, again)
        assert back == forest and back.report is not None and not back.report.as_dict()["dropped"]
        assert not look_beyond(out, again, back).counts
        for (_, facet), found in back.report.facets.items():
            held = forest.report.facets["illness", facet].agreed()
            if objects == "whole":
                # one object has one text: values that share it and say different things say nothing
                assert found.agreed().items() <= held.items() and not found.beyond()
                assert facet == "text" or found.agreed() == held
                continue
            # a value that is out of place wherever it stands (its object has no year) is written without facets
            assert found.agreed() == {value: text for value, text in held.items() if value in found.texts}
            assert not found.beyond() and (with_more or found.agreed() == held)


@few(15, 200)
@given(people(), st.integers(2, 3), st.sampled_from(["merged", "whole"]))
def test_a_release_has_the_facets_of_its_values_alone(records: list[dict[str, Any]], k: int, objects: str) -> None:
    found = schema(more=MORE, objects=objects)
    with tempfile.TemporaryDirectory() as folder:
        forest = ta.read(lines(Path(folder, "p.ndjson"), records), found)
        if len(forest) < k:
            return
        release = ta.anonymize(forest, k=k, m=2, n=1)
        out = Path(folder, "out.ndjson")
        release.write(out)
        displays = agreed(told(records)[0])
        for line in out.read_text().splitlines():
            for each in json.loads(line).get("conditions", []):
                for coding in each.get("coding", []):
                    assert coding.get("display") == displays.get(coding.get("code", ""))
        back = ta.read(out, found)
        assert ta.verify(back, k=k, m=2, n=1).holds
        assert not look_beyond(out, found, back).counts


def test_verify_sees_facets_that_say_more_than_their_values(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(dump_schema(schema()))
    right = lines(tmp_path / "right.ndjson", [{"conditions": [{"text": "t", "coding": [{"code": "E11"}]}]}] * 5)
    args = ["-s", str(tmp_path / "s.toml"), "-k", "2", "-m", "1"]
    assert "-anonymity holds" in CliRunner().invoke(main, ["verify", str(right), *args]).output.split(", for")[0]
    for one in ({"text": "u", "coding": [{"code": "E11"}]}, {"coding": [{"code": "E11"}]}, {"text": "alone"}):
        wrong = lines(
            tmp_path / "wrong.ndjson", [json.loads(right.read_text().split("\n")[0])] * 5 + [{"conditions": [one]}]
        )
        told = CliRunner().invoke(main, ["verify", str(wrong), *args]).output
        assert "-anonymity holds" not in told[:20] and "facets: 1 (facets that say more than their value" in told, one


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_rows_of_persons(tmp_path: Path, form: str) -> None:
    rows = [
        {"who": f"p{n % 9}", "code": f"C{n % 3}", "name": f"name of {n % 3}", "day": f"d{n % 2}"} for n in range(36)
    ]
    path = tmp_path / f"p.{form}"
    if form == "csv":
        path.write_text("who,code,name,day\n" + "".join(",".join(row.values()) + "\n" for row in rows))
    else:
        lines(path, rows)
    text = f'version = 1\n[input]\nformat = "{form}"\nperson = "who"\n'
    text += (
        '[[class]]\nname = "code"\npath = "code"\nfacets = { name = "name" }\n[[class]]\nname = "day"\npath = "day"\n'
    )
    found = ta.Schema.loads(text)
    forest = ta.read(path, found)
    assert len(forest) == 9 and forest.report is not None
    ta.write(forest, tmp_path / f"out.{form}")
    written = (tmp_path / f"out.{form}").read_text()
    assert "name of 2" in written and "p3" not in written
    back = ta.read(tmp_path / f"out.{form}", found)
    assert back == forest and back.report is not None
    assert back.report.facets["code", "name"].agreed() == {f"C{n}": f"name of {n}" for n in range(3)}


@pytest.mark.parametrize("objects", ["merged", "whole"])
def test_rows_without_what_facets_lie_under(tmp_path: Path, objects: str) -> None:
    """A row without its head is a row all the same: its values have their facets, and nothing is out of place."""
    schema = ta.Schema.loads(
        f'version = 1\n[input]\nformat = "ndjson"\nperson = "who"\nobjects = "{objects}"\n'
        '[[class]]\nname = "kind"\npath = "kind"\n'
        '[[class]]\nname = "code"\npath = "codes[].code"\nfacets = { display = "…codes[].display" }\n'
    )
    rows = [
        {"who": n % 4, "codes": [{"code": c, "display": f"Name {c}"} for c in "XY"[: 1 + n % 2]]}
        | ({"kind": "A"} if n % 3 else {})
        for n in range(12)
    ]
    (tmp_path / "in.ndjson").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    forest = ta.read(tmp_path / "in.ndjson", schema)
    ta.write(forest, tmp_path / "out.ndjson")
    written = [json.loads(line) for line in (tmp_path / "out.ndjson").read_text().splitlines()]
    assert all(each["display"] == f"Name {each['code']}" for row in written for each in row["codes"])
    assert any("kind" not in row for row in written)
    assert ta.read(tmp_path / "out.ndjson", schema) == forest
    assert not ta.verify(tmp_path / "out.ndjson", schema=schema, k=1).beyond


FLAT = """
version = 1
input = { format = "csv", person = "who", objects = "OBJECTS" }
[[class]]
name = "ward"
path = "ward"
[[class]]
name = "code"
path = "code"
facets = { display = "display" }
"""


@pytest.mark.parametrize("objects", ["merged", "whole", "auto"])
def test_flat_rows_of_persons(tmp_path: Path, objects: str) -> None:
    rows = "".join(f"p{n % 20},W{n % 3},C{n % 7},Name {n % 7}\n" for n in range(90))
    (tmp_path / "in.csv").write_text(f"who,ward,code,display\n{rows}")
    schema = ta.Schema.loads(FLAT.replace("OBJECTS", objects))
    release = ta.anonymize(tmp_path / "in.csv", schema=schema, k=4, m=1, n=0)
    release.write(tmp_path / "out.csv")
    assert "Name 3" in (tmp_path / "out.csv").read_text()
    verdict = ta.verify(tmp_path / "out.csv", schema=schema, k=4, m=1, n=0)
    assert verdict.holds and not verdict.beyond
    groups = ta.anonymize(tmp_path / "in.csv", schema=schema, k=4, algorithm="mondrian")
    groups.write(tmp_path / "groups.csv")
    assert "Name" not in (tmp_path / "groups.csv").read_text()
    assert ta.verify(ta.read_table(tmp_path / "groups.csv", schema), k=4).holds


@pytest.mark.parametrize("target", ["out/", "out.zip"])
def test_tables(tmp_path: Path, target: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "person.csv").write_text("id,sex\n" + "".join(f"{n},{'fm'[n % 2]}\n" for n in range(8)))
    (folder / "visit.csv").write_text("person_id,ward_id\n" + "".join(f"{n % 8},{n % 3}\n" for n in range(24)))
    (folder / "ward.csv").write_text("id,code,name\n0,A,Alpha\n1,B,Beta\n2,C,Gamma\n")
    keys = 'key = ["visit.person_id -> person.id", "visit.ward_id -> ward.id"]'
    text = (
        f'version = 1\n[input]\nformat = "tables"\nrecord = "person"\n{keys}\n[[class]]\nname = "sex"\npath = "sex"\n'
    )
    text += '[[class]]\nname = "ward"\npath = "visit.ward.code"\nfacets = { name = "visit.ward.name" }\n'
    found = ta.Schema.loads(text)
    forest = ta.read(folder, found)
    ta.write(forest, f"{tmp_path}/{target}")
    back = ta.read(tmp_path / target, found)
    assert back == forest and back.report is not None and forest.report is not None
    assert back.report.facets["ward", "name"].agreed() == {"A": "Alpha", "B": "Beta", "C": "Gamma"}


def test_records_in_memory() -> None:
    release = ta.anonymize(PEOPLE, schema=schema(), k=3, m=1, n=0)
    shown = json.dumps(release)
    assert '"display": "Diabetes"' in shown and '"text": "sugar"' in shown


def test_a_facet_of_an_inner_node_is_not_published(tmp_path: Path) -> None:
    """What one person said of a general value would be said of all whose values became it."""
    records = [{"conditions": [condition("E1*", "my own words", "mine")]}]
    records += [{"conditions": [condition(f"E1{n % 9}", f"illness {n % 9}", f"text {n % 9}")]} for n in range(20)]
    release = ta.anonymize(ta.read(lines(tmp_path / "p.ndjson", records), schema(more="")), k=5, m=1, n=0)
    release.write(tmp_path / "out.ndjson")
    assert "my own words" not in (tmp_path / "out.ndjson").read_text()


def test_schemas_with_facets_are_written_and_converted() -> None:
    one = schema()
    again = ta.Schema.loads(dump_schema(one))
    assert again.classes[0].facets == one.classes[0].facets
    paths = {name: path.text(slashed=True) for name, path in one.for_format("xml").classes[0].facets.items()}
    assert paths == {"display": "conditions[]/coding[]/display", "text": "conditions[]/text"}
    rules = json.loads((ROOT / "schemas" / "treeanon.schema.json").read_text())
    import tomllib

    jsonschema.validate(tomllib.loads(dump_schema(one)), rules)


@pytest.mark.parametrize(
    "facets, message",
    [
        ("3", "facets: must be a table of names and paths"),
        ('{ a = "other[].x" }', "must be in the object that holds the class, or in one around it"),
        ('{ a = "conditions[].coding[].code" }', "is the path of another class too"),
        ('{ a = "conditions[].coding[].code" }\nrole = "drop"', "facets: is not for role drop"),
    ],
)
def test_wrong_facets_are_told(facets: str, message: str) -> None:
    text = 'version = 1\n[input]\nformat = "ndjson"\n[[class]]\nname = "a"\npath = "conditions[].coding[].code"\n'
    with pytest.raises(SchemaError, match=r"facets|path") as caught:
        ta.Schema.loads(f"{text}facets = {facets}\n")
    assert message in str(caught.value)


def test_a_facet_around_a_class_that_lies_under_another_one_there() -> None:
    text = 'version = 1\n[input]\nformat = "ndjson"\nobjects = "merged"\n'
    text += '[[class]]\nname = "system"\npath = "conditions[].coding[].system"\n'
    with pytest.raises(SchemaError, match="stands around 'system', under which the class lies"):
        ta.Schema.loads(text + CLASSES)


def test_flat_rows_and_trees_have_no_facets() -> None:
    text = 'version = 1\n[input]\nformat = "{}"\n[[class]]\nname = "a"\npath = "a"\nfacets = {{ b = "b" }}\n'
    for form, message in (("csv", "without person"), ("trees", "hold classes alone")):
        with pytest.raises(SchemaError, match=message):
            ta.Schema.loads(text.format(form))


def test_facets_under_the_reserved_name_are_refused(tmp_path: Path) -> None:
    moved = {"treeanon:moved": {"/": [["illness facet text", "x", []]]}}
    with pytest.raises(DataError, match="facets cannot stand under the reserved name"):
        ta.read(lines(tmp_path / "p.ndjson", [moved]), schema())


def test_spark_refuses_facets() -> None:
    from treeanon.schema.persons import refuse_persons

    with pytest.raises(UsageError, match="facets: engine spark does not read them"):
        refuse_persons(schema(), "engine spark")


def test_init_proposes_facets_that_reading_confirms(tmp_path: Path) -> None:
    source, _ = next(make for name, make in health_data.generators() if name == "bundles")(tmp_path)
    done = CliRunner().invoke(main, ["init", str(source), "-o", str(tmp_path / "s.toml"), "--explain"])
    assert done.exit_code == 0
    found = ta.Schema.load(tmp_path / "s.toml")
    facets = {spec.name: set(spec.facets) for spec in found.classes if spec.facets}
    assert facets["Condition_code"] == {"display", "text"}
    assert "# FACETS: in the sample, " in (tmp_path / "s.toml").read_text()
    forest = ta.read(source, found)
    assert forest.report is not None
    counts: Any = forest.report.as_dict()["facets"]
    assert counts["Condition_code"]["display"] == {"values": 6, "disagree": 0, "missing": 0}

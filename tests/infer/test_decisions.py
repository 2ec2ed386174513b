from __future__ import annotations

import json
import tomllib

import jsonschema
import pytest

import treeanon as ta
from tests.support.paths import ROOT
from treeanon.hierarchy import Intervals
from treeanon.infer import propose, render_schema
from treeanon.infer.builders import builder_for, nice_widths, type_of
from treeanon.infer.decide import class_names
from treeanon.infer.propose import tree_classes
from treeanon.infer.sampling import Values


def values(*texts, quoted=True):
    made = Values()
    for number, text in enumerate(texts, start=1):
        made.add(text, number, quoted=quoted)
    return made


def proposed(tmp_path, records, **options):
    path = tmp_path / "p.ndjson"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    findings = propose(path, **options)
    assert len(ta.read(path, ta.Schema.loads(render_schema(findings)))) == len(records)
    return {found.name: found for found in findings.classes}


@pytest.mark.parametrize(
    "texts, name, kind, spec",
    [
        (["2019-03-07", "2020-01-01"], "x", "date", {"dates": ["month", "quarter", "year"]}),
        (["1931-03-07", "2020-01-01"], "x", "date", {"dates": ["month", "quarter", "year", "decade"]}),
        (["2019-03-07T10:00:00Z"], "x", "date", {"dates": ["day", "month", "quarter", "year"]}),
        (["20190307", "20200101"], "x", "date", {"dates": ["month", "quarter", "year"]}),
        (["1940", "2019"], "year", "integer", {"intervals": [5, 10, 50]}),
        (["31", "99"], "age", "integer", {"intervals": [5, 10, 20, 40], "min": 0, "max": 120}),
        (["31", "200"], "age", "integer", {"intervals": [10, 50, 100]}),
        (["0.5", "1e-3"], "x", "number", {"intervals": [0.05, 0.1]}),
        (["M", "F"], "sex", "text", {"flat": True}),
        ([str(54100 + i) for i in range(12)], "zip", "text", {"prefix": [3, 2, 1]}),
        ([f"0{i}1" for i in range(10)], "x", "text", {"prefix": [2, 1]}),
        ([f"J{40 + i}.1" for i in range(10)], "x", "text", {"icd10": True}),
        ([f"S52.{i}21A" for i in range(10)], "x", "text", {"icd10": "cm"}),
        ([f"J{30 + i}" for i in range(10)], "x", "text", {"icd10": True}),
        ([f"A02BC0{i}" for i in range(10)], "x", "text", {"atc": True}),
        ([f"E{40 + i}.1" for i in range(10)] + ["x1"] * 5, "x", "text", {"groups": 5}),
        ([f"word{'s' * i}" for i in range(10)], "x", "text", {"groups": 5}),
        (["9" * 40, "1"], "x", "text", {"flat": True}),
    ],
)
def test_types_and_builders(texts, name, kind, spec):
    found = values(*texts)
    assert type_of(found, name) == kind
    assert builder_for(found, name, kind).spec == spec


@pytest.mark.parametrize("span", [0, 1, 3, 19, 20, 21, 99, 100, 101, 1999, 2000, 10**6, 10**15])
def test_widths_are_nice_and_nest(span):
    for integer in (True, False):
        widths = nice_widths(span, integer=integer)
        Intervals(tuple(widths), integer=integer)
        assert span / 20 <= widths[0] or len(widths) == 1
        assert widths[0] <= max(span / 2, 5)


def test_names_are_short_and_all_differ():
    ward = ("visits", "ward")
    labels = [("name",), ("visits", "diagnoses", "name"), (*ward, "code"), (*ward, "name"), ("/",)]
    names = class_names(labels, [True, False, False, False, True])
    assert names == ["name", "diagnoses", "ward_code", "ward_name", "field"]
    assert class_names([("a",), ("a",), ("a_2",)], [True] * 3) == ["a", "a_3", "a_2"]


def test_who_it_is_and_what_they_wrote_is_withheld(tmp_path):
    records = [
        {
            "patientId": i,
            "email": f"{i}@x",
            "badge": f"b{i:06d}",
            "serial": 10_000 + i,
            "income": 20_000 + i % 20,
            "height": 1.5 + i / 100,
            "birth": f"19{40 + i % 60}-01-{1 + i % 28:02d}",
            "name": {"first": "A" if i % 2 else "B", "last": f"L{i % 20}"},
            "hasPhone": i % 2 == 0,
            "story": f"one two three four five six seven eight nine ten eleven {i}",
            "visits": [{"id": f"v-{i}-{j}", "patient": i, "badge_of": f"b{i:06d}", "ward": f"w{j}"} for j in range(2)],
        }
        for i in range(60)
    ]
    found = proposed(tmp_path, records)
    roles = {name: each.role for name, each in found.items()}
    assert {name for name, role in roles.items() if role == "identifier"} == {
        "patientId", "email", "badge", "serial", "first", "last", "id", "badge_of", "patient",
    }  # fmt: skip
    assert {name for name, role in roles.items() if role == "drop"} == {"story"}
    assert found["income"].decision == "intervals" and found["birth"].decision == "dates"


def test_the_head_is_what_an_object_is_about(tmp_path):
    records = [
        {
            "visits": [
                {
                    "day": f"2020-01-{1 + i:02d}",
                    "urgent": i % 2 == 0,
                    "cost": 5 * i % 28,
                    "ward": f"w{i % 5}",
                    "kind": "x",
                }
            ]
        }
        for i in range(28)
    ]
    found = proposed(tmp_path, records)
    assert next(iter(found)) == "ward"


def test_a_kind_without_a_difference_is_no_kind(tmp_path):
    records = [{"items": [{"type": "ab"[i % 2], "v": i, "w": 2}]} for i in range(30)]
    assert {each.path.text(slashed=False) for each in proposed(tmp_path, records).values()} == {
        "items[].type", "items[].v", "items[].w",
    }  # fmt: skip


def test_withheld_and_published_fields_of_two_kinds(tmp_path):
    records = [
        {"e": [{"type": "P", "id": f"{i:08d}", "p": {"q": {"r": 1}}}, {"type": "C", "id": "x", "c": {"d": {"e": 2}}}]}
        for i in range(30)
    ]
    found = proposed(tmp_path, records)
    paths = {each.path.text(slashed=False) for each in found.values()}
    assert "e[type=C].id" in paths and "e[type=P].id" not in paths


def test_classes_of_trees_that_never_met_lie_on_one_path():
    trees = [[["a", "1", [["c", "1", []]]]], [["b", "1", [["c", "1", []]]]], [["d", "1", []]]]
    found = {each.name: each.under for each in tree_classes([{"tree": tree} for tree in trees])}
    assert found in ({"a": "/", "b": "a", "c": "b", "d": "/"}, {"b": "/", "a": "b", "c": "a", "d": "/"})


def test_what_is_written_fits_the_json_schema():
    rules = json.loads((ROOT / "schemas" / "treeanon.schema.json").read_text())
    for name in ("patients.xml", "patients.ndjson"):
        text = render_schema(propose(ROOT / "samples" / name))
        jsonschema.validate(tomllib.loads(text), rules)
        assert max(map(len, text.splitlines())) <= 120

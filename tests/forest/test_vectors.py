"""The worked examples of the papers, recomputed by brute force."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import treeanon as ta
from tests.reference import trees as slow
from tests.support.paths import ROOT

VECTORS: dict[str, Any] = json.loads((ROOT / "tests/vectors/trees.json").read_text())
PARENTS = VECTORS["hierarchy_figure_4"]
DATABASE = VECTORS["database_figure_10"]["records"]
CUT = VECTORS["projection_to_cut_of_figure_13"]["cut"]


def hospital_schema(folder: Path) -> ta.Schema:
    text = 'version = 1\n[input]\nformat = "trees"\n'
    for name, under in (("hospital", "/"), ("disease", "hospital"), ("treatment", "disease")):
        (folder / f"{name}.json").write_text(json.dumps(PARENTS[name]))
        text += f'[[class]]\nname = "{name}"\nunder = "{under}"\nhierarchy = "{name}.json"\n'
    return ta.Schema.loads(text, folder=folder)


def chain_schema(names: str) -> ta.Schema:
    text = 'version = 1\n[input]\nformat = "trees"\n'
    for above, name in zip(("/", *names), names, strict=False):
        text += f'[[class]]\nname = "{name}"\nunder = "{above}"\n'
    return ta.Schema.loads(text)


def pairs(found: list[Any]) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    return [((upper[0], upper[1]), (lower[0], lower[1])) for upper, lower in found]


def test_projection_to_the_cut_of_figure_13(tmp_path: Path) -> None:
    expected = VECTORS["projection_to_cut_of_figure_13"]["records"]
    found = ta.Forest.from_records(hospital_schema(tmp_path), DATABASE).project(CUT)
    assert list(found.records()) == [slow.merged(record) for record in expected]
    assert [slow.projected(record, PARENTS, CUT) for record in DATABASE] == [slow.merged(r) for r in expected]


def test_figure_13(tmp_path: Path) -> None:
    expected, moves = VECTORS["figure_13"]["records"], pairs(VECTORS["figure_13"]["disassociated"])
    found = ta.Forest.from_records(hospital_schema(tmp_path), DATABASE).project(CUT).disassociate(moves)
    assert list(found.records()) == [slow.merged(record) for record in expected]
    twin = [slow.disassociated_in_order(slow.projected(record, PARENTS, CUT), moves) for record in DATABASE]
    assert twin == [slow.merged(record) for record in expected]


@pytest.mark.parametrize(
    ("figure", "lower"),
    [
        ("figure_6_disassociated(Hospital2,Pain killer)", ("treatment", "Pain killer")),
        ("figure_7_disassociated(Hospital2,Bronchitis)", ("disease", "Bronchitis")),
    ],
)
def test_figures_6_and_7(tmp_path: Path, figure: str, lower: tuple[str, str]) -> None:
    vector = VECTORS["record_figure_2"]
    forest = ta.Forest.from_records(hospital_schema(tmp_path), [vector["record"]])
    moves = [(("hospital", "Hospital2"), lower)]
    assert forest.disassociate(moves).record(0) == slow.merged(vector[figure])
    assert slow.disassociated_in_order(vector["record"], moves) == slow.merged(vector[figure])


def test_figure_5(tmp_path: Path) -> None:
    vector = VECTORS["record_figure_2"]
    forest = ta.Forest.from_records(hospital_schema(tmp_path), [vector["record"]])
    cut = {"disease": ["Lung Disease", "Diarrhea", "Gastritis"]}
    assert forest.project(cut).record(0) == slow.merged(vector["figure_5_generalized"])


def test_disassociation_can_break_another_relation() -> None:
    vector = VECTORS["disassociation_can_break_another_relation"]
    moves = pairs(vector["disassociated"])
    found = ta.Forest.from_records(chain_schema("abc"), vector["records"]).disassociate(moves)
    assert list(found.records()) == [slow.merged(record) for record in vector["after"]]
    assert [slow.disassociated_in_order(record, moves) for record in vector["records"]] == list(found.records())


def test_the_order_of_disassociations_matters() -> None:
    vector = VECTORS["disassociation_order_matters"]
    forest = ta.Forest.from_records(chain_schema("axyz"), [vector["record"]])
    first, second = (("a", "a1"), ("x", "x1")), (("x", "x1"), ("y", "y1"))
    for moves, key in (([first, second], "(a1,x1) then (x1,y1)"), ([second, first], "(x1,y1) then (a1,x1)")):
        assert forest.disassociate(moves).record(0) == slow.merged(vector[key])
        assert slow.disassociated_in_order(vector["record"], moves) == slow.merged(vector[key])

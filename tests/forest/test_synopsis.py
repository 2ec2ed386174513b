"""The synopsis tree: against sets of paths, projected and not, and RPDa by its definition."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

import treeanon as ta
from tests.reference import tree_searches as slow_searches
from tests.reference.trees import merged, paths
from tests.support.paths import ROOT
from tests.support.search_strategies import random_forest
from tests.support.strategies import make_cut, parents_of, properties, released
from treeanon.forest.synopsis import Synopsis
from treeanon.metrics.values import rpda

VECTORS: dict[str, Any] = json.loads((ROOT / "tests/vectors/trees.json").read_text())


def slow_synopsis(forest: ta.Forest) -> dict[tuple[int, ...], list[int]]:
    found: dict[tuple[int, ...], list[int]] = {}
    for number, record in enumerate(forest.records()):
        for path in paths(merged(record)):
            found.setdefault(tuple(forest.classes.label(*label) for label in path), []).append(number)
    return found


def check_synopsis(rnd: Random) -> None:
    forest = released(rnd, random_forest(rnd)[0])
    synopsis = Synopsis.of(forest)
    assert dict(synopsis.as_dict()) == slow_synopsis(forest)
    cut: Any = "*" if rnd.random() < 0.1 else make_cut(rnd, forest)
    projected = synopsis.project(forest.cut_map(cut))
    assert dict(projected.as_dict()) == slow_synopsis(forest.project(cut))
    for label in set(projected.label.tolist()):
        assert {int(projected.label[v]) for v in projected.sidelinks(label)} == {label}
        held = [i for i, record in enumerate(forest.project(cut).records()) if label in labels_of(forest, record)]
        assert projected.records_of(label).tolist() == held


def labels_of(forest: ta.Forest, record: Any) -> set[int]:
    return {forest.classes.label(*path[-1]) for path in paths(record)}


test_synopsis, test_synopsis_thoroughly = properties(check_synopsis, 30, 2000)


def check_rpda(rnd: Random) -> None:
    forest = released(rnd, random_forest(rnd)[0])
    scope: Any = rnd.choice(["class", "hierarchy"])
    nodes = [forest.classes.decode(label) for label in range(1, len(forest.classes))]
    problem = slow_searches.Problem(
        [], parents_of(forest), nodes, frozenset(forest.classes.names), 1, 1, 0, scope=scope
    )
    assert rpda(forest, scope) == slow_searches.rpda(problem, list(forest.records()))


test_rpda, test_rpda_thoroughly = properties(check_rpda, 40, 1000)


def test_scopes_of_levels() -> None:
    records = VECTORS["database_figure_10"]["records"]
    text = 'version = 1\n[input]\nformat = "trees"\n'
    for name, under in (("hospital", "/"), ("disease", "hospital"), ("treatment", "disease")):
        text += f'[[class]]\nname = "{name}"\nunder = "{under}"\n'
    forest = ta.Forest.from_records(ta.Schema.loads(text), records)
    assert rpda(forest.project("*")) == 4.0
    assert rpda(forest, "hierarchy") < rpda(forest)


def test_empty() -> None:
    schema = ta.Schema.loads('version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "a"')
    for records in ([], [[], []]):
        forest = ta.Forest.from_records(schema, records)
        assert len(Synopsis.of(forest)) == 0
        assert rpda(forest) == pytest.approx(0.0)

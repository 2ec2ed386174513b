"""Where every node of a record goes in a release, told by a replay that must end in what was released."""

from __future__ import annotations

from functools import cache
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.profiles import few
from tests.support.strategies import make_case, make_cut, make_pairs, make_records
from treeanon.algorithms.tree.solution import Solution
from treeanon.errors import UsageError
from treeanon.forest.classes import STAR
from treeanon.metrics.values import label_parents
from treeanon.previews.changes import Recipe, Record, matched, record_change, record_changes
from treeanon.previews.model import Node, RecordChange
from treeanon.previews.scores import forest_scores
from treeanon.privacy import Guarantee

HOSPITAL = ta.Schema.load("schemas/hospital-xml.toml").with_objects("merged")
SCHEMA = ta.Schema.loads("""version = 1
input = { format = "trees" }
[[class]]
name = "sex"
[[class]]
name = "ward"
under = "/"
[[class]]
name = "ill"
under = "ward"
[[class]]
name = "drug"
under = "ill"
""")


def of(solution: Solution, forest: ta.Forest, kept: list[int] | None = None) -> Any:
    """A release without its checks, which are not what is tested here."""
    published = solution.apply(forest if kept is None else forest.take(kept))
    return SimpleNamespace(forest=published, solution=solution, kept=None if kept is None else np.array(kept))


def solution(cut: Any = None, pairs: Any = (), withheld: Any = ()) -> Solution:
    return Solution(Guarantee(2), "mine", cut or {}, tuple(pairs), tuple(withheld))


def nested(nodes: tuple[Node, ...]) -> list[Any]:
    return sorted([node.cls, node.value, nested(node.children)] for node in nodes)


def told(change: RecordChange) -> dict[str, tuple[Any, ...]]:
    """Where each value went, by values; good for records that hold a value once."""
    before = {node.id: node for top in change.before for node in top.walk()}
    after = {node.id: node for top in change.after or () for node in top.walk()}
    out = {}
    for fate in change.fates:
        goal = None if fate.after is None else after[fate.after].value
        left = None if fate.moved_from is None else before[fate.moved_from].value
        out[before[fate.before].value] = (goal, set(fate.changes), left)
    return out


@cache
def couple() -> ta.Forest:
    return ta.Forest.from_records(
        SCHEMA,
        [
            [["sex", "f", []], ["ward", "w1", [["ill", "flu", [["drug", "tea", []]]], ["ill", "gout", []]]]],
            [["ward", "w1", [["ill", "flu", []]]], ["ward", "w2", [["ill", "acne", [["drug", "soap", []]]]]]],
        ],
    )


def test_a_node_that_moves_and_one_that_it_leaves_behind():
    change = record_change(couple(), of(solution(pairs=[(("ward", "w1"), ("ill", "flu"))]), couple()), 0)
    assert told(change) == {
        "f": ("f", set(), None),
        "w1": ("w1", set(), None),
        "flu": ("flu", {"moved"}, "w1"),
        "tea": ("tea", {"moved"}, "flu"),
        "gout": ("gout", set(), None),
    }
    assert change.change == pytest.approx(2 * 0.5 / 5)


def test_what_becomes_one_is_merged_and_what_is_withheld_is_dropped():
    change = record_change(couple(), of(solution({"ward": ["*"], "ill": ["*"]}, withheld=["drug"]), couple()), 1)
    assert told(change) == {
        "w1": ("*", {"generalized", "merged"}, None),
        "w2": ("*", {"generalized", "merged"}, None),
        "flu": ("*", {"generalized", "merged"}, None),
        "acne": ("*", {"generalized", "merged"}, None),
        "soap": (None, {"dropped"}, None),
    }
    assert change.change == 1


def test_what_hung_under_a_withheld_node_has_not_moved():
    change = record_change(couple(), of(solution(withheld=["ill"]), couple()), 0)
    assert told(change)["tea"] == ("tea", set(), None)


def test_a_record_left_out_and_records_that_are_not_there():
    release = of(solution(), couple(), kept=[1])
    change = record_change(couple(), release, 0)
    assert change.after is None and change.change == 1
    assert {fate.changes for fate in change.fates} == {frozenset({"dropped"})}
    assert record_change(couple(), release, 1).change == 0
    for number in (-1, 2):
        with pytest.raises(UsageError):
            record_change(couple(), release, number)


def test_the_cut_above_all_classes_leaves_one_node_of_which_nothing_has_moved():
    change = record_change(couple(), of(solution({STAR: (STAR,)}), couple()), 0)
    assert {fate.changes for fate in change.fates} == {frozenset({"generalized", "merged"})} and change.change == 1


def world(seed: int) -> tuple[ta.Forest, Any]:
    """A random forest and what a random solution makes of it."""
    rnd = Random(seed)
    case = make_case(rnd, "ndjson")
    forest = ta.Forest.from_records(case.schema, make_records(rnd, case))
    names = forest.classes.names
    withheld = [name for name in names if rnd.random() < 0.15]
    cut: Any = {name: nodes for name, nodes in make_cut(rnd, forest).items() if name not in withheld}
    if rnd.random() < 0.05:
        cut, withheld = {STAR: (STAR,)}, []
    projected = solution(cut, withheld=withheld).apply(forest)
    pairs = make_pairs(rnd, list(projected.records()), most=6)
    kept = [i for i in range(len(forest)) if rnd.random() < 0.8] if rnd.random() < 0.3 else None
    return forest, of(solution(cut, pairs, withheld), forest, kept)


@few(37, 75)
@given(st.integers(0, 2**32))
def test_the_replay_ends_in_what_was_released_and_fates_agree_with_it(seed: int):
    forest, release = world(seed)
    recipe = Recipe.of(release.solution, forest)
    kept = list(range(len(forest))) if release.kept is None else release.kept.tolist()
    changes = record_changes(forest, release, range(len(forest)))
    for place, number in enumerate(kept):
        assert recipe.replay(Record.of(forest, number))[0] == Record.of(release.forest, place)
        assert nested(changes[number].after or ()) == release.forest.record(place)
    scores = forest_scores(forest, release)
    for number, change in enumerate(changes):
        assert nested(change.before) == forest.record(number)
        assert (change.after is None) == (number not in kept)
        assert scores.change[number] == pytest.approx(change.change)
        check_fates(change)


def check_fates(change: RecordChange) -> None:
    """What every fate says is so in the two trees."""
    parents = {side: above(nodes) for side, nodes in (("before", change.before), ("after", change.after or ()))}
    after = {node.id: node for top in change.after or () for node in top.walk()}
    before = {node.id: node for top in change.before for node in top.walk()}
    assert [fate.before for fate in change.fates] == list(before) == list(range(len(before)))
    assert {fate.after for fate in change.fates} - {None} == set(after), "no published node comes from nowhere"
    became = {fate.before: fate.after for fate in change.fates}
    for fate in change.fates:
        own = before[fate.before]
        if fate.after is None:
            assert fate.changes in ({"dropped"}, {"left-out"}) and fate.moved_from is None
            continue
        goal = after[fate.after]
        assert ("generalized" in fate.changes) == ((own.cls, own.value) != (goal.cls, goal.value))
        assert ("merged" in fate.changes) == (list(became.values()).count(fate.after) > 1)
        assert ("moved" in fate.changes) == (fate.moved_from is not None)
        if fate.moved_from is not None:
            assert fate.moved_from in lines(parents["before"], fate.before)
            assert became[fate.moved_from] not in lines(parents["after"], fate.after)


def above(nodes: tuple[Node, ...]) -> dict[int, int]:
    return {child.id: node.id for top in nodes for node in top.walk() for child in node.children}


def lines(parents: dict[int, int], node: int) -> list[int]:
    out = []
    while node in parents:
        node = parents[node]
        out.append(node)
    return out


@few(25, 50)
@given(st.integers(0, 2**32))
def test_matching_puts_every_published_node_behind_an_original_that_it_stands_for(seed: int):
    rnd = Random(seed)
    case = make_case(rnd, "ndjson")
    forest = ta.Forest.from_records(case.schema, make_records(rnd, case))
    published = forest.project(make_cut(rnd, forest))
    parents = label_parents(forest.classes)
    for number in range(len(forest)):
        before, after = Record.of(forest, number), Record.of(published, number)
        became = matched(before, after, parents)
        # Nothing was dropped and nothing moved, so nothing need be told to have been.
        assert all(place is not None for place in became)
        assert set(became) == set(range(len(after)))
        for node, place in enumerate(became):
            assert place is not None
            up = before.parent[node]
            assert after.parent[place] == (-1 if up < 0 else became[up])


ASKED: list[dict[str, Any]] = [
    {"k": 10},
    {"k": 5, "m": 3, "n": 2, "algorithm": "gcs"},
    {"k": 5, "max_suppressed": "2%"},
    {"k": 5, "negative": "diagnosis"},
    {"k": 10, "as_published": True},
    {"k": 5, "recoding": "subtree", "attacker": "joint"},
]


@pytest.mark.parametrize("asked", ASKED)
def test_releases_of_all_searches_with_a_cut_are_replayed_and_so_are_solutions_applied_to_others(asked: dict[str, Any]):
    forest = ta.read("samples/patients.xml", HOSPITAL)
    effort = {} if "algorithm" in asked else {"effort": 0.1}
    release = ta.anonymize(forest[:200], **asked, **effort)
    kept = range(200) if release.kept is None else release.kept.tolist()
    recipe = Recipe.of(release.solution, forest)
    for place, number in enumerate(kept):
        assert recipe.replay(Record.of(forest, number))[0] == Record.of(release.forest, place)
    try:
        other = ta.apply(release.solution, forest)
    except ta.GuaranteeError:
        return
    for change in record_changes(forest, other, range(0, len(forest), 50)):
        check_fates(change)
        assert nested(change.after or ()) == other.forest.record(change.number)


def test_local_recoding_is_told_by_matching_and_its_scores_are_near():
    forest = ta.read("samples/patients.xml", HOSPITAL)[:200]
    release = ta.anonymize(forest, k=4, algorithm="miracle")
    changes = record_changes(forest, release, range(len(forest)))
    for change in changes:
        check_fates(change)
        assert not any("moved" in fate.changes for fate in change.fates), "miracle moves nothing"
    found = np.corrcoef([change.change for change in changes], forest_scores(forest, release).change)[0, 1]
    assert found > 0.9

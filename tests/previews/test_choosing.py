"""Which records a preview shows, and that choosing them does not take long."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import treeanon as ta
from tests.support.steps import steps_of
from treeanon.errors import UsageError
from treeanon.previews.preview import preview_of
from treeanon.previews.scores import Scores, choose, forest_scores

HOSPITAL = ta.Schema.load("schemas/hospital-xml.toml")


def scores(change: list[float], size: list[int] | None = None, changed: list[list[int]] | None = None) -> Scores:
    places = np.array(changed or [[1, 0]] * len(change), np.int32).reshape(len(change), 2)
    return Scores(("age", "ill"), np.array(change), np.array(size or [5] * len(change)), places)


def test_the_most_changed_come_first_and_ties_in_the_order_of_the_input():
    assert choose(scores([0.1, 0.9, 0.5, 0.9]), 3, worst=True) == [1, 3, 2]


def test_typical_records_are_near_the_middle_in_change_and_size():
    change = [*np.linspace(0, 1, 1001)]
    size = [10] * 1000 + [500]
    for number in choose(scores(change, size), 3):
        assert 0.4 < change[number] < 0.6 and size[number] == 10


def test_typical_records_differ_in_what_changed():
    changed = [[1, 0]] * 50 + [[0, 1]] + [[1, 0]] * 50
    assert 50 in choose(scores([0.5] * 101, changed=changed), 2)


def test_only_records_count_in_which_a_class_changed():
    found = scores([0.1, 0.2, 0.3], changed=[[1, 0], [0, 1], [0, 0]])
    assert choose(found, 9, classes=["ill"]) == [1]
    assert sorted(choose(found, 9, classes=["ill", "age"])) == [0, 1]
    assert choose(scores([0.1], changed=[[0, 0]]), 3, classes=["ill"]) == []
    with pytest.raises(UsageError, match="unknown class 'sex'; choose from age, ill"):
        choose(found, 1, classes=["sex"])


def test_nothing_to_choose_from_and_nothing_wanted():
    assert choose(scores([], changed=[]), 3) == [] == choose(scores([], changed=[]), 3, worst=True)
    assert sorted(choose(scores([0.1, 0.1]), 9)) == [0, 1]
    with pytest.raises(UsageError):
        choose(scores([0.1]), 0)


def test_where_values_moved_one_of_several_records_shows_that():
    found = scores([*np.linspace(0, 1, 1001)])
    assert found.moved is None
    moved = np.zeros(1001, np.bool_)
    moved[[3, 5, 990]] = True
    chosen = choose(replace(found, moved=moved), 3)
    assert chosen[:2] == choose(found, 3)[:2] and chosen[2] == 5
    assert choose(replace(found, moved=moved), 1) == choose(found, 1)
    moved[choose(found, 3)[1]] = True
    assert choose(replace(found, moved=moved), 3) == choose(found, 3)


def test_a_release_with_relations_taken_apart_shows_one_that_moved():
    forest = ta.read("samples/patients.xml", HOSPITAL.with_objects("merged"))
    found = ta.preview(forest, k=10, as_published=True)
    assert found.release.solution.disassociated
    assert any("moved" in fate.changes for change in found.changes for fate in change.fates)


def test_thirty_thousand_records_are_not_looked_at_one_by_one():
    forest = ta.read("samples/patients.xml", HOSPITAL)
    release = ta.anonymize(forest, k=5, seed=1)
    chosen = np.tile(np.arange(len(forest)), 30)
    whole = forest.take(chosen)
    many = type(release)(**{**vars(release), "forest": release.forest.take(chosen)})
    preview_of(whole, many)
    found = []
    assert steps_of(lambda: found.append(preview_of(whole, many, worst=True))) < len(whole)
    assert found[0].changes[0].change == forest_scores(forest, release).change.max()


def test_the_worst_of_a_local_recoding_are_in_the_order_of_what_they_are_told_to_be():
    forest = ta.read("samples/patients.xml", HOSPITAL.with_objects("merged"))[:300]
    release = ta.anonymize(forest, k=5, algorithm="miracle")
    told = [change.change for change in preview_of(forest, release, 10, worst=True).changes]
    assert told == sorted(told, reverse=True)


def test_records_of_a_class_really_have_it_changed():
    forest = ta.read("samples/patients.xml", HOSPITAL)[:300]
    for algorithm in ("maximal", "miracle"):
        found = ta.preview(forest, k=5, algorithm=algorithm, classes="treatment", records=5)
        for change in found.changes:
            nodes = {node.id: node for top in change.before for node in top.walk()}
            touched = {nodes[fate.before].cls for fate in change.fates if fate.changes}
            assert "treatment" in touched

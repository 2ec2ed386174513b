"""Losses of a release whose records come in any order, against those that know which record came from which."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

import treeanon as ta
from tests.metrics.test_losses import DISEASES, draw, visits
from tests.support.strategies import make_case, make_records, properties
from tests.support.strategies import released as released_at_random
from treeanon.errors import UsageError
from treeanon.kernels.tree.losses import count_records_under
from treeanon.metrics import measure, measure_unmatched, ml2
from treeanon.metrics.measure import in_terms_of
from treeanon.metrics.values import label_parents
from treeanon.table.compared import schema_as_published


def shuffled(rnd: Random, forest: ta.Forest) -> ta.Forest:
    return forest.take(rnd.sample(range(len(forest)), len(forest)))


def same_losses(rnd: Random) -> None:
    """Where the input holds leaves and nobody is left out, nothing is lost by not knowing who is who."""
    case = make_case(rnd, "ndjson")
    before = ta.Forest.from_records(case.schema, make_records(rnd, case))
    leaves = np.concatenate([[False], *(h.end == np.arange(1, len(h) + 1) for h in before.classes.hierarchies)])
    after = released_at_random(rnd, before)
    if rnd.random() < 0.3:
        after = after.without([rnd.choice(before.classes.names)])
    if not leaves[before.label].all() or not after.label.all():
        return
    weights = {name: rnd.choice([0.0, 0.5, 3.0]) for name in before.classes.names if rnd.random() < 0.3}
    known, found = (
        measure(before, after, weights=weights),
        measure_unmatched(before, shuffled(rnd, after), weights=weights),
    )
    assert found.value_loss == pytest.approx(known.value_loss, abs=1e-12)
    assert dict(found.value_loss_by_class) == pytest.approx(dict(known.value_loss_by_class))
    assert found.rpd == pytest.approx(known.rpd)
    nothing = {"value_loss": 0.0, "value_loss_by_class": {}, "rpd": 0.0}
    assert replace(found, **nothing) == replace(known, **nothing)


def anything(rnd: Random) -> None:
    """Shares stay shares, whatever is left out and however general the input is; and itself has lost nothing."""
    before, after, kept = draw(rnd)
    found = measure_unmatched(before, shuffled(rnd, after))
    assert all(0 <= loss <= 1 for loss in (found.value_loss, *found.value_loss_by_class.values()))
    known = measure(before, after, kept)
    assert (found.relations_kept, found.after) == (known.relations_kept, known.after)
    if before.label.all():
        assert measure_unmatched(before, shuffled(rnd, before)).value_loss == 0


def read_again(rnd: Random) -> None:
    """What is read as it stands is, in the terms of its input, what was published; and nothing in it is strange."""
    before, after, _ = draw(rnd)
    raw = ta.Forest.from_records(schema_as_published(before.schema), list(after.records()))
    found, strange = in_terms_of(before, raw)
    assert found == after and found.classes is before.classes
    assert strange == {}


test_same_losses, test_same_losses_long = properties(same_losses, 75)
test_shares_are_shares, test_shares_are_shares_long = properties(anything, 40)
test_read_again, test_read_again_long = properties(read_again, 40)


def left_out(rnd: Random, folder: Path) -> None:
    """Where a record has one disease, nothing is lost by not knowing whose diseases and which persons are left out."""
    persons = [{rnd.choice(["H1", "H2"]): [rnd.choice(DISEASES)] * rnd.randint(0, 1)} for _ in range(rnd.randint(1, 9))]
    before = visits(folder, *persons)
    after = before.project({"disease": rnd.choice([DISEASES, ["Lung", "Stomach"], ["Lung", "Ulcer"], ["Disease"]])})
    held = sorted({text for record in after.records() for _, _, below in record for _, text, _ in below})
    rules = [(("hospital", name), ("disease", text)) for name in ("H1", "H2") for text in held if rnd.random() < 0.3]
    kept = np.array([r for r in range(len(before)) if rnd.random() < 0.8], np.int64)
    after = after.leave_out([rule for rule in rules if rule[0][1] in {name for one in persons for name in one}])
    after = after.take(kept)
    known, found = measure(before, after, kept), measure_unmatched(before, shuffled(rnd, after))
    assert found.value_loss_by_class.get("disease") == pytest.approx(known.value_loss_by_class.get("disease"))


def test_values_left_out(tmp_path: Path) -> None:
    rnd = Random(8)
    for _ in range(60):
        left_out(rnd, tmp_path)


def test_values_left_out_of_some_records_are_those_of_the_mean_record(tmp_path: Path) -> None:
    before = visits(tmp_path, {"H1": ["Flu", "Asthma"]}, {"H2": ["Flu"]}, {"H2": ["Ulcer"]})
    after = before.project({"disease": ["Lung", "Stomach"]})
    half = []
    for name, lost in (("H1", 2), ("H2", 1)):
        made = after.leave_out([(("hospital", name), ("disease", "Lung"))])
        assert measure(before, made).value_loss_by_class["disease"] == pytest.approx((0.5 + lost) / (2 + lost))
        half.append(measure_unmatched(before, made).value_loss_by_class["disease"])
    # Two records have three diseases of the lung; nobody says which of them lost all of its own.
    assert half == [pytest.approx((0.5 + 1.5) / (2 + 1.5))] * 2
    assert measure_unmatched(before, after.leave_out([(("hospital", "H2"), ("disease", "Stomach"))])) == replace(
        measure(before, after.leave_out([(("hospital", "H2"), ("disease", "Stomach"))])), objects={}
    )


def test_values_published_at_several_levels(tmp_path: Path) -> None:
    """Of local recoding and of general values of the input, only what nothing covers is lost."""
    before = visits(tmp_path, {"H1": ["Flu"]}, {"H1": ["Flu"]}, {"H1": ["Asthma"]}, {"H1": ["Ulcer"]})
    wide = before.project({"disease": ["Lung", "Stomach"]})
    local = ta.Forest.from_records(before.schema, [*before.take([0]).records(), *wide.take([1, 2]).records()])
    local, strange = in_terms_of(before, local)
    # The ulcer is lost, two are as general as Lung, and one is as it was.
    assert strange == {} and measure_unmatched(before, local).value_loss_by_class["disease"] == pytest.approx(2 / 4)
    general = visits(tmp_path, {"H1": ["Disease"]}, {"H1": ["Flu"]}, {"H1": ["Flu"]})
    less = general.leave_out([(("hospital", "H1"), ("disease", "Flu"))])
    assert measure_unmatched(general, less).value_loss_by_class == measure(general, less).value_loss_by_class


def records_under(rnd: Random) -> None:
    case = make_case(rnd, "ndjson")
    forest = released_at_random(rnd, ta.Forest.from_records(case.schema, make_records(rnd, case)))
    up = label_parents(forest.classes)
    expected = np.zeros(len(up), int)
    for start, stop in itertools.pairwise(forest.offsets.tolist()):
        reached = set()
        for label in forest.label[start:stop].tolist():
            while label > 0:
                reached.add(label)
                label = int(up[label])
        expected[sorted(reached)] += 1
    assert count_records_under(forest.offsets, forest.label, up).tolist() == expected.tolist()


test_records_under, test_records_under_long = properties(records_under, 40)


def test_persons_left_out_lost_what_nobody_shows(tmp_path: Path) -> None:
    before = visits(tmp_path, {"H1": ["Flu", "Asthma"]}, {"H1": ["Flu"]}, {"H2": ["Ulcer"]}, {"H1": ["Flu"]})
    found = measure_unmatched(before, before.take([2, 0]))
    # Two of three flus are lost, and three diseases are published as they were.
    assert found.value_loss_by_class["disease"] == pytest.approx(2 / 5)
    assert found.relations_kept == pytest.approx(3 / 5)


def test_a_class_that_is_withheld_is_lost_entirely(tmp_path: Path) -> None:
    before = visits(tmp_path, {"H1": ["Flu", "Asthma"]}, {"H1": ["Flu"]})
    found = measure_unmatched(before, before.without(["disease"]))
    assert found.value_loss_by_class == {"hospital": 0.0, "disease": 1.0} and found.value_loss == pytest.approx(3 / 5)


def test_general_values_of_the_input_are_no_loss(tmp_path: Path) -> None:
    before = visits(tmp_path, {"H1": ["Lung"]}, {"H1": ["Flu"]}, {"H1": ["Asthma"]})
    found = measure_unmatched(before, before.project({"disease": ["Lung", "Stomach"]}))
    # One of three was as general before; the others lost (2 - 1) / (3 - 1).
    assert found.value_loss_by_class["disease"] == pytest.approx(2 * 0.5 / 3)


def test_more_than_there_were(tmp_path: Path) -> None:
    before = visits(tmp_path, {"H1": ["Flu"]})
    with pytest.raises(UsageError, match="cannot have been made"):
        measure_unmatched(before, before.take([0, 0]))


def test_ml2_needs_no_matching(tmp_path: Path) -> None:
    rnd = Random(4)
    before = visits(
        tmp_path, *({rnd.choice("AB"): rnd.sample(["Flu", "Asthma", "Ulcer"], rnd.randint(1, 3))} for _ in range(40))
    )
    after = before.project({"disease": ["Lung", "Stomach"]})
    order = np.array(rnd.sample(range(40), 40))
    assert ml2(before, after.take(order), np.arange(40)).ml2 == ml2(before, after).ml2 > 0


def test_strange_nodes_are_counted_by_class(tmp_path: Path) -> None:
    before = visits(tmp_path, {"H1": ["Flu"]}, {"H1": ["Flu"]})
    schema = schema_as_published(before.schema)
    trees = [
        [["hospital", "H1", [["disease", "Ulcer", []], ["disease", "Lung", []], ["disease", "nobody knows", []]]]],
        [["hospital", "H9", []], ["disease", "Stomach", []]],
    ]
    found, strange = in_terms_of(before, ta.Forest.from_records(schema, trees))
    assert strange == {"hospital": 1, "disease": 3}
    # What the hierarchy does not know is its root.
    assert found.record(1)[0] == ["disease", "Stomach", []]
    assert sorted(text for _, text, _ in found.record(0)[0][2]) == ["Disease", "Lung", "Ulcer"]


def test_other_classes_are_refused(tmp_path: Path) -> None:
    before = visits(tmp_path, {"H1": ["Flu"]})
    other = ta.Schema.loads('version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "hospital"')
    with pytest.raises(UsageError, match="classes of its input"):
        in_terms_of(before, ta.Forest.from_records(other, []))

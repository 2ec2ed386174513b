"""Walks of the default search: what they are offered, and where they end."""

from __future__ import annotations

from functools import cache
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from tests.reference.walks import SlowWalk, shares
from tests.support.profiles import few
from tests.support.search_strategies import random_forest
from treeanon.algorithms.tree.default import object_rules, pair_support, traces
from treeanon.algorithms.tree.default.greedy_walk import Order, Tree, Walk
from treeanon.algorithms.tree.default.indexed_forest import IndexedForest
from treeanon.algorithms.tree.default.leaving_out import bound_classes
from treeanon.algorithms.tree.default.maximal import search
from treeanon.algorithms.tree.default.pair_support import PairSupports
from treeanon.algorithms.tree.default.shared_state import WalkState
from treeanon.errors import GuaranteeError
from treeanon.kernels.tree.label_splits import count_part
from treeanon.metrics import label_losses
from treeanon.privacy import Guarantee


def walks_of(rnd: Random, forest: ta.Forest, guarantee: Guarantee, *, condensed: bool) -> tuple[WalkState, Tree]:
    """What a walk needs, with or without what is known of pairs of labels."""
    indexed = IndexedForest.of(forest, guarantee, condensed=condensed)
    known = PairSupports.fit(indexed, guarantee) and rnd.random() < 0.7
    with pytest.MonkeyPatch.context() as patch:
        # Sets of labels that few records hold are made when they are asked for; verdicts may take each other's place.
        patch.setattr(pair_support, "_SELDOM", rnd.choice((2, 4, 256)))
        patch.setattr(pair_support, "_VERDICTS", rnd.choice((1, 8, 1 << 20)))
        facts = PairSupports(indexed, guarantee, deep=guarantee.m > 2) if known else None
    losses = label_losses(forest.classes)
    return WalkState(indexed, guarantee, facts), Tree(indexed, losses, forest.classes.class_of, guarantee.k)


def random_order(rnd: Random, forest: ta.Forest) -> Order:
    weights = tuple(rnd.choice([0.1, 1.0, 10.0]) for _ in forest.classes.names)
    return Order(weights, split=rnd.random() < 0.6, again=rnd.random() < 0.3)


def whole(rnd: Random) -> ta.Forest:
    """Some patients of the sample, their objects whole, who are alike."""
    chosen = [rnd.randrange(8) for _ in range(rnd.randint(5, 25))]
    return patients()[:8].take(chosen)


@cache
def patients() -> ta.Forest:
    return ta.read("samples/patients.xml", ta.Schema.load("schemas/hospital-xml.toml"))


@few(20, 40)
@given(st.integers(0, 10**9))
def test_walks_end_the_same_where_rare_labels_are_there_too(seed: int) -> None:
    rnd = Random(seed)
    forest = random_forest(rnd)[0] if seed % 4 else whole(rnd)
    guarantee = Guarantee(rnd.randint(2, 5), m=rnd.randint(1, 3), n=rnd.randint(0, 2))
    order = random_order(rnd, forest)
    ends = []
    for condensed in (False, True):
        state, tree = walks_of(Random(seed), forest, guarantee, condensed=condensed)
        ends.append(Walk(state, tree, order).run())
        assert all(state.indexed.held[label] >= guarantee.k for _, label in ends[-1].refused)
    assert ends[0].cut == ends[1].cut
    held = np.unique(forest.label)
    assert ends[0].published_as[held].tolist() == ends[1].published_as[held].tolist()
    assert [found.tolist() for found in ends[0].supports] == [found.tolist() for found in ends[1].supports]


@few(30, 60)
@given(st.integers(0, 10**9))
def test_the_compiled_walk_ends_where_the_slow_one_does(seed: int) -> None:
    rnd = Random(seed)
    forest = random_forest(rnd)[0] if seed % 4 else whole(rnd)
    guarantee = Guarantee(rnd.randint(2, 5), m=rnd.randint(1, 3), n=rnd.randint(0, 2))
    state, tree = walks_of(rnd, forest, guarantee, condensed=rnd.random() < 0.7)
    for _ in range(2):
        order = random_order(rnd, forest)
        slow = SlowWalk(state, tree, order, label_losses(forest.classes)).run()
        found = Walk(state, tree, order).run()
        assert found.published.tolist() == slow.tolist()
        # Nothing that was published earlier is in the way of another walk; what was learned is, for good.
        state.refused_sets.add(found.learned)


@few(30, 60)
@given(st.integers(0, 10**9))
def test_what_a_label_shares_is_counted_right(seed: int) -> None:
    rnd = Random(seed)
    forest = random_forest(rnd)[0]
    slots = rnd.randint(2, 6)
    slot = [rnd.randint(-1, slots - 1) for _ in range(len(forest.classes))]
    part, rest = rnd.randrange(slots), rnd.choice([-1, *range(slots)])
    rest = -1 if rest == part else rest
    bounds = list(zip(forest.offsets, forest.offsets[1:], strict=False))
    records = [r for r, (a, b) in enumerate(bounds) if part in {slot[x] for x in forest.label[a:b].tolist()}]
    arrays = forest.offsets, forest.parent, forest.label, np.array(slot, np.int32)
    given_records = np.array(records, np.int32)
    out, lost, at_record, at_slot, is_lost = count_part(*arrays, slots, given_records, part, rest, True, True)
    expected, gone = shares(forest, slot, slots, records, part, rest)
    assert out.tolist() == expected
    assert lost.tolist() == gone
    assert np.bincount(at_slot, minlength=slots).tolist() == expected[1]
    assert np.bincount(at_slot[is_lost], minlength=slots).tolist() == expected[3]
    assert set(at_record.tolist()) <= set(records)


@settings(max_examples=30)
@given(st.integers(0, 10**9))
def test_pieces_tell_which_classes_are_always_there_once(seed: int) -> None:
    rnd = Random(seed)
    forest = random_forest(rnd)[0] if seed % 3 else whole(rnd)
    found = []
    for first, piece in ((1000, 1000), (1, 2)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(object_rules, "_FIRST_RECORDS", first)
            patch.setattr(object_rules, "_PIECE", piece)
            patch.setattr(traces, "_PIECE", piece)
            found.append((bound_classes(forest), traces.has_traces(forest)))
    assert found[0] == found[1]
    assert found[0][1] == bool(len(traces.Places(forest).traces()[0]))


@settings(max_examples=4)
@given(st.integers(0, 10**9))
def test_more_effort_never_ends_with_a_higher_cost(seed: int) -> None:
    rnd = Random(seed)
    forest, known = random_forest(rnd)
    guarantee = Guarantee(2, m=rnd.randint(2, 3), n=rnd.randint(0, 2))
    if not known or len(forest) < guarantee.k:
        return
    try:
        costs = [search(forest, guarantee, effort=effort, seed=seed % 7).report["cost"] for effort in (1, 2)]
    except GuaranteeError:
        return
    assert costs == sorted(costs, reverse=True)


def test_effort_is_a_number_of_rounds_and_says_what_it_gained() -> None:
    forest = ta.read("samples/patients.xml", ta.Schema.load("schemas/hospital-xml.toml"))[:25]
    found = {effort: search(forest, Guarantee(4), effort=effort).report for effort in (0.1, 1, 4)}
    assert found[0.1]["walks"] < found[1]["walks"]
    # A round may have a few walks less: what two of its walks would both do is done once.
    assert 3.5 < found[4]["walks"] / found[1]["walks"] < 4.5
    assert found[4]["gained"] >= 0 and "gained" not in found[1]
    assert found[4]["cost"] <= found[1]["cost"]

"""Walks of the default search: what they are offered, and where they end."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from tests.support.search_strategies import random_forest
from treeanon.algorithms.tree.default.greedy_walk import Order, Tree, Walk
from treeanon.algorithms.tree.default.indexed_forest import IndexedForest
from treeanon.algorithms.tree.default.maximal import search
from treeanon.algorithms.tree.default.pair_support import PairSupports
from treeanon.algorithms.tree.default.shared_state import WalkState
from treeanon.errors import GuaranteeError
from treeanon.metrics import label_losses
from treeanon.privacy import Guarantee


@settings(max_examples=40)
@given(st.integers(0, 10**9))
def test_walks_end_the_same_where_rare_labels_are_offered_too(seed: int) -> None:
    rnd = Random(seed)
    forest, _ = random_forest(rnd)
    guarantee = Guarantee(rnd.randint(2, 5), m=rnd.randint(1, 3), n=rnd.randint(0, 2))
    indexed = IndexedForest.of(forest, guarantee)
    facts = PairSupports(indexed, guarantee) if PairSupports.fit(indexed, guarantee) and seed % 2 else None
    weights = tuple(rnd.choice([0.1, 1.0, 10.0]) for _ in forest.classes.names)
    order = Order(weights, split=rnd.random() < 0.5, again=rnd.random() < 0.3)
    ends = [
        Walk(
            WalkState(indexed, guarantee, facts),
            Tree(indexed, label_losses(forest.classes), forest.classes.class_of, k),
            order,
        ).run()
        for k in (1, guarantee.k)
    ]
    assert ends[0].cut == ends[1].cut
    assert ends[0].mapping.tolist() == ends[1].mapping.tolist()
    assert all(indexed.held[label] >= guarantee.k for _, label in ends[1].refused)


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
    forest = ta.read("samples/patients.xml", ta.Schema.load("schemas/hospital-xml.toml"))[:12]
    found = {effort: search(forest, Guarantee(4), effort=effort).report for effort in (0.1, 1, 4)}
    assert found[0.1]["walks"] < found[1]["walks"]
    # A round may have a few walks less: what two of its walks would both do is done once.
    assert 3.5 < found[4]["walks"] / found[1]["walks"] < 4.5
    assert found[4]["gained"] >= 0 and "gained" not in found[1]
    assert found[4]["cost"] <= found[1]["cost"]

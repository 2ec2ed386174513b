"""The parts of the exchange search, against obvious code: assignments, the walk through all tuples, the bound."""

from __future__ import annotations

from itertools import combinations_with_replacement
from random import Random

import numpy as np
import pytest

from tests.algorithms.table.freeform.test_exchange import random_rows, table_of
from tests.reference.exchange import least_cost as slow_least
from tests.reference.onedim import random_table
from tests.support.strategies import properties
from treeanon.algorithms.table.freeform.exchange import Classes
from treeanon.algorithms.table.freeform.exchange_parts import Tuples, guided, least_cost, made_anew, reassigned
from treeanon.algorithms.table.freeform.graph import prices_of, rings
from treeanon.algorithms.table.registry import STYLES
from treeanon.kernels.table.exchange_walk import NEVER, fill_offers, worthiest
from treeanon.kernels.table.freeform_prices import rows_cost
from treeanon.kernels.table.orders import SETS
from treeanon.table import Table


def never() -> bool:
    return False


def tuples_of(table: Table, k: int, form: str, style: str) -> Tuples:
    prices = prices_of(table, form, style)
    edges = rings(np.arange(len(table)), np.array([len(table)]), k)
    return Classes.of_rows(prices).tuples(prices, edges)


def random_tuples(rnd: Random) -> Tuples:
    rows = rnd.randint(2, 12)
    table = random_table(rnd, rows, inner=True)
    return tuples_of(table, rnd.randint(2, min(rows, 5)), rnd.choice(["taxonomy", "set"]), rnd.choice(STYLES))


def covers_as_much(tuples: Tuples, members: np.ndarray) -> bool:
    counts = [np.bincount(own.ravel(), minlength=len(tuples.most)) for own in (tuples.members, members)]
    own = [max(np.bincount(held, minlength=len(tuples.most)) - tuples.most) for held in members]
    return np.array_equal(*counts) and max(own) <= 0


def what_is_offered(rnd: Random) -> None:
    tuples = random_tuples(rnd)
    prices, members, most = tuples.prices, tuples.members, tuples.most
    count, k = members.shape
    given = np.array([rnd.randrange(k) for _ in range(count)])
    costs = np.empty((count, count))
    fill_offers(prices, members, given, most, np.zeros(0), costs)
    for t in range(count):
        others = np.delete(members[t], given[t])
        before = rows_cost(prices, others, k - 1)
        for u in range(count):
            own = np.append(others, members[u, given[u]]).astype(np.int32)
            expected = rows_cost(prices, own, k) - before if covers(most, own) else NEVER
            assert costs[t, u] == pytest.approx(expected, abs=1e-9)


def what_is_rare_costs_more(rnd: Random) -> None:
    """With soft costs, a set is asked a share of a new value's cost for one that it has, the less the more have it."""
    tuples = random_tuples(rnd)
    prices, members, most = tuples.prices, tuples.members, tuples.most
    count, k = members.shape
    given, soft = np.array([rnd.randrange(k) for _ in range(count)]), np.append(0.0, 0.5 / np.arange(1, k + 1))
    hard, costs = np.empty((count, count)), np.empty((count, count))
    fill_offers(prices, members, given, most, np.zeros(0), hard)
    fill_offers(prices, members, given, most, soft, costs)
    for t in range(count):
        others = np.delete(members[t], given[t])
        for u in range(count):
            more, offered = 0.0, members[u, given[u]]
            for c in np.flatnonzero((prices.kinds == SETS) & (np.diff(prices.bounds) > 1)):
                alike = int((prices.values[others, c] == prices.values[offered, c]).sum())
                more += soft[alike] * prices.shares[prices.starts[c]] if alike else 0.0
            assert costs[t, u] == pytest.approx(hard[t, u] + more * (hard[t, u] < NEVER), abs=1e-9)


test_rare, test_rare_thoroughly = properties(what_is_rare_costs_more, 40, 1000)
test_offers, test_offers_thoroughly = properties(what_is_offered, 30, 1000)


def given_out_again(rnd: Random) -> None:
    """Whoever gives away and gets covers as much in all, and what is given out again never costs more."""
    tuples = random_tuples(rnd)
    found = reassigned(tuples.prices, tuples.members, tuples.most, rnd.randrange(100), never)
    assert covers_as_much(tuples, found)
    cost = sum(rows_cost(tuples.prices, own, len(own)) for own in found)
    assert cost <= tuples.costs.sum() + 1e-9
    assert covers_as_much(tuples, guided(tuples.prices, tuples.members, tuples.most, rnd.randrange(100), never))
    made = made_anew(tuples.prices, tuples.members, tuples.most, tuples.places[0], never)
    assert made is None or covers_as_much(tuples, made)
    assert made_anew(tuples.prices, tuples.members, tuples.most, tuples.places[0], lambda: True) is None


test_given_out, test_given_out_thoroughly = properties(given_out_again, 40, 1500)


def all_looked_at(rnd: Random) -> None:
    tuples = random_tuples(rnd)
    prices, most, k = tuples.prices, tuples.most, tuples.members.shape[1]
    # Few different numbers, so that some classes are worth the same.
    worth = np.array([rnd.randint(-2, 6) / 8 for _ in most])
    below = rnd.choice([-0.5, -0.1, 1e9])
    members, left, is_sure = worthiest(prices, most, worth, np.arange(len(most)), k, below, 10**9)
    assert is_sure.all()
    by_worth = np.argsort(-worth, kind="stable").tolist()
    for v in range(len(most)):
        after = by_worth[by_worth.index(v) :]
        others = (
            np.array([v, *own], np.int32)
            for own in combinations_with_replacement(after, k - 1)
            if all(([v, *own]).count(u) <= most[u] for u in {v, *own})
        )
        least = min((rows_cost(prices, own, k) - worth[own].sum() for own in others), default=np.inf)
        assert left[v] == pytest.approx(min(least, below))
        if left[v] < below:
            assert v in members[v] and covers(most, members[v])
            assert rows_cost(prices, members[v], k) - worth[members[v]].sum() == pytest.approx(left[v])
    in_haste = worthiest(prices, most, worth, np.arange(len(most)), k, below, 1)[1:]
    assert all(not sure or few == pytest.approx(all_) for few, sure, all_ in zip(*in_haste, left, strict=True))


def covers(most: np.ndarray, members: np.ndarray) -> bool:
    return bool((np.bincount(members, minlength=len(most)) <= most).all())


test_walk, test_walk_thoroughly = properties(all_looked_at, 30, 1000)


@pytest.mark.parametrize("seed", range(8))
def test_no_graph_costs_less_than_the_bound(seed: int) -> None:
    rnd = Random(seed)
    sizes, k = [3, 5], 2 + seed % 2
    rows = random_rows(rnd, 6 + seed % 3, sizes)
    tuples = tuples_of(table_of(rows, sizes), k, "set", "sets")
    least = slow_least(rows, sizes, k)
    bound = least_cost(tuples, 2.0)
    assert 0.6 * least <= bound <= least + 1e-9
    assert least_cost(tuples, 0.0, looks=1) <= least + 1e-9


def test_bounds_where_nothing_costs_anything() -> None:
    assert least_cost(tuples_of(table_of([("1",)] * 4, [3]), 2, "set", "sets"), 1.0) == pytest.approx(0, abs=1e-9)
    assert least_cost(tuples_of(table_of([("1",), ("2",)], [3]), 1, "set", "sets")) == 0

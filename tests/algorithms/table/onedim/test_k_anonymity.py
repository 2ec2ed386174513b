"""Groups of rows in a one-dimensional order: the best there are, and what is published of them."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest

from tests.reference.onedim import PATHS, best_run, group_loss, partitions, random_table
from tests.support.strategies import properties
from treeanon.algorithms.table.onedim import costs as cuts
from treeanon.algorithms.table.onedim.costs import table_costs
from treeanon.algorithms.table.onedim.k_anonymity import search
from treeanon.algorithms.table.onedim.orders import ORDERS, ordered
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import table_algorithm_named
from treeanon.algorithms.table.result import STYLES
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table import gcp
from treeanon.privacy.models import DistinctDiversity, KAnonymity
from treeanon.table import Table
from treeanon.verifier.table import check

NAMES = ["onedim", "hilbert", "hilbert-fast", "idistance", "idistance-fast"]
FORMS = ["taxonomy", "set", "free"]
LETTERS = Hierarchy.flat("abc")


def letters(*texts: str | None) -> Table:
    return Table.of_texts({"x": (texts, LETTERS)})


def released(problem: Problem, found) -> Table:
    """What is published: of all rows, in groups of k, each with what its rows were."""
    table, k = problem.table, max((model.k for model in problem.models), default=1)
    recoded, rows = found.recoded(table)
    assert rows.tolist() == list(range(len(table)))
    assert not found.suppressed
    assert all(one.holds for one in check(recoded, problem.models))
    looks = list(zip(*(column.texts() for column in recoded.quasi), strict=True))
    assert min(Counter(looks).values(), default=k) >= k
    assert all(k <= size < 2 * k for size in Counter(found.group.tolist()).values())
    return recoded


def best_of_the_order(rnd: Random) -> None:
    table = random_table(rnd, rnd.randint(1, 10), inner=True)
    k, form, style, order = rnd.randint(1, 4), rnd.choice(FORMS), rnd.choice(STYLES), rnd.choice(ORDERS)
    problem = Problem(table, (KAnonymity(k),))
    if len(table) < k:
        with pytest.raises(GuaranteeError, match="cannot be"):
            search(problem)
        return
    found = search(problem, order=order, form=form, style=style)
    table_released = released(problem, found)
    rows = ordered(table, order, k=k, form=form, style=style).rows.tolist()
    least = best_run(lambda start, stop: group_loss(table, rows[start:stop], form, style), len(rows), k)
    cells = len(rows) * len(table.quasi)
    assert found.counts["gcp"] == pytest.approx(float(least) / cells)
    assert gcp(table_released, form=form) == pytest.approx(float(least) / cells)
    # Groups follow each other in the order.
    in_order = found.group[rows]
    assert 1 + np.count_nonzero(np.diff(in_order)) == len(set(in_order.tolist()))


test_best_of_the_order, test_best_of_the_order_thoroughly = properties(best_of_the_order, 75, 3000)


def never_below_the_best(rnd: Random) -> None:
    """No order and no fast variant beats the best of all partitions."""
    table = random_table(rnd, rnd.randint(1, 6))
    k = rnd.randint(1, min(3, len(table)))
    problem = Problem(table, (KAnonymity(k),))
    ways = [way for way in partitions(list(range(len(table)))) if all(len(group) >= k for group in way)]
    least = min(sum(group_loss(table, group, "taxonomy", "auto") for group in way) for way in ways)
    for name in NAMES:
        recoded = released(problem, table_algorithm_named(name).search(problem))
        assert gcp(recoded) * len(table) * len(table.quasi) >= float(least) - 1e-9


test_never_below_the_best, test_never_below_the_best_thoroughly = properties(never_below_the_best, 40, 600)


def test_neighbors_alone_are_not_always_best() -> None:
    """The best partition of a single column of numbers can have a group within the range of another."""
    texts = ["0", "1", "1", "1", "2"]
    table = Table.of_texts({"x": (texts, Hierarchy.flat("012"))})

    def cost(group: list[int]) -> object:
        return group_loss(table, group, "set", "ranges")

    ways = [way for way in partitions(list(range(5))) if all(len(group) >= 2 for group in way)]
    assert min(sum(map(cost, way)) for way in ways) == cost([0, 4]) + cost([1, 2, 3]) == 2
    found = search(Problem(table, (KAnonymity(2),)), form="set", style="ranges")
    assert found.counts["gcp"] * 5 == pytest.approx(2.5)


def test_fast_variants_cut_by_places() -> None:
    rnd = Random(7)
    for name in ("hilbert", "idistance"):
        table = random_table(rnd, 40)
        order = ordered(table, name)
        assert (np.diff(order.places) >= 0).all()
        least = best_run(lambda a, b, at=order.places: (b - a) * (at[b - 1] - at[a]), 40, 3)
        group = search(Problem(table, (KAnonymity(3),)), order=name, fast=True).group
        places = np.empty(40)
        places[order.rows] = order.places
        owns = [places[group == g] for g in range(group.max() + 1)]
        assert sum(len(own) * (own.max() - own.min()) for own in owns) == pytest.approx(least)


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(Random(3), 500)
    costs = cuts.ncp_costs(table_costs(table, "taxonomy", "auto"), ordered(table).rows)
    whole = cuts.best_cuts(costs, 500, 4)
    monkeypatch.setattr(cuts, "_CELLS", 150)
    parts = cuts.best_cuts(costs, 500, 4)
    assert whole[0] == parts[0]
    assert whole[1].tolist() == parts[1].tolist()


def test_what_a_sample_says_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(Random(4), 6000)
    costs, rows = table_costs(table, "set", "sets"), np.arange(6000)
    whole = cuts.sampled_loss(costs, rows, 5)
    monkeypatch.setattr(cuts, "_SAMPLED", 5 * 3000)
    assert cuts.sampled_loss(costs, rows, 5) == pytest.approx(whole, rel=0.05)
    assert cuts.sampled_loss(costs, rows[:0], 5) == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_odd_tables(name: str) -> None:
    search_named = table_algorithm_named(name).search
    assert search_named(Problem(letters(), (KAnonymity(2),))).group.tolist() == []
    assert search_named(Problem(letters("a"), (KAnonymity(1),))).group.tolist() == [0]
    assert len(set(search_named(Problem(letters("a", "b", "a"), ())).group.tolist())) == 3
    same = Problem(letters(*"aaaaaaa"), (KAnonymity(3),))
    assert gcp(released(same, search_named(same))) == 0.0
    gone = Problem(letters(None, None, None, "a", "a"), (KAnonymity(2),))
    assert gcp(released(gone, search_named(gone))) == 0.0
    constant = Table.of_texts({"x": (["only", None, "only", None], Hierarchy.from_paths(PATHS[3]))})
    released(Problem(constant, (KAnonymity(2),)), search_named(Problem(constant, (KAnonymity(2),))))
    with pytest.raises(GuaranteeError, match="2 persons cannot be 3-anonymous"):
        search_named(Problem(letters("a", "b"), (KAnonymity(3),)))


def test_groups_of_the_largest_k_asked_for() -> None:
    found = search(Problem(letters(*"abcabc"), (KAnonymity(2), KAnonymity(3))))
    assert set(Counter(found.group.tolist()).values()) == {3}


def test_what_it_is_not_for() -> None:
    columns = {"x": (["a", "b"], LETTERS), "y": (["a", "b"], LETTERS)}
    table = Table.of_texts(columns, roles={"y": "sensitive"})
    several = Table(letters("a", "b").columns, np.array([0, 0], np.int32))
    for problem in (Problem(table, (KAnonymity(2), DistinctDiversity(2))), Problem(several, (KAnonymity(1),))):
        for given in ({"fast": True}, {"look_back": 2}):
            with pytest.raises(UsageError, match="one row a person"):
                search(problem, **given)
    single = Table(letters("a", "b").columns, np.array([0, 1], np.int32))
    assert search(Problem(single, (KAnonymity(2),))).group.tolist() == [0, 0]
    with pytest.raises(UsageError, match="form of NCP"):
        search(Problem(table, ()), form="other")


def swaps_lose_less(rnd: Random) -> None:
    """Groups keep their sizes, lose no more than before, and as much as is told."""
    rnd = Random(rnd.getrandbits(32))
    table, k = random_table(rnd, rnd.choice([6, 12, 40])), rnd.randint(1, 3)
    form, order = rnd.choice(["taxonomy", "set"]), rnd.choice(["hilbert", "adaptive"])
    problem = Problem(table, (KAnonymity(k),))
    before = search(problem, order=order, form=form)
    after = search(problem, order=order, form=form, look_back=rnd.choice([1, 3]))
    assert after.counts["gcp"] <= before.counts["gcp"] + 1e-9
    assert sorted(np.bincount(after.group).tolist()) == sorted(np.bincount(before.group).tolist())
    assert gcp(after.recoded(table)[0], form=form) <= after.counts["gcp"] + 1e-9


test_swaps, test_swaps_thoroughly = properties(swaps_lose_less, 30, 800)

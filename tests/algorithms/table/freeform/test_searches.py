"""Freeform searches: regular graphs, what they cost, and what is published of them."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial
from itertools import permutations
from random import Random

import numpy as np
import pytest

from tests.reference.freeform import (
    compatible,
    graph_loss,
    greedy_by_originals,
    in_matchings,
    is_regular,
    least_loss,
    tuple_loss,
)
from tests.reference.onedim import group_loss, random_table
from tests.support.strategies import properties
from treeanon.algorithms.table.freeform import optimal
from treeanon.algorithms.table.freeform.graph import Block, prices_of
from treeanon.algorithms.table.freeform.heuristics import greedy, greedy_sorted, hungarian, ring
from treeanon.algorithms.table.onedim import k_anonymity
from treeanon.algorithms.table.onedim.orders import Points, few_values_first
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import STYLES, table_algorithm_named
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table import gcp
from treeanon.privacy.models import DistinctDiversity, FrequencyDiversity, KAnonymity, TCloseness
from treeanon.privacy.models.model import BaseModel
from treeanon.release.table_request import TableRequest
from treeanon.table import Table
from treeanon.verifier.freeform import verify_edges, verify_freeform

FORMS = ["taxonomy", "set", "free"]
SEARCHES = {
    "freeform-greedy": greedy,
    "freeform-sort": greedy_sorted,
    "freeform-hungarian": hungarian,
    "freeform-optimal": optimal.search,
    "ring": ring,
    "freeform-nh": partial(ring, grouped=True),
}
FAST = {name: search for name, search in SEARCHES.items() if name != "freeform-optimal"}
FAST["freeform-greedy by=original"] = partial(greedy, by="original")
BLOCKS = {"freeform-greedy", "freeform-greedy by=original", "freeform-sort", "freeform-hungarian"}
LETTERS = Hierarchy.flat("abc")


def letters(*texts: str | None) -> Table:
    return Table.of_texts({"x": (texts, LETTERS)})


def edges_of(found) -> list[tuple[int, ...]]:
    return [tuple(own) for own in found.graph.edges.tolist()]


def with_values(table: Table, values: str) -> Table:
    own = Table.of_texts({"s": (values, Hierarchy.flat("pqrst"))}, roles={"s": "sensitive"})
    return Table((*table.columns, *own.columns))


def released(problem: Problem, found, form: str) -> Table:
    """What is published, looked at from all sides."""
    table, k = problem.table, max((model.k for model in problem.models if isinstance(model, KAnonymity)), default=1)
    edges = edges_of(found)
    assert is_regular(edges, found.graph.k) and found.graph.k >= k
    recoded, rows = found.recoded(table)
    assert rows.tolist() == list(range(len(table))) and found.suppressed == 0 and found.as_dict() == {}
    original = found.original.tolist()
    assert sorted(original) == list(range(len(table)))
    assert all(i in own for i, own in zip(original, edges, strict=True))
    # The attacker's graph has ours in it, and the true pairs; every pair of ours is in a perfect matching.
    fits = compatible(table, recoded)
    for j, own in enumerate(edges):
        assert set(own) <= set(fits[original[j]])
    assert verify_edges(found.graph.edges, k, behind=found.original).holds
    assert verify_freeform(table, recoded, k).holds
    assert gcp(recoded, form=form) == pytest.approx(found.counts["gcp"])
    return recoded


def regular_and_as_cheap_as_said(rnd: Random) -> None:
    table = random_table(rnd, rnd.randint(1, 12), inner=True)
    k, form, style = rnd.randint(1, 4), rnd.choice(FORMS), rnd.choice(STYLES)
    name = rnd.choice(sorted(FAST))
    problem = Problem(table, (KAnonymity(k),))
    options = {"block": rnd.randint(2, 12)} if name in BLOCKS else {}
    if len(table) < k:
        with pytest.raises(GuaranteeError, match="cannot be"):
            FAST[name](problem, form=form, style=style)
        return
    found = FAST[name](problem, form=form, style=style, **options)
    assert found.algorithm == name.partition(" ")[0]
    released(problem, found, form)
    cells = len(table) * len(table.quasi)
    assert found.counts["gcp"] * cells == pytest.approx(float(graph_loss(table, edges_of(found), form, style)))


test_regular, test_regular_thoroughly = properties(regular_and_as_cheap_as_said, 75, 3000)


def never_below_the_optimum(rnd: Random) -> None:
    table = random_table(rnd, rnd.randint(1, 5), inner=True)
    k, form, style = rnd.randint(1, min(3, len(table))), rnd.choice(FORMS), rnd.choice(STYLES)
    problem = Problem(table, (KAnonymity(k),))
    least = float(least_loss(table, k, form, style)) / (len(table) * len(table.quasi))
    found = optimal.search(problem, form=form, style=style)
    assert found.counts["is_optimal"] and found.counts["gap"] == 0
    assert found.counts["gcp"] == pytest.approx(least, abs=1e-6)
    if k > 1:
        # What is proven without it is so by the program, too.
        _, bound = optimal.Program(Block(prices_of(table, form, style), k)).solved(60.0)
        assert bound == pytest.approx(least * len(table) * len(table.quasi), abs=1e-5)
    released(problem, found, form)
    for search in FAST.values():
        assert search(problem, form=form, style=style).counts["gcp"] >= least - 1e-9


test_optimum, test_optimum_thoroughly = properties(never_below_the_optimum, 25, 500)


def originals_take_tuples(rnd: Random) -> None:
    """As the plain twin has it, dead ends and all, in the order of the rows sorted."""
    table = random_table(rnd, rnd.randint(2, 9))
    k, form, style = rnd.randint(2, min(5, len(table))), rnd.choice(FORMS), rnd.choice(STYLES)
    table = table.take(np.array(greedy_order(table)))
    expected, dead_ends = greedy_by_originals(len(table), k, lambda own: tuple_loss(table, own, form, style))
    found = greedy(Problem(table, (KAnonymity(k),)), form=form, style=style, by="original")
    if expected is None:
        assert found.counts["chains"] > 0 and is_regular(edges_of(found), k)
    else:
        assert edges_of(found) == expected
        assert (found.counts["dead_ends"], found.counts["chains"]) == (dead_ends, 0)


test_originals, test_originals_thoroughly = properties(originals_take_tuples, 75, 3000)


def each_choice_is_a_cheapest(rnd: Random) -> None:
    """Greedy again from its edges: each round, in its order, every tuple took an original that cost it least."""
    table = random_table(rnd, rnd.randint(2, 10))
    k, form, style = rnd.randint(1, min(4, len(table))), rnd.choice(FORMS), rnd.choice(STYLES)
    name = rnd.choice(["freeform-greedy", "freeform-sort"])
    found = FAST[name](Problem(table, (KAnonymity(k),)), form=form, style=style)
    if found.counts["dead_ends"]:
        return
    edges = edges_of(found)
    assert [own[0] for own in edges] == list(range(len(table)))

    def step(j: int, number: int, i: int) -> Fraction:
        own = edges[j][:number]
        return tuple_loss(table, [*own, i], form, style) - tuple_loss(table, own, form, style)

    for number in range(1, k):
        free, left = set(range(len(table))), set(range(len(table)))
        costs = {(j, i): step(j, number, i) for j in left for i in free if i not in edges[j][:number]}
        if name == "freeform-sort":
            while left:
                least = min(cost for (j, i), cost in costs.items() if j in left and i in free)
                taken = [j for j in left if costs[j, edges[j][number]] == least]
                assert taken, "an edge of the least cost was there, and none was taken"
                left.remove(taken[0])
                free.remove(edges[taken[0]][number])
        else:
            for j in greedy_order(table):
                assert costs[j, edges[j][number]] == min(costs[j, i] for i in free if (j, i) in costs)
                free.remove(edges[j][number])


def greedy_order(table: Table) -> list[int]:
    points = Points.of(table)
    columns = few_values_first(points).tolist()
    return sorted(range(len(table)), key=lambda r: [points.points[r, c] for c in columns])


test_cheapest, test_cheapest_thoroughly = properties(each_choice_is_a_cheapest, 40, 2000)


def test_hungarian_rounds_are_best_assignments() -> None:
    table = random_table(Random(5), 6)
    edges = edges_of(hungarian(Problem(table, (KAnonymity(3),)), form="set", style="sets"))
    for number in (1, 2):

        def whole(order: tuple[int, ...], number: int = number) -> Fraction:
            return sum(tuple_loss(table, [*edges[j][:number], i], "set", "sets") for j, i in enumerate(order))

        allowed = (
            order for order in permutations(range(6)) if all(order[j] not in edges[j][:number] for j in range(6))
        )
        assert whole(tuple(own[number] for own in edges)) == min(map(whole, allowed))


@pytest.mark.parametrize("rows", range(3, 12))
def test_dead_ends_are_survived(rows: int) -> None:
    """With all rows alike, whoever comes last finds only what it has: the lemma bounds how far it is gone back."""
    same = letters(*"a" * rows)
    for name in ("freeform-greedy", "freeform-sort"):
        for k in range(1, rows + 1):
            found = FAST[name](Problem(same, (KAnonymity(k),)))
            assert gcp(released(Problem(same, (KAnonymity(k),)), found, "taxonomy")) == 0.0
            assert found.counts["gone_back"] <= 2 * (k - 1)
            if rows > 3 * (k - 1):
                assert found.counts["chains"] == 0


def test_dead_ends_occur() -> None:
    ends = chains = 0
    for seed in range(60):
        table = random_table(Random(seed), 9)
        for k in (3, 7, 8):
            problem = Problem(table, (KAnonymity(k),))
            found = greedy(problem)
            released(problem, found, "taxonomy")
            ends += found.counts["dead_ends"]
            chains += found.counts["chains"]
            assert found.counts["gone_back"] <= 2 * (k - 1)
    assert ends > 50 and chains > 0


def test_rings_never_cost_more_than_the_groups() -> None:
    for seed in range(20):
        table = random_table(Random(seed), 30)
        problem = Problem(table, (KAnonymity(4),))
        groups = k_anonymity.search(problem, order="hilbert", form="set", style="sets")
        found = ring(problem, form="set", style="sets", grouped=True)
        assert found.counts["groups"] == groups.counts["groups"]
        assert found.counts["gcp"] <= groups.counts["gcp"] + 1e-9
        own = groups.group.tolist()
        assert all(own[i] == own[j] for j, held in enumerate(edges_of(found)) for i in held)
        assert group_loss(table, range(30), "set", "sets") >= found.counts["gcp"]


@pytest.mark.parametrize("name", sorted(SEARCHES))
def test_odd_tables(name: str) -> None:
    search = SEARCHES[name]
    assert len(search(Problem(letters(), (KAnonymity(2),))).recoded(letters())[0]) == 0
    for table in (letters("a"), letters("a", None, "b"), letters(None, None, None, "a", "a"), letters(*"abcabca")):
        for k in {1, min(2, len(table)), len(table)}:
            problem = Problem(table, (KAnonymity(k),))
            found = search(problem)
            recoded = released(problem, found, "taxonomy")
            if k == 1:
                assert list(recoded.rows()) == list(table.rows())
            if k == len(table):
                assert len(set(recoded.rows())) == 1
    assert search(Problem(letters("a", "b"), ())).graph.k == 1
    with pytest.raises(GuaranteeError, match="2 persons cannot be 3-anonymous"):
        search(Problem(letters("a", "b"), (KAnonymity(3),)))
    several = Table(letters("a", "b").columns, np.array([0, 0], np.int32))
    with pytest.raises(UsageError, match="one row a person"):
        search(Problem(several, (KAnonymity(1),)))
    single = Table(letters("a", "b").columns, np.array([1, 0], np.int32))
    assert len(search(Problem(single, (KAnonymity(2),))).recoded(single)[0]) == 2


def test_what_is_not_generalized_goes_with_its_row() -> None:
    table = with_values(letters(*"abcab"), "pqrst")
    found = greedy(Problem(table, (KAnonymity(2),)))
    recoded = found.recoded(table)[0]
    assert recoded.column("s").texts() == list("pqrst")
    assert [json_of(text) for text in recoded.column("x").texts()] != list("abcab")
    assert all(value in json_of(text) for text, value in zip(recoded.column("x").texts(), "abcab", strict=True))


def json_of(text: str) -> list[str]:
    return json.loads(text) if text.startswith("[") else [text]


@pytest.mark.parametrize("name", [*SEARCHES, "freeform"])
def test_models_of_sensitive_columns_are_refused_as_a_request_refuses_them(name: str) -> None:
    table = with_values(letters(*"abcabcabcabc"), "pqrs" * 3)
    for model in (DistinctDiversity(2), FrequencyDiversity(1), TCloseness(0.5), DistinctDiversity(2, column="s")):
        with pytest.raises(UsageError, match=f"^{name} gives k-anonymity alone") as refused:
            table_algorithm_named(name).search(Problem(table, (KAnonymity(3), model)))
        with pytest.raises(UsageError) as asked:
            TableRequest((KAnonymity(3), model), name)
        assert str(refused.value) == str(asked.value)


class Wide(KAnonymity):
    """k-anonymity by another class is still that."""


class Even(BaseModel):
    """A model of the sizes of groups that no freeform search knows."""

    name = "evenness"


def test_models_that_are_not_k_anonymity_are_refused() -> None:
    table = letters(*"abcabc")
    assert is_regular(edges_of(greedy(Problem(table, (KAnonymity(2), Wide(3))))), 3)
    for search in SEARCHES.values():
        with pytest.raises(UsageError, match="k-anonymity alone, not for evenness"):
            search(Problem(table, (KAnonymity(2), Even())))


def test_what_cannot_be() -> None:
    two = letters("a", "b")
    with pytest.raises(UsageError, match="two rows"):
        greedy(Problem(two, (KAnonymity(1),)), block=1)
    with pytest.raises(UsageError, match="at most 400 rows"):
        optimal.search(Problem(letters(*"a" * 401), (KAnonymity(2),)))
    with pytest.raises(UsageError, match="form of NCP"):
        greedy(Problem(two, ()), form="other")


def test_optimal_in_no_time_is_never_worse_than_the_others() -> None:
    table = random_table(Random(3), 25)
    problem = Problem(table, (KAnonymity(4),))
    found = optimal.search(problem, seconds=0.01)
    released(problem, found, "taxonomy")
    others = [hungarian(problem).counts["gcp"], greedy(problem).counts["gcp"]]
    assert found.counts["gcp"] <= min(others) + 1e-9
    assert 0 <= found.counts["gap"] <= 1


def test_pairs_that_are_in_matchings() -> None:
    table = random_table(Random(8), 7)
    found = greedy(Problem(table, (KAnonymity(3),)))
    edges = edges_of(found)
    assert in_matchings(edges) == {(j, i) for j, own in enumerate(edges) for i in own}

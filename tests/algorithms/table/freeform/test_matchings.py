"""The drawing of who is behind each published tuple: all of the k are equally likely."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest

from tests.reference.freeform import is_regular, perfect_matchings, regular_graphs
from tests.support.strategies import properties
from treeanon.algorithms.table.freeform.graph import Graph, drawn_matchings, drawn_originals, rings
from treeanon.kernels.table import freeform_rounds
from treeanon.randomness import Randomness

NOTHING = np.zeros(0, np.int32)


def random_graph(rnd: Random, rows: int, k: int) -> Graph:
    """A regular graph: k permutations, none of which agrees with another anywhere."""
    edges = rings(np.array(rnd.sample(range(rows), rows)), np.array([rows]), k)
    # Exchanges of edges keep it regular.
    for _ in range(10 * rows):
        a, b = rnd.randrange(rows), rnd.randrange(rows)
        i, j = rnd.randrange(k), rnd.randrange(k)
        if edges[b, j] not in edges[a] and edges[a, i] not in edges[b]:
            edges[a, i], edges[b, j] = edges[b, j], edges[a, i]
    return Graph(edges[rnd.sample(range(rows), rows)])


def graph_in_parts(rnd: Random, rows: int, k: int) -> Graph:
    """A regular graph that need not be connected."""
    own = random_graph(rnd, rows, k).edges
    return Graph(np.concatenate([own, own + rows]) if rnd.random() < 0.5 else own)


def matchings_divide_the_graph(rnd: Random) -> None:
    rows = rnd.randint(1, 14)
    k = rnd.randint(1, rows)
    graph = graph_in_parts(rnd, rows, k)
    assert graph.is_regular and is_regular([tuple(own) for own in graph.edges.tolist()], k)
    before = graph.edges.copy()
    found = drawn_matchings(graph, Randomness(rnd.getrandbits(30) if rnd.random() < 0.5 else None))
    assert (graph.edges == before).all()
    for r in range(k):
        assert sorted(found.original[:, r].tolist()) == list(range(len(graph)))
    assert (np.sort(found.original, axis=1) == np.sort(graph.edges, axis=1)).all()
    # Tuples with a common original are of one part, and parts have no original in common.
    of_original = [{int(found.part[j]) for j in np.flatnonzero((before == i).any(axis=1))} for i in range(len(graph))]
    assert all(len(parts) == 1 for parts in of_original)
    assert set(found.part.tolist()) == set(range(found.parts))
    chosen = found.chosen(Randomness())
    assert sorted(chosen.tolist()) == list(range(len(graph)))
    assert all(i in own for i, own in zip(chosen.tolist(), before.tolist(), strict=True))


test_divided, test_divided_thoroughly = properties(matchings_divide_the_graph, 50, 2000)


def within_chance(counts: Counter, total: int, outcomes: int) -> bool:
    """Whether counts are those of equally likely outcomes: chi-square at far less than one in a million."""
    expected = total / outcomes
    chi = sum((count - expected) ** 2 / expected for count in counts.values()) + expected * (outcomes - len(counts))
    return chi < outcomes - 1 + 6 * (2 * (outcomes - 1)) ** 0.5 + 20


@pytest.mark.parametrize(("rows", "k"), [(4, 2), (5, 3), (6, 3), (5, 5), (7, 4)])
def test_each_original_is_equally_likely(rows: int, k: int) -> None:
    graph, total = random_graph(Random(rows * k), rows, k), 3000
    drawn = [tuple(drawn_originals(graph, Randomness(seed)).tolist()) for seed in range(total)]
    for j in range(rows):
        counts = Counter(found[j] for found in drawn)
        assert set(counts) == set(graph.edges[j].tolist())
        assert within_chance(counts, total, k)
    for i in range(rows):
        counts = Counter(found.index(i) for found in drawn)
        assert within_chance(counts, total, k)
    # It is not just k of the perfect matchings that come up.
    assert set(drawn) == set(perfect_matchings(graph.edges.tolist()))


def test_each_original_is_equally_likely_whichever_way_the_graph_is_divided() -> None:
    graph = random_graph(Random(3), 6, 3)
    found = drawn_matchings(graph, Randomness(1))
    counts: list[Counter] = [Counter() for _ in range(6)]
    for seed in range(3000):
        for j, i in enumerate(found.chosen(Randomness(seed)).tolist()):
            counts[j][i] += 1
    assert all(within_chance(own, 3000, 3) for own in counts)


def test_in_every_small_graph_every_pair_is_drawn() -> None:
    for rows, k in ((3, 2), (4, 2), (4, 3), (5, 2)):
        for edges in regular_graphs(rows, k):
            graph = Graph(np.array(edges, np.int32))
            seen = {
                (j, i) for seed in range(60) for j, i in enumerate(drawn_originals(graph, Randomness(seed)).tolist())
            }
            assert seen == {(j, i) for j, own in enumerate(edges) for i in own}


def test_parts_are_drawn_for_apart() -> None:
    graph = Graph(np.array([[0, 1], [1, 0], [2, 3], [3, 2]], np.int32))
    drawn = Counter(tuple(drawn_originals(graph, Randomness(seed)).tolist()) for seed in range(800))
    assert set(drawn) == {(0, 1, 2, 3), (1, 0, 2, 3), (0, 1, 3, 2), (1, 0, 3, 2)}
    assert within_chance(drawn, 800, 4)


@pytest.mark.parametrize("seed", range(10))
def test_how_many_matchings_there_are_for_those_who_know_some_tuples(seed: int) -> None:
    """By which the docstring says what whose one tuple is tells of others: all of a part for k = 2, not for more."""
    rnd = Random(seed)
    for k, rows in ((2, rnd.randint(2, 8)), (3, rnd.randint(3, 8)), (5, rnd.randint(5, 8))):
        graph = random_graph(rnd, rows, k)
        found, parts = perfect_matchings(graph.edges.tolist()), drawn_matchings(graph, Randomness()).parts
        if k == 2:
            assert len(found) == 2**parts
        assert len(found) >= ((k - 1) ** (k - 1) / k ** (k - 2)) ** rows


def test_few_draws_at_a_time_suffice() -> None:
    """A walk that the draws do not suffice for begins anew with others, and nothing is lost."""
    graph, rows = random_graph(Random(9), 30, 3), 30
    owner, slot = np.full(rows, -1, np.int32), np.full(rows, -1, np.int32)
    done, rounds = 0, 0
    randomness = Randomness(4)
    while done < rows:
        draws = randomness.draws(8)
        done = freeform_rounds.go_on_matching(graph.edges, 3, np.arange(rows), done, owner, slot, draws)
        rounds += 1
    assert rounds > 4
    assert sorted(graph.edges[np.arange(rows), slot].tolist()) == list(range(rows))
    assert (owner[graph.edges[np.arange(rows), slot]] == np.arange(rows)).all()


def test_seeds_are_for_tests_and_draws_differ_without() -> None:
    graph = random_graph(Random(2), 40, 4)
    seeded = [drawn_originals(graph, Randomness(5)).tolist() for _ in range(2)]
    assert seeded[0] == seeded[1]
    assert len({tuple(drawn_originals(graph, Randomness()).tolist()) for _ in range(5)}) > 1


def test_numbers_below_a_limit_are_equally_likely() -> None:
    for limit in (1, 2, 7):
        counts = Counter(Randomness(limit).below(limit, 20_000).tolist())
        assert set(counts) == set(range(limit)) and within_chance(counts, 20_000, limit)
    assert Randomness().below(3, 0).tolist() == []


def test_rings() -> None:
    edges = rings(np.array([4, 2, 0, 1, 3, 5]), np.array([2, 4]), 2)
    assert edges.tolist() == [[0, 1], [1, 3], [2, 4], [3, 5], [4, 2], [5, 0]]
    assert rings(np.zeros(0, np.int64), np.zeros(1, np.int64), 3).shape == (0, 3)

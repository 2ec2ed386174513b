"""One-dimensional orders of rows."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from tests.reference.onedim import entropy, expected_loss, lowest, random_table
from tests.support.diversity_worlds import table_of
from tests.support.strategies import properties
from treeanon.algorithms.table.onedim.costs import ColumnCosts, sampled_loss, scales_of, table_costs
from treeanon.algorithms.table.onedim.l_diversity import search
from treeanon.algorithms.table.onedim.orders import (
    ORDERS,
    Points,
    idistance_order,
    lexicographic_order,
    ordered,
    tuple_keys,
)
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.result import STYLES
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.table.centers import center_tree, nearest_centers
from treeanon.kernels.table.orders import RANGES, Work, column_gain
from treeanon.privacy.models import FrequencyDiversity
from treeanon.table import Table


def equal_rows_side_by_side(rnd: Random) -> None:
    table = random_table(rnd, rnd.randint(0, 40), inner=True)
    for order in ORDERS:
        found = ordered(table, order, k=rnd.randint(1, 5), form=rnd.choice(["set", "taxonomy"]))
        assert sorted(found.rows.tolist()) == list(range(len(table)))
        assert (np.diff(found.places) >= 0).all()
        assert found.points.shape == (len(table), len(table.quasi))
        assert (found.points >= 0).all()
        assert (found.points < found.sizes).all()
        texts = list(table.rows())
        in_order = [texts[row] for row in found.rows.tolist()]
        runs = len(in_order[:1]) + sum(a != b for a, b in pairwise(in_order))
        assert runs == len(set(texts)), order


test_equal_rows_side_by_side, test_equal_rows_thoroughly = properties(equal_rows_side_by_side, 30, 1000)


def test_numbers_rank_by_value_and_others_as_the_hierarchy_has_them() -> None:
    numbers = Hierarchy.flat(["10", "9", "-1"])
    words = Hierarchy.from_paths([["z", "last", "*"], ["a", "last", "*"], ["b", "*"]])
    table = Table.of_texts({"n": (["10", "9", "-1", None], numbers), "w": (["z", "a", "b", "b"], words)})
    assert ordered(table, "user").points.tolist() == [[2, 0], [1, 1], [0, 2], [3, 2]]
    assert ordered(table, "user").sizes.tolist() == [4, 3]
    inner = Table.of_texts({"w": (["last", "z", "b", "*"], words)})
    assert ordered(inner, "user").points[:, 0].tolist() == [1, 2, 4, 0]


def test_a_user_orders_by_columns() -> None:
    few, many = Hierarchy.flat("ab"), Hierarchy.flat("123")
    table = Table.of_texts({"m": (list("123123"), many), "f": (list("abbaab"), few)})
    rows = [tuple(row) for row in table.rows()]

    def column(order, place, **options):
        return [rows[row][place] for row in ordered(table, order, **options).rows.tolist()]

    assert column("user", 0) == list("112233")
    assert column("user", 1, columns="f") == column("user", 1, columns=["f", "m"]) == list("aaabbb")
    assert column("lexicographic", 1) == list("aaabbb")
    # Where the first column moves on, the second one goes back.
    assert column("lexicographic", 0) == list("123321") or column("lexicographic", 0)[:3] == list("112")


def test_sorted_rows_turn_back() -> None:
    """Every column is in order, up or down, among the rows that are equal in those before it."""
    rng = np.random.default_rng(2)
    for _round in range(20):
        points = Points(rng.integers(0, 4, (60, 3)).astype(np.int32), np.full(3, 4, np.int64))
        columns = rng.permutation(3)
        rows, places = lexicographic_order(points, columns)
        in_order = points.points[rows][:, columns].tolist()
        for level in range(3):
            blocks: dict[tuple[int, ...], list[int]] = {}
            for point in in_order:
                blocks.setdefault(tuple(point[:level]), []).append(point[level])
            assert all(block in (sorted(block), sorted(block)[::-1]) for block in blocks.values())
        plain = points.points[np.lexsort(points.points[:, columns].T[::-1])]
        assert places[-1] <= np.abs(np.diff(plain, axis=0)).sum() / 3 + 1e-9


def test_keys_of_columns_too_large_for_one() -> None:
    rng = np.random.default_rng(1)
    points = Points(rng.integers(0, 2**30, (50, 5)).astype(np.int32), np.full(5, 2**30, np.int64))
    keys = tuple_keys(points, np.arange(5))
    assert len(keys) == 3
    assert np.lexsort(keys[::-1]).tolist() == np.lexsort(points.points.T[::-1]).tolist()


def test_idistance_keeps_the_rows_of_a_center_together() -> None:
    rng = np.random.default_rng(6)
    middle = np.repeat([[10, 10], [90, 90], [10, 90]], 30, axis=0)
    points = Points((middle + rng.integers(-5, 6, (90, 2))).astype(np.int32), np.full(2, 100, np.int64))
    rows, places = idistance_order(points, centers=3)
    assert len({frozenset((rows[start : start + 30] // 30).tolist()) for start in (0, 30, 60)}) == 3
    assert (np.diff(places) >= 0).all()
    assert places[-1] <= 1.0
    assert idistance_order(points, centers=1000)[0].tolist() == idistance_order(points, centers=1000)[0].tolist()
    with pytest.raises(UsageError, match="at least one center"):
        idistance_order(points, centers=0)


def parts_of(column, kind, texts):
    """The parts that a block is to be split into."""
    if kind == RANGES:
        numbers = sorted({int(text) for text in texts})
        low = [text for text in texts if 2 * int(text) <= numbers[0] + numbers[-1]]
        return [low, [text for text in texts if 2 * int(text) > numbers[0] + numbers[-1]]]
    tree = column.hierarchy
    above = lowest(tree, texts)
    parts: dict[str, list[str]] = {}
    for text in texts:
        way = [tree.texts[v] for v in tree.ancestors(tree.code(text))]
        parts.setdefault(way[max(way.index(above) - 1, 0)], []).append(text)
    return list(parts.values())


def what_a_split_gains(rnd: Random) -> None:
    """What random rows lose less in the parts than in the whole, by drawing all of them."""
    table = random_table(rnd, rnd.randint(1, 5), inner=True)
    k, form, style = rnd.randint(1, 3), rnd.choice(["set", "taxonomy"]), rnd.choice(STYLES)
    for column in table.quasi:
        costs = ColumnCosts.of(column, form, style)
        values, scales = scales_of([costs])
        work = Work(*(np.zeros(50, np.int64) for _ in range(3)))
        gain, bits, by = column_gain(values, 0, len(values), 0, scales, k, work)
        assert not work.counts.any()
        texts = column.texts()
        if len(set(texts)) == 1:
            assert bits == 0.0
            continue
        if None in texts:
            share = texts.count(None) / len(texts)
            assert by == -1
            assert gain == pytest.approx(1 - share**k - (1 - share) ** k)
            assert bits == pytest.approx(entropy([texts.count(None), len(texts) - texts.count(None)]))
            continue
        if costs.kind == RANGES and form == "set":
            continue  # Halves are of ranks here.
        parts = parts_of(column, costs.kind, texts)
        rest = sum(len(part) / len(texts) * expected_loss_of(part, column, k, form, style) for part in parts)
        assert gain == pytest.approx(float(expected_loss_of(texts, column, k, form, style) - rest))
        assert bits == pytest.approx(entropy(list(map(len, parts))))


def expected_loss_of(texts, column, k, form, style):
    return float(expected_loss(column, texts, k, form, style))


test_what_a_split_gains, test_what_a_split_gains_thoroughly = properties(what_a_split_gains, 40, 1500)


def test_adaptive_splits_first_by_what_is_few_and_loses_much() -> None:
    sexes, towns = Hierarchy.flat("fm"), Hierarchy.flat(map(str, range(50)))
    rnd = Random(8)
    texts = [(rnd.choice("fm"), str(rnd.randrange(50))) for _ in range(400)]
    table = Table.of_texts({"town": ([town for _sex, town in texts], towns), "sex": ([s for s, _ in texts], sexes)})
    sorted_sexes = [texts[row][0] for row in ordered(table, "adaptive", k=5).rows.tolist()]
    assert sum(a != b for a, b in pairwise(sorted_sexes)) == 1


def test_best_is_no_worse_than_what_it_tries() -> None:
    for seed in range(5):
        table = random_table(Random(seed), 300)
        costs = table_costs(table, "taxonomy", "auto")
        losses = {order: sampled_loss(costs, ordered(table, order, k=4).rows, 4) for order in ORDERS}
        assert losses["best"] == min(losses[order] for order in ("adaptive", "lexicographic", "hilbert"))
        assert ordered(table, "best").name in ORDERS


def test_wrong_options() -> None:
    table = random_table(Random(1), 4)
    with pytest.raises(UsageError, match="choose from best, adaptive"):
        ordered(table, "zigzag")
    with pytest.raises(UsageError, match="columns is for the order user"):
        ordered(table, "hilbert", columns="c0")
    with pytest.raises(UsageError, match="bits is for the order hilbert"):
        ordered(table, "user", bits=3)
    with pytest.raises(UsageError, match="unknown quasi column 'other'"):
        ordered(table, "user", columns="c0,other")


def test_the_tree_of_centers_finds_the_nearest_of_all() -> None:
    rng = np.random.default_rng(0)
    for _case in range(60):
        columns, count, rows = (int(rng.integers(1, most)) for most in (5, 60, 50))
        points = rng.integers(0, 9, (rows, columns)).astype(np.int32)
        scale, centers = np.full(columns, 1 / 8), rng.integers(0, 9, (count, columns)) / 8
        nearest, distance = np.empty(rows, np.int64), np.empty(rows)
        nearest_centers(points, scale, centers, *center_tree(centers), nearest, distance)
        apart = ((points[:, None, :] * scale - centers[None]) ** 2).sum(axis=2)
        assert nearest.tolist() == apart.argmin(axis=1).tolist()
        assert np.allclose(distance, apart.min(axis=1))


def test_options_are_of_their_own_order() -> None:
    problem = Problem(table_of("1234", "abcd"), (FrequencyDiversity(2),))
    assert search(problem, order="idistance", centers=2).counts["groups"] == 2
    for own in ({"centers": 2}, {"bits": 2}, {"order": "hilbert", "centers": 2}):
        with pytest.raises(UsageError, match="is for the order"):
            search(problem, **own)

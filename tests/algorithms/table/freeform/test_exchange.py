"""The search that exchanges edges: regular graphs, never worse than the groupings it begins with, near the optimum."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.exchange import graph_cost, is_regular, least_cost, range_cost, set_cost
from tests.reference.freeform import graph_loss, least_loss
from tests.reference.onedim import random_table
from tests.support.profiles import few
from tests.support.strategies import properties
from treeanon.algorithms.table import local, mondrian
from treeanon.algorithms.table.freeform.exchange import search
from treeanon.algorithms.table.freeform.graph import Freeform
from treeanon.algorithms.table.onedim import k_anonymity
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import STYLES
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table import gcp
from treeanon.privacy.models import DistinctDiversity, KAnonymity, TCloseness
from treeanon.table import Table
from treeanon.verifier.freeform import verify_freeform

Row = tuple[str | None, ...]


def table_of(rows: list[Row], sizes: list[int], sensitive: str = "") -> Table:
    columns: dict[str, Any] = {
        f"q{c}": ([row[c] for row in rows], Hierarchy.flat([str(v) for v in range(size)]))
        for c, size in enumerate(sizes)
    }
    if sensitive:
        columns["s"] = (list(sensitive), Hierarchy.flat("xyz"))
    return Table.of_texts(columns, roles={"s": "sensitive"} if sensitive else {})


def random_rows(rnd: Random, count: int, sizes: list[int], gap: float = 0.0) -> list[Row]:
    return [tuple(None if rnd.random() < gap else str(rnd.randrange(size)) for size in sizes) for _ in range(count)]


def searched(table: Table, k: int, seconds: float = 2.0, **options: Any) -> Freeform:
    options = {"form": "set", "style": "sets"} | options
    return search(Problem(table, (KAnonymity(k),)), seconds=seconds, seed=1, **options)


def edges_of(found: Freeform) -> list[list[int]]:
    return found.graph.edges.tolist()


@few(20, 40)
@given(st.randoms(use_true_random=False))
def test_graphs_are_regular_cost_what_is_said_and_no_more_than_groupings(rnd: Random) -> None:
    rnd = Random(rnd.getrandbits(32))
    sizes = [rnd.randint(1, 6) for _ in range(rnd.randint(1, 4))]
    rows = random_rows(rnd, rnd.randint(1, 30), sizes, rnd.choice([0, 0, 0.2]))
    k = rnd.randint(1, min(len(rows), 6))
    style, cost = rnd.choice([("sets", set_cost), ("ranges", range_cost)])
    table = table_of(rows, sizes)
    found = searched(table, k, 0.2, style=style)
    assert is_regular(edges_of(found), len(rows), k)
    lost = graph_cost(edges_of(found), rows, sizes, cost)
    whole = len(rows) * len(sizes)
    assert found.counts["gcp"] == pytest.approx(lost / whole)
    assert lost / whole <= found.counts["start_gcp"] + 1e-9
    for order in ("adaptive", "lexicographic", "hilbert"):
        group = k_anonymity.search(Problem(table, (KAnonymity(k),)), order=order, form="set", style=style)
        assert lost / whole <= group.counts["gcp"] + 1e-9
    # What is behind each tuple is a row that it covers, every row once; and the release covers each of its own rows.
    assert sorted(found.original.tolist()) == list(range(len(rows)))
    assert all(own in edges for own, edges in zip(found.original.tolist(), edges_of(found), strict=True))
    assert gcp(found.recoded(table)[0], form="set") == pytest.approx(lost / whole)


def in_any_form_and_style(rnd: Random) -> None:
    """Hierarchies with inner nodes as values, and missing ones: never above the best groupings there are."""
    table = random_table(rnd, rnd.randint(1, 14), inner=True)
    k, form, style = rnd.randint(1, min(len(table), 4)), rnd.choice(["taxonomy", "set", "free"]), rnd.choice(STYLES)
    problem = Problem(table, (KAnonymity(k),))
    found = search(problem, form=form, style=style, seconds=0.05)
    edges, cells = edges_of(found), len(table) * len(table.quasi)
    assert is_regular(edges, len(table), k)
    assert found.counts["gcp"] * cells == pytest.approx(float(graph_loss(table, edges, form, style)))
    assert gcp(found.recoded(table)[0], form=form) == pytest.approx(found.counts["gcp"])
    assert verify_freeform(table, found.recoded(table)[0], k).holds
    if style == "hierarchy" and form == "taxonomy":
        groups = local.search(problem)
        assert found.counts["gcp"] <= gcp(groups.recoded(table)[0]) + 1e-9
    if len(table) < 6 and k < 4:
        least = float(least_loss(table, k, form, style)) / cells
        assert least - 1e-9 <= found.counts["gcp"]


test_any_form, test_any_form_thoroughly = properties(in_any_form_and_style, 40, 1000)


@pytest.mark.parametrize("seed", range(150))
def test_it_begins_no_worse_than_any_grouping_of_mondrian_and_of_the_orders(seed: int) -> None:
    rnd = Random(seed)
    table = random_table(rnd, rnd.choice([8, 14, 20]))
    k, form, style = rnd.randint(2, 4), rnd.choice(["taxonomy", "set", "free"]), rnd.choice(STYLES)
    problem = Problem(table, (KAnonymity(k),))
    begun = search(problem, form=form, style=style, seconds=0).counts["gcp"]
    groupings = [
        *(
            mondrian.search(problem, mode=mode, split=split, style=style)
            for mode in ("strict", "relaxed")
            for split in ("median", "ncp")
        ),
        *(
            k_anonymity.search(problem, order=order, form=form, style=style)
            for order in ("adaptive", "hilbert", "idistance", "lexicographic")
        ),
    ]
    assert begun <= min(gcp(groups.recoded(table)[0], form=form) for groups in groupings) + 1e-9


def test_how_far_it_is_is_told() -> None:
    told: list[tuple[int, int | None]] = []
    table = table_of(random_rows(Random(4), 60, [6, 5]), [6, 5])
    problem = Problem(table, (KAnonymity(3),), progress=lambda done, total: told.append((done, total)))
    search(problem, seconds=0.5)
    own = [done for done, total in told if total == 500]
    assert own and own == sorted(own) and max(own) <= 500


@pytest.mark.parametrize("seed", range(12))
def test_small_graphs_are_near_the_optimum(seed: int) -> None:
    rnd = Random(seed)
    sizes = [3, 5]
    rows = random_rows(rnd, 6 + seed % 3, sizes)
    k = 2 + seed % 2
    found = graph_cost(edges_of(searched(table_of(rows, sizes), k)), rows, sizes)
    least = least_cost(rows, sizes, k)
    assert least - 1e-9 <= found <= 1.1 * least + 1e-9


def test_much_is_gained_on_the_best_grouping_where_rows_are_sparse() -> None:
    rnd = Random(3)
    sizes = [2, 20, 5, 7]
    rows = [tuple(str(int(size * rnd.random() ** 2)) for size in sizes) for _ in range(300)]
    found = searched(table_of(rows, sizes), 5, 5.0)
    assert found.counts["gcp"] < 0.9 * found.counts["start_gcp"]


def test_no_time_gives_the_start() -> None:
    rows = random_rows(Random(1), 40, [4, 4])
    found = searched(table_of(rows, [4, 4]), 3, 0)
    assert found.counts["gcp"] == found.counts["start_gcp"]
    assert is_regular(edges_of(found), 40, 3)


def test_rows_that_are_all_alike_cost_nothing() -> None:
    found = searched(table_of([("1", "2")] * 7, [3, 3]), 3)
    assert found.counts["gcp"] == 0
    assert is_regular(edges_of(found), 7, 3)


def test_k_of_one_and_of_all() -> None:
    rows = random_rows(Random(2), 6, [5])
    table = table_of(rows, [5])
    assert searched(table, 1).counts["gcp"] == 0
    assert [sorted(own) for own in edges_of(searched(table, 6))] == [list(range(6))] * 6


def test_tables_without_rows_with_one_and_with_too_few() -> None:
    assert len(searched(table_of([], [2]), 3).recoded(table_of([], [2]))[0]) == 0
    assert edges_of(searched(table_of([("1",)], [2]), 1)) == [[0]]
    with pytest.raises(GuaranteeError):
        searched(table_of([("1",), ("0",)], [2]), 3)


def test_what_cannot_be_asked() -> None:
    table = table_of([("1",), ("0",)], [2], "xy")
    with pytest.raises(UsageError, match="seconds"):
        searched(table, 2, -1)
    for model in (DistinctDiversity(2), TCloseness(0.5)):
        with pytest.raises(UsageError, match="k-anonymity alone"):
            search(Problem(table, (KAnonymity(2), model)))
    many = Table(table.columns, np.array([0, 0], np.int32))
    with pytest.raises(UsageError):
        searched(many, 2)

"""Cells that are generalized: the chapter's weights, the bounds of the approximations against the best there is."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from tests.reference import table_losses as slow
from treeanon.algorithms.table import cell_suppression
from treeanon.algorithms.table.cell_suppression import Steps, cut, cycles, two_factor
from treeanon.algorithms.table.problem import Problem
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.privacy.models import KAnonymity
from treeanon.table import Table

AGES = Hierarchy.from_paths(
    [
        ["21", "20-24", "20-29", "*"],
        ["23", "20-24", "20-29", "*"],
        ["27", "25-29", "20-29", "*"],
        ["31", "30-34", "30-39", "*"],
    ]
)
ZIPS = Hierarchy.from_paths([["11", "1*", "*"], ["12", "1*", "*"], ["21", "2*", "*"]])
SEXES = Hierarchy.flat(["f", "m"])
HIERARCHIES = (AGES, ZIPS, SEXES)

rows = st.lists(
    st.tuples(
        st.sampled_from(["21", "23", "27", "31", None]),
        st.sampled_from(["11", "12", "21"]),
        st.sampled_from(["f", "m"]),
    ),
    min_size=3,
    max_size=7,
)


def table_of(found: list[tuple[Any, ...]]) -> Table:
    columns = zip(*found, strict=True)
    return Table.of_texts({f"c{i}": (list(c), h) for i, (c, h) in enumerate(zip(columns, HIERARCHIES, strict=False))})


def cost(group: tuple[int, ...], found: list[tuple[Any, ...]]) -> Fraction:
    """What the cells of some rows lose: for each the level at which all are one, by the number of levels."""
    whole = Fraction(0)
    for c, hierarchy in enumerate(HIERARCHIES[: len(found[0])]):
        paths = [_path(hierarchy, found[i][c]) for i in group]
        level = next(level for level in range(len(paths[0])) if len({path[level] for path in paths}) == 1)
        whole += len(group) * Fraction(level, len(paths[0]) - 1)
    return whole


def _path(hierarchy: Hierarchy, text: str | None) -> list[str | None]:
    if text is None:
        return [None] * hierarchy.height + [hierarchy.root]
    return [hierarchy.texts[v] for v in hierarchy.ancestors(hierarchy.code(text))]


def best(found: list[tuple[Any, ...]], k: int) -> Fraction:
    """The least that cells lose, of all ways to put rows into groups of k and more."""
    return min(
        sum((cost(tuple(part), found) for part in parts), Fraction(0))
        for parts in slow.partitions(tuple(range(len(found))), k)
    )


def check(found: list[tuple[Any, ...]], k: int, method: str, bound: float) -> None:
    table = table_of(found)
    made = cell_suppression.search(Problem(table, (KAnonymity(k),)), method=method, cells="generalize")  # type: ignore[arg-type]
    shown = list(made.table.rows())
    assert all(times >= k for times in Counter(shown).values())
    for before, after in zip(found, shown, strict=True):
        for hierarchy, old, new in zip(HIERARCHIES, before, after, strict=False):
            assert new in _path(hierarchy, old)
    least = best(found, k)
    assert float(least) - 1e-9 <= made.counts["cells"] <= bound * float(least) + 1e-9
    # What is said is what was done.
    groups: dict[Any, list[int]] = {}
    for i, row in enumerate(shown):
        groups.setdefault(row, []).append(i)
    assert sum(cost(tuple(group), found) for group in groups.values()) <= Fraction(
        made.counts["cells"]
    ).limit_denominator(1000)


@settings(max_examples=20)
@given(rows, st.sampled_from([2, 3]))
def test_the_forest_keeps_its_bound(found: list[tuple[Any, ...]], k: int) -> None:
    check(found, k, "forest", max(2 * k - 1, 3 * k - 5))


@settings(max_examples=15)
@given(rows)
def test_matching_and_factor_keep_theirs(found: list[tuple[Any, ...]]) -> None:
    check(found, 2, "matching", 2)
    check(found, 3, "factor", 3)


@settings(max_examples=20)
@given(st.lists(st.tuples(*[st.sampled_from("ab")] * 4), min_size=3, max_size=8))
def test_twice_the_best_where_columns_have_two_values(found: list[tuple[str, ...]]) -> None:
    columns = zip(*found, strict=True)
    table = Table.of_texts({f"c{i}": (list(c), Hierarchy.flat("ab")) for i, c in enumerate(columns)})
    made = cell_suppression.search(Problem(table, (KAnonymity(3),)), method="factor")
    assert all(times >= 3 for times in Counter(made.table.rows()).values())
    least = slow.fewest_cells(found, 3)
    assert least <= made.counts["cells"] <= 2 * least


def test_a_worked_example() -> None:
    """Ages weigh thirds, postal codes halves: the two pairs that lose least, counted by hand."""
    found = [("21", "11"), ("23", "11"), ("27", "21"), ("31", "21")]
    table = table_of(found)
    steps = Steps.of(table, generalize=True)
    assert steps.weights.tolist() == [2, 2, 2, 3, 3] and steps.unit == 6
    apart = [[int((one != other) @ steps.weights) for other in steps.values] for one in steps.values]
    assert apart[0] == [0, 2, 10, 12]
    made = cell_suppression.search(Problem(table, (KAnonymity(2),)), cells="generalize")
    assert list(made.table.rows()) == [("20-24", "11")] * 2 + [("*", "21")] * 2
    # Two cells lose a third, and two all.
    assert made.counts["cells"] == pytest.approx(2 / 3 + 2)
    suppressed = cell_suppression.search(Problem(table, (KAnonymity(2),)))
    assert suppressed.counts["cells"] == 4


def test_a_release_is_verified() -> None:
    table = table_of([("21", "11", "f"), ("23", "12", "f"), ("27", "21", "m"), ("31", "21", "m")] * 3)
    for k in (2, 3, 4):
        release = ta.anonymize(table, k=k, algorithm="suppress-cells", parameters={"cells": "generalize"}, seed=1)
        assert release.verdict.holds and len(release.table) == len(table)
        other = ta.anonymize(table, k=k, algorithm="suppress-cells", seed=1)
        assert release.loss.gcp_taxonomy <= other.loss.gcp_taxonomy
    with pytest.raises(UsageError, match="factor is for k = 3"):
        ta.anonymize(table, k=2, algorithm="suppress-cells", parameters={"method": "factor"})


@settings(max_examples=15)
@given(st.integers(3, 7), st.integers(0, 10**6))
def test_two_factors_weigh_the_least(rows: int, seed: int) -> None:
    from itertools import combinations

    rng = np.random.default_rng(seed)
    values = rng.integers(0, 3, (rows, 3)).astype(np.int32)
    weights = np.array([1, 2, 3])
    edges = two_factor(values, weights)
    assert set(Counter(v for edge in edges for v in edge).values()) == {2}

    def weight(chosen: Any) -> int:
        return sum(int((values[u] != values[v]) @ weights) for u, v in chosen)

    every = list(combinations(range(rows), 2))
    if rows <= 6:
        factors = (
            chosen
            for chosen in combinations(every, rows)
            if all(times == 2 for times in Counter(v for edge in chosen for v in edge).values())
            and len({v for edge in chosen for v in edge}) == rows
        )
        assert weight(edges) == min(map(weight, factors))
    assert sorted(v for cycle in cycles(edges) for v in cycle) == list(range(rows))


@given(st.integers(3, 20))
def test_cycles_are_cut_into_groups_of_three_to_five(rows: int) -> None:
    values = np.arange(rows, dtype=np.int32)[:, None] % 4
    parts = cut(list(range(rows)), values, np.ones(1, np.int64))
    assert sorted(v for part in parts for v in part) == list(range(rows))
    assert all(3 <= len(part) <= 5 for part in parts)

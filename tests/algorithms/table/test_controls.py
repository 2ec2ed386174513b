"""What is asked of single columns, in every search: random tables, and releases checked by code of their own."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.strategies import examples
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table import gcp
from treeanon.release import anonymize_table
from treeanon.table import Table

# One of each module: what tells its searches apart is the order of rows.
SEARCHES = {(one.module, one.function): one for one in reversed(list(TABLE_ALGORITHMS.values()))}.values()
LEVELS = sorted(one.name for one in SEARCHES if set(one.honors) & {"min_level", "max_level"})
WEIGHTS = sorted(one.name for one in SEARCHES if "weight" in one.honors)
OPTIONS: dict[str, dict[str, Any]] = {"onedim-dual": {"max_loss": 0.9}, "freeform": {"seconds": 0.02}}
EXACT = "freeform-optimal"
"""Solves whole programs, for seconds from some 20 rows on."""
NEEDS_L = ("anatomy", "onedim-l")


def random_table(rnd: Random, name: str) -> Table:
    """A table of a few columns, with hierarchies that need not be of one depth; few values are missing."""
    columns: dict[str, Any] = {}
    rows = 8 if name == EXACT else rnd.choice([8, 14, 25])
    for c in range(rnd.randint(1, 3)):
        paths = []
        for leaf in range(rnd.randint(2, 8)):
            path = [f"c{c} {leaf}", f"c{c} 1 {leaf // 2}", f"c{c} 2 {leaf // 4}", "*"]
            paths.append(path if rnd.random() < 0.8 else [path[0], "*"])
        gap = rnd.choice([0, 0.1])
        values = [None if rnd.random() < gap else rnd.choice(paths)[0] for _ in range(rows)]
        columns[f"q{c}"] = values, Hierarchy.from_paths(paths)
    columns["ill"] = [rnd.choice("xyz") for _ in range(rows)], Hierarchy.flat("xyz")
    return Table.of_texts(columns, roles={"ill": "sensitive"})


def random_levels(rnd: Random, table: Table, honors: tuple[str, ...]) -> dict[str, tuple[int, int | None]]:
    """A least and a highest level for some columns."""
    found: dict[str, tuple[int, int | None]] = {}
    for column in table.quasi:
        height = column.hierarchy.height
        low = rnd.choice([0, 0, 1]) if "min_level" in honors else 0
        high = rnd.choice([None, None, rnd.randint(low, height)]) if "max_level" in honors else None
        if (low or high is not None) and rnd.random() < 0.7:
            found[column.name] = min(low, height), high
    return found


def lineage(hierarchy: Hierarchy, node: int) -> list[int]:
    """A node and what is above it."""
    return [node] if node == 0 else [node, *lineage(hierarchy, int(hierarchy.parent[node]))]


def level_of(hierarchy: Hierarchy, leaf: int, level: int) -> int:
    """What a leaf is on a level: hierarchies count from their deepest leaf."""
    above = lineage(hierarchy, leaf)[::-1]
    deepest = max(len(lineage(hierarchy, node)) for node in range(len(hierarchy)))
    return above[min(len(above), deepest - level) - 1]


def keeps(original: Table, released: Table, levels: dict[str, tuple[int, int | None]]) -> bool:
    """Whether every published text is that of a node between the two levels of some value of the input."""
    for name, (low, high) in levels.items():
        column, tree = released.column(name), original.column(name).hierarchy
        height = tree.height if high is None else high
        allowed: set[str | None] = {None} if low < tree.height else set()
        for leaf in tree.leaf_nodes.tolist():
            ends = lineage(tree, level_of(tree, leaf, low)), lineage(tree, level_of(tree, leaf, height))
            allowed |= {tree.texts[node] for node in ends[0] if node not in ends[1][1:]}
        if column.covers is None:
            if not set(column.texts()) <= allowed:
                return False
        elif low or high not in (None, tree.height):
            # Ranges and sets of values: never coarser than the level, never if values themselves are too fine.
            for code in set(column.codes.tolist()) - {-1}:
                start, end = column.covers.starts[code : code + 2]
                ranks = (
                    column.covers.members[start:end]
                    if end > start
                    else np.arange(column.covers.low[code], column.covers.high[code] + 1)
                )
                names = [text for text in ranked(tree) if text is not None]
                above = {level_of(tree, tree.code(names[rank]), height) for rank in ranks.tolist()}
                if len(above) > 1 or column.covers.missing[code]:
                    return False
                if any(
                    level_of(tree, tree.code(names[rank]), low) != tree.code(names[rank]) for rank in ranks.tolist()
                ):
                    return False
    return True


def ranked(tree: Hierarchy) -> list[str]:
    """The texts of the leaves in their order: none of these are numbers."""
    return [tree.texts[leaf] for leaf in tree.leaf_nodes.tolist()]


def is_anonymous(released: Table, k: int) -> bool:
    """Whether every combination of published values is that of k rows."""
    quasi = Table(released.quasi)
    return all(count >= k for count in Counter(quasi.rows()).values())


@pytest.mark.parametrize("name", LEVELS)
@examples(3)
@given(number=st.integers(0, 2**32))
def test_levels_are_kept(name: str, number: int) -> None:
    rnd = Random(number)
    table = random_table(rnd, name)
    levels = random_levels(rnd, table, TABLE_ALGORITHMS[name].honors)
    k = 2 if name == "onedim-l" else rnd.choice([2, 3])
    room = 0 if TABLE_ALGORITHMS[name].freeform else rnd.choice([0, 2, len(table) // 2])
    asked: dict[str, Any] = {"k": k, "algorithm": name, "levels": levels, "max_suppressed": room, "seed": 1}
    asked |= OPTIONS.get(name, {}) | ({"l": 2, "diversity": "frequency"} if name in NEEDS_L else {"l": 1})
    try:
        release = anonymize_table(table, **asked)
    except GuaranteeError:
        return
    assert keeps(table, release.table, levels), levels
    assert TABLE_ALGORITHMS[name].freeform or is_anonymous(release.table, k)
    assert len(release.table) >= len(table) - room


@pytest.mark.parametrize("name", LEVELS)
def test_a_table_that_fits_its_levels_is_released(name: str) -> None:
    ages = Hierarchy.from_paths([[str(age), f"{age // 10}0s", "*"] for age in range(20, 40)])
    texts = [str(20 + i % 20) for i in range(80)]
    ill = ["flu", "cold", "flu", "cold", "pain"] * 16
    columns = {"age": (texts, ages), "ill": (ill, Hierarchy.flat(["flu", "cold", "pain"]))}
    table = Table.of_texts(columns, roles={"ill": "sensitive"})
    able = TABLE_ALGORITHMS[name].honors
    levels = {"age": (1 if "min_level" in able else None, 1 if "max_level" in able else None)}
    asked = OPTIONS.get(name, {}) | ({"l": 2, "diversity": "frequency"} if name in NEEDS_L else {"l": 1})
    release = anonymize_table(table, k=2, algorithm=name, levels=levels, **asked)
    if able[-2:] == ("min_level", "max_level"):
        assert set(release.table.column("age").texts()) == {"20s", "30s"}


@pytest.mark.parametrize("name", WEIGHTS)
@examples(2)
@given(number=st.integers(0, 2**32))
def test_weights_keep_the_guarantee_and_equal_ones_change_nothing(name: str, number: int) -> None:
    rnd = Random(number)
    table = random_table(rnd, name)
    asked: dict[str, Any] = {"k": 2, "algorithm": name, "seed": 1}
    asked |= OPTIONS.get(name, {}) | ({"l": 2, "diversity": "frequency"} if name in NEEDS_L else {"l": 1})
    weights = {column.name: rnd.choice([0, 0.5, 1, 7]) for column in table.quasi} | {"q0": 2}
    try:
        plain = anonymize_table(table, **asked)
    except GuaranteeError:
        return
    release = anonymize_table(table, weights=weights, **asked)
    assert TABLE_ALGORITHMS[name].freeform or is_anonymous(release.table, 2)
    assert release.loss.gcp_taxonomy == pytest.approx(gcp(release.table, weights=weights))
    if not TABLE_ALGORITHMS[name].freeform:
        alike = anonymize_table(table, weights={column.name: 3 for column in table.quasi}, **asked)
        assert alike.table == plain.table


@pytest.mark.parametrize("name", [name for name in WEIGHTS if name not in ("samarati", "incognito")])
def test_a_heavy_column_loses_less(name: str) -> None:
    rnd = Random(5)
    paths = [[f"{i:02}", f"{i // 2:02}.", f"{i // 8}:", "*"] for i in range(32)]
    tree = Hierarchy.from_paths(paths)
    rows = 6 if name == EXACT else 120
    columns: dict[str, Any] = {column: ([rnd.choice(paths)[0] for _ in range(rows)], tree) for column in "ab"}
    columns["ill"] = [rnd.choice("xyz") for _ in range(rows)], Hierarchy.flat("xyz")
    table = Table.of_texts(columns, roles={"ill": "sensitive"})
    asked = {"k": 2 if name in ("onedim-l", EXACT) else 4, "algorithm": name, "seed": 1} | OPTIONS.get(name, {})
    asked |= {"l": 2, "diversity": "frequency"} if name in NEEDS_L else {"l": 1}
    heavy = [anonymize_table(table, weights={one: 50}, **asked).loss.ncp_taxonomy for one in "ab"]
    assert heavy[0]["a"] <= heavy[1]["a"] and heavy[1]["b"] <= heavy[0]["b"]


def test_values_above_a_highest_level_are_refused() -> None:
    ages = Hierarchy.from_paths([["31", "30s", "*"], ["41", "40s", "*"]])
    table = Table.of_texts({"age": (["31", "31", "*"], ages)})
    with pytest.raises(GuaranteeError, match="column 'age': 1 row already with a value above max_level 1"):
        anonymize_table(table, k=1, levels={"age": (None, 1)})


def test_cells_without_enough_rows_say_what_to_change() -> None:
    ages = Hierarchy.from_paths([["31", "30s", "*"], ["41", "40s", "*"]])
    table = Table.of_texts({"age": (["31", "31", "41"], ages)})
    for name in ("local", "mondrian", "onedim", "topdown", "freeform-greedy"):
        with pytest.raises(
            GuaranteeError, match="max_level of age leaves rows together that do not satisfy 2-anonymity"
        ):
            anonymize_table(table, k=2, algorithm=name, levels={"age": (None, 1)})
    release = anonymize_table(table, k=2, levels={"age": (None, 1)}, max_suppressed=1)
    assert list(release.table.rows()) == [("31",), ("31",)]


def test_shares_are_compared_with_the_whole_table_in_cells_too() -> None:
    places = Hierarchy.from_paths([[f"{town}{i}", town, "*"] for town in "ab" for i in range(4)])
    texts = [f"{town}{i % 4}" for town in "ab" for i in range(16)]
    ill = ["flu"] * 8 + ["cold"] * 8 + ["flu", "cold"] * 8
    ills = Hierarchy.flat(["flu", "cold"])
    table = Table.of_texts({"place": (texts, places), "ill": (ill, ills)}, roles={"ill": "sensitive"})
    for name in ("local", "mondrian", "topdown"):
        release = anonymize_table(table, k=2, t=0.1, algorithm=name, levels={"place": (None, 1)})
        assert release.verdict.holds
    skewed = replace(
        table,
        columns=(
            table.columns[0],
            replace(table.columns[1], codes=np.array([ills.code("flu")] * 16 + [ills.code("cold")] * 16, np.int32)),
        ),
    )
    with pytest.raises(GuaranteeError):
        anonymize_table(skewed, k=2, t=0.1, levels={"place": (None, 1)})


def test_levels_of_a_schema_that_a_hierarchy_has_not() -> None:
    table = Table.of_texts({"age": (["31"], Hierarchy.flat(["31"]))})
    with pytest.raises(UsageError, match="column 'age': max_level 4 is above the last level of its hierarchy: 1"):
        anonymize_table(table, k=1, levels={"age": (None, 4)})

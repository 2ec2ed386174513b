"""IL₁, IL∞, average and weighted maximum NCP and volume, against the texts of the releases read one by one."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from tests.support.diversity_worlds import NUMBERS, PATHS, random_table
from tests.support.strategies import properties
from treeanon.algorithms.table.result import recoded_groups
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table import gcp
from treeanon.metrics.table.groups import (
    average_ncp,
    largest_extent,
    largest_ncp,
    mean_extent,
    weighted_average_volume,
    weighted_maximum_ncp,
    weighted_maximum_share,
)
from treeanon.table import Table

LEAVES = [path[0] for path in PATHS]


def covered(text: str | None, leaves: list[str]) -> tuple[list[int], bool]:
    """The places of the leaves that a published text stands for, and whether a value may also be missing."""
    if text is None:
        return [], True
    if text[0] == "[":
        held = json.loads(text)
        return sorted(leaves.index(one) for one in held if one is not None), None in held
    missing = text.endswith(" or missing")
    ends = text.removesuffix(" or missing").split(" … ")
    if len(ends) == 2:
        return list(range(leaves.index(ends[0]), leaves.index(ends[1]) + 1)), missing
    if text == "*":
        return list(range(len(leaves))), False
    return [i for i, leaf in enumerate(leaves) if leaf == text or (text[1:] == "x" and leaf[0] == text[0])], missing


def as_the_texts_say(rnd: Random) -> None:
    rnd = Random(rnd.getrandbits(32))
    table = random_table(rnd, rnd.choice([1, 3, 8, 20]))
    number = [rnd.randrange(4) for _ in range(len(table))]
    dense = [sorted(set(number)).index(n) for n in number]
    released = recoded_groups(table, np.array(dense), rnd.choice(["auto", "hierarchy", "ranges", "sets"]))
    extents = {}
    for texts in zip(*(c.texts() for c in released.quasi), strict=True):
        own = []
        for c, text in zip(released.quasi, texts, strict=True):
            leaves = NUMBERS if "13" in c.hierarchy.texts else LEAVES
            held, missing = covered(text, leaves)
            scale = list(map(float, leaves)) if c.spec.type == "integer" else list(range(len(leaves)))
            long = (scale[held[-1]] - scale[held[0]]) / (scale[-1] - scale[0]) if held else 0.0
            own.append(1.0 if missing and held else long)
        extents[texts] = sum(own) / len(own)
    assert mean_extent(released) == pytest.approx(sum(extents.values()) / len(extents))
    assert largest_extent(released) == pytest.approx(max(extents.values()))
    by_group(released)


def by_group(released: Table) -> None:
    """NCP of groups, each as the GCP of a table with nothing else."""
    rows = list(zip(*(c.texts() for c in released.quasi), strict=True))
    for form in ("taxonomy", "set"):
        prices = {}
        for texts in set(rows):
            prices[texts] = gcp(released.take(np.array([i for i, row in enumerate(rows) if row == texts])), form=form)
        sizes = Counter(rows)
        assert average_ncp(released, form) == pytest.approx(sum(prices.values()) / len(prices))
        worst = max(prices.values())
        assert largest_ncp(released, form) == pytest.approx(worst)
        weighted = max(prices[texts] * sizes[texts] for texts in prices if prices[texts] > worst - 1e-9)
        assert weighted_maximum_ncp(released, form) == pytest.approx(weighted)
        assert weighted_maximum_share(released, form) == pytest.approx(weighted / len(rows))
    volumes = []
    for i in range(len(rows)):
        volume = 1.0
        for c in released.quasi:
            alone = Table((replace(c, codes=c.codes[i : i + 1]),))
            leaves = int(c.hierarchy.leaf_count[0])
            held, missing = covered(c.texts()[i], NUMBERS if "13" in c.hierarchy.texts else LEAVES)
            volume *= 1 / leaves if len(held) + missing == 1 else gcp(alone)
        volumes.append(volume)
    assert weighted_average_volume(released) == pytest.approx(sum(volumes) / len(volumes))


test_as_the_texts_say, test_as_the_texts_say_thoroughly = properties(as_the_texts_say, 50, 2000)


def test_no_rows() -> None:
    released = random_table(Random(1), 0)
    losses = mean_extent, largest_extent, largest_ncp, average_ncp, weighted_maximum_ncp, weighted_maximum_share
    for loss in (*losses, weighted_average_volume):
        assert loss(released) == 0


def test_weights() -> None:
    released = random_table(Random(5), 9, columns=2)
    released = recoded_groups(released, np.zeros(9, np.int64), "sets")
    alone = mean_extent(released, {"q0": 1, "q1": 0})
    other = mean_extent(released, {"q0": 0, "q1": 1})
    assert mean_extent(released, {"q0": 3, "q1": 1}) == pytest.approx((3 * alone + other) / 4)


def test_boxes_of_the_paper() -> None:
    """Ages of 0 to 4 (five values), sex of two: a group of three in the box 0 … 2 × *, a group of two in 4 × f."""
    ages, sexes = Hierarchy.from_paths([[a, "0-2" if a < "3" else "3-4", "*"] for a in "01234"]), Hierarchy.flat("fm")
    columns = {"age": (["0-2"] * 3 + ["4"] * 2, ages), "sex": (["*"] * 3 + ["f"] * 2, sexes)}
    released = Table.of_texts(columns)
    assert mean_extent(released) == pytest.approx((2 / 4 + 1) / 2 / 2)
    assert average_ncp(released) == pytest.approx((3 / 5 + 1) / 2 / 2)
    assert weighted_maximum_ncp(released) == pytest.approx(0.8 * 3)
    assert weighted_maximum_share(released) == pytest.approx(0.8 * 3 / 5)
    assert weighted_average_volume(released) == pytest.approx((3 * (3 / 5 * 1) + 2 * (1 / 5 * 1 / 2)) / 5)


def test_the_group_of_greatest_ncp_need_not_be_the_one_that_costs_most() -> None:
    hierarchy = Hierarchy.from_paths([[a, "low" if a < "4" else "high", "*"] for a in "01234567"])
    released = Table.of_texts({"x": (["*"] * 2 + ["low"] * 9, hierarchy)})
    assert weighted_maximum_ncp(released) == 2.0 and weighted_maximum_share(released) == pytest.approx(2 / 11)

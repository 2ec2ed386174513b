"""The optimal search against all vectors, for every loss."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.support.strategies import properties
from tests.support.table_worlds import CASES, random_problem, vector_problem
from treeanon.algorithms.table.optimal import search
from treeanon.errors import GuaranteeError, UsageError
from treeanon.metrics.table import gcp, precision
from treeanon.table.controls import with_controls


def exact(rnd: Random) -> None:
    problem, world = random_problem(rnd)
    kind = rnd.choice(["height", "gcp", "precision"])
    held = world.satisfied()
    names = tuple(column.name for column in problem.table.quasi)
    try:
        found = search(problem, loss=kind)
    except GuaranteeError:
        assert not held
        return
    chosen = tuple(found.vector[name] for name in names)

    def share(vector: tuple[int, ...]) -> float:
        lost, rows = len(world.lost_rows(vector)), max(1, len(world.rows))
        parts = [level / h for level, h in zip(vector, world.heights, strict=True) if h]
        mean = sum(parts) / len(parts) if parts else 0.0
        return mean + lost * (1 - mean) / rows

    rank = {"height": sum, "gcp": world.gcp, "precision": share}[kind]
    losses = {vector: float(rank(vector)) for vector in held}
    least = min(losses.values())
    equals = [held[vector] for vector, loss in losses.items() if loss <= least + 1e-9]
    assert losses[chosen] <= least + 1e-9 and found.suppressed == held[chosen] == min(equals)
    assert found.counts["value"] == pytest.approx(least)
    assert found.counts["checked"] <= found.counts["lattice"]


test_exact, test_exact_thoroughly = properties(exact, 100, 5000)


def release_says_the_same(rnd: Random) -> None:
    """The loss that a search reports is that of its release, as the measures of releases have it."""
    problem, _ = random_problem(rnd)
    if problem.table.person is not None or not len(problem.table):
        return
    for kind in ("gcp", "gcp_set"):
        try:
            found = search(problem, loss=kind)
        except GuaranteeError:
            return
        form = "set" if kind == "gcp_set" else "taxonomy"
        assert gcp(found.apply(problem.table), found.suppressed, form=form) == pytest.approx(found.counts["value"])


test_release, test_release_thoroughly = properties(release_says_the_same, 30, 1000)


def test_lowest_heights_of_the_papers() -> None:
    for name, case in CASES:
        found = search(vector_problem(name, case), loss="height")
        assert found.height == case["lowest_height"]
        lost = [one["suppressed"] for one in case["k_minimal"] if sum(one["vector"]) == found.height]
        assert found.suppressed == min(lost)


def test_weights() -> None:
    problem = vector_problem("race_zip_8", {"k": 2, "max_suppressed": 2})
    weighed = replace(problem, table=with_controls(problem.table, {"Race": {"weight": 5}}))
    assert search(weighed, loss="height").vector == {"Race": 0, "ZIP": 1}
    assert precision(search(problem).apply(problem.table)) <= 1
    with pytest.raises(UsageError, match="unknown loss"):
        search(problem, loss="price")

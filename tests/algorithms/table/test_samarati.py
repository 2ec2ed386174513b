"""Samarati's search: the paper's examples, all k-minimal vectors of random tables, preferences."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.support.strategies import properties
from tests.support.table_worlds import CASES, VECTORS, random_problem, vector_problem
from treeanon.algorithms.table.lattice import Lattice
from treeanon.algorithms.table.objective import PREFERENCES
from treeanon.algorithms.table.samarati import search
from treeanon.errors import GuaranteeError, UsageError
from treeanon.table.controls import with_controls


def named(names: tuple[str, ...], found: Any) -> list[tuple[tuple[int, ...], int]]:
    return sorted((tuple(vector[name] for name in names), lost) for vector, lost in found)


@pytest.mark.parametrize("matrix", [True, False])
@pytest.mark.parametrize("name,case", CASES, ids=lambda x: x if isinstance(x, str) else str(x["k"]))
def test_paper(name: str, case: dict[str, Any], matrix: bool) -> None:
    problem = vector_problem(name, case)
    found = search(problem, matrix=matrix)
    names = Lattice(problem).names
    expected = sorted((tuple(one["vector"]), one["suppressed"]) for one in case["k_minimal"])
    assert named(names, found.minimal) == expected
    assert found.counts["lowest_height"] == case["lowest_height"]


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("preference", PREFERENCES)
def test_preferences_of_the_paper(limit: int, preference: str) -> None:
    expected = VECTORS["race_zip_8"]["preferences"][f"max_suppressed={limit}"][preference]
    problem = vector_problem("race_zip_8", {"k": 2, "max_suppressed": limit})
    found = search(problem, preference=preference)
    if expected != "compute":
        shown = [[one["Race"], one["ZIP"]] for one in found.counts["preferred"]]
        assert sorted(shown) == sorted(expected)
        assert list(found.vector.values()) in expected


def test_weights_turn_the_choice() -> None:
    problem = vector_problem("race_zip_8", {"k": 2, "max_suppressed": 2})
    races, zips = (
        replace(problem, table=with_controls(problem.table, {name: {"weight": 5}})) for name in ("Race", "ZIP")
    )
    assert search(races).vector == {"Race": 0, "ZIP": 1}
    assert search(zips).vector == {"Race": 1, "ZIP": 0}
    with pytest.raises(UsageError, match="takes no weights"):
        search(zips, preference="minimum_suppression")
    with pytest.raises(UsageError, match="unknown preference"):
        search(problem, preference="nicest")


def all_minimal(rnd: Random) -> None:
    problem, world = random_problem(rnd)
    expected = sorted(world.minimal().items())
    names = tuple(column.name for column in problem.table.quasi)
    preference = rnd.choice(list(PREFERENCES))
    try:
        found = search(problem, preference=preference, matrix=rnd.choice([None, False]))
    except GuaranteeError:
        assert not expected
        return
    assert named(names, found.minimal) == expected
    chosen = tuple(found.vector[name] for name in names)
    assert (chosen, found.suppressed) in expected
    ranks = {
        "minimum_absolute_distance": sum,
        "minimum_relative_distance": lambda v: sum(x / max(h, 1) for x, h in zip(v, world.heights, strict=True)),
        "maximum_distribution": lambda v: -world.published(v),
        "minimum_suppression": world.suppressed,
    }
    rank = ranks[preference]
    assert rank(chosen) <= min(rank(vector) for vector, _ in expected) + 1e-9


test_all_minimal, test_all_minimal_thoroughly = properties(all_minimal, 120, 3000)

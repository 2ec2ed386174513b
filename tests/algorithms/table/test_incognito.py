"""Incognito: all k-minimal vectors, of the papers' examples and of random tables."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.support.strategies import properties
from tests.support.table_worlds import CASES, random_problem, vector_problem
from treeanon.algorithms.table import optimal, samarati
from treeanon.algorithms.table.incognito import search
from treeanon.algorithms.table.lattice import Lattice
from treeanon.errors import GuaranteeError


@pytest.mark.parametrize("name,case", CASES, ids=lambda x: x if isinstance(x, str) else str(x["k"]))
def test_paper(name: str, case: dict[str, Any]) -> None:
    problem = vector_problem(name, case)
    found = search(problem)
    expected = sorted((one["vector"], one["suppressed"]) for one in case["k_minimal"])
    assert sorted((list(vector.values()), lost) for vector, lost in found.minimal) == expected
    assert found.vector == samarati.search(problem).vector


def all_minimal(rnd: Random) -> None:
    problem, world = random_problem(rnd)
    expected = sorted(world.minimal().items())
    try:
        found = search(problem)
    except GuaranteeError:
        assert not expected
        return
    assert sorted((tuple(vector.values()), lost) for vector, lost in found.minimal) == expected
    assert found.counts["satisfied"] == len(world.satisfied())


test_all_minimal, test_all_minimal_thoroughly = properties(all_minimal, 60, 3000)


def test_satisfied_below_what_is_not() -> None:
    """With models that a group can lose by growing, what lies above a satisfied vector need not be satisfied."""
    dips = 0
    for seed in range(1500):
        problem, world = random_problem(Random(seed))
        if len(problem.models) == 1:
            continue
        held = world.satisfied()
        lattice = Lattice(problem)
        if all(above in held for vector in held for above in lattice.above(vector)):
            continue
        dips += 1
        assert not lattice.is_monotone
        for algorithm in (search, samarati.search):
            found = algorithm(problem).minimal
            assert sorted((tuple(vector.values()), lost) for vector, lost in found) == sorted(world.minimal().items())
        assert optimal.search(problem, loss="height").height == min(map(sum, held))
    assert dips > 20

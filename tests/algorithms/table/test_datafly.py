"""Datafly: what it comes to is satisfied, and is what its steps say."""

from __future__ import annotations

from random import Random

from tests.support.strategies import properties
from tests.support.table_worlds import random_problem, vector_problem
from treeanon.algorithms.table.datafly import search
from treeanon.errors import GuaranteeError


def steps(rnd: Random) -> None:
    problem, world = random_problem(rnd)
    vector = [0] * len(world.heights)
    while world.suppressed(tuple(vector)) > world.limit:
        free = [c for c, level in enumerate(vector) if level < world.heights[c]]
        if not free:
            break
        values = {c: len({world.value(c, row.quasi[c], vector[c]) for row in world.rows}) for c in free}
        vector[max(free, key=lambda c: (values[c], -c))] += 1
    try:
        found = search(problem)
    except GuaranteeError:
        assert world.suppressed(tuple(vector)) > world.limit
        return
    assert list(found.vector.values()) == vector and found.suppressed == world.suppressed(tuple(vector))


test_steps, test_steps_thoroughly = properties(steps, 75, 3000)


def test_table_of_the_paper() -> None:
    found = search(vector_problem("race_zip_12", {"k": 2, "max_suppressed": 0}))
    assert found.vector == {"Race": 0, "ZIP": 1}

"""The lattice against every vector counted anew, and releases against the rows."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.support.strategies import properties
from tests.support.table_worlds import CASES, VECTORS, random_problem, vector_problem
from treeanon.algorithms.table.lattice import FullDomainResult, Lattice
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import table_algorithm_named
from treeanon.algorithms.table.rollup import Rollup
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.privacy.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    TCloseness,
)
from treeanon.table import Table
from treeanon.verifier.table import check


def counts(rnd: Random) -> None:
    problem, world = random_problem(rnd)
    lattice = Lattice(problem)
    if rnd.random() < 0.3:
        lattice.rollup = Rollup(lattice.tuples, memory=rnd.choice([0, 200]))
    vectors = list(world.vectors())
    assert lattice.heights == world.heights and lattice.size == len(vectors)
    rnd.shuffle(vectors)
    for vector in vectors:
        lost, found = world.suppressed(vector), lattice.evaluate(vector, rnd.randint(0, len(vector)))
        if lost <= world.limit or not lattice.checker.columns:
            assert (found.suppressed, found.groups) == (lost, world.published(vector))
        else:
            assert world.limit < found.suppressed <= lost
    assert lattice.checked == len(vectors)
    if lattice.is_monotone:
        for vector in vectors:
            for above in lattice.above(vector):
                held = world.suppressed(above) <= world.limit
                assert held or world.suppressed(vector) > world.limit
    for vector in vectors:
        assert lattice.bound(vector) <= world.suppressed(vector)


test_counts, test_counts_thoroughly = properties(counts, 50, 2000)


MODELS = (
    TCloseness(0.2),
    TCloseness(0.4, "ordered", joined=True),
    TCloseness(0.3, "hierarchical"),
    FrequencyDiversity(1.5, joined=True),
    EntropyDiversity(1.5),
    AlphaKAnonymity(0.7, 2),
    BetaLikeness(1),
    DistinctDiversity(2, joined=True),
)


def cells(rnd: Random) -> None:
    """Cells that are rolled up say what those of the tuples do, and nothing below what cannot hold does."""
    problem, world = random_problem(rnd)
    if not problem.table.sensitive:
        return
    problem = replace(problem, models=(rnd.choice(MODELS), rnd.choice(MODELS), KAnonymity(rnd.randint(1, 3))))
    lattice, vectors = Lattice(problem), list(world.vectors())
    rnd.shuffle(vectors)
    lost = {}
    for vector in vectors:
        hopeful, (_, number, holds) = lattice.may_hold(vector), lattice.groups(vector)
        lost[vector] = lattice.checker.lost(lattice.tuples, number, holds)
        if lost[vector] <= problem.max_suppressed:
            found = lattice.evaluate(vector, rnd.randint(0, len(vector)))
            assert hopeful and (found.suppressed, found.groups) == (lost[vector], holds.sum())
    for vector in vectors:
        if not lattice.may_hold(vector):
            below = [v for v in vectors if all(a <= b for a, b in zip(v, vector, strict=True))]
            assert min(lost[v] for v in below) > problem.max_suppressed


test_cells, test_cells_thoroughly = properties(cells, 50, 2000)


def test_what_cannot_hold_is_seen_from_far_above() -> None:
    """Of each group two in three persons would have to go before 0.2-closeness holds."""
    letters, values = Hierarchy.flat("abcd"), Hierarchy.flat("xyzw")
    rows = [(q, s) for q, s in zip("abcd", "xyzw", strict=True) for _ in range(20)]
    columns = {"q": ([q for q, _ in rows], letters), "s": ([s for _, s in rows], values)}
    table = Table.of_texts(columns, roles={"s": "sensitive"})
    lattice = Lattice(Problem(table, (TCloseness(0.2), KAnonymity(2)), 40))
    assert not lattice.is_monotone and lattice.bound((0,)) == 0
    assert lattice.may_hold((1,)) and not lattice.may_hold((0,))


def tags(rnd: Random) -> None:
    """What follows from what has been seen is so, in whatever order nodes are asked for."""
    problem, world = random_problem(rnd)
    lattice = Lattice(problem)
    vectors = list(world.vectors())
    rnd.shuffle(vectors)
    held = world.satisfied()
    for vector in vectors:
        assert lattice.satisfies(vector) == (vector in held)


test_tags, test_tags_thoroughly = properties(tags, 50, 2000)


def heights(rnd: Random) -> None:
    problem, world = random_problem(rnd)
    lattice = Lattice(problem)
    for height in range(-1, sum(world.heights) + 2):
        assert list(lattice.at_height(height)) == sorted(v for v in world.vectors() if sum(v) == height)


test_heights, test_heights_thoroughly = properties(heights, 30, 300)


def releases(rnd: Random) -> None:
    """A release is what the rows say, every model holds for it, and it is the same for rows in another order."""
    problem, world = random_problem(rnd)
    vector = rnd.choice(list(world.vectors()))
    lattice = Lattice(problem)
    released = FullDomainResult("x", problem.models, lattice.named(vector), 0).apply(problem.table)
    assert sorted(released.rows(), key=repr) == world.release(vector)
    if problem.table.person is None:
        assert all(found.holds for found in check(released, problem.models))


test_releases, test_releases_thoroughly = properties(releases, 50, 2000)


def test_suppression_of_the_chapter() -> None:
    lattice = Lattice(vector_problem("patients_10", {"k": 3, "max_suppressed": 0}))
    for vector, lost in VECTORS["patients_10"]["suppression_needed_k3"].items():
        assert lattice.evaluate(tuple(map(int, vector.strip("[]").split(",")))).suppressed == lost


@pytest.mark.parametrize("algorithm", ["optimal", "samarati", "incognito", "datafly"])
def test_odd_tables(algorithm: str) -> None:
    search = table_algorithm_named(algorithm).search
    letters = Hierarchy.flat("ab")

    def table(*texts: str | None, hierarchy: Hierarchy = letters) -> Table:
        return Table.of_texts({"x": (texts, hierarchy)})

    assert search(Problem(table(), (KAnonymity(2),))).height == 0
    assert search(Problem(table("a"), (KAnonymity(1),))).height == 0
    assert search(Problem(table("a", None), (KAnonymity(2),))).height == 1
    assert search(Problem(table("a", "a"), ())).height == 0
    with pytest.raises(GuaranteeError, match="at most 0 of 1 persons"):
        search(Problem(table("a"), (KAnonymity(2),)))
    assert search(Problem(table("a"), (KAnonymity(2),), 1)).suppressed == 1
    constant = Hierarchy.from_paths([["a"]])
    assert search(Problem(table("a", "a", hierarchy=constant), (KAnonymity(2),))).height == 0
    # A missing value of a column without levels stays apart.
    with pytest.raises(GuaranteeError):
        search(Problem(table("a", "a", None, hierarchy=constant), (KAnonymity(2),)))


def test_problems_that_cannot_be() -> None:
    letters = Hierarchy.flat("ab")
    table = Table.of_texts({"x": (["a"], letters), "y": (["a"], letters)}, {"y": "keep"})
    with pytest.raises(UsageError, match="sensitive"):
        Problem(table, (DistinctDiversity(2),))
    with pytest.raises(UsageError, match="sensitive"):
        Problem(table, (DistinctDiversity(2, column="y"),))
    with pytest.raises(UsageError, match="negative"):
        Problem(table, (), -1)
    with pytest.raises(UsageError, match="no quasi column"):
        Problem(Table.of_texts({"y": (["a"], letters)}, {"y": "keep"}), ())


def test_every_case_has_its_lowest_height() -> None:
    for name, case in CASES:
        lattice = Lattice(vector_problem(name, case))
        held = [h for h in range(sum(lattice.top) + 1) if any(map(lattice.satisfies, lattice.at_height(h)))]
        assert held[0] == case["lowest_height"]

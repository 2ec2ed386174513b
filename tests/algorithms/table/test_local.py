"""Local recoding against every way to group rows, and its releases against plain code."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.lattice import Row, World
from tests.reference.local import Values, cost, least_cost
from tests.support.strategies import examples
from tests.support.table_worlds import problem_of, random_models, random_paths, random_problem
from treeanon.algorithms.table import local
from treeanon.algorithms.table.local import level_steps, search
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.result import Partition
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table import gcp
from treeanon.privacy.models import DistinctDiversity, KAnonymity, Model, TCloseness
from treeanon.release import anonymize_table
from treeanon.table import Table
from treeanon.verifier.table import check

AGES = Hierarchy.from_paths([[str(age), f"{age // 10}0s", "*"] for age in range(20, 60)])


def ages(*values: int | None) -> Table:
    return Table.of_texts({"age": ([None if v is None else str(v) for v in values], AGES)})


def published(found: Partition, table: Table) -> list[Values]:
    released, rows = found.recoded(table)
    assert rows.tolist() == sorted(rows.tolist())
    return list(released.rows())


def right(world: World, problem: Problem, found: Partition) -> float:
    """What the release loses; asserts that it is one, by plain code."""
    released, numbers = found.recoded(problem.table)
    groups: dict[Values, list[Row]] = defaultdict(list)
    width = len(world.paths)
    loss = 0.0
    for values, i in zip(released.rows(), numbers.tolist(), strict=True):
        row = world.rows[i]
        groups[values[:width]].append(row)
        for c, (value, own) in enumerate(zip(values[:width], row.quasi, strict=True)):
            root = next(iter(world.paths[c].values()))[-1]
            assert value == own or value in ([root] if own is None else world.paths[c][own])
            loss += cost(world, c, value)
        assert values[width:] == row.sensitive
    assert all(world.holds(group) for group in groups.values())
    out = len(world.rows) - len(numbers)
    assert out == found.suppressed <= world.limit
    assert all(one.holds for one in check(released, problem.models))
    return loss + out * width


@given(st.randoms(use_true_random=False))
def test_a_release_holds_and_loses_no_less_than_the_best_there_is(rnd: Random) -> None:
    _, world = random_problem(rnd)
    rows = [Row(i, row.quasi, row.sensitive) for i, row in enumerate(world.rows[:5])]
    models, holds = random_models(rnd, len(rows[0].sensitive) if rows else 1)
    world = World(rows, world.paths, holds, world.limit)
    problem = problem_of(world, models)
    least = least_cost(world)
    try:
        found = search(problem, effort=rnd.choice([None, 0, 1, 3]))
    except GuaranteeError:
        assert least is None or not world.holds(rows)
        return
    assert least is not None
    assert right(world, problem, found) >= least - 1e-9


@given(st.randoms(use_true_random=False))
def test_releases_of_larger_tables_hold(rnd: Random) -> None:
    rnd = Random(rnd.getrandbits(32))
    paths = [random_paths(rnd, c) for c in range(rnd.randint(1, 4))]
    sensitive = rnd.choice([0, 1])
    rows = [
        Row(
            i,
            tuple(None if rnd.random() < 0.1 else rnd.choice(list(path)) for path in paths),
            tuple(rnd.choice("xyz") for _ in range(sensitive)),
        )
        for i in range(rnd.choice([40, 90]))
    ]
    models, holds = random_models(rnd, sensitive)
    world = World(rows, paths, holds, rnd.choice([0, 0, 3]))
    problem = problem_of(world, models)
    try:
        found = search(problem, effort=rnd.choice([None, 0, 1, 3]))
    except GuaranteeError:
        assert not holds(rows)
        return
    right(world, problem, found)


def test_each_value_is_published_as_finely_as_its_class_allows() -> None:
    table = ages(21, 21, 21, 33, 35, 35, 47, 48)
    found = search(Problem(table, (KAnonymity(2),)))
    assert published(found, table) == [("21",)] * 3 + [("30s",)] * 3 + [("40s",)] * 2


def test_with_k_1_everything_stays_as_it_is() -> None:
    table = ages(21, 33, None, 35)
    assert published(search(Problem(table, (KAnonymity(1),))), table) == list(table.rows())
    assert published(search(Problem(table, ())), table) == list(table.rows())


def test_missing_values_are_alike_and_with_others_the_root() -> None:
    table = ages(None, None, 21, 21)
    assert published(search(Problem(table, (KAnonymity(2),))), table) == [(None,)] * 2 + [("21",)] * 2
    table = ages(None, 21)
    assert published(search(Problem(table, (KAnonymity(2),))), table) == [("*",)] * 2


def test_constant_columns_stay() -> None:
    hierarchy = Hierarchy.flat("ab")
    table = Table.of_texts({"x": (["a"] * 4, hierarchy), "age": (["21", "21", "33", "33"], AGES)})
    assert published(search(Problem(table, (KAnonymity(2),))), table) == list(table.rows())


def test_what_is_costly_may_be_left_out() -> None:
    table = ages(*[21] * 9, 55)
    found = search(Problem(table, (KAnonymity(2),), 1))
    assert (found.suppressed, published(found, table)) == (1, [("21",)] * 9)
    # It may not: so all nine lose with it, or what they can spare does.
    found = search(Problem(table, (KAnonymity(2),)))
    assert found.suppressed == 0
    assert sorted(published(found, table)).count(("*",)) in (2, 10)


def test_fewer_persons_than_k() -> None:
    table = ages(21, 33)
    with pytest.raises(GuaranteeError):
        search(Problem(table, (KAnonymity(3),)))
    assert search(Problem(table, (KAnonymity(3),), 2)).suppressed == 2


def test_no_rows_and_one() -> None:
    assert search(Problem(ages(), (KAnonymity(2),))).group.tolist() == []
    with pytest.raises(GuaranteeError):
        search(Problem(ages(21), (KAnonymity(2),)))


def test_persons_with_several_rows_are_refused() -> None:
    table = Table(ages(21, 33, 33).columns, np.array([0, 0, 1], np.int32))
    with pytest.raises(UsageError, match="one row a person"):
        search(Problem(table, (KAnonymity(2),)))
    with pytest.raises(UsageError, match="from 0"):
        search(Problem(ages(21), (KAnonymity(1),)), effort=-1)


def world_of(rows: int, seed: int) -> Table:
    rnd = Random(seed)
    jobs = Hierarchy.from_paths([[f"j{i}", f"kind {i // 4}", "*"] for i in range(16)])
    ill = Hierarchy.flat("fgha")
    columns = {
        "age": ([str(min(20 + int(rnd.expovariate(0.1)), 59)) for _ in range(rows)], AGES),
        "job": ([f"j{min(int(rnd.expovariate(0.3)), 15)}" for _ in range(rows)], jobs),
        "sex": ([rnd.choice("fm") for _ in range(rows)], Hierarchy.flat("fm")),
        "ill": ([rnd.choice("fffgha") for _ in range(rows)], ill),
    }
    return Table.of_texts(columns, roles={"ill": "sensitive"})


@pytest.mark.parametrize("models", [(KAnonymity(4),), (KAnonymity(4), DistinctDiversity(3)), (TCloseness(0.3),)])
def test_models_hold_in_blocks_too(models: tuple[Model, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    table = world_of(1500, 3)
    whole = search(Problem(table, models))
    monkeypatch.setattr(local, "BLOCK", 200)
    parted = search(Problem(table, models))
    for found in (whole, parted):
        released, rows = found.recoded(table)
        assert len(rows) == len(table)
        assert all(one.holds for one in check(released, models, table))
        assert gcp(released) < 0.6


def test_more_effort_loses_no_more() -> None:
    problem = Problem(world_of(2000, 5), (KAnonymity(5),))
    losses = [gcp(search(problem, effort=effort).recoded(problem.table)[0]) for effort in (0, 1, 2, 4)]
    assert losses == sorted(losses, reverse=True)


def test_the_lattice_is_never_larger_than_what_is_walked() -> None:
    for heights in ([1] * 40, [5] * 9, [0, 3, 9], [0], [1, 0, 2] * 6):
        steps = level_steps([np.linspace(0, 1, height + 1) for height in heights], 1000)
        assert len(steps) <= 1000
        assert steps.min(axis=0).tolist() == [0] * len(heights)
        assert steps.max(axis=0).tolist() == heights
        assert len(np.unique(steps, axis=0)) == len(steps)


@pytest.mark.parametrize("room", [1, 2, 3])
def test_what_can_be_had_without_room_can_be_had_with_room(room: int) -> None:
    rnd, ills = Random(room), Hierarchy.flat("ab")
    tree = Hierarchy.from_paths([[f"{i}", f"{i // 2}.", "*"] for i in range(8)])
    for _ in range(25):
        texts = [str(rnd.randrange(8)) for _ in range(10)]
        ill = rnd.sample("ab" * 5, 10)
        table = Table.of_texts({"x": (texts, tree), "ill": (ill, ills)}, roles={"ill": "sensitive"})
        alone = anonymize_table(table, k=2, alpha=0.5)
        release = anonymize_table(table, k=2, alpha=0.5, max_suppressed=room)
        assert release.loss.gcp_taxonomy <= alone.loss.gcp_taxonomy + 1e-9


@examples(20)
@given(st.integers(0, 2**32))
def test_more_room_is_never_worse_than_none(number: int) -> None:
    rnd = Random(number)
    tree = Hierarchy.from_paths([[f"{i:02}", f"{i // 3}.", f"{i // 6}:", "*"] for i in range(18)])
    rows = rnd.choice([8, 20, 40])
    columns: dict[str, Any] = {name: ([f"{rnd.randrange(18):02}" for _ in range(rows)], tree) for name in "ab"}
    columns["ill"] = [rnd.choice("xyzz") for _ in range(rows)], Hierarchy.flat("xyz")
    table = Table.of_texts(columns, roles={"ill": "sensitive"})
    asked: dict[str, Any] = rnd.choice([{"l": 1}, {"l": 2}, {"t": 0.3}, {"alpha": 0.6}])
    try:
        alone = anonymize_table(table, k=2, **asked)
    except GuaranteeError:
        return
    release = anonymize_table(table, k=2, max_suppressed=rnd.choice([1, 3, rows // 4]), **asked)
    assert release.verdict.holds and release.loss.gcp_taxonomy <= alone.loss.gcp_taxonomy + 1e-9


def test_a_release_that_tells_nothing_says_what_to_change() -> None:
    table = Table.of_texts({"x": (["1", "2"], Hierarchy.flat("12"))})
    release = anonymize_table(table, k=2)
    assert "every quasi column is published as *" in release.warnings[0] and "ask for less (-k)" in release.warnings[0]
    assert anonymize_table(table, k=1).warnings == []

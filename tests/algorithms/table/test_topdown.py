"""TopDown against obvious code, and its releases against the models."""

from __future__ import annotations

from collections import defaultdict
from random import Random

import numpy as np
import pytest

from tests.algorithms.table.test_mondrian import MODELS, groups_of, table_of
from tests.reference.mondrian import Slow, as_sets, random_options
from tests.support.strategies import properties
from tests.support.table_worlds import random_problem
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.topdown import search
from treeanon.errors import GuaranteeError
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.table.topdown import limit_of
from treeanon.privacy.models import DistinctDiversity, KAnonymity
from treeanon.table import Table
from treeanon.verifier.table import check


def holds(rnd: Random) -> None:
    problem, world = random_problem(rnd)
    style, rows, seed = random_options(rnd)["style"], world.rows, rnd.randrange(3)
    if rows and not world.holds(rows):
        with pytest.raises(GuaranteeError):
            search(problem, style=style, seed=seed)
        return
    found = search(problem, style=style, seed=seed)
    released, numbers = found.recoded(problem.table)
    assert numbers.tolist() == list(range(len(rows)))
    assert all(one.holds for one in check(released, problem.models))
    alike = defaultdict(list)
    for row, key in zip(rows, zip(*(c.texts() for c in released.quasi), strict=True), strict=True):
        alike[key].append(row)
    assert all(world.holds(group) for group in alike.values())
    assert all(world.holds(group) for group in groups_of(found, rows))
    is_one_each = len({row.person for row in rows}) == len(rows)
    if rows and is_one_each and all(isinstance(model, KAnonymity) for model in problem.models):
        k = max(model.k for model in problem.models)
        mixed = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]
        assert as_sets(groups_of(found, rows)) == as_sets(Slow(world, style, k).topdown(mixed))


test_holds, test_holds_thoroughly = properties(holds, 125, 4000)


@pytest.mark.parametrize("models", MODELS, ids=lambda models: ", ".join(m.name for m in models))
def test_every_model_holds(models):
    table = table_of()
    for style in ("hierarchy", "ranges", "sets"):
        found = search(Problem(table, models), style=style)
        assert all(one.holds for one in check(found.recoded(table)[0], models))


def test_groups_of_k_are_small():
    table = table_of(rows=1000)
    for k in (1, 4, 13):
        sizes = np.bincount(search(Problem(table, (KAnonymity(k),)), style="ranges").group)
        assert sizes.min() >= k and sizes.max() < 2 * k


def test_what_the_least_numbers_go_up_to():
    rng = np.random.default_rng(1)
    for most in (1, 3, 2**11, 2**26):
        numbers = rng.integers(-most, most, 50)
        for wanted in (1, 7, 50):
            limit, equal = limit_of(numbers, 50, wanted)
            assert limit == np.sort(numbers)[wanted - 1]
            assert equal == wanted - (numbers < limit).sum()


def test_the_seed_says_what_comes_out():
    problem = Problem(table_of(), (KAnonymity(5),))
    assert np.array_equal(search(problem, seed=4).group, search(problem, seed=4).group)
    assert not np.array_equal(search(problem, seed=4).group, search(problem, seed=5).group)


def test_odd_tables():
    hierarchy = Hierarchy.flat(["a", "b"])
    for texts in (["a"], ["a"] * 9, [None] * 3, ["a", None, "b", "a"]):
        table = Table.of_texts({"x": (texts, hierarchy)})
        found = search(Problem(table, (KAnonymity(1),)))
        assert found.recoded(table)[0] == table
    with pytest.raises(GuaranteeError, match="cannot be 5-anonymous"):
        search(Problem(table, (KAnonymity(5),)))
    same = Table.of_texts({"x": ([*"abab"], hierarchy), "s": ([*"aaaa"], hierarchy)}, roles={"s": "sensitive"})
    with pytest.raises(GuaranteeError, match="not even the whole"):
        search(Problem(same, (DistinctDiversity(2),)))

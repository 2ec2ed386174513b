"""The dual problem: never more loss than allowed, never less privacy than asked for, and the most where promised."""

from __future__ import annotations

from collections import Counter
from functools import partial
from random import Random

import numpy as np
import pytest

from tests.support.diversity_worlds import random_table, table_of
from tests.support.strategies import properties
from treeanon.algorithms.table.mondrian import search as mondrian
from treeanon.algorithms.table.onedim.dual import ipcsd, search
from treeanon.algorithms.table.onedim.l_diversity import search as l_diverse
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import table_algorithm_named
from treeanon.errors import GuaranteeError, UsageError
from treeanon.metrics.table import gcp
from treeanon.privacy.models import DistinctDiversity, FrequencyDiversity, KAnonymity
from treeanon.verifier.table import check


def within_the_loss(rnd: Random) -> None:
    rnd = Random(rnd.getrandbits(32))
    table = random_table(rnd, rnd.choice([1, 6, 12, 30]))
    allowed, form = rnd.choice([0.0, 0.05, 0.2, 0.5, 1.0]), rnd.choice(["taxonomy", "set"])
    model = rnd.choice([KAnonymity(1), KAnonymity(2), FrequencyDiversity(1), FrequencyDiversity(2)])
    method, primal = rnd.choice([("heuristic", None), ("ipcsd", "onedim"), ("ipcsd", "mondrian")])
    try:
        found = search(
            Problem(table, (model,)), max_loss=allowed, bound="mean", method=method, primal=primal, form=form
        )
    except GuaranteeError:
        return
    released, _ = found.recoded(table)
    assert gcp(released, form=form) <= allowed + 1e-9
    privacy = found.counts["privacy"]
    assert privacy >= (model.k if isinstance(model, KAnonymity) else model.l)
    assert all(one.holds for one in check(released, found.models))
    seen = Counter(row[:-1] for row in released.rows())
    assert min(seen.values()) >= privacy


test_within_the_loss, test_within_the_loss_thoroughly = properties(within_the_loss, 30, 1500)


def optimal_is_the_most(rnd: Random) -> None:
    """Against the optimal search for one ℓ after the other."""
    rnd = Random(rnd.getrandbits(32))
    table, allowed = random_table(rnd, rnd.randint(1, 8)), rnd.choice([0.0, 0.1, 0.3, 0.6, 1.0])
    asked = partial(search, Problem(table, (FrequencyDiversity(1),)), max_loss=allowed, bound="mean", order="hilbert")
    found = asked(method="optimal")
    most = 0
    for ell in range(1, len(table) + 1):
        try:
            one = l_diverse(Problem(table, (FrequencyDiversity(ell),)), order="hilbert", method="optimal")
        except GuaranteeError:
            break
        most = ell if one.counts["gcp"] <= allowed else most
    assert found.counts["privacy"] == most
    direct = partial(l_diverse, order="hilbert")
    reached = ipcsd(Problem(table, (FrequencyDiversity(1),)), direct, allowed)
    assert asked(method="heuristic").counts["privacy"] >= reached.privacy


test_most, test_most_thoroughly = properties(optimal_is_the_most, 40, 1000)


def test_more_private_than_mondrian_on_a_larger_table() -> None:
    rng = np.random.default_rng(3)
    ages = "".join(rng.choice(list("123456789"), 400))
    problem = Problem(table_of(ages, "".join(rng.choice(list("abcdxyz"), 400))), (FrequencyDiversity(1),))
    for allowed in (0.02, 0.1, 0.3):
        ours = search(problem, max_loss=allowed, bound="mean", form="set")
        assert ours.counts["privacy"] >= ipcsd(problem, mondrian, allowed, form="set").privacy


def test_what_it_is_not_for() -> None:
    problem = Problem(table_of("1234", "abcd"), (FrequencyDiversity(2),))
    for allowed in (-0.1, 1.1, float("nan")):
        with pytest.raises(UsageError, match="from 0 to 1"):
            search(problem, max_loss=allowed)
    for models in [(), (DistinctDiversity(2),), (KAnonymity(3), FrequencyDiversity(2)), (FrequencyDiversity(1.5),)]:
        with pytest.raises(UsageError):
            search(Problem(problem.table, models), max_loss=0.5, bound="mean")
    with pytest.raises(UsageError, match="methods"):
        search(problem, max_loss=0.5, method="magic")
    with pytest.raises(GuaranteeError, match="not even the least"):
        search(problem, max_loss=0.0)
    with pytest.raises(GuaranteeError, match="not even the least"):
        search(Problem(problem.table, (KAnonymity(2),)), max_loss=0.0)


def test_by_name() -> None:
    problem = Problem(table_of("1234", "abcd"), (FrequencyDiversity(1),))
    assert table_algorithm_named("onedim-dual").search(problem, max_loss=1.0).counts["privacy"] == 4

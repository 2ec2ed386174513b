"""1-D groups for any models: the best of all ways to cut the order, by obvious code, and releases that satisfy them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from random import Random

import numpy as np
import pytest

import treeanon as ta
from tests.reference import models as slow
from tests.reference.onedim import group_loss
from tests.support.diversity_worlds import random_table, table_of
from tests.support.strategies import properties
from treeanon.algorithms.table.mondrian import search as mondrian
from treeanon.algorithms.table.onedim import any_model
from treeanon.algorithms.table.onedim.any_model import grouped
from treeanon.algorithms.table.onedim.k_anonymity import search
from treeanon.algorithms.table.onedim.l_diversity import search as diverse
from treeanon.algorithms.table.onedim.orders import ordered
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import table_algorithm_named
from treeanon.errors import GuaranteeError, UsageError
from treeanon.metrics.table import gcp
from treeanon.privacy.models import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    PSensitiveKAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from treeanon.verifier.table import check


def asked(rnd, everybody):
    """One to three models, and the same of a list of rows by obvious code."""
    k, ell = rnd.randint(2, 4), rnd.choice([Fraction(3, 2), 2, Fraction(5, 2)])
    share, t = Fraction(rnd.randint(2, 4), 5), Fraction(rnd.randint(1, 8), 10)
    kinds = max(1, min(2, len(slow.counts(everybody))))
    known = [
        (KAnonymity(k), lambda rows: slow.size(rows) >= k),
        (DistinctDiversity(kinds), lambda rows: len(slow.counts(rows)) >= kinds),
        (FrequencyDiversity(ell), lambda rows: slow.frequency(rows, Fraction(ell))),
        (EntropyDiversity(ell), lambda rows: slow.entropy(rows, Fraction(ell))),
        (RecursiveDiversity(2, 2), lambda rows: slow.recursive(rows, Fraction(2), 2)),
        (AlphaKAnonymity(share, k), lambda rows: slow.alpha_k(rows, share, k, None)),
        (PSensitiveKAnonymity(2, k), lambda rows: slow.size(rows) >= k and len(slow.counts(rows)) >= 2),
        (TCloseness(t), lambda rows: slow.earth_mover(rows, everybody, slow.equal) <= t),
        (BetaLikeness(1), lambda rows: slow.likeness(rows, everybody, Fraction(1), enhanced=True)),
        (DeltaDisclosure(1.1), lambda rows: slow.disclosure(rows, everybody, 1.1)),
    ]
    chosen = rnd.sample(known, rnd.choice([1, 1, 2, 3]))
    return tuple(model for model, _ in chosen), lambda rows: all(holds(rows) for _, holds in chosen)


def world(rnd, rows, several):
    """A table, its models, and whether these hold for a list of its rows, by obvious code."""
    rnd = Random(rnd.getrandbits(32))
    table = random_table(rnd, rows)
    persons = [rnd.randrange(max(rows * 2 // 3, 1)) if several else row for row in range(rows)]
    if several:
        table = replace(table, person=np.array(persons, np.int32))
    codes = [None if code < 0 else code for code in table.column("ill").codes.tolist()]
    people = list(zip(persons, codes, strict=True))
    models, holds = asked(rnd, people)
    if not any(model.sensitive is not None for model in models):
        models += (DistinctDiversity(1),)
    return table, models, lambda chosen: holds([people[row] for row in chosen])


def least_by_trying(table, order, holds, form, style):
    """The least loss of all ways to cut the order into runs that hold."""
    best = None
    holds, lost = cache(holds), cache(lambda run: group_loss(table, run, form, style))
    order = tuple(order)
    for cuts in product([False, True], repeat=len(order) - 1):
        ends = [0, *(at for at, cut in enumerate(cuts, start=1) if cut), len(order)]
        runs = [order[a:b] for a, b in pairwise(ends)]
        if all(map(holds, runs)):
            whole = sum(map(lost, runs))
            best = whole if best is None else min(best, whole)
    return best


def best_of_the_order(rnd: Random) -> None:
    table, models, holds = world(rnd, rnd.choice([1, 4, 6, 8]), several=False)
    form, style = rnd.choice(["taxonomy", "set"]), rnd.choice(["auto", "hierarchy", "ranges", "sets"])
    order = rnd.choice(["hilbert", "idistance", "lexicographic", "adaptive"])
    problem = Problem(table, models)
    if not holds(range(len(table))):
        with pytest.raises(GuaranteeError):
            grouped(problem, "mine", order=order, form=form, style=style)
        return
    found = grouped(problem, "mine", order=order, form=form, style=style)
    size = max(2, min(any_model.least_rows(problem), len(table)))
    rows = ordered(table, order, k=size, form=form, style=style).rows.tolist()
    groups = found.group[rows].tolist()
    assert groups == sorted(groups) and found.counts["groups"] == len(set(groups)), "groups are runs of the order"
    runs = [[row for row, of in zip(rows, groups, strict=True) if of == group] for group in set(groups)]
    assert all(map(holds, runs))
    lost = sum(group_loss(table, run, form, style) for run in runs)
    least = least_by_trying(table, rows, holds, form, style)
    assert lost == least or abs(float(lost - least)) < 1e-9
    assert abs(found.counts["gcp"] * len(table) * len(table.quasi) - float(lost)) < 1e-6


test_best_of_the_order, test_best_of_the_order_thoroughly = properties(best_of_the_order, 60, 2500)


def releases_hold(rnd: Random) -> None:
    """What is published satisfies the models by counting, whatever is asked; all rows are there."""
    several = rnd.random() < 0.5
    table, models, holds = world(rnd, rnd.choice([0, 1, 5, 12, 40]), several)
    names = ["onedim", "hilbert", "idistance", "onedim-l"]
    name, style = rnd.choice(names), rnd.choice(["auto", "hierarchy", "ranges", "sets"])
    every = range(len(table))
    problem = Problem(table, models)
    if every and not holds(every):
        with pytest.raises(GuaranteeError):
            table_algorithm_named(name).search(problem, style=style)
        return
    found = table_algorithm_named(name).search(problem, style=style)
    released, numbers = found.recoded(table)
    assert numbers.tolist() == list(every) and found.suppressed == 0
    alike = defaultdict(list)
    for row, key in zip(every, zip(*(c.texts() for c in released.quasi), strict=True), strict=True):
        alike[key].append(row)
    assert all(map(holds, alike.values()))
    assert all(one.holds for one in check(released, models))


test_releases_hold, test_releases_hold_thoroughly = properties(releases_hold, 75, 3000)


def never_worse_than_halves(rnd: Random) -> None:
    """Also where there is no time to look at all places: the result holds, and loses no more than cutting in halves."""
    table, models, holds = world(rnd, rnd.choice([30, 60]), several=False)
    problem = Problem(table, models)
    if not holds(range(len(table))):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(any_model, "_BATCH", 50)
        patch.setattr(any_model, "_WORK", rnd.choice([100, 1000]))
        found = grouped(problem, "mine", order="hilbert", form="taxonomy", style="auto")
        patch.setattr(any_model, "_best", lambda line, cuts, least: cuts)
        halves = grouped(problem, "mine", order="hilbert", form="taxonomy", style="auto")
    assert found.counts["gcp"] <= halves.counts["gcp"] + 1e-9
    for group in set(found.group.tolist()):
        assert holds(np.flatnonzero(found.group == group).tolist())


test_never_worse_than_halves, test_never_worse_than_halves_thoroughly = properties(never_worse_than_halves, 25, 500)


def test_groups_that_are_published_alike_count_as_one() -> None:
    """Each of two groups has a and b of two persons; but of both together, which look alike, everybody has both."""
    persons = np.array([0, 1, 0, 1, 2, 3, 4, 5], np.int32)
    table = replace(table_of("11112222", "abbacdcd"), person=persons)
    found = diverse(Problem(table, (FrequencyDiversity(2),)), order="lexicographic")
    assert found.group.tolist() == [0, 0, 0, 0, 0, 0, 1, 1]
    with pytest.raises(GuaranteeError):
        diverse(Problem(table.take(np.arange(4)), (FrequencyDiversity(2),)))


def test_more_k_than_l_and_a_real_l() -> None:
    table = table_of("123456781", "aabbxxyyc")
    for models, sizes in (((FrequencyDiversity(2), KAnonymity(4)), 4), ((FrequencyDiversity(1.5),), 2)):
        found = diverse(Problem(table, models))
        assert np.bincount(found.group).min() >= sizes
        assert found.counts["groups"] >= 2
        with pytest.raises(UsageError, match="method auto or runs"):
            diverse(Problem(table, models), method="heuristic")
    whole = (FrequencyDiversity(2), KAnonymity(2))
    assert "fallen_back" in diverse(Problem(table, whole)).counts
    assert "fallen_back" not in diverse(Problem(table, whole), method="runs").counts


def test_what_it_is_not_for() -> None:
    problem = Problem(table_of("1234", "abcd"), (DistinctDiversity(2),))
    with pytest.raises(UsageError, match="hilbert-fast is for k-anonymity alone"):
        search(problem, order="hilbert", fast=True)
    with pytest.raises(UsageError, match="look_back is for k-anonymity alone"):
        search(problem, look_back=1)
    with pytest.raises(UsageError, match="look_back and window"):
        diverse(problem, look_back=3)
    with pytest.raises(UsageError, match="the objective is mean"):
        diverse(problem, objective="max")
    for models in [(), (KAnonymity(2),)]:
        with pytest.raises(UsageError, match="for models of sensitive columns"):
            diverse(Problem(problem.table, models))
    with pytest.raises(UsageError):
        search(Problem(problem.table, (AverageRisk(0.5), DistinctDiversity(2))))


def test_loses_less_than_mondrian() -> None:
    table = random_table(Random(5), 400, 3)
    problem = Problem(table, (KAnonymity(6), TCloseness(0.4)))
    assert gcp(search(problem).recoded(table)[0]) < gcp(mondrian(problem).recoded(table)[0])


def test_from_the_front_door() -> None:
    table = random_table(Random(4), 60, 2)
    for name in ("onedim", "onedim-l", "idistance"):
        release = ta.anonymize(table, algorithm=name, k=5, t=0.4, l=2, seed=1)
        assert all(one.holds for one in check(release.table, release.models))
        assert {"5-anonymity", "distinct 2-diversity"} <= {model.name for model in release.models}

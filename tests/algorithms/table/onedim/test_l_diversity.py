"""One-dimensional ℓ-diversity: always kept, never better than brute force, and best where that is promised."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial
from random import Random

import numpy as np
import pytest

from tests.reference.diversity import least_loss
from tests.support.diversity_worlds import NUMBERS, random_table, table_of
from tests.support.strategies import properties
from treeanon.algorithms.table.onedim.any_model import Line
from treeanon.algorithms.table.onedim.l_diversity import best_of, search
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import table_algorithm_named
from treeanon.algorithms.table.result import recoded_groups
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.metrics.table import gcp
from treeanon.privacy.models import DistinctDiversity, FrequencyDiversity, KAnonymity
from treeanon.table import Table
from treeanon.verifier.table import check


def options(rnd: Random) -> dict[str, str]:
    return {
        "order": rnd.choice(["best", "adaptive", "hilbert", "idistance", "lexicographic", "user"]),
        "form": rnd.choice(["taxonomy", "set"]),
        "style": rnd.choice(["auto", "hierarchy", "ranges", "sets"]),
    }


def kept(table: Table, group: np.ndarray, released: Table, ell: int) -> None:
    """What must hold of groups and of their release, by plain counting."""
    ill = table.column("ill").texts()
    groups = defaultdict(list)
    for row, number in enumerate(group.tolist()):
        groups[number].append(ill[row])
    for members in groups.values():
        assert ell <= len(members) <= max(1, 2 * ell - 1) and len(set(members)) == len(members)
    seen = defaultdict(Counter)
    for row in released.rows():
        seen[row[:-1]][row[-1]] += 1
    assert all(max(counts.values()) * ell <= sum(counts.values()) for counts in seen.values())
    assert sorted(map(repr, ill)) == sorted(map(repr, released.column("ill").texts()))


def always_diverse(rnd: Random) -> None:
    rnd = Random(rnd.getrandbits(32))
    table, ell = random_table(rnd, rnd.choice([0, 1, 2, 7, 20, 60])), rnd.randint(1, 5)
    problem, chosen = Problem(table, (FrequencyDiversity(ell),)), options(rnd)
    method = rnd.choice(["heuristic", "near"])
    counts = Counter(table.column("ill").texts())
    if max(counts.values(), default=0) * ell > len(table):
        with pytest.raises(GuaranteeError):
            search(problem, method=method, **chosen)
        return
    bits = {"look_back": rnd.choice([0, 1, 5]), "window": rnd.choice([1, 3, 100])}
    found = search(problem, method=method, **bits, **chosen)
    released, rows = found.recoded(table)
    assert rows.tolist() == list(range(len(table)))
    kept(table, found.group, released, ell)
    assert all(one.holds for one in check(released, [FrequencyDiversity(ell), KAnonymity(ell), DistinctDiversity(ell)]))
    assert found.counts["gcp"] == pytest.approx(gcp(released, form=chosen["form"]))
    if len(table):
        unswapped = search(problem, method=method, **{**bits, "look_back": 0}, **chosen)
        assert found.counts["gcp"] <= unswapped.counts["gcp"] + 1e-9


test_always_diverse, test_always_diverse_thoroughly = properties(always_diverse, 50, 5000)


def optimal_is_optimal(rnd: Random) -> None:
    rnd = Random(rnd.getrandbits(32))
    table, ell = random_table(rnd, rnd.randint(1, 7)), rnd.randint(1, 3)
    chosen = options(rnd)
    problem = Problem(table, (FrequencyDiversity(ell),))
    order = "hilbert" if chosen["order"] == "best" else chosen["order"]
    line = Line.of(table, table.column("ill"), order, None, ell, chosen["form"], chosen["style"])

    def price(places: list[int]) -> float:
        """The loss of a group by the losses of releases: with one row a person and no other."""
        rows = line.rows[np.array(places)]
        part = recoded_groups(table.take(rows), np.zeros(len(rows), np.int64), chosen["style"])
        return gcp(part, form=chosen["form"])

    least = least_loss(line.values.tolist(), ell, price, ordered=True) / len(table)
    if least == float("inf"):
        with pytest.raises(GuaranteeError):
            search(problem, method="optimal", **chosen)
        return
    for method in ("optimal", "dual"):
        group, counts = best_of(line, ell, method)
        assert counts["gcp"] == pytest.approx(least)
        assert line.costs.gcp(group) == pytest.approx(least)
        found = search(problem, method=method, **{**chosen, "order": order})
        assert gcp(found.recoded(table)[0], form=chosen["form"]) == pytest.approx(least)
    over_all = least_loss(line.values.tolist(), ell, price, ordered=False) / len(table)
    heuristic = search(problem, **{**chosen, "order": order})
    assert heuristic.counts["gcp"] >= over_all - 1e-9


test_optimal_is_optimal, test_optimal_is_optimal_thoroughly = properties(optimal_is_optimal, 30, 500)


def one_column(rnd: Random) -> None:
    """By extents of one column, against a sum that shares nothing with the searches."""
    rnd = Random(rnd.getrandbits(32))
    rows, ell = rnd.randint(1, 7), rnd.randint(1, 3)
    ages = [rnd.choice(NUMBERS) for _ in range(rows)]
    ill = [rnd.choice("xyz") for _ in range(rows)]
    columns = {"age": (ages, Hierarchy.flat(NUMBERS)), "ill": (ill, Hierarchy.flat("xyz"))}
    table = Table.of_texts(columns, roles={"ill": "sensitive"})
    if max(Counter(ill).values()) * ell > rows:
        return
    found = search(
        Problem(table, (FrequencyDiversity(ell),)), order="user", method="optimal", form="set", style="ranges"
    )
    places = [NUMBERS.index(age) for age in ages]

    def extent(group: list[int]) -> float:
        own = [places[row] for row in group]
        return (max(own) - min(own)) / (len(NUMBERS) - 1)

    order = sorted(range(rows), key=lambda row: places[row])
    values = ["xyz".index(ill[row]) for row in order]
    places = [places[row] for row in order]
    best = least_loss(values, ell, extent, ordered=True) / rows
    assert found.counts["gcp"] >= least_loss(values, ell, extent, ordered=False) / rows - 1e-9
    if len({*places}) == rows:
        # Ties may come in any order, which matters.
        assert found.counts["gcp"] == pytest.approx(best)


test_one_column, test_one_column_thoroughly = properties(one_column, 30, 1000)


def test_frequent_values_are_in_every_group() -> None:
    # x has half of the rows: every group must have one, also those that begin where there is none.
    table = table_of("11223399", "xxxxabcd")
    found = search(Problem(table, (FrequencyDiversity(2),)), order="user", look_back=0)
    ill = table.column("ill").texts()
    assert all(sorted(ill[r] for r in np.flatnonzero(found.group == g))[1] == "x" for g in range(4))


def test_constant_columns_lose_nothing() -> None:
    found = search(Problem(table_of("1111", "abab"), (FrequencyDiversity(2),)))
    assert found.counts["gcp"] == 0 and found.counts["groups"] == 2


def test_what_it_is_not_for() -> None:
    table = table_of("1234", "abcd")
    counting = partial(search, method="heuristic")
    for models in [(), (KAnonymity(2),), (DistinctDiversity(2),), (FrequencyDiversity(1.5),)]:
        with pytest.raises(UsageError):
            counting(Problem(table, models))
    with pytest.raises(UsageError, match="must not be more"):
        counting(Problem(table, (FrequencyDiversity(2), KAnonymity(3))))
    assert search(Problem(table, (FrequencyDiversity(2), KAnonymity(2)))).counts["groups"] == 2
    with pytest.raises(UsageError, match="one row a person"):
        counting(Problem(replace(table, person=np.array([0, 0, 1, 2], np.int32)), (FrequencyDiversity(2),)))
    with pytest.raises(UsageError, match="choose from auto, heuristic"):
        search(Problem(table, (FrequencyDiversity(2),)), method="magic")
    with pytest.raises(UsageError, match="too many"):
        search(Problem(table_of("123456789" * 99, "abc" * 297), (FrequencyDiversity(2),)), method="optimal")
    with pytest.raises(GuaranteeError, match="one sensitive value"):
        search(Problem(table_of("1", "a"), (FrequencyDiversity(2),)))


def test_two_sensitive_columns() -> None:
    table = table_of("1234", "abcd")
    more = Table((*table.columns, replace(table.columns[1], spec=replace(table.columns[1].spec, name="more"))))
    with pytest.raises(UsageError, match="one sensitive column"):
        search(Problem(more, (FrequencyDiversity(2),)), method="heuristic")


def test_by_name() -> None:
    found = table_algorithm_named("onedim-l").search(Problem(table_of("1234", "aabb"), (FrequencyDiversity(2),)))
    assert found.algorithm == "onedim-l"

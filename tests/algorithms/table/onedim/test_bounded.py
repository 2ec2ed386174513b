"""A bound that every group keeps: the paper's examples, the optimum against brute force, and releases checked anew."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import partial
from random import Random

import numpy as np
import pytest

from tests.reference.diversity import is_diverse, largest_least, most_private, partitions, privacy
from tests.support.diversity_worlds import random_table, table_of
from tests.support.strategies import properties
from treeanon.algorithms.table.mondrian import search as mondrian
from treeanon.algorithms.table.onedim.any_model import Line
from treeanon.algorithms.table.onedim.bounded import heuristic, optimal, privacy_of, sorted_line
from treeanon.algorithms.table.onedim.dual import ipcsd, search
from treeanon.algorithms.table.onedim.l_diversity import search as l_diverse
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.result import recoded_groups
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.table.onedim_bounds import bounded_groups
from treeanon.metrics.table.ncp import value_ncp
from treeanon.privacy.models import FrequencyDiversity, KAnonymity
from treeanon.table import Table


def numbers(columns: dict[str, list[int]], ill: str) -> Table:
    """Return a table of columns of numbers, and a sensitive one."""
    texts = {name: [str(value) for value in values] for name, values in columns.items()}
    made = {name: (own, Hierarchy.flat(sorted(set(own), key=int))) for name, own in texts.items()}
    table = Table.of_texts(made | {"ill": (list(ill), Hierarchy.flat(sorted(set(ill))))}, roles={"ill": "sensitive"})
    return Table(
        tuple(c if c.name == "ill" else replace(c, spec=replace(c.spec, type="integer")) for c in table.columns)
    )


def sets_of(group: np.ndarray, named: list[int]) -> set[frozenset[int]]:
    return {frozenset(named[row] for row in np.flatnonzero(group == number)) for number in set(group.tolist())}


def test_a_row_goes_to_the_next_group_where_that_helps() -> None:
    ages = [10, 12, 15, 18, 20, 22, 27, 31, 35, 40, 44]
    table = numbers({"age": ages}, "aabcdea" + "xxyz")
    line = Line.of(table, table.sensitive[0], "lexicographic", None, 2, "taxonomy", "auto")
    group, moves = bounded_groups(line.costs.cells, line.values, line.count, line.costs.prices, 20 / 34)
    assert moves == 1
    assert sets_of(line.by_row(group), ages) == {frozenset(ages[:6]), frozenset(ages[6:])}
    assert privacy_of(group, line.values) == Fraction(5, 2)


def test_the_nearest_row_in_space_goes_not_the_nearest_in_the_order() -> None:
    places = [2, 11, 14, 30, 51, 57]
    # A step is 1/14 of the NCP of both columns, which have eight values each.
    points = {"x": [0, 4, 2, 1, 5, 6, 7], "y": [0, 2, 0, 3, 5, 6, 7]}
    table = numbers(points, "abcbxyz")
    line = Line.of(table, table.sensitive[0], "lexicographic", None, 2, "taxonomy", "auto")
    cells, values = line.costs.cells[np.argsort(line.rows)][:6], line.values[np.argsort(line.rows)][:6]
    group, moves = bounded_groups(cells, values, line.count, line.costs.prices, 7 / 14 * 2 + 1e-9)
    assert moves == 1
    assert sets_of(group, places) == {frozenset({2, 14, 30}), frozenset({11, 51, 57})}
    assert privacy_of(group, values) == 3


def kept(table: Table, group: np.ndarray, allowed: float, form: str) -> Fraction:
    """What must hold of groups, counted in their release; return how private the least private is."""
    released = recoded_groups(table, np.unique(group, return_inverse=True)[1])
    assert np.mean([value_ncp(c, form)[c.codes] for c in released.quasi], axis=0).max(initial=0) <= allowed + 1e-9
    ill, members = table.column("ill").codes.tolist(), defaultdict(list)
    for row, number in enumerate(group.tolist()):
        members[number].append(row)
    return min((privacy(rows, ill) for rows in members.values()), default=Fraction(0))


def bound_of_every_group(rnd: Random) -> None:
    rnd = Random(rnd.getrandbits(32))
    table, form = random_table(rnd, rnd.choice([1, 6, 12, 30])), rnd.choice(["taxonomy", "set"])
    allowed, least = rnd.choice([0.0, 0.1, 0.3, 0.6, 1.0]), rnd.choice([1, 1, 1.5, 2])
    diverse = rnd.random() < 0.7
    models = (FrequencyDiversity(least),) if diverse else (KAnonymity(int(least)),)
    if diverse and rnd.random() < 0.5:
        models += (KAnonymity(1),)
    order = rnd.choice(["best", "hilbert", "adaptive", "idistance", "lexicographic"])
    method = rnd.choice([{}, {}, {"method": "ipcsd", "primal": "mondrian"}])
    try:
        found = search(Problem(table, models), max_loss=allowed, form=form, order=order, **method)
    except GuaranteeError:
        return
    except UsageError as wrong:
        assert "whole ℓ" in str(wrong)
        return
    told, group = found.counts["privacy"], found.group
    if diverse:
        assert kept(table, group, allowed, form) >= Fraction(told).limit_denominator(10**6) >= least
    else:
        kept(table, group, allowed, form)
        assert min(Counter(group.tolist()).values()) >= told >= int(least)


test_bound_of_every_group, test_bound_of_every_group_thoroughly = properties(bound_of_every_group, 40, 2000)


def optimum_of_one_column(rnd: Random) -> None:
    """Against every partition of a few rows; the heuristic never finds more."""
    rnd = Random(rnd.getrandbits(32))
    table, allowed = random_table(rnd, rnd.randint(1, 7), columns=1), rnd.choice([0.0, 0.1, 0.3, 0.6, 1.0])
    column, style = table.column("ill"), rnd.choice(["hierarchy", "ranges"])
    costs = sorted_line(table, None, "taxonomy", style)

    def fits(rows: list[int]) -> bool:
        one = np.array([0 if place in rows else place + 1 for place in range(len(table))])
        released = recoded_groups(table.take(costs.rows), np.unique(one, return_inverse=True)[1], style)
        return value_ncp(released.quasi[0])[released.quasi[0].codes[rows[0]]] <= allowed + 1e-9

    ill = column.codes[costs.rows].tolist()
    best = optimal(table, column, allowed, "taxonomy", style)
    assert best is not None and best.privacy == most_private(ill, fits) == kept_by(best.group, column.codes)
    found = heuristic(table, column, allowed, "best", None, "taxonomy", style)
    assert found is not None and found.privacy <= best.privacy
    sizes = optimal(table, None, allowed, "taxonomy", style)
    assert sizes is not None and sizes.privacy == largest_least(len(table), fits)


def kept_by(group: np.ndarray, ill: np.ndarray) -> Fraction:
    return privacy_of(np.unique(group, return_inverse=True)[1], np.unique(ill, return_inverse=True)[1])


test_optimum, test_optimum_thoroughly = properties(optimum_of_one_column, 12, 1000)


def test_real_diversity_by_mondrian_is_halved_to_a_twentieth() -> None:
    rnd = Random(5)
    table = numbers(
        {"age": [rnd.randint(1, 60) for _ in range(300)]}, "".join(rnd.choice("aabcde") for _ in range(300))
    )
    problem = Problem(table, (FrequencyDiversity(1),))
    found = ipcsd(problem, mondrian, 0.2, bound="group", whole=False)
    assert found.privacy.denominator > 1
    more = replace(problem, models=(FrequencyDiversity(found.privacy + Fraction(1, 20)),))
    released, _ = mondrian(more).recoded(table)
    assert max(value_ncp(released.quasi[0])[released.quasi[0].codes]) > 0.2


def test_what_is_refused() -> None:
    problem = Problem(table_of("1234", "abcd"), (FrequencyDiversity(2),))
    asked = partial(search, problem, max_loss=0.5, form="set", style="ranges")
    with pytest.raises(UsageError, match="primal is the search that the method ipcsd repeats"):
        asked(primal="mondrian")
    with pytest.raises(UsageError, match="it takes no order"):
        asked(method="optimal", order="hilbert")
    with pytest.raises(UsageError, match="one quasi column"):
        asked(method="optimal", style="sets")
    with pytest.raises(UsageError, match="k must not be more than ℓ"):
        search(replace(problem, models=(KAnonymity(3), FrequencyDiversity(2))), max_loss=0.5)
    with pytest.raises(GuaranteeError, match="in every group"):
        asked(max_loss=0.1)
    assert asked(method="optimal").counts["privacy"] == 4
    held = search(replace(problem, models=(KAnonymity(1), FrequencyDiversity(2))), max_loss=0.5, form="set")
    assert held.models == (KAnonymity(1), FrequencyDiversity(4))


def least_extent(rnd: Random) -> None:
    """The optimum for the largest extent of any group, both ways, against every partition of a few rows."""
    rnd = Random(rnd.getrandbits(32))
    count, ell = rnd.randint(2, 7), rnd.randint(1, 3)
    ages, ill = [rnd.randint(0, 20) for _ in range(count)], [rnd.choice("abcd") for _ in range(count)]
    table = numbers({"age": [*ages]}, "".join(ill))
    whole = max(max(ages) - min(ages), 1)
    best = min(
        (
            max(max(ages[row] for row in group) - min(ages[row] for row in group) for group in groups) / whole
            for groups in partitions(range(count))
            if is_diverse(groups, ill, ell)
        ),
        default=None,
    )
    problem = Problem(table, (FrequencyDiversity(ell),))
    for chosen in ({"method": "optimal", "order": "lexicographic"}, {"method": "dual"}):
        if best is None:
            with pytest.raises(GuaranteeError):
                l_diverse(problem, objective="max", **chosen)
            continue
        found = l_diverse(problem, objective="max", **chosen)
        assert found.counts["greatest_ncp"] == pytest.approx(best)
        extents = [max(own) - min(own) for own in by_group(ages, found.group)]
        assert max(extents) / whole == pytest.approx(best)
        assert is_diverse(by_group(list(range(count)), found.group), ill, ell)


def test_halving_over_nodes() -> None:
    """By what releases lose, against every partition of a few rows."""
    for seed in range(12):
        table = random_table(Random(seed), 5, columns=1)
        ill = table.column("ill").codes.tolist()

        def loss(groups: list[list[int]], table: Table = table) -> float:
            number = np.array([next(g for g, group in enumerate(groups) if row in group) for row in range(5)])
            (quasi,) = recoded_groups(table, number, "hierarchy").quasi
            return float(value_ncp(quasi)[quasi.codes].max())

        least = [loss(groups) for groups in partitions(range(5)) if is_diverse(groups, ill, 2)]
        if least:
            problem = Problem(table, (FrequencyDiversity(2),))
            found = l_diverse(problem, method="dual", objective="max", style="hierarchy")
            assert found.counts["greatest_ncp"] == pytest.approx(min(least))
            assert loss(by_group(list(range(5)), found.group)) == pytest.approx(min(least))


def by_group(ages: list[int], group: np.ndarray) -> list[list[int]]:
    return [[ages[row] for row in np.flatnonzero(group == number)] for number in set(group.tolist())]


test_least_extent, test_least_extent_thoroughly = properties(least_extent, 40, 1000)


def test_the_largest_extent_is_for_the_optimum() -> None:
    with pytest.raises(UsageError, match="the objective is mean"):
        l_diverse(Problem(table_of("1234", "abcd"), (FrequencyDiversity(2),)), objective="max")
    with pytest.raises(UsageError, match="takes no order"):
        l_diverse(
            Problem(table_of("1234", "abcd"), (FrequencyDiversity(2),)), method="dual", objective="max", order="hilbert"
        )

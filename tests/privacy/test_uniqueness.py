"""Estimates of population uniqueness: each formula by an obvious twin, the decision rule, and as `risk` tells them."""

from __future__ import annotations

from fractions import Fraction
from math import comb, gamma, isclose, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.privacy.uniqueness import (
    Sample,
    pitman,
    pitman_fit,
    pitman_likelihood,
    pitman_uniques,
    population_groups,
    snb,
    snb_expected,
    unique_persons,
    zayatz,
)
from treeanon.table import Table

SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=12).map(lambda sizes: [1, *sizes])


def slow_zayatz(sizes: list[int], population: int) -> Fraction:
    """Drawing one of a group of j: j · C(N - j, n - 1) / C(N, n)."""
    n, u = sum(sizes), len(sizes)

    def one(j: int) -> Fraction:
        return Fraction(j * comb(population - j, n - 1), comb(population, n))

    everything = sum(Fraction(sizes.count(j), u) * one(j) for j in set(sizes))
    unique = Fraction(sizes.count(1), u) * one(1) / everything
    return sizes.count(1) * unique * population / n


@settings(max_examples=30)
@given(SIZES, st.integers(1, 200))
def test_zayatz(sizes: list[int], more: int) -> None:
    population = sum(sizes) + more
    assert isclose(zayatz(Sample.of(np.array(sizes), population)), slow_zayatz(sizes, population), rel_tol=1e-6)


@given(st.floats(0.01, 20), st.floats(0.01, 0.95), st.integers(1, 60))
def test_unique_persons_of_pitmans_model(theta: float, alpha: float, population: int) -> None:
    """Persons come one by one: to a new group with chance (θ + α·K) / (n + θ), to one of f with (f - α) / (n + θ)."""
    groups = alone = 1.0
    for n in range(1, population):
        new = (theta + alpha * groups) / (n + theta)
        alone += new - alone * (1 - alpha) / (n + theta)
        groups += new
    assert isclose(pitman_uniques(theta, alpha, population), alone, rel_tol=1e-6)


def slow_likelihood(sizes: list[int], theta: float, alpha: float) -> float:
    of_groups = sum(log(theta + i * alpha) for i in range(1, len(sizes)))
    of_persons = sum(log(theta + i) for i in range(1, sum(sizes)))
    return of_groups - of_persons + sum(log(j - alpha) for size in sizes for j in range(1, size))


@settings(max_examples=12)
@given(SIZES)
def test_pitman_is_at_the_maximum(sizes: list[int]) -> None:
    sample = Sample.of(np.array(sizes), 10 * sum(sizes))
    grid = [(theta, alpha) for theta in np.geomspace(0.02, 500, 12) for alpha in np.linspace(0.02, 0.98, 13)]
    far = {at: slow_likelihood(sizes, *at) for at in grid}
    for at in grid[::17]:
        assert isclose(pitman_likelihood(sample, *at), far[at], rel_tol=1e-6, abs_tol=1e-6)
    fitted, found = pitman_fit(sample), pitman(sample)
    assert fitted is not None
    assert found is not None
    assert pitman_likelihood(sample, *fitted) >= max(far.values()) - 1e-3
    assert 0 <= found <= sample.population


@given(st.floats(0.1, 5), st.floats(0.05, 0.9), st.floats(0.05, 0.95))
def test_expected_sizes_of_the_slide_negative_binomial(alpha: float, beta: float, share: float) -> None:
    """A group has 1 + X persons, X negative binomial; each of them is in the sample with that share."""
    ones = twos = 0.0
    chance = beta**alpha
    for x in range(400):
        j = 1 + x
        ones += chance * j * share * (1 - share) ** (j - 1)
        twos += chance * comb(j, 2) * share**2 * (1 - share) ** max(j - 2, 0)
        chance *= (alpha + x) / (x + 1) * (1 - beta)
    found = snb_expected(100, share, alpha, beta)
    assert isclose(found[0], 100 * ones, rel_tol=1e-4)
    assert isclose(found[1], 100 * twos, rel_tol=1e-4)


def test_snb_finds_the_parameters_of_what_is_expected() -> None:
    """Of groups of the model itself: K = 1,000, α = 0.8, β = 0.4."""
    chances, chance = [], 0.4**0.8
    for x in range(200):
        chances.append(chance)
        chance *= (0.8 + x) / (x + 1) * 0.6
    random = np.random.default_rng(5)
    sizes = 1 + random.choice(200, 30000, p=np.array(chances) / sum(chances))
    drawn = random.binomial(sizes, 0.3)
    found = snb(Sample.of(drawn[drawn > 0], int(sizes.sum())))
    assert found is not None
    assert isclose(found, (sizes == 1).sum(), rel_tol=0.3)
    # Without pairs its equations have no solution.
    assert snb(Sample.of(np.array([1, 1, 3]), 20)) is None


@given(SIZES, st.integers(1, 50))
def test_groups_of_the_population(sizes: list[int], more: int) -> None:
    q = sum(sizes) / (sum(sizes) + more)
    times = {i: sizes.count(i) for i in set(sizes)}
    seen = sum(i * q**2 * (1 - q**2) ** (i - 1) * f for i, f in times.items())
    several = sum((1 - q) ** i * ((1 + q) ** i - 1) * f for i, f in times.items())
    missed = sum((1 - q) ** i * f for i, f in times.items())
    once = sum(i * q * (1 - q) ** (i - 1) * f for i, f in times.items())
    expected = len(sizes) + sizes.count(1) * seen / several * (missed / once) ** 2
    assert isclose(population_groups(Sample.of(np.array(sizes), sum(sizes) + more)), expected, rel_tol=1e-6)


def test_the_rule_of_dankar() -> None:
    sizes = np.array([1] * 30 + [2] * 12 + [3] * 5)
    small, large = 10 * int(sizes.sum()), 2 * int(sizes.sum())
    assert unique_persons(sizes, small) == unique_persons(sizes, small, "pitman")
    both = [unique_persons(sizes, large, name) for name in ("zayatz", "snb")]
    assert unique_persons(sizes, large) == min(one for one in both if one is not None)
    assert unique_persons(np.array([1, 1, 3]), 20) == unique_persons(np.array([1, 1, 3]), 20, "zayatz")
    assert unique_persons(np.array([2, 3]), 20) == 0
    assert unique_persons(np.array([1, 3]), 4) == 1


def test_ewens_by_hand() -> None:
    """α near 0, θ = 1, of two persons: the second is alone with chance 1/2, and then both are."""
    assert isclose(pitman_uniques(1, 1e-9, 2), 2 * gamma(2) / gamma(1) * gamma(2) / gamma(3), rel_tol=1e-6)


def test_risk_tells_all_of_them() -> None:
    ages = [str(i) for i in range(40)] + [str(i) for i in range(20)]
    table = Table.of_texts({"age": (ages, Hierarchy.flat(ages))})
    found = ta.risk(table, k=2, population_size=6000).whole
    assert found is not None
    assert found.uniqueness is not None
    assert found.uniqueness.dankar == found.uniqueness.pitman == unique_persons(np.array([1] * 20 + [2] * 20), 6000)
    assert found.as_dict()["uniqueness"]["population"] == 6000
    town = Table.of_texts({"age": (ages * 2, Hierarchy.flat(ages))})
    again = ta.risk(table, k=2, population=town).whole
    assert again is not None
    assert again.uniqueness is not None
    assert again.uniqueness.population == 120
    with pytest.raises(UsageError, match="has a size"):
        ta.risk(table, population=town, population_size=6000)
    with pytest.raises(UsageError, match="smaller than the table"):
        ta.risk(table, population_size=6)

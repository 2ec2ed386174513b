"""Estimates of how many persons of a population are unique in it, from the sizes of groups in a sample.

L. Zayatz, "Estimation of the Number of Unique Population Elements Using a Sample", Proceedings of the Survey Research
Methods Section, American Statistical Association, 1991. N. Hoshino, "Applying Pitman's Sampling Formula to Microdata
Disclosure Risk Assessment", Journal of Official Statistics 17(4), 2001. G. Chen, S. Keller-McNulty, "Estimation of
Identification Disclosure Risk in Microdata", Journal of Official Statistics 14(1), 1998 (the slide negative binomial,
SNB), with the number of groups in the population after P. J. Haas, L. Stokes, "Estimating the Number of Classes in a
Finite Population", Journal of the American Statistical Association 93(444), 1998 (modified Shlosser estimator). Which
of them is taken: F. K. Dankar, K. El Emam, A. Neisa, T. Roffey, "Estimating the Re-identification Risk of Clinical Data
Sets", BMC Medical Informatics and Decision Making 12(66), 2012.

The sample is taken to be drawn at random. Where it is the whole population, its own unique persons are the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from treeanon.arrays import Floats, Longs
from treeanon.errors import UsageError

Estimator = Literal["dankar", "pitman", "zayatz", "snb"]
ESTIMATORS: tuple[Estimator, ...] = ("dankar", "pitman", "zayatz", "snb")

SMALL_SAMPLE = 0.1
"""Up to this share of the population the decision rule takes Pitman's estimate."""

_EDGE = 1e-9
_FAR = 16.0
_SOLVED = 1e-10


@dataclass(frozen=True)
class Sample:
    """How many groups of a sample have each size, and how many persons the population has."""

    size: Floats
    times: Floats
    population: int

    @classmethod
    def of(cls, sizes: Longs, population: int) -> Sample:
        """Return the sample with groups of these sizes; UsageError if the population is smaller."""
        size, times = np.unique(sizes, return_counts=True)
        if int(sizes.sum()) > population:
            raise UsageError(f"a population of {population:,} persons is smaller than the table")
        return cls(size.astype(np.float64), times.astype(np.float64), population)

    @property
    def persons(self) -> float:
        """Return the number of persons in the sample."""
        return float(self.size @ self.times)

    @property
    def groups(self) -> float:
        """Return the number of groups."""
        return float(self.times.sum())

    @property
    def share(self) -> float:
        """Return the share of the population that is in the sample."""
        return self.persons / self.population

    def groups_of(self, size: int) -> float:
        """Return the number of groups of a size."""
        return float(self.times[self.size == size].sum())


def unique_persons(sizes: Longs, population: int, estimator: Estimator = "dankar") -> float | None:
    """Return how many persons of the population are estimated to be unique; None where the estimator has no solution.

    >>> unique_persons(np.array([1, 1, 2, 3]), 7), unique_persons(np.array([2, 3]), 100)
    (2.0, 0.0)
    """
    sample = Sample.of(sizes, population)
    alone = sample.groups_of(1)
    if not alone or sample.persons == population:
        return alone
    if estimator == "dankar":
        return _decided(sample)
    return {"pitman": pitman, "zayatz": zayatz, "snb": snb}[estimator](sample)


def _decided(sample: Sample) -> float | None:
    """Return the estimate by the rule of Dankar et al.: Pitman's for small samples, else the lower of two."""
    if sample.share <= SMALL_SAMPLE:
        found = pitman(sample)
        return zayatz(sample) if found is None else found
    other = snb(sample)
    return zayatz(sample) if other is None else min(other, zayatz(sample))


def zayatz(sample: Sample) -> float:
    """Return the unique persons if groups of the population have the sizes that those of the sample have."""
    from scipy.special import gammaln

    n, whole, size = sample.persons, sample.population, sample.size

    def log_choose(of: Any, some: Any) -> Any:
        return gammaln(of + 1) - gammaln(some + 1) - gammaln(of - some + 1)

    # That of a group of so many just one is drawn.
    fits = whole - size >= n - 1
    one = np.zeros(len(size))
    one[fits] = size[fits] * np.exp(log_choose(whole - size[fits], n - 1) - log_choose(whole, n))
    weight = sample.times * one
    unique = float(weight[size == 1].sum() / weight.sum())
    return sample.groups_of(1) * unique / sample.share


def pitman(sample: Sample) -> float | None:
    """Return the unique persons by Pitman's sampling formula, at the maximum of its likelihood."""
    fitted = pitman_fit(sample)
    return None if fitted is None else min(pitman_uniques(*fitted, sample.population), float(sample.population))


def pitman_fit(sample: Sample) -> tuple[float, float] | None:
    """Return θ and α of the largest likelihood; None of a single person, who says nothing."""
    from scipy.optimize import minimize
    from scipy.special import expit

    if sample.persons < 2:
        return None

    def parameters(at: Floats) -> tuple[float, float]:
        alpha = float(np.clip(expit(at[0]), _EDGE, 1 - _EDGE))
        return float(np.exp(np.clip(at[1], -_FAR, _FAR))) - alpha, alpha

    def cost(at: Floats) -> float:
        return -pitman_likelihood(sample, *parameters(at))

    starts = [np.array([x, np.log(1 + sample.groups * share)]) for x in (-2.0, 0.0, 2.0) for share in (0.01, 1.0)]
    tries = [minimize(cost, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}) for start in starts]
    best = min(tries, key=lambda one: float(one.fun))
    return parameters(best.x) if np.isfinite(best.fun) else None


def pitman_likelihood(sample: Sample, theta: float, alpha: float) -> float:
    """Return the logarithm of the likelihood of the sizes, but for what does not depend on the parameters."""
    from scipy.special import gammaln

    groups, persons = sample.groups, sample.persons
    of_groups = (groups - 1) * np.log(alpha) + gammaln(theta / alpha + groups) - gammaln(theta / alpha + 1)
    of_persons = gammaln(theta + persons) - gammaln(theta + 1)
    within = sample.times @ (gammaln(sample.size - alpha) - gammaln(1 - alpha))
    return float(of_groups - of_persons + within)


def pitman_uniques(theta: float, alpha: float, population: int) -> float:
    """Return the expected number of unique persons in a population of Pitman's model.

    >>> round(pitman_uniques(0.5, 0.3, 1), 9)
    1.0
    """
    from scipy.special import gammaln

    first = gammaln(theta + 1) - gammaln(theta + alpha)
    return float(population * np.exp(first + gammaln(theta + alpha + population - 1) - gammaln(theta + population)))


def snb(sample: Sample) -> float | None:
    """Return the unique persons if groups have 1 person and a negative binomial number of further ones.

    Its two parameters are those by which as many groups of one and of two persons are expected as the sample has.
    """
    from scipy.optimize import least_squares
    from scipy.special import expit

    ones, twos, groups = sample.groups_of(1), sample.groups_of(2), population_groups(sample)
    if not twos:
        return None

    def gaps(at: Floats) -> Floats:
        expected = snb_expected(groups, sample.share, float(np.exp(at[0])), float(expit(at[1])))
        return np.array([expected[0] / ones - 1, expected[1] / twos - 1])

    for start in ((0.0, 0.0), (-3.0, -3.0), (3.0, 0.0), (-3.0, 3.0), (0.0, -5.0)):
        found = least_squares(gaps, np.array(start), bounds=(-_FAR, _FAR), xtol=1e-14, ftol=1e-14, gtol=1e-14)
        if found.cost < _SOLVED:
            return float(groups * expit(found.x[1]) ** np.exp(found.x[0]))
    return None


def snb_expected(groups: float, share: float, alpha: float, beta: float) -> tuple[float, float]:
    """Return how many groups of one and of two persons are expected in a sample of that share."""
    left = (1 - share) * (1 - beta)
    ones = groups * share * (beta / (1 - left)) ** alpha * (1 + alpha * left / (1 - left))
    pairs = groups * share**2 * alpha * beta**alpha * (1 - beta) / 2 / (1 - left) ** (alpha + 2)
    return ones, pairs * (2 - (1 - alpha) * left)


def population_groups(sample: Sample) -> float:
    """Return the number of groups in the population by the modified Shlosser estimator."""
    q, size, times = sample.share, sample.size, sample.times
    seen = float(times @ (size * q**2 * (1 - q**2) ** (size - 1)))
    several = float(times @ ((1 - q**2) ** size - (1 - q) ** size))
    missed, once = float(times @ (1 - q) ** size), float(times @ (size * q * (1 - q) ** (size - 1)))
    return sample.groups + sample.groups_of(1) * seen / several * (missed / once) ** 2

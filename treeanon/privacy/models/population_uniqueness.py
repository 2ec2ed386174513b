"""A bound on how many persons of a population are estimated to be unique in it by what is published.

The estimators and their papers are in `treeanon.privacy.uniqueness`.
"""

from __future__ import annotations

from dataclasses import dataclass

from treeanon.arrays import Longs
from treeanon.errors import UsageError
from treeanon.privacy.models.model import Number, exact, shown, whole_number
from treeanon.privacy.models.whole import WholeModel
from treeanon.privacy.uniqueness import ESTIMATORS, Estimator, unique_persons


@dataclass(frozen=True)
class PopulationUniqueness(WholeModel):
    """Of a population, from which the table is a random sample, at most a share is estimated to be unique.

    `population` is its number of persons. Where the estimator has no solution, nothing is known, and the model fails.
    Not monotone: nothing binds an estimate for a generalization.

    >>> PopulationUniqueness(0.01, 100000).name
    'population uniqueness of at most 0.01 among 100,000 (dankar)'
    """

    share: Number
    population: int
    estimator: Estimator = "dankar"

    def __post_init__(self) -> None:
        exact("share", self.share, 0, 1)
        whole_number("population", self.population)
        if self.estimator not in ESTIMATORS:
            raise UsageError(f"the estimator must be one of {', '.join(ESTIMATORS)}")

    @property
    def name(self) -> str:
        """Return what is bounded, in words."""
        return f"population uniqueness of at most {shown(self.share)} among {self.population:,} ({self.estimator})"

    def holds_together(self, sizes: Longs) -> bool:
        """Return whether the estimate is within the bound."""
        found = unique_persons(sizes, self.population, self.estimator)
        return found is not None and found <= exact("share", self.share) * self.population

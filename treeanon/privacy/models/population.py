"""Models of whom of a population a release may single out: k-map, δ-presence, population uniqueness, average risk.

k-map: L. Sweeney, "Computational Disclosure Control: A Primer on Data Privacy Protection", doctoral thesis,
Massachusetts Institute of Technology, 2001; K. El Emam, F. K. Dankar, "Protecting Privacy Using k-Anonymity", Journal
of the American Medical Informatics Association 15(5), 2008.

δ-presence: M. E. Nergiz, M. Atzori, C. Clifton, "Hiding the Presence of Individuals from Shared Databases", SIGMOD
2007.

Population uniqueness: the estimators and their papers are in `treeanon.privacy.uniqueness`.

Average risk, the marketer's: K. El Emam, "Guide to the De-Identification of Personal Health Information", CRC Press,
2013; F. K. Dankar, K. El Emam, "A Method for Evaluating Marketer Re-identification Risk", EDBT/ICDT Workshops (PAIS),
2010.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.errors import UsageError
from treeanon.privacy.models.model import Number, at_most, exact, shown, whole_number
from treeanon.privacy.models.whole import PopulationModel, WholeModel
from treeanon.privacy.uniqueness import ESTIMATORS, Estimator, unique_persons


@dataclass(frozen=True)
class KMap(PopulationModel):
    """Every published row fits at least k persons of a population, of whom those in the table are a part.

    Whoever does not know that a person is in the table finds k persons. Weaker than k-anonymity where the table is a
    part of the population.

    Monotone: whoever fits a group fits any that it is merged into.

    >>> KMap("town.csv", k=5).name
    '5-map'
    """

    k: int = field(kw_only=True)

    def __post_init__(self) -> None:
        whole_number("k", self.k)

    @property
    def name(self) -> str:
        """Return the name, such as 5-map."""
        return f"{self.k}-map"

    @property
    def is_monotone(self) -> bool:
        """Return True: more persons of the population fit a union."""
        return True

    def holds_behind(self, persons: Longs, behind: Longs) -> Flags:
        """Return whether each group has enough persons of the population behind it."""
        return np.asarray(behind >= self.k, np.bool_)


@dataclass(frozen=True)
class DeltaPresence(PopulationModel):
    """Of the population's persons who fit a group, a share from δmin to δmax is in the table.

    So nobody can be told to be in the table with more confidence than δmax, or to be missing from it with more than
    1 - δmin. With a δmin above 0 this speaks of everybody in the population: whoever fits no published group is known
    to be missing. For releases in which groups do not overlap, as those by levels.

    Monotone where nothing is suppressed: the share of a union lies between those of its parts.

    >>> DeltaPresence("town.csv", max=0.5).name, DeltaPresence("town.csv", min=0.1, max=0.5).name
    ('(0, 0.5)-presence', '(0.1, 0.5)-presence')
    """

    max: Number = field(kw_only=True)
    min: Number = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        if exact("min", self.min, 0, 1) > exact("max", self.max, 0, 1):
            raise UsageError("the min of δ-presence must not be above its max")

    @property
    def name(self) -> str:
        """Return the name, such as (0.1, 0.5)-presence."""
        return f"({shown(self.min)}, {shown(self.max)})-presence"

    @property
    def is_monotone(self) -> bool:
        """Return True: the share of a union lies between those of its parts."""
        return True

    @property
    def needs_everybody(self) -> bool:
        """Return whether the shares of those who are missing are bounded from below."""
        return exact("min", self.min) > 0

    def holds_behind(self, persons: Longs, behind: Longs) -> Flags:
        """Return whether the share of each group is within the bounds."""
        return at_most(persons, behind, exact("max", self.max)) & ~_is_less(persons, behind, exact("min", self.min))


def _is_less(part: Longs, of: Longs, limit: Number) -> Flags:
    over, under = exact("min", limit).as_integer_ratio()
    return np.array([p * under < w * over for p, w in zip(part.tolist(), of.tolist(), strict=True)], np.bool_)


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


@dataclass(frozen=True)
class AverageRisk(WholeModel):
    """Whoever guesses for all persons of a release is right for a share of at most so many.

    A person in a group of f is found with chance 1/f, so that the mean over all persons is the number of groups by that
    of persons. Single persons may be found with any chance: ask for k-anonymity beside it.

    Monotone where nothing is suppressed: a generalization has no more groups, of the same persons.

    >>> import numpy as np
    >>> AverageRisk(0.4).name, AverageRisk(0.4).holds_together(np.array([1, 4]))
    ('average risk of at most 0.4', True)
    """

    share: Number

    def __post_init__(self) -> None:
        exact("share", self.share, 0, 1, above=True)

    @property
    def name(self) -> str:
        """Return what is bounded, in words."""
        return f"average risk of at most {shown(self.share)}"

    @property
    def is_monotone(self) -> bool:
        """Return True: the same persons are in fewer groups."""
        return True

    def holds_together(self, sizes: Longs) -> bool:
        """Return whether there are few enough groups for so many persons."""
        return len(sizes) <= exact("share", self.share) * int(sizes.sum())

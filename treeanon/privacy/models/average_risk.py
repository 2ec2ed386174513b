"""A bound on the average risk of re-identification: the marketer's.

K. El Emam, "Guide to the De-Identification of Personal Health Information", CRC Press, 2013; F. K. Dankar, K. El Emam,
"A Method for Evaluating Marketer Re-identification Risk", EDBT/ICDT Workshops (PAIS), 2010.
"""

from __future__ import annotations

from dataclasses import dataclass

from treeanon.arrays import Longs
from treeanon.privacy.models.model import Number, exact, shown
from treeanon.privacy.models.whole import WholeModel


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

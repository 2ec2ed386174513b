"""k-map.

L. Sweeney, "Computational Disclosure Control: A Primer on Data Privacy Protection", doctoral thesis, Massachusetts
Institute of Technology, 2001; K. El Emam, F. K. Dankar, "Protecting Privacy Using
k-Anonymity", Journal of the American Medical Informatics Association 15(5), 2008.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.privacy.models.model import whole_number
from treeanon.privacy.models.whole import PopulationModel


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

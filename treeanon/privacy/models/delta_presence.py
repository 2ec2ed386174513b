"""δ-presence.

M. E. Nergiz, M. Atzori, C. Clifton, "Hiding the Presence of Individuals from Shared Databases", SIGMOD 2007.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.errors import UsageError
from treeanon.privacy.models.model import Number, at_most, exact, shown
from treeanon.privacy.models.whole import PopulationModel


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

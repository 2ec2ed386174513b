"""k-anonymity (SAM; CHAP §1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.arrays import Flags
from treeanon.privacy.models.model import BaseModel, Limits, Number, whole_number
from treeanon.table import Groups


@dataclass(frozen=True)
class KAnonymity(BaseModel):
    """Every group has at least k persons.

    >>> KAnonymity(3).name, KAnonymity(3).holds(Groups(np.array([2, 3]))).tolist()
    ('3-anonymity', [False, True])
    """

    k: int

    def __post_init__(self) -> None:
        whole_number("k", self.k)

    @property
    def name(self) -> str:
        """Return the name, such as 3-anonymity."""
        return f"{self.k}-anonymity"

    @property
    def is_monotone(self) -> bool:
        """Return True: a union is no smaller."""
        return True

    @property
    def holds_when_grown(self) -> bool:
        """Return True: more persons only make a group larger."""
        return True

    @property
    def limits(self) -> Limits:
        """Return k persons, which is all."""
        return Limits(persons=self.k, is_all=True)

    def raised(self, to: Number) -> KAnonymity:
        """Return k-anonymity for another k."""
        return KAnonymity(int(to))

    def holds(self, groups: Groups) -> Flags:
        """Return whether each group is large enough."""
        return np.asarray(groups.sizes >= self.k, np.bool_)

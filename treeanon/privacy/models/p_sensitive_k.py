"""p-sensitive k-anonymity: Truta and Vinay, ICDE workshops 2006."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.errors import UsageError
from treeanon.privacy.models.model import Limits, SensitiveModel, whole_number
from treeanon.table import Histogram


@dataclass(frozen=True)
class PSensitiveKAnonymity(SensitiveModel):
    """Every group has at least k persons and at least p different values.

    >>> PSensitiveKAnonymity(2, 3).name
    '2-sensitive 3-anonymity'
    """

    p: int
    k: int

    def __post_init__(self) -> None:
        whole_number("p", self.p)
        whole_number("k", self.k)
        if self.p > self.k:
            raise UsageError("p must not be above k")
        if self.joined:
            raise UsageError("p-sensitive k-anonymity is of each sensitive column by itself: there is no joined form")

    @property
    def _short(self) -> str:
        return f"{self.p}-sensitive {self.k}-anonymity"

    @property
    def holds_when_grown(self) -> bool:
        """Return True: added persons remove neither persons nor values."""
        return True

    @property
    def limits(self) -> Limits:
        """Return k persons and p values, which is all."""
        return Limits(persons=self.k, values=self.p, is_all=True)

    def _holds_in(self, sizes: Longs, histogram: Histogram) -> Flags:
        return np.asarray((sizes >= self.k) & (np.diff(histogram.starts) >= self.p), np.bool_)

"""k-anonymity (SAM; CHAP §1), and with it a least number or a largest share of sensitive values.

p-sensitive k-anonymity: Truta and Vinay, ICDE workshops 2006.

(α,k)-anonymity: Wong, Li, Fu, Wang, KDD 2006, for one value; the general form asks it of every value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.errors import UsageError
from treeanon.privacy.models.model import (
    BaseModel,
    Limits,
    Number,
    SensitiveModel,
    at_most,
    exact,
    most_in,
    shown,
    total_in,
    whole_number,
)
from treeanon.table import Groups, Histogram


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


@dataclass(frozen=True)
class AlphaKAnonymity(SensitiveModel):
    """Every group has at least k persons, and a share of at most alpha of them has the value, or any one value.

    The value may be one of the hierarchy's inner nodes: then whoever has a value below it counts. Names do not show it.
    Monotone, as both parts are (see FrequencyDiversity).

    >>> AlphaKAnonymity(0.4, 3).name, AlphaKAnonymity(0.4, 3, column="disease", value="HIV").name
    ('(0.4, 3)-anonymity', '(0.4, 3)-anonymity for one value of disease')
    """

    alpha: Number
    k: int = 1
    value: str | None = None

    def __post_init__(self) -> None:
        exact("alpha", self.alpha, 0, 1)
        whole_number("k", self.k)
        if self.value is not None and self.column is None:
            raise UsageError("(alpha, k)-anonymity for one value needs the column that has it")

    @property
    def name(self) -> str:
        """Return the name, such as (0.4, 3)-anonymity."""
        if self.value is None:
            return super().name
        joined = " (sensitive columns joined)" if self.joined else ""
        return f"{self._short}{joined} for one value of {self.column}"

    @property
    def _short(self) -> str:
        return f"({shown(self.alpha)}, {self.k})-anonymity"

    @property
    def limits(self) -> Limits:
        """Return k persons and the share, which is all unless it is that of one value."""
        if self.value is not None:
            return Limits(persons=self.k)
        return Limits(persons=self.k, share=exact("alpha", self.alpha), is_all=True)

    def _holds_in(self, sizes: Longs, histogram: Histogram) -> Flags:
        enough = np.asarray(sizes >= self.k, np.bool_)
        return enough & at_most(self._having(histogram), sizes, exact("alpha", self.alpha))

    def _having(self, histogram: Histogram) -> Longs:
        """Return the number of persons of each group with the value, or with its most frequent value."""
        if self.value is None:
            return most_in(histogram, histogram.counts)
        node = histogram.hierarchy.find(self.value)
        if node is None:
            raise UsageError(f"{self.name}: the hierarchy of {histogram.name} does not know the value")
        below = (histogram.values >= node) & (histogram.values < histogram.hierarchy.end[node])
        return total_in(histogram, np.where(below, histogram.counts, 0))

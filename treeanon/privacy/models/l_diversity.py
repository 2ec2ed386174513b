"""ℓ-diversity in its four forms: distinct, frequency, entropy, and recursive (c,ℓ).

Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam: ℓ-diversity, TKDD 1(1), 2007 (distinct, entropy, recursive);
Ghinita, Karras, Kalnis, Mamoulis: TODS 34(2), 2009 (frequency, their only form). A missing value is one more.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.privacy.models.model import (
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
from treeanon.table import Histogram


@dataclass(frozen=True)
class DistinctDiversity(SensitiveModel):
    """Every group has at least l different values.

    >>> DistinctDiversity(3).name, DistinctDiversity(3, column="disease").name
    ('distinct 3-diversity', 'distinct 3-diversity of disease')
    """

    l: int  # noqa: E741 - its name in the literature

    def __post_init__(self) -> None:
        whole_number("l", self.l)

    @property
    def _short(self) -> str:
        return f"distinct {self.l}-diversity"

    @property
    def holds_when_grown(self) -> bool:
        """Return True: added persons remove no value."""
        return True

    @property
    def limits(self) -> Limits:
        """Return l values, which is all."""
        return Limits(values=self.l, is_all=True)

    def _holds_in(self, sizes: Longs, histogram: Histogram) -> Flags:
        return np.asarray(np.diff(histogram.starts) >= self.l, np.bool_)


@dataclass(frozen=True)
class FrequencyDiversity(SensitiveModel):
    """No value belongs to more than 1/l of the persons of a group.

    Monotone: counts and sizes of different persons add up, and 1/l of a sum is the sum of the 1/l.

    >>> FrequencyDiversity(2.5).name
    'frequency 2.5-diversity'
    """

    l: Number  # noqa: E741 - its name in the literature

    def __post_init__(self) -> None:
        exact("l", self.l, 1)

    @property
    def _short(self) -> str:
        return f"frequency {shown(self.l)}-diversity"

    @property
    def limits(self) -> Limits:
        """Return a share of 1/l, which is all."""
        return Limits(share=1 / exact("l", self.l), is_all=True)

    def raised(self, to: Number) -> FrequencyDiversity:
        """Return frequency l-diversity of the same column for another l."""
        return FrequencyDiversity(to, column=self.column)

    def _holds_in(self, sizes: Longs, histogram: Histogram) -> Flags:
        return at_most(most_in(histogram, histogram.counts), sizes, 1 / exact("l", self.l))


@dataclass(frozen=True)
class EntropyDiversity(SensitiveModel):
    """The entropy of the values of every group is at least log l.

    Monotone: entropy is concave, so that of a mixture is no less than the smaller of two.

    >>> EntropyDiversity(3).name
    'entropy 3-diversity'
    """

    l: Number  # noqa: E741 - its name in the literature

    def __post_init__(self) -> None:
        exact("l", self.l, 1)

    @property
    def _short(self) -> str:
        return f"entropy {shown(self.l)}-diversity"

    def _holds_in(self, sizes: Longs, histogram: Histogram) -> Flags:
        least = exact("l", self.l)
        counts, values = histogram.counts, np.diff(histogram.starts)
        persons = total_in(histogram, counts)
        entropy = np.log(persons) - total_in(histogram, counts * np.log(counts)) / persons
        over = entropy - np.log(float(least))
        flags = np.asarray(over > 0, np.bool_)
        # Too near for logarithms of floats. Where all values are as frequent, which is common, their number tells; else
        # there have to be more than l.
        equal = most_in(histogram, counts) * values == persons
        flags[equal] = (values * least.denominator >= least.numerator)[equal]
        near = (np.abs(over) < 1e-9) & ~equal
        for group in np.flatnonzero(near).tolist():
            flags[group] = _enough(counts[histogram.starts[group] : histogram.starts[group + 1]].tolist(), least)
        return flags


def _enough(counts: list[int], least: Fraction) -> bool:
    """Return whether the entropy of unequal counts is at least log(least), to 40 digits."""
    if len(counts) <= least:
        return False
    with decimal.localcontext() as context:
        context.prec = 60
        persons = decimal.Decimal(sum(counts))
        spread = persons * persons.ln() - sum(count * decimal.Decimal(count).ln() for count in counts)
        needed = persons * (decimal.Decimal(least.numerator).ln() - decimal.Decimal(least.denominator).ln())
        return spread - needed >= -persons.scaleb(-40)


@dataclass(frozen=True)
class RecursiveDiversity(SensitiveModel):
    """The most frequent value of a group has less than c times the rest from the l-th most frequent on.

    Monotone: the largest count of a union is no more than the largest counts together, and so are the l - 1 largest,
    which leaves the rest no less.

    >>> RecursiveDiversity(2, 3).name
    'recursive (2, 3)-diversity'
    """

    c: Number
    l: int  # noqa: E741 - its name in the literature

    def __post_init__(self) -> None:
        exact("c", self.c, 0, above=True)
        whole_number("l", self.l)

    @property
    def _short(self) -> str:
        return f"recursive ({shown(self.c)}, {self.l})-diversity"

    def _holds_in(self, sizes: Longs, histogram: Histogram) -> Flags:
        starts, counts = histogram.starts, histogram.counts
        if not len(counts):
            return np.zeros(0, np.bool_)
        # Within each group the largest first: one sort of single numbers.
        width = int(counts.max()) + 1
        group = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * width
        down = width - (np.sort(group + width - counts) - group)
        until = np.append(0, np.cumsum(down))
        rest = until[starts[1:]] - until[np.minimum(starts[:-1] + self.l - 1, starts[1:])]
        return ~at_most(rest, down[starts[:-1]], 1 / exact("c", self.c))

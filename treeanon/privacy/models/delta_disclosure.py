"""δ-disclosure privacy.

J. Brickell, V. Shmatikov, "The Cost of Privacy: Destruction of Data-Mining Utility in Anonymized Data Publishing", KDD
2008. A missing value is one more.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.privacy.models.model import Number, SensitiveModel, exact, shown, total_in
from treeanon.table import Histogram

_NEAR = 1e-9


@dataclass(frozen=True)
class DeltaDisclosure(SensitiveModel):
    """Every value of the table is about as frequent in each group: |log₂(q / p)| is less than δ.

    q is its share of the group, p that of the table. For every value, as the paper has it: one that a group lacks is
    ruled out for its persons, and fails. The base of the logarithm, which the paper leaves open, is 2, as in ARX; there
    values that a group lacks do not count.

    Monotone: the share of a union lies between those of its parts.

    >>> DeltaDisclosure(1.5).name, DeltaDisclosure(2, column="pay").name
    ('1.5-disclosure privacy', '2-disclosure privacy of pay')
    """

    delta: Number

    def __post_init__(self) -> None:
        exact("delta", self.delta, above=True)

    @property
    def _short(self) -> str:
        return f"{shown(self.delta)}-disclosure privacy"

    @property
    def compares_with_table(self) -> bool:
        """Return True: with the shares of the table's values."""
        return True

    def tightened(self, share: Fraction) -> DeltaDisclosure:
        """Return δ-disclosure privacy for this share of δ."""
        return replace(self, delta=exact("delta", self.delta) * share)

    def _holds_in(self, sizes: Longs, histogram: Histogram) -> Flags:
        persons, values = total_in(histogram, histogram.counts), np.diff(histogram.starts)
        own = histogram.counts * int(histogram.whole.sum())
        alike = histogram.whole[histogram.values] * np.repeat(persons, values)
        fine = _is_less(own, alike, exact("delta", self.delta))
        has_all = values == np.count_nonzero(histogram.whole)
        if len(fine):
            has_all &= np.logical_and.reduceat(fine, histogram.starts[:-1])
        return np.asarray(has_all, np.bool_)


def _is_less(own: Longs, alike: Longs, delta: Fraction) -> Flags:
    """Return whether |log₂(own / alike)| is less than δ, for each pair."""
    with np.errstate(divide="ignore"):
        over = np.abs(np.log2(own) - np.log2(alike)) - float(delta)
    flags = np.asarray(over < 0, np.bool_)
    for at in np.flatnonzero(np.abs(over) < _NEAR).tolist():
        large, small = sorted((int(own[at]), int(alike[at])), reverse=True)
        flags[at] = _is_below_power(Fraction(large, small), delta)
    return flags


def _is_below_power(ratio: Fraction, delta: Fraction) -> bool:
    """Return whether a ratio is less than 2 to the δ, which is no fraction unless δ is whole."""
    if delta.denominator == 1:
        return bool(ratio < 2**delta.numerator)
    with decimal.localcontext() as context:
        context.prec = 50
        power = (decimal.Decimal(delta.numerator) / delta.denominator) * decimal.Decimal(2).ln()
        return bool((decimal.Decimal(ratio.numerator) / ratio.denominator).ln() < power)

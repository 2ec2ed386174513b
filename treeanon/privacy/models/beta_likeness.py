"""β-likeness, basic and enhanced.

J. Cao, P. Karras, "Publishing Microdata with a Robust Privacy Guarantee", Proceedings of the VLDB Endowment 5(11),
2012. A missing value is one more.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.errors import UsageError
from treeanon.privacy.models.model import Number, SensitiveModel, at_most, exact, shown, total_in
from treeanon.table import Histogram

Likeness = Literal["basic", "enhanced"]
LIKENESS: tuple[Likeness, ...] = ("basic", "enhanced")

_NEAR = 1e-9


@dataclass(frozen=True)
class BetaLikeness(SensitiveModel):
    """No value is more frequent in a group than in the whole table by more than a factor of 1 + β.

    With a share q of the group and p of the table, (q - p) / p is at most β: rare values, which tell most, are
    protected as well as frequent ones. `enhanced`, it is at most -ln p too, which binds frequent values where 1 + β
    says nothing of them. What gets rarer in a group is not limited.

    Monotone: the share of a union is no more than the larger of two, and the bound is one for all groups.

    >>> BetaLikeness(1).name, BetaLikeness(0.5, "basic", column="pay").name
    ('enhanced 1-likeness', 'basic 0.5-likeness of pay')
    """

    beta: Number
    form: Likeness = "enhanced"

    def __post_init__(self) -> None:
        exact("beta", self.beta, above=True)
        if self.form not in LIKENESS:
            raise UsageError(f"the form of likeness must be one of {', '.join(LIKENESS)}")

    @property
    def _short(self) -> str:
        return f"{self.form} {shown(self.beta)}-likeness"

    @property
    def compares_with_table(self) -> bool:
        """Return True: with the shares of the table's values."""
        return True

    def tightened(self, share: Fraction) -> BetaLikeness:
        """Return β-likeness for this share of β."""
        return replace(self, beta=exact("beta", self.beta) * share)

    def _holds_in(self, sizes: Longs, histogram: Histogram) -> Flags:
        persons, values = total_in(histogram, histogram.counts), np.diff(histogram.starts)
        everybody = int(histogram.whole.sum())
        whole = histogram.whole[histogram.values]
        # q / p is own / alike.
        own, alike = histogram.counts * everybody, whole * np.repeat(persons, values)
        fine = at_most(own, alike, 1 + exact("beta", self.beta))
        if self.form == "enhanced":
            fine &= _within_information(own, alike, whole, everybody)
        return np.asarray(np.logical_and.reduceat(fine, histogram.starts[:-1]), np.bool_) if len(fine) else fine


def _within_information(own: Longs, alike: Longs, whole: Longs, everybody: int) -> Flags:
    """Return whether each ratio own / alike of shares is at most 1 - ln(whole / everybody)."""
    with np.errstate(divide="ignore"):
        over = own / alike - 1 + np.log(whole / everybody)
    flags = np.asarray(over <= 0, np.bool_)
    for at in np.flatnonzero(np.abs(over) < _NEAR).tolist():
        with decimal.localcontext() as context:
            context.prec = 50
            ratio = decimal.Decimal(int(own[at])) / int(alike[at])
            flags[at] = ratio - 1 <= -(decimal.Decimal(int(whole[at])) / everybody).ln()
    return flags

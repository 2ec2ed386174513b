"""The claims that 1D §7 (Ghinita et al., TODS 34(2), 2009) draws from its figures, told of what was measured here.

Hilbert loses no more than Mondrian and TopDown; the dual search reaches no less privacy than either IPCSD; counts by
permuted Hilbert groups are no worse than Anatomy's. The paper's tables are others, so a claim may hold there and not
here: each is told with where it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from treeanon.bench.figures import LABELS, Figure
from treeanon.bench.run import FigureResult

_EQUAL = 5e-7


@dataclass(frozen=True)
class Claim:
    """In a panel the line `better` is nowhere worse than the line `other`; with `more`, more is better."""

    figure: Figure
    better: str
    other: str
    more: bool = False

    @property
    def sentence(self) -> str:
        """The claim in words.

        >>> from treeanon.bench.figures import FIGURES
        >>> Claim(FIGURES[22][0], "Hilbert", "Mondrian").sentence
        'GCP of Hilbert is not above that of Mondrian'
        """
        where = "below" if self.more else "above"
        return f"{LABELS[self.figure.measure]} of {self.better} is not {where} that of {self.other}"


@dataclass(frozen=True)
class Told:
    """What was measured of a claim: at how many values both lines have a number, and at which it does not hold, by how
    much at most, as a share of the other line's number.
    """

    claim: Claim
    measured: int
    against: tuple[float, ...]
    worst: float

    @property
    def holds(self) -> bool | None:
        """Whether it holds wherever it was measured; None if nowhere."""
        return not self.against if self.measured else None

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.holds is None:
            return "not told, because one of the two was not measured"
        if self.holds:
            return f"holds ({self.measured} of {self.measured})"
        figure = self.claim.figure
        at = ", ".join(f"{value:,.10g}" for value in self.against)
        far = f"{'above' if self.claim.more else 'below'} it by up to {100 * self.worst:.0f} %"
        many = f"{len(self.against)} of {self.measured}"
        return f"does not hold, because {self.claim.other} is {far} at {LABELS[figure.vary]} {at} ({many})"

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return {
            "figure": self.claim.figure.name,
            "claim": self.claim.sentence,
            "holds": self.holds,
            "measured": self.measured,
            "against": list(self.against),
            "verdict": self.sentence,
        }


def claims_of(figure: Figure) -> list[Claim]:
    """Return the claims about a panel; there are none about seconds.

    >>> from treeanon.bench.figures import FIGURES
    >>> [(claim.better, claim.other) for claim in claims_of(FIGURES[32][0])]
    [('AC', 'IPCSD over 1-D'), ('AC', 'IPCSD over Mondrian')]
    """
    if figure.measure == "seconds":
        return []
    if figure.number in (32, 33, 34):
        return [Claim(figure, "AC", f"IPCSD over {other}", more=True) for other in ("1-D", "Mondrian")]
    others = {35: ("Mondrian",), 36: ("Mondrian", "Anatomy")}.get(figure.number, ("Mondrian", "TopDown"))
    return [Claim(figure, "Hilbert", other) for other in others]


def told(figures: Iterable[FigureResult]) -> list[Told]:
    """Return what the results tell of all claims about their panels."""
    return [_told(claim, drawn) for drawn in figures for claim in claims_of(drawn.figure)]


def _told(claim: Claim, drawn: FigureResult) -> Told:
    ours, theirs = (drawn.lines.get(name, [None] * len(drawn.values)) for name in (claim.better, claim.other))
    measured, against, worst = 0, list[float](), 0.0
    for value, own, other in zip(drawn.values, ours, theirs, strict=True):
        if own is None or other is None:
            continue
        measured += 1
        behind = other - own if claim.more else own - other
        if behind > _EQUAL:
            against.append(value)
            worst = max(worst, behind / max(abs(own), abs(other)))
    return Told(claim, measured, tuple(against), worst)


def claims_text(found: Sequence[Told]) -> str:
    """Return the table of claims, a line each.

    >>> from treeanon.bench.figures import FIGURES
    >>> print(claims_text([Told(Claim(FIGURES[22][0], "Hilbert", "Mondrian"), 4, (50, 100), 0.25)]))
    Claims of the paper, as measured here
    22a  GCP of Hilbert is not above that of Mondrian: does not hold, because Mondrian is below it by up to 25 % at k \
50, 100 (2 of 4)
    """
    lines = [f"{one.claim.figure.name}  {one.claim.sentence}: {one.sentence}" for one in found]
    return "\n".join(["Claims of the paper, as measured here", *lines])

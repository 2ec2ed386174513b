"""The claims that 1D §7 (Ghinita et al., TODS 34(2), 2009) draws from its figures, told of what was measured here.

Hilbert loses no more than Mondrian and TopDown; the dual search reaches no less privacy than either IPCSD; counts by
permuted Hilbert groups are no worse than Anatomy's. The paper's tables are others, so a claim may hold there and not
here: each is told with where it does not. Those of the figures on trees (Section IV of O. Gkountouna and M. Terrovitis,
"Anonymizing collections of tree-structured data", IEEE TKDE 2015) are told in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from treeanon.bench.figures import LABELS as TABLE_LABELS
from treeanon.bench.figures import Panel
from treeanon.bench.run import FigureResult
from treeanon.bench.tree_figures import CLAIMS, LINEAR
from treeanon.bench.tree_figures import LABELS as TREE_LABELS

LABELS = {**TREE_LABELS, **TABLE_LABELS}
"""Labels of the axes of both papers."""

_EQUAL = 5e-7


@dataclass(frozen=True)
class Claim:
    """In a panel the line `better` is nowhere worse than the line `other`; with `more`, more is better.

    In place of a line `other` can be a number, or LINEAR: seconds that grow in step with the records.
    """

    figure: Panel
    better: str
    other: str | float
    more: bool = False

    @property
    def sentence(self) -> str:
        """The claim in words.

        >>> from treeanon.bench.figures import FIGURES
        >>> Claim(FIGURES[22][0], "Hilbert", "Mondrian").sentence
        'GCP of Hilbert is not above that of Mondrian'
        """
        where = "below" if self.more else "above"
        if self.other == LINEAR or not isinstance(self.other, str):
            return f"{LABELS[self.figure.measure]} of {self.better} is not {where} {self.other}"
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


def claims_of(figure: Panel) -> list[Claim]:
    """Return the claims about a panel; those of 1D have none about seconds.

    >>> from treeanon.bench.figures import FIGURES
    >>> [(claim.better, claim.other) for claim in claims_of(FIGURES[32][0])]
    [('AC', 'IPCSD over 1-D'), ('AC', 'IPCSD over Mondrian')]
    """
    if figure.number in CLAIMS:
        return [Claim(figure, better, other) for better, other in CLAIMS[figure.number]]
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
    nothing: Sequence[float | None] = [None] * len(drawn.values)
    ours = drawn.lines.get(claim.better, nothing)
    theirs: Sequence[float | None]
    if claim.other == LINEAR:
        theirs = [None if ours[0] is None else ours[0] * value / drawn.values[0] for value in drawn.values]
    elif isinstance(claim.other, str):
        theirs = drawn.lines.get(claim.other, nothing)
    else:
        theirs = [claim.other] * len(drawn.values)
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

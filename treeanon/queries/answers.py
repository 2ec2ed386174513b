"""The answer to a query: how many persons or rows satisfy it, by an estimate and by bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Answer:
    """How many of the original satisfy a query: at `least`, at `most`, and an `estimate`.

    `of` are those of the original: the `released` ones, and the `suppressed` ones, which may satisfy it or not. `notes`
    say what the estimate assumes and what widens the bounds.
    """

    unit: Literal["persons", "rows"]
    estimate: float
    least: int
    most: int
    released: int
    suppressed: int = 0
    notes: tuple[str, ...] = ()

    @property
    def of(self) -> int:
        """How many the original has."""
        return self.released + self.suppressed

    @property
    def share(self) -> tuple[float, float, float]:
        """The estimate and both bounds as shares of the original; zeros where it has none."""
        whole = self.of or 1
        return self.estimate / whole, self.least / whole, self.most / whole

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as plain data."""
        estimate, least, most = self.share
        return {
            "unit": self.unit,
            "estimate": self.estimate,
            "least": self.least,
            "most": self.most,
            "of": self.of,
            "share": {"estimate": estimate, "least": least, "most": most},
            "released": self.released,
            "suppressed": self.suppressed,
            "notes": list(self.notes),
        }


UNIFORM = (
    "The estimate takes every value that a published one may stand for as equally frequent, and columns as independent"
    " within it."
)
ALIKE = "What was suppressed is estimated like the rest."


def answered(
    unit: Literal["persons", "rows"],
    counts: tuple[float, int, int],
    released: int,
    suppressed: int,
    notes: tuple[str, ...],
) -> Answer:
    """Return the answer from what the released ones come to, with those added that are suppressed.

    >>> answered("rows", (2.0, 1, 3), 8, 4, ()).estimate
    3.0
    """
    estimate, least, most = counts
    more = estimate * suppressed / released if released else suppressed / 2
    told = (*notes, *([ALIKE] if suppressed else []))
    return Answer(unit, estimate + more, least, most + suppressed, released, suppressed, told)

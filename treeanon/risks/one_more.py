"""What m means on these data: whom one more known value than the guarantee covers singles out in a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from treeanon.forest import Forest
from treeanon.privacy.guarantee import Guarantee
from treeanon.risks.model import Share
from treeanon.risks.trees import MOST_LABELS, MOST_RELATIONS, risk_of_trees

SECONDS = 5.0
"""Time after which a sample of the persons is examined."""


@dataclass(frozen=True)
class OneMore:
    """The share of persons of a release for whom m values, one more than its guarantee covers, fit fewer than k.

    >>> OneMore(5, 3, 1, 429, Share(84, 429, 84 / 429, 84 / 429)).sentence
    'One value more than the guarantee covers (3 values and up to 1 relation) fits fewer than 5 persons for 19.6 % of \
the 429 persons.'
    """

    k: int
    m: int
    n: int
    persons: int
    share: Share

    @property
    def sentence(self) -> str:
        """Return the share in words."""
        related = f" and up to {self.n} relation{'s' if self.n != 1 else ''}" if self.n else ""
        lead = f"One value more than the guarantee covers ({self.m} values{related}) fits fewer than {self.k} persons"
        if self.share.of == self.persons and self.share.low == self.share.high:
            if not self.share.persons:
                return f"{lead} for nobody."
            return f"{lead} for {percent_of(self.share.share)} of the {self.persons:,} persons."
        bounds = f"{percent_of(self.share.low)} to {percent_of(self.share.high)}"
        return (
            f"{lead} for {bounds} of the {self.persons:,} persons ({self.share.of:,} examined, with 95 % confidence)."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return {"k": self.k, "m": self.m, "n": self.n, **self.share.as_dict()}


def percent_of(share: float) -> str:
    """Return a share in percent, never rounded to nothing or to all.

    >>> percent_of(0.5), percent_of(0.00001), percent_of(0.99999)
    ('50.0 %', '< 0.1 %', '> 99.9 %')
    """
    if 0 < share < 0.001:
        return "< 0.1 %"
    return "> 99.9 %" if 0.999 < share < 1 else f"{100 * share:.1f} %"


def one_more(forest: Forest, guarantee: Guarantee, *, jobs: int | None = None) -> OneMore | None:
    """Return whom one more known value singles out in a release; None where k or m leave nothing to be told.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "illness"')
    >>> flu, acne = ["illness", "flu", []], ["illness", "acne", []]
    >>> forest = ta.Forest.from_records(schema, [[flu, acne], [flu], [flu], [acne], [acne]])
    >>> found = one_more(forest, Guarantee(2, m=1, n=0))
    >>> (found.m, found.share.persons, found.share.of) if found else None
    (2, 1, 5)
    """
    m, n = guarantee.m + 1, min(guarantee.n, MOST_RELATIONS)
    if guarantee.k < 2 or m > MOST_LABELS:
        return None
    found = risk_of_trees(forest, k=guarantee.k, m=m, n=n, seconds=SECONDS, jobs=jobs)
    return OneMore(guarantee.k, m, n, found.persons, found.at(m, n))

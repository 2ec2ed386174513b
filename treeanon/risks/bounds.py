"""Between what bounds a share lies of which only a sample was looked at."""

from __future__ import annotations

from treeanon.risks.model import Share

CONFIDENCE = 0.95


def share_of(persons: int, of: int, undecided: int = 0, *, sampled: bool) -> Share:
    """The share of persons of whom something is true, `undecided` others aside, with its bounds.

    Of a uniform sample the bounds are those of Clopper and Pearson, which hold with at least 95 % confidence for any
    share and any size of the sample.

    >>> share_of(5, 10, 1, sampled=False)
    Share(persons=5, of=10, low=0.5, high=0.6)
    >>> nobody = share_of(0, 100, sampled=True)
    >>> nobody.low, round(nobody.high, 4)
    (0.0, 0.0362)
    """
    if not of:
        return Share(0, 0, 0.0, 0.0)
    most = persons + undecided
    if not sampled:
        return Share(persons, of, persons / of, most / of)
    # Not at the top: scipy is slow to load, and no other risk needs it.
    from scipy.special import betaincinv

    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(persons, of - persons + 1, tail)) if persons else 0.0
    high = float(betaincinv(most + 1, of - most, 1 - tail)) if most < of else 1.0
    return Share(persons, of, low, high)

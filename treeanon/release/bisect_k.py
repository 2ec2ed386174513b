"""The largest k that is good enough, by doubling and halving."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def largest_k(within: Callable[[int], T | None], least: int, most: int) -> T | None:
    """What `within` gives for the largest k from `least` to `most` for which it gives anything; None if for none.

    Taken for granted: what a k gives, a smaller one gives too. Where that is not quite so, the answer is still one
    that `within` gave.

    >>> largest_k(lambda k: f"k is {k}" if k <= 37 else None, 2, 1000)
    'k is 37'
    >>> largest_k(lambda k: k if k <= 37 else None, 40, 1000) is None
    True
    """
    best = within(least) if least <= most else None
    if best is None:
        return None
    good, bad = least, most + 1
    step = min(2 * good, most)
    while step > good and (found := within(step)) is not None:
        best, good = found, step
        step = min(2 * good, most)
    if step > good:
        bad = step
    while bad - good > 1:
        middle = (good + bad) // 2
        found = within(middle)
        if found is None:
            bad = middle
        else:
            best, good = found, middle
    return best

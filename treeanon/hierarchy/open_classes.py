"""Open classes of numbers: all that are less than the least interval, and all from the greatest on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from treeanon.hierarchy.links import Tree
from treeanon.hierarchy.numbers import Number, parse_number, shortest


@dataclass(frozen=True)
class OpenClasses:
    """The numbers below `low` and those from `high` on (None: there is no such class), within `least` to `most`.

    >>> open = OpenClasses(18, 90, None, None, True)
    >>> open.labels
    ('less than 18', '90 and more')
    """

    low: Number | None
    high: Number | None
    least: Number | None
    most: Number | None
    integer: bool

    @property
    def labels(self) -> tuple[str | None, str | None]:
        """Return the text of either class."""
        below = None if self.low is None else f"less than {shortest(self.low)}"
        return below, None if self.high is None else f"{shortest(self.high)} and more"

    def around(self, tree: Tree, values: Iterable[str]) -> Tree:
        """Return a tree of what lies between them with the classes on either side, where any value belongs to them.

        >>> open = OpenClasses(None, 90, None, None, True)
        >>> texts, parents = open.around((("*", "80-89"), np.array([-1, 0])), ["97", "85", "90"])
        >>> texts, parents.tolist()
        (('*', '80-89', '90 and more', '90', '97'), [-1, 0, 0, 2, 2])
        """
        listed = list(dict.fromkeys(values))
        numbers = {text: number for text in listed if (number := parse_number(text, self.integer)) is not None}
        below, above = self.labels
        low = sorted((n, text) for text, n in numbers.items() if self._is_below(n))
        high = sorted((n, text) for text, n in numbers.items() if self._is_above(n))
        first = [] if below is None or not (low or below in listed) else [below, *(text for _, text in low)]
        last = [] if above is None or not (high or above in listed) else [above, *(text for _, text in high)]
        texts, parents = tree
        moved = np.where(parents > 0, parents + len(first), parents)[1:]
        place = len(texts) + len(first)
        found = [np.array([-1]), _under(1, first), moved, _under(place, last)]
        return (texts[0], *first, *texts[1:], *last), np.concatenate(found).astype(np.int32)

    def holds(self, text: str) -> bool:
        """Return whether a text is a number of a class, or the text of one.

        >>> OpenClasses(18, 90, 0, None, True).holds("95"), OpenClasses(18, 90, 0, None, True).holds("-1")
        (True, False)
        """
        number = parse_number(text, self.integer)
        return text in self.labels if number is None else self._is_below(number) or self._is_above(number)

    def _is_below(self, number: Number) -> bool:
        return self.low is not None and number < self.low and (self.least is None or number >= self.least)

    def _is_above(self, number: Number) -> bool:
        return self.high is not None and number >= self.high and (self.most is None or number <= self.most)


def _under(place: int, texts: list[str]) -> np.ndarray:
    """Return the parents of a class at a place and of its numbers."""
    return np.array([0] * len(texts[:1]) + [place] * len(texts[1:]), np.int64)

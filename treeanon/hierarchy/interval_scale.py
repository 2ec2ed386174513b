"""The exact arithmetic of nested numeric intervals, one number at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from treeanon.hierarchy.numbers import DECIMAL, INTEGER, Number, parse_number, shortest

MOST_INTERVALS = 100_000
MOST_LEAVES = 10_000
_INTEGER_LABEL = re.compile(f"({INTEGER})-{INTEGER}")
_DECIMAL_LABEL = re.compile(rf"\[({DECIMAL}), {DECIMAL}[)\]]")


@dataclass(frozen=True)
class Scale:
    """The widths and bounds of nested intervals, and what follows from them.

    >>> Scale((5,), 0, 99, True).holds(100)
    False
    """

    widths: tuple[Number, ...]
    low: Number | None
    high: Number | None
    integer: bool

    def numbers(self) -> Iterator[Number]:
        """The widths and bounds.

        >>> list(Scale((5,), None, 99, True).numbers())
        [5, 99]
        """
        yield from self.widths
        yield from (bound for bound in (self.low, self.high) if bound is not None)

    def holds(self, number: Number) -> bool:
        """Whether the number is in the range.

        >>> Scale((5,), 0, None, True).holds(10**9)
        True
        """
        return (self.low is None or self.low <= number) and (self.high is None or number <= self.high)

    def labelled(self, text: str) -> tuple[Number, int] | None:
        """The start and level of the interval that has this text as its label.

        >>> scale = Scale((5, 10), None, None, True)
        >>> scale.labelled("10-19"), scale.labelled("10-12")
        ((10, 1), None)
        """
        match = (_INTEGER_LABEL if self.integer else _DECIMAL_LABEL).fullmatch(text)
        start = parse_number(match[1], self.integer) if match else None
        if start is None or not self.holds(start):
            return None
        levels = (at for at, width in enumerate(self.widths) if self._label(start, width) == text)
        level = next(levels, None)
        return None if level is None else (start, level)

    def _label(self, number: Number, width: Number) -> str | None:
        """The label of the interval around the number, None if it would say nothing new."""
        origin = self.low or 0
        start = origin + (number - origin) // width * width
        if not self.integer and start == self.high != self.low:
            start -= width  # the last interval is closed: it holds the maximum too
        stop = start + width - self.integer
        if self.high is not None:
            stop = min(stop, self.high)
        if (start, stop) == (self.low, self.high) or start == stop:
            return None
        if self.integer:
            return f"{start}-{stop}"
        return f"[{shortest(start)}, {shortest(stop)}{']' if stop == self.high else ')'}"

    def whole_range(self) -> tuple[list[int], range]:
        """How many intervals of each width, and which integers, are nodes whatever the data: none in long ranges.

        >>> Scale((5,), 0, 9, True).whole_range(), Scale((5,), None, 9, True).whole_range()
        (([2], range(0, 10)), ([0], range(0, 0)))
        """
        none = [0] * len(self.widths)
        if self.low is None or self.high is None:
            return none, range(0)
        span = self.high - self.low
        counts = [int(span // width) + 1 for width in self.widths]
        is_listed = self.integer and span < MOST_LEAVES
        integers = range(int(self.low), int(self.high) + 1) if is_listed else range(0)
        return (counts if sum(counts) <= MOST_INTERVALS else none), integers

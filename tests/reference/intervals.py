"""The slow twin of intervals, and what the slow twins share: exact numbers, one value at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from treeanon.hierarchy import ROOT, Hierarchy
from treeanon.hierarchy.links import Links
from treeanon.hierarchy.numbers import DECIMAL, INTEGER, Number, exact, parse_number

MOST_INTERVALS = 100_000
MOST_LEAVES = 10_000
_INTEGER_LABEL = re.compile(f"({INTEGER})-{INTEGER}")
_DECIMAL_LABEL = re.compile(rf"\[({DECIMAL}), {DECIMAL}[)\]]")


def ordered_tree(parent, order, root=ROOT):
    links = Links("node", seen=dict.fromkeys([root, *order], 0), parent=dict(parent))
    return links.preorder(root)


def shortest(number):
    number = Fraction(number)
    if number.denominator == 1:
        return str(number.numerator)
    decimals = 1
    while 10**decimals % number.denominator:
        decimals += 1
    digits = str(abs(number.numerator) * 10**decimals // number.denominator).zfill(decimals + 1)
    return f"{'-' if number < 0 else ''}{digits[:-decimals]}.{digits[-decimals:]}"


def slow_intervals(builder, values):
    low, high = (None if bound is None else exact(bound) for bound in (builder.min, builder.max))
    growing = _Growing(_Scale(tuple(exact(width) for width in builder.widths), low, high, builder.integer))
    if low is not None and high is not None:
        growing.fill(low, high)
    for value in values:
        growing.place(value)
    order = sorted(growing.start, key=lambda text: (growing.start[text], text))
    return Hierarchy(*ordered_tree(growing.parent, order))


@dataclass(frozen=True)
class _Scale:
    widths: tuple[Number, ...]
    low: Number | None
    high: Number | None
    integer: bool

    def holds(self, number: Number) -> bool:
        return (self.low is None or self.low <= number) and (self.high is None or number <= self.high)

    def interval(self, number: Number, width: Number) -> tuple[str | None, Number]:
        origin = self.low or 0
        start = origin + (number - origin) // width * width
        if not self.integer and start == self.high != self.low:
            start -= width  # the last interval is closed: it holds the maximum too
        stop = start + width - self.integer
        if self.high is not None:
            stop = min(stop, self.high)
        if (start, stop) == (self.low, self.high) or start == stop:
            return None, start
        if self.integer:
            return f"{start}-{stop}", start
        return f"[{shortest(start)}, {shortest(stop)}{']' if stop == self.high else ')'}", start

    def above(self, number: Number, level: int) -> Iterator[tuple[str, Number]]:
        for width in self.widths[level:]:
            label, start = self.interval(number, width)
            if label is not None:
                yield label, start

    def labeled(self, text: str) -> tuple[Number, int] | None:
        match = (_INTEGER_LABEL if self.integer else _DECIMAL_LABEL).fullmatch(text)
        start = parse_number(match[1], self.integer) if match else None
        if start is None or not self.holds(start):
            return None
        levels = (at for at, width in enumerate(self.widths) if self.interval(start, width)[0] == text)
        level = next(levels, None)
        return None if level is None else (start, level)


@dataclass
class _Growing:
    scale: _Scale
    parent: dict[str, str] = field(default_factory=dict)
    start: dict[str, Number] = field(default_factory=dict)

    def place(self, value: str) -> None:
        number = parse_number(value, self.scale.integer)
        if number is not None:
            if self.scale.holds(number):
                self._hang(value, number, 0)
        elif (found := self.scale.labeled(value)) is not None:
            self._hang(value, found[0], found[1] + 1)

    def fill(self, low: Number, high: Number) -> None:
        counts = [int((high - low) // width) + 1 for width in self.scale.widths]
        if sum(counts) <= MOST_INTERVALS:
            for level, (width, count) in enumerate(zip(self.scale.widths, counts, strict=True)):
                for at in range(count):
                    label, start = self.scale.interval(low + at * width, width)
                    if label is not None:
                        self._hang(label, start, level + 1)
        if isinstance(low, int) and isinstance(high, int) and self.scale.integer and high - low < MOST_LEAVES:
            for number in range(low, high + 1):
                self._hang(str(number), number, 0)

    def _hang(self, text: str, start: Number, level: int) -> None:
        for label, above in self.scale.above(start, level):
            if text in self.parent:
                return
            if label != text:  # clipped at the maximum, two levels can be the same interval
                self.parent[text], self.start[text] = label, start
                text, start = label, above
        self.parent.setdefault(text, ROOT)
        self.start.setdefault(text, start)

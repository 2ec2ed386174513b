"""Hierarchies of nested numeric intervals."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from treeanon.errors import HierarchyError
from treeanon.hierarchy.links import ROOT, ordered_tree
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.numbers import DECIMAL, INTEGER, Number, exact, parse_number, shortest

MOST_INTERVALS = 100_000
MOST_LEAVES = 10_000
_INTEGER_LABEL = re.compile(f"({INTEGER})-{INTEGER}")
_DECIMAL_LABEL = re.compile(rf"\[({DECIMAL}), {DECIMAL}[)\]]")

Problems = list[tuple[str, str]]


@dataclass(frozen=True)
class Intervals:
    """Builder: a number lies in an interval of the first width, that in one of the next, up to `*`.

    >>> h = Intervals((5, 10)).build(["21", "27"])
    >>> h.texts
    ('*', '20-29', '20-24', '21', '25-29', '27')
    """

    widths: tuple[int | float, ...]
    min: int | float | None = None
    max: int | float | None = None
    integer: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", tuple(self.widths))
        problems = _interval_problems(self.widths, self.min, self.max, self.integer)
        if problems:
            raise HierarchyError("; ".join(f"{key}: {message}" for key, message in problems))

    def build(self, values: Iterable[str]) -> Hierarchy:
        """The hierarchy of the values that are numbers in the range, or labels of its intervals.

        >>> Intervals((10,), min=0, max=20, integer=False).build(["20", "3.5", "x"]).texts
        ('*', '[0, 10)', '3.5', '[10, 20]', '20')
        """
        low, high = (None if bound is None else exact(bound) for bound in (self.min, self.max))
        growing = _Growing(_Scale(tuple(exact(width) for width in self.widths), low, high, self.integer))
        if low is not None and high is not None:
            growing.fill(low, high)
        for value in values:
            growing.place(value)
        order = sorted(growing.start, key=lambda text: (growing.start[text], text))
        return Hierarchy(*ordered_tree(growing.parent, order))


@dataclass(frozen=True)
class _Scale:
    """The arithmetic of the nested intervals."""

    widths: tuple[Number, ...]
    low: Number | None
    high: Number | None
    integer: bool

    def holds(self, number: Number) -> bool:
        return (self.low is None or self.low <= number) and (self.high is None or number <= self.high)

    def interval(self, number: Number, width: Number) -> tuple[str | None, Number]:
        """The label of the interval around the number, None if it would say nothing new, and its start."""
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
        """The labels and starts of the intervals around the number, from a level upwards."""
        for width in self.widths[level:]:
            label, start = self.interval(number, width)
            if label is not None:
                yield label, start

    def labelled(self, text: str) -> tuple[Number, int] | None:
        """The start and level of the interval that has this text as its label."""
        match = (_INTEGER_LABEL if self.integer else _DECIMAL_LABEL).fullmatch(text)
        start = parse_number(match[1], self.integer) if match else None
        if start is None or not self.holds(start):
            return None
        levels = (at for at, width in enumerate(self.widths) if self.interval(start, width)[0] == text)
        level = next(levels, None)
        return None if level is None else (start, level)


@dataclass
class _Growing:
    """A hierarchy in the making: the parent and the start of every node but the root."""

    scale: _Scale
    parent: dict[str, str] = field(default_factory=dict)
    start: dict[str, Number] = field(default_factory=dict)

    def place(self, value: str) -> None:
        number = parse_number(value, self.scale.integer)
        if number is not None:
            if self.scale.holds(number):
                self._hang(value, number, 0)
        elif (found := self.scale.labelled(value)) is not None:
            self._hang(value, found[0], found[1] + 1)

    def fill(self, low: Number, high: Number) -> None:
        """Nothing; all intervals and integers of the range are placed, so that data do not shape the tree."""
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
        """Nothing; the node and what is missing above it are placed."""
        for label, above in self.scale.above(start, level):
            if text in self.parent:
                return
            if label != text:  # clipped at the maximum, two levels can be the same interval
                self.parent[text], self.start[text] = label, start
                text, start = label, above
        self.parent.setdefault(text, ROOT)
        self.start.setdefault(text, start)


def parse_intervals(spec: Mapping[str, object], value_type: str) -> tuple[Intervals | None, Problems]:
    """The builder of `{intervals = [5, 10], min = 0, max = 120}`, and all that is wrong with it.

    >>> parse_intervals({"intervals": [5, 12]}, "integer")
    (None, [('intervals', 'each width must be a multiple of the one before')])
    """
    widths, low, high = spec["intervals"], spec.get("min"), spec.get("max")
    problems: Problems = []
    if value_type not in ("integer", "number"):
        problems.append(("intervals", 'needs a class of type = "integer" or "number"'))
    problems += _interval_problems(widths, low, high, value_type == "integer")
    if problems or not isinstance(widths, (list, tuple)):
        return None, problems
    low, high = (bound if isinstance(bound, (int, float)) else None for bound in (low, high))
    return Intervals(tuple(widths), low, high, value_type == "integer"), []


def _is_number(value: object, integer: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if integer else (int, float)):
        return False
    return math.isfinite(value)


def _interval_problems(widths: object, low: object, high: object, integer: bool) -> Problems:
    kind = "a whole number" if integer else "a finite number"
    problems = [
        (key, f"must be {kind}")
        for key, bound in (("min", low), ("max", high))
        if bound is not None and not _is_number(bound, integer)
    ]
    if not problems and low is not None and high is not None and low > high:  # type: ignore[operator]
        problems.append(("max", "must not be less than min"))
    message = _width_problem(widths, integer)
    return [("intervals", message), *problems] if message else problems


def _width_problem(widths: object, integer: bool) -> str | None:
    if not isinstance(widths, (list, tuple)) or not widths:
        return "must be a list of widths such as [5, 10]"
    if not all(_is_number(width, integer) and width > 0 for width in widths):
        return f"every width must be a positive {'whole' if integer else 'finite'} number"
    fractions = [Fraction(exact(width)) for width in widths]
    if any(lower >= upper for lower, upper in pairwise(fractions)):
        return "widths must ascend"
    if any(upper % lower for lower, upper in pairwise(fractions)):
        return "each width must be a multiple of the one before"
    return None

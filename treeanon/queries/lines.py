"""Numbers and dates on a line: published values are points and intervals of it, and so are conditions.

The ends of all conditions cut the line into cells, points and what lies between them, in each of which every condition
either holds or does not. A published interval has the readings of the cells that it meets; its weight in each is how
much of it lies there: whole numbers or days counted, other numbers by length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from treeanon.hierarchy import Intervals
from treeanon.hierarchy.dates import LEVELS, WEEK, Dates, read_periods, serial
from treeanon.hierarchy.levels import Levels
from treeanon.hierarchy.numbers import DECIMAL, INTEGER, exact, parse_number
from treeanon.queries.grammar import Condition, Constant, QueryError
from treeanon.schema.model import ClassSpec
from treeanon.table.covers import parsed

Place = int | Fraction | float
"""A number; floats are infinities alone."""

_LABELS = (
    re.compile(f"(?P<low>{INTEGER})-(?P<high>{INTEGER})"),
    re.compile(rf"\[(?P<low>{DECIMAL}), (?P<high>{DECIMAL})(?P<end>[)\]])"),
    re.compile(rf"(?P<low>{DECIMAL})…(?P<high>{DECIMAL})(?: \([0-9]+\))?"),
)
_BELOW = re.compile(f"less than ({DECIMAL})")
_ABOVE = re.compile(f"({DECIMAL}) and more")
_MONTHS = {2: 1, 3: 3, 4: 12, 5: 120, 6: 1200}


@dataclass(frozen=True)
class Span:
    """An interval of the line, whose ends belong to it or not."""

    low: Place
    high: Place
    has_low: bool = True
    has_high: bool = True

    def meets(self, other: Span) -> Span:
        """Return what both have in common; it may be empty."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        has_low = all(one.has_low for one in (self, other) if one.low == low)
        has_high = all(one.has_high for one in (self, other) if one.high == high)
        return Span(low, high, has_low, has_high)

    def size(self, *, whole: bool) -> float:
        """Return how many whole numbers it has, or how long it is.

        >>> Span(1, 3, has_low=False).size(whole=True), Span(1, 3).size(whole=False)
        (2.0, 2.0)
        """
        if self.low > self.high:
            return 0.0
        if not whole or math.inf in (self.high, -self.low):
            return float(self.high - self.low)
        low, high = math.ceil(self.low), math.floor(self.high)
        low += low == self.low and not self.has_low
        high -= high == self.high and not self.has_high
        return float(max(high - low + 1, 0))

    def is_empty(self, *, whole: bool) -> bool:
        """Return whether no number lies in it."""
        if whole:
            return self.size(whole=True) == 0
        return self.low > self.high or (self.low == self.high and not (self.has_low and self.has_high))

    def covers(self, other: Span) -> bool:
        """Return whether another one, of whose ends none lies inside this one, is in this one."""
        low = self.low < other.low or (self.low == other.low and (self.has_low or not other.has_low))
        return low and (self.high > other.high or (self.high == other.high and (self.has_high or not other.has_high)))


ROOT = "*"
EVERYTHING = Span(-math.inf, math.inf, has_low=False, has_high=False)


def number_or_day(text: str, *, is_date: bool) -> tuple[Place, Place] | None:
    """Return the first and last place of a number, or of a date or period in days; None for other texts.

    >>> number_or_day("2.50", is_date=False), number_or_day("1970-01", is_date=True), number_or_day("x", is_date=True)
    ((Fraction(5, 2), Fraction(5, 2)), (0, 30), None)
    """
    if not is_date:
        number = parse_number(text, integer=False)
        return None if number is None else (number, number)
    found, starts, ranks = read_periods([text])
    if not found:
        return None
    first, rank = int(starts[0]), int(ranks[0])
    day = int(serial(starts)[0])
    if rank <= 0:
        return day, day
    if rank == WEEK:
        # The day is the Thursday.
        return day - 3, day + 3
    months = first // 10_000 * 12 + first // 100 % 100 - 1 + _MONTHS[rank]
    end = np.array([months // 12 * 10_000 + (months % 12 + 1) * 100 + 1], np.int64)
    return day, int(serial(end)[0]) - 1


class Line:
    """A class of numbers or dates, whose hierarchy is built from the values that occur."""

    def __init__(self, spec: ClassSpec, asked: Sequence[Condition], published: Iterable[str]) -> None:
        self.asked = asked
        self.is_date, self.whole = spec.type == "date", spec.type != "number"
        built = spec.hierarchy.builder if isinstance(spec.hierarchy, Levels) else spec.hierarchy
        self.in_weeks = isinstance(built, Dates) and "week" in built.levels
        self.absent = sum(1 << bit for bit, one in enumerate(asked) if one.operator == "missing")
        self.all = EVERYTHING
        if isinstance(built, Intervals) and spec.on_unknown == "error":
            least = -math.inf if built.min is None else exact(built.min)
            most = math.inf if built.max is None else exact(built.max)
            self.all = Span(least, most)
        self.held = [[] if one.operator == "missing" else self._held(one) for one in asked]
        ends = {end for spans in self.held for span in spans for end in (span.low, span.high)} - {math.inf, -math.inf}
        self.cells = list(_cells(sorted(ends)))
        self.seen = self._seen(published)
        self.known: dict[str | None, Mapping[int, float]] = {None: {self.absent: 1.0}}

    def readings(self, text: str | None) -> Mapping[int, float]:
        """Return the readings of a published value; see `domains`."""
        if text not in self.known:
            self.known[text] = self._readings(str(text))
        return self.known[text]

    def _readings(self, text: str) -> Mapping[int, float]:
        said = parsed(text)
        if said is not None:
            values, is_range, missing = said
            spans = [self.span(value) for value in values]
            known = [span for span in spans if span is not None]
            if len(known) == len(spans):
                if is_range:
                    known = [Span(known[0].low, known[-1].high, known[0].has_low, known[-1].has_high)]
                return self._spread(known, missing=missing)
        found = self.span(text)
        if found is not None:
            return self._spread([found])
        # The root stands for a missing value too, and so may what is not understood.
        return {self.absent: 0.0, **self._spread([self.all if text == ROOT else EVERYTHING])}

    def _spread(self, spans: Sequence[Span], *, missing: bool = False) -> dict[int, float]:
        """Return the readings of intervals that are as likely as each other, and as a missing value."""
        found: dict[int, float] = {self.absent: 1.0} if missing else {}
        for span in spans:
            met = [(reading, span.meets(cell)) for cell, reading in self._read_cells()]
            met = [(reading, part) for reading, part in met if not part.is_empty(whole=self.whole)]
            sizes = [part.meets(self.seen).size(whole=self.whole) for _, part in met]
            sizes = sizes if sum(sizes) > 0 else [part.size(whole=self.whole) for _, part in met]
            if not 0 < sum(sizes) < math.inf:
                sizes = [1.0] * len(met)
            for (reading, _), size in zip(met, sizes, strict=True):
                found[reading] = found.get(reading, 0.0) + size / sum(sizes)
        total = sum(found.values()) or 1.0
        return {reading: weight / total for reading, weight in found.items()}

    def _read_cells(self) -> Iterable[tuple[Span, int]]:
        for cell in self.cells:
            held = (any(span.covers(cell) for span in spans) for spans in self.held)
            yield cell, sum(1 << bit for bit, holds in enumerate(held) if holds)

    def _seen(self, published: Iterable[str]) -> Span:
        """Return from where to where the values that are published go."""
        ends: list[Place] = []
        for text in published:
            said = parsed(text)
            for value in [text] if said is None else said[0]:
                span = self.span(value)
                ends += [] if span is None else [span.low, span.high]
        finite = [end for end in (*ends, self.all.low, self.all.high) if -math.inf < end < math.inf]
        return Span(min(finite), max(finite)) if finite else EVERYTHING

    def span(self, text: str) -> Span | None:
        """Return the interval that a single published text stands for; None for the root and unknown texts."""
        if self.is_date:
            days = number_or_day(text, is_date=True)
            if days is None:
                return None
            # A period may have days of weeks whose Thursday lies in it.
            more = 3 if self.in_weeks and days[1] - days[0] > 6 else 0
            return Span(days[0] - more, days[1] + more)
        number = parse_number(text, integer=False)
        if number is not None:
            return Span(number, number)
        if match := _BELOW.fullmatch(text):
            return Span(self.all.low, Fraction(match[1]), self.all.has_low, has_high=False)
        if match := _ABOVE.fullmatch(text):
            return Span(Fraction(match[1]), self.all.high, has_high=self.all.has_high)
        for label in _LABELS:
            if match := label.fullmatch(text):
                low, high = (Fraction(match[end]) for end in ("low", "high"))
                return Span(low, high, has_high=match.groupdict().get("end") != ")")
        return None

    def _held(self, condition: Condition) -> list[Span]:
        """Return the intervals whose numbers satisfy a condition."""
        return [self._of_constant(condition, constant) for constant in condition.constants]

    def _of_constant(self, condition: Condition, constant: Constant) -> Span:
        if condition.operator == "in" and constant.text == "*":
            return EVERYTHING
        ends = constant.span if constant.is_range or (constant.span and not self.is_date) else None
        low, high = (self._end(condition, constant, text) for text in ends or (constant.text, constant.text))
        if condition.operator == "<":
            return Span(-math.inf, low.low, has_low=False, has_high=not low.has_low)
        if condition.operator == "<=":
            return Span(-math.inf, high.high, has_low=False, has_high=high.has_high)
        if condition.operator == ">":
            return Span(high.high, math.inf, has_low=not high.has_high, has_high=False)
        if condition.operator == ">=":
            return Span(low.low, math.inf, has_low=low.has_low, has_high=False)
        if low.low > high.high:
            raise QueryError(constant.place, "the range ends before it begins")
        return Span(low.low, high.high, low.has_low, high.has_high)

    def _end(self, condition: Condition, constant: Constant, text: str) -> Span:
        if self.is_date:
            days = number_or_day(text, is_date=True)
            if days is None:
                known = ", ".join(LEVELS)
                raise QueryError(constant.place, f"{condition.name} has dates: a date, or a {known}, is expected")
            return Span(*days)
        found = self.span(text)
        if found is None:
            raise QueryError(constant.place, f"{condition.name} has numbers: a number is expected")
        return found


def _cells(ends: Sequence[Place]) -> Iterable[Span]:
    """Return the points, and what lies before, between and behind them."""
    yield Span(-math.inf, ends[0] if ends else math.inf, has_low=False, has_high=False)
    for at, end in enumerate(ends):
        yield Span(end, end)
        yield Span(end, ends[at + 1] if at + 1 < len(ends) else math.inf, has_low=False, has_high=False)

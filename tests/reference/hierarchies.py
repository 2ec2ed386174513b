"""Slow twins of what the builders and the model do: one value and one node at a time, with exact numbers."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import pairwise, takewhile

from tests.reference.intervals import ordered_tree, shortest, slow_intervals
from treeanon.hierarchy import ROOT, Dates, Flat, Groups, Hierarchy, Intervals, Prefix
from treeanon.hierarchy.numbers import DECIMAL

LEVELS = ("day", "week", "month", "quarter", "year", "decade", "century")
_ZONE = r"(?: ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?))?"
_TIME = r"[0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2}(?:[.,][0-9]{1,12})?)?)?" + _ZONE
_DAY = re.compile(rf"([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})(?:[T ]{_TIME})?")
_COMPACT = re.compile(rf"([0-9]{{4}})([0-9]{{2}})([0-9]{{2}})(?:T?{_TIME})?")
_PERIODS = {
    2: re.compile(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})"),
    3: re.compile(r"(?P<year>[0-9]{4})-Q(?P<quarter>[1-4])"),
    4: re.compile(r"(?P<year>[0-9]{4})"),
    5: re.compile(r"(?P<year>[0-9]{3}0)s"),
    6: re.compile(r"(?P<year>[0-9]{2}00)-[0-9]{2}99"),
}
_RANGE = re.compile(rf"({DECIMAL})(?:…({DECIMAL})(?: \([0-9]+\))?)?")


def slow_build(builder, values):
    return TWINS[type(builder)](builder, values)


def slow_depth_and_end(parents):
    depth, end, path = [0] * len(parents), [len(parents)] * len(parents), [0]
    for v in range(1, len(parents)):
        while path and path[-1] != parents[v]:
            end[path.pop()] = v
        if not path:
            return v
        depth[v] = len(path)
        path.append(v)
    return depth, end


def _dates(builder, values):
    ranks = [LEVELS.index(level) for level in builder.levels]
    parent: dict[str, str] = {}
    periods: dict[str, _Period] = {}
    for value in values:
        period = _read(value)
        if period is None:
            continue
        text = value
        for upper in period.above(ranks):
            if text in parent:
                break
            label = upper.label()
            parent[text], periods[text] = label, period
            text, period = label, upper
        if text not in parent:
            parent[text], periods[text] = ROOT, period

    def key(text):
        period = periods[text]
        place = period.thursday().start if 1 in ranks and period.rank <= 0 else period.start
        return place, max(period.rank, 0) * -1, period.start, -period.rank, text

    return Hierarchy(*ordered_tree(parent, sorted(periods, key=key)))


@dataclass(frozen=True)
class _Period:
    start: tuple[int, int, int]
    rank: int

    def above(self, ranks: Sequence[int]) -> Iterator[_Period]:
        by_week = 1 in ranks and self.rank <= 0
        for rank in ranks:
            if rank > self.rank:
                yield (self.thursday() if by_week and rank > 1 else self).widen(rank)

    def thursday(self) -> _Period:
        year, week, _ = datetime.date(*self.start).isocalendar()
        day = datetime.date.fromisocalendar(year, week, 4)
        return _Period((day.year, day.month, day.day), 1)

    def widen(self, rank: int) -> _Period:
        year, month, day = self.start
        starts = (
            (year, month, day),
            year and self.thursday().start,
            (year, month, 1),
            (year, (month - 1) // 3 * 3 + 1, 1),
            (year, 1, 1),
            (year // 10 * 10, 1, 1),
            (year // 100 * 100, 1, 1),
        )
        return _Period(starts[rank], rank)

    def label(self) -> str:
        year, month, day = self.start
        labels = (
            f"{year:04d}-{month:02d}-{day:02d}",
            year and "{:04d}-W{:02d}".format(*datetime.date(year, month, day).isocalendar()[:2]),
            f"{year:04d}-{month:02d}",
            f"{year:04d}-Q{(month + 2) // 3}",
            f"{year:04d}",
            f"{year:04d}s",
            f"{year:04d}-{year + 99:04d}",
        )
        return labels[self.rank]


def _read(text: str) -> _Period | None:
    if match := _DAY.fullmatch(text) or _COMPACT.fullmatch(text):
        year, month, day = (int(part) for part in match.groups())
        try:
            datetime.date(year, month, day)
        except ValueError:
            return None
        whole = _Period((year, month, day), 0)
        return whole if whole.label() == text else _Period(whole.start, -1)
    if re.fullmatch(r"[0-9]{4}-W[0-9]{2}", text):
        year = int(text[:4])
        length = 365 + calendar.isleap(year) if year else 0
        days = (datetime.date(year, 1, 1) + datetime.timedelta(at) for at in range(length))
        for thursday in (day for day in days if day.isoweekday() == 4):
            if thursday.isocalendar()[:2] == (year, int(text[6:])):
                return _Period((year, thursday.month, thursday.day), 1)
        return None
    for rank, pattern in _PERIODS.items():
        if match := pattern.fullmatch(text):
            parts = {name: int(part) for name, part in match.groupdict().items()}
            month = parts.get("month", 3 * parts.get("quarter", 1) - 2)
            period = _Period((parts["year"], month, 1), rank)
            # there is no month 13, no year 0 and no century of 200 years
            real = 1 <= month <= 12 and (parts["year"] or rank > 4) and period.label() == text
            return period if real else None
    return None


def _prefix(builder, values):
    parent: dict[str, str] = {}
    for value in values:
        if value not in ("", ROOT):
            for child, above in pairwise([value, *_prefixes(builder, value), ROOT]):
                parent[child] = above
    return Hierarchy(*ordered_tree(parent, sorted(parent)))


def _prefixes(builder, value):
    length = len(value) - (value.endswith("*") and len(value) - 1 in builder.keep)
    return [value[:kept] + "*" for kept in builder.keep if kept < length]


def _flat(builder, values):
    return Hierarchy.from_parents({value: ROOT for value in sorted(set(values)) if value not in ("", ROOT)}, root=ROOT)


def _groups(builder, values):
    leaves = sorted(set(values) - {"", ROOT})
    label = _TextLabels(leaves)
    if builder.numeric and all(_RANGE.fullmatch(leaf) for leaf in leaves):
        leaves.sort(key=lambda leaf: (*_bounds(leaf), leaf))
        label = _NumberLabels([_bounds(leaf) for leaf in leaves])
    forest = _Forest(leaves, label)
    while len(forest.layer) > builder.fanout:
        forest.group(builder.fanout)
    return forest.grown()


@dataclass
class _Forest:
    leaves: Sequence[str]
    label: Callable[[int, int], str]
    layer: list[tuple[str, int, int]] = field(init=False)
    parent: dict[str, str] = field(default_factory=dict)
    first: dict[str, int] = field(init=False)
    copies: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.layer = [(leaf, at, at) for at, leaf in enumerate(self.leaves)]
        self.first = {leaf: at for at, leaf in enumerate(self.leaves)}

    def group(self, fanout: int) -> None:
        above = []
        for at in range(0, len(self.layer), fanout):
            members = self.layer[at : at + fanout]
            above.append(members[0] if len(members) == 1 else self._join(members))
        self.layer = above

    def _join(self, members: list[tuple[str, int, int]]) -> tuple[str, int, int]:
        first, last = members[0][1], members[-1][2]
        text = self._unique(self.label(first, last))
        self.first[text] = first
        self.parent.update((member, text) for member, _, _ in members)
        return text, first, last

    def _unique(self, base: str) -> str:
        text = base
        while text in self.first:
            self.copies[base] = self.copies.get(base, 1) + 1
            text = f"{base} ({self.copies[base]})"
        return text

    def grown(self) -> Hierarchy:
        self.parent.update((text, ROOT) for text, _, _ in self.layer)
        return Hierarchy(*ordered_tree(self.parent, sorted(self.first, key=self.first.__getitem__)))


class _TextLabels:
    def __init__(self, leaves: Sequence[str]) -> None:
        self.leaves, self.known = leaves, set(leaves)

    def __call__(self, first: int, last: int) -> str:
        before = self.leaves[first - 1] if first > 0 else ""
        after = self.leaves[last + 1] if last + 1 < len(self.leaves) else ""
        return f"{self._prefix(self.leaves[first], before)}…{self._prefix(self.leaves[last], after)}"

    def _prefix(self, leaf: str, neighbor: str) -> str:
        pairs = zip(leaf, neighbor, strict=False)
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        prefix = leaf[: common + 1]
        while len(prefix) > 1 and (prefix in self.known or prefix[-1].isspace()):
            prefix = prefix[:-1]
        return prefix


class _NumberLabels:
    def __init__(self, bounds: Sequence[tuple[Decimal, Decimal]]) -> None:
        self.bounds = bounds

    def __call__(self, first: int, last: int) -> str:
        below = self.bounds[first - 1][1] if first > 0 else Decimal("-Infinity")
        above = self.bounds[last + 1][0] if last + 1 < len(self.bounds) else Decimal("Infinity")
        low = _rounded(self.bounds[first][0], ROUND_FLOOR, lambda number: number > below)
        high = _rounded(self.bounds[last][1], ROUND_CEILING, lambda number: number < above)
        return f"{shortest(Fraction(low))}…{shortest(Fraction(high))}"


def _rounded(number: Decimal, rounding: str, separate: Callable[[Decimal], bool]) -> Decimal:
    for digits in range(1, len(number.as_tuple().digits)):
        candidate = Context(prec=digits, rounding=rounding).plus(number)
        if separate(candidate):
            return candidate
    return number


def _bounds(text: str) -> tuple[Decimal, Decimal]:
    match = _RANGE.fullmatch(text)
    assert match is not None
    return Decimal(match[1]), Decimal(match[2] or match[1])


TWINS = {Intervals: slow_intervals, Dates: _dates, Prefix: _prefix, Flat: _flat, Groups: _groups}

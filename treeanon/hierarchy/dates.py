"""Hierarchies of calendar periods."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from treeanon.errors import HierarchyError
from treeanon.hierarchy.links import ROOT, ordered_tree
from treeanon.hierarchy.model import Hierarchy

LEVELS = ("day", "month", "quarter", "year", "decade", "century")
_ZONE = r"(?: ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?))?"
_TIME = r"[0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2}(?:[.,][0-9]{1,12})?)?)?" + _ZONE
_DAY = re.compile(rf"([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})(?:[T ]{_TIME})?")
_COMPACT = re.compile(rf"([0-9]{{4}})([0-9]{{2}})([0-9]{{2}})(?:T?{_TIME})?")
_PERIODS = {
    1: re.compile(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})"),
    2: re.compile(r"(?P<year>[0-9]{4})-Q(?P<quarter>[1-4])"),
    3: re.compile(r"(?P<year>[0-9]{4})"),
    4: re.compile(r"(?P<year>[0-9]{3}0)s"),
    5: re.compile(r"(?P<year>[0-9]{2}00)-[0-9]{2}99"),
}

Problems = list[tuple[str, str]]


@dataclass(frozen=True)
class Dates:
    """Builder: a date lies in its day, month, quarter, year, decade, century, as far as they are asked for.

    >>> Dates(("month", "year")).build(["2019-03-07", "20190412", "2020"]).texts
    ('*', '2019', '2019-03', '2019-03-07', '2019-04', '20190412', '2020')
    """

    levels: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(self.levels))
        problem = _level_problem(self.levels)
        if problem:
            raise HierarchyError(f"dates: {problem}")

    def build(self, values: Iterable[str]) -> Hierarchy:
        """The hierarchy of the values that are dates, or periods of the calendar.

        >>> Dates(("quarter", "decade")).build(["2019-02-29", "2019-03", "2010s"]).texts
        ('*', '2010s', '2019-Q1', '2019-03')
        """
        ranks = [LEVELS.index(level) for level in self.levels]
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
        order = sorted(periods, key=lambda text: (periods[text].start, -periods[text].rank, text))
        return Hierarchy(*ordered_tree(parent, order))


@dataclass(frozen=True)
class _Period:
    """A stretch of the calendar: its first day, and which level it is (-1: no level's label)."""

    start: tuple[int, int, int]
    rank: int

    def above(self, ranks: Iterable[int]) -> Iterator[_Period]:
        return (self.widen(rank) for rank in ranks if rank > self.rank)

    def widen(self, rank: int) -> _Period:
        year, month, day = self.start
        starts = (
            (year, month, day),
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
            f"{year:04d}-{month:02d}",
            f"{year:04d}-Q{(month + 2) // 3}",
            f"{year:04d}",
            f"{year:04d}s",
            f"{year:04d}-{year + 99:04d}",
        )
        return labels[self.rank]


def _read(text: str) -> _Period | None:
    """The period that the text is, or None."""
    if match := _DAY.fullmatch(text) or _COMPACT.fullmatch(text):
        year, month, day = (int(part) for part in match.groups())
        try:
            datetime.date(year, month, day)
        except ValueError:
            return None
        whole = _Period((year, month, day), 0)
        return whole if whole.label() == text else _Period(whole.start, -1)
    for rank, pattern in _PERIODS.items():
        if match := pattern.fullmatch(text):
            parts = {name: int(part) for name, part in match.groupdict().items()}
            month = parts.get("month", 3 * parts.get("quarter", 1) - 2)
            period = _Period((parts["year"], month, 1), rank)
            # there is no month 13, no year 0 and no century of 200 years
            real = 1 <= month <= 12 and (parts["year"] or rank > 3) and period.label() == text
            return period if real else None
    return None


def parse_dates(spec: Mapping[str, object], value_type: str) -> tuple[Dates | None, Problems]:
    """The builder of `{dates = ["month", "year"]}`, and all that is wrong with it.

    >>> parse_dates({"dates": ["month", "year"]}, "date")
    (Dates(levels=('month', 'year')), [])
    """
    levels = spec["dates"]
    problems: Problems = []
    if value_type != "date":
        problems.append(("dates", 'needs a class of type = "date"'))
    message = _level_problem(levels)
    if message:
        problems.append(("dates", message))
    if problems or not isinstance(levels, (list, tuple)):
        return None, problems
    return Dates(tuple(levels)), []


def _level_problem(levels: object) -> str | None:
    known = ", ".join(LEVELS)
    if not isinstance(levels, (list, tuple)) or not levels:
        return f"must be a list of levels out of {known}"
    if any(level not in LEVELS for level in levels):
        return f"there is a level that is none of {known}"
    ranks = [LEVELS.index(level) for level in levels]
    if ranks != sorted(set(ranks)):
        return f"levels must be in this order, each once: {known}"
    return None

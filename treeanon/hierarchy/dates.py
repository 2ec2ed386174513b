"""Hierarchies of calendar periods.

A text that is a period is read as its first day, the number yyyymmdd, and a rank: the level whose label the text
is, or -1 for a day that is written otherwise.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from treeanon.errors import HierarchyError
from treeanon.hierarchy.links import Nodes
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.numbers import RARE, by_shape, digits

Days = NDArray[np.int64]
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
_LABELS: tuple[Callable[[int, int, int], str], ...] = (
    lambda year, month, day: f"{year:04d}-{month:02d}-{day:02d}",
    lambda year, month, day: f"{year:04d}-{month:02d}",
    lambda year, month, day: f"{year:04d}-Q{(month + 2) // 3}",
    lambda year, month, day: f"{year:04d}",
    lambda year, month, day: f"{year:04d}s",
    lambda year, month, day: f"{year:04d}-{year + 99:04d}",
)
_MONTH_DAYS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def label(start: int, rank: int) -> str:
    """Return the text of the period that starts on this day.

    >>> label(20190401, 2)
    '2019-Q2'
    """
    return _LABELS[rank](start // 10_000, start // 100 % 100, start % 100)


def widened(starts: Days, rank: int) -> Days:
    """Return the starts of the periods of this rank around the days.

    >>> widened(np.array([20190504]), 2).tolist()
    [20190401]
    """
    if rank == 0:
        return starts
    if rank == 1:
        return starts // 100 * 100 + 1
    if rank == 2:
        return starts // 10_000 * 10_000 + (starts // 100 % 100 - 1) // 3 * 300 + 101
    years = (1, 10, 100)[rank - 3]
    return starts // (10_000 * years) * (10_000 * years) + 101


def read_periods(texts: Sequence[str]) -> tuple[list[str], Days, NDArray[np.int64]]:
    """Return the texts that are days or periods, in their order, with their starts and ranks.

    >>> read_periods(["2019-13", "2019-12", "20190230", "20190228T10"])
    (['2019-12', '20190228T10'], array([20191201, 20190228]), array([ 1, -1]))
    """
    starts = np.full(len(texts), -1, dtype=np.int64)
    ranks = np.full(len(texts), -1, dtype=np.int64)
    for shape, found in by_shape(texts):
        same = [texts[at] for at in found.tolist()]
        if len(found) >= RARE and (_DAY.fullmatch(shape) or _COMPACT.fullmatch(shape)):
            starts[found], ranks[found] = _days(same, shape), 0 if shape == "0000-00-00" else -1
        else:
            pairs = [_read(text) or (-1, -1) for text in same]
            starts[found], ranks[found] = np.array(pairs, dtype=np.int64).T
    is_period = np.flatnonzero(starts >= 0)
    return [texts[at] for at in is_period.tolist()], starts[is_period], ranks[is_period]


def _days(texts: Sequence[str], shape: str) -> Days:
    """Return the days of texts of one shape, -1 for one that is in no calendar."""
    columns = [at for at, character in enumerate(shape) if character == "0"][:8]
    days = digits(texts, shape, columns)
    year, month, day = days // 10_000, days // 100 % 100, days % 100
    is_month = (month >= 1) & (month <= 12)
    is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    last = _MONTH_DAYS[np.where(is_month, month, 0)] + (is_leap & (month == 2))
    return np.where((year >= 1) & (day >= 1) & (day <= last), days, -1)


def _read(text: str) -> tuple[int, int] | None:
    """Return the start and rank of the one text, or None."""
    if match := _DAY.fullmatch(text) or _COMPACT.fullmatch(text):
        year, month, day = (int(part) for part in match.groups())
        try:
            datetime.date(year, month, day)
        except ValueError:
            return None
        start = year * 10_000 + month * 100 + day
        return start, 0 if label(start, 0) == text else -1
    for rank, pattern in _PERIODS.items():
        if match := pattern.fullmatch(text):
            parts = {name: int(part) for name, part in match.groupdict().items()}
            month = parts.get("month", 3 * parts.get("quarter", 1) - 2)
            start = parts["year"] * 10_000 + month * 100 + 1
            # refuses month 13, year 0 and a century of 200 years
            real = 1 <= month <= 12 and (parts["year"] or rank > 3) and label(start, rank) == text
            return (start, rank) if real else None
    return None


Problems = list[tuple[str, str]]


@dataclass(frozen=True)
class Dates:
    """Builder: a date lies in its day, month, quarter, year, decade, century, as far as they are requested.

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
        """Return the hierarchy of the values that are dates, or periods of the calendar.

        >>> Dates(("quarter", "decade")).build(["2019-02-29", "2019-03", "2010s"]).texts
        ('*', '2010s', '2019-Q1', '2019-03')
        """
        leaves, starts, ranks = read_periods(sorted(set(values)))
        chosen = [LEVELS.index(level) for level in self.levels]
        nodes = Nodes()
        up = np.zeros(len(starts), dtype=np.intp)
        for rank in reversed(chosen):
            within = np.flatnonzero(ranks <= rank)
            cells, first, which = np.unique(widened(starts[within], rank), return_index=True, return_inverse=True)
            labels = [label(start, rank) for start in cells.tolist()]
            up[within] = nodes.add(labels, _keys(cells, rank), up[within][first])[which]
        is_leaf = np.isin(ranks, chosen, invert=True)
        nodes.add(list(compress(leaves, is_leaf)), _keys(starts, ranks)[is_leaf], up[is_leaf])
        return Hierarchy(*nodes.tree())


def _keys(starts: Days, ranks: int | NDArray[np.int64]) -> Days:
    """Return sort keys: by the first day, and longer periods before shorter ones."""
    return starts * len(LEVELS) * 2 - ranks


def parse_dates(spec: Mapping[str, object], value_type: str) -> tuple[Dates | None, Problems]:
    """Return the builder of `{dates = ["month", "year"]}`, and its problems.

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

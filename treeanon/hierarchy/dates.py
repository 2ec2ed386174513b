"""Hierarchies of dates: calendar periods, and ages of dates of birth.

A text that is a period is read as its first day, the number yyyymmdd, and a rank: the level whose label the text
is, or -1 for a day that is written otherwise. A week stands for its Thursday, as in ISO 8601: it lies in the
month, quarter and year that have its Thursday, since weeks nest in none of them.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from treeanon.builders import BUILDERS
from treeanon.errors import HierarchyError
from treeanon.hierarchy.intervals import width_problem
from treeanon.hierarchy.links import Nodes
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.numbers import RARE, by_shape, digits
from treeanon.hierarchy.ordering import preorder

Days = NDArray[np.int64]
LEVELS = BUILDERS["dates"].parameters[0].choices
_ZONE = r"(?: ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?))?"
_TIME = r"[0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2}(?:[.,][0-9]{1,12})?)?)?" + _ZONE
_DAY = re.compile(rf"([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})(?:[T ]{_TIME})?")
_COMPACT = re.compile(rf"([0-9]{{4}})([0-9]{{2}})([0-9]{{2}})(?:T?{_TIME})?")
WEEK = LEVELS.index("week")
_WEEK = re.compile(r"([0-9]{4})-W([0-9]{2})")
_PERIODS = {
    2: re.compile(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})"),
    3: re.compile(r"(?P<year>[0-9]{4})-Q(?P<quarter>[1-4])"),
    4: re.compile(r"(?P<year>[0-9]{4})"),
    5: re.compile(r"(?P<year>[0-9]{3}0)s"),
    6: re.compile(r"(?P<year>[0-9]{2}00)-[0-9]{2}99"),
}
_LABELS: tuple[Callable[[int, int, int], str], ...] = (
    lambda year, month, day: f"{year:04d}-{month:02d}-{day:02d}",
    lambda year, month, day: "{:04d}-W{:02d}".format(*datetime.date(year, month, day).isocalendar()[:2]),
    lambda year, month, day: f"{year:04d}-{month:02d}",
    lambda year, month, day: f"{year:04d}-Q{(month + 2) // 3}",
    lambda year, month, day: f"{year:04d}",
    lambda year, month, day: f"{year:04d}s",
    lambda year, month, day: f"{year:04d}-{year + 99:04d}",
)
_MONTH_DAYS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def label(start: int, rank: int) -> str:
    """Return the text of the period that starts on this day, or of the week that has it.

    >>> label(20190401, 3), label(20190103, 1)
    ('2019-Q2', '2019-W01')
    """
    return _LABELS[rank](start // 10_000, start // 100 % 100, start % 100)


def widened(starts: Days, rank: int) -> Days:
    """Return the starts of the periods of this rank around the days.

    >>> widened(np.array([20190504]), 3).tolist()
    [20190401]
    """
    if rank == 0:
        return starts
    if rank == WEEK:
        return thursdays(starts)
    if rank == 2:
        return starts // 100 * 100 + 1
    if rank == 3:
        return starts // 10_000 * 10_000 + (starts // 100 % 100 - 1) // 3 * 300 + 101
    years = (1, 10, 100)[rank - 4]
    return starts // (10_000 * years) * (10_000 * years) + 101


def thursdays(starts: Days) -> Days:
    """Return the Thursdays of the weeks that have the days.

    >>> thursdays(np.array([20181231, 20190106, 20190107])).tolist()
    [20190103, 20190103, 20190110]
    """
    days = serial(starts)
    # day 0, the first of 1970, was a Thursday
    return from_serial(days - (days + 3) % 7 + 3)


def from_serial(days: Days) -> Days:
    """Return days since the first of 1970 as numbers yyyymmdd.

    >>> from_serial(np.array([1, -1])).tolist()
    [19700102, 19691231]
    """
    found = days.astype("datetime64[D]")
    month = found.astype("datetime64[M]")
    number = month.astype(np.int64)
    in_month = (found - month.astype("datetime64[D]")).astype(np.int64) + 1
    made: Days = (number // 12 + 1970) * 10_000 + (number % 12 + 1) * 100 + in_month
    return made


def serial(starts: Days) -> Days:
    """Return the days since the first of 1970, which is 0.

    >>> serial(np.array([19700102, 19691231])).tolist()
    [1, -1]
    """
    months = (starts // 10_000 - 1970) * 12 + starts // 100 % 100 - 1
    first: Days = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return first + starts % 100 - 1


def read_periods(texts: Sequence[str]) -> tuple[list[str], Days, NDArray[np.int64]]:
    """Return the texts that are days or periods, in their order, with their starts and ranks.

    >>> read_periods(["2019-13", "2019-12", "20190230", "20190228T10"])
    (['2019-12', '20190228T10'], array([20191201, 20190228]), array([ 2, -1]))
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
    if match := _WEEK.fullmatch(text):
        try:
            thursday = datetime.date.fromisocalendar(int(match[1]), int(match[2]), 4)
        except ValueError:
            return None
        return thursday.year * 10_000 + thursday.month * 100 + thursday.day, WEEK
    for rank, pattern in _PERIODS.items():
        if match := pattern.fullmatch(text):
            parts = {name: int(part) for name, part in match.groupdict().items()}
            month = parts.get("month", 3 * parts.get("quarter", 1) - 2)
            start = parts["year"] * 10_000 + month * 100 + 1
            # refuses month 13, year 0 and a century of 200 years
            real = 1 <= month <= 12 and (parts["year"] or rank > 4) and label(start, rank) == text
            return (start, rank) if real else None
    return None


Problems = list[tuple[str, str]]


@dataclass(frozen=True)
class Dates:
    """Builder: a date lies in its day, week, month, quarter, year, decade, century, as far as they are requested.

    >>> Dates(("month", "year")).build(["2019-03-07", "20190412", "2020"]).texts
    ('*', '2019', '2019-03', '2019-03-07', '2019-04', '20190412', '2020')
    >>> Dates(("week", "year")).build(["2018-12-31"]).texts
    ('*', '2019', '2019-W01', '2018-12-31')
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
        in_weeks = WEEK in chosen
        for rank in reversed(chosen):
            within = np.flatnonzero(ranks <= rank)
            places = _anchors(starts[within], ranks[within]) if in_weeks and rank > WEEK else starts[within]
            cells, first, which = np.unique(widened(places, rank), return_index=True, return_inverse=True)
            labels = [label(start, rank) for start in cells.tolist()]
            up[within] = nodes.add(labels, _keys(cells, rank, in_weeks=in_weeks), up[within][first])[which]
        is_leaf = np.isin(ranks, chosen, invert=True)
        keys = _keys(starts, ranks, in_weeks=in_weeks)[is_leaf]
        nodes.add(list(compress(leaves, is_leaf)), keys, up[is_leaf])
        return Hierarchy(*nodes.tree())

    def labels_among(self, texts: Sequence[str]) -> set[str]:
        """Return those of the texts that are periods of the levels.

        >>> sorted(Dates(("month", "year")).labels_among(["2019", "2019-03", "2019-Q1", "2019-03-04"]))
        ['2019', '2019-03']
        """
        found, _, ranks = read_periods(texts)
        chosen = {LEVELS.index(level) for level in self.levels}
        return {text for text, rank in zip(found, ranks.tolist(), strict=True) if rank in chosen}


def _anchors(starts: Days, ranks: NDArray[np.int64]) -> Days:
    """Return the days by which periods lie in those above, where weeks are a level: of days the Thursdays."""
    return np.where(ranks <= 0, thursdays(starts), starts)


def _keys(starts: Days, ranks: int | NDArray[np.int64], *, in_weeks: bool) -> Days:
    """Return sort keys: by the first day (or the Thursday), longer periods before shorter ones, days in their order."""
    ranks = np.broadcast_to(ranks, starts.shape)
    if not in_weeks:
        return starts * 32 - ranks
    anchors = _anchors(starts, ranks)
    in_week = np.where(ranks <= 0, serial(starts) - serial(anchors) + 3, 0)
    keys: Days = anchors * 32 + 2 * in_week - ranks
    return keys


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


_DAY_TEXT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LABEL = re.compile(r"(0|[1-9][0-9]{0,3})(?:-([1-9][0-9]{0,3}))? years|([1-9][0-9]{0,3})\+ years")
OLDEST = 100_000
"""What stands for no end: no age is as high."""
_MONTHS = {2: 1, 3: 3, 4: 12, 5: 120, 6: 1200}
"""The months of a period, by its rank."""


@dataclass(frozen=True)
class Ages:
    """Builder: a date of birth lies in the years of age on a day, these in ranges; from `top` years on all are one.

    >>> Ages((5, 10), on="2024-06-30", top=90).build(["1987-07-01", "1931"]).texts
    ('*', '30-39 years', '35-39 years', '36 years', '1987-07-01', '90+ years', '1931')
    """

    widths: tuple[int, ...]
    on: str
    top: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", tuple(self.widths))
        problems = _problems(self.widths, self.on, self.top)
        if problems:
            raise HierarchyError("; ".join(f"{key}: {message}" for key, message in problems))

    def build(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of the dates of birth up to the day, whole or in part, and of labels of ages.

        A part of a date lies in the smallest node that has all ages that it may mean.

        >>> Ages((5,), on="2024-06-30").build(["1987", "2024-07"]).texts
        ('*', '35-39 years', '1987')
        """
        texts = sorted(set(values))
        low, high, is_label = self._spans(texts)
        within = np.flatnonzero(low >= 0).tolist()
        number: dict[tuple[int, int], int] = {}
        parents: list[int] = []
        labels, keys, own = [], [], []
        for each in within:
            at = -1
            for span in self._ranges(int(low[each]), int(high[each])):
                found = number.setdefault(span, len(number))
                if found == len(parents):
                    parents.append(at)
                    labels.append(self._label(*span))
                    keys.append((span[0], 0, -span[1], ""))
                at = found
            if not is_label[each]:
                own.append((each, at))
        parents += [at for _, at in own]
        labels += [texts[each] for each, _ in own]
        # the young first, and dates after ranges that begin alike
        keys += [(int(low[each]), 1, 0, texts[each]) for each, _ in own]
        rank = np.empty(len(labels), dtype=np.int64)
        rank[sorted(range(len(labels)), key=keys.__getitem__)] = np.arange(len(labels))
        return Hierarchy(*preorder(labels, np.array(parents, dtype=np.intp), rank))

    def labels_among(self, texts: Sequence[str]) -> set[str]:
        """Return those of the texts that are ages or ranges of them.

        >>> sorted(Ages((5,), on="2024-06-30").labels_among(["36 years", "35-39 years", "36-39 years", "1987"]))
        ['35-39 years', '36 years']
        """
        return {text for text in texts if self._span_of(text) is not None}

    def _spans(self, texts: list[str]) -> tuple[Days, Days, NDArray[np.bool_]]:
        """Return the least and the greatest age of each text, -1 for one that is none, and whether it is a label."""
        low, high = np.full((2, len(texts)), -1, dtype=np.int64)
        is_label = np.zeros(len(texts), dtype=np.bool_)
        place = {text: at for at, text in enumerate(texts)}
        born, starts, ranks = read_periods(texts)
        day = int(self.on.replace("-", ""))
        at = np.array([place[text] for text in born], dtype=np.intp)
        firsts, lasts = _bounds(starts, ranks)
        low[at] = np.maximum(0, (day - lasts) // 10_000)
        high[at] = np.where(firsts <= day, (day - firsts) // 10_000, -1)
        low[high < 0] = -1
        for number, text in enumerate(texts):
            span = self._span_of(text) if text.endswith(" years") else None
            if span is not None:
                low[number], high[number] = span
                is_label[number] = True
        return low, high, is_label

    def _span_of(self, text: str) -> tuple[int, int] | None:
        match = _LABEL.fullmatch(text)
        if match is None:
            return None
        first = int(match[1] or match[3])
        last = OLDEST if match[3] else int(match[2] or first)
        spans = list(self._ranges(first, last))
        return (first, last) if spans and spans[-1] == (first, last) and self._label(first, last) == text else None

    def _ranges(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the ranges that have all of these ages, widest first."""
        top = OLDEST if self.top is None else self.top
        if first >= top and self.top is not None:
            return [(top, OLDEST)]
        found = []
        for width in (*reversed(self.widths), 1):
            start = first // width * width
            end = min(start + width, top) - 1
            if last <= end and (start, end) not in found:
                found.append((start, end))
        return found

    def _label(self, first: int, last: int) -> str:
        if last == OLDEST:
            return f"{first}+ years"
        return f"{first} years" if first == last else f"{first}-{last} years"


def _bounds(starts: Days, ranks: Days) -> tuple[Days, Days]:
    """Return the first and the last day of each period."""
    firsts, lasts = starts.copy(), starts.copy()
    weeks = ranks == WEEK
    firsts[weeks] = from_serial(serial(starts[weeks]) - 3)
    lasts[weeks] = from_serial(serial(starts[weeks]) + 3)
    for rank, length in _MONTHS.items():
        within = ranks == rank
        after = starts[within] // 10_000 * 12 + starts[within] // 100 % 100 - 1 + length
        lasts[within] = from_serial(serial(after // 12 * 10_000 + (after % 12 + 1) * 100 + 1) - 1)
    return firsts, lasts


def parse_ages(spec: Mapping[str, object], value_type: str) -> tuple[Ages | None, Problems]:
    """Return the builder of `{ages = [5, 10], on = "2024-01-01", top = 90}`, and its problems.

    >>> parse_ages({"ages": [5], "on": "2024-02-30"}, "date")
    (None, [('on', 'must be a day in quotes, such as "2024-01-31"')])
    """
    widths, on, top = spec["ages"], spec.get("on"), spec.get("top")
    problems = [] if value_type == "date" else [("ages", 'needs a class of type = "date": the date of birth')]
    problems += _problems(widths, on, top)
    if problems or not isinstance(widths, list | tuple):
        return None, problems
    return Ages(tuple(widths), str(on), top if isinstance(top, int) else None), []


def _problems(widths: object, on: object, top: object) -> Problems:
    problems: Problems = []
    message = width_problem(widths, integer=True)
    if message is None and isinstance(widths, list | tuple) and not all(1 < width <= 1000 for width in widths):
        message = "every width must be from 2 to 1000 years"
    if message:
        problems.append(("ages", message))
    if not isinstance(on, str) or not _DAY_TEXT.fullmatch(on) or not len(read_periods([on])[0]):
        problems.append(("on", 'must be a day in quotes, such as "2024-01-31"'))
    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or not 0 < top < 1000):
        problems.append(("top", "must be a number of years: from there on all ages are one"))
    return problems

"""Hierarchies of dates of birth: the age on a day of reference in whole years, and ranges of years."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treeanon.errors import HierarchyError
from treeanon.hierarchy.dates import WEEK, Days, from_serial, read_periods, serial
from treeanon.hierarchy.intervals import width_problem
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.ordering import preorder

Problems = list[tuple[str, str]]
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
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
    if not isinstance(on, str) or not _DAY.fullmatch(on) or not len(read_periods([on])[0]):
        problems.append(("on", 'must be a day in quotes, such as "2024-01-31"'))
    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or not 0 < top < 1000):
        problems.append(("top", "must be a number of years: from there on all ages are one"))
    return problems

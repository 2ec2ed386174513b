"""Hierarchies of calendar periods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from treeanon.errors import HierarchyError
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.nodes import Nodes
from treeanon.hierarchy.periods import LEVELS, Days, label, read_periods, widened

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
        leaves, starts, ranks = read_periods(sorted(set(values)))
        asked = [LEVELS.index(level) for level in self.levels]
        nodes = Nodes()
        up = np.zeros(len(starts), dtype=np.intp)
        for rank in reversed(asked):
            within = np.flatnonzero(ranks <= rank)
            cells, first, which = np.unique(widened(starts[within], rank), return_index=True, return_inverse=True)
            labels = [label(start, rank) for start in cells.tolist()]
            up[within] = nodes.add(labels, _keys(cells, rank), up[within][first])[which]
        is_leaf = np.isin(ranks, asked, invert=True)
        nodes.add(list(compress(leaves, is_leaf)), _keys(starts, ranks)[is_leaf], up[is_leaf])
        return Hierarchy(*nodes.tree())


def _keys(starts: Days, ranks: int | NDArray[np.int64]) -> Days:
    """What sorts by the first day, and a longer period before a shorter one."""
    return starts * len(LEVELS) * 2 - ranks


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

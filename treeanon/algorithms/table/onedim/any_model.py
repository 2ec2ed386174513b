"""Any models along a one-dimensional order: consecutive runs of rows, each of which satisfies all of them.

G. Ghinita and others (ACM TODS 34(2), 2009) have searches for k-anonymity and frequency ℓ-diversity, which know how
large groups must be. Of other models, of several together, and where persons have several rows, that is not known: here
groups are shown to the checker, and nothing is asked of models but that.

First all rows are cut in two, near the middle, again and again while both halves hold. Then dynamic programming takes
the best of all ways to cut the order into runs that are short and hold, or that the first step has found; so it never
loses more than that, and where all rows are few it is the best of the order. Only some places are tried as ends where
there are many rows. Last, groups that would be published alike are looked at as the one group that readers see.

Also a table's rows in a one-dimensional order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from treeanon.algorithms.table.group_checker import RowGroupChecker
from treeanon.algorithms.table.mondrian import checked_whole
from treeanon.algorithms.table.onedim.costs import Costs
from treeanon.algorithms.table.onedim.orders import Order, ordered
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import Style
from treeanon.algorithms.table.result import Partition, recoded_groups
from treeanon.arrays import Flags, Floats, Ints, Longs, unique_values
from treeanon.errors import GuaranteeError
from treeanon.kernels.table.group_bounds import group_prices
from treeanon.kernels.table.groups import group_numbers
from treeanon.metrics.table.ncp import Form
from treeanon.table import Column, Table

SHORT = 32
"""Runs of so many rows are tried at least, if there is time."""

_TRIES, _TINY = 16, 1e-9
_BATCH, _WORK = 1 << 19, 1 << 24
"""So many rows are shown to the checker at once, and by all runs that are tried."""


@dataclass(frozen=True, eq=False)
class _CheckedLine:
    """Rows in an order; runs of them are told by where they start and end."""

    problem: Problem
    checker: RowGroupChecker
    rows: Longs
    costs: Costs

    def holds(self, starts: Longs, ends: Longs) -> Flags:
        """Return which runs satisfy all models."""
        flags = np.zeros(len(starts), np.bool_)
        for part in _batches(ends - starts):
            numbers, places = _listed(starts[part], ends[part])
            flags[part] = self.checker.holds(numbers, len(starts[part]), self.rows[places])
            self.problem.report_progress(0)
        return flags

    def losses(self, starts: Longs, ends: Longs) -> Floats:
        """Return what all rows of each run lose together."""
        lost = np.zeros(len(starts))
        for part in _batches(ends - starts):
            offsets = np.append(0, np.cumsum(ends[part] - starts[part])).astype(np.int64)
            places = _listed(starts[part], ends[part])[1]
            lost[part] = group_prices(self.costs.cells, offsets, places, self.costs.prices) * np.diff(offsets)
        return lost


def _batches(sizes: Longs) -> Iterator[slice]:
    """Yield parts of runs that have few rows together, or are one."""
    batch = (np.cumsum(sizes) - sizes) // _BATCH
    edges = [*np.flatnonzero(np.diff(batch, prepend=-1)).tolist(), len(sizes)]
    yield from map(slice, edges[:-1], edges[1:])


def _listed(starts: Longs, ends: Longs) -> tuple[Longs, Longs]:
    """Return the number of the run, and the place, of every row of these runs."""
    sizes = ends - starts
    numbers = np.repeat(np.arange(len(starts), dtype=np.int64), sizes)
    return numbers, np.arange(len(numbers)) - np.repeat(np.cumsum(sizes) - sizes - starts, sizes)


def grouped(
    problem: Problem,
    name: str,
    *,
    order: Order,
    form: Form,
    style: Style,
    columns: str | Sequence[str] | None = None,
    bits: int | None = None,
    centers: int | None = None,
) -> Partition:
    """Return groups of rows that follow one another in an order; no row is left out. `name` is that of the search.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.privacy.models import DistinctDiversity
    >>> from treeanon.table import Table
    >>> columns = {"age": (list("1234"), Hierarchy.flat("1234")), "ill": (list("ffaa"), Hierarchy.flat("fa"))}
    >>> problem = Problem(Table.of_texts(columns, roles={"ill": "sensitive"}), (DistinctDiversity(2),))
    >>> grouped(problem, "onedim", order="hilbert", form="taxonomy", style="auto").group.tolist()
    [0, 0, 0, 0]
    """
    table, least = problem.table, least_rows(problem)
    checker = RowGroupChecker(problem)
    checked_whole(problem)
    size = max(2, min(least, len(table)))
    found = ordered(table, order, k=size, form=form, style=style, columns=columns, bits=bits, centers=centers)
    line = _CheckedLine(problem, checker, found.rows, Costs.of(table, found.rows, form, style))
    cuts = np.array([0, len(table)], np.int64)
    if len(table):
        cuts = _published(line, _best(line, _halved(line, least), least), style)
    group = np.empty(len(table), np.int64)
    group[found.rows] = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    gcp = float(line.losses(cuts[:-1], cuts[1:]).sum()) / max(line.costs.cells.size, 1)
    counts = {"order": found.name, "groups": len(cuts) - 1 if len(table) else 0, "gcp": gcp}
    return Partition(name, problem.models, group, 0, counts, style)


def least_rows(problem: Problem) -> int:
    """Return a number of rows that every group has that satisfies the models, as far as they tell."""
    limits = [model.limits for model in problem.models]
    return max((max(one.persons, one.values, ceil(1 / one.share)) for one in limits), default=1)


def _halved(line: _CheckedLine, least: int) -> Longs:
    """Return where runs end that were cut near the middle while both halves held."""
    starts, ends = np.array([0]), np.array([len(line.rows)])
    kept = [starts, ends]
    while len(starts):
        middles = _middles(line, starts, ends, least)
        cut = middles >= 0
        starts, middles, ends = starts[cut], middles[cut], ends[cut]
        kept.append(middles)
        starts, ends = np.concatenate([starts, middles]), np.concatenate([middles, ends])
    return unique_values(np.concatenate(kept)).astype(np.int64)


def _middles(line: _CheckedLine, starts: Longs, ends: Longs, least: int) -> Longs:
    """Return for each run a place near its middle where it can be cut, -1 for none of those tried."""
    sizes = ends - starts
    steps = np.maximum(1, (sizes - 2 * least) // _TRIES)
    middles = np.full(len(starts), -1, np.int64)
    for trial in range(_TRIES + 2):
        away = (trial + 1) // 2 * (1 if trial % 2 else -1)
        at = starts + sizes // 2 + away * steps
        able = (middles < 0) & (at - starts >= least) & (ends - at >= least)
        runs = np.flatnonzero(able)
        runs = runs[line.holds(starts[runs], at[runs])]
        runs = runs[line.holds(at[runs], ends[runs])]
        middles[runs] = at[runs]
    return middles


def _best(line: _CheckedLine, cuts: Longs, least: int) -> Longs:
    """Return the ends of the best runs that are short, or between two cuts that follow one another."""
    starts, ends, places = _candidates(cuts, least)
    held = line.holds(starts, ends)
    starts, ends = np.append(starts[held], cuts[:-1]), np.append(ends[held], cuts[1:])
    lost = line.losses(starts, ends)
    sort = np.argsort(ends, kind="stable")
    starts, ends, lost = starts[sort], ends[sort], lost[sort]
    best = np.full(len(line.rows) + 1, np.inf)
    best[0] = 0.0
    before, groups = np.zeros((2, len(line.rows) + 1), np.int64)
    edges = np.searchsorted(ends, places).tolist()
    for place, low, high in zip(places[1:].tolist(), edges[1:], [*edges[2:], len(ends)], strict=True):
        if low < high:
            sums = best[starts[low:high]] + lost[low:high]
            # Of those that lose the same, the one with the most groups.
            equal = starts[low:high][sums <= sums.min() + _TINY]
            before[place] = equal[groups[equal].argmax()]
            best[place], groups[place] = sums.min(), groups[before[place]] + 1
    found = [len(line.rows)]
    while found[-1]:
        found.append(int(before[found[-1]]))
    return np.array(found[::-1], np.int64)


def _candidates(cuts: Longs, least: int) -> tuple[Longs, Longs, Longs]:
    """Return where short runs start and end that are worth a look, and all places where runs may end."""
    rows = int(cuts[-1])
    longest = min(rows, max(SHORT, 2 * int(np.quantile(np.diff(cuts), 0.75))))
    # Of every place, all runs up to the longest would be looked at: so many rows times half its square.
    step = ceil((rows * longest**2 / 2 / _WORK) ** 0.5)
    places = np.union1d(cuts, np.arange(0, rows, max(step, 1)))
    first = np.searchsorted(places, places + max(least, 1))
    last = np.maximum(np.searchsorted(places, places + longest, side="right"), first)
    start, end = _listed(first, last)
    return places[start], places[end], places


def _published(line: _CheckedLine, cuts: Longs, style: Style) -> Longs:
    """Return the ends after runs were joined until all satisfy the models, and so do those that are published alike.

    Unions of groups need not hold where models are not monotone, or a person is in two of them.
    """
    group = np.empty(len(line.rows), np.int64)
    while len(cuts) > 2:
        numbers = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
        group[line.rows] = numbers
        columns = [column.codes for column in recoded_groups(line.problem.table, group, style).quasi]
        sizes = [int(codes.max(initial=-1)) + 2 for codes in columns]
        places = [np.where(codes < 0, size - 1, codes) for codes, size in zip(columns, sizes, strict=True)]
        alike, count = group_numbers([own.astype(np.int32) for own in places], sizes, len(group))
        fails = ~line.checker.holds(alike.astype(np.int64), count)[alike[line.rows[cuts[:-1]]]]
        fails |= ~line.holds(cuts[:-1], cuts[1:])
        if not fails.any():
            break
        # A run that fails loses its end, the last one its start: there are fewer runs each time.
        gone = np.append(False, fails)
        gone[-2] |= gone[-1]
        gone[[0, -1]] = False
        cuts = cuts[~gone]
    return cuts


@dataclass(frozen=True, eq=False, repr=False)
class Line:
    """A table's rows in a one-dimensional order: the sensitive value of each place, from 0 to count - 1, and costs."""

    rows: Longs
    values: Ints
    count: int
    costs: Costs

    @classmethod
    def of(
        cls,
        table: Table,
        column: Column,
        order: Order,
        columns: str | Sequence[str] | None,
        ell: int,
        form: Form,
        style: Style,
        bits: int | None = None,
        centers: int | None = None,
    ) -> Line:
        """Return the rows of a table in an order, one for groups of ℓ rows if it is of that kind."""
        how = {"bits": bits, "centers": centers}
        rows = ordered(table, order, k=ell, form=form, style=style, columns=columns, **how).rows
        known, values = np.unique(column.codes[rows], return_inverse=True)
        return cls(rows, values.astype(np.int32), len(known), Costs.of(table, rows, form, style))

    @property
    def most(self) -> int:
        """The largest ℓ for which the whole table is ℓ-diverse; 0 without rows."""
        return len(self.values) // int(np.bincount(self.values).max()) if len(self.values) else 0

    def require(self, ell: int) -> None:
        """Raise GuaranteeError where not even the whole table is ℓ-diverse."""
        if len(self.values) and ell > self.most:
            raise GuaranteeError(
                f"one sensitive value has more than 1/{ell} of all rows, so no grouping can be {ell}-diverse; "
                f"the most that can be reached is {self.most}"
            )

    def by_row(self, group: Ints) -> Longs:
        """Return the group of every row, from that of every place."""
        found = np.empty(len(group), np.int64)
        found[self.rows] = group
        return found

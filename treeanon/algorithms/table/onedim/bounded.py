"""The most privacy for which no group loses more than what is allowed: the accuracy-constrained problem as published.

After G. Ghinita, P. Karras, P. Kalnis and N. Mamoulis, "A framework for efficient data anonymization under privacy and
accuracy constraints" (ACM TODS 34(2), 2009), Section 6. The loss of a group is its NCP, the privacy of a release that
of its least private group: its size (k-anonymity), or its size divided by the count of its most frequent sensitive
value, a real number (ℓ-diversity).

`heuristic` goes through the order and fills one group after the other; rows are then moved between each two that follow
one another, while the less private one of them does not lose by it. Where we differ: several orders are tried, and
groups made by cutting all rows in two, at the median, until none loses too much; the most private of all is taken.
`optimal` is for one column: by dynamic programming over what has been taken of each sensitive value. For k-anonymity
dynamic programming over the order is exact and fast, so that both begin with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from treeanon.algorithms.table.onedim.any_model import Line
from treeanon.algorithms.table.onedim.costs import Costs, listed
from treeanon.algorithms.table.onedim.orders import Order, ordered
from treeanon.algorithms.table.registry import Style
from treeanon.arrays import Ints, Longs, unique_values
from treeanon.errors import UsageError
from treeanon.kernels.table.group_bounds import group_prices, split_groups
from treeanon.kernels.table.onedim_accuracy import first_fitting, largest_pieces, most_private
from treeanon.kernels.table.onedim_bounds import adjusted_groups, bounded_groups
from treeanon.kernels.table.onedim_diversity import queues
from treeanon.kernels.table.orders import SETS
from treeanon.metrics.table.ncp import Form
from treeanon.table import Column, Table

TRIED: tuple[Order, ...] = ("adaptive", "lexicographic")
"""The orders of which the best is taken: one more would take more than twice the time of the search for one ℓ."""

_TINY = 1e-9
_TABLED = 1 << 24
"""Counts of so many pairs of a group and a value are put in a table, not sorted."""

_DIFFERENT = 2000
_STATES, _WORK = 20_000_000, 2_000_000_000


@dataclass(frozen=True)
class Bounded:
    """Groups by row, the privacy of the least private one, the greatest NCP of any, and how they were made."""

    group: Longs
    privacy: Fraction
    loss: float
    method: str
    moves: int = 0


def privacy_of(group: Longs | Ints, values: Ints | None) -> Fraction:
    """Return the least privacy of all groups, numbered from 0 on: of sizes alone where there are no values.

    >>> privacy_of(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 0, 1], np.int32)), privacy_of(np.array([0, 0]), None)
    (Fraction(3, 2), Fraction(2, 1))
    """
    if not len(group):
        return Fraction(0)
    sizes = np.bincount(group)
    most = np.ones(len(sizes), np.int64)
    if values is not None:
        count = int(values.max()) + 1
        pairs = group.astype(np.int64) * count + values
        if len(sizes) * count <= _TABLED:
            most = np.bincount(pairs, minlength=len(sizes) * count).reshape(-1, count).max(axis=1)
        else:
            found, counts = np.unique(pairs, return_counts=True)
            most = np.maximum.reduceat(counts, np.flatnonzero(np.diff(found // count, prepend=-1)))
    least = int(np.argmin(sizes / most))
    return Fraction(int(sizes[least]), int(most[least]))


def lines(
    table: Table, column: Column | None, order: Order, columns: str | Sequence[str] | None, form: Form, style: Style
) -> Iterator[tuple[Order, Line]]:
    """Yield the rows in each order that is to be tried, with their sensitive values if a column is given."""
    for name in TRIED if order == "best" else (order,):
        if column is not None:
            yield name, Line.of(table, column, name, columns, 2, form, style)
        else:
            rows = ordered(table, name, form=form, style=style, columns=columns).rows
            yield name, Line(rows, np.zeros(len(rows), np.int32), 1, Costs.of(table, rows, form, style))


def heuristic(
    table: Table,
    column: Column | None,
    max_loss: float,
    order: Order,
    columns: str | Sequence[str] | None,
    form: Form,
    style: Style,
) -> Bounded | None:
    """Return the most private groups found; None where single rows lose more than allowed, before any grouping."""
    best: Bounded | None = None
    for name, line in lines(table, column, order, columns, form, style):
        walked = _walked(line, max_loss) if column is not None else _cut(line, max_loss)
        tried = [_judged(line, *walked, name, max_loss, by_value=column is not None)]
        if best is None:
            tried.append(_split(line, max_loss, by_value=column is not None))
        for one in tried:
            if one is None:
                return None
            if best is None or (one.privacy, -one.loss) > (best.privacy, -best.loss):
                best = one
    return best


def _limit(line: Line, max_loss: float) -> float:
    limit: float = max_loss * line.costs.cells.shape[1] + _TINY
    return limit


def _walked(line: Line, max_loss: float) -> tuple[Ints, int]:
    costs = line.costs
    group, moves = bounded_groups(costs.cells, line.values, line.count, costs.prices, _limit(line, max_loss))
    return group, int(moves)


def _split(line: Line, max_loss: float, *, by_value: bool) -> Bounded | None:
    """Return the groups of the top-down median split; rows move between each two that follow one another."""
    costs, members = line.costs, np.arange(len(line.rows))
    limit, free = _limit(line, max_loss), np.full(line.costs.cells.shape[1], np.inf)
    offsets = split_groups(costs.cells, members, costs.prices, free, len(free), limit)
    if by_value:
        group, moves = adjusted_groups(costs.cells, line.values, line.count, offsets, members, costs.prices, limit)
    else:
        group, moves = np.empty(len(members), np.int32), 0
        group[members] = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    return _judged(line, group, int(moves), "split", max_loss, by_value=by_value)


def _cut(line: Line, max_loss: float) -> tuple[Ints, int]:
    """Return the cut of the order whose smallest group is as large as can be (the k form of the optimum)."""
    rows = len(line.rows)
    first = first_fitting(line.costs.cells, line.costs.prices, _limit(line, max_loss))
    last = np.empty(rows + 1, np.int64)
    low, high = 1, rows
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if largest_pieces(first, middle, last) else (low, middle - 1)
    group = np.zeros(rows, np.int32)
    if largest_pieces(first, max(low, 1), last):
        stop, number = rows, 0
        while stop:
            group[last[stop] : stop] = number
            stop, number = int(last[stop]), number + 1
    return group, 0


def _judged(line: Line, group: Ints, moves: int, method: str, max_loss: float, *, by_value: bool) -> Bounded | None:
    """Return groups with their privacy and loss; None where that is too much: then single rows lose it already."""
    prices = group_prices(line.costs.cells, *listed(group), line.costs.prices) / line.costs.cells.shape[1]
    if prices.max(initial=0) > max_loss + _TINY:
        return None
    privacy = privacy_of(group, line.values if by_value else None)
    return Bounded(line.by_row(group), privacy, float(prices.max(initial=0)), method, moves)


def sorted_line(table: Table, column: Column | None, form: Form, style: Style) -> Line:
    """Return the rows sorted by the only quasi column; UsageError where there are several, or sets are published."""
    costs = Costs.of(table, np.arange(len(table)), form, style)
    if costs.cells.shape[1] != 1 or costs.prices.kinds[0] == SETS:
        raise UsageError("the optimum for a bound of every group is for one quasi column, of ranges or nodes")
    rows = np.argsort(costs.cells[:, 0], kind="stable")
    values, count = np.zeros(len(rows), np.int32), 1
    if column is not None:
        known, of = np.unique(column.codes[rows], return_inverse=True)
        values, count = of.astype(np.int32), len(known)
    return Line(rows, values, count, Costs(costs.cells[rows], costs.prices))


def optimal(table: Table, column: Column | None, max_loss: float, form: Form, style: Style) -> Bounded | None:
    """Return the most private groups of one column; None where single rows lose more than allowed."""
    line = sorted_line(table, column, form, style)
    group = _cut(line, max_loss)[0] if column is None else private_groups(line, max_loss)
    return None if group is None else _judged(line, group, 0, "optimal", max_loss, by_value=column is not None)


def private_groups(line: Line, max_loss: float) -> Ints | None:
    """Return the group of every place in the optimum for one column; None where there is none.

    UsageError where that would take too long.
    """
    sizes = np.bincount(line.values, minlength=line.count)
    states = prod(size + 1 for size in sizes.tolist())
    first = first_fitting(line.costs.cells, line.costs.prices, _limit(line, max_loss))
    reach = np.searchsorted(first, np.arange(len(first)), side="right") - 1
    if states > _STATES or states * _most_choices(line, reach) > _WORK:
        raise UsageError(
            f"the optimal search is for small tables with few sensitive values: {len(line.values):,} rows with "
            f"{line.count:,} values are too many; ask for the method heuristic"
        )
    starts, places = queues(line.values, line.count)
    over, _under, before = most_private(starts, places, reach)
    if len(line.values) and not over[-1]:
        return None
    return _traced(starts, places, before)


def least_bound(line: Line, ell: int) -> tuple[Ints, float]:
    """Return the ℓ-diverse groups of every place with the least greatest NCP for one column, and that NCP.

    The direct problem by the dual, as published (Section 5.2): the least bound for which the most private groups are
    ℓ-diverse, by halves over all losses that a group can have. There are such groups where all rows are ℓ-diverse.
    """
    places = np.flatnonzero(np.diff(line.costs.cells[:, 0], prepend=-2))
    if len(places) > _DIFFERENT:
        raise UsageError(
            f"the dual search is for at most {_DIFFERENT:,} different values; ask for the method heuristic"
        )
    low_ends, high_ends = np.triu_indices(len(places))
    members = np.stack([places[low_ends], places[high_ends]], axis=1).ravel().astype(np.int64)
    offsets = np.arange(0, len(members) + 1, 2)
    allowed = unique_values(group_prices(line.costs.cells, offsets, members, line.costs.prices))
    # With the greatest of them, all rows may be one group.
    low, high = 0, len(allowed) - 2
    best, step = np.zeros(len(line.rows), np.int32), 1
    while low <= high:
        # From below in growing steps first: a wide bound takes much longer than a narrow one.
        middle = min((low + high) // 2, low + step - 1)
        step *= 2
        group = private_groups(line, float(allowed[middle]))
        if group is not None and privacy_of(group, line.values) >= ell:
            best, high = group, middle - 1
        else:
            low = middle + 1
    return best, float(group_prices(line.costs.cells, *listed(best), line.costs.prices).max(initial=0))


def _most_choices(line: Line, reach: Longs) -> int:
    """Return how many ways there are at most to choose a group that begins at one place."""
    held = np.zeros((len(reach) + 1, line.count), np.int64)
    held[np.arange(1, len(reach) + 1), line.values] = 1
    held = held.cumsum(axis=0)
    inside = held[reach + 1] - held[np.arange(len(reach))]
    return int(np.prod(inside + 1.0, axis=1).max(initial=1))


def _traced(starts: Longs, places: Longs, before: Longs) -> Ints:
    """Return the group of every place, from the states that follow one another."""
    sizes = np.diff(starts) + 1
    step = np.append(1, np.cumprod(sizes))
    group = np.zeros(len(places), np.int32)
    state, number = len(before) - 1, 0
    while state:
        earlier = int(before[state])
        for v in range(len(sizes)):
            low, high = (at % step[v + 1] // step[v] for at in (earlier, state))
            group[places[starts[v] + low : starts[v] + high]] = number
        state, number = earlier, number + 1
    return group

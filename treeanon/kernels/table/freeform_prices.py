"""What published tuples cost when they cover several rows, and what it costs to cover one more.

The costs of a column are those of `Scales`, in kernels/adaptive.py; missing values are negative, and `mixed` is what a
column costs where some of the values are missing and others are not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treeanon.arrays import Floats, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.table.orders import NODES, RANGES


class Prices(NamedTuple):
    """The values of rows, and what sets of them cost.

    values[r, c] is the value of row r in column c. Every column's distinct values are numbered, one column after the
    other: held[bounds[c]:bounds[c + 1]] are those of column c, and cells[r, c] is the number of row r's.
    """

    values: Ints
    cells: Ints
    held: Ints
    bounds: Longs
    kinds: Longs
    starts: Longs
    shares: Floats
    parent: Ints
    end: Ints
    mixed: Floats


@njit
def _column_cost(prices: Prices, c: int, rows: Ints, count: int) -> float:
    """Return what the first `count` of the rows cost in a column."""
    values, at = prices.values, prices.starts[c]
    low, high, missing, distinct = np.int32(-1), np.int32(-1), False, 0
    for i in range(count):
        value = values[rows[i], c]
        if value < 0:
            missing = True
        elif high < 0:
            low, high, distinct = value, value, 1
        elif prices.kinds[c] == RANGES:
            low, high = min(low, value), max(high, value)
        elif prices.kinds[c] == NODES:
            while value < low or value >= prices.end[at + low]:
                low = prices.parent[at + low]
        else:
            is_new = 1
            for j in range(i):
                if values[rows[j], c] == value:
                    is_new = 0
            distinct += is_new
    if high < 0:
        return 0.0
    if missing:
        return float(prices.mixed[c])
    if prices.kinds[c] == RANGES:
        return float(prices.shares[at + high] - prices.shares[at + low])
    if prices.kinds[c] == NODES:
        return float(prices.shares[at + low])
    return float((distinct - 1) * prices.shares[at])


@njit
def rows_cost(prices: Prices, rows: Ints, count: int) -> float:
    """Return what a tuple that covers the first `count` of the rows costs: the NCP of all columns."""
    cost = 0.0
    for c in range(len(prices.kinds)):
        cost += _column_cost(prices, c, rows, count)
    return cost


@njit
def tuple_costs(prices: Prices, edges: Ints) -> Floats:
    """Return what every published tuple costs that covers the rows of edges[j]."""
    out = np.empty(len(edges), np.float64)
    for j in range(len(edges)):
        out[j] = rows_cost(prices, edges[j], edges.shape[1])
    return out


@njit
def _add_range_steps(prices: Prices, c: int, rows: Ints, count: int, steps: Floats) -> None:
    low, high, missing = np.int32(-1), np.int32(-1), False
    for i in range(count):
        value = prices.values[rows[i], c]
        if value < 0:
            missing = True
        else:
            low = value if high < 0 else min(low, value)
            high = max(high, value)
    at, mixed = prices.starts[c], prices.mixed[c]
    if high < 0:
        for v in range(prices.bounds[c], prices.bounds[c + 1]):
            steps[v] = mixed if prices.held[v] >= 0 else 0.0
        return
    now = mixed if missing else prices.shares[at + high] - prices.shares[at + low]
    for v in range(prices.bounds[c], prices.bounds[c + 1]):
        value = prices.held[v]
        if missing or value < 0:
            steps[v] = mixed - now
        else:
            steps[v] = prices.shares[at + max(high, value)] - prices.shares[at + min(low, value)] - now


@njit
def _add_node_steps(prices: Prices, c: int, rows: Ints, count: int, steps: Floats) -> None:
    above, missing, at = np.int32(-1), False, prices.starts[c]
    for i in range(count):
        value = prices.values[rows[i], c]
        if value < 0:
            missing = True
        elif above < 0:
            above = value
        else:
            while value < above or value >= prices.end[at + above]:
                above = prices.parent[at + above]
    mixed = prices.mixed[c]
    now = 0.0 if above < 0 else mixed if missing else prices.shares[at + above]
    for v in range(prices.bounds[c], prices.bounds[c + 1]):
        value = prices.held[v]
        if above < 0:
            steps[v] = mixed if value >= 0 else 0.0
        elif missing or value < 0:
            steps[v] = mixed - now
        else:
            node = above
            while value < node or value >= prices.end[at + node]:
                node = prices.parent[at + node]
            steps[v] = prices.shares[at + node] - now


@njit
def _add_set_steps(prices: Prices, c: int, rows: Ints, count: int, steps: Floats) -> None:
    # What it costs now matters only beside missing values, which come first.
    now = _column_cost(prices, c, rows, count) if prices.held[prices.bounds[c]] < 0 else 0.0
    known, missing = 0, False
    for i in range(count):
        if prices.values[rows[i], c] < 0:
            missing = True
        else:
            known += 1
    mixed, step = prices.mixed[c], prices.shares[prices.starts[c]]
    for v in range(prices.bounds[c], prices.bounds[c + 1]):
        is_missing = prices.held[v] < 0
        if known == 0:
            steps[v] = 0.0 if is_missing else mixed
        elif missing or is_missing:
            steps[v] = mixed - now
        else:
            steps[v] = step
    for i in range(count):
        steps[prices.cells[rows[i], c]] = 0.0


@njit
def fill_column_steps(prices: Prices, c: int, rows: Ints, count: int, steps: Floats) -> None:
    """What `fill_steps` says, of the values of one column."""
    if prices.kinds[c] == RANGES:
        _add_range_steps(prices, c, rows, count, steps)
    elif prices.kinds[c] == NODES:
        _add_node_steps(prices, c, rows, count, steps)
    else:
        _add_set_steps(prices, c, rows, count, steps)


@njit
def fill_steps(prices: Prices, rows: Ints, count: int, steps: Floats) -> None:
    """What it costs a tuple that covers the first `count` of the rows, at least one, to cover a value more.

    steps[v] is that of value number v; a row costs what its values do together.
    """
    for c in range(len(prices.kinds)):
        fill_column_steps(prices, c, rows, count, steps)

"""Columns of ordered values as Mondrian sees them, and what a group of rows loses in each.

Values are ranks from 0 on, dense in a column. `data` has a line per row: a rank for each column, then the rank of the
row's sensitive value, then the row's number; rows are moved about whole, so that a group lies in one piece.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.sorting import sort

UNIT = 1 << 20
"""The loss of a value that says nothing. Losses are whole numbers: sums do not depend on the order of columns."""

RANGES, NODES, SETS = 0, 1, 2
"""How a column is published: from the least value to the greatest, by a node above all, or as the values themselves."""


class Shape(NamedTuple):
    """What is known of the columns; what is of values lies at offset[c] + rank.

    `place` says of RANGES where a value lies in the whole range, of NODES what it loses by itself. jump[0] says of
    NODES what the node above a value and the one before it loses, jump[b] the most of 2**b such in a row. `steps` is
    how many values there can be, less one; `missing` whether rank 0 is a missing value. `unit` is what a value loses
    that says nothing: UNIT, or less in columns of less weight.
    """

    kind: Ints
    offset: Longs
    place: Ints
    jump: Ints
    steps: Longs
    missing: Flags
    unit: Longs


@njit
def loss_of(shape: Shape, c: int, low: int, high: int, held: int) -> int:
    """Return what a group loses in a column of which it has `held` different values from `low` to `high`."""
    at = shape.offset[c]
    kind = shape.kind[c]
    if low == high:
        return int(shape.place[at + low]) if kind == NODES else 0
    if kind == NODES:
        return highest(shape, c, low, high)
    if shape.missing[c] and low == 0:
        return int(shape.unit[c])
    if kind == RANGES:
        return int(shape.place[at + high] - shape.place[at + low])
    return (held - 1) * int(shape.unit[c]) // int(shape.steps[c])


@njit
def highest(shape: Shape, c: int, low: int, high: int) -> int:
    """Return the loss of the node above all values from `low` to `high`, of which there are at least two."""
    bit = 0
    while 2 << bit <= high - low:
        bit += 1
    at = shape.offset[c]
    return int(max(shape.jump[bit, at + low + 1], shape.jump[bit, at + high + 1 - (1 << bit)]))


_BLOCK = 256


class Spread(NamedTuple):
    """Work space: the different values of a group in each column, ascending, and how many rows have each."""

    values: Ints
    sizes: Longs
    held: Longs
    low: Longs
    high: Longs
    counts: Longs


@njit
def new_spread(shape: Shape, rows: int) -> Spread:
    """Return work space for groups of so many rows."""
    columns, widest = len(shape.kind), 1
    for c in range(columns):
        widest = max(widest, min(rows, shape.offset[c + 1] - shape.offset[c]))
    values, sizes = np.zeros((columns, widest), np.int32), np.zeros((columns, widest), np.int64)
    held, low, high = np.zeros(columns, np.int64), np.zeros(columns, np.int64), np.zeros(columns, np.int64)
    return Spread(values, sizes, held, low, high, np.zeros(shape.offset[-1], np.int64))


@njit
def find_ends(data: Ints, start: int, end: int, spread: Spread) -> None:
    """Find the least and the greatest value of the rows start:end in each column."""
    columns = len(spread.low)
    for c in range(columns):
        spread.low[c] = spread.high[c] = data[start, c]
    # Block by block, so that the columns find the rows in the cache.
    for block in range(start, end, _BLOCK):
        until = min(block + _BLOCK, end)
        for c in range(columns):
            low = high = data[block, c]
            for r in range(block, until):
                low = min(low, data[r, c])
                high = max(high, data[r, c])
            spread.low[c] = min(spread.low[c], low)
            spread.high[c] = max(spread.high[c], high)


@njit
def spread_out(data: Ints, start: int, end: int, c: int, shape: Shape, spread: Spread) -> None:
    """Find the different values of the rows start:end in a column, whose ends are found already."""
    if spread.high[c] == spread.low[c]:
        spread.values[c, 0], spread.sizes[c, 0], spread.held[c] = spread.low[c], end - start, 1
        return
    if spread.high[c] - spread.low[c] >= 4 * (end - start):
        _sort_out(data[start:end, c], c, spread)
        return
    at, counts = shape.offset[c], spread.counts
    for r in range(start, end):
        counts[at + data[r, c]] += 1
    _collect(c, at, spread)


@njit
def _collect(c: int, at: int, spread: Spread) -> None:
    """The values that were counted; the counts are left at 0."""
    found = 0
    for v in range(spread.low[c], spread.high[c] + 1):
        size = spread.counts[at + v]
        if size:
            spread.values[c, found] = v
            spread.sizes[c, found] = size
            spread.counts[at + v] = 0
            found += 1
    spread.held[c] = found


@njit
def _sort_out(column: Ints, c: int, spread: Spread) -> None:
    """The values of few rows in a wide range."""
    found = -1
    before = -1
    ordered = column.copy()
    sort(ordered, 0, len(ordered))
    for v in ordered:
        if v != before:
            found += 1
            before = v
            spread.values[c, found] = v
            spread.sizes[c, found] = 0
        spread.sizes[c, found] += 1
    spread.held[c] = found + 1


@njit
def width_of(shape: Shape, c: int, spread: Spread) -> int:
    """Return what the group loses in a column, as long as it is not divided."""
    return loss_of(shape, c, spread.low[c], spread.high[c], spread.held[c])

"""What small groups of rows lose, and rows that change places between groups so that less is lost.

`cells[p, c]` says which value the row at place p has in column c: a node of a hierarchy in preorder, or a rank; it is
negative for a missing value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.table.orders import NODES, RANGES, SETS

_TINY = 1e-9
"""What rounding may pretend to gain: less than that is no reason to swap."""


class Prices(NamedTuple):
    """What values lose, by column, as in `Scales`; `mixed` is for what is missing among others."""

    kinds: Longs
    starts: Longs
    shares: Floats
    parent: Ints
    end: Ints
    mixed: Floats


@njit
def is_new(cells: Ints, place: int, c: int, members: Longs, start: int, stop: int, out: int) -> int:
    """1 if none of members[start:stop], but for the one at index `out`, has the same cell in a column; else 0."""
    for i in range(start, stop):
        if i != out and cells[members[i], c] == cells[place, c]:
            return 0
    return 1


@njit
def clear(box: Ints) -> None:
    """Make the box that of no row.

    A box has four rows with an entry a column: the least and the greatest cell, the number of different ones (of
    SETS), and whether one is missing.
    """
    box[0], box[1], box[2], box[3] = 2147483647, -1, 0, 0


@njit
def grow(cells: Ints, place: int, box: Ints, members: Longs, start: int, stop: int, out: int, p: Prices) -> None:
    """Make the box of members[start:stop], without the one at index `out`, that of one more row."""
    for c in range(cells.shape[1]):
        cell = cells[place, c]
        if cell < 0:
            box[3, c] = 1
            continue
        if p.kinds[c] == SETS:
            box[2, c] += is_new(cells, place, c, members, start, stop, out)
        box[0, c] = min(box[0, c], cell)
        box[1, c] = max(box[1, c], cell)


@njit
def box_of(cells: Ints, box: Ints, members: Longs, start: int, stop: int, out: int, p: Prices) -> None:
    """Make the box that of members[start:stop] without the one at index `out`."""
    clear(box)
    for i in range(start, stop):
        if i != out:
            grow(cells, members[i], box, members, start, i, out, p)


@njit
def column_price(c: int, low: int, high: int, different: int, p: Prices) -> float:
    """Return the price of cells in one column of which none is missing."""
    base = p.starts[c]
    if p.kinds[c] == NODES:
        while p.end[base + low] <= high:
            low = p.parent[base + low]
    price: float = p.shares[base + low]
    if p.kinds[c] == RANGES:
        price = p.shares[base + high] - price
    elif p.kinds[c] == SETS:
        price = (different - 1) * p.shares[base]
    return price


@njit
def price_of(box: Ints | Longs, p: Prices) -> float:
    """Return what each row of a box loses, added up over the columns."""
    total = 0.0
    for c in range(box.shape[1]):
        if box[1, c] < 0:
            continue
        total += p.mixed[c] if box[3, c] > 0 else column_price(c, box[0, c], box[1, c], box[2, c], p)
    return total


@njit
def price_with(
    cells: Ints, place: int, box: Ints, members: Longs, start: int, stop: int, out: int, p: Prices, limit: float
) -> float:
    """Return the price of the box of members[start:stop], without the one at index `out`, and of one more row.

    Infinite where it is not below the limit.
    """
    total = 0.0
    for c in range(cells.shape[1]):
        cell = cells[place, c]
        if cell < 0 and box[1, c] < 0:
            continue
        if cell < 0 or box[3, c] > 0:
            total += p.mixed[c]
            continue
        different = box[2, c]
        if p.kinds[c] == SETS:
            different += is_new(cells, place, c, members, start, stop, out)
        # As in column_price: a call for every column would take several times as long.
        low, high, base = min(box[0, c], cell), max(box[1, c], cell), p.starts[c]
        if p.kinds[c] == RANGES:
            total += p.shares[base + high] - p.shares[base + low]
        elif p.kinds[c] == SETS:
            total += (different - 1) * p.shares[base]
        else:
            while p.end[base + low] <= high:
                low = p.parent[base + low]
            total += p.shares[base + low]
        if total >= limit:
            return np.inf
    return total


@njit
def partition_price(cells: Ints, offsets: Longs, members: Longs, p: Prices) -> float:
    """Return what all rows lose, added up: group g has members[offsets[g]:offsets[g + 1]]."""
    total = 0.0
    box = np.empty((4, cells.shape[1]), np.int32)
    for g in range(len(offsets) - 1):
        box_of(cells, box, members, offsets[g], offsets[g + 1], -1, p)
        total += (offsets[g + 1] - offsets[g]) * price_of(box, p)
    return total


@njit
def _measure(
    cells: Ints, offsets: Longs, members: Longs, g: int, price: Floats, gain: Floats, boxes: Ints, p: Prices
) -> None:
    """The price of a group, and for each of its members the box without it and by how much that loses less."""
    box = boxes[len(members)]
    box_of(cells, box, members, offsets[g], offsets[g + 1], -1, p)
    price[g] = price_of(box, p)
    for i in range(offsets[g], offsets[g + 1]):
        box_of(cells, boxes[i], members, offsets[g], offsets[g + 1], i, p)
        gain[i] = price[g] - price_of(boxes[i], p)


@njit
def _swap_best(
    cells: Ints,
    values: Ints,
    offsets: Longs,
    members: Longs,
    g: int,
    h: int,
    price: Floats,
    gain: Floats,
    boxes: Ints,
    p: Prices,
    within: Flags,
) -> bool:
    """Swap the rows of two groups by which most is gained, if anything is; values stay different in both.

    `within[0]` and `within[1]` say which values the groups have.
    """
    begin_g, end_g, begin_h, end_h = offsets[g], offsets[g + 1], offsets[h], offsets[h + 1]
    size_g, size_h = end_g - begin_g, end_h - begin_h
    best, best_i, best_j = -_TINY, -1, -1
    for i in range(begin_g, end_g):
        own = values[members[i]]
        for j in range(begin_h, end_h):
            # Prices of the groups without the two rows are what they can come down to.
            change = -size_g * gain[i] - size_h * gain[j]
            if change >= best:
                continue
            other = values[members[j]]
            # A value must not come twice into a group; rows of one value may always change places.
            if own != other and (within[1, own] or within[0, other]):
                continue
            # The price is only needed while the swap can still beat the best one: beyond the limit it is infinite.
            bare = price[g] - gain[i]
            limit = bare + (best - change) / size_g
            change += size_g * (price_with(cells, members[j], boxes[i], members, begin_g, end_g, i, p, limit) - bare)
            if change >= best:
                continue
            bare = price[h] - gain[j]
            limit = bare + (best - change) / size_h
            change += size_h * (price_with(cells, members[i], boxes[j], members, begin_h, end_h, j, p, limit) - bare)
            if change < best:
                best, best_i, best_j = change, i, j
    if best_i < 0:
        return False
    a, b = values[members[best_i]], values[members[best_j]]
    within[0, a] = within[1, b] = False
    within[0, b] = within[1, a] = True
    members[best_i], members[best_j] = members[best_j], members[best_i]
    return True


@njit
def look_back(
    cells: Ints, values: Ints, count: int, offsets: Longs, members: Longs, window: int, rounds: int, p: Prices
) -> int:
    """Swap rows of each group with rows of up to `window` groups before it while less is lost; return how often.

    Changes `members`. No group changes its size, and the values in each stay different.
    """
    groups = len(offsets) - 1
    price = np.empty(groups)
    gain = np.empty(len(members))
    boxes = np.empty((len(members) + 1, 4, cells.shape[1]), np.int32)
    within = np.zeros((2, count), np.bool_)
    for g in range(groups):
        _measure(cells, offsets, members, g, price, gain, boxes, p)
    swaps = 0
    for _round in range(rounds):
        # Rounds go on until one of them swaps nothing.
        before = swaps
        for g in range(1, groups):
            _mark(values, offsets, members, g, within[0], True)
            for h in range(max(0, g - window), g):
                if price[g] == 0 and price[h] == 0:
                    continue
                _mark(values, offsets, members, h, within[1], True)
                while _swap_best(cells, values, offsets, members, g, h, price, gain, boxes, p, within):
                    swaps += 1
                    _measure(cells, offsets, members, g, price, gain, boxes, p)
                    _measure(cells, offsets, members, h, price, gain, boxes, p)
                _mark(values, offsets, members, h, within[1], False)
            _mark(values, offsets, members, g, within[0], False)
        if swaps == before:
            break
    return swaps


@njit
def _mark(values: Ints, offsets: Longs, members: Longs, g: int, within: Flags, flag: bool) -> None:
    for i in range(offsets[g], offsets[g + 1]):
        within[values[members[i]]] = flag

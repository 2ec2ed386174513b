"""Groups that keep bounds: which do, how those that do not are divided, and which rows may join which.

`cells[p, c]` says which value the row at place p has in column c, as in `onedim_diversity_loss`. Every grouping search
is held to its bounds by this, and the accuracy-constrained problem begins with such groups.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.table.onedim_bounds import clear_box, grow, pair_of
from treeanon.kernels.table.onedim_diversity_loss import Prices, column_price, price_of
from treeanon.kernels.table.orders import RANGES, SETS


@njit
def _span_price(cells: Ints, members: Longs, start: int, stop: int, c: int, seen: Longs, mark: int, p: Prices) -> float:
    """Return what one column of members[start:stop] loses; -1 where all have the same cell, so that it splits none."""
    low, high, different, missing = 2147483647, -1, 0, 0
    for i in range(start, stop):
        cell = cells[members[i], c]
        if cell < 0:
            missing += 1
            continue
        if p.kinds[c] == SETS and seen[p.starts[c] + cell] != mark:
            seen[p.starts[c] + cell] = mark
            different += 1
        low, high = min(low, cell), max(high, cell)
    if high < 0:
        return -1.0
    if missing:
        return float(p.mixed[c])
    price = column_price(c, low, high, different, p)
    return -1.0 - price if low == high else price


@njit
def split_groups(cells: Ints, members: Longs, p: Prices, limits: Floats, counted: int, limit: float) -> Longs:
    """Sort the members into groups, each cut in two near the middle of the column that loses most (of those whose own
    limit is passed, if there are any) until each column keeps its own limit, and all `counted` together, the first
    ones, one; return where the groups begin, and their end.

    Where a single cell is above a limit already, its rows stay a group.
    """
    rows, columns = len(members), cells.shape[1]
    starts = np.zeros(rows + 1, np.int64)
    found = 0
    todo = np.zeros((rows + 2, 2), np.int64)
    todo[0, 1], waiting = rows, 1
    seen = np.full(len(p.shares), -1, np.int64)
    mark = 0
    while waiting > 0:
        waiting -= 1
        start, stop = int(todo[waiting, 0]), int(todo[waiting, 1])
        if start == stop:
            continue
        mark += 1
        total, is_over, best, widest = 0.0, False, -1.0, -1
        for c in range(columns):
            price = _span_price(cells, members, start, stop, c, seen, mark, p)
            own = max(price, -1.0 - price, 0.0)
            total += own if c < counted else 0.0
            over = own > limits[c]
            is_over |= over
            weight = columns + 1.0 + price / limits[c] if over else price if c < counted else 0.0
            if price >= 0 and weight > best:
                best, widest = weight, c
        if (not is_over and total <= limit) or widest < 0:
            starts[found] = start
            found += 1
            continue
        middle = _cut(cells[:, widest], members, start, stop)
        todo[waiting, 0], todo[waiting, 1] = middle, stop
        todo[waiting + 1, 0], todo[waiting + 1, 1] = start, middle
        waiting += 2
    starts[found] = rows
    return starts[: found + 1]


@njit
def _cut(column: Ints, members: Longs, start: int, stop: int) -> int:
    """Sort members[start:stop] by a column and return where to cut them: as near to the middle as equal cells allow."""
    own = members[start:stop].copy()
    keys = np.empty(len(own), np.int64)
    for i in range(len(own)):
        keys[i] = np.int64(column[own[i]]) * (stop - start) + i
    order = np.argsort(keys)
    for i in range(len(own)):
        members[start + i] = own[order[i]]
    middle = (start + stop) // 2
    below, above = middle, middle
    while below > start and column[members[below - 1]] == column[members[below]]:
        below -= 1
    while above < stop and column[members[above - 1]] == column[members[above]]:
        above += 1
    if below == start or (above < stop and above - middle < middle - below):
        return above
    return below


@njit
def fitting_groups(
    cells: Ints, offsets: Longs, members: Longs, p: Prices, limits: Floats, counted: int, limit: float
) -> Flags:
    """Return which groups keep the limit of every column, and all counted columns together theirs."""
    pair = pair_of(1, 1, cells.shape[1], len(p.shares))
    out = np.ones(len(offsets) - 1, np.bool_)
    for g in range(len(out)):
        clear_box(pair, 0)
        for i in range(offsets[g], offsets[g + 1]):
            grow(cells, members[i], pair, 0, p)
        out[g] = _fits(pair.box[0], p, limits, counted, limit)
        for i in range(offsets[g], offsets[g + 1]):
            for c in range(cells.shape[1]):
                if p.kinds[c] == SETS and cells[members[i], c] >= 0:
                    pair.held[0, p.starts[c] + cells[members[i], c]] = 0
    return out


@njit
def _fits(box: Longs, p: Prices, limits: Floats, counted: int, limit: float) -> bool:
    total = 0.0
    for c in range(box.shape[1]):
        if box[1, c] < 0:
            continue
        price = p.mixed[c] if box[3, c] > 0 else column_price(c, box[0, c], box[1, c], box[2, c], p)
        total += price if c < counted else 0.0
        if price > limits[c] or total > limit:
            return False
    return True


@njit
def join_groups(
    cells: Ints, offsets: Longs, members: Longs, p: Prices, limits: Floats, counted: int, limit: float, lost: Longs
) -> Longs:
    """Return for each row of `lost` the group that it can join within the limits at the least loss; -1 for none."""
    groups, columns = len(offsets) - 1, cells.shape[1]
    boxes = np.empty((groups, 4, columns), np.int64)
    for g in range(groups):
        boxes[g, 0], boxes[g, 1], boxes[g, 2], boxes[g, 3] = 2147483647, -1, 0, 0
        for i in range(offsets[g], offsets[g + 1]):
            _add(cells, members[i], boxes[g], members, offsets[g], i, p)
    out = np.full(len(lost), -1, np.int64)
    wider = np.empty((4, columns), np.int64)
    for j in range(len(lost)):
        best = np.inf
        for g in range(groups):
            if not _may_join(cells, lost[j], boxes[g], p, limits):
                continue
            wider[:] = boxes[g]
            _add(cells, lost[j], wider, members, offsets[g], offsets[g + 1], p)
            price = price_of(wider[:, :counted], p)
            if price < best and _fits(wider, p, limits, counted, limit):
                best, out[j] = price, g
        if out[j] >= 0:
            g = out[j]
            _add(cells, lost[j], boxes[g], members, offsets[g], offsets[g + 1], p)
    return out


@njit
def grown_group(
    cells: Ints, seed: Longs, others: Longs, p: Prices, limits: Floats, counted: int, limit: float, need: int
) -> Longs:
    """Return the rows of `seed` and as many of `others` as make them `need` rows, each the one by which a group that
    keeps the limits loses least; fewer where no more do.
    """
    rows, columns = len(seed), cells.shape[1]
    members = np.empty(max(need, rows), np.int64)
    members[:rows] = seed
    box, wider = np.empty((4, columns), np.int64), np.empty((4, columns), np.int64)
    box[0], box[1], box[2], box[3] = 2147483647, -1, 0, 0
    for i in range(rows):
        _add(cells, seed[i], box, members, 0, i, p)
    is_in = np.zeros(len(others), np.bool_)
    while rows < need:
        best, chosen = np.inf, -1
        for j in range(len(others)):
            if is_in[j] or not _may_join(cells, others[j], box, p, limits):
                continue
            wider[:] = box
            _add(cells, others[j], wider, members, 0, rows, p)
            price = price_of(wider, p)
            if price < best and _fits(wider, p, limits, counted, limit):
                best, chosen = price, j
        if chosen < 0:
            break
        is_in[chosen] = True
        _add(cells, others[chosen], box, members, 0, rows, p)
        members[rows] = others[chosen]
        rows += 1
    return members[:rows]


@njit
def _may_join(cells: Ints, place: int, box: Longs, p: Prices, limits: Floats) -> bool:
    for c in range(cells.shape[1]):
        if p.kinds[c] == RANGES and limits[c] < np.inf and cells[place, c] >= 0 and box[1, c] >= 0:
            low, high = min(box[0, c], cells[place, c]), max(box[1, c], cells[place, c])
            if p.shares[p.starts[c] + high] - p.shares[p.starts[c] + low] > limits[c]:
                return False
    return True


@njit
def _add(cells: Ints, place: int, box: Longs, members: Longs, start: int, stop: int, p: Prices) -> None:
    """Make the box of members[start:stop] that of one more row."""
    for c in range(cells.shape[1]):
        cell = cells[place, c]
        if cell < 0:
            box[3, c] += 1
            continue
        if p.kinds[c] == SETS:
            is_new = 1
            for i in range(start, stop):
                if cells[members[i], c] == cell:
                    is_new = 0
                    break
            box[2, c] += is_new
        box[0, c], box[1, c] = min(box[0, c], cell), max(box[1, c], cell)


@njit
def group_prices(cells: Ints, offsets: Longs, members: Longs, p: Prices) -> Floats:
    """Return what each row of every group loses, added up over the columns."""
    pair = pair_of(1, 1, cells.shape[1], len(p.shares))
    out = np.empty(len(offsets) - 1)
    for g in range(len(out)):
        clear_box(pair, 0)
        for i in range(offsets[g], offsets[g + 1]):
            grow(cells, members[i], pair, 0, p)
        out[g] = price_of(pair.box[0], p)
        for i in range(offsets[g], offsets[g + 1]):
            for c in range(cells.shape[1]):
                if p.kinds[c] == SETS and cells[members[i], c] >= 0:
                    pair.held[0, p.starts[c] + cells[members[i], c]] = 0
    return out

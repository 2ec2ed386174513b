"""Clustering of rows from the top down: a group is split between two rows far apart, and small groups are merged.

Rows, columns and losses are those of `mondrian_columns`; before its number a row has the side that it goes to.

Rows are many and values few: what a value adds to a loss is worked out once, and kept for as long as the groups that it
would be added to have not grown in its column. In random order they soon do not grow any more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.table.mondrian import Rule
from treeanon.kernels.table.mondrian_columns import SETS, Shape, loss_of
from treeanon.kernels.table.mondrian_walk import divide

_DEPTH = 128
_TRIES = 3
_SAMPLE = 512
_PARTS = (64, 8, 4, 2)
_DIGITS = 11


class Halves(NamedTuple):
    """Two groups that grow: the ends of what each has in every column, how many values, and which, with a mark.

    `marked` has the mark of the last group of that side that had a value.
    """

    low: Ints
    high: Ints
    held: Longs
    lost: Longs
    marked: Longs


class Memo(NamedTuple):
    """What is known of every value, at offset[c] + rank: cells[at], if known[at] is the time now[c] of its column."""

    cells: Longs
    known: Longs
    now: Longs
    clock: Longs


@njit
def split_all(
    data: Ints, spare: Ints, start: int, end: int, shape: Shape, rule: Rule, smallest: int, starts: Flags
) -> None:
    """Split the rows start:end into groups that satisfy the rule; marks in `starts` where each begins.

    Groups of at least `smallest` rows, and twice those that the rule asks for, are split, unless a half has sensitive
    values that do not satisfy it. Rows of a group end up side by side; they come in random order.
    """
    columns = len(shape.kind)
    ends = np.zeros((2, columns), np.int32), np.zeros((2, columns), np.int32)
    counts = np.zeros((2, columns), np.int64), np.zeros((2, columns), np.int64)
    halves = Halves(ends[0], ends[1], counts[0], counts[1], np.full((2, shape.offset[-1]), -1, np.int64))
    growth, seen = np.zeros(end - start, np.int64), np.zeros((2, rule.kinds), np.int64)
    values = shape.offset[-1]
    memo = Memo(
        np.zeros(values, np.int64), np.zeros(values, np.int64), np.zeros(columns, np.int64), np.zeros(1, np.int64)
    )
    waiting = np.zeros((_DEPTH, 2), np.int64)
    waiting[0, 0], waiting[0, 1] = start, end
    top, mark, smallest = 1, 0, max(smallest, 2 * rule.rows)
    while top > 0:
        top -= 1
        start, end = waiting[top, 0], waiting[top, 1]
        while end - start >= smallest:
            mark += 1
            # Rows are given a side, the smaller side is filled up, then both come to lie side by side.
            sizes = _choose_sides(data, start, end, shape, halves, memo, mark)
            if not _settle(data, start, end, sizes, shape, rule, halves, memo, growth, seen, mark):
                break
            middle = divide(data, spare, start, end, data.shape[1] - 2, 1, 0)
            starts[middle] = True
            # The larger half waits: so many halves never wait at once.
            if middle - start < end - middle:
                waiting[top, 0], waiting[top, 1] = middle, end
                end = middle
            else:
                waiting[top, 0], waiting[top, 1] = start, middle
                start = middle
            top += 1


@njit
def _holds(data: Ints, start: int, end: int, sensitive: int, rule: Rule, seen: Longs) -> bool:
    """Return whether both sides have sensitive values that satisfy the rule."""
    side_at, holds = data.shape[1] - 2, True
    sizes, distinct, most = np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    for r in range(start, end):
        side, kind = data[r, side_at], data[r, sensitive]
        seen[side, kind] += 1
        sizes[side] += 1
        distinct[side] += seen[side, kind] == 1
        most[side] = max(most[side], seen[side, kind])
    for r in range(start, end):
        seen[data[r, side_at], data[r, sensitive]] = 0
    for side in range(2):
        holds &= distinct[side] >= rule.distinct and most[side] * rule.bottom <= sizes[side] * rule.top
    return holds


@njit
def _settle(
    data: Ints,
    start: int,
    end: int,
    sizes: tuple[int, int],
    shape: Shape,
    rule: Rule,
    halves: Halves,
    memo: Memo,
    growth: Longs,
    seen: Longs,
    mark: int,
) -> bool:
    """Fill the smaller side up, more and more until both satisfy the rule; false if they never do.

    A side much smaller than the other is too small even so: there would be as many splits as rows.
    """
    rows, small = end - start, 0 if sizes[0] < sizes[1] else 1
    size = sizes[small]
    for part in _PARTS:
        least = max(rule.rows, rows // part)
        if size < least:
            _fill_up(data, start, end, small, least - size, shape, halves, memo, growth, mark)
            size = least
        if rule.kinds == 0 or _holds(data, start, end, len(shape.kind), rule, seen):
            return True
    return False


@njit
def _forget(memo: Memo) -> None:
    """Have all values looked at anew."""
    memo.clock[0] += 1
    memo.now[:] = memo.clock[0]


@njit
def _choose_sides(
    data: Ints, start: int, end: int, shape: Shape, halves: Halves, memo: Memo, mark: int
) -> tuple[int, int]:
    """Write to the rows on which side of a split they go; return how many go to each."""
    columns, side_at = len(shape.kind), data.shape[1] - 2
    first, second = _far_apart(data, start, end, shape, memo)
    for side, seed in ((0, first), (1, second)):
        for c in range(columns):
            halves.low[side, c] = halves.high[side, c] = data[seed, c]
            halves.held[side, c] = 0
            halves.lost[side, c] = loss_of(shape, c, data[seed, c], data[seed, c], 1)
        _take(data, seed, side, shape, halves, memo, mark)
    _forget(memo)
    left, right = 1, 1
    for r in range(start, end):
        if r == first or r == second:
            data[r, side_at] = r == second
            continue
        # How much more the second loses with the row than the first does; a bit for each that would grow.
        grown, grows = 0, 0
        for c in range(columns):
            at = shape.offset[c] + data[r, c]
            if memo.known[at] != memo.now[c]:
                _compare(data[r, c], c, shape, halves, memo, mark)
            grown += memo.cells[at] >> 2
            grows |= memo.cells[at] & 3
        side = 1 if grown < 0 or (grown == 0 and right < left) else 0
        left += side == 0
        right += side
        data[r, side_at] = side
        if grows >> side & 1:
            _take(data, r, side, shape, halves, memo, mark)
    return left, right


@njit
def _compare(v: int, c: int, shape: Shape, halves: Halves, memo: Memo, mark: int) -> None:
    """Note how much more the second side loses with a value than the first, times 4, with a bit for each that grows."""
    at, grown, grows = shape.offset[c] + v, 0, 0
    for side in range(2):
        if _is_new(v, c, side, shape, halves, mark):
            more = _growth(v, c, side, shape, halves)
            grown += more if side else -more
            grows |= 1 << side
    memo.cells[at] = 4 * grown + grows
    memo.known[at] = memo.now[c]


@njit
def _far_apart(data: Ints, start: int, end: int, shape: Shape, memo: Memo) -> tuple[int, int]:
    """Return two rows that would lose much together: each found as the farthest of some rows from the other."""
    one = other = start
    # Large groups are sampled: seeds need be far apart, not the farthest.
    step = max((end - start) // _SAMPLE, 1)
    for _ in range(_TRIES):
        far = -1
        _forget(memo)
        for r in range(start, end, step):
            lost = 0
            for c in range(len(shape.kind)):
                at = shape.offset[c] + data[r, c]
                if memo.known[at] != memo.now[c]:
                    low, high = min(data[one, c], data[r, c]), max(data[one, c], data[r, c])
                    memo.cells[at] = loss_of(shape, c, low, high, 2)
                    memo.known[at] = memo.now[c]
                lost += memo.cells[at]
            if r != one and lost > far:
                far, other = lost, r
        one, other = other, one
    return one, other


@njit
def _is_new(v: int, c: int, side: int, shape: Shape, halves: Halves, mark: int) -> bool:
    """Return whether a group grows by a value: one of a set that it has not, or one beyond its ends."""
    if shape.kind[c] == SETS:
        return bool(halves.marked[side, shape.offset[c] + v] != mark)
    return bool(v < halves.low[side, c] or v > halves.high[side, c])


@njit
def _growth(v: int, c: int, side: int, shape: Shape, halves: Halves) -> int:
    """Return how much more a group loses with a value that is new to it."""
    low, high = min(halves.low[side, c], v), max(halves.high[side, c], v)
    return loss_of(shape, c, low, high, halves.held[side, c] + 1) - int(halves.lost[side, c])


@njit
def _take(data: Ints, r: int, side: int, shape: Shape, halves: Halves, memo: Memo, mark: int) -> None:
    """Put a row into a group; what is known of values is forgotten in columns in which the group grows."""
    low, high, held = halves.low, halves.high, halves.held
    for c in range(len(shape.kind)):
        v = data[r, c]
        if not _is_new(v, c, side, shape, halves, mark):
            continue
        if shape.kind[c] == SETS:
            held[side, c] += 1
            halves.marked[side, shape.offset[c] + v] = mark
        low[side, c], high[side, c] = min(low[side, c], v), max(high[side, c], v)
        halves.lost[side, c] = loss_of(shape, c, low[side, c], high[side, c], held[side, c])
        memo.clock[0] += 1
        memo.now[c] = memo.clock[0]


@njit
def _fill_up(
    data: Ints,
    start: int,
    end: int,
    small: int,
    missing: int,
    shape: Shape,
    halves: Halves,
    memo: Memo,
    growth: Longs,
    mark: int,
) -> None:
    """Give the small side so many rows of the other, those with which it grows least."""
    side_at, others = data.shape[1] - 2, 0
    _forget(memo)
    for r in range(start, end):
        if data[r, side_at] == small:
            continue
        grown = 0
        for c in range(len(shape.kind)):
            v = data[r, c]
            at = shape.offset[c] + v
            if memo.known[at] != memo.now[c]:
                is_new = _is_new(v, c, small, shape, halves, mark)
                memo.cells[at] = _growth(v, c, small, shape, halves) if is_new else 0
                memo.known[at] = memo.now[c]
            grown += memo.cells[at]
        growth[others] = grown
        others += 1
    # All rows below the limit go over, and as many of those equal to it as are missing.
    limit, equal = limit_of(growth, others, missing)
    at = 0
    for r in range(start, end):
        if data[r, side_at] == small:
            continue
        if growth[at] < limit or (growth[at] == limit and equal > 0):
            equal -= growth[at] == limit
            data[r, side_at] = small
        at += 1


@njit
def limit_of(growth: Longs, rows: int, wanted: int) -> tuple[int, int]:
    """Return what the least `wanted` of so many numbers go up to, and how many of them are equal to that.

    The digits of that number are found one after the other, by counting: numbers are many, and often equal.
    """
    least = growth[:rows].min()
    shift, most = 0, growth[:rows].max() - least
    while most >> shift >> _DIGITS:
        shift += _DIGITS
    counts = np.empty(1 << _DIGITS, np.int64)
    above = 0
    while True:
        counts[:] = 0
        for i in range(rows):
            number = growth[i] - least
            if number >> shift >> _DIGITS == above:
                counts[number >> shift & ((1 << _DIGITS) - 1)] += 1
        digit = 0
        while counts[digit] < wanted:
            wanted -= counts[digit]
            digit += 1
        above = above << _DIGITS | digit
        if shift == 0:
            return least + above, wanted
        shift -= _DIGITS


@njit
def group_ends(data: Ints, starts: Flags, groups: int, columns: int) -> tuple[Ints, Ints, Longs]:
    """Return the least and the greatest value of every group in each column, and how many rows it has."""
    low, high = np.empty((groups, columns), np.int32), np.empty((groups, columns), np.int32)
    sizes, g = np.zeros(groups, np.int64), -1
    for r in range(len(data)):
        if starts[r]:
            g += 1
            low[g] = high[g] = data[r, :columns]
        sizes[g] += 1
        for c in range(columns):
            low[g, c] = min(low[g, c], data[r, c])
            high[g, c] = max(high[g, c], data[r, c])
    return low, high, sizes


@njit
def merge_failing(low: Ints, high: Ints, sizes: Longs, shape: Shape, fails: Flags, window: int, into: Longs) -> None:
    """Merge every group that fails with that of the `window` before or after it with which it loses least.

    Groups that were merged into others have size 0, and in `into` which one that is. A group with which one that fails
    was merged is left as it is for now, be it good or not.
    """
    groups = len(sizes)
    touched = np.zeros(groups, np.bool_)
    for g in range(groups):
        if not fails[g] or touched[g] or sizes[g] == 0:
            continue
        best, least = -1, 0
        for way in (-1, 1):
            h, seen = g + way, 0
            while 0 <= h < groups and seen < window:
                if sizes[h] > 0:
                    seen += 1
                    cost = _cost(low, high, sizes, shape, g, h)
                    if best < 0 or cost < least:
                        best, least = h, cost
                h += way
        if best < 0:
            continue
        low[best] = np.minimum(low[best], low[g])
        high[best] = np.maximum(high[best], high[g])
        sizes[best] += sizes[g]
        sizes[g] = 0
        into[g] = best
        touched[best] = True


@njit
def _cost(low: Ints, high: Ints, sizes: Longs, shape: Shape, g: int, h: int) -> int:
    """Return how much more the rows of two groups lose together."""
    cost = 0
    for c in range(len(shape.kind)):
        both = _span(shape, c, min(low[g, c], low[h, c]), max(high[g, c], high[h, c]))
        cost += sizes[g] * (both - _span(shape, c, low[g, c], high[g, c]))
        cost += sizes[h] * (both - _span(shape, c, low[h, c], high[h, c]))
    return cost


@njit
def _span(shape: Shape, c: int, low: int, high: int) -> int:
    """Return what values from low to high lose: of sets as if all between were there."""
    if shape.kind[c] == SETS:
        return int(min(shape.unit[c], (high - low) * shape.unit[c] // shape.steps[c]))
    return loss_of(shape, c, low, high, 0)

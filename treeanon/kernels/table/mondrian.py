"""Where Mondrian may cut a group of rows: the best cut of each column, the best column first.

A cut is a column, a value and a number: rows below the value go to the left, rows above it to the right, of those that
have it the first so many to the left. Several values of one column stay in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.table.mondrian_columns import (
    NODES,
    SETS,
    Shape,
    Spread,
    find_ends,
    highest,
    loss_of,
    new_spread,
    spread_out,
    width_of,
)

_MOST = 1 << 62


class Rule(NamedTuple):
    """What both halves need, and how cuts are chosen.

    At least `rows` rows; at least `distinct` sensitive values, none of them that of more than top / bottom of the rows
    (`kinds` values are there at all; 0: nothing is asked of them).
    """

    rows: int
    distinct: int
    top: int
    bottom: int
    kinds: int
    by_loss: bool
    is_relaxed: bool


class WorkSpace(NamedTuple):
    """Work space for groups up to some number of rows, and the cuts found: what each is worth, the best first."""

    spread: Spread
    slot: Ints
    first: Ints
    last: Ints
    below: Ints
    above: Ints
    left: Longs
    right: Longs
    allowed: Flags
    ordered: Ints
    seen: Longs
    order: Longs
    width: Longs
    worth: Longs
    cuts: Longs


@njit
def new_work_space(shape: Shape, rule: Rule, rows: int) -> WorkSpace:
    """Return work space for groups of so many rows."""
    spread = new_spread(shape, rows)
    widest, total, columns = spread.values.shape[1] + 1, shape.offset[-1], len(shape.kind)
    return WorkSpace(
        spread,
        np.zeros(total, np.int32),
        np.zeros(total, np.int32),
        np.zeros(total, np.int32),
        np.zeros(widest, np.int32),
        np.zeros(widest, np.int32),
        np.zeros(widest, np.int64),
        np.zeros(widest, np.int64),
        np.zeros(widest, np.bool_),
        np.zeros(rows if rule.kinds else 0, np.int32),
        np.zeros(rule.kinds, np.int64),
        np.zeros(columns, np.int64),
        np.zeros(columns, np.int64),
        np.zeros((2 * columns, 2), np.int64),
        np.zeros((2 * columns, 3), np.int64),
    )


@njit
def find_cuts(data: Ints, start: int, end: int, shape: Shape, rule: Rule, space: WorkSpace, wanted: int) -> int:
    """Return how many cuts of the rows start:end there are in `space`; the search may end with so many as are wanted.

    The rule holds for all but those that divide equal values.
    """
    spread, found, rows = space.spread, 0, end - start
    if rows < 2 * rule.rows:
        return 0
    find_ends(data, start, end, spread)
    columns = _widest_first(data, start, end, shape, rule, space)
    for at in range(columns):
        if found >= wanted and not rule.by_loss:
            return found
        c = space.order[at]
        if not rule.by_loss and shape.kind[c] != SETS:
            spread_out(data, start, end, c, shape, spread)
        _mark_allowed(data, start, end, c, shape, rule, space)
        if rule.by_loss:
            best, worth, balance = _least_loss(data, start, end, c, shape, space)
            if rule.is_relaxed:
                # Only where nothing else can be cut.
                found = _halve(c, rows, found, _MOST + at, space)
        else:
            best, worth, balance = _most_even(c, rows, shape, space), 2 * at + 1, 0
            if rule.is_relaxed:
                found = _halve(c, rows, found, 2 * at, space)
        if best > 0:
            found = _insert(found, worth, balance, c, spread.values[c, best], 0, space)
    return found


@njit
def _widest_first(data: Ints, start: int, end: int, shape: Shape, rule: Rule, space: WorkSpace) -> int:
    """Put the columns with several values into `order`, the widest first; how many these are."""
    spread, columns = space.spread, 0
    for c in range(len(shape.kind)):
        if rule.by_loss or shape.kind[c] == SETS:
            spread_out(data, start, end, c, shape, spread)
        if spread.low[c] == spread.high[c]:
            continue
        width, at = width_of(shape, c, spread), columns
        while at > 0 and space.width[at - 1] < width:
            space.width[at], space.order[at] = space.width[at - 1], space.order[at - 1]
            at -= 1
        space.width[at], space.order[at] = width, c
        columns += 1
    return columns


@njit
def _insert(found: int, worth: int, balance: int, c: int, value: int, take: int, space: WorkSpace) -> int:
    """Put a cut to its place among those found; return how many these are now."""
    at = found
    while at > 0 and (space.worth[at - 1, 0], space.worth[at - 1, 1]) > (worth, balance):
        space.worth[at] = space.worth[at - 1]
        space.cuts[at] = space.cuts[at - 1]
        at -= 1
    space.worth[at, 0], space.worth[at, 1] = worth, balance
    space.cuts[at, 0], space.cuts[at, 1], space.cuts[at, 2] = c, value, take
    return found + 1


@njit
def _halve(c: int, rows: int, found: int, worth: int, space: WorkSpace) -> int:
    """Add the cut in the middle, through equal values if it must be."""
    spread, half, before, i = space.spread, rows // 2, 0, 0
    while before + spread.sizes[c, i] <= half:
        before += spread.sizes[c, i]
        i += 1
    if before == half and not space.allowed[i]:
        return found
    return _insert(found, worth, 0, c, spread.values[c, i], half - before, space)


@njit
def _mark_allowed(data: Ints, start: int, end: int, c: int, shape: Shape, rule: Rule, space: WorkSpace) -> None:
    """Say in allowed[i] whether both the rows below the i-th value and the others satisfy the rule."""
    spread, allowed = space.spread, space.allowed
    left, some = 0, False
    for i in range(1, spread.held[c]):
        left += spread.sizes[c, i - 1]
        allowed[i] = left >= rule.rows and end - start - left >= rule.rows
        some |= allowed[i]
    if rule.kinds == 0 or not some:
        return
    _order_sensitive(data, start, end, c, shape, space)
    _sweep(c, end - start, rule, space, False)
    _sweep(c, end - start, rule, space, True)


@njit
def _order_sensitive(data: Ints, start: int, end: int, c: int, shape: Shape, space: WorkSpace) -> None:
    """Put the sensitive values of the rows into `ordered`, in the order of the column."""
    spread, at, filled = space.spread, shape.offset[c], 0
    for i in range(spread.held[c]):
        space.slot[at + spread.values[c, i]] = filled
        filled += spread.sizes[c, i]
    for r in range(start, end):
        v = at + data[r, c]
        space.ordered[space.slot[v]] = data[r, len(shape.kind)]
        space.slot[v] += 1


@njit
def _sweep(c: int, rows: int, rule: Rule, space: WorkSpace, is_back: bool) -> None:
    """Take from `allowed` where the sensitive values of what lies on one side do not satisfy the rule."""
    held, done, distinct, most = space.spread.held[c], 0, 0, 0
    for step in range(held - 1):
        i = held - 1 - step if is_back else step
        for _ in range(space.spread.sizes[c, i]):
            kind = space.ordered[rows - 1 - done if is_back else done]
            space.seen[kind] += 1
            distinct += space.seen[kind] == 1
            most = max(most, space.seen[kind])
            done += 1
        if distinct < rule.distinct or most * rule.bottom > done * rule.top:
            space.allowed[i if is_back else i + 1] = False
    for j in range(rows):
        space.seen[space.ordered[j]] = 0


@njit
def _most_even(c: int, rows: int, shape: Shape, space: WorkSpace) -> int:
    """Return the allowed cut nearest to the middle; 0 if there is none.

    Where nodes are published, one between children of the lowest node above all goes first: others leave that node to
    one of the halves at least.
    """
    spread, best, left = space.spread, 0, 0
    is_best_apart, least = False, rows + 1
    whole = highest(shape, c, spread.low[c], spread.high[c]) if shape.kind[c] == NODES else 0
    for i in range(1, spread.held[c]):
        left += spread.sizes[c, i - 1]
        if not space.allowed[i]:
            continue
        is_apart = False
        if shape.kind[c] == NODES:
            is_apart = highest(shape, c, spread.values[c, i - 1], spread.values[c, i]) == whole
        off = abs(2 * left - rows)
        if is_apart > is_best_apart or (is_apart == is_best_apart and off < least):
            best, least, is_best_apart = i, off, is_apart
    return best


@njit
def _least_loss(data: Ints, start: int, end: int, c: int, shape: Shape, space: WorkSpace) -> tuple[int, int, int]:
    """Return the allowed cut that leaves the halves the least loss (0: none), that loss times rows, and the smaller
    half.

    The last is negative: among equals the more even cut is better.
    """
    spread, held = space.spread, space.spread.held[c]
    for i in range(held):
        space.slot[shape.offset[c] + spread.values[c, i]] = i
        space.left[i] = space.right[i] = 0
    some = False
    for i in range(1, held):
        some |= space.allowed[i]
    if not some:
        return 0, 0, 0
    for b in range(len(shape.kind)):
        if shape.kind[b] == SETS:
            _add_sets(data, start, end, c, b, shape, space)
        else:
            _add_spans(data, start, end, c, b, shape, space)
    best, worth, balance, left = 0, 0, 0, 0
    for i in range(1, held):
        left += spread.sizes[c, i - 1]
        if not space.allowed[i]:
            continue
        own = left * space.left[i] + (end - start - left) * space.right[i]
        even = -min(left, end - start - left)
        if best == 0 or (own, even) < (worth, balance):
            best, worth, balance = i, own, even
    return best, worth, balance


@njit
def _add_spans(data: Ints, start: int, end: int, c: int, b: int, shape: Shape, space: WorkSpace) -> None:
    """Add to left[i] and right[i] what the halves of a cut below the i-th value of column c lose in column b."""
    held, below, above = space.spread.held[c], space.below, space.above
    if space.spread.low[b] == space.spread.high[b]:
        own = width_of(shape, b, space.spread)
        for i in range(held):
            space.left[i] += own
            space.right[i] += own
        return
    at = shape.offset[c]
    below[:held] = np.iinfo(np.int32).max
    above[:held] = -1
    for r in range(start, end):
        i = space.slot[at + data[r, c]]
        v = data[r, b]
        below[i] = min(below[i], v)
        above[i] = max(above[i], v)
    low, high = below[0], above[0]
    for i in range(1, held):
        space.left[i] += loss_of(shape, b, low, high, 0)
        low, high = min(low, below[i]), max(high, above[i])
    low, high = below[held - 1], above[held - 1]
    for i in range(held - 1, 0, -1):
        space.right[i] += loss_of(shape, b, low, high, 0)
        low, high = min(low, below[i - 1]), max(high, above[i - 1])


@njit
def _add_sets(data: Ints, start: int, end: int, c: int, b: int, shape: Shape, space: WorkSpace) -> None:
    """As `_add_spans`, for a column that is published as sets of values."""
    spread, held, here = space.spread, space.spread.held[c], shape.offset[b]
    first, last, comes, goes = space.first, space.last, space.below, space.above
    for j in range(spread.held[b]):
        first[here + spread.values[b, j]] = held
        last[here + spread.values[b, j]] = -1
    for r in range(start, end):
        i, v = space.slot[shape.offset[c] + data[r, c]], here + data[r, b]
        first[v] = min(first[v], i)
        last[v] = max(last[v], i)
    comes[:held] = 0
    goes[:held] = 0
    for j in range(spread.held[b]):
        comes[first[here + spread.values[b, j]]] += 1
        goes[last[here + spread.values[b, j]]] += 1
    # Missing values lose all where there are others too.
    is_missing = shape.missing[b] and spread.low[b] == 0
    from_, until = (first[here], last[here]) if is_missing else (held, -1)
    steps, unit, left, right = shape.steps[b], shape.unit[b], 0, 0
    for i in range(1, held):
        left += comes[i - 1]
        if left > 1:
            space.left[i] += unit if from_ < i else (left - 1) * unit // steps
    for i in range(held - 1, 0, -1):
        right += goes[i]
        if right > 1:
            space.right[i] += unit if until >= i else (right - 1) * unit // steps

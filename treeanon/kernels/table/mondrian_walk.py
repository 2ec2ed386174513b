"""Mondrian's recursion: groups of rows are cut for as long as both halves satisfy the rule."""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.table.mondrian import Rule, WorkSpace, find_cuts, new_work_space
from treeanon.kernels.table.mondrian_columns import Shape

_DEPTH = 128


@njit
def cut_all(
    data: Ints, spare: Ints, start: int, end: int, shape: Shape, rule: Rule, smallest: int, starts: Flags
) -> None:
    """Cut the rows start:end, and what comes of them, but nothing of less than `smallest` rows.

    Rows of a group end up side by side; `starts` says where a group begins. `spare` is as large as `data`.
    """
    space = new_work_space(shape, rule, end - start)
    # The larger half waits: so many halves never wait at once.
    waiting = np.zeros((_DEPTH, 2), np.int64)
    waiting[0, 0], waiting[0, 1] = start, end
    top = 1
    while top > 0:
        top -= 1
        start, end = waiting[top, 0], waiting[top, 1]
        middle = start
        while end - start >= smallest:
            middle = _cut(data, spare, start, end, shape, rule, space)
            if middle == start:
                break
            starts[middle] = True
            if middle - start < end - middle:
                waiting[top, 0], waiting[top, 1] = middle, end
                end = middle
            else:
                waiting[top, 0], waiting[top, 1] = start, middle
                start = middle
            top += 1


@njit
def _cut(data: Ints, spare: Ints, start: int, end: int, shape: Shape, rule: Rule, space: WorkSpace) -> int:
    """Make the best cut that holds; return where the right half begins, `start` if there is none."""
    # A cut through equal values may have to be looked at once more.
    wanted = 1 if rule.kinds == 0 or not rule.is_relaxed else len(space.cuts)
    found = find_cuts(data, start, end, shape, rule, space, wanted)
    for at in range(found):
        c, value, take = space.cuts[at, 0], space.cuts[at, 1], space.cuts[at, 2]
        # Cuts between values are looked at already.
        if take == 0 or rule.kinds == 0 or _holds(data, start, end, c, value, take, shape, rule, space):
            return divide(data, spare, start, end, c, value, take)
    return start


@njit
def _holds(
    data: Ints, start: int, end: int, c: int, value: int, take: int, shape: Shape, rule: Rule, space: WorkSpace
) -> bool:
    """Return whether both halves of a cut through equal values have sensitive values that satisfy the rule."""
    for side in range(2):
        rows, distinct, most, passed = 0, 0, 0, 0
        for r in range(start, end):
            v = data[r, c]
            passed += v == value
            is_left = v < value or (v == value and passed <= take)
            if is_left == (side == 0):
                kind = data[r, len(shape.kind)]
                rows += 1
                space.seen[kind] += 1
                distinct += space.seen[kind] == 1
                most = max(most, space.seen[kind])
        for r in range(start, end):
            space.seen[data[r, len(shape.kind)]] = 0
        if distinct < rule.distinct or most * rule.bottom > rows * rule.top:
            return False
    return True


@njit
def divide(data: Ints, spare: Ints, start: int, end: int, c: int, value: int, take: int) -> int:
    """Move the rows of the left half before those of the right, both in order; return where the right begins."""
    width = data.shape[1]
    left, right, passed = start, start, 0
    for r in range(start, end):
        v = data[r, c]
        is_left = v < value
        if v == value and passed < take:
            is_left = True
            passed += 1
        if is_left:
            for j in range(width):
                data[left, j] = data[r, j]
            left += 1
        else:
            for j in range(width):
                spare[right, j] = data[r, j]
            right += 1
    for r in range(right - start):
        for j in range(width):
            data[left + r, j] = spare[start + r, j]
    return left


@njit
def cuts_of_groups(data: Ints, bounds: Longs, shape: Shape, rule: Rule, biggest: int) -> tuple[Longs, Longs]:
    """Return the cuts of every group bounds[g, 0]:bounds[g, 1], the best first: those of g are cuts[at[g]:at[g +
    1]].
    """
    space = new_work_space(shape, rule, biggest)
    groups = len(bounds)
    at = np.zeros(groups + 1, np.int64)
    cuts = np.zeros((groups * len(space.cuts), 3), np.int64)
    for g in range(groups):
        found = find_cuts(data, bounds[g, 0], bounds[g, 1], shape, rule, space, len(space.cuts))
        cuts[at[g] : at[g] + found] = space.cuts[:found]
        at[g + 1] = at[g] + found
    return at, cuts[: at[groups]].copy()


@njit
def sides_of(data: Ints, bounds: Longs, cuts: Longs, out_rows: Longs, out_groups: Longs) -> int:
    """Write the number of each row of the groups, and 2 * g for one on the left of cut g, else 2 * g + 1."""
    filled = 0
    for g in range(len(bounds)):
        c, value, take = cuts[g, 0], cuts[g, 1], cuts[g, 2]
        passed = 0
        for r in range(bounds[g, 0], bounds[g, 1]):
            v = data[r, c]
            passed += v == value
            is_left = v < value or (v == value and passed <= take)
            out_rows[filled] = data[r, data.shape[1] - 1]
            out_groups[filled] = 2 * g + (0 if is_left else 1)
            filled += 1
    return filled


@njit
def divide_all(data: Ints, spare: Ints, bounds: Longs, cuts: Longs, starts: Flags) -> Longs:
    """Make a cut in every group; return where the right halves begin."""
    middles = np.zeros(len(bounds), np.int64)
    for g in range(len(bounds)):
        c, value, take = cuts[g, 0], cuts[g, 1], cuts[g, 2]
        middles[g] = divide(data, spare, bounds[g, 0], bounds[g, 1], c, value, take)
        starts[middles[g]] = True
    return middles

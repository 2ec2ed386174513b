"""An order of rows that is made by splitting: every block of them by the column for which that pays most.

A column of nodes or of sets has codes of a hierarchy's nodes in preorder with their `parent` and `end`, a column of
ranges has ranks. Missing values are negative.

The place of points on a Hilbert curve, in any number of dimensions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from treeanon.arrays import Floats, Ints, Longs, Words
from treeanon.kernels.jit import njit
from treeanon.kernels.sorting import sort

RANGES, NODES, SETS = 0, 1, 2


class Scales(NamedTuple):
    """What values of all columns cost: those of column c lie from starts[c] to before starts[c + 1].

    `shares` has the place of every rank for ranges, the NCP of every node for nodes, and what each further value costs
    for sets.
    """

    kinds: Longs
    starts: Longs
    shares: Floats
    parent: Ints
    end: Ints


class Work(NamedTuple):
    """WorkSpace to count the values of a block: `counts` are zero in between, `held` are those that occur."""

    counts: Longs
    own: Longs
    held: Longs


@njit
def _bits(share: float) -> float:
    return -share * math.log2(share)


@njit
def _power(share: float, k: int) -> float:
    """Return share^k by multiplication, to the last digit the same compiled and uncompiled."""
    found = 1.0
    while k > 0:
        if k & 1:
            found *= share
        share *= share
        k >>= 1
    return found


@njit
def _counted(values: Ints, lo: int, hi: int, c: int, work: Work) -> int:
    """Counts the values in a column of a block; returns how many different ones it holds."""
    held = 0
    for at in range(lo, hi):
        value = values[at, c]
        if work.counts[value] == 0:
            work.held[held] = value
            held += 1
        work.counts[value] += 1
    return held


@njit
def _expected_range(places: Floats, ranks: Longs, count: Longs, rows: int, k: int) -> float:
    """Return how far apart the least and the greatest of k random rows are expected to be."""
    found, below = 0.0, 0
    for i in range(len(ranks) - 1):
        below += count[ranks[i]]
        share = below / rows
        found += (places[ranks[i + 1]] - places[ranks[i]]) * (1.0 - _power(share, k) - _power(1.0 - share, k))
    return found


@njit
def _range_gain(places: Floats, rows: int, k: int, held: int, work: Work) -> tuple[float, float, int]:
    """Return what splitting a block in the middle of its range gains, the bits it takes, and the lower half."""
    sort(work.held, 0, held)
    ranks = work.held[:held]
    middle = (places[ranks[0]] + places[ranks[-1]]) / 2
    low, half = 0, 0
    # Places may be all one, where a range has no width.
    while half < held - 1 and (half == 0 or places[ranks[half]] <= middle):
        low += work.counts[ranks[half]]
        half += 1
    gain = _expected_range(places, ranks, work.counts, rows, k)
    gain -= low / rows * _expected_range(places, ranks[:half], work.counts, low, k)
    gain -= (rows - low) / rows * _expected_range(places, ranks[half:], work.counts, rows - low, k)
    return gain, _bits(low / rows) + _bits((rows - low) / rows), ranks[half - 1]


@njit
def child_below(parent: Ints, above: int, node: int) -> int:
    """Return the child of a node that another one lies below; the node itself where that is the other one."""
    while node != above and parent[node] != above:
        node = parent[node]
    return node


@njit
def _count_above(parent: Ints, above: int, held: int, work: Work) -> int:
    """Counts what is below the nodes that lie between those counted and `above`, too; returns how many there are."""
    for i in range(held):
        work.own[i] = work.counts[work.held[i]]
    nodes = held
    for i in range(held):
        node = work.held[i]
        if node == above:
            continue
        while parent[node] != above:
            node = parent[node]
            if work.counts[node] == 0:
                work.held[nodes] = node
                nodes += 1
            work.counts[node] += work.own[i]
    return nodes


@njit
def _node_gain(
    shares: Floats, parent: Ints, above: int, rows: int, k: int, nodes: int, work: Work
) -> tuple[float, float]:
    """Return what splitting a block by the children of `above` gains, and the bits it takes.

    The lowest node that covers k random rows is expected to cost: for every node the probability that all are below it,
    times what it costs less than its parent.
    """
    gain, bits = shares[above], 0.0
    for i in range(nodes):
        node = work.held[i]
        share = work.counts[node] / rows
        if node == above:
            gain -= share * shares[above]
            bits += _bits(share)
            continue
        child = child_below(parent, above, node)
        less = shares[node] - shares[parent[node]]
        gain += _power(share, k) * less
        if node == child:
            gain -= share * shares[node]
            bits += _bits(share)
        else:
            gain -= work.counts[child] / rows * _power(work.counts[node] / work.counts[child], k) * less
    return gain, bits


@njit
def _set_gain(
    step: float, parent: Ints, above: int, rows: int, k: int, held: int, nodes: int, work: Work
) -> tuple[float, float]:
    """Return the same where the distinct values of k random rows cost a step each."""
    gain, bits = 0.0, 0.0
    for i in range(held):
        child = child_below(parent, above, work.held[i])
        below = work.own[i] if child == above else work.counts[child]
        gain += 1.0 - _power(1.0 - work.own[i] / rows, k)
        gain -= below / rows * (1.0 - _power(1.0 - work.own[i] / below, k))
    for i in range(nodes):
        if work.held[i] == above or parent[work.held[i]] == above:
            bits += _bits(work.counts[work.held[i]] / rows)
    return gain * step, bits


@njit
def column_gain(values: Ints, lo: int, hi: int, c: int, scales: Scales, k: int, work: Work) -> tuple[float, float, int]:
    """Return what the best split of a block by one column gains, the bits it takes, and by what: the last rank of the
    lower half, or the node whose children are split; -1 if missing values are split from others. No bits: nothing to
    split.
    """
    least, greatest, missing = values[lo, c], values[lo, c], 0
    for at in range(lo, hi):
        value = values[at, c]
        least, greatest = min(least, value), max(greatest, value)
        missing += value < 0
    if least == greatest:
        return 0.0, 0.0, 0
    rows = hi - lo
    if missing:
        share = missing / rows
        return 1.0 - _power(share, k) - _power(1.0 - share, k), _bits(share) + _bits(1.0 - share), -1
    begin, stop = scales.starts[c], scales.starts[c + 1]
    shares, parent, end = scales.shares[begin:stop], scales.parent[begin:stop], scales.end[begin:stop]
    held = _counted(values, lo, hi, c, work)
    if scales.kinds[c] == RANGES:
        nodes = held
        gain, bits, by = _range_gain(shares, rows, k, held, work)
    else:
        by = int(least)
        while end[by] <= greatest:
            by = int(parent[by])
        nodes = _count_above(parent, by, held, work)
        if scales.kinds[c] == NODES:
            gain, bits = _node_gain(shares, parent, by, rows, k, nodes, work)
        else:
            gain, bits = _set_gain(shares[0], parent, by, rows, k, held, nodes, work)
    for i in range(nodes):
        work.counts[work.held[i]] = 0
    return gain, bits, by


@njit
def _part_of(value: int, by: int, is_range: bool, parent: Ints) -> int:
    """Return the part of a split that a value goes to."""
    if by < 0:
        return int(value < 0)
    if is_range:
        return int(value > by)
    return int(child_below(parent, by, value))


@njit
def _divide(
    values: Ints, rows: Longs, lo: int, hi: int, c: int, by: int, scales: Scales, work: Work, parts: Longs
) -> int:
    """Sort a block by the parts of a split, the part first that is nearer to the row before the block.

    Writes the ends of the parts, the last one first, to `work.own`; return how many there are.
    """
    parent = scales.parent[scales.starts[c] : scales.starts[c + 1]]
    is_range = scales.kinds[c] == RANGES
    held = 0
    for at in range(lo, hi):
        part = _part_of(values[at, c], by, is_range, parent)
        parts[at - lo] = part
        if work.counts[part] == 0:
            work.held[held] = part
            held += 1
        work.counts[part] += 1
    sort(work.held, 0, held)
    order = work.held[:held]
    if lo > 0:
        before = values[lo - 1, c]
        here = before if by >= 0 and not is_range else _part_of(before, by, is_range, parent)
        if abs(order[-1] - here) < abs(order[0] - here):
            order = order[::-1].copy()
    stop = lo
    for i in range(held):
        size = work.counts[order[i]]
        work.counts[order[i]] = stop - lo
        stop += size
        work.own[held - 1 - i] = stop
    old_values, old_rows = values[lo:hi].copy(), rows[lo:hi].copy()
    for at in range(hi - lo):
        goal = lo + work.counts[parts[at]]
        work.counts[parts[at]] += 1
        rows[goal] = old_rows[at]
        for column in range(values.shape[1]):
            values[goal, column] = old_values[at, column]
    for i in range(held):
        work.counts[order[i]] = 0
    return held


@njit
def adaptive_rows(values: Ints, scales: Scales, k: int) -> Longs:
    """Return the rows in the order of splitting them until all blocks are of equal rows; `values` are sorted along.

    Each block is split by the column that gains most for a bit: what k random rows of the block are expected to lose in
    the column when published together, less what they are in its parts; the bits are the entropy of the parts.
    """
    count, columns = values.shape
    rows = np.arange(count)
    room = 2
    for c in range(columns):
        room = max(room, scales.starts[c + 1] - scales.starts[c])
    work = Work(np.zeros(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))
    parts = np.empty(count, np.int64)
    stops = np.empty(count + 1, np.int64)
    stops[0], open_, lo = count, 1, 0
    while open_ > 0:
        hi = stops[open_ - 1]
        best, column, cut = -np.inf, -1, 0
        for c in range(columns if hi - lo > 1 else 0):
            gain, bits, by = column_gain(values, lo, hi, c, scales, k, work)
            if bits > 0.0 and gain / bits > best:
                best, column, cut = gain / bits, c, by
        if column < 0:
            lo = hi
            open_ -= 1
            continue
        held = _divide(values, rows, lo, hi, column, cut, scales, work, parts)
        stops[open_ - 1 : open_ - 1 + held] = work.own[:held]
        open_ += held - 1
    return rows


WORD = 64


@njit
def hilbert_words(points: Ints, sizes: Longs, bits: int, out: Words) -> None:
    """Write the place of every point on the curve that fills a cube of 2^bits cells a side, most significant word
    first; a place has bits · columns bits, the words before the last are full.

    Column c has coordinates 0 to sizes[c] - 1, which are scaled to the cube. After Skilling, "Programming the Hilbert
    curve" (2004): the axes are turned into the curve's place with its bits dealt out to the axes in turn.
    """
    rows, columns = points.shape
    axes = np.empty(columns, np.uint64)
    one = np.uint64(1)
    for r in range(rows):
        for c in range(columns):
            axes[c] = np.uint64((np.int64(points[r, c]) << bits) // sizes[c])
        for level in range(bits - 1, 0, -1):
            high = one << np.uint64(level)
            low = high - one
            for c in range(columns):
                if axes[c] & high:
                    axes[0] ^= low
                else:
                    changed = (axes[0] ^ axes[c]) & low
                    axes[0] ^= changed
                    axes[c] ^= changed
        for c in range(1, columns):
            axes[c] ^= axes[c - 1]
        turned = np.uint64(0)
        for level in range(bits - 1, 0, -1):
            if axes[columns - 1] >> np.uint64(level) & one:
                turned ^= (one << np.uint64(level)) - one
        word, filled, at = np.uint64(0), 0, 0
        for level in range(bits - 1, -1, -1):
            for c in range(columns):
                word = word << one | (axes[c] ^ turned) >> np.uint64(level) & one
                filled += 1
                if filled == WORD:
                    out[r, at] = word
                    word, filled, at = np.uint64(0), 0, at + 1
        if filled:
            out[r, at] = word

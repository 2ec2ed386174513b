"""Loops of local recoding that scan for classes: tuples that become alike at one vertex of the lattice of levels.

Tuples are rows of `codes`, a column a quasi column; a missing value is the code after the nodes.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.kernels.jit import njit

# What a class may cost of what its rows are expected to cost, so that tuples to spare are taken for it.
_WORTH = 0.9
# A vertex without a class is looked at again when costs have grown by so much.
_LATER = 1.5


class Vertices(NamedTuple):
    """A lattice of levels, and what tuples become there.

    `steps` has the level of each column at each vertex. Tuples that become alike have one sum of numbers drawn for
    nodes: columns are in parts, and row sum_rows[v, p] of `sums` has the sum over part p at vertex v for each tuple.
    What a row of a tuple loses at level l of column c is costs[places[c] + l * widths[c] + code]. `due` is the least
    that a row may lose at a vertex.

    Two sums that are equal by chance put strangers in one class: it loses more, and is as large as it says.
    """

    steps: Longs
    sum_rows: Longs
    sums: Longs
    places: Longs
    widths: Longs
    costs: Floats
    due: Floats


class Scan(NamedTuple):
    """The tuples that are left, and work space for the classes that they form at a vertex.

    `spare` are tuples that their classes can do without, and join what is left where that needs them: `spare_rows` and
    `spare_paid` are how many rows of them a class could get, and what they cost where they are; `paid` is what its own
    rows are expected to cost. Made outside of kernels: numba does not keep the arrays of one that is made inside.
    """

    left: Ints
    seen: Ints
    keys: Longs
    sizes: Longs
    first: Ints
    number: Ints
    new: Ints
    costs: Floats
    paid: Floats
    spare: Ints
    spare_number: Ints
    spare_rows: Longs
    spare_paid: Floats
    owed: Longs


@njit
def add_sums(above: Longs, of: Longs, codes: Ints, column: int, starts: Longs, drawn: Longs, out: Longs) -> None:
    """Write rows of sums: row of[r] of those above, and what is drawn for a column's nodes from starts[r] on."""
    for r in range(len(out)):
        for t in range(len(codes)):
            out[r, t] = above[of[r], t] + drawn[starts[r] + codes[t, column]]


def cheapest_first(
    codes: Ints, weights: Longs, wanted: Flags, vertices: Vertices, least: int, ease: float, prices: Floats | None
) -> tuple[Ints, int, int]:
    """Return the class of each tuple that is wanted, -1 where there is none; how many classes there are; the looks
    taken.

    The class that costs a row least comes first, of all that have at least `least` rows among the tuples left. A class
    only loses tuples to others, so a vertex is looked at again when its cheapest class of the last time is due, and
    never again when it has none. What costs up to `ease` more is taken in the same scan.

    With `prices`, what a row of each tuple is expected to cost, tuples that their classes can spare fill up others:
    where these cost less than expected, told what the ones that join them lose by it.
    """
    class_of = np.full(len(codes), -1, np.int32)
    expected = np.zeros(0) if prices is None else prices
    classes, looks = _walk(codes, weights, vertices, least, ease, expected, _new_scan(wanted), class_of)
    return class_of, classes, looks


def _new_scan(wanted: Flags) -> Scan:
    left = np.flatnonzero(wanted).astype(np.int32)
    count = len(left)
    return Scan(
        left=left,
        seen=np.empty(1 << _bits(count), np.int32),
        keys=np.empty(count, np.int64),
        sizes=np.empty(count, np.int64),
        first=np.empty(count, np.int32),
        number=np.empty(count, np.int32),
        new=np.empty(count, np.int32),
        costs=np.empty(count, np.float64),
        paid=np.empty(count, np.float64),
        spare=np.empty(count, np.int32),
        spare_number=np.empty(count, np.int32),
        spare_rows=np.empty(count, np.int64),
        spare_paid=np.empty(count, np.float64),
        owed=np.empty(count, np.int64),
    )


@njit
def _walk(
    codes: Ints,
    weights: Longs,
    vertices: Vertices,
    least: int,
    ease: float,
    prices: Floats,
    scan: Scan,
    class_of: Ints,
) -> tuple[int, int]:
    """Write the class of each tuple that gets one; how many there are, and the looks taken.

    With prices there are tuples to spare; what a vertex has may grow then, so each is looked at from time to time.
    """
    count, spare, is_filling = len(scan.left), 0, len(prices) > 0
    costs, highest = np.zeros(len(prices), np.float64), codes.shape[1] if is_filling else np.inf
    heap = [(vertices.due[v], v) for v in range(len(vertices.due))]
    heapq.heapify(heap)
    classes, looks = 0, 0
    while count > 0 and len(heap) > 0:
        key, v = heapq.heappop(heap)
        looks += 1
        if not is_filling and not _may_have(vertices, v, count, weights, least, scan):
            continue
        found = _number(vertices, v, count, weights, scan)
        scan.spare_rows[:found] = 0
        if is_filling:
            _count_spare(vertices, v, count, found, spare, weights, least, prices, costs, scan)
        limit = max(key, heap[0][0] if len(heap) > 0 else key) + ease
        before = classes
        following = np.inf
        for g in range(found):
            scan.new[g] = -1
            size = scan.sizes[g]
            if size + scan.spare_rows[g] < least:
                continue
            scan.costs[g] = _cost(vertices, v, codes[scan.first[g]])
            cost = scan.costs[g]
            if size < least:
                joins = cost - scan.spare_paid[g] / scan.spare_rows[g]
                cost += (least - size) * max(0.0, joins) / size
                if cost > _WORTH * scan.paid[g] / size:
                    continue
            if cost <= limit:
                scan.new[g] = classes
                scan.owed[g] = least - size
                classes += 1
            else:
                following = min(following, cost)
        if classes > before:
            if is_filling:
                spare = _fill(scan, spare, weights, class_of)
                spare = _spare(scan, count, spare, weights, costs)
            count = _release(scan, count, class_of)
        if is_filling:
            following = min(following, key * _LATER + _LATER - 1)
        if following < highest:
            heapq.heappush(heap, (following, v))
    return classes, looks


@njit
def _count_spare(
    vertices: Vertices,
    v: int,
    count: int,
    found: int,
    spare: int,
    weights: Longs,
    least: int,
    prices: Floats,
    costs: Floats,
    scan: Scan,
) -> None:
    """Add up which rows to spare the classes could get that are too small, and what theirs are expected to cost."""
    scan.paid[:found] = 0.0
    scan.spare_paid[:found] = 0.0
    for i in range(count):
        t = scan.left[i]
        scan.paid[scan.number[i]] += weights[t] * prices[t]
    sums, rows = vertices.sums, vertices.sum_rows[v]
    last = (1 << _bits(count)) - 1
    for i in range(spare):
        t = scan.spare[i]
        key = _key(sums, rows, t)
        at = _slot(scan.seen, scan.keys, key, last)
        g = scan.seen[at]
        scan.spare_number[i] = g
        if g >= 0 and scan.sizes[g] < least:
            scan.spare_rows[g] += weights[t]
            scan.spare_paid[g] += weights[t] * costs[t]


@njit
def _fill(scan: Scan, spare: int, weights: Longs, class_of: Ints) -> int:
    """Give new classes the tuples that they are owed; how many are left to spare."""
    kept = 0
    for i in range(spare):
        t, g = scan.spare[i], scan.spare_number[i]
        if g >= 0 and scan.new[g] >= 0 and scan.owed[g] > 0:
            scan.owed[g] -= weights[t]
            class_of[t] = scan.new[g]
        else:
            scan.spare[kept] = t
            kept += 1
    return kept


@njit
def _spare(scan: Scan, count: int, spare: int, weights: Longs, costs: Floats) -> int:
    """Add the tuples that new classes can spare, which are owed less than nothing; how many there are now."""
    for i in range(count):
        t, g = scan.left[i], scan.number[i]
        if scan.new[g] >= 0 and scan.owed[g] + weights[t] <= 0:
            scan.owed[g] += weights[t]
            costs[t] = scan.costs[g]
            scan.spare[spare] = t
            spare += 1
    return spare


@njit
def _bits(entries: int) -> int:
    bits = 4
    while (1 << bits) < 2 * entries:
        bits += 1
    return bits


@njit
def _key(sums: Longs, rows: Longs, t: int) -> int:
    """Return what tells a tuple at a vertex from those that are not alike."""
    key = np.int64(0)
    for row in rows:
        key += sums[row, t]
    return int(key)


@njit
def _slot(seen: Ints, keys: Longs, key: int, last: int) -> int:
    """Return where the class with a key is noted, or would be."""
    at = (key ^ (key >> 31)) & last
    while seen[at] >= 0 and keys[seen[at]] != key:
        at = (at + 1) & last
    return at


@njit
def _may_have(vertices: Vertices, v: int, count: int, weights: Longs, least: int, scan: Scan) -> bool:
    """Return whether a vertex may have a class that is large enough: quicker than to know, as no two sums are told
    apart.
    """
    sums, rows = vertices.sums, vertices.sum_rows[v]
    last = (1 << _bits(count)) - 1
    scan.seen[: last + 1] = 0
    for i in range(count):
        t = scan.left[i]
        key = _key(sums, rows, t)
        at = (key ^ (key >> 31)) & last
        size = scan.seen[at] + weights[t]
        if size >= least:
            return True
        scan.seen[at] = size
    return False


@njit
def _number(vertices: Vertices, v: int, count: int, weights: Longs, scan: Scan) -> int:
    """Return numbers the classes of the tuples left at a vertex and adds up their sizes; how many there are."""
    sums, rows = vertices.sums, vertices.sum_rows[v]
    last = (1 << _bits(count)) - 1
    scan.seen[: last + 1] = -1
    found = 0
    for i in range(count):
        t = scan.left[i]
        key = _key(sums, rows, t)
        at = _slot(scan.seen, scan.keys, key, last)
        g = scan.seen[at]
        if g < 0:
            g = found
            found += 1
            scan.seen[at] = g
            scan.keys[g] = key
            scan.sizes[g] = 0
            scan.first[g] = t
        scan.sizes[g] += weights[t]
        scan.number[i] = g
    return found


@njit
def _cost(vertices: Vertices, v: int, codes: Ints) -> float:
    """Return what each row of a tuple loses at a vertex."""
    cost = 0.0
    for c in range(len(codes)):
        cost += vertices.costs[vertices.places[c] + vertices.steps[v, c] * vertices.widths[c] + codes[c]]
    return cost


@njit
def _release(scan: Scan, count: int, class_of: Ints) -> int:
    """Give tuples their new classes, and keeps the others in `left`; how many those are."""
    kept = 0
    for i in range(count):
        t = scan.left[i]
        g = scan.new[scan.number[i]]
        if g >= 0:
            class_of[t] = g
        else:
            scan.left[kept] = t
            kept += 1
    return kept

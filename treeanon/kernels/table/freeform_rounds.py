"""Rounds of greedy choices: in each, every tuple is given one more original to cover, and every original to one tuple.

Rows that are the same in all columns are of one class; a choice looks at classes, not at rows.

Last, random perfect matchings of a regular bipartite graph, by random walks.
After Goel, Kapralov, Khanna (Perfect matchings in O(n log n) time in regular bipartite graphs, STOC 2010): from a tuple
without an original, a walk takes a random edge to an original, and from there the one edge of the matching back, until
it comes to an original that is free. In a regular graph that is expected to be soon.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Floats, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.table.freeform_prices import Prices, fill_steps

_NONE = -1


class Free(NamedTuple):
    """The originals that no tuple has been given yet in a round, by class.

    Those of class c are rows[starts[c]:starts[c] + left[c]], and place[i] is where original i lies; cells[c] are the
    values of the class, by number. The first alive[0] of `classes` are those that may have any left.
    """

    starts: Ints
    left: Ints
    rows: Ints
    place: Ints
    of: Ints
    cells: Ints
    classes: Ints
    alive: Longs


class Round(NamedTuple):
    """A round under way: edges[j, :number] are what tuple j covers already, edges[j, number] what it is given, and
    taker[i] is the tuple that original i is given to; -1 where that is none yet.
    """

    edges: Ints
    taker: Ints
    number: int


@njit
def all_free(of: Ints, cells: Ints) -> Free:
    """Return all originals, the class of each of which is given; classes are numbered as they come first."""
    rows = len(of)
    classes = of.max() + 1 if rows else 0
    starts = np.zeros(classes + 1, np.int32)
    for i in range(rows):
        starts[of[i] + 1] += 1
    for c in range(classes):
        starts[c + 1] += starts[c]
    left = np.zeros(classes, np.int32)
    own = np.empty(rows, np.int32)
    place = np.empty(rows, np.int32)
    class_cells = np.empty((classes, cells.shape[1]), np.int32)
    for i in range(rows):
        c = of[i]
        place[i] = starts[c] + left[c]
        own[place[i]] = i
        left[c] += 1
        class_cells[c] = cells[i]
    listed = np.arange(classes).astype(np.int32)
    return Free(starts, left, own, place, of, class_cells, listed, np.array([classes], np.int64))


@njit
def _renew(free: Free) -> None:
    """Make all originals free again."""
    for c in range(len(free.left)):
        free.left[c] = free.starts[c + 1] - free.starts[c]
        free.classes[c] = c
    free.alive[0] = len(free.left)


@njit
def _take(free: Free, original: int) -> None:
    """An original is no longer free."""
    c = free.of[original]
    free.left[c] -= 1
    last = free.starts[c] + free.left[c]
    other, at = free.rows[last], free.place[original]
    free.rows[at], free.rows[last] = other, original
    free.place[other], free.place[original] = at, last


@njit
def _forget_empty(free: Free) -> None:
    """Take the classes without a free original off the list, in whose order the others stay."""
    kept = 0
    for a in range(free.alive[0]):
        if free.left[free.classes[a]] > 0:
            free.classes[kept] = free.classes[a]
            kept += 1
    free.alive[0] = kept


@njit
def may_cover(edges: Ints, count: int, j: int, original: int) -> bool:
    """Return whether a tuple that covers `count` originals does not cover this one yet."""
    for e in range(count):
        if edges[j, e] == original:
            return False
    return True


@njit
def _give(now: Round, j: int, original: int) -> None:
    now.edges[j, now.number] = original
    now.taker[original] = j


@njit
def _cheapest(prices: Prices, free: Free, now: Round, j: int, steps: Floats) -> tuple[float, int]:
    """Return the free original that costs a tuple least, and what; -1 if it covers all that there are."""
    fill_steps(prices, now.edges[j], now.number, steps)
    best, found = np.inf, _NONE
    empty = 0
    for a in range(free.alive[0]):
        c = free.classes[a]
        if free.left[c] == 0:
            empty += 1
            continue
        cost = 0.0
        for column in range(free.cells.shape[1]):
            cost += steps[free.cells[c, column]]
            if cost >= best:
                break
        if cost >= best:
            continue
        for at in range(free.starts[c], free.starts[c] + free.left[c]):
            if may_cover(now.edges, now.number, j, free.rows[at]):
                best, found = cost, free.rows[at]
                break
        if best <= 0.0:
            break
    # Classes without rows left are dropped when they are a quarter: that keeps the passes short.
    if 4 * empty > free.alive[0]:
        _forget_empty(free)
    return best, found


@njit
def _step_back(free: Free, now: Round, done: Longs, count: int, j: int) -> int:
    """Give a tuple that covers all free originals already that of another one, which takes a free one instead.

    The others are asked in turn, the last of done[:count] first. Returns how many of them were; -1 if in vain.
    """
    for back in range(1, count + 1):
        other = done[count - back]
        original = now.edges[other, now.number]
        if not may_cover(now.edges, now.number, j, original):
            continue
        for a in range(free.alive[0]):
            c = free.classes[a]
            for at in range(free.starts[c], free.starts[c] + free.left[c]):
                instead = free.rows[at]
                if may_cover(now.edges, now.number, other, instead):
                    _give(now, other, instead)
                    _give(now, j, original)
                    _take(free, instead)
                    return back
    return _NONE


@njit
def _pass_on(free: Free, now: Round, j: int) -> None:
    """The same by as many others as it takes, each of which takes the original of the next: a shortest such chain.

    There is one: a tuple may cover as many originals as there are tuples that may cover an original, all the same.
    """
    rows = len(now.edges)
    came = np.full(rows, _NONE, np.int32)
    queue = np.empty(rows, np.int32)
    # Breadth first: the first chain that ends with a free original is a shortest one.
    queue[0] = j
    filled, at = 1, 0
    while at < filled:
        tuple_ = queue[at]
        at += 1
        for original in range(rows):
            if came[original] >= 0 or not may_cover(now.edges, now.number, tuple_, original):
                continue
            came[original] = tuple_
            if now.taker[original] < 0:
                _take(free, original)
                _move(now, came, j, original)
                return
            queue[filled] = now.taker[original]
            filled += 1


@njit
def _move(now: Round, came: Ints, j: int, original: int) -> None:
    """Move the originals of a chain that begins with a tuple and ends with a free original."""
    while True:
        taker = came[original]
        former = now.edges[taker, now.number]
        _give(now, taker, original)
        if taker == j:
            return
        original = former


@njit
def _escape(free: Free, now: Round, done: Longs, count: int, j: int, counts: Longs) -> None:
    """Give a tuple an original out of a dead end."""
    counts[0] += 1
    back = _step_back(free, now, done, count, j)
    if back > 0:
        counts[1] = max(counts[1], back)
        return
    counts[2] += 1
    _pass_on(free, now, j)


@njit
def _begun(free: Free, edges: Ints, number: int) -> Round:
    """Return a round in which all originals are free."""
    _renew(free)
    edges[:, number] = _NONE
    return Round(edges, np.full(len(edges), _NONE, np.int32), number)


@njit
def greedy_rounds(prices: Prices, free: Free, order: Longs, edges: Ints, counts: Longs) -> None:
    """Fill the edges, of which the first column is there: round by round, tuple by tuple in the order, by the free
    original that costs least.

    counts: how often there was a dead end, how many tuples were gone back at most, and how often that was not enough.
    """
    steps = np.empty(len(prices.held), np.float64)
    for number in range(1, edges.shape[1]):
        now = _begun(free, edges, number)
        for at in range(len(order)):
            j = order[at]
            original = _cheapest(prices, free, now, j, steps)[1]
            if original >= 0:
                _take(free, original)
                _give(now, j, original)
            else:
                _escape(free, now, order, at, j, counts)


@njit
def sorted_rounds(prices: Prices, free: Free, edges: Ints, counts: Longs) -> None:
    """The same, round by round, by the edge that costs least of all; of those that cost the same by the first tuple's.

    A heap has the edge of every tuple that cost least when it was looked at. What others take away makes it cost more.
    """
    steps = np.empty(len(prices.held), np.float64)
    rows = len(edges)
    for number in range(1, edges.shape[1]):
        now = _begun(free, edges, number)
        heap = [(0.0, 0, 0) for _ in range(0)]
        done, count = np.empty(rows, np.int64), 0
        for tuple_ in range(rows):
            cost, original = _cheapest(prices, free, now, tuple_, steps)
            heapq.heappush(heap, (cost, tuple_, original))
        while len(heap) > 0:
            cost, j, original = heapq.heappop(heap)
            if original >= 0 and now.taker[original] >= 0:
                # What it would have taken is gone: its cost is only known anew, and may no longer be the least of all.
                again, original = _cheapest(prices, free, now, j, steps)
                if again > cost:
                    heapq.heappush(heap, (again, j, original))
                    continue
            if original >= 0:
                _take(free, original)
                _give(now, j, original)
            else:
                _escape(free, now, done, count, j, counts)
            done[count] = j
            count += 1


Draws = npt.NDArray[np.uint32]


@njit
def go_on_matching(edges: Ints, degree: int, order: Longs, first: int, owner: Ints, slot: Ints, draws: Draws) -> int:
    """Give the tuples order[first:] an original each, of the first `degree` of their edges; return for how many tuples
    of the order the draws have sufficed.

    owner[i] is the tuple that original i is given to, or -1, and slot[j] the edge by which tuple j has its own. There
    must be as many draws at least as there are tuples, for a walk to come to its end.
    """
    used = 0
    via = np.empty(len(edges), np.int32)
    for at in range(first, len(order)):
        start = order[at]
        tuple_ = start
        while True:
            if used == len(draws):
                return at
            edge = np.int64((np.uint64(draws[used]) * np.uint64(degree)) >> np.uint64(32))
            used += 1
            if edge == slot[tuple_]:
                continue
            # Where the walk comes again, what it did in between is forgotten.
            via[tuple_] = edge
            above = owner[edges[tuple_, edge]]
            if above < 0:
                break
            tuple_ = above
        # Along the walk every tuple takes the original that it left by.
        tuple_ = start
        while True:
            original = edges[tuple_, via[tuple_]]
            above = owner[original]
            owner[original] = tuple_
            slot[tuple_] = via[tuple_]
            if above < 0:
                break
            tuple_ = above
    return len(order)


@njit
def set_aside(edges: Ints, degree: int, slot: Ints) -> None:
    """Move every tuple's edge of the matching behind its first `degree` - 1."""
    for j in range(len(edges)):
        last = degree - 1
        edges[j, slot[j]], edges[j, last] = edges[j, last], edges[j, slot[j]]


@njit
def component_of(edges: Ints) -> tuple[Ints, int]:
    """Return the connected part of the graph that every tuple belongs to, and how many there are."""
    above = np.arange(len(edges)).astype(np.int32)
    first = np.full(len(edges), -1, np.int32)
    for j in range(len(edges)):
        for e in range(edges.shape[1]):
            original = edges[j, e]
            if first[original] < 0:
                first[original] = j
                continue
            a, b = np.int32(j), first[original]
            while above[a] != a:
                above[a] = above[above[a]]
                a = above[a]
            while above[b] != b:
                above[b] = above[above[b]]
                b = above[b]
            # The lesser one is the root, so that a tuple never comes before its own.
            above[max(a, b)] = min(a, b)
    parts = 0
    number = np.empty(len(edges), np.int32)
    for j in range(len(edges)):
        if above[j] == j:
            number[j] = parts
            parts += 1
        else:
            number[j] = number[above[j]]
    return number, parts

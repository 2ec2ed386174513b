"""Rounds of greedy choices: in each, every tuple is given one more original to cover, and every original to one tuple.

Rows that are the same in all columns are of one class; a choice looks at classes, not at rows.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from treeanon.kernels.freeform_prices import Floats, Prices, fill_steps
from treeanon.kernels.jit import njit
from treeanon.kernels.trees import Ints, Longs

_NONE = -1
_TRIED_A_ROW = 5


class Rule(NamedTuple):
    """What k originals must be like: no value of `values`, by row, more than `most` times, and `least` different ones.

    It is a rule for the k originals of each tuple, and for the k values that an original is seen among.
    """

    values: Ints
    most: int
    least: int


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
    """A round under way: edges[j, :number] are what tuple j covers already, edges[j, number] what it is given, or -1;
    takers[i] are the tuples that original i has been given to in each of the rounds, or -1.
    """

    edges: Ints
    takers: Ints
    number: int


@njit
def all_free(of: Ints, cells: Ints) -> Free:
    """All originals, the class of each of which is given; classes are numbered as they come first."""
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
    """Makes all originals free again."""
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
    """Takes the classes without a free original off the list, in whose order the others stay."""
    kept = 0
    for a in range(free.alive[0]):
        if free.left[free.classes[a]] > 0:
            free.classes[kept] = free.classes[a]
            kept += 1
    free.alive[0] = kept


@njit
def asks_nothing(rule: Rule, k: int) -> bool:
    """Whether any k originals will do."""
    return rule.most >= k and rule.least <= 1


@njit
def may_cover(edges: Ints, count: int, j: int, original: int, rule: Rule) -> bool:
    """Whether a tuple that covers `count` originals may cover this one too: a new one that the rule allows."""
    for e in range(count):
        if edges[j, e] == original:
            return False
    k = edges.shape[1]
    if asks_nothing(rule, k):
        return True
    same, distinct = 0, 0
    for e in range(count):
        value = rule.values[edges[j, e]]
        same += value == rule.values[original]
        is_new = True
        for before in range(e):
            is_new &= rule.values[edges[j, before]] != value
        distinct += is_new
    if same + 1 > rule.most:
        return False
    return same == 0 or bool(distinct + k - count - 1 >= rule.least)


@njit
def _seen_well(now: Round, i: int, r: int, rule: Rule) -> bool:
    """Whether the values that an original is seen among do not break the rule yet, were the r-th round the true one:
    its tuples then show the values of the originals that they were given in that round, and one of them its own.
    """
    known, distinct = 0, 0
    for t in range(-1, now.number + 1):
        shown = _shown(now, i, t, r)
        if shown < 0:
            continue
        same = 0
        for before in range(-1, t):
            other = _shown(now, i, before, r)
            same += other >= 0 and rule.values[other] == rule.values[shown]
        if same >= rule.most:
            return False
        known += 1
        distinct += 1 if same == 0 else 0
    return bool(distinct + now.edges.shape[1] - known >= rule.least)


@njit
def _shown(now: Round, i: int, t: int, r: int) -> int:
    """The original whose value is shown, were the r-th round true, by the tuple that was given original i in round t;
    -1 if there is none yet. Number -1 stands for the tuple that will have it in the r-th round, as long as none has.
    """
    if t < 0:
        return i if now.takers[i, r] < 0 else _NONE
    tuple_ = now.takers[i, t]
    return now.edges[tuple_, r] if tuple_ >= 0 else _NONE


@njit
def _all_seen_well(now: Round, j: int, rule: Rule) -> bool:
    """Whether all originals are whose view has changed with what a tuple was given in this round."""
    if asks_nothing(rule, now.edges.shape[1]):
        return True
    original = now.edges[j, now.number]
    for r in range(now.number + 1):
        if not _seen_well(now, original, r, rule):
            return False
    for t in range(now.number):
        if not _seen_well(now, now.edges[j, t], now.number, rule):
            return False
    return True


@njit
def _suits(now: Round, j: int, original: int, rule: Rule) -> bool:
    """Whether a tuple without one may be given a free original."""
    if not may_cover(now.edges, now.number, j, original, rule):
        return False
    if asks_nothing(rule, now.edges.shape[1]):
        return True
    _give(now, j, original)
    fine = _all_seen_well(now, j, rule)
    now.edges[j, now.number] = _NONE
    now.takers[original, now.number] = _NONE
    return fine


@njit
def _give(now: Round, j: int, original: int) -> None:
    now.edges[j, now.number] = original
    now.takers[original, now.number] = j


@njit
def _cheapest(prices: Prices, free: Free, now: Round, j: int, rule: Rule, steps: Floats) -> tuple[float, int]:
    """The free original that costs a tuple least, and what; -1 if there is none that it may cover."""
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
            if _suits(now, j, free.rows[at], rule):
                best, found = cost, free.rows[at]
                break
        if best <= 0.0:
            break
    if 4 * empty > free.alive[0]:
        _forget_empty(free)
    return best, found


@njit
def _exchanged(now: Round, j: int, other: int, instead: int, rule: Rule) -> bool:
    """Gives a tuple the original of another one, and that one a free original, if both may be."""
    original = now.edges[other, now.number]
    if not may_cover(now.edges, now.number, other, instead, rule):
        return False
    _give(now, other, instead)
    _give(now, j, original)
    if _all_seen_well(now, j, rule) and _all_seen_well(now, other, rule):
        return True
    now.edges[j, now.number] = _NONE
    now.takers[instead, now.number] = _NONE
    _give(now, other, original)
    return False


@njit
def _step_back(free: Free, now: Round, done: Longs, count: int, j: int, rule: Rule) -> int:
    """Gives a tuple that may cover no free original that of another one, which takes a free one instead.

    The others are asked in turn, the last of done[:count] first. Returns how many of them were; -1 if in vain.
    """
    tried = 0
    for back in range(1, count + 1):
        other = done[count - back]
        original = now.edges[other, now.number]
        if not may_cover(now.edges, now.number, j, original, rule):
            continue
        for a in range(free.alive[0]):
            c = free.classes[a]
            for at in range(free.starts[c], free.starts[c] + free.left[c]):
                tried += 1
                # Without a rule, few others are asked; with one, there need not be any that will do.
                if tried > _TRIED_A_ROW * len(now.edges):
                    return _NONE
                if _exchanged(now, j, other, free.rows[at], rule):
                    _take(free, now.edges[other, now.number])
                    return back
    return _NONE


@njit
def _pass_on(free: Free, now: Round, j: int, rule: Rule) -> bool:
    """The same by as many others as it takes, each of which takes the original of the next: a shortest such chain."""
    rows = len(now.edges)
    came = np.full(rows, _NONE, np.int32)
    queue = np.empty(rows, np.int32)
    queue[0] = j
    filled, at = 1, 0
    while at < filled:
        tuple_ = queue[at]
        at += 1
        for original in range(rows):
            if came[original] >= 0 or not may_cover(now.edges, now.number, tuple_, original, rule):
                continue
            came[original] = tuple_
            if now.takers[original, now.number] >= 0:
                queue[filled] = now.takers[original, now.number]
                filled += 1
            else:
                _take(free, original)
                return _moved(now, came, j, original, rule)
    return False


@njit
def _moved(now: Round, came: Ints, j: int, original: int, rule: Rule) -> bool:
    """Moves the originals of a chain that ends with a free one; whether the rule is kept then."""
    chain = [j for _ in range(0)]
    while True:
        taker = came[original]
        former = now.edges[taker, now.number]
        _give(now, taker, original)
        chain.append(int(taker))
        if taker == j:
            break
        original = former
    for tuple_ in chain:
        if not _all_seen_well(now, tuple_, rule):
            return False
    return True


@njit
def _escape(free: Free, now: Round, done: Longs, count: int, j: int, rule: Rule, counts: Longs) -> bool:
    """Gives a tuple an original out of a dead end; false if there is no way."""
    counts[0] += 1
    back = _step_back(free, now, done, count, j, rule)
    if back > 0:
        counts[1] = max(counts[1], back)
        return True
    counts[2] += 1
    return _pass_on(free, now, j, rule)


@njit
def _begun(edges: Ints) -> Ints:
    """The tuples that originals are given to, and the edges, before the first round: every tuple has one original."""
    edges[:, 1:] = _NONE
    takers = np.full(edges.shape, _NONE, np.int32)
    for j in range(len(edges)):
        takers[edges[j, 0], 0] = j
    return takers


@njit
def greedy_rounds(prices: Prices, free: Free, order: Longs, rule: Rule, edges: Ints, counts: Longs) -> bool:
    """Fills the edges, of which the first column is there: round by round, tuple by tuple in the order, by the free
    original that costs least. False if the rule leaves no way.

    counts: how often there was a dead end, how many tuples were gone back at most, and how often that was not enough.
    """
    steps = np.empty(len(prices.held), np.float64)
    takers = _begun(edges)
    for number in range(1, edges.shape[1]):
        _renew(free)
        now = Round(edges, takers, number)
        for at in range(len(order)):
            j = order[at]
            original = _cheapest(prices, free, now, j, rule, steps)[1]
            if original >= 0:
                _take(free, original)
                _give(now, j, original)
            elif not _escape(free, now, order, at, j, rule, counts):
                return False
    return True


@njit
def sorted_rounds(prices: Prices, free: Free, rule: Rule, edges: Ints, counts: Longs) -> bool:
    """The same, round by round, by the edge that costs least of all; of those that cost the same by the first tuple's.

    A heap has the edge of every tuple that cost least when it was looked at. What others take away makes it cost more.
    """
    steps = np.empty(len(prices.held), np.float64)
    takers = _begun(edges)
    rows = len(edges)
    for number in range(1, edges.shape[1]):
        _renew(free)
        now = Round(edges, takers, number)
        heap = [(0.0, 0, 0) for _ in range(0)]
        done, count = np.empty(rows, np.int64), 0
        for tuple_ in range(rows):
            cost, original = _cheapest(prices, free, now, tuple_, rule, steps)
            heapq.heappush(heap, (cost, tuple_, original))
        while len(heap) > 0:
            cost, j, original = heapq.heappop(heap)
            if original >= 0 and not (takers[original, number] < 0 and _suits(now, j, original, rule)):
                again, original = _cheapest(prices, free, now, j, rule, steps)
                if again > cost:
                    heapq.heappush(heap, (again, j, original))
                    continue
            if original >= 0:
                _take(free, original)
                _give(now, j, original)
            elif not _escape(free, now, done, count, j, rule, counts):
                return False
            done[count] = j
            count += 1
    return True

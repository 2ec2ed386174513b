"""A walk of the default search between two looks at the records: what is offered, refused, and safe by known supports.

A walk tries one label after another, the most urgent first. Most are refused by what is known of pairs of labels, and
whole sets of siblings are safe by the same; only for the rest has somebody to count records. `walk_on` goes on until
that is so, and says which label it waits for.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.kernels.jit import njit

Table = npt.NDArray[np.int32]
Marks = npt.NDArray[np.bool_]
"""A table of pairs of labels."""

Hierarchies = tuple[Ints, Ints, Longs, Ints, Flags, Flags, Floats]
"""Of every label: the end of its subtree, its records, where its children start, all children; whether it may be
replaced by them, whether it occurs itself; and what it loses."""

Known = tuple[Ints, Marks, Marks, Table, Table]
"""Of pairs of labels, whatever else is published: the number of each label in the tables (-1: not there), whether two
are too rare beside each other, the same with relations passed over; the records that hold both, and each relation."""

Lessons = tuple[Longs, Ints, Longs, Ints, Flags]
"""Sets of labels that are rare together: those of each label, and the labels of each; whether that is certain."""

Asked = tuple[Floats, Floats, Flags, float, int, int, int, bool, bool, bool, int]
"""What each label is worth, a factor of it, which are dear and their price; k, the most labels, the kinds of relations;
whether only certain lessons count, whether every label is to be waited for, and those that pairs allow; most steps."""

Published = tuple[Ints, Ints, Ints, Longs, Table, Table, Flags, Flags, Flags]
"""The slot of every label; of every slot its label and, in `free`, those without; records, and the pairs of both kinds;
which labels are published, which with all below them, and which of the tables'."""

Cost = tuple[Floats, Floats, int]
"""What a record that publishes a label counts, what of it is lost, the relations there are; empty: not asked for."""

Way = tuple[Floats, Ints, Floats, Flags, Flags, Ints]
"""The labels that wait, as a heap; what each gains; which are in the cut, which were replaced; those refused."""

WAITING, STEPS, BEST, REFUSED, LABEL, SLOTS, FREE, RELATIONS = range(8)
"""Places in the state: how many wait, steps made, the step that cost least, how many were refused, the label that is
waited for; slots in use, how many of them are free, and the relations of all records."""

END, ASK = 0, 1
NO, YES, BEGIN, FIRST, OPEN = range(5)
"""What became of the label that was waited for; that a phase begins, or the first; what pairs alone do not tell."""


@njit
def _push(way: Way, state: Longs, urgency: float, label: int) -> None:
    key, waiting = way[0], way[1]
    at = state[WAITING]
    state[WAITING] += 1
    while at > 0:
        up = (at - 1) >> 1
        if key[up] > urgency or (key[up] == urgency and waiting[up] < label):
            break
        key[at], waiting[at] = key[up], waiting[up]
        at = up
    key[at], waiting[at] = urgency, label


@njit
def _pop(way: Way, state: Longs) -> int:
    """Take out the most urgent label; of equals the first."""
    key, waiting = way[0], way[1]
    label = int(waiting[0])
    state[WAITING] -= 1
    size = state[WAITING]
    urgency, last = key[size], waiting[size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        other = child + 1
        if other < size and (key[other] > key[child] or (key[other] == key[child] and waiting[other] < waiting[child])):
            child = other
        if urgency > key[child] or (urgency == key[child] and last < waiting[child]):
            break
        key[at], waiting[at] = key[child], waiting[child]
        at = child
    key[at], waiting[at] = urgency, last
    return label


@njit
def note_step(published: Published, cost: Cost, state: Longs, least: Floats) -> None:
    """Note what is published now, if it costs less than anything before; of equals the finest."""
    state[STEPS] += 1
    if len(cost[0]) == 0:
        state[BEST] = state[STEPS]
        return
    node, held = published[1], published[3]
    whole = lost = 0.0
    for s in range(state[SLOTS]):
        if node[s] >= 0:
            whole += cost[0][node[s]] * held[s]
            lost += cost[1][node[s]] * held[s]
    total = lost / whole if whole > 0 else 1.0
    if cost[2] > 0:
        total += 1 - state[RELATIONS] / cost[2]
    # Sums of the same may differ in their last digits.
    if total <= least[0] + 1e-12:
        least[0] = min(least[0], total)
        state[BEST] = state[STEPS]


@njit
def _offer(hierarchies: Hierarchies, asked: Asked, published: Published, way: Way, state: Longs, label: int) -> None:
    """Offer a label to be let out of the one that it is published as."""
    slot, node = published[0], published[1]
    if slot[label] < 0:
        return
    held, loss = hierarchies[1], hierarchies[6]
    gain = held[label] * (loss[node[slot[label]]] - loss[label])
    way[2][label] = gain
    _push(way, state, gain * asked[0][label] * asked[1][label] if gain > 0 else np.inf, label)


@njit
def _offer_split(hierarchies: Hierarchies, asked: Asked, way: Way, state: Longs, label: int) -> None:
    """Offer a label to be replaced by all of its children."""
    _, held, starts, children, splits, _, loss = hierarchies
    if not splits[label]:
        return
    gain = 0.0
    for i in range(starts[label], starts[label + 1]):
        gain += held[children[i]] * (loss[label] - loss[children[i]])
    way[2][label] = gain
    _push(way, state, gain * asked[0][label] * asked[1][label] if gain > 0 else np.inf, label)


@njit
def _rare_beside(
    known: Known, lessons: Lessons, asked: Asked, published: Published, label: int, but: int, priced: bool
) -> bool:
    """Return whether a label is known to be too rare beside what is published, `but` one label aside."""
    is_published, there = published[6], published[8]
    starts, listed, node_starts, nodes, always = lessons
    if not priced:
        for i in range(starts[label], starts[label + 1]):
            lesson = listed[i]
            every = always[lesson] or not asked[7]
            for j in range(node_starts[lesson], node_starts[lesson + 1]):
                x = nodes[j]
                every = every and (x == label or (is_published[x] and x != but))
            if every:
                return True
    number = known[0]
    if len(there) == 0 or number[label] < 0:
        return False
    row = (known[2] if priced else known[1])[number[label]]
    aside = number[but] if but >= 0 else -1
    for j in range(len(there)):
        if there[j] and row[j] and j != aside:
            return True
    return False


@njit
def _is_known(known: Known, published: Published, slots: int, label: int, but: int) -> bool:
    """Return whether all published labels that a label meets are plain hierarchy nodes, one label aside."""
    node, is_plain = published[1], published[7]
    number, shared = known[0], known[3]
    for s in range(slots):
        x = node[s]
        if x >= 0 and x != but and not (is_plain[x] and number[x] >= 0):
            if number[x] < 0 or shared[number[label], number[x]] > 0:
                return False
    return True


@njit
def _can_split(
    hierarchies: Hierarchies,
    known: Known,
    lessons: Lessons,
    asked: Asked,
    published: Published,
    state: Longs,
    label: int,
) -> int:
    """Return whether a label can be replaced by its children: NO, YES, or OPEN."""
    _, held, starts, children, _, own, _ = hierarchies
    k, most = asked[4], asked[5]
    number = known[0]
    first, last = starts[label], starts[label + 1]
    if state[SLOTS] - state[FREE] + last - first + own[label] > most:
        return NO
    certain = len(published[8]) > 0 and not asked[9] and not own[label]
    # No new slot may need larger tables.
    certain = certain and state[SLOTS] + last - first <= len(published[1])
    for i in range(first, last):
        if held[children[i]] < k or _rare_beside(known, lessons, asked, published, children[i], label, False):
            return NO
        for j in range(first, i if len(number) > 0 else first):
            a, b = number[children[i]], number[children[j]]
            if a >= 0 and b >= 0 and known[1][a, b]:
                return NO
    for i in range(first, last):
        certain = certain and _is_known(known, published, state[SLOTS], children[i], label)
    return YES if certain else OPEN


@njit
def _clear(published: Published, state: Longs, s: int) -> None:
    """Give a slot up."""
    node, free, held, shared, related = published[1], published[2], published[3], published[4], published[5]
    node[s] = -1
    held[s] = 0
    for y in range(state[SLOTS]):
        for d in range(related.shape[2]):
            state[RELATIONS] -= related[s, y, d]
            related[s, y, d] = related[y, s, d] = 0
        shared[s, y] = shared[y, s] = 0
    free[state[FREE]] = s
    state[FREE] += 1


@njit
def _split(hierarchies: Hierarchies, known: Known, published: Published, state: Longs, label: int) -> None:
    """Replace a label by its children, of which all that they share with others is known."""
    slot, node, free, held, shared, related, is_published, is_plain, there = published
    end, records, starts, children = hierarchies[0], hierarchies[1], hierarchies[2], hierarchies[3]
    number = known[0]
    whole = slot[label]
    node[whole] = -1
    is_published[label] = is_plain[label] = there[number[label]] = False
    slot[label : end[label]] = -1
    for i in range(starts[label], starts[label + 1]):
        child = children[i]
        if state[FREE] > 0:
            state[FREE] -= 1
            s = free[state[FREE]]
        else:
            s = state[SLOTS]
            state[SLOTS] += 1
        own = number[child]
        for y in range(state[SLOTS]):
            if node[y] < 0:
                continue
            other = number[node[y]]
            shared[s, y] = shared[y, s] = known[3][own, other]
            for d in range(related.shape[2]):
                related[s, y, d] = related[y, s, d] = known[4][own, other, d]
                state[RELATIONS] += related[s, y, d]
        node[s], held[s] = child, records[child]
        is_published[child] = is_plain[child] = there[own] = True
        slot[child : end[child]] = s
    _clear(published, state, whole)


@njit
def _begin(
    splitting: bool, hierarchies: Hierarchies, asked: Asked, published: Published, way: Way, state: Longs
) -> None:
    """Offer what can be tried first."""
    slot, node, is_published, is_plain = published[0], published[1], published[6], published[7]
    starts, children = hierarchies[2], hierarchies[3]
    state[WAITING] = 0
    for label in range(len(slot)):
        if splitting:
            if way[3][label] and is_plain[label]:
                _offer_split(hierarchies, asked, way, state, label)
        elif is_published[label]:
            for i in range(starts[label], starts[label + 1]):
                child = children[i]
                if slot[child] >= 0 and node[slot[child]] == label:
                    _offer(hierarchies, asked, published, way, state, child)


@njit
def walk_on(
    splitting: bool,
    answer: int,
    hierarchies: Hierarchies,
    known: Known,
    lessons: Lessons,
    asked: Asked,
    published: Published,
    cost: Cost,
    way: Way,
    state: Longs,
    least: Floats,
) -> int:
    """Go on with a walk until nothing waits (END), or until a label has to be tried on the records (ASK).

    `splitting`: labels are replaced by all of their children; else they are let out beside what is published. `answer`
    says what became of the label that was waited for, or which phase begins.
    """
    starts, children = hierarchies[2], hierarchies[3]
    _, _, gain, in_cut, was_split, refused = way
    if answer == FIRST:
        note_step(published, cost, state, least)
    if answer >= BEGIN:
        _begin(splitting, hierarchies, asked, published, way, state)
        state[LABEL] = -1
    while True:
        label = state[LABEL]
        if label >= 0:
            if answer == YES:
                in_cut[label] = not splitting
                was_split[label] = splitting
                note_step(published, cost, state, least)
            else:
                refused[state[REFUSED]] = label
                state[REFUSED] += 1
            for i in range(starts[label], starts[label + 1]):
                if not splitting:
                    _offer(hierarchies, asked, published, way, state, children[i])
                elif answer == YES:
                    in_cut[children[i]] = True
                    _offer_split(hierarchies, asked, way, state, children[i])
        state[LABEL] = -1
        if state[WAITING] == 0 or state[STEPS] >= asked[10]:
            return END
        label = state[LABEL] = _pop(way, state)
        if asked[8]:
            return ASK
        if splitting:
            answer = _can_split(hierarchies, known, lessons, asked, published, state, label)
            if answer == YES:
                _split(hierarchies, known, published, state, label)
        else:
            priced = asked[2][label] and int(gain[label] * asked[3]) > 0
            answer = OPEN
            if (
                hierarchies[1][label] < asked[4]
                or state[SLOTS] - state[FREE] >= asked[5]
                or _rare_beside(known, lessons, asked, published, label, -1, priced)
            ):
                answer = NO
        if answer == OPEN:
            return ASK

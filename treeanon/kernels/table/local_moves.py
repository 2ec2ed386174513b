"""Loops of local recoding that put tuples into classes that there are: the last ones, and some better off there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treeanon.arrays import Flags, Floats, Ints, Longs
from treeanon.kernels.jit import for_rows, njit

_GAIN = 1e-9


class LocalTuples(NamedTuple):
    """Tuples as rows of `codes` with how many table rows they are, and the columns' nodes, as `local` has them.

    What is said of the nodes of column c lies from base[c] on: parents (the root's is itself), ends, costs a row.
    """

    codes: Ints
    weights: Longs
    base: Longs
    parents: Ints
    ends: Ints
    costs: Floats


class Classes(NamedTuple):
    """The class of each tuple, and what there is of each class: an empty one has no rows and stays so.

    `nodes` are the lowest above its tuples, `costs` what they cost a row, `sizes` its rows; its tuples are heads[g],
    then after[t] for as long as that is one.
    """

    of: Ints
    nodes: Ints
    sizes: Longs
    costs: Floats
    heads: Ints
    after: Ints


@njit
def _above(a: int, b: int, at: int, data: LocalTuples) -> int:
    """Return the lowest node above two of a column, whose nodes start at `at`."""
    low, high = min(a, b), max(a, b)
    while data.ends[at + low] <= high:
        low = data.parents[at + low]
    return low


def described(class_of: Ints, count: int, data: LocalTuples) -> Classes:
    """Return the classes that tuples are in; `class_of` becomes theirs."""
    found = Classes(
        class_of,
        np.zeros((count, data.codes.shape[1]), np.int32),
        np.zeros(count, np.int64),
        np.zeros(count, np.float64),
        np.full(count, -1, np.int32),
        np.full(len(class_of), -1, np.int32),
    )
    for_rows(_put_all, len(class_of))(data, found)
    return found


@njit
def _put_all(data: LocalTuples, classes: Classes) -> None:
    for t in range(len(classes.of)):
        if classes.of[t] >= 0:
            _put(t, classes.of[t], data, classes)


@njit
def _put(t: int, g: int, data: LocalTuples, classes: Classes) -> None:
    """Put a tuple into a class."""
    cost = 0.0
    for c in range(data.codes.shape[1]):
        at, code = data.base[c], data.codes[t, c]
        node = code if classes.sizes[g] == 0 else _above(classes.nodes[g, c], code, at, data)
        classes.nodes[g, c] = node
        cost += data.costs[at + node]
    classes.costs[g] = cost
    classes.sizes[g] += data.weights[t]
    classes.after[t] = classes.heads[g]
    classes.heads[g] = t
    classes.of[t] = g


@njit
def _cheapest(
    codes: Ints, weight: int, own: int, limit: float, data: LocalTuples, classes: Classes
) -> tuple[int, float]:
    """Return the class but `own` that rows with these codes cost least to join, all rows told; -1 if none is below
    `limit`.
    """
    best = -1
    for g in range(len(classes.sizes)):
        size = classes.sizes[g]
        more = weight * classes.costs[g]
        if more >= limit or size == 0 or g == own:
            continue
        for c in range(len(codes)):
            at, node, code = data.base[c], classes.nodes[g, c], codes[c]
            if code < node or code >= data.ends[at + node]:
                joint = _above(node, code, at, data)
                more += (size + weight) * (data.costs[at + joint] - data.costs[at + node])
                if more >= limit:
                    break
        if more < limit:
            best, limit = g, more
    return best, limit


@njit
def place_rest(rest: Ints, room: int, data: LocalTuples, classes: Classes) -> int:
    """Put each tuple of `rest` where it costs least, or leaves it out where that costs less; the room then left."""
    for t in rest:
        codes, weight = data.codes[t], data.weights[t]
        out = float(weight * len(codes)) if weight <= room else np.inf
        g, _ = _cheapest(codes, weight, -1, out, data, classes)
        if g >= 0:
            _put(t, g, data, classes)
        else:
            room -= weight
    return room


@njit
def partners(asked: Ints, data: LocalTuples, classes: Classes) -> tuple[Ints, Floats]:
    """Return for each class asked for the one that it costs least to merge with, and how much more both then cost."""
    found = np.empty(len(asked), np.int32)
    more = np.empty(len(asked), np.float64)
    for i in range(len(asked)):
        g = asked[i]
        size = classes.sizes[g]
        found[i], joint = _cheapest(classes.nodes[g], size, g, np.inf, data, classes)
        more[i] = joint - size * classes.costs[g]
    return found, more


@njit
def _without(t: int, g: int, data: LocalTuples, classes: Classes, nodes: Ints) -> float:
    """Write the nodes of a class without one of its tuples, of which it has others; what they cost a row."""
    nodes[:] = -1
    x = classes.heads[g]
    while x >= 0:
        if x != t:
            for c in range(len(nodes)):
                code = data.codes[x, c]
                nodes[c] = code if nodes[c] < 0 else _above(nodes[c], code, data.base[c], data)
        x = classes.after[x]
    cost = 0.0
    for c in range(len(nodes)):
        cost += data.costs[data.base[c] + nodes[c]]
    return cost


@njit
def _cut(t: int, g: int, classes: Classes) -> None:
    """Take a tuple out of its chain."""
    if classes.heads[g] == t:
        classes.heads[g] = classes.after[t]
        return
    x = classes.heads[g]
    while classes.after[x] != t:
        x = classes.after[x]
    classes.after[x] = classes.after[t]


@njit
def move(order: Ints, least: int, room: int, work: int, data: LocalTuples, classes: Classes) -> tuple[int, int]:
    """Move tuples, in this order, from classes that can spare them to where they cost less, or out.

    A class can spare what leaves it `least` rows. Classes are compared about `work` times. How many have moved, and the
    room that is left for those that are left out.
    """
    nodes = np.empty(data.codes.shape[1], np.int32)
    moved = 0
    for t in order:
        g, weight = classes.of[t], data.weights[t]
        if g < 0:
            continue
        size = classes.sizes[g]
        if size - weight < least or size == weight or classes.costs[g] == 0:
            continue
        if work < 0:
            break
        work -= len(classes.sizes)
        cost = _without(t, g, data, classes, nodes)
        gain = size * classes.costs[g] - (size - weight) * cost - _GAIN
        to, _ = _cheapest(data.codes[t], weight, g, gain, data, classes)
        is_out = to < 0 and weight <= room and weight * len(nodes) < gain
        if to < 0 and not is_out:
            continue
        _cut(t, g, classes)
        classes.nodes[g] = nodes
        classes.costs[g] = cost
        classes.sizes[g] -= weight
        moved += 1
        if is_out:
            classes.of[t] = -1
            room -= weight
        else:
            _put(t, to, data, classes)
    return moved, room


@njit
def dissolve(order: Ints, work: int, data: LocalTuples, classes: Classes) -> int:
    """Dissolve classes, in this order, whose tuples cost less in others; how many. See `move` for `work`."""
    done = 0
    members, to = np.empty(len(classes.of), np.int32), np.empty(len(classes.of), np.int32)
    taken = np.zeros(len(classes.sizes), np.bool_)
    for g in order:
        if classes.costs[g] == 0:
            continue
        if work < 0:
            break
        count, tried = _destinations(g, members, to, taken, data, classes)
        work -= tried * len(classes.sizes)
        for i in range(count):
            _put(members[i], to[i], data, classes)
        if count > 0:
            classes.heads[g] = -1
            classes.sizes[g] = 0
            classes.costs[g] = 0.0
            done += 1
    return done


@njit
def _destinations(
    g: int, members: Ints, to: Ints, taken: Flags, data: LocalTuples, classes: Classes
) -> tuple[int, int]:
    """Return where the tuples of a class cost less than in it: how many there are, 0 if that is nowhere; and how many
    tried.

    Each goes to another class: what one costs where another of them has gone is not known yet.
    """
    left = classes.sizes[g] * classes.costs[g] - _GAIN
    count, tried = 0, 0
    t = classes.heads[g]
    fits = True
    while t >= 0 and fits:
        tried += 1
        b, more = _cheapest(data.codes[t], data.weights[t], g, left, data, classes)
        fits = b >= 0 and not taken[b]
        if fits:
            left -= more
            taken[b] = True
            members[count], to[count] = t, b
            count += 1
            t = classes.after[t]
    for i in range(count):
        taken[to[i]] = False
    return count if fits else 0, tried

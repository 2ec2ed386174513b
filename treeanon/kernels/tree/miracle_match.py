"""Aligning the tree of a group with a person's tree: which nodes become one, and what that keeps.

Trees are lists of siblings, linked from node to node (counted over the whole forest). The tree of a group lives in the
nodes ("slots") of its first member: `rep[x]` is the label that slot x is published with, -1 if it is no more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treeanon.arrays import Floats, Ints, Longs
from treeanon.kernels.jit import njit

WIDE = 1024
"""Children are matched by what the match keeps up to so many pairs of them, beyond that in the order of labels."""

Links = tuple[Ints, Ints, Ints]
"""Per node: its first child, its next sibling (-1: none), its label."""

Work = tuple[Longs, Floats, Floats, Ints, Ints]
"""A frame per open level, room for the pairs of all levels, sums, partners of the top level and of the others."""

# What a frame holds: the pair it is at, where that pair's room is, the extent of both lists; and of wide lists the
# class they are at (counted from 1), and how many slots of it there are more than nodes.
_SLOT, _NODE, _FIRST_NODE, _AT, _BASE, _SLOTS, _NODES, _CLASS, _SURPLUS = range(9)


class Labels(NamedTuple):
    """Per label: its class (-1 for `*`), its parent, the end of its subtree, and what a node of it is worth."""

    kind: Ints
    up: Ints
    end: Ints
    worth: Floats


@njit
def link(offsets: Longs, parent: Ints) -> tuple[Ints, Ints]:
    """Return first child and next sibling of every node; -1 where there is none."""
    first_child = np.full(len(parent), -1, np.int32)
    next_sibling = np.full(len(parent), -1, np.int32)
    for r in range(len(offsets) - 1):
        base = offsets[r]
        top = -1
        for x in range(offsets[r + 1] - 1, base - 1, -1):
            if parent[x] < 0:
                next_sibling[x] = top
                top = x
            else:
                next_sibling[x] = first_child[base + parent[x]]
                first_child[base + parent[x]] = x
    return first_child, next_sibling


@njit
def lowest_common(a: int, b: int, up: Ints, end: Ints) -> int:
    """Return the lowest common ancestor of two labels of one class."""
    while not (a <= b < end[a]):
        a = up[a]
    return a


@njit
def _open(a: int, b: int, base: int, frame: Longs, next_sibling: Ints) -> None:
    """Set a frame to the first pair of the slots from a and the nodes from b on."""
    slots = 0
    x = a
    while x >= 0:
        slots += 1
        x = next_sibling[x]
    nodes = 0
    y = b
    while y >= 0:
        nodes += 1
        y = next_sibling[y]
    frame[_SLOT] = a if nodes else -1
    frame[_NODE] = frame[_FIRST_NODE] = b
    frame[_AT] = frame[_BASE] = base
    frame[_SLOTS] = slots
    frame[_NODES] = nodes
    frame[_CLASS] = -1


@njit
def _advance(frame: Longs, next_sibling: Ints) -> None:
    """Set a frame to its next pair: all pairs row by row, or one pass over both lists where they are wide."""
    frame[_NODE] = next_sibling[frame[_NODE]]
    if frame[_SLOTS] * frame[_NODES] > WIDE:
        frame[_SLOT] = next_sibling[frame[_SLOT]] if frame[_NODE] >= 0 else -1
        return
    frame[_AT] += 1
    if frame[_NODE] < 0:
        frame[_NODE] = frame[_FIRST_NODE]
        frame[_SLOT] = next_sibling[frame[_SLOT]]


@njit
def _behind(frame: Longs, links: Links, labels: Labels, rep: Ints) -> int:
    """Return which of a pair of wide lists has no partner: 1 the slot, 2 the node, 0 neither.

    Siblings are in the order of their labels: of the list with more nodes of a class what the other has passed is left
    out, as long as there are more.
    """
    _, next_sibling, label = links
    x = frame[_SLOT]
    y = frame[_NODE]
    kind = labels.kind[label[x]]
    if rep[x] < 0 or kind < labels.kind[label[y]]:
        return 1
    if kind > labels.kind[label[y]]:
        return 2
    if frame[_CLASS] != kind + 1:
        frame[_CLASS] = kind + 1
        frame[_SURPLUS] = 0
        i = x
        while i >= 0 and labels.kind[label[i]] == kind:
            frame[_SURPLUS] += rep[i] >= 0
            i = next_sibling[i]
        i = y
        while i >= 0 and labels.kind[label[i]] == kind:
            frame[_SURPLUS] -= 1
            i = next_sibling[i]
    if rep[x] <= label[y] < labels.end[rep[x]]:
        return 0
    if frame[_SURPLUS] > 0 and label[x] < label[y]:
        frame[_SURPLUS] -= 1
        return 1
    if frame[_SURPLUS] < 0 and label[x] > label[y]:
        frame[_SURPLUS] += 1
        return 2
    return 0


@njit
def _choose(frame: Longs, room: Floats, partner: Ints) -> float:
    """Return what is kept when the pair that keeps most goes first; partner[row] is the column each row is matched
    with.
    """
    base = frame[_BASE]
    slots = frame[_SLOTS]
    nodes = frame[_NODES]
    kept = 0.0
    while True:
        # Greedy: the best pair of all that are left; its row and its column are used up then.
        best = -1.0
        where = -1
        for i in range(base, base + slots * nodes):
            if room[i] > best:
                best = room[i]
                where = i - base
        if where < 0:
            return kept
        kept += best
        row = where // nodes
        column = where % nodes
        partner[row] = column
        for i in range(nodes):
            room[base + row * nodes + i] = -1.0
        for i in range(slots):
            room[base + i * nodes + column] = -1.0


@njit
def match(a: int, b: int, links: Links, labels: Labels, rep: Ints, work: Work) -> float:
    """Return what is kept of the slots a and its next siblings when matched with the nodes b and its next siblings.

    Pairs are of one class, and their parents are a pair, so each is looked at once on the way down: a frame per level,
    no recursion (numba crashes on recursive functions from its cache). work.partner has the columns of the top level
    by rows, -1 for slots without a partner.
    """
    first_child, next_sibling, label = links
    frames, room, sums, partner, unused = work
    depth = 0
    _open(a, b, 0, frames[0], next_sibling)
    sums[0] = 0.0
    partner[: frames[0, _SLOTS]] = -1
    row = 0
    column = 0
    while True:
        frame = frames[depth]
        wide = frame[_SLOTS] * frame[_NODES] > WIDE
        x = frame[_SLOT]
        y = frame[_NODE]
        # All pairs of this level are done: what it keeps is added to the pair above it.
        if x < 0:
            kept = sums[depth] if wide else _choose(frame, room, partner if depth == 0 else unused)
            depth -= 1
            if depth < 0:
                return kept
            frame = frames[depth]
            if frame[_SLOTS] * frame[_NODES] > WIDE:
                sums[depth] += kept
            else:
                room[frame[_AT]] += kept
            _advance(frame, next_sibling)
            row += depth == 0
            column += depth == 0
            continue
        value = -1.0
        # Wide lists are merged in the order of labels, in one pass.
        if wide:
            behind = _behind(frame, links, labels, rep)
            if behind == 1:
                frame[_SLOT] = next_sibling[x]
                row += depth == 0
                continue
            if behind == 2:
                frame[_NODE] = next_sibling[y]
                column += depth == 0
                if frame[_NODE] < 0:
                    frame[_SLOT] = -1
                continue
            value = labels.worth[lowest_common(rep[x], label[y], labels.up, labels.end)]
            sums[depth] += value
            if depth == 0:
                partner[row] = column
        else:
            if rep[x] >= 0 and labels.kind[label[x]] == labels.kind[label[y]]:
                value = labels.worth[lowest_common(rep[x], label[y], labels.up, labels.end)]
            room[frame[_AT]] = value
        # A pair that can be matched is worth what its children keep as well: down to them.
        if value >= 0 and first_child[x] >= 0 and first_child[y] >= 0:
            base = frame[_BASE] + (0 if wide else frame[_SLOTS] * frame[_NODES])
            depth += 1
            _open(first_child[x], first_child[y], base, frames[depth], next_sibling)
            sums[depth] = 0.0
            continue
        _advance(frame, next_sibling)
        row += depth == 0
        column += depth == 0


@njit
def work_space(offsets: Longs, levels: int) -> Work:
    """Room for matching any two records of up to so many levels."""
    biggest = 1
    for r in range(len(offsets) - 1):
        biggest = max(biggest, offsets[r + 1] - offsets[r])
    return (
        np.zeros((levels, 9), np.int64),
        np.empty(WIDE * levels, np.float64),
        np.zeros(levels, np.float64),
        np.empty(biggest, np.int32),
        np.empty(biggest, np.int32),
    )

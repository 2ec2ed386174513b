"""Traces of moved nodes: what disassociation leaves in a record for a relation that it ended.

Where a node b was moved out from below a node a and stands beside it, that is the trace `a ⋯ b`, and it counts as the
relation does. Where it stands elsewhere (its own children stayed behind, a was moved too, or b twice), nothing in the
record stands for the relation that was ended: there b is left out instead of being moved.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeanon.arrays import Flags, Longs, unique_values
from treeanon.forest import Forest
from treeanon.forest.classes import Classes

Pair = tuple[int, int]
"""An upper and a lower label."""


class Places:
    """For every node of a forest its record and its parent's place among all nodes, -1 where that is the root."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        self.record = np.repeat(np.arange(len(forest)), np.diff(forest.offsets))
        self.parent = np.where(forest.parent < 0, -1, forest.offsets[self.record] + forest.parent)

    def keys(self, upper: Longs, lower: Longs) -> Longs:
        """A number for each pair of nodes: their record and their labels."""
        label, size = self.forest.label, len(self.forest.classes)
        return unique_values((self.record[lower] * size + label[upper]) * size + label[lower])

    def relations(self) -> Longs:
        """The keys of all relations."""
        nodes = np.flatnonzero(self.parent >= 0)
        above, found = self.parent[nodes], [np.zeros(0, np.int64)]
        while len(nodes):
            found.append(self.keys(above, nodes))
            above = self.parent[above]
            nodes, above = nodes[above >= 0], above[above >= 0]
        return unique_values(np.concatenate(found))

    def traces(self) -> tuple[Longs, Longs]:
        """Pairs of nodes with one parent, the first of a class above the second's: so the second is out of place."""
        classes, label = self.forest.classes, self.forest.label
        # Where every node lies under the class that the schema says, there is nothing to look for.
        own, parents = classes.class_of[label], np.array([*classes.parents, -1], np.int32)
        stray = np.flatnonzero(parents[own] != np.where(self.parent < 0, -1, own[np.maximum(self.parent, 0)]))
        if not len(stray):
            return stray, stray
        below = np.where(self.parent < 0, -1 - self.record, self.parent)
        order = np.argsort(below, kind="stable")
        first, last = (np.searchsorted(below[order], below[stray], side) for side in ("left", "right"))
        count = last - first
        lower = np.repeat(stray, count)
        steps = np.arange(len(lower)) - np.repeat(np.cumsum(count) - count, count)
        upper = order[np.repeat(first, count) + steps]
        kept = _lies_above(classes)[classes.class_of[label[upper]], classes.class_of[label[lower]]]
        return upper[kept], lower[kept]


_PIECE = 10_000
"""Records that are looked at together: their nodes fit into the processor's cache."""


def has_traces(forest: Forest) -> bool:
    """Return whether any node is out of place beside one of a class above its own; piece by piece."""
    return any(len(Places(forest[at : at + _PIECE]).traces()[0]) for at in range(0, len(forest), _PIECE))


def with_traces(forest: Forest, ended: Longs | None = None) -> Forest:
    """The forest with a copy of b below a for every trace a ⋯ b, unless the relation itself is still there somewhere.

    What counts relations in it counts traces too. Where the forest is but a part of the records, `ended` says of which
    pairs of labels (see `pair_keys`) no relation is left in any.
    """
    if not has_traces(forest):
        return forest
    upper, lower = _traced(Places(forest), ended)
    return forest.with_leaves(upper, forest.label[lower]) if len(upper) else forest


def with_left_behind(forest: Forest) -> tuple[Forest, list[Pair]] | None:
    """The same forest where the copies of b also have what may have stayed behind when b was moved; None without such.

    That is what lies out of place below a, in classes below that of b. With the pairs of labels of which there is some.
    """
    if not has_traces(forest):
        return None
    places, classes, label = Places(forest), forest.classes, forest.label
    upper, lower = _traced(places, None)
    above = _lies_above(classes)
    children: dict[int, list[int]] = {}
    if len(upper):
        wanted = np.flatnonzero(np.isin(places.parent, upper))
        for node, parent in zip(wanted.tolist(), places.parent[wanted].tolist(), strict=True):
            children.setdefault(parent, []).append(node)
    holders, copied, pairs = upper.tolist(), label[lower].tolist(), set()
    for number, (a, b) in enumerate(zip(upper.tolist(), label[lower].tolist(), strict=True)):
        for child in children.get(a, []):
            if not above[classes.class_of[b], classes.class_of[label[child]]]:
                continue
            pairs.add((int(label[a]), b))
            copy_of = {a: forest.nodes + number}
            # A node's descendants follow it.
            for node in range(child, int(forest.offsets[places.record[child] + 1])):
                if node > child and places.parent[node] < child:
                    break
                holders.append(copy_of[int(places.parent[node])])
                copy_of[node] = forest.nodes + len(copied)
                copied.append(int(label[node]))
    if not pairs:
        return None
    return forest.with_leaves(np.array(holders, np.int64), np.array(copied, np.int32)), sorted(pairs)


def _traced(places: Places, ended: Longs | None) -> tuple[Longs, Longs]:
    """The nodes of traces of relations that were ended."""
    upper, lower = places.traces()
    if not len(upper):
        return upper, lower
    pairs = pair_keys(places.forest, upper, lower)
    related = places.relations() % len(places.forest.classes) ** 2
    traced = np.isin(pairs, ended) if ended is not None else ~np.isin(pairs, related)
    return upper[traced], lower[traced]


def _lies_above(classes: Classes) -> Flags:
    """Whether a class lies above another; the last row is of `*`, above none."""
    found = np.zeros((len(classes.names) + 1,) * 2, bool)
    for index, above in enumerate(classes.parents):
        while above >= 0:
            found[above, index] = True
            above = classes.parents[above]
    return found


def pair_keys(forest: Forest, upper: Longs, lower: Longs) -> Longs:
    """A number for the labels of each pair of nodes."""
    keys: Longs = forest.label[upper].astype(np.int64) * len(forest.classes) + forest.label[lower]
    return keys


def label_pairs(forest: Forest, traced: bool) -> Longs:
    """Return the numbers of the pairs of labels of all traces, or of all relations."""
    places = Places(forest)
    return pair_keys(forest, *places.traces()) if traced else places.relations() % len(forest.classes) ** 2


def split_moves(forest: Forest, pairs: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """The pairs of labels that can be disassociated, in their order, and those whose lower label is left out instead.

    `forest` holds the trees before anything was moved.
    """
    moves = list(pairs)
    left_out: list[Pair] = []
    known, size = Places(forest).relations(), len(forest.classes)
    while moves:
        upper, lower = np.array(moves, np.int32).T
        places = Places(forest.disassociate_labels(np.ascontiguousarray(upper), np.ascontiguousarray(lower)))
        lost = np.setdiff1d(known, np.concatenate([places.relations(), places.keys(*places.traces())]))
        ends = set(unique_values(np.concatenate([lost // size % size, lost % size])).tolist())
        wrong = {pair for pair in moves if pair[1] in ends}
        if not wrong:
            return moves, left_out
        moves = [pair for pair in moves if pair not in wrong]
        left_out += sorted(wrong)
    return moves, left_out

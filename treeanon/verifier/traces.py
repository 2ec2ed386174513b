"""Traces of what was moved: what still tells, in published trees, that a node once stood below another.

A node b beside a node a of a class above its own is the trace `a ⋯ b`: if nodes b were moved out from below
nodes a, it stands for the relation that was ended. A check of what is known of the original counts traces as relations.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.forest import Forest

_AT_ONCE = 8192
"""Records whose nodes fit into the processor's cache."""


def with_traces(forest: Forest, ended: Longs | None = None) -> Forest:
    """Return the forest with a copy of b below a for every trace a ⋯ b, so that counting relations counts traces.

    A pair of labels of which some record still holds the relation was not ended, so it leaves no trace. Where the
    forest is but a part of the records, `ended` has the pairs (see `pairs_in`) of which no record of any part does.
    """
    upper, lower = _traced(forest, ended)
    return forest.with_leaves(upper, forest.label[lower]) if len(upper) else forest


def readings(forest: Forest) -> tuple[Forest, ...]:
    """Return the forests by whose relations it is counted what is known of the original; none without traces.

    Children of a node that was moved stay behind: of a ⋯ b, what lies out of place below a, in classes below that of b,
    may have been b's. A second forest has that below the copies of b, where there is such. It has relations that may
    never have been, so that what is rare in either forest is rare.
    """
    upper, lower = _traced(forest, None)
    if not len(upper):
        return ()
    first = forest.with_leaves(upper, forest.label[lower])
    places, labels = _left_behind(forest, upper, forest.label[lower])
    if not len(places):
        return (first,)
    return first, forest.with_leaves(np.concatenate([upper, places]), np.concatenate([forest.label[lower], labels]))


def _left_behind(forest: Forest, upper: Longs, lower: Ints) -> tuple[Longs, Longs]:
    """Return the places and labels of copies below new leaves, one leaf of label `lower` below each node `upper`."""
    class_of, parents = forest.classes.class_of, _places(forest)
    order = np.argsort(parents, kind="stable")

    def children(nodes: Longs) -> tuple[Longs, Longs]:
        """The place among the nodes, and the node, of each child of these nodes."""
        first = np.searchsorted(parents[order], nodes, "left")
        count = np.searchsorted(parents[order], nodes, "right") - first
        steps = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        return np.repeat(np.arange(len(nodes)), count), order[np.repeat(first, count) + steps]

    owner, node = children(upper)
    kept = _above(forest)[class_of[lower[owner]], class_of[forest.label[node]]]
    place, node = forest.nodes + owner[kept], node[kept]
    places, labels = [np.zeros(0, np.int64)], [np.zeros(0, forest.label.dtype)]
    number = forest.nodes + len(upper)
    while len(node):
        places.append(place)
        labels.append(forest.label[node])
        owner, below = children(node)
        place, number = number + owner, number + len(node)
        node = below
    return np.concatenate(places), np.concatenate(labels)


def _traced(forest: Forest, ended: Longs | None) -> tuple[Longs, Longs]:
    """Return the nodes a and b of all traces a ⋯ b of relations that were ended."""
    if _is_in_place(forest):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    parents = _places(forest)
    upper, lower = _traces(forest, parents)
    pairs = _pairs(forest, upper, lower)
    kept = ~np.isin(pairs, _related(forest, parents)) if ended is None else np.isin(pairs, ended)
    return upper[kept], lower[kept]


def _is_in_place(forest: Forest) -> bool:
    """Return whether every node lies under one of the class that the schema says: then there is no trace."""
    parts = (forest[at : at + _AT_ONCE] for at in range(0, len(forest), _AT_ONCE))
    return not any(len(_strays(part, _places(part))) for part in parts)


def pairs_in(forest: Forest, traced: bool) -> Longs:
    """Return a number for each pair of labels that is a trace in some record, or that is a relation in some."""
    parents = _places(forest)
    return unique_values(_pairs(forest, *_traces(forest, parents))) if traced else _related(forest, parents)


def _places(forest: Forest) -> Longs:
    """Return a number for every node that siblings share: their parent's place, or one of the record below 0."""
    records = np.repeat(np.arange(len(forest)), np.diff(forest.offsets))
    return np.where(forest.parent < 0, -1 - records, forest.offsets[records] + forest.parent)


def _traces(forest: Forest, parents: Longs) -> tuple[Longs, Longs]:
    """Return all pairs of siblings of which the first is of a class above the second's."""
    label, class_of = forest.label, forest.classes.class_of
    stray = _strays(forest, parents)
    if not len(stray):
        return stray, stray
    order = np.argsort(parents, kind="stable")
    first = np.searchsorted(parents[order], parents[stray], "left")
    count = np.searchsorted(parents[order], parents[stray], "right") - first
    lower = np.repeat(stray, count)
    steps = np.arange(len(lower)) - np.repeat(np.cumsum(count) - count, count)
    upper = order[np.repeat(first, count) + steps]
    traced = _above(forest)[class_of[label[upper]], class_of[label[lower]]]
    return upper[traced], lower[traced]


def _strays(forest: Forest, parents: Longs) -> Longs:
    """Return the nodes that do not lie under the class that the schema says."""
    label, class_of = forest.label, forest.classes.class_of
    own = np.array([*forest.classes.parents, -1], np.int32)[class_of[label]]
    return np.flatnonzero(own != np.where(parents < 0, -1, class_of[label[np.maximum(parents, 0)]]))


def _above(forest: Forest) -> np.ndarray:
    """Return whether one class lies above another; the node `*` (-1, the last row) above none."""
    parents = forest.classes.parents
    above = np.zeros((len(parents) + 1,) * 2, bool)
    for index in range(len(parents)):
        up = parents[index]
        while up >= 0:
            above[up, index] = True
            up = parents[up]
    return above


def _pairs(forest: Forest, upper: Longs, lower: Longs) -> Longs:
    """Return a number for the labels of each pair of nodes."""
    pairs: Longs = forest.label[upper].astype(np.int64) * len(forest.classes) + forest.label[lower]
    return pairs


def _related(forest: Forest, parents: Longs) -> Longs:
    """Return the pairs of labels that stand one above the other in some record."""
    found = [np.zeros(0, np.int64)]
    nodes = np.flatnonzero(parents >= 0)
    above = parents[nodes]
    while len(nodes):
        found.append(unique_values(_pairs(forest, above, nodes)))
        above = parents[above]
        nodes, above = nodes[above >= 0], above[above >= 0]
    return unique_values(np.concatenate(found))

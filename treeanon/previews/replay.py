"""A solution replayed on single records, so that every original node can be followed into the release.

Nodes are merged at the very end: what a solution does to a node depends on the labels of its path alone, which merging
does not change. So each original node stays one node to the last, and merging says with which others it became one.

One record of a forest as plain lists, and as the nodes that are drawn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from treeanon.algorithms.tree.solution import Solution
from treeanon.arrays import Ints
from treeanon.forest import Classes, Forest
from treeanon.forest.classes import STAR
from treeanon.previews.model import Node


@dataclass(frozen=True)
class Record:
    """One tree in preorder: for every node the number of its parent (-1: none) and its label."""

    parent: list[int]
    label: list[int]

    @classmethod
    def of(cls, forest: Forest, number: int) -> Record:
        """The record of that number."""
        nodes = slice(int(forest.offsets[number]), int(forest.offsets[number + 1]))
        return cls(forest.parent[nodes].tolist(), forest.label[nodes].tolist())

    def __len__(self) -> int:
        return len(self.label)

    def above(self, node: int) -> Iterator[int]:
        """The ancestors of a node, the nearest first."""
        node = self.parent[node]
        while node >= 0:
            yield node
            node = self.parent[node]

    def children(self) -> list[list[int]]:
        """The children of every node, in order; the last entry has those of the record itself."""
        out: list[list[int]] = [[] for _ in range(len(self) + 1)]
        for node, parent in enumerate(self.parent):
            out[parent].append(node)
        return out

    def nodes(self, classes: Classes) -> tuple[Node, ...]:
        """The record as nodes, of which each has its number as `id`."""
        below = self.children()
        made: list[Node | None] = [None] * len(self)
        for number in reversed(range(len(self))):
            children = tuple(child for i in below[number] if (child := made[i]) is not None)
            made[number] = Node(number, *classes.decode(self.label[number]), children)
        return tuple(node for i in below[-1] if (node := made[i]) is not None)


GONE = -1
"""The label that a withheld one is published as."""


@dataclass(frozen=True)
class Recipe:
    """What a solution with a cut does, in the labels of one forest.

    `published` has for every label the one it is published as, or GONE. `upper` and `lower` are the disassociated
    labels in order, and `pairs` the numbers of those with the same lower one.
    """

    published: Ints
    upper: Ints
    lower: Ints
    pairs: dict[int, list[int]] = field(repr=False)

    @classmethod
    def of(cls, solution: Solution, forest: Forest) -> Recipe:
        """The recipe of a solution that has a cut."""
        classes, cut = forest.classes, solution.cut
        assert cut is not None
        published = forest.cut_map(STAR if STAR in cut else cut)
        withheld = [classes.index(name) for name in solution.withheld]
        published = np.where(np.isin(classes.class_of, withheld), np.int32(GONE), published).astype(np.int32)
        ends = [[classes.label(*pair[side]) for pair in solution.disassociated] for side in (0, 1)]
        pairs: dict[int, list[int]] = defaultdict(list)
        for number, label in enumerate(ends[1]):
            pairs[label].append(number)
        return cls(published, np.array(ends[0], np.int32), np.array(ends[1], np.int32), dict(pairs))

    def replay(self, record: Record) -> tuple[Record, list[int | None]]:
        """The record as it is published, and for every node the one that it became part of (None: none)."""
        label = [int(self.published[own]) for own in record.label]
        parent = _without_gone(record, label)
        wanted = sorted({number for own in set(label) for number in self.pairs.get(own, ())})
        for number in wanted:
            _disassociate(parent, label, int(self.upper[number]), int(self.lower[number]))
        return merged(parent, label)


def _without_gone(record: Record, label: list[int]) -> list[int]:
    """The parents of the nodes that are left; `*` hangs under nothing."""
    parent = []
    for node in range(len(record)):
        above = next((up for up in record.above(node) if label[up] != GONE), -1)
        parent.append(-1 if label[node] == 0 else above)
    return parent


def _disassociate(parent: list[int], label: list[int], upper: int, lower: int) -> None:
    """Moves each node `lower` below a node `upper` up beside that, and its children to its former parent."""
    former = list(parent)
    goals: dict[int, int] = {}
    for node, own in enumerate(label):
        if own != lower:
            continue
        above = former[node]
        while above >= 0 and label[above] != upper:
            above = former[above]
        if above >= 0:
            goals[node] = former[above]
    for node, above in enumerate(former):
        if above in goals:
            parent[node] = former[above]
    for node, goal in goals.items():
        parent[node] = goal


def merged(parent: list[int], label: list[int]) -> tuple[Record, list[int | None]]:
    """The record with equal siblings as one, in the order that forests have, and where each node went.

    >>> merged([-1, -1, 0, 1], [7, 7, 9, 8])
    (Record(parent=[-1, 0, 0], label=[7, 8, 9]), [0, 0, 2, 1])
    """
    below: dict[int, list[int]] = defaultdict(list)
    for node, above in enumerate(parent):
        if label[node] != GONE:
            below[above].append(node)
    out, became = Record([], []), [None] * len(label)  # type: tuple[Record, list[int | None]]
    stack: list[tuple[int, int, list[int]]] = _alike(label, below[-1], -1)
    while stack:
        above, own, nodes = stack.pop()
        number = len(out)
        out.parent.append(above)
        out.label.append(own)
        for node in nodes:
            became[node] = number
        stack.extend(_alike(label, [child for node in nodes for child in below[node]], number))
    return out, became


def _alike(label: list[int], nodes: list[int], above: int) -> list[tuple[int, int, list[int]]]:
    """Siblings by label, the last label first: a stack gives the first one first."""
    groups: dict[int, list[int]] = defaultdict(list)
    for node in nodes:
        groups[label[node]].append(node)
    return [(above, own, groups[own]) for own in sorted(groups, reverse=True)]

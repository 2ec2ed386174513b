"""One record of a forest as plain lists, and as the nodes that are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treeanon.forest import Classes, Forest
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

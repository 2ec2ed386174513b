"""Hierarchies edited by hand: values and groups move, groups are made, merged, renamed and dissolved.

Values stay values: nothing is put below one, and none gets another text. Groups that lose their last value are gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy

MOST_NODES = 2_000
"""Larger hierarchies are not drawn for editing; their files are edited elsewhere."""

_LONGEST_NAME = 200


def is_group(hierarchy: Hierarchy, node: int) -> bool:
    """Return whether a node has others below it."""
    return not hierarchy.is_leaf(node)


def homes(hierarchy: Hierarchy, node: int) -> list[int]:
    """Return the groups into which a node may move.

    >>> h = Hierarchy.from_paths([["flu", "lung", "*"], ["acne", "skin", "*"]])
    >>> [h.texts[home] for home in homes(h, h.code("flu"))]
    ['*', 'skin']
    """
    return [
        one
        for one in range(len(hierarchy))
        if node and is_group(hierarchy, one) and one != hierarchy.parent[node] and not hierarchy.covers(node, one)
    ]


def moved(hierarchy: Hierarchy, node: int, home: int) -> Hierarchy:
    """Return the hierarchy with a node, and all below it, in another group.

    >>> h = Hierarchy.from_paths([["flu", "lung", "*"], ["acne", "skin", "*"], ["wart", "skin", "*"]])
    >>> moved(h, h.code("flu"), h.code("skin")).texts
    ('*', 'skin', 'flu', 'acne', 'wart')
    """
    if home not in homes(hierarchy, node):
        raise UsageError("a node moves into another group, and not below itself")
    sketch = _Sketch.of(hierarchy)
    sketch.up[node] = home
    return sketch.hierarchy()


def merged(hierarchy: Hierarchy, node: int, home: int) -> Hierarchy:
    """Return the hierarchy in which all of a group belongs to another one.

    >>> h = Hierarchy.from_paths([["flu", "lung", "*"], ["acne", "skin", "*"]])
    >>> merged(h, h.code("lung"), h.code("skin")).texts
    ('*', 'skin', 'flu', 'acne')
    """
    _need_group(hierarchy, node)
    if home == 0 or home not in range(len(hierarchy)) or hierarchy.covers(node, home) or hierarchy.is_leaf(home):
        raise UsageError("a group merges with another group that is not below it")
    return _emptied(hierarchy, node, home)


def dissolved(hierarchy: Hierarchy, node: int) -> Hierarchy:
    """Return the hierarchy without a group, whose members belong to the group above.

    >>> h = Hierarchy.from_paths([["flu", "lung", "*"], ["acne", "skin", "*"]])
    >>> dissolved(h, h.code("lung")).texts
    ('*', 'flu', 'skin', 'acne')
    """
    _need_group(hierarchy, node)
    return _emptied(hierarchy, node, int(hierarchy.parent[node]))


def renamed(hierarchy: Hierarchy, node: int, name: str) -> Hierarchy:
    """Return the hierarchy with another name for a group.

    >>> h = Hierarchy.from_paths([["flu", "lung", "*"]])
    >>> renamed(h, 1, "airways").texts
    ('*', 'airways', 'flu')
    """
    _need_group(hierarchy, node)
    sketch = _Sketch.of(hierarchy)
    sketch.texts[node] = _new_name(hierarchy, name)
    return sketch.hierarchy()


def grouped(hierarchy: Hierarchy, node: int, name: str) -> Hierarchy:
    """Return the hierarchy with a node in a new group of that name.

    >>> h = Hierarchy.flat(["flu", "acne"])
    >>> grouped(h, 1, "lung").texts
    ('*', 'acne', 'lung', 'flu')
    """
    if not 0 < node < len(hierarchy):
        raise UsageError("select a value or a group first")
    sketch = _Sketch.of(hierarchy)
    sketch.groups.add(len(sketch.texts))
    sketch.texts.append(_new_name(hierarchy, name))
    sketch.up.append(sketch.up[node])
    sketch.up[node] = len(sketch.texts) - 1
    return sketch.hierarchy()


def _need_group(hierarchy: Hierarchy, node: int) -> None:
    if not 0 < node < len(hierarchy) or hierarchy.is_leaf(node):
        raise UsageError("select a group first, below the top")


def _new_name(hierarchy: Hierarchy, name: str) -> str:
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise UsageError(f"a group needs a name of 1 to {_LONGEST_NAME} characters that can be printed")
    if name == "*" or hierarchy.find(name) is not None:
        raise UsageError("that name is taken; every node needs its own")
    return name


def _emptied(hierarchy: Hierarchy, node: int, home: int) -> Hierarchy:
    sketch = _Sketch.of(hierarchy)
    sketch.up = [home if up == node else up for up in sketch.up]
    return sketch.hierarchy()


@dataclass
class _Sketch:
    """A tree in the making: texts, parents, and which nodes are groups."""

    texts: list[str]
    up: list[int]
    groups: set[int]

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> _Sketch:
        up = hierarchy.parent.tolist()
        return cls(list(hierarchy.texts), up, {*up} - {-1} | {0})

    def hierarchy(self) -> Hierarchy:
        """Return the tree in preorder, without groups in which there is nothing."""
        kept = self._with_values()
        below: dict[int, list[int]] = {}
        for node in sorted(kept - {0}, reverse=True):
            below.setdefault(self.up[node], []).append(node)
        order, waiting = [], [0]
        while waiting:
            order.append(waiting.pop())
            waiting += below.get(order[-1], ())
        place = {node: at for at, node in enumerate(order)}
        parents = [-1, *(place[self.up[node]] for node in order[1:])]
        return Hierarchy(tuple(self.texts[node] for node in order), np.array(parents, dtype=np.int32))

    def _with_values(self) -> set[int]:
        kept = {0}
        for node in range(len(self.texts)):
            if node not in self.groups:
                kept.update(self._path(node))
        return kept

    def _path(self, node: int) -> Iterator[int]:
        while node > 0:
            yield node
            node = self.up[node]

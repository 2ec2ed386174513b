"""Links from child to parent, with their places in a file, and the preorder of the one tree they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treeanon.errors import HierarchyError

ROOT = "*"
Tree = tuple[tuple[str, ...], NDArray[np.int32]]


def places(unit: str, numbers: Iterable[int]) -> str:
    """Return the place that an error names: the unit and its distinct numbers.

    >>> places("row", [7, 3, 7]), places("row", [3])
    ('rows 3 and 7', 'row 3')
    """
    distinct = [str(number) for number in sorted(set(numbers))]
    if len(distinct) == 1:
        return f"{unit} {distinct[0]}"
    return f"{unit}s {', '.join(distinct[:-1])} and {distinct[-1]}"


@dataclass
class Links:
    """Links from children to parents while they are collected; `unit` says what the numbers of places count.

    >>> links = Links("row")
    >>> links.add_path(["flu", "lung", "*"], 1)
    >>> links.preorder("*")[0]
    ('*', 'lung', 'flu')
    """

    unit: str
    seen: dict[str, int] = field(default_factory=dict)
    parent: dict[str, str] = field(default_factory=dict)
    linked: dict[str, int] = field(default_factory=dict)

    def add_path(self, path: Sequence[str], number: int) -> None:
        """Link the path's texts, lowest first, each to the next.

        >>> links = Links("row")
        >>> links.add_path(["a", "b"], 1)
        >>> links.parent
        {'a': 'b'}
        """
        for text in path:
            if not text:
                raise HierarchyError(f"{self.unit} {number}: a text is empty: every node needs one")
            self.seen.setdefault(text, number)
        for child, parent in pairwise(path):
            if self.parent.setdefault(child, parent) != parent:
                where = places(self.unit, (self.linked[child], number))
                raise HierarchyError(f"{where}: one text has two different parents: it may have one")
            self.linked.setdefault(child, number)

    def tops(self) -> list[str]:
        """Return the texts that hang under nothing, in order of first appearance; an error if there are none.

        >>> Links("row", seen={"a": 1, "b": 1}, parent={"a": "b"}, linked={"a": 1}).tops()
        ['b']
        """
        tops = [text for text in self.seen if text not in self.parent]
        if not tops:
            raise self._cycle(self.seen)
        return tops

    def hang(self, tops: Iterable[str], root: str) -> None:
        """Link every top but the root itself to the root.

        >>> links = Links("row", seen={"a": 1, "b": 2})
        >>> links.hang(["a", "b"], "*")
        >>> links.preorder("*")[0]
        ('*', 'a', 'b')
        """
        self.seen.setdefault(root, 0)
        for top in tops:
            if top != root:
                self.parent[top] = root
                self.linked[top] = self.seen[top]

    def preorder(self, root: str) -> Tree:
        """Return the texts and parents in preorder, children in order of first appearance; an error on a cycle.

        >>> Links("row", seen={"a": 1, "*": 1, "b": 2}, parent={"a": "*", "b": "*"}).preorder("*")
        (('*', 'a', 'b'), array([-1,  0,  0], dtype=int32))
        """
        children: dict[str, list[str]] = {}
        for text in self.seen:
            if text in self.parent:
                children.setdefault(self.parent[text], []).append(text)
        texts: list[str] = []
        parents: list[int] = []
        stack = [(root, -1)]
        while stack:
            text, up = stack.pop()
            stack.extend((child, len(texts)) for child in reversed(children.get(text, ())))
            texts.append(text)
            parents.append(up)
        if len(texts) < len(self.seen):
            raise self._cycle(self.seen.keys() - set(texts))
        return tuple(texts), np.array(parents, dtype=np.int32)

    def _cycle(self, texts: Iterable[str]) -> HierarchyError:
        """Return the error for a cycle that lies among or above the texts."""
        walked: dict[str, int] = {}
        text = min(texts, key=lambda each: (self.seen[each], each))
        while text not in walked:
            walked[text] = self.linked[text]
            text = self.parent[text]
        on_cycle = list(walked)[list(walked).index(text) :]
        where = places(self.unit, [walked[each] for each in on_cycle][:5])
        return HierarchyError(f"{where}: a text lies above itself: parents must not make a cycle")


def tree_of_parents(parents: Mapping[str, str], root: str | None, numbers: Iterable[int], unit: str) -> Tree:
    """Return the tree of a mapping of child to parent, where `numbers` are the places of its entries.

    >>> tree_of_parents({"flu": "lung", "lung": "*"}, None, [1, 2], "pair")[0]
    ('lung', 'flu')
    """
    links = Links(unit)
    for (child, parent), number in zip(parents.items(), numbers, strict=True):
        links.add_path((child, parent), number)
    if not links.seen:
        return (root or ROOT,), np.array([-1], dtype=np.int32)
    tops = links.tops()
    if len(tops) > 1:
        where = places(unit, (links.seen[top] for top in tops[:2]))
        raise HierarchyError(f"{where}: {len(tops)} texts have no parent: there must be one root")
    top = tops[0]
    below = [child for child, parent in links.parent.items() if parent == top]
    if top == ROOT and root != ROOT and len(below) == 1:
        del links.seen[top], links.parent[below[0]]
        top = below[0]
    if root is not None and top != root:
        raise HierarchyError("the text that has no parent is not the root that was asked for")
    return links.preorder(top)


def tree_of_paths(rows: Iterable[tuple[int, Sequence[str]]], unit: str) -> Tree:
    """Return the tree of numbered rows, each from its leaf to its top; empty cells are levels that are missing.

    >>> tree_of_paths([(1, ["flu", "lung"]), (2, ["cough", "", "lung"]), (3, ["acne"])], "row")[0]
    ('lung', 'flu', 'cough', 'acne')
    """
    links = Links(unit)
    width, last_cells = 0, set[str]()
    for number, cells in rows:
        filled = [at for at, cell in enumerate(cells) if cell]
        if not filled:
            continue
        if filled[-1] >= width:
            last_cells = last_cells if filled[-1] == width else set()
            width = filled[-1]
            last_cells.add(cells[width])
        path = [cells[at] for at in filled]
        links.add_path([path[0], *(upper for lower, upper in pairwise(path) if lower != upper)], number)
    if not links.seen:
        raise HierarchyError("there are no rows: one per value is expected")
    tops = links.tops()
    root = _common_root(tops, last_cells)
    if len(tops) > 1 and root == ROOT and ROOT in links.parent:
        where = places(unit, (links.seen[top] for top in tops[:2]))
        raise HierarchyError(f"{where}: rows end in different tops while '*' lies below a top: end all alike")
    links.hang(tops, root)
    return links.preorder(root)


def _common_root(tops: list[str], last_cells: set[str]) -> str:
    """Return the top that the others hang under: the only one, or the only text of the last column, or `*`."""
    if len(tops) == 1:
        return tops[0]
    if ROOT not in tops and len(last_cells) == 1 and last_cells <= set(tops):
        return next(iter(last_cells))
    return ROOT


def rows_of_leaves(rows: Iterable[tuple[int, Sequence[str]]], texts: Sequence[str]) -> NDArray[np.int64] | None:
    """Return the number of the first row of each leaf, in the order of the texts; None if they ascend.

    >>> rows = [(1, ["low", "x"]), (2, ["middle", "y"]), (3, ["high", "x"])]
    >>> rows_of_leaves(rows, ["*", "x", "low", "high", "y", "middle"]).tolist()
    [1, 3, 2]
    """
    first: dict[str, int] = {}
    above: set[str] = set()
    for number, cells in rows:
        filled = [cell for cell in cells if cell]
        above.update(upper for lower, upper in pairwise(filled) if lower != upper)
        if filled:
            first.setdefault(filled[0], number)
    found = np.array([first[text] for text in texts if text in first and text not in above], np.int64)
    return None if (found[1:] >= found[:-1]).all() else found


def places_by_row(
    start: NDArray[np.int32], count: NDArray[np.int32], depth: NDArray[np.int32], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the place of every node by the rows of its leaves, of which it has `count` from `start` on."""
    first = [int(rows[at : at + many].min()) for at, many in zip(start.tolist(), count.tolist(), strict=True)]
    place = np.empty(len(start), np.int64)
    place[np.lexsort((depth, np.array(first)))] = np.arange(len(start))
    return place


Ids = NDArray[np.intp]
Keys = NDArray[np.int64] | NDArray[np.object_]
"""Whole numbers; objects are Python's, for those beyond 64 bits."""


class Nodes:
    """The nodes under `*`: an id, which counts them as they come, stands for each until the tree is made.

    >>> nodes = Nodes()
    >>> ids = nodes.add(["0-4", "5-9"], [0, 5], [0, 0])
    >>> _ = nodes.add(["1", "3", "7"], [1, 3, 7], ids[[0, 0, 1]])
    >>> nodes.tree()[0]
    ('*', '0-4', '1', '3', '5-9', '7')
    """

    def __init__(self) -> None:
        self._texts: list[Sequence[str]] = []
        self._count = 1
        self._keys: list[Keys] = []
        self._parents: list[Ids] = []

    def add(self, texts: Sequence[str], keys: ArrayLike, parents: ArrayLike) -> Ids:
        """Return the ids of these nodes; a node's key is no less than its parent's, which was there before.

        Of siblings the one that must come first has the smaller key, and none of its descendants a larger one
        than the other; among equal keys the order of addition counts.

        >>> Nodes().add(["a", "b"], [0, 1], [0, 0]).tolist()
        [1, 2]
        """
        first = self._count
        self._count += len(texts)
        self._texts.append(texts)
        self._keys.append(np.asarray(keys))
        self._parents.append(np.asarray(parents, dtype=np.intp))
        return np.arange(first, self._count)

    def tree(self) -> Tree:
        """Return the texts and parents in preorder.

        >>> Nodes().tree()
        (('*',), array([-1], dtype=int32))
        """
        order, parents = self.shape()
        return self.texts(order), parents

    def shape(self) -> tuple[Ids, NDArray[np.int32]]:
        """Return the ids in preorder, without the root, and the parents in preorder.

        >>> Nodes().shape()
        (array([], dtype=int64), array([-1], dtype=int32))
        """
        parents = np.full(self._count, -1, dtype=np.int32)
        if self._count == 1:
            return np.zeros(0, dtype=np.intp), parents
        # stable, since layers are sorted runs already and parents came before their children
        order = np.argsort(np.concatenate(self._keys), kind="stable")
        place = np.zeros(self._count, dtype=np.int32)
        place[order + 1] = np.arange(1, self._count)
        parents[1:] = place[np.concatenate(self._parents)[order]]
        return order + 1, parents

    def placed(self, order: Ids) -> NDArray[np.int32]:
        """Return the ids in preorder in short numbers, and forget what they were placed by: texts alone can be asked
        for afterwards.
        """
        self._keys, self._parents = [], []
        return order.astype(np.int32)

    def inner_texts(self) -> list[str]:
        """Return the texts of the root and of all layers but the last, by their ids.

        >>> nodes = Nodes()
        >>> _ = nodes.add(["a"], [0], [0]), nodes.add(["b"], [0], [1])
        >>> nodes.inner_texts()
        ['*', 'a']
        """
        return [ROOT, *chain.from_iterable(self._texts[:-1])]

    def texts(self, order: Ids | NDArray[np.int32]) -> tuple[str, ...]:
        """Return the root's text and those of these ids.

        >>> nodes = Nodes()
        >>> nodes.texts(nodes.add(["a"], [0], [0]))
        ('*', 'a')
        """
        texts = [ROOT, *chain.from_iterable(self._texts)]
        return (ROOT, *map(texts.__getitem__, order.tolist()))

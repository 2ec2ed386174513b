"""A generalization hierarchy: node texts in preorder, so that every subtree is an interval of codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treeanon.errors import HierarchyError
from treeanon.hierarchy.links import ROOT, places_by_row, rows_of_leaves, tree_of_parents, tree_of_paths
from treeanon.shown import Grid, Shown, Summary

if TYPE_CHECKING:
    import networkx as nx


Codes = NDArray[np.int32]


def frozen(array: NDArray[np.generic]) -> Codes:
    """Return a read-only copy of the array as int32.

    >>> frozen(np.array([1])).flags.writeable
    False
    """
    copy = np.array(array, dtype=np.int32)
    copy.flags.writeable = False
    return copy


def indexed(texts: tuple[str, ...]) -> dict[str, int]:
    """Return the code of each text; an error unless they are distinct strings, at least one and none empty.

    >>> indexed(("*", "a"))
    {'*': 0, 'a': 1}
    """
    if not texts:
        raise HierarchyError("a hierarchy has at least one node: its root")
    if set(map(type, texts)) == {str}:
        index = dict(zip(texts, range(len(texts)), strict=True))
        if len(index) == len(texts) and "" not in index and _is_unicode("".join(texts)):
            return index
    return _indexed_one_by_one(texts)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _indexed_one_by_one(texts: tuple[str, ...]) -> dict[str, int]:
    """Return the same; slower, but it can name the first node that is wrong."""
    first: dict[str, int] = {}
    for code, text in enumerate(texts):
        if not isinstance(text, str) or not text:
            raise HierarchyError(f"node {code}: its text must be a string that is not empty")
        if not _is_unicode(text):
            raise HierarchyError(f"node {code}: its text holds half of a character (a lone surrogate)")
        if first.setdefault(text, code) != code:
            raise HierarchyError(f"nodes {first[text]} and {code}: they have one text: texts must differ")
    return first


def depth_and_end(parents: NDArray[np.integer]) -> tuple[Codes, Codes]:
    """Return each node's depth and the end of its subtree; an error unless the nodes are one tree in preorder.

    >>> depth, end = depth_and_end(np.array([-1, 0, 1, 0]))
    >>> depth.tolist(), end.tolist()
    ([0, 1, 2, 1], [4, 3, 3, 4])
    """
    if int(parents[0]) != -1:
        raise HierarchyError("node 0: it is the root: its parent must be -1")
    codes = np.arange(len(parents))
    if not bool(np.all((parents[1:] >= 0) & (parents[1:] < codes[1:]))):
        raise _stray(parents.tolist())
    up = parents.astype(np.intp)
    up[0] = 0
    depth = depths(up)
    if not _in_preorder(up, depth):
        raise _stray(parents.tolist())
    return depth.astype(np.int32), _ends(up, codes).astype(np.int32)


def _in_preorder(up: NDArray[np.intp], depth: NDArray[np.intp]) -> bool:
    """Return whether each node's parent is the node before it or an ancestor of that.

    That is so just if no node is more than one step deeper than the node before it, and its parent is the last node
    before it that is one step higher.
    """
    if bool(np.any(np.diff(depth) > 1)):
        return False
    order = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[order], np.arange(int(depth.max()) + 2))
    for start, stop, end in zip(bounds[:-2], bounds[1:-1], bounds[2:], strict=True):
        higher, level = order[start:stop], order[stop:end]
        if not np.array_equal(up[level], higher[np.searchsorted(higher, level) - 1]):
            return False
    return True


def depths(up: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the steps to the root, which is its own parent; each round doubles how far the nodes have jumped.

    >>> depths(np.array([0, 0, 1])).tolist()
    [0, 1, 2]
    """
    depth = np.ones(len(up), dtype=np.intp)
    depth[0] = 0
    while up.any():
        depth = depth + depth[up]
        up = up[up]
    return depth


def _ends(up: NDArray[np.intp], codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the code after the greatest descendant: after the last child's last child's ... last child."""
    last = codes.copy()
    last[up[1:]] = codes[1:]  # of the children of one node the last assigned stays
    last[0] = codes[-1]
    while not np.array_equal(further := last[last], last):
        last = further
    return last + 1


def _stray(parents: list[int]) -> HierarchyError:
    """Return the error that names the first node which breaks the preorder."""
    path = [0]
    for v in range(1, len(parents)):
        while path and path[-1] != parents[v]:
            path.pop()
        if not path:
            return HierarchyError(f"node {v}: its parent must be the node before it or an ancestor of that")
        path.append(v)
    raise AssertionError("the parents are in preorder")


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy(Shown):
    """A checked tree of texts, where a node is its code, its place in preorder.

    ```
    code  text         parent  end  depth  leaf_start  leaf_count
    0     *            -1      4    0      0           2
    1     ├── lung      0      3    1      0           1
    2     │   └── flu   1      3    2      0           1
    3     └── acne      0      4    1      1           1
    ```

    Descendants-or-self of v are the codes v .. end[v]-1; v covers the leaves numbered
    leaf_start[v] .. leaf_start[v]+leaf_count[v]-1.

    >>> h = Hierarchy(("*", "lung", "flu", "acne"), np.array([-1, 0, 1, 0]))
    >>> h.end.tolist(), h.depth.tolist(), h.leaf_start.tolist(), h.leaf_count.tolist()
    ([4, 3, 3, 4], [0, 1, 2, 1], [0, 0, 0, 1], [2, 1, 1, 1])
    """

    texts: tuple[str, ...]
    parent: Codes
    end: Codes = field(init=False)
    depth: Codes = field(init=False)
    leaf_start: Codes = field(init=False)
    leaf_count: Codes = field(init=False)
    _index: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        texts = tuple(self.texts)
        object.__setattr__(self, "_index", indexed(texts))
        parents = np.asarray(self.parent)
        if parents.shape != (len(texts),) or parents.dtype.kind not in "iu":
            raise HierarchyError("parents must be one row of integers, one per text")
        object.__setattr__(self, "texts", texts)
        self._measure(parents)

    def _measure(self, parents: NDArray[np.integer]) -> None:
        """Derive all arrays from the parents."""
        depth, end = depth_and_end(parents)
        leaves_before = np.zeros(len(parents) + 1, dtype=np.int32)
        np.cumsum(end == np.arange(1, len(parents) + 1), out=leaves_before[1:])
        start = leaves_before[:-1]
        arrays = {"parent": parents, "end": end, "depth": depth, "leaf_start": start}
        for name, array in {**arrays, "leaf_count": leaves_before[end] - start}.items():
            object.__setattr__(self, name, frozen(array))

    @classmethod
    def from_parents(cls, parents: Mapping[str, str], *, root: str | None = None) -> Hierarchy:
        """Return the hierarchy of a mapping of child to parent; the one text that is no key is the root.

        A top `*` with a single child is the common root of all classes and is left out, unless `root` asks
        for it.

        >>> Hierarchy.from_parents({"flu": "lung", "lung": "*"}).texts
        ('lung', 'flu')
        >>> Hierarchy.from_parents({"flu": "lung", "lung": "*"}, root="*").texts
        ('*', 'lung', 'flu')
        """
        return cls(*tree_of_parents(parents, root, range(1, len(parents) + 1), "pair"))

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[str]]) -> Hierarchy:
        """Return the hierarchy of rows that go from a leaf to the top, as ARX writes them.

        Empty cells and repeated texts are skipped levels; rows without a common top hang under `*`.

        >>> Hierarchy.from_paths([["flu", "lung", "*"], ["acne", "acne", "*"]]).texts
        ('*', 'lung', 'flu', 'acne')
        """
        return cls.of_rows(enumerate(paths, start=1), "row")

    @classmethod
    def flat(cls, values: Iterable[str], root: str = ROOT) -> Hierarchy:
        """Return the hierarchy whose root has every distinct value as its child.

        >>> Hierarchy.flat(["b", "a", "b"]).texts
        ('*', 'b', 'a')
        """
        texts = dict.fromkeys([root, *values])
        parents = np.zeros(len(texts), dtype=np.int32)
        parents[0] = -1
        return cls(tuple(texts), parents)

    def __len__(self) -> int:
        return len(self.parent)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return np.array_equal(self.parent, other.parent) and self.texts == other.texts

    def __hash__(self) -> int:
        return hash((self.texts, self.parent.tobytes()))

    def _summary(self) -> Summary:
        counts = np.bincount(self.depth, minlength=self.height + 1).tolist()
        leaves = np.bincount(self.depth[self.leaf_nodes], minlength=self.height + 1).tolist()
        rows = [[at, *pair] for at, pair in enumerate(zip(counts, leaves, strict=True))]
        line = f"{len(self)} nodes, {self.leaf_count[0]} leaves, height {self.height}"
        note = "It shows no node, as these can be values of the data: treeanon hierarchy show does, for files."
        return Summary("Hierarchy", line, grids=[Grid("By depth", ["Depth", "Nodes", "Leaves"], rows)], note=note)

    def __reduce__(self) -> tuple[Callable[..., Hierarchy], tuple[object, ...]]:
        return _restored, (self.texts, self.parent, vars(self).get("_rows"))

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[int, Sequence[str]]], unit: str) -> Hierarchy:
        """Return the hierarchy of numbered rows from a leaf to the top; `row_order` is theirs."""
        listed = list(rows)
        texts, parents = tree_of_paths(listed, unit)
        return _restored(texts, parents, rows_of_leaves(listed, texts))

    @cached_property
    def row_order(self) -> NDArray[np.int64]:
        """The place of every node in the order of the rows of its file: an inner one stands before its first leaf.

        Preorder, but where the rows of one parent do not follow one another.
        """
        rows = vars(self).get("_rows")
        ascending = np.arange(len(self))
        return ascending if rows is None else places_by_row(self.leaf_start, self.leaf_count, self.depth, rows)

    @property
    def root(self) -> str:
        """The root's text.

        >>> Hierarchy.flat(["a"], root="any letter").root
        'any letter'
        """
        return self.texts[0]

    @cached_property
    def height(self) -> int:
        """The number of steps from the root to the deepest leaf.

        >>> Hierarchy.flat(["a", "b"]).height
        1
        """
        return int(self.depth.max())

    @cached_property
    def leaf_nodes(self) -> Codes:
        """The code of every leaf, in preorder: leaf number i is node leaf_nodes[i].

        >>> Hierarchy.from_paths([["flu", "lung", "*"], ["acne", "*"]]).leaf_nodes.tolist()
        [2, 3]
        """
        return frozen(np.flatnonzero(self.end == np.arange(1, len(self) + 1)))

    def find(self, text: str) -> int | None:
        """Return the code of the node with this text, or None.

        >>> Hierarchy.flat(["a", "b"]).find("b"), Hierarchy.flat(["a", "b"]).find("c")
        (2, None)
        """
        return self._index.get(text)

    def code(self, text: str) -> int:
        """Return the code of the node with this text; an error, which does not show the text, if there is none.

        >>> Hierarchy.flat(["a", "b"]).code("a")
        1
        """
        code = self._index.get(text)
        if code is None:
            raise HierarchyError(f"a text is not among the {len(self)} nodes of the hierarchy")
        return code

    def encode(self, texts: Iterable[str]) -> Codes:
        """Return the codes of the texts, -1 where there is no such node.

        >>> Hierarchy.flat(["a", "b"]).encode(["b", "c", "*"]).tolist()
        [2, -1, 0]
        """
        return np.fromiter(map(self._index.get, texts, repeat(-1)), dtype=np.int32)

    def is_leaf(self, v: int) -> bool:
        """Return whether the node has no children.

        >>> Hierarchy.flat(["a"]).is_leaf(1), Hierarchy.flat(["a"]).is_leaf(0)
        (True, False)
        """
        return bool(self.end[self._node(v)] == v + 1)

    def children(self, v: int) -> list[int]:
        """Return the codes of the node's children, in order.

        >>> Hierarchy.from_paths([["flu", "lung", "*"], ["acne", "*"]]).children(0)
        [1, 3]
        """
        children, child, stop = [], self._node(v) + 1, int(self.end[v])
        while child < stop:
            children.append(child)
            child = int(self.end[child])
        return children

    def ancestors(self, v: int) -> list[int]:
        """Return the codes from the node itself up to the root.

        >>> Hierarchy.from_paths([["flu", "lung", "*"]]).ancestors(2)
        [2, 1, 0]
        """
        path = [self._node(v)]
        while path[-1] > 0:
            path.append(int(self.parent[path[-1]]))
        return path

    def leaves(self, v: int) -> Codes:
        """Return the codes of the leaves that the node covers, itself if it is one.

        >>> Hierarchy.from_paths([["flu", "lung", "*"], ["acne", "*"]]).leaves(0).tolist()
        [2, 3]
        """
        start = self.leaf_start[self._node(v)]
        return self.leaf_nodes[start : start + self.leaf_count[v]]

    def nodes_at(self, depth: int) -> Codes:
        """Return the codes of the nodes that lie so many steps below the root.

        >>> Hierarchy.from_paths([["flu", "lung", "*"], ["acne", "*"]]).nodes_at(1).tolist()
        [1, 3]
        """
        return np.flatnonzero(self.depth == depth).astype(np.int32)

    def covers(self, a: int, v: int) -> bool:
        """Return whether a is v or an ancestor of v.

        >>> Hierarchy.flat(["a", "b"]).covers(0, 2), Hierarchy.flat(["a", "b"]).covers(1, 2)
        (True, False)
        """
        return bool(self._node(a) <= v < self.end[a])

    def to_networkx(self) -> nx.DiGraph[str]:
        """Return the same tree as a networkx graph: nodes are texts, edges go from parent to child.

        >>> list(Hierarchy.flat(["a", "b"]).to_networkx().edges)
        [('*', 'a'), ('*', 'b')]
        """
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.texts)
        ups = self.parent[1:].tolist()
        graph.add_edges_from((self.texts[up], text) for up, text in zip(ups, self.texts[1:], strict=True))
        return graph

    def _node(self, v: int) -> int:
        # -1 means "unknown" in encoded data: it must not index from the end
        if not 0 <= v < len(self):
            raise HierarchyError(f"node {v}: a hierarchy of {len(self)} nodes has codes 0 to {len(self) - 1}")
        return v


def _restored(texts: tuple[str, ...], parent: Codes, rows: NDArray[np.int64] | None) -> Hierarchy:
    """Return the hierarchy, with the row of the file that each leaf stands in where that is not their order."""
    made = Hierarchy(texts, parent)
    if rows is not None:
        object.__setattr__(made, "_rows", rows)
    return made

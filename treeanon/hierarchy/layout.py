"""Checks and derived arrays of a hierarchy: texts, preorder, depths, ends of subtrees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treeanon.errors import HierarchyError

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
    depth = _depths(up)
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


def _depths(up: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the steps to the root, where each round doubles how far the nodes have jumped."""
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

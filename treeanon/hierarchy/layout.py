"""What is checked and derived when a hierarchy is made: texts, preorder, depths, ends of subtrees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treeanon.errors import HierarchyError

Codes = NDArray[np.int32]


def frozen(array: NDArray[np.generic]) -> Codes:
    """A read-only copy of the array as int32.

    >>> frozen(np.array([1])).flags.writeable
    False
    """
    copy = np.array(array, dtype=np.int32)
    copy.flags.writeable = False
    return copy


def check_texts(texts: tuple[str, ...]) -> None:
    """Nothing; an error unless the texts are distinct strings, at least one and none empty.

    >>> check_texts(("*", "a"))
    """
    if not texts:
        raise HierarchyError("a hierarchy has at least one node: its root")
    first: dict[str, int] = {}
    for code, text in enumerate(texts):
        if not isinstance(text, str) or not text:
            raise HierarchyError(f"node {code}: its text must be a string that is not empty")
        if first.setdefault(text, code) != code:
            raise HierarchyError(f"nodes {first[text]} and {code}: they have one text: texts must differ")


def depth_and_end(parents: list[int]) -> tuple[Codes, Codes]:
    """Each node's depth and the end of its subtree; an error unless the nodes are one tree in preorder.

    >>> depth, end = depth_and_end([-1, 0, 1, 0])
    >>> depth.tolist(), end.tolist()
    ([0, 1, 2, 1], [4, 3, 3, 4])
    """
    if parents[0] != -1:
        raise HierarchyError("node 0: it is the root: its parent must be -1")
    depth, end, path = [0] * len(parents), [len(parents)] * len(parents), [0]
    for v in range(1, len(parents)):
        while path and path[-1] != parents[v]:
            end[path.pop()] = v
        if not path:
            raise HierarchyError(f"node {v}: its parent must be the node before it or an ancestor of that")
        depth[v] = len(path)
        path.append(v)
    return np.array(depth, dtype=np.int32), np.array(end, dtype=np.int32)

"""Nodes gathered layer by layer, parents first, and the preorder that sorting by a key makes of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treeanon.hierarchy.links import ROOT, Tree

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
        self._texts: list[str] = [ROOT]
        self._keys: list[Keys] = []
        self._parents: list[Ids] = []

    def add(self, texts: Sequence[str], keys: ArrayLike, parents: ArrayLike) -> Ids:
        """The ids of these nodes; a node's key is no less than its parent's, which was there before.

        Of siblings the one that is to come first has the lesser key, and none of its descendants a greater one
        than the other; among equal keys the order of addition counts.

        >>> Nodes().add(["a", "b"], [0, 1], [0, 0]).tolist()
        [1, 2]
        """
        first = len(self._texts)
        self._texts += texts
        self._keys.append(np.asarray(keys))
        self._parents.append(np.asarray(parents, dtype=np.intp))
        return np.arange(first, len(self._texts))

    def tree(self) -> Tree:
        """The texts and parents in preorder.

        >>> Nodes().tree()
        (('*',), array([-1], dtype=int32))
        """
        if len(self._texts) == 1:
            return (ROOT,), np.array([-1], dtype=np.int32)
        # stable, since layers are sorted runs already and parents came before their children
        order = np.argsort(np.concatenate(self._keys), kind="stable")
        place = np.zeros(len(self._texts), dtype=np.int32)
        place[order + 1] = np.arange(1, len(self._texts))
        parents = np.full(len(self._texts), -1, dtype=np.int32)
        parents[1:] = place[np.concatenate(self._parents)[order]]
        return (ROOT, *map(self._texts.__getitem__, (order + 1).tolist())), parents

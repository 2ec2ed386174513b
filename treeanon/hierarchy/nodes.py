"""Nodes gathered layer by layer, parents first, and the preorder that sorting by a key makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

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
        self._texts: list[Sequence[str]] = []
        self._count = 1
        self._keys: list[Keys] = []
        self._parents: list[Ids] = []

    def add(self, texts: Sequence[str], keys: ArrayLike, parents: ArrayLike) -> Ids:
        """The ids of these nodes; a node's key is no less than its parent's, which was there before.

        Of siblings the one that is to come first has the lesser key, and none of its descendants a greater one
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
        """The texts and parents in preorder.

        >>> Nodes().tree()
        (('*',), array([-1], dtype=int32))
        """
        order, parents = self.shape()
        return self.texts(order), parents

    def shape(self) -> tuple[Ids, NDArray[np.int32]]:
        """The ids in preorder, without the root, and the parents in preorder.

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

    def inner_texts(self) -> list[str]:
        """The texts of the root and of all layers but the last, by their ids.

        >>> nodes = Nodes()
        >>> _ = nodes.add(["a"], [0], [0]), nodes.add(["b"], [0], [1])
        >>> nodes.inner_texts()
        ['*', 'a']
        """
        return [ROOT, *chain.from_iterable(self._texts[:-1])]

    def texts(self, order: Ids) -> tuple[str, ...]:
        """The root's text and those of these ids.

        >>> nodes = Nodes()
        >>> nodes.texts(nodes.add(["a"], [0], [0]))
        ('*', 'a')
        """
        texts = [ROOT, *chain.from_iterable(self._texts)]
        return (ROOT, *map(texts.__getitem__, order.tolist()))

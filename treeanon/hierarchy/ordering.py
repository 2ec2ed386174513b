"""Trees of nodes that know their parents, put into preorder: by columns, or from the way up that each text has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from treeanon.hierarchy.links import ROOT, Ids, Tree
from treeanon.hierarchy.model import depths


def preorder(texts: Sequence[str], parents: Ids, rank: NDArray[np.integer]) -> Tree:
    """Return the tree under `*` of nodes with their parents (-1: none), siblings in the order of their ranks.

    >>> preorder(["b", "under a", "a"], np.array([-1, 2, -1]), np.array([1, 0, 0]))
    (('*', 'a', 'under a', 'b'), array([-1,  0,  1,  0], dtype=int32))
    """
    up = np.append(0, parents + 1)
    depth = depths(up)
    order = np.lexsort((np.append(0, rank), up, depth))
    bounds = np.searchsorted(depth[order], np.arange(int(depth.max()) + 2)).tolist()
    layers = [order[start:stop] for start, stop in pairwise(bounds)]
    size = np.ones(len(up), dtype=np.int64)
    for layer in reversed(layers[1:]):
        np.add.at(size, up[layer], size[layer])
    place = np.zeros(len(up), dtype=np.int64)
    for layer in layers[1:]:
        above, own = up[layer], size[layer]
        before = np.cumsum(own) - own
        is_first = np.append(True, above[1:] != above[:-1])
        place[layer] = place[above] + 1 + before - before[is_first][np.cumsum(is_first) - 1]
    at = np.argsort(place)
    made = place[up[at]].astype(np.int32)
    made[0] = -1
    return (ROOT, *map(texts.__getitem__, (at[1:] - 1).tolist())), made


def tree_of_ways(values: Iterable[str], way: Callable[[str], Sequence[str] | None]) -> Tree:
    """Return the tree of the values that have a way up, lowest text first; siblings are in the order of their texts.

    A text must have one parent wherever it stands; a value that has no way (None) is left out.

    >>> tree_of_ways(["flu", "x", "lung"], {"flu": ["lung"], "lung": []}.get)[0]
    ('*', 'lung', 'flu')
    """
    number: dict[str, int] = {}
    parents: list[int] = []
    for value in set(values) - {"", ROOT}:
        above = way(value)
        at = -1
        for text in () if above is None else (*reversed(above), value):
            found = number.setdefault(text, len(number))
            if found == len(parents):
                parents.append(at)
            at = found
    texts = list(number)
    rank = np.empty(len(texts), dtype=np.int64)
    rank[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    return preorder(texts, np.array(parents, dtype=np.intp), rank)

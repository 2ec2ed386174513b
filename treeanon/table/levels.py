"""Levels of a hierarchy: level 0 is the values as they are, each further one is a step up, the last is the root."""

from __future__ import annotations

import numpy as np

from treeanon.hierarchy import Hierarchy
from treeanon.kernels.tree.forest import Ints


def level_maps(hierarchy: Hierarchy) -> Ints:
    """For every level and node what the node becomes there; the last node of each row stands for a missing value.

    A missing value (code -1, or len(hierarchy)) stays missing, except at the last level: there it is the root, as
    everything is. A value nearer to the root than a level is stays as it is.

    >>> from treeanon.hierarchy import Hierarchy
    >>> hierarchy = Hierarchy.from_paths([["34", "30-39", "*"], ["41", "40-49", "*"]])
    >>> level_maps(hierarchy).tolist()
    [[0, 1, 2, 3, 4, 5], [0, 1, 1, 3, 3, 5], [0, 0, 0, 0, 0, 0]]
    """
    height, size = hierarchy.height, len(hierarchy)
    maps = np.empty((height + 1, size + 1), np.int32)
    maps[0] = np.arange(size + 1)
    parent = np.append(np.maximum(hierarchy.parent, 0), size)
    depth = np.append(hierarchy.depth, 0)
    for level in range(1, height + 1):
        above = maps[level - 1]
        # Only what is deeper than the level's depth goes a step up.
        maps[level] = np.where(depth[above] > height - level, parent[above], above)
    maps[height, size] = 0 if height else size
    return maps

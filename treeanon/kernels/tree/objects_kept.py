"""Objects of the input that a release still shows whole, where objects stay whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit


@njit
def _fields(base: Any, node: int, size: Any, parent: Ints, label: Ints, types: int, out: Ints) -> int:
    """List the labels of an object's own fields."""
    count = 0
    j = node + 1
    while j < size and parent[base + j] >= node:
        if parent[base + j] == node and label[base + j] > types:
            out[count] = label[base + j]
            count += 1
        j += 1
    return count


@njit
def _may_become(held: Ints, count: int, shown: Ints, many: int, up: Ints) -> bool:
    """Whether each label that is shown is one that is held, or above one in its hierarchy."""
    for i in range(many):
        found = False
        for j in range(count):
            x = held[j]
            while x > 0 and x != shown[i]:
                x = up[x]
            found |= x == shown[i]
        if not found:
            return False
    return True


@njit
def count_objects_kept(
    offsets: Longs,
    parent: Ints,
    label: Ints,
    out_offsets: Longs,
    out_parent: Ints,
    out_label: Ints,
    released_as: Longs,
    up: Ints,
    types: int,
) -> Longs:
    """Return for every type (label 1 to `types`) the objects before, after, and those before that are still whole.

    Record r is published as record released_as[r], or not at all (-1). An object is whole if some object of its
    published record can be what it has become, in an object that can be what the object around it has become, and shows
    a value for each of its fields. up[x] is the label above x, 0 above a class root.
    """
    out = np.zeros((3, types + 1), np.int64)
    biggest, most = 1, 1
    for r in range(len(offsets) - 1):
        biggest = max(biggest, offsets[r + 1] - offsets[r])
    for s in range(len(out_offsets) - 1):
        most = max(most, out_offsets[s + 1] - out_offsets[s])
    held, shown = np.empty(biggest, np.int32), np.empty(most, np.int32)
    may: Flags = np.zeros(1024, np.bool_)
    for i in range(len(out_label)):
        if 0 < out_label[i] <= types:
            out[1, out_label[i]] += 1
    for r in range(len(offsets) - 1):
        s = released_as[r]
        base, size = offsets[r], offsets[r + 1] - offsets[r]
        start, many = (out_offsets[s], out_offsets[s + 1] - out_offsets[s]) if s >= 0 else (np.int64(0), np.int64(0))
        if size * many > len(may):
            may = np.zeros(2 * size * many, np.bool_)
        for i in range(size):
            own = label[base + i]
            if not 0 < own <= types:
                continue
            out[0, own] += 1
            count = _fields(base, i, size, parent, label, types, held)
            whole = False
            for j in range(many):
                may[i * many + j] = False
                if out_label[start + j] != own:
                    continue
                above, around = parent[base + i], out_parent[start + j]
                if above >= 0 and not may[above * many + around]:
                    continue
                fields = _fields(start, j, many, out_parent, out_label, types, shown)
                if _may_become(held, count, shown, fields, up):
                    may[i * many + j] = True
                    whole |= fields == count
            if whole:
                out[2, own] += 1
    return out

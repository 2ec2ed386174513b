"""Loops over forests whose objects stay whole: object nodes, with what they hold below them.

An object is a node of a type; the labels 1 to `types` are the types. Equal objects of one parent (type, labels, all
below) count once, and an object that holds nothing is no node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints, Longs
from treeanon.kernels.jit import njit, read_only
from treeanon.kernels.tree.forest import ROWS, canonical, list_children


def canonical_trees(offsets: Longs, parent: Ints, label: Ints, rank: Ints, types: int) -> tuple[Longs, Ints, Ints]:
    """Return offsets, parents and labels of the same trees in canonical form; parents may come in any order.

    Without types they are merged trees. With types siblings ascend by the rank of their label (an empty `rank` stands
    for the labels themselves), objects of one type by what they hold, in this order.
    """
    if not types:
        return canonical(offsets, parent, label, rank)
    return _canonical_objects(types, *read_only(offsets, parent, label, rank))


@njit
def _canonical_objects(types: int, offsets: Longs, parent: Ints, label: Ints, rank: Ints) -> tuple[Longs, Ints, Ints]:
    records = len(offsets) - 1
    biggest = 0
    for r in range(records):
        biggest = max(biggest, offsets[r + 1] - offsets[r])
    out_offsets = np.zeros(records + 1, np.int64)
    out_parent = np.empty(len(label), np.int32)
    out_label = np.empty(len(label), np.int32)
    space = np.empty((ROWS, biggest + 1), np.int32)
    work = np.empty(biggest + 1, np.int64)
    filled = 0
    for r in range(records):
        base = offsets[r]
        list_children(parent, base, offsets[r + 1] - base, space[0], space[1])
        filled = canonical_object_record(label, base, rank, space, work, out_parent, out_label, filled, types)
        out_offsets[r + 1] = filled
    return out_offsets, out_parent[:filled].copy(), out_label[:filled].copy()


@njit
def _compared(a: Any, b: Any, first_child: Ints, next_sibling: Ints, key: Ints, left: Ints, right: Longs) -> int:
    """Return -1, 0 or 1: whether a node comes before another, by its key and, in order, by all that it holds."""
    if key[a] != key[b]:
        return -1 if key[a] < key[b] else 1
    depth = 0
    x, y = first_child[a + 1], first_child[b + 1]
    while True:
        if x < 0 and y < 0:
            if depth == 0:
                return 0
            depth -= 1
            x, y = next_sibling[left[depth]], next_sibling[right[depth]]
        elif x < 0 or y < 0:
            return -1 if x < 0 else 1
        elif key[x] != key[y]:
            return -1 if key[x] < key[y] else 1
        else:
            left[depth], right[depth] = x, y
            depth += 1
            x, y = first_child[x + 1], first_child[y + 1]


@njit
def _sort_nodes(
    nodes: Ints, count: int, first_child: Ints, next_sibling: Ints, key: Ints, left: Ints, right: Longs
) -> None:
    """Sort nodes (by Shell's way: most lists are short)."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            node = nodes[i]
            j = i
            while j >= gap and _compared(nodes[j - gap], node, first_child, next_sibling, key, left, right) > 0:
                nodes[j] = nodes[j - gap]
                j -= gap
            nodes[j] = node
        gap //= 3


@njit
def canonical_object_record(
    label: Ints,
    base: int,
    rank: Ints,
    space: npt.NDArray[np.int32],
    work: Longs,
    out_parent: Ints,
    out_label: Ints,
    filled: int,
    types: int,
) -> int:
    """Write one record, whose labels lie from `base` on, in canonical form from `filled` on; return where it ends.

    The first two rows of `space` list the children of each node, as `list_children` does. (One function: its work
    arrays and their fill levels would have to go in and out of every part.)
    """
    first_child, next_sibling, order, key, nodes, place = space[0], space[1], space[2], space[3], space[4], space[5]
    # All nodes, each after the one above it.
    count = 0
    child = first_child[0]
    while child >= 0:
        order[count] = child
        count += 1
        child = next_sibling[child]
    done = 0
    while done < count:
        child = first_child[order[done] + 1]
        while child >= 0:
            order[count] = child
            count += 1
            child = next_sibling[child]
        done += 1
    # From the last one up: what a node holds is known before it is told from its siblings.
    for i in range(count - 1, -2, -1):
        above = order[i] if i >= 0 else np.int32(-1)
        held = 0
        child = first_child[above + 1]
        while child >= 0:
            # An object of which nothing is left is dropped.
            if first_child[child + 1] >= 0 or not 0 < label[base + child] <= types:
                nodes[held] = child
                held += 1
            child = next_sibling[child]
        _sort_nodes(nodes, held, first_child, next_sibling, key, place, work)
        first_child[above + 1] = -1
        last = np.int32(-1)
        for j in range(held):
            node = nodes[j]
            if last >= 0 and _compared(last, node, first_child, next_sibling, key, place, work) == 0:
                continue
            if last < 0:
                first_child[above + 1] = node
            else:
                next_sibling[last] = node
            next_sibling[node] = -1
            last = node
        if above >= 0:
            key[above] = rank[label[base + above]] if len(rank) > 0 else label[base + above]
    # Out they go, each before what it holds; `nodes` is the way down.
    begin = filled
    depth = 0
    nodes[0] = first_child[0]
    while depth >= 0:
        node = nodes[depth]
        if node < 0:
            depth -= 1
            continue
        nodes[depth] = next_sibling[node]
        out_label[filled] = label[base + node]
        out_parent[filled] = place[depth - 1] if depth > 0 else np.int32(-1)
        place[depth] = filled - begin
        filled += 1
        depth += 1
        nodes[depth] = first_child[node + 1]
    return filled

"""Loops over forests whose objects stay whole: object nodes, with what they hold below them.

An object is a node of a type; the labels 1 to `types` are the types. Equal objects of one parent (type, labels, all
below) count once, and an object that holds nothing is no node. Here is also which nodes a rule leaves out, of merged
trees, too, and which objects of the input a release still shows whole.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit, read_only
from treeanon.kernels.tree.forest import ROWS, canonical, list_children

_MANY_NODES = 2_000_000
"""So many nodes are brought into canonical form by several threads."""


def canonical_trees(offsets: Longs, parent: Ints, label: Ints, rank: Ints, types: int) -> tuple[Longs, Ints, Ints]:
    """Return offsets, parents and labels of the same trees in canonical form; parents may come in any order.

    Without types they are merged trees. With types siblings ascend by the rank of their label (an empty `rank` stands
    for the labels themselves), objects of one type by what they hold, in this order.
    """
    threads = (os.cpu_count() or 1) if len(label) >= _MANY_NODES else 1

    def part(begin: int, end: int) -> tuple[Longs, Ints, Ints]:
        first, last = offsets[begin], offsets[end]
        trees = offsets[begin : end + 1] - first, parent[first:last], label[first:last]
        return _canonical_objects(types, *read_only(*trees, rank)) if types else canonical(*trees, rank)

    if threads == 1:
        return part(0, len(offsets) - 1)
    bounds = np.searchsorted(offsets, [len(label) * i // threads for i in range(threads)]).tolist()
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(part, bounds, [*bounds[1:], len(offsets) - 1]))
    begins = np.cumsum([0, *(each[0][-1] for each in parts)])
    moved = [each[0][1:] + begin for each, begin in zip(parts, begins.tolist(), strict=False)]
    trees = [np.concatenate([each[array] for each in parts]) for array in (1, 2)]
    return np.concatenate([[0], *moved]), trees[0], trees[1]


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
    if 8 * filled < 7 * len(label):
        # What is not used is given back.
        return out_offsets, out_parent[:filled].copy(), out_label[:filled].copy()
    return out_offsets, out_parent[:filled], out_label[:filled]


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


@njit
def left_out_nodes(offsets: Longs, parent: Ints, label: Ints, rules_of: Longs, triggers: Ints) -> Flags:
    """The nodes that are left out, each with all that lies below it.

    The triggers of the rules that leave out label x are triggers[rules_of[x]:rules_of[x + 1]]. A node is left out where
    one of them labels a node above it or a node with the same parent. Parents come before their children, as in any
    canonical forest.
    """
    out = np.zeros(len(label), np.bool_)
    for r in range(len(offsets) - 1):
        base = offsets[r]
        for i in range(base, offsets[r + 1]):
            up = parent[i]
            if up >= 0 and out[base + up]:
                out[i] = True
                continue
            for rule in range(rules_of[label[i]], rules_of[label[i] + 1]):
                trigger = triggers[rule]
                above = up
                while above >= 0 and label[base + above] != trigger:
                    above = parent[base + above]
                if above >= 0:
                    out[i] = True
                    break
                # Siblings: no trigger of these rules is left out itself, as all are of one class.
                for j in range(base, offsets[r + 1]):
                    if parent[j] == up and label[j] == trigger:
                        out[i] = True
                        break
                if out[i]:
                    break
    return out


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
    a value for each of its fields. One without fields is whole if an object in it still shows a value. up[x] is the
    label above x, 0 above a class root.
    """
    out = np.zeros((3, types + 1), np.int64)
    biggest, most = 1, 1
    for r in range(len(offsets) - 1):
        biggest = max(biggest, offsets[r + 1] - offsets[r])
    for s in range(len(out_offsets) - 1):
        most = max(most, out_offsets[s + 1] - out_offsets[s])
    held, shown = np.empty(biggest, np.int32), np.empty(most, np.int32)
    has_fields: Flags = np.zeros(biggest, np.bool_)
    may: Flags = np.zeros(1024, np.bool_)
    shows: Flags = np.zeros(1024, np.bool_)
    for i in range(len(out_label)):
        if 0 < out_label[i] <= types:
            out[1, out_label[i]] += 1
    for r in range(len(offsets) - 1):
        s = released_as[r]
        base, size = offsets[r], offsets[r + 1] - offsets[r]
        start, many = (out_offsets[s], out_offsets[s + 1] - out_offsets[s]) if s >= 0 else (np.int64(0), np.int64(0))
        if size * many > len(may):
            may, shows = np.zeros(2 * size * many, np.bool_), np.zeros(2 * size * many, np.bool_)
        for i in range(size):
            own = label[base + i]
            if not 0 < own <= types:
                continue
            out[0, own] += 1
            count = _fields(base, i, size, parent, label, types, held)
            has_fields[i] = count > 0
            whole = False
            for j in range(many):
                may[i * many + j] = shows[i * many + j] = False
                if out_label[start + j] != own:
                    continue
                above, around = parent[base + i], out_parent[start + j]
                if above >= 0 and not may[above * many + around]:
                    continue
                fields = _fields(start, j, many, out_parent, out_label, types, shown)
                if _may_become(held, count, shown, fields, up):
                    may[i * many + j] = True
                    shows[i * many + j] = fields > 0
                    whole |= fields == count
            if whole and count > 0:
                out[2, own] += 1
        # From the last one up: whether an object shows a value is known before what it lies in.
        for i in range(size - 1, -1, -1):
            own, above = label[base + i], parent[base + i]
            if not 0 < own <= types:
                continue
            seen = False
            for j in range(many):
                if shows[i * many + j]:
                    seen = True
                    if above >= 0:
                        shows[above * many + out_parent[start + j]] = True
            if seen and not has_fields[i]:
                out[2, own] += 1
    return out

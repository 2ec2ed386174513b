"""Trees straight from container rows that are sorted by the row that owns them."""

from __future__ import annotations

import numpy as np

from treeanon.kernels.jit import njit
from treeanon.kernels.tree.forest import ROWS, Ints, Longs, canonical_record


@njit
def build_trees(
    records: int,
    out_parent: Ints,
    out_label: Ints,
    owners: Ints,
    owner_first: Longs,
    container_parent: Ints,
    codes: Ints,
    code_first: Longs,
    class_container: Ints,
    class_parent: Ints,
    labels: Ints,
    label_first: Longs,
    rank: Ints,
) -> Longs:
    """Writes the canonical trees of some records, and returns their offsets.

    The owners of container x are owners[owner_first[x]:owner_first[x + 1]], ascending; the codes of class c lie
    likewise, one for each row of its container, and code y of it means labels[label_first[c] + y] (below 0: no node).
    Classes come after their parents. A node's parent is the nearest class up the class tree that is present in its
    own row or the rows that own it. (One function: the room for a record, and how far it is filled, would have to go in
    and out of every part.)
    """
    containers = len(container_parent)
    classes = len(class_container)
    start = np.zeros(containers, np.int64)
    end = np.zeros(containers, np.int64)
    # For every cell the node that what hangs under its class hangs under, as a position in the record.
    anchors = np.empty(len(codes), np.int32)
    room = 1024
    label = np.empty(room, np.int32)
    space = np.empty((ROWS, room + 1), np.int32)
    work = np.empty(room, np.int64)
    offsets = np.zeros(records + 1, np.int64)
    filled = 0
    for r in range(records):
        most = 0
        start[0], end[0] = r, r + 1
        for x in range(1, containers):
            start[x] = end[x]
            first, size = owner_first[x], owner_first[x + 1] - owner_first[x]
            stop = end[x]
            limit = end[container_parent[x]]
            while stop < size and owners[first + stop] < limit:
                stop += 1
            end[x] = stop
        for c in range(classes):
            most += end[class_container[c]] - start[class_container[c]]
        if most > room:
            room = 2 * most
            label = np.empty(room, np.int32)
            space = np.empty((ROWS, room + 1), np.int32)
            work = np.empty(room, np.int64)
        count = 0
        # The children of each node, listed as they come: see `list_children`.
        first_child, next_sibling = space[0], space[1]
        first_child[0] = -1
        for c in range(classes):
            x = class_container[c]
            p = class_parent[c]
            home = class_container[p] if p >= 0 else 0
            for row in range(start[x], end[x]):
                above = np.int32(-1)
                if p >= 0:
                    y, at = x, row
                    while y != home:
                        at = owners[owner_first[y] + at]
                        y = container_parent[y]
                    above = anchors[code_first[p] + at]
                code = codes[code_first[c] + row]
                found = labels[label_first[c] + code] if code >= 0 else np.int32(-1)
                if found >= 0:
                    label[count] = found
                    next_sibling[count] = first_child[above + 1]
                    first_child[above + 1] = count
                    first_child[count + 1] = -1
                    above = np.int32(count)
                    count += 1
                anchors[code_first[c] + row] = above
        filled = canonical_record(label, 0, rank, space, work, out_parent, out_label, filled)
        offsets[r + 1] = filled
    return offsets


@njit
def close_gaps(parent: Ints, label: Ints, starts: Longs, sizes: Longs) -> int:
    """Moves the parts that begin at `starts` together, in place, and returns where they end."""
    at = 0
    for i in range(len(starts)):
        if starts[i] != at:
            for j in range(sizes[i]):
                parent[at + j] = parent[starts[i] + j]
                label[at + j] = label[starts[i] + j]
        at += sizes[i]
    return at

"""Trees straight from container rows that are sorted by the row that owns them.

Lays trees out in container rows, so that a reader of the document finds exactly these trees again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.tree.forest import list_children


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
) -> Longs:
    """Write the trees of some records, not yet merged, and return their offsets.

    The owners of container x are owners[owner_first[x]:owner_first[x + 1]], ascending; the codes of class c lie
    likewise, one for each row of its container, and code y of it means labels[label_first[c] + y] (below 0: no node).
    Classes come after their parents. A node's parent is the nearest class up the class tree that is present in its
    own row or the rows that own it.
    """
    containers = len(container_parent)
    start = np.zeros(containers, np.int64)
    end = np.zeros(containers, np.int64)
    # For every cell the node that what hangs under its class hangs under, as a position in the record.
    anchors = np.empty(len(codes), np.int32)
    offsets = np.empty(records + 1, np.int64)
    offsets[0] = 0
    filled = 0
    for r in range(records):
        start[0], end[0] = r, r + 1
        # Rows come in the order of their owners: the record's rows of each container follow those of the record
        # before.
        for x in range(1, containers):
            start[x] = end[x]
            first, size = owner_first[x], owner_first[x + 1] - owner_first[x]
            stop = end[x]
            limit = end[container_parent[x]]
            while stop < size and owners[first + stop] < limit:
                stop += 1
            end[x] = stop
        base = filled
        for c in range(len(class_container)):
            x = class_container[c]
            p = class_parent[c]
            home = class_container[p] if p >= 0 else 0
            for row in range(start[x], end[x]):
                above = np.int32(-1)
                if p >= 0:
                    y, at = x, row
                    # Up through the rows that own this one, to the row in which the parent class stands.
                    while y != home:
                        at = owners[owner_first[y] + at]
                        y = container_parent[y]
                    above = anchors[code_first[p] + at]
                code = codes[code_first[c] + row]
                found = labels[label_first[c] + code] if code >= 0 else np.int32(-1)
                # A value becomes a node, and the anchor of what hangs under it; a missing one leaves the anchor above.
                if found >= 0:
                    out_label[filled] = found
                    out_parent[filled] = above
                    above = np.int32(filled - base)
                    filled += 1
                anchors[code_first[c] + row] = above
        offsets[r + 1] = filled
    return offsets


@njit
def close_gaps(parent: Ints, label: Ints, starts: Longs, sizes: Longs) -> int:
    """Move the parts that begin at `starts` together, in place, and return where they end."""
    at = 0
    for i in range(len(starts)):
        if starts[i] != at:
            for j in range(sizes[i]):
                parent[at + j] = parent[starts[i] + j]
                label[at + j] = label[starts[i] + j]
        at += sizes[i]
    return at


MOVED = -2
NESTED = -3


@njit
def _height(parents: Ints) -> int:
    highest = 1
    for x in range(len(parents)):
        steps = 1
        above = parents[x]
        while above >= 0:
            steps += 1
            above = parents[above]
        highest = max(highest, steps)
    return highest


@njit
def place_nodes(
    offsets: Longs,
    parent: Ints,
    label: Ints,
    class_of: Ints,
    writable: npt.NDArray[np.bool_],
    class_parent: Ints,
    class_container: Ints,
    container_parent: Ints,
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    """Return rows (container, owner row), the row of each node, the moved nodes' rows, and copies (row, node).

    Row r of the first arrays is the record r's own for r < records. A node goes to the row of its parent when they
    share a container, else to a new row inside it. A field holds one value: where a node has several children of
    one class in its own container, each gets a row to itself, which repeats the node and its holders (copies); the
    reader merges them again. A node whose parent is not of the class its schema names, or whose label the format
    cannot write in place, is MOVED: it is hung on the row of its parent, and all below it is NESTED in it. (One
    function: the fill levels of its outputs would have to go in and out of every part.)
    """
    records = len(offsets) - 1
    total = len(label)
    deepest = _height(container_parent)
    tallest = _height(class_parent)
    biggest = 0
    for r in range(records):
        biggest = max(biggest, offsets[r + 1] - offsets[r])
    # Each node needs a row of its own container at most, and one of each container above.
    row_container = np.zeros(records + total * deepest, np.int32)
    row_owner = np.full(records + total * deepest, -1, np.int32)
    node_row = np.full(total, NESTED, np.int32)
    moved_row = np.full(total, -1, np.int32)
    copy_row = np.empty(total * tallest, np.int32)
    copy_node = np.empty(total * tallest, np.int32)
    rows = records
    copies = 0
    siblings = np.zeros(len(class_parent) + 1, np.int32)
    bare_row = np.full(len(container_parent), -1, np.int32)
    chain = np.empty(deepest, np.int32)
    first_child = np.empty(biggest + 1, np.int32)
    next_sibling = np.empty(biggest, np.int32)
    for r in range(records):
        base = offsets[r]
        size = offsets[r + 1] - base
        list_children(parent, base, size, first_child, next_sibling)
        for p in range(-1, size):
            own_row = r if p < 0 else node_row[base + p]
            own_class = -1 if p < 0 else class_of[label[base + p]]
            # What was moved is written as a whole by whoever holds it: nothing below it gets a row.
            if own_row < 0 or first_child[p + 1] < 0:
                continue
            own_container = row_container[own_row]
            v = first_child[p + 1]
            # How many children of each class there are decides whether fields are enough.
            while v >= 0:
                siblings[class_of[label[base + v]]] += 1
                v = next_sibling[v]
            bare_row[:] = -1
            v = first_child[p + 1]
            while v >= 0:
                node = base + v
                held = class_of[label[node]]
                fits = held >= 0 and writable[label[node]] and class_parent[held] == own_class
                goes = class_container[held] if fits else -1
                if fits and goes == 0:
                    # The record itself cannot be repeated: the first of several keeps the field, the others move.
                    if siblings[held] > 0:
                        siblings[held] = -1
                        node_row[node] = own_row
                        v = next_sibling[v]
                        continue
                    fits = False
                if not fits or goes < 0:
                    node_row[node] = MOVED
                    moved_row[node] = own_row
                elif goes == own_container:
                    if siblings[held] == 1:
                        node_row[node] = own_row
                    else:
                        row_container[rows] = goes
                        row_owner[rows] = row_owner[own_row]
                        node_row[node] = rows
                        q = p
                        # The repeated row holds the node and what holds it in the same container: the reader merges
                        # them again.
                        while q >= 0 and class_container[class_of[label[base + q]]] == goes:
                            copy_row[copies] = rows
                            copy_node[copies] = base + q
                            copies += 1
                            q = parent[base + q]
                        rows += 1
                else:
                    steps = 0
                    x = goes
                    # New rows for the containers in between; those that hold nothing themselves are shared by
                    # siblings.
                    while x != own_container:
                        chain[steps] = x
                        steps += 1
                        x = container_parent[x]
                    owner = own_row
                    for i in range(steps - 1, -1, -1):
                        if i > 0 and bare_row[chain[i]] >= 0:
                            owner = bare_row[chain[i]]
                            continue
                        row_container[rows] = chain[i]
                        row_owner[rows] = owner
                        if i > 0:
                            bare_row[chain[i]] = rows
                        owner = rows
                        rows += 1
                    node_row[node] = owner
                v = next_sibling[v]
            v = first_child[p + 1]
            while v >= 0:
                siblings[class_of[label[base + v]]] = 0
                v = next_sibling[v]
    return (
        row_container[:rows].copy(),
        row_owner[:rows].copy(),
        node_row,
        moved_row,
        copy_row[:copies].copy(),
        copy_node[:copies].copy(),
    )

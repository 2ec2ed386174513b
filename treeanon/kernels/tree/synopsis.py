"""Synopsis trees: one node per distinct path of labels, with the records that hold it.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section
III-A.

A synopsis is `parent` and `label` per node, parents before their children, -1 above the topmost. The records of node v
are records[starts[v] : starts[v + 1]], each once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Ints, Longs, SetArrays
from treeanon.kernels.jit import njit
from treeanon.kernels.tree.record_sets import DENSE, SPARSE, ones

Table = npt.NDArray[np.int32]

_SHORT = 48


@njit
def merge_paths(above: Ints, label: Ints, width: int) -> tuple[Ints, Ints, Ints]:
    """Return for every element its node in the tree of distinct paths, and the parents and labels of these nodes.

    `above` is the element's parent (-1: none), which comes before it; labels are less than `width`.
    """
    size = 1024
    keys = np.full(size, -1, np.int64)
    nodes = np.empty(size, np.int32)
    node_of = np.empty(len(above), np.int32)
    parent = np.empty(len(above), np.int32)
    out_label = np.empty(len(above), np.int32)
    filled = 0
    for i in range(len(above)):
        up = -1 if above[i] < 0 else node_of[above[i]]
        key = np.int64(up + 1) * width + label[i]
        slot = ((key * np.int64(0x9E3779B97F4A7C15 - 2**64)) >> 20) & (size - 1)
        while keys[slot] >= 0 and keys[slot] != key:
            slot = (slot + 1) & (size - 1)
        if keys[slot] < 0:
            keys[slot] = key
            nodes[slot] = filled
            parent[filled] = up
            out_label[filled] = label[i]
            filled += 1
        node_of[i] = nodes[slot]
        if 2 * filled > size:
            size *= 4
            keys = np.full(size, -1, np.int64)
            nodes = np.empty(size, np.int32)
            for v in range(filled):
                key = np.int64(parent[v] + 1) * width + out_label[v]
                slot = ((key * np.int64(0x9E3779B97F4A7C15 - 2**64)) >> 20) & (size - 1)
                while keys[slot] >= 0:
                    slot = (slot + 1) & (size - 1)
                keys[slot] = key
                nodes[slot] = v
    return node_of, parent[:filled].copy(), out_label[:filled].copy()


@njit
def group(key: Ints, count: int) -> tuple[Longs, Ints]:
    """Return the positions of every key 0 .. count-1: those of key x are members[starts[x] : starts[x + 1]],
    ascending.
    """
    starts = np.zeros(count + 1, np.int64)
    for i in range(len(key)):
        starts[key[i] + 1] += 1
    for x in range(count):
        starts[x + 1] += starts[x]
    following = starts[:-1].copy()
    members = np.empty(len(key), np.int32)
    for i in range(len(key)):
        members[following[key[i]]] = i
        following[key[i]] += 1
    return starts, members


@njit
def record_lists(offsets: Longs, node_of: Ints, count: int) -> tuple[Longs, Ints]:
    """Return the records of every synopsis node, ascending; `node_of` has the synopsis node of every node of the
    forest.
    """
    starts = np.zeros(count + 1, np.int64)
    for i in range(len(node_of)):
        starts[node_of[i] + 1] += 1
    for v in range(count):
        starts[v + 1] += starts[v]
    following = starts[:-1].copy()
    records = np.empty(len(node_of), np.int32)
    for r in range(len(offsets) - 1):
        for i in range(offsets[r], offsets[r + 1]):
            v = node_of[i]
            records[following[v]] = r
            following[v] += 1
    return starts, records


@njit
def merged_lists(
    groups: Longs, members: Ints, wanted: Flags, starts: Longs, records: Ints, count: int
) -> tuple[Longs, Ints]:
    """Return the records of the wanted groups of nodes, each record once per group, in no order; the others stay
    empty.
    """
    total = 0
    for g in range(len(groups) - 1):
        if wanted[g]:
            for i in range(groups[g], groups[g + 1]):
                total += starts[members[i] + 1] - starts[members[i]]
    out_starts = np.zeros(len(groups), np.int64)
    out = np.empty(total, np.int32)
    last = np.full(count, -1, np.int32)
    filled = 0
    for g in range(len(groups) - 1):
        if wanted[g]:
            for i in range(groups[g], groups[g + 1]):
                for j in range(starts[members[i]], starts[members[i] + 1]):
                    r = records[j]
                    if last[r] != g:
                        last[r] = g
                        out[filled] = r
                        filled += 1
        out_starts[g + 1] = filled
    return out_starts, out[:filled]


@njit
def _sort_short(values: Ints, count: int) -> int:
    """Sort the first `count` values in place and drops repeated ones; how many are left."""
    for i in range(1, count):
        value = values[i]
        j = i - 1
        while j >= 0 and values[j] > value:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value
    left = 0
    for i in range(count):
        if left == 0 or values[i] != values[left - 1]:
            values[left] = values[i]
            left += 1
    return left


@njit
def union_sets(groups: Longs, members: Ints, starts: Longs, records: Ints, count: int, sparse_below: int) -> SetArrays:
    """Return the record set of every group of nodes: a bitmap, or a sorted list if it has fewer than `sparse_below`
    records.

    `count` is the number of records that there are. (One function: the two kinds of set are filled side by side.)
    """
    number = len(groups) - 1
    words = (count + 63) // 64
    totals = np.zeros(number, np.int64)
    most_rows = 0
    most_listed = 0
    for g in range(number):
        for i in range(groups[g], groups[g + 1]):
            totals[g] += starts[members[i] + 1] - starts[members[i]]
        if totals[g] >= sparse_below:
            most_rows += 1
        most_listed += min(totals[g], sparse_below)
    kind = np.empty(number, np.int8)
    at = np.empty(number, np.int64)
    size = np.empty(number, np.int32)
    rows = np.empty((most_rows, words), np.uint64)
    lists = np.empty(most_listed, np.int32)
    marks = np.zeros(words, np.uint64)
    used_rows = 0
    used = 0
    for g in range(number):
        if totals[g] <= _SHORT and totals[g] < sparse_below:
            filled = 0
            for i in range(groups[g], groups[g + 1]):
                for j in range(starts[members[i]], starts[members[i] + 1]):
                    lists[used + filled] = records[j]
                    filled += 1
            kind[g], at[g], size[g] = SPARSE, used, _sort_short(lists[used:], filled)
            used += size[g]
            continue
        for i in range(groups[g], groups[g + 1]):
            for j in range(starts[members[i]], starts[members[i] + 1]):
                r = records[j]
                marks[r >> 6] |= np.uint64(1) << np.uint64(r & 63)
        # Sets above the limit stay bitmaps; those below become lists, taken out of the bitmap again.
        held = np.uint64(0)
        for w in range(words):
            held += ones(marks[w])
        size[g] = held
        if size[g] >= sparse_below:
            kind[g], at[g] = DENSE, used_rows
            rows[used_rows] = marks
            marks[:] = np.uint64(0)
            used_rows += 1
            continue
        kind[g], at[g] = SPARSE, used
        for w in range(words):
            word = marks[w]
            marks[w] = np.uint64(0)
            while word != np.uint64(0):
                lowest = word & (~word + np.uint64(1))
                lists[used] = (w << 6) + np.int64(ones(lowest - np.uint64(1)))
                used += 1
                word ^= lowest
    return kind, at, size, rows[:used_rows], lists[:used]


@njit
def relation_groups(
    parent: Ints, place: Ints, touched: Flags, fresh: Flags, relation_set: Table, first: int
) -> tuple[Longs, Ints]:
    """Return the synopsis nodes that witness each relation with a fresh end; numbers the relations in `relation_set`.

    place[v] is the number of node v's label, -1 if it is none that counts. The relation x⇝y gets the number
    relation_set[x, y] = `first` or more; its witnesses are the y-nodes below an x-node. Only touched nodes are on a
    path with a fresh label.
    """
    # First all relations are numbered and counted, then their witnesses are put in place.
    found = 0
    total = 0
    for v in range(len(parent)):
        if not touched[v] or place[v] < 0:
            continue
        u = parent[v]
        while u >= 0:
            if place[u] >= 0 and (fresh[place[u]] or fresh[place[v]]):
                total += 1
                if relation_set[place[u], place[v]] < 0:
                    relation_set[place[u], place[v]] = first + found
                    found += 1
            u = parent[u]
    groups = np.zeros(found + 1, np.int64)
    members = np.empty(total, np.int32)
    for turn in range(2):
        if turn == 1:
            for g in range(found):
                groups[g + 1] += groups[g]
            following = groups[:-1].copy()
        for v in range(len(parent)):
            if not touched[v] or place[v] < 0:
                continue
            u = parent[v]
            while u >= 0:
                if place[u] >= 0 and (fresh[place[u]] or fresh[place[v]]):
                    g = relation_set[place[u], place[v]] - first
                    if turn == 0:
                        groups[g + 1] += 1
                    else:
                        members[following[g]] = v
                        following[g] += 1
                u = parent[u]
    return groups, members


@njit
def touched_nodes(parent: Ints, fresh: Flags) -> Flags:
    """Return the nodes that are fresh or lie below a fresh one; parents come before their children."""
    out = fresh.copy()
    for v in range(len(parent)):
        if parent[v] >= 0 and out[parent[v]]:
            out[v] = True
    return out


@njit
def node_now(v: int, into: Ints) -> int:
    """Return the node that node v of a synopsis has been merged into, itself if it lives."""
    while into[v] >= 0:
        v = into[v]
    return v


@njit
def path_cost(parent: Ints, support: Ints, level: Ints, dead: Flags) -> float:
    """RPDa of a synopsis: (1/nodes)·(1/leaves)·Σ over root-to-leaf paths of Σ support(u) / Π d(u)·|C(u)|.

    `level` is |C| of every node; dead nodes do not count. Neumaier's sum: the same for any order of the paths.
    """
    inner = np.zeros(len(parent), np.bool_)
    nodes = 0
    for v in range(len(parent)):
        if not dead[v]:
            nodes += 1
            if parent[v] >= 0:
                inner[parent[v]] = True
    leaves = 0
    total = 0.0
    rest = 0.0
    for v in range(len(parent)):
        if dead[v] or inner[v]:
            continue
        leaves += 1
        held = 0.0
        product = 1.0
        depth = 0
        u = v
        while u >= 0:
            depth += 1
            held += support[u]
            product *= np.float64(level[u]) * depth
            u = parent[u]
        # Compensated summation: what rounding loses of each term is kept in `rest`.
        term = held / product
        raised = total + term
        rest += (total - raised) + term if abs(total) >= abs(term) else (term - raised) + total
        total = raised
    return (total + rest) / leaves / nodes if leaves else 0.0

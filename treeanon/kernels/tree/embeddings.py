"""The joint attacker: records in which one embedding of labels into nodes witnesses all relations."""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Ints, Longs, SetArrays, Tinies, Words
from treeanon.kernels.jit import njit
from treeanon.kernels.tree.record_sets import DENSE, has, ones
from treeanon.kernels.tree.synopsis import node_now


@njit
def _embeds(
    nodes: Ints, count: int, parent: Ints, place: Ints, labels: Ints, size: int, upper: Ints, lower: Ints, number: int
) -> bool:
    """Return whether each label can be given one of a record's nodes such that all relations hold between these."""
    given = np.full(size, -1, np.int64)
    depth = 0
    while depth >= 0:
        given[depth] += 1
        if given[depth] >= count:
            given[depth] = -1
            depth -= 1
            continue
        v = nodes[given[depth]]
        if place[v] != labels[depth]:
            continue
        fits = True
        for i in range(number):
            # A relation is checked when the second of its ends is chosen.
            if max(upper[i], lower[i]) != depth:
                continue
            top = nodes[given[upper[i]]]
            u = parent[nodes[given[lower[i]]]]
            while u >= 0 and u != top:
                u = parent[u]
            if u < 0:
                fits = False
                break
        if not fits:
            continue
        if depth + 1 == size:
            return True
        depth += 1
    return False


@njit
def _held(kind: Tinies, at: Longs, size: Ints, rows: Words, lists: Ints, number: int, record: int) -> bool:
    if kind[number] == DENSE:
        return bool(has(rows, at[number], record))
    low, high = at[number], at[number] + size[number]
    while low < high:
        middle = (low + high) // 2
        if lists[middle] < record:
            low = middle + 1
        else:
            high = middle
    return bool(low < at[number] + size[number] and lists[low] == record)


Places = tuple[Longs, Ints, Ints, Ints, Ints, Ints, Ints]
"""Where the nodes of records are in a projected synopsis, as they are after the disassociations so far.

The records' offsets; the synopsis node of every node of a record; its node in the projection; the one that it merged
into; parent and place of the projection's nodes; the class of every label.
"""


@njit
def joint_support(
    sets: SetArrays,
    chosen: Ints,
    count: int,
    places: Places,
    labels: Ints,
    number_of_labels: int,
    upper: Ints,
    lower: Ints,
    number: int,
    enough: int,
) -> int:
    """Return the records, counted up to `enough`, in which one embedding witnesses all labels and relations.

    The records are among those that the chosen sets share.
    """
    kind, at, size, rows, lists = sets
    offsets, synopsis_node, node_of, into, parent, place, class_of = places
    for i in range(number):
        for j in range(i):
            # No path has two nodes of one class, so no node has two ancestors of it.
            if lower[i] == lower[j] and class_of[labels[upper[i]]] == class_of[labels[upper[j]]]:
                return 0
    # The records of the smallest set are gone through, the others are asked for them.
    least = 0
    for i in range(1, count):
        if size[chosen[i]] < size[chosen[least]]:
            least = i
    base = chosen[least]
    found = 0
    nodes = np.empty(64, np.int32)
    dense = kind[base] == DENSE
    for step in range(rows.shape[1] if dense else size[base]):
        # The records of one word of the bitmaps, or one of a list.
        word = np.uint64(1)
        if dense:
            word = rows[at[base], step]
            for i in range(count):
                if kind[chosen[i]] == DENSE:
                    word &= rows[at[chosen[i]], step]
        while word != np.uint64(0):
            lowest = word & (~word + np.uint64(1))
            word ^= lowest
            record = (step << 6) + int(ones(lowest - np.uint64(1))) if dense else int(lists[at[base] + step])
            every = True
            for i in range(count):
                if (not dense or kind[chosen[i]] != DENSE) and not _held(
                    kind, at, size, rows, lists, chosen[i], record
                ):
                    every = False
                    break
            if not every:
                continue
            # The nodes of the record as they are after the disassociations so far.
            length = offsets[record + 1] - offsets[record]
            if length > len(nodes):
                nodes = np.empty(2 * length, np.int32)
            for i in range(length):
                nodes[i] = node_now(node_of[synopsis_node[offsets[record] + i]], into)
            if _embeds(nodes, length, parent, place, labels, number_of_labels, upper, lower, number):
                found += 1
                if found >= enough:
                    return enough
    return found

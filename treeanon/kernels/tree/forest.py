"""Loops over forests of small trees stored as flat arrays.

A forest of n records is `offsets` (n + 1), and per node `label` and `parent` (the position of the parent inside the
record, -1 for a child of the pseudo-root). A *canonical* forest has no equal siblings, siblings in ascending rank of
their label, and the nodes of a record in preorder.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints, Longs
from treeanon.kernels.jit import njit, read_only
from treeanon.kernels.sorting import sort


@njit
def list_children(parent: Ints, base: int, size: int, first_child: Ints, next_sibling: Ints) -> None:
    """Link the children of every node of a record, in ascending order: first_child[p + 1], then next_sibling."""
    for i in range(size + 1):
        first_child[i] = -1
    for i in range(size - 1, -1, -1):
        above = parent[base + i] + 1
        next_sibling[i] = first_child[above]
        first_child[above] = i


def canonical(offsets: Longs, parent: Ints, label: Ints, rank: Ints) -> tuple[Longs, Ints, Ints]:
    """Return offsets, parents and labels of the same trees in canonical form; parents may come in any order.

    Equal siblings are merged together with what lies below them. `rank` must be unique for a label; an empty one stands
    for the labels themselves.
    """
    return _canonical(*read_only(offsets, parent, label, rank))


@njit
def _canonical(offsets: Longs, parent: Ints, label: Ints, rank: Ints) -> tuple[Longs, Ints, Ints]:
    records = len(offsets) - 1
    biggest = 0
    for r in range(records):
        biggest = max(biggest, offsets[r + 1] - offsets[r])
    out_offsets = np.zeros(records + 1, np.int64)
    out_parent = np.empty(len(label), np.int32)
    out_label = np.empty(len(label), np.int32)
    space = np.empty((ROWS, biggest + 1), np.int32)
    work = np.empty(biggest, np.int64)
    filled = 0
    for r in range(records):
        base = offsets[r]
        size = offsets[r + 1] - base
        list_children(parent, base, size, space[0], space[1])
        filled = canonical_record(label, base, rank, space, work, out_parent, out_label, filled)
        out_offsets[r + 1] = filled
    if 8 * filled < 7 * len(label):
        # What is not used is given back.
        return out_offsets, out_parent[:filled].copy(), out_label[:filled].copy()
    return out_offsets, out_parent[:filled], out_label[:filled]


ROWS = 6
"""The rows of the work space of `canonical_record`, each one longer than the largest record."""

_NODE = (1 << 32) - 1


@njit
def canonical_record(
    label: Ints,
    base: int,
    rank: Ints,
    space: npt.NDArray[np.int32],
    work: Longs,
    out_parent: Ints,
    out_label: Ints,
    filled: int,
) -> int:
    """Write one record, whose labels lie from `base` on, in canonical form from `filled` on; return where it ends.

    The first two rows of `space` list the children of each node, as `list_children` does.
    (One function: its work arrays and their fill levels would have to go in and out of every part.)
    """
    first_child, next_sibling = space[0], space[1]
    # One frame for every open tree level: the segment of `work` with the raw children of one merged node, as numbers
    # that sort by rank: the rank of a node's label, then the node.
    frame_at, frame_end, frame_start, frame_parent = space[2], space[3], space[4], space[5]
    ranked = len(rank) > 0
    begin = filled
    depth = -1
    top = 0
    merged = np.int32(-1)
    at = 0
    last = 1
    while True:
        # The children of nodes at:last of the frame above (first of all, of the record) make a new frame.
        # Nodes with equal labels under one parent merge: their children are one segment, sorted together.
        start = top
        for i in range(at, last):
            child = first_child[(work[i] & _NODE) + 1 if depth >= 0 else 0]
            while child >= 0:
                key = label[base + child]
                if ranked:
                    key = rank[key]
                work[top] = (np.int64(key) << 32) | child
                top += 1
                child = next_sibling[child]
        if top > start:
            sort(work, start, top)
            depth += 1
            frame_start[depth] = start
            frame_at[depth] = start
            frame_end[depth] = top
            frame_parent[depth] = merged
        while depth >= 0 and frame_at[depth] == frame_end[depth]:
            top = frame_start[depth]
            depth -= 1
        if depth < 0:
            return filled
        at = frame_at[depth]
        end = frame_end[depth]
        # A run of equal labels becomes one node.
        shared = work[at] >> 32
        last = at + 1
        while last < end and work[last] >> 32 == shared:
            last += 1
        frame_at[depth] = last
        out_label[filled] = label[base + (work[at] & _NODE)]
        out_parent[filled] = frame_parent[depth]
        merged = np.int32(filled - begin)
        filled += 1


@njit
def group_by_record(record: Ints, parent: Ints, label: Ints, records: int) -> tuple[Longs, Ints, Ints]:
    """Return offsets, parents and labels with the nodes of each record side by side; parents become positions inside
    it.

    `parent` counts nodes in the order given, -1 for a child of the root.
    """
    offsets = np.zeros(records + 1, np.int64)
    for i in range(len(record)):
        offsets[record[i] + 1] += 1
    for r in range(records):
        offsets[r + 1] += offsets[r]
    place = np.empty(len(record), np.int64)
    following = offsets[:-1].copy()
    for i in range(len(record)):
        place[i] = following[record[i]]
        following[record[i]] += 1
    out_parent = np.empty(len(record), np.int32)
    out_label = np.empty(len(record), np.int32)
    for i in range(len(record)):
        out_label[place[i]] = label[i]
        out_parent[place[i]] = -1 if parent[i] < 0 else place[parent[i]] - offsets[record[i]]
    return offsets, out_parent, out_label


@njit
def move_disassociated(
    offsets: Longs, parent: Ints, label: Ints, pairs_of: Longs, pair_ids: Ints, upper: Ints, lower: Ints
) -> Ints:
    """Return parents after disassociating upper[i] ⇝ lower[i] for every i in order.

    The pairs whose lower label is x are pair_ids[pairs_of[x]:pairs_of[x + 1]]. Each node `lower` below a node
    `upper` becomes a leaf child of upper's parent, its children go to its own former parent; merging is left to
    `canonical` (a node is known by the labels on its path, which merging does not change).
    """
    out = parent.copy()
    biggest = 0
    for r in range(len(offsets) - 1):
        biggest = max(biggest, offsets[r + 1] - offsets[r])
    # Only pairs whose lower label the record has can move anything in it.
    moves = np.zeros(len(upper), np.bool_)
    former = np.empty(biggest, np.int32)
    goal = np.empty(biggest, np.int32)
    moved = np.zeros(biggest, np.bool_)
    for r in range(len(offsets) - 1):
        base = offsets[r]
        size = offsets[r + 1] - base
        wanted = 0
        for i in range(base, base + size):
            for j in range(pairs_of[label[i]], pairs_of[label[i] + 1]):
                if not moves[pair_ids[j]]:
                    moves[pair_ids[j]] = True
                    wanted += 1
        if wanted == 0:
            continue
        for pair in range(len(upper)):
            if not moves[pair]:
                continue
            moves[pair] = False
            found = False
            for i in range(size):
                moved[i] = False
                if label[base + i] != lower[pair]:
                    continue
                above = out[base + i]
                while above >= 0 and label[base + above] != upper[pair]:
                    above = out[base + above]
                if above >= 0:
                    moved[i] = True
                    found = True
                    former[i] = out[base + i]
                    goal[i] = out[base + above]
            if not found:
                continue
            for i in range(size):
                above = out[base + i]
                # Children of a moved node go to its former parent first, then the node itself goes up.
                if above >= 0 and moved[above]:
                    out[base + i] = former[above]
            for i in range(size):
                if moved[i]:
                    out[base + i] = goal[i]
    return out


@njit
def drop_nodes(offsets: Longs, parent: Ints, label: Ints, dropped: npt.NDArray[np.bool_]) -> tuple[Longs, Ints, Ints]:
    """Return offsets, parents and labels without the dropped nodes, whose children go to their parents; not yet
    canonical.

    Parents come before their children, as in any canonical forest.
    """
    out_offsets = np.zeros(len(offsets), np.int64)
    out_parent = np.empty(len(parent), np.int32)
    out_label = np.empty(len(parent), np.int32)
    place = np.empty(len(parent), np.int32)
    filled = 0
    for r in range(len(offsets) - 1):
        base = offsets[r]
        begin = filled
        for i in range(base, offsets[r + 1]):
            above = -1 if parent[i] < 0 else place[base + parent[i]]
            if dropped[i]:
                place[i] = above
                continue
            place[i] = filled - begin
            out_parent[filled] = above
            out_label[filled] = label[i]
            filled += 1
        out_offsets[r + 1] = filled
    return out_offsets, out_parent[:filled].copy(), out_label[:filled].copy()


@njit
def gather(offsets: Longs, parent: Ints, label: Ints, chosen: Longs) -> tuple[Longs, Ints, Ints]:
    """Return offsets, parents and labels of the chosen records, in the order chosen."""
    out_offsets = np.zeros(len(chosen) + 1, np.int64)
    for i in range(len(chosen)):
        out_offsets[i + 1] = out_offsets[i] + offsets[chosen[i] + 1] - offsets[chosen[i]]
    out_parent = np.empty(out_offsets[-1], np.int32)
    out_label = np.empty(out_offsets[-1], np.int32)
    for i in range(len(chosen)):
        lo = offsets[chosen[i]]
        at = out_offsets[i]
        for j in range(offsets[chosen[i] + 1] - lo):
            out_parent[at + j] = parent[lo + j]
            out_label[at + j] = label[lo + j]
    return out_offsets, out_parent, out_label


def hash_records(offsets: Longs, parent: Ints, label: Ints, seed: int) -> Longs:
    """Return a 64-bit fingerprint of every record; equal records have equal fingerprints."""
    offsets, parent, label = read_only(offsets, parent, label)
    return _hash_records(offsets, parent, label, seed)


@njit
def _hash_records(offsets: Longs, parent: Ints, label: Ints, seed: int) -> Longs:
    out = np.empty(len(offsets) - 1, np.int64)
    for r in range(len(out)):
        state = np.uint64(seed)
        for i in range(offsets[r], offsets[r + 1]):
            state ^= np.uint64(label[i]) + np.uint64(0x9E3779B97F4A7C15)
            state *= np.uint64(0xBF58476D1CE4E5B9)
            state ^= state >> np.uint64(29)
            state ^= np.uint64(parent[i] + 1)
            state *= np.uint64(0x94D049BB133111EB)
            state ^= state >> np.uint64(32)
        out[r] = np.int64(state)
    return out


@njit
def depths(offsets: Longs, parent: Ints) -> Ints:
    """Return the depth of every node of a canonical forest; children of the pseudo-root have depth 0."""
    out = np.zeros(len(parent), np.int32)
    for r in range(len(offsets) - 1):
        for i in range(offsets[r], offsets[r + 1]):
            if parent[i] >= 0:
                out[i] = out[offsets[r] + parent[i]] + 1
    return out

"""Which relations of a person the same nodes witness (the joint attacker).

In merged trees every label of one embedding stands for one node. Where objects stay whole, the relations of one type
speak of one object.

A mask of an embedding has a bit for every pair of labels whose nodes are related, and DENIED bits above it one for
every pair of which the lower label is nowhere below the node of the upper one.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.verify.counting import DENIED, Mask, Stack


@njit
def _is_above(parent: Ints, base: int, upper: int, lower: int) -> bool:
    up = parent[base + lower]
    while up >= 0 and up != upper:
        up = parent[base + up]
    return bool(up == upper)


@njit
def _may_matter(
    node: int, i: int, depth: int, mask: Mask, base: int, parent: Ints, nodes: Ints, node_lo: Longs, node_hi: Longs
) -> bool:
    """Whether a node for label i stands above or below a node of any other label of the set."""
    for j in range(depth):
        if j == i:
            continue
        pair = max(i, j) * (max(i, j) - 1) // 2 + min(i, j)
        if (mask >> pair) & 1:
            for at in range(node_lo[j], node_hi[j]):
                if _is_above(parent, base, node, nodes[at]) or _is_above(parent, base, nodes[at], node):
                    return True
    return False


@njit
def _nowhere_below(
    node: int,
    i: int,
    depth: int,
    down: Mask,
    up: Mask,
    base: int,
    parent: Ints,
    nodes: Ints,
    node_lo: Longs,
    node_hi: Longs,
) -> Mask:
    """The bits, DENIED up, of the labels that may be denied below label i and are not below this node of it."""
    bits = np.int64(0)
    for j in range(depth):
        if j == i:
            continue
        pair = np.int64(max(i, j) * (max(i, j) - 1) // 2 + min(i, j))
        if not ((down if i < j else up) >> pair) & 1:
            continue
        found = False
        for at in range(node_lo[j], node_hi[j]):
            found |= _is_above(parent, base, node, nodes[at])
        if not found:
            bits |= np.int64(1) << (DENIED + pair)
    return bits


@njit
def _longer(filled: Longs) -> Longs:
    """The same content with as much room again."""
    out = np.empty(2 * len(filled), np.int64)
    for i in range(len(filled)):
        out[i] = filled[i]
    return out


@njit
def embeddings(
    depth: int,
    mask: Mask,
    down: Mask,
    up: Mask,
    base: int,
    parent: Ints,
    nodes: Ints,
    node_lo: Longs,
    node_hi: Longs,
    choices: Stack,
    out: Longs,
    begin: int,
) -> tuple[Longs, int]:
    """The largest masks of a record when each label stands for one node.

    They stand in `out` from `begin` to the end returned. Label i may be any of nodes[node_lo[i]:node_hi[i]]; `mask`
    holds all relations that occur, `down` and `up` the pairs that may be denied (of which the first, or the second
    label is the upper one).
    """
    options = np.ones(8, np.int64)
    for i in range(depth):
        choices[i, 0] = nodes[node_lo[i]] if node_lo[i] < node_hi[i] else -1
        useful = 0
        for at in range(node_lo[i], node_hi[i]):
            if down | up or _may_matter(nodes[at], i, depth, mask, base, parent, nodes, node_lo, node_hi):
                choices[i, useful] = nodes[at]
                useful += 1
        options[i] = max(useful, 1)
    chosen = np.zeros(8, np.int64)
    so_far = np.zeros(9, np.int64)
    end = begin
    i = int(so_far[0])
    while i >= 0:
        if i == depth:
            made = so_far[depth]
            covered = False
            for j in range(begin, end):
                if made & out[j] == made:
                    covered = True
                    break
            if not covered:
                # Only now may what the new mask covers go: a covered one must leave the others in place.
                kept = begin
                for j in range(begin, end):
                    if out[j] & made != out[j]:
                        out[kept] = out[j]
                        kept += 1
                end = kept
                if end == len(out):
                    out = _longer(out)
                out[end] = made
                end += 1
            i -= 1
            chosen[i] += 1
        elif chosen[i] == options[i]:
            chosen[i] = 0
            i -= 1
            if i >= 0:
                chosen[i] += 1
        else:
            made = so_far[i]
            node = choices[i, chosen[i]]
            for j in range(i):
                pair = np.int64(i * (i - 1) // 2 + j)
                if (mask >> pair) & 1:
                    other = choices[j, chosen[j]]
                    if _is_above(parent, base, node, other) or _is_above(parent, base, other, node):
                        made |= np.int64(1) << pair
            if down | up and node >= 0:
                made |= _nowhere_below(node, i, depth, down, up, base, parent, nodes, node_lo, node_hi)
            so_far[i + 1] = made
            i += 1
    return out, end


@njit
def _told_apart(out: Longs, begin: int, end: int) -> int:
    """Keep, from `begin` on, the masks that no other one covers; return where they end."""
    kept = begin
    for i in range(begin, end):
        covered = False
        for j in range(begin, end):
            if out[i] & out[j] == out[i] and (out[i] != out[j] or j < i):
                covered = True
                break
        if not covered:
            out[kept] = out[i]
            kept += 1
    return kept


@njit
def object_choices(
    depth: int,
    kinds: int,
    base: int,
    parent: Ints,
    label: Ints,
    nodes: Ints,
    node_lo: Longs,
    node_hi: Longs,
    out: Longs,
    begin: int,
) -> tuple[Longs, int]:
    """The largest relation masks of a record when the relations of each type speak of one object of it.

    They stand in `out` from `begin` to the end returned. Label i stands at nodes[node_lo[i]:node_hi[i]]; above them are
    objects alone.
    """
    room = 0
    for i in range(depth):
        room += node_hi[i] - node_lo[i]
    objects, held = np.empty(room * kinds, np.int32), np.zeros(room * kinds, np.int64)
    masks = np.zeros(room * kinds, np.int64)
    count = 0
    for i in range(depth):
        for at in range(node_lo[i], node_hi[i]):
            up = parent[base + nodes[at]]
            while up >= 0:
                found = 0
                while found < count and objects[found] != up:
                    found += 1
                level = 0
                above = parent[base + up]
                while above >= 0:
                    level += 1
                    above = parent[base + above]
                if level < kinds:
                    if found == count:
                        objects[count] = up
                        count += 1
                    # All pairs of the new label and those that the object holds already.
                    for j in range(depth):
                        if j != i and (held[found] >> j) & 1:
                            high, low = max(i, j), min(i, j)
                            bit = kinds * (high * (high - 1) // 2) + level * high + low
                            masks[found] |= np.int64(1) << np.int64(bit)
                    held[found] |= np.int64(1) << np.int64(i)
                up = parent[base + up]
    if begin == len(out):
        out = _longer(out)
    out[begin] = 0
    end = begin + 1
    is_done = np.zeros(count, np.bool_)
    for first in range(count):
        if is_done[first]:
            continue
        stop = end
        for found in range(first, count):
            if label[base + objects[found]] != label[base + objects[first]]:
                continue
            is_done[found] = True
            if masks[found] == 0:
                continue
            for i in range(begin, end):
                if stop == len(out):
                    out = _longer(out)
                out[stop] = out[i] | masks[found]
                stop += 1
        end = _told_apart(out, begin, stop)
    return out, end


@njit
def witnesses(
    stack: Stack,
    lo: int,
    hi: int,
    depth: int,
    down: Mask,
    up: Mask,
    own: Ints,
    first_node: Longs,
    several: Flags,
    record: Longs,
    offsets: Longs,
    parent: Ints,
    node_begin: Longs,
    nodes: Ints,
    choices: Stack,
    out: Longs,
    ends: Longs,
    mixed: Longs,
    label: Ints,
    types: int,
    kinds: int,
) -> tuple[Longs, int]:
    """For every entry the masks that one embedding witnesses, ending at `ends`; `down` and `up` as in `embeddings`.

    `mixed` gets the entries with several such masks, counted from lo; their number is returned too. `own` numbers rows
    as `several` and `record` do, and first_node[row] is where its first item stands in `node_begin`.
    """
    node_lo, node_hi = np.zeros(8, np.int64), np.zeros(8, np.int64)
    end: Mask = np.int64(0)
    found = 0
    for e in range(lo, hi):
        row = own[stack[e, 0]]
        mask = np.int64(stack[e, 3])
        if end == len(out):
            out = _longer(out)
        # With fewer than two relations, or every label at one node, what each witnesses all witness.
        if several[row] and (mask & (mask - 1) or mask & (down | up)):
            chain = e
            for i in range(depth - 1, -1, -1):
                at = first_node[stack[e, 0]] + stack[chain, 1]
                node_lo[i] = node_begin[at]
                node_hi[i] = node_begin[at + 1]
                chain = stack[chain, 2]
            base = offsets[record[row]]
            if types > 0:
                out, after = object_choices(depth, kinds, base, parent, label, nodes, node_lo, node_hi, out, end)
            else:
                out, after = embeddings(depth, mask, down, up, base, parent, nodes, node_lo, node_hi, choices, out, end)
            if after - end > 1:
                mixed[found] = e - lo
                found += 1
            end = after
        else:
            out[end] = mask | ((down | up) & ~mask) << DENIED
            end += 1
        ends[e - lo] = end
    return out, found


@njit
def joint_holder(e: int, wanted: Mask, masks: Longs, ends: Longs) -> bool:
    """Whether one embedding of the record of entry e (counted from 0) witnesses all wanted bits of a mask."""
    for j in range(ends[e - 1] if e > 0 else 0, ends[e]):
        if masks[j] & wanted == wanted:
            return True
    return False

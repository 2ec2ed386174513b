"""Structural disassociation on a projected synopsis: whole nodes move and merge, records are not read one by one.

A node that merged into another has it in `into` (-1: it lives); its records go with it. `chain` links a living node to
the nodes that merged into it, `chain_end` is the last of these.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Ints, Longs, Tinies, Words
from treeanon.kernels.jit import njit
from treeanon.kernels.tree.record_sets import DENSE
from treeanon.kernels.tree.synopsis import Table, node_now


@njit
def below(links: Ints, into: Ints, parent: Ints, item: Ints, upper: int) -> Ints:
    """Return the living ones of the linked nodes that have an ancestor with item `upper`."""
    out = np.empty(len(links), np.int32)
    filled = 0
    for v in links:
        if into[v] >= 0:
            continue
        u = parent[v]
        while u >= 0 and item[u] != upper:
            u = parent[u]
        if u >= 0:
            out[filled] = v
            filled += 1
    return out[:filled]


@njit
def ended_relations(
    moved: Ints, parent: Ints, first_child: Ints, next_sibling: Ints, item: Ints, place: Ints, upper: int, labels: int
) -> tuple[Flags, Flags]:
    """Return the labels that the moved nodes may lose as ancestors, and those that may lose them as ancestors."""
    above = np.zeros(labels, np.bool_)
    under = np.zeros(labels, np.bool_)
    for v in moved:
        u = parent[v]
        # From the moved node up to the label that it leaves: these lose it, and what hangs under it.
        while True:
            if place[u] >= 0:
                above[place[u]] = True
            if item[u] == upper:
                break
            u = parent[u]
        w = first_child[v + 1]
        while w >= 0:
            if place[w] >= 0:
                under[place[w]] = True
            if first_child[w + 1] >= 0:
                w = first_child[w + 1]
                continue
            while w != v and next_sibling[w] < 0:
                w = parent[w]
            w = -1 if w == v else next_sibling[w]
    return above, under


@njit
def _unlink(v: int, parent: Ints, first_child: Ints, next_sibling: Ints) -> None:
    above = parent[v] + 1
    if first_child[above] == v:
        first_child[above] = next_sibling[v]
        return
    u = first_child[above]
    while next_sibling[u] != v:
        u = next_sibling[u]
    next_sibling[u] = next_sibling[v]


@njit
def _attach(
    v: int,
    above: int,
    parent: Ints,
    first_child: Ints,
    next_sibling: Ints,
    item: Ints,
    into: Ints,
    chain: Ints,
    chain_end: Ints,
) -> None:
    """Make v, which is linked nowhere, a child of `above`; equal siblings merge with what lies below them."""
    stack_v = [v]
    stack_above = [above]
    while len(stack_v) > 0:
        v = stack_v.pop()
        above = stack_above.pop()
        twin = first_child[above + 1]
        while twin >= 0 and item[twin] != item[v]:
            twin = next_sibling[twin]
        if twin < 0:
            parent[v] = above
            next_sibling[v] = first_child[above + 1]
            first_child[above + 1] = v
            continue
        into[v] = twin
        chain[chain_end[twin]] = v
        chain_end[twin] = chain_end[v]
        child = first_child[v + 1]
        first_child[v + 1] = -1
        while child >= 0:
            following = next_sibling[child]
            stack_v.append(child)
            stack_above.append(twin)
            child = following


@njit
def move_nodes(
    moved: Ints,
    upper: int,
    parent: Ints,
    first_child: Ints,
    next_sibling: Ints,
    item: Ints,
    into: Ints,
    chain: Ints,
    chain_end: Ints,
) -> None:
    """Make every moved node a leaf child of the parent of its ancestor with item `upper`.

    Its children go to its own former parent, equal siblings merge.
    """
    for v in moved:
        if into[v] >= 0:
            continue
        former = parent[v]
        u = former
        while item[u] != upper:
            u = parent[u]
        _unlink(v, parent, first_child, next_sibling)
        child = first_child[v + 1]
        first_child[v + 1] = -1
        while child >= 0:
            following = next_sibling[child]
            _attach(child, former, parent, first_child, next_sibling, item, into, chain, chain_end)
            child = following
        _attach(v, parent[u], parent, first_child, next_sibling, item, into, chain, chain_end)


@njit
def records_of(
    nodes: Ints, chain: Ints, groups: Longs, members: Ints, starts: Longs, records: Ints, seen: Flags
) -> Ints:
    """Return the records of some nodes of a projected synopsis together, each once, in no order.

    `seen` has a place for every record; it is all false, and is left so.
    """
    total = 0
    for turn in range(2):
        if turn == 1:
            out = np.empty(total, np.int32)
            total = 0
        for node in nodes:
            v = node
            while v >= 0:
                for i in range(groups[v], groups[v + 1]):
                    for j in range(starts[members[i]], starts[members[i] + 1]):
                        r = records[j]
                        if turn == 0 and not seen[r]:
                            seen[r] = True
                            total += 1
                        elif turn == 1 and seen[r]:
                            seen[r] = False
                            out[total] = r
                            total += 1
                v = chain[v]
    return out


@njit
def mean_path_loss(offsets: Longs, nodes: Ints, node_of: Ints, into: Ints, parent: Ints, level: Ints) -> float:
    """Return the RPD of the records of a projected synopsis: the mean over them of the mean over their paths.

    Record r holds what nodes[offsets[r] : offsets[r + 1]], the nodes of the synopsis it has, became. `level` is |C| of
    every node of the projected one.
    """
    loss = np.zeros(len(parent), np.float64)
    there = np.full(len(parent), -1, np.int64)
    inner = np.full(len(parent), -1, np.int64)
    end = node_of.copy()
    for s in range(len(end)):
        while into[end[s]] >= 0:
            end[s] = into[end[s]]
    total = 0.0
    for r in range(len(offsets) - 1):
        for i in range(offsets[r], offsets[r + 1]):
            v = end[nodes[i]]
            there[v] = r
            if parent[v] >= 0:
                inner[parent[v]] = r
        paths = 0
        held = 0.0
        for i in range(offsets[r], offsets[r + 1]):
            v = end[nodes[i]]
            if there[v] != r or inner[v] == r:
                continue
            # Several nodes of the record may have become this one: it ends one path.
            there[v] = -1
            if loss[v] == 0.0:
                # The product of the depths of a path does not depend on the end from which they are counted.
                product = 1.0
                depth = 0
                u = v
                while u >= 0:
                    depth += 1
                    product *= np.float64(level[u]) * depth
                    u = parent[u]
                loss[v] = 1.0 / product
            paths += 1
            held += loss[v]
        if paths:
            total += held / paths
    return total / max(len(offsets) - 1, 1)


@njit
def _remove(
    kind: Tinies, at: Longs, size: Ints, rows: Words, lists: Ints, number: int, changed: Ints, lost: Flags, marks: Flags
) -> None:
    """Take the lost ones of the changed records from a set; `marks` is all false, and is left so."""
    if kind[number] == DENSE:
        row = at[number]
        for i in range(len(changed)):
            if lost[i]:
                bit = np.uint64(1) << np.uint64(changed[i] & 63)
                if rows[row, changed[i] >> 6] & bit != np.uint64(0):
                    rows[row, changed[i] >> 6] ^= bit
                    size[number] -= 1
        return
    for i in range(len(changed)):
        marks[changed[i]] = lost[i]
    filled = at[number]
    for i in range(at[number], at[number] + size[number]):
        if not marks[lists[i]]:
            lists[filled] = lists[i]
            filled += 1
    size[number] = filled - at[number]
    for i in range(len(changed)):
        marks[changed[i]] = False


@njit
def update_relations(
    kind: Tinies,
    at: Longs,
    size: Ints,
    rows: Words,
    lists: Ints,
    relation_set: Table,
    lower: int,
    above: Flags,
    under: Flags,
    changed: Ints,
    offsets: Longs,
    synopsis_node: Ints,
    node_of: Ints,
    into: Ints,
    parent: Ints,
    place: Ints,
    marks: Flags,
) -> None:
    """Take the changed records out of the relations x⇝lower and lower⇝y that they do not hold any more.

    Only these, with x in `above` and y in `under`, can have ended; the records are read again for them.
    """
    uppers = np.flatnonzero(above)
    lowers = np.flatnonzero(under)
    still = np.full(len(above), -1, np.int32)
    # What a node is here: -1 a lower one, y + 1 a y-node of `under` below one, 0 nothing of both.
    role = np.zeros(len(into), np.int32)
    for v in range(len(into)):
        u = node_now(v, into)
        own = place[u]
        if own == lower:
            role[v] = -1
        elif own >= 0 and under[own]:
            while u >= 0 and place[u] != lower:
                u = parent[u]
            if u >= 0:
                role[v] = own + 1
    lost = np.empty((len(uppers) + len(lowers), len(changed)), np.bool_)
    for i in range(len(changed)):
        r = changed[i]
        for j in range(offsets[r], offsets[r + 1]):
            v = node_of[synopsis_node[j]]
            if role[v] > 0:
                still[role[v] - 1] = r
            elif role[v] < 0:
                # No label is both above and below another one.
                u = parent[node_now(v, into)]
                while u >= 0:
                    if place[u] >= 0:
                        still[place[u]] = r
                    u = parent[u]
        for j in range(len(uppers)):
            lost[j, i] = still[uppers[j]] != r
        for j in range(len(lowers)):
            lost[len(uppers) + j, i] = still[lowers[j]] != r
    for j in range(len(uppers)):
        _remove(kind, at, size, rows, lists, relation_set[uppers[j], lower], changed, lost[j], marks)
    for j in range(len(lowers)):
        _remove(kind, at, size, rows, lists, relation_set[lower, lowers[j]], changed, lost[len(uppers) + j], marks)


@njit
def merged_support(
    support: Ints, into: Ints, chain: Ints, groups: Longs, members: Ints, starts: Longs, records: Ints, count: int
) -> Ints:
    """Return the number of records of every node, counted anew for those that others have merged into."""
    out = support.copy()
    last = np.full(count, -1, np.int32)
    for node in range(len(into)):
        if into[node] >= 0 or chain[node] < 0:
            continue
        out[node] = 0
        v = node
        while v >= 0:
            for i in range(groups[v], groups[v + 1]):
                for j in range(starts[members[i]], starts[members[i] + 1]):
                    if last[records[j]] != node:
                        last[records[j]] = node
                        out[node] += 1
            v = chain[v]
    return out

"""Loops of MiRaCle: forming groups of persons, and writing the groups' trees.

The tree of a group lives in the nodes ("slots") of its first member: `rep[x]` is the label that slot x is published
with, -1 once some member has no partner for it. `slot[y]` is the slot that node y of a member is matched with, -1 if
y is suppressed. Nodes are counted over the whole forest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Floats, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.tree.miracle_match import Labels, Links, Work, lowest_common, match, work_space


class State(NamedTuple):
    """What grows with the groups: see the module; `stamp` has the last round in which a slot found a partner."""

    rep: Ints
    slot: Ints
    stamp: Ints
    group: Ints


@njit
def _top(record: int, offsets: Longs) -> int:
    return offsets[record] if offsets[record] < offsets[record + 1] else -1


@njit
def join_group(
    first: int, record: int, mark: int, offsets: Longs, links: Links, labels: Labels, state: State, work: Work
) -> None:
    """Take a record into the group of the record `first`; slots without a partner in it end."""
    first_child, next_sibling, label = links
    size = offsets[record + 1] - offsets[record]
    pending = np.empty((size + 1, 2), np.int64)
    pending[0, 0] = _top(first, offsets)
    pending[0, 1] = _top(record, offsets)
    left = 1
    while left:
        left -= 1
        x = pending[left, 0]
        first_node = pending[left, 1]
        match(x, first_node, links, labels, state.rep, work)
        row = 0
        while x >= 0:
            column = work[3][row]
            if column >= 0:
                y = first_node
                for _ in range(column):
                    y = next_sibling[y]
                state.rep[x] = lowest_common(state.rep[x], label[y], labels.up, labels.end)
                state.slot[y] = x
                state.stamp[x] = mark
                if first_child[x] >= 0 and first_child[y] >= 0:
                    pending[left, 0] = first_child[x]
                    pending[left, 1] = first_child[y]
                    left += 1
            row += 1
            x = next_sibling[x]
    for x in range(offsets[first], offsets[first + 1]):
        if state.stamp[x] != mark:
            state.rep[x] = -1
    state.group[record] = first


@njit
def form_groups(
    order: Longs,
    k: int,
    window: int,
    counts: Ints,
    levels: int,
    offsets: Longs,
    links: Links,
    labels: Labels,
    state: State,
) -> int:
    """Return the number of records of `order` that are left when groups of k have been taken from it as often as
    possible.

    The first record left starts a group; k - 1 times the one of the next `window` records joins whose joining loses
    least. What a record would keep was counted when the group was smaller, or bounded by its class counts before:
    as that hardly grows, only records whose old count could still win are counted again.
    """
    kinds = counts.shape[1]
    work = work_space(offsets, levels)
    best_worth = labels.worth.max()
    following = np.arange(1, len(order) + 1)
    candidate = np.empty(window, np.int64)
    bound = np.empty(window, np.float64)
    head = 0
    left = len(order)
    while left >= k:
        first = order[head]
        head = following[head]
        state.group[first] = first
        for x in range(offsets[first], offsets[first + 1]):
            state.slot[x] = x
        seen = 0
        at = head
        while at < len(order) and seen < window:
            candidate[seen] = at
            shared = 0
            for c in range(kinds):
                shared += min(counts[first, c], counts[order[at], c])
            bound[seen] = shared * best_worth
            seen += 1
            at = following[at]
        for size in range(1, k):
            best = np.inf
            chosen = -1
            for i in range(seen):
                if candidate[i] >= 0:
                    record = order[candidate[i]]
                    # What a group loses by a member is bounded from above by the labels that both have: the most
                    # promising.
                    score = offsets[record + 1] - offsets[record] - (size + 1) * bound[i]
                    if score < best:
                        best = score
                        chosen = i
            best = np.inf
            # The most promising one is matched first: then most others need not be matched at all.
            promising = chosen
            for turn in range(-1, seen):
                i = promising if turn < 0 else turn
                if candidate[i] < 0 or (turn == promising):
                    continue
                record = order[candidate[i]]
                nodes = offsets[record + 1] - offsets[record]
                if nodes - (size + 1) * bound[i] >= best:
                    continue
                bound[i] = match(_top(first, offsets), _top(record, offsets), links, labels, state.rep, work)
                score = nodes - (size + 1) * bound[i]
                if score < best:
                    best = score
                    chosen = i
            join_group(first, order[candidate[chosen]], size, offsets, links, labels, state, work)
            candidate[chosen] = -1
        # Candidates that found no group go back to the list of waiting records, in their order.
        last = -1
        for i in range(seen):
            if candidate[i] >= 0:
                if last < 0:
                    head = candidate[i]
                else:
                    following[last] = candidate[i]
                last = candidate[i]
        if last < 0:
            head = at
        else:
            following[last] = at
        left -= k
    return left


@njit
def nearest_group(
    record: int,
    firsts: Longs,
    sizes: Longs,
    held: Floats,
    most: int,
    levels: int,
    offsets: Longs,
    links: Links,
    labels: Labels,
    state: State,
) -> tuple[int, float]:
    """Return the group of less than `most` persons that loses least by a record, and what it would keep; -1 for none.

    `firsts` and `sizes` are the groups', `held` is what their trees are worth.
    """
    work = work_space(offsets, levels)
    at_most = (offsets[record + 1] - offsets[record]) * labels.worth.max()
    best = np.inf
    chosen = -1
    kept_best = 0.0
    for g in range(len(firsts)):
        if sizes[g] >= most or sizes[g] * held[g] - (sizes[g] + 1) * min(held[g], at_most) >= best:
            continue
        kept = match(_top(firsts[g], offsets), _top(record, offsets), links, labels, state.rep, work)
        score = sizes[g] * held[g] - (sizes[g] + 1) * kept
        if score < best:
            best = score
            chosen = g
            kept_best = kept
    return chosen, kept_best


@njit
def group_worth(first: int, offsets: Longs, labels: Labels, state: State) -> float:
    """Return what the tree of the group of a first record is worth."""
    held = 0.0
    for x in range(offsets[first], offsets[first + 1]):
        if state.rep[x] >= 0:
            held += labels.worth[state.rep[x]]
    return held


@njit
def group_together(members: Longs, levels: int, offsets: Longs, links: Links, labels: Labels, state: State) -> float:
    """Make some records a group, whatever they were before, and return what its tree is worth."""
    work = work_space(offsets, levels)
    for record in members:
        for x in range(offsets[record], offsets[record + 1]):
            state.rep[x] = links[2][x]
            state.slot[x] = -1
            state.stamp[x] = -1
    first = members[0]
    state.group[first] = first
    for x in range(offsets[first], offsets[first + 1]):
        state.slot[x] = x
    for i in range(1, len(members)):
        join_group(first, members[i], i, offsets, links, labels, state, work)
    return group_worth(first, offsets, labels, state)


@njit
def worth_without_each(
    members: Longs, levels: int, offsets: Longs, links: Links, labels: Labels, state: State
) -> Floats:
    """Return what the tree of a group would be worth without each of its members; the state is of no use afterwards."""
    out = np.empty(len(members), np.float64)
    others = np.empty(len(members) - 1, np.int64)
    for left_out in range(len(members)):
        others[:left_out] = members[:left_out]
        others[left_out:] = members[left_out + 1 :]
        out[left_out] = group_together(others, levels, offsets, links, labels, state)
    return out


@njit
def nearest_known(
    offsets: Longs,
    parent: Ints,
    label: Ints,
    known: npt.NDArray[np.bool_],
    core_offsets: Longs,
    core_first: Ints,
    core_next: Ints,
    core_label: Ints,
) -> Ints:
    """Return for every node the node of the core (the trees of known nodes only) that it is or lies under; -1: none."""
    out = np.empty(len(label), np.int32)
    for r in range(len(offsets) - 1):
        base = offsets[r]
        for x in range(base, offsets[r + 1]):
            above = out[base + parent[x]] if parent[x] >= 0 else np.int32(-1)
            out[x] = above
            if known[x]:
                at = np.int64(core_first[above] if above >= 0 else core_offsets[r])
                while core_label[at] != label[x]:
                    at = core_next[at]
                out[x] = at
    return out


@njit
def write_groups(offsets: Longs, parent: Ints, rep: Ints, group: Ints) -> tuple[Longs, Ints, Ints]:
    """Return offsets, parents and labels of the trees of every record's group; not yet canonical."""
    out_offsets = np.zeros(len(offsets), np.int64)
    place = np.empty(len(parent), np.int32)
    for r in range(len(offsets) - 1):
        size = 0
        if group[r] < 0:  # nothing is published of who is in no group
            out_offsets[r + 1] = out_offsets[r]
            continue
        for x in range(offsets[group[r]], offsets[group[r] + 1]):
            if rep[x] >= 0:
                # the same for every member: slots only depend on the group
                place[x] = size
                size += 1
        out_offsets[r + 1] = out_offsets[r] + size
    out_parent = np.empty(out_offsets[-1], np.int32)
    out_label = np.empty(out_offsets[-1], np.int32)
    at = 0
    for r in range(len(offsets) - 1):
        if group[r] < 0:
            continue
        base = offsets[group[r]]
        for x in range(base, offsets[group[r] + 1]):
            if rep[x] >= 0:
                out_parent[at] = place[base + parent[x]] if parent[x] >= 0 else -1
                out_label[at] = rep[x]
                at += 1
    return out_offsets, out_parent, out_label


@njit
def attach_others(
    offsets: Longs,
    parent: Ints,
    label: Ints,
    known: npt.NDArray[np.bool_],
    core: Ints,
    state: State,
    group_offsets: Longs,
    group_parent: Ints,
    group_label: Ints,
    core_offsets: Longs,
) -> tuple[Longs, Ints, Ints]:
    """Return the groups' trees together with each record's own nodes of other classes, where what they lie under is
    left.
    """
    out_offsets = np.zeros(len(offsets), np.int64)
    out_parent = np.empty(len(group_parent) + len(parent), np.int32)
    out_label = np.empty(len(group_parent) + len(parent), np.int32)
    place = np.full(len(parent), -1, np.int32)
    rank = np.empty(len(state.rep), np.int32)
    filled = 0
    for r in range(len(offsets) - 1):
        begin = filled
        if state.group[r] < 0:
            out_offsets[r + 1] = filled
            continue
        for i in range(group_offsets[r], group_offsets[r + 1]):
            out_parent[filled] = group_parent[i]
            out_label[filled] = group_label[i]
            filled += 1
        # Where each slot of the group came to lie: suppressed ones take no place.
        alive = 0
        for x in range(core_offsets[state.group[r]], core_offsets[state.group[r] + 1]):
            rank[x] = alive
            if state.rep[x] >= 0:
                alive += 1
        base = offsets[r]
        for x in range(base, offsets[r + 1]):
            if known[x]:
                continue
            above = -1
            if parent[x] >= 0 and not known[base + parent[x]]:
                above = place[base + parent[x]]
                if above < 0:
                    continue
            elif core[x] >= 0:
                target = state.slot[core[x]]
                if target < 0 or state.rep[target] < 0:
                    continue
                above = rank[target]
            out_parent[filled] = above
            out_label[filled] = label[x]
            place[x] = filled - begin
            filled += 1
        out_offsets[r + 1] = filled
    return out_offsets, out_parent[:filled].copy(), out_label[:filled].copy()

"""Loops that count what a release of trees still says, against its input.

Forests come as in `kernels.trees`: offsets, parents inside the record, labels. Counts are of *different* labels, or
pairs of labels, of a record: how often a record repeats one does not matter.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Floats, Ints, Longs, Shorts
from treeanon.kernels.jit import njit

_MIX = 0x1E3779B97F4A7C15


@njit
def count_records_with(offsets: Longs, label: Ints, labels: int) -> Longs:
    """Return for every label the number of records that hold it."""
    out = np.zeros(labels, np.int64)
    last = np.full(labels, -1, np.int64)
    for r in range(len(offsets) - 1):
        for i in range(offsets[r], offsets[r + 1]):
            if last[label[i]] != r:
                last[label[i]] = r
                out[label[i]] += 1
    return out


@njit
def count_records_under(offsets: Longs, label: Ints, up: Ints) -> Longs:
    """Return for every label but 0 the number of records that hold it or a label under it; `up` has what is above."""
    out = np.zeros(len(up), np.int64)
    last = np.full(len(up), -1, np.int64)
    for r in range(len(offsets) - 1):
        for i in range(offsets[r], offsets[r + 1]):
            above = label[i]
            while above > 0 and last[above] != r:
                last[above] = r
                out[above] += 1
                above = up[above]
    return out


@njit
def count_published(
    offsets: Longs, label: Ints, out_offsets: Longs, out_label: Ints, released_as: Longs, up: Ints
) -> tuple[Longs, Longs, Longs]:
    """Return for every label: records that publish it for another value, that publish it as they held it, and that lost
    it.

    Record r is published as record released_as[r] of the release, or not at all (-1). A value is published as its
    nearest ancestor-or-self that the released record holds; `up` has the label above each one, 0 above a class root.
    Label 0 says nothing: it is not counted, and what only it covers is lost.
    """
    general = np.zeros(len(up), np.int64)
    same = np.zeros(len(up), np.int64)
    lost = np.zeros(len(up), np.int64)
    held = np.full(len(up), -1, np.int64)
    shown = np.full(len(up), -1, np.int64)
    widened = np.full(len(up), -1, np.int64)
    for r in range(len(offsets) - 1):
        s = released_as[r]
        if s >= 0:
            for i in range(out_offsets[s], out_offsets[s + 1]):
                shown[out_label[i]] = r
        for i in range(offsets[r], offsets[r + 1]):
            value = label[i]
            if value == 0 or held[value] == r:
                continue
            held[value] = r
            # The nearest ancestor-or-self that the released record holds is what the value was published as.
            above = value
            while above > 0 and shown[above] != r:
                above = up[above]
            if above <= 0:
                lost[value] += 1
            elif above != value:
                widened[above] = r
        if s >= 0:
            for i in range(out_offsets[s], out_offsets[s + 1]):
                value = out_label[i]
                if value == 0 or shown[value] != r:
                    continue
                shown[value] = -1
                # Published for itself only if the record held it and nothing more special became it.
                if held[value] == r and widened[value] != r:
                    same[value] += 1
                else:
                    general[value] += 1
    return general, same, lost


@njit
def count_relations(offsets: Longs, parent: Ints, label: Ints, class_of: Ints, classes: int) -> Longs:
    """Return for every two classes (a, d), the different pairs of labels a above d of every record, summed over the
    records.

    Pairs of a record that were seen are kept in a table of slots, which the next record need not clear: a slot counts
    only with the record's number on it. (One function: table and fill level would have to go in and out.)
    """
    out = np.zeros((classes, classes), np.int64)
    biggest = 0
    most = 0
    for r in range(len(offsets) - 1):
        biggest = max(biggest, offsets[r + 1] - offsets[r])
    depth = np.empty(biggest, np.int64)
    for r in range(len(offsets) - 1):
        pairs = 0
        for i in range(offsets[r + 1] - offsets[r]):
            above = parent[offsets[r] + i]
            depth[i] = 0 if above < 0 else depth[above] + 1
            pairs += depth[i]
        most = max(most, pairs)
    # At most half full, a power of two: probing stays short, and a mask does for a remainder.
    slots = 4
    while slots < 2 * most:
        slots *= 2
    key_at = np.empty(slots, np.int64)
    record_at = np.full(slots, -1, np.int64)
    labels = np.int64(len(class_of))
    for r in range(len(offsets) - 1):
        base = offsets[r]
        for i in range(base, offsets[r + 1]):
            lower = label[i]
            above = parent[i]
            while above >= 0:
                upper = label[base + above]
                above = parent[base + above]
                if upper == 0 or lower == 0:
                    continue
                key = np.int64(upper) * labels + np.int64(lower)
                slot = ((key * np.int64(_MIX)) >> 24) & (slots - 1)
                while record_at[slot] == r and key_at[slot] != key:
                    slot = (slot + 1) & (slots - 1)
                if record_at[slot] != r:
                    record_at[slot] = r
                    key_at[slot] = key
                    out[class_of[upper], class_of[lower]] += 1
    return out


@njit
def path_losses(offsets: Longs, parent: Ints, label: Ints, level_size: Ints) -> Floats:
    """Return the RPD of every record of a canonical forest: the mean over its root-to-leaf paths of 1 / Π depth·level
    size.
    """
    out = np.zeros(len(offsets) - 1, np.float64)
    biggest = 0
    for r in range(len(offsets) - 1):
        biggest = max(biggest, offsets[r + 1] - offsets[r])
    depth = np.empty(biggest, np.int64)
    loss = np.empty(biggest, np.float64)
    for r in range(len(offsets) - 1):
        base = offsets[r]
        size = offsets[r + 1] - base
        paths = 0
        total = 0.0
        for i in range(size):
            above = parent[base + i]
            # The product along the path grows with every node: a parent's is done before its children's.
            depth[i] = 1 if above < 0 else depth[above] + 1
            loss[i] = (1.0 if above < 0 else loss[above]) / (depth[i] * level_size[label[base + i]])
            # Preorder: a node has children exactly if the next one is its child.
            if i + 1 == size or parent[base + i + 1] != i:
                paths += 1
                total += loss[i]
        if paths:
            out[r] = total / paths
    return out


@njit
def node_losses(
    offsets: Longs,
    parent: Ints,
    label: Ints,
    out_offsets: Longs,
    out_parent: Ints,
    out_label: Ints,
    released_as: Longs,
    up: Ints,
) -> tuple[Ints, Ints]:
    """Return for every node the levels by which its label is published more generally, and its broken relations.

    A relation is broken if the released record does not show it between the labels that its ends are published as. A
    label of which nothing is published counts one level more than one published as its class root.
    """
    levels = np.zeros(len(label), np.int32)
    broken = np.zeros(len(label), np.int32)
    shown = np.full(len(up), -1, np.int64)
    published = np.zeros(len(label), np.int32)
    for r in range(len(offsets) - 1):
        base = offsets[r]
        s = released_as[r]
        lo = 0
        hi = 0
        if s >= 0:
            lo = out_offsets[s]
            hi = out_offsets[s + 1]
        for i in range(lo, hi):
            shown[out_label[i]] = r
        for i in range(base, offsets[r + 1]):
            above = label[i]
            # Each step up the hierarchy is one level lost.
            while above > 0 and shown[above] != r:
                above = up[above]
                levels[i] += 1
            published[i] = above
            at = parent[i]
            while at >= 0:
                upper = published[base + at]
                at = parent[base + at]
                found = False
                for j in range(lo, hi):
                    if found or upper <= 0 or out_label[j] != published[i]:
                        continue
                    over = out_parent[j]
                    while over >= 0 and out_label[lo + over] != upper:
                        over = out_parent[lo + over]
                    found = over >= 0
                if not found:
                    broken[i] += 1
    return levels, broken


@njit
def subtree_losses(
    starts: Longs,
    items: Ints,
    holders_of: Longs,
    holders: Ints,
    held: Flags,
    shown: Flags,
    levels: Shorts,
    broken: Shorts,
    relations: Ints,
) -> tuple[Longs, Floats]:
    """Return for every set of items (root paths, closed under prefixes) its support in the release, and its dtree.

    Set t is items[starts[t]:starts[t + 1]]. The records with item q are holders[holders_of[q]:holders_of[q + 1]];
    `held` and `shown` say by record and item what input and release have, `levels` and `broken` what was lost at it;
    an item has so many `relations` to the items above it.
    """
    support = np.zeros(len(starts) - 1, np.int64)
    distance = np.zeros(len(starts) - 1, np.float64)
    for t in range(len(starts) - 1):
        lo = starts[t]
        hi = starts[t + 1]
        related = 0
        # The holders of the rarest item are a superset of the holders of all.
        rarest = items[lo]
        for i in range(lo, hi):
            q = items[i]
            related += relations[q]
            if holders_of[q + 1] - holders_of[q] < holders_of[rarest + 1] - holders_of[rarest]:
                rarest = q
        count = 0
        raised = 0
        parted = 0
        for at in range(holders_of[rarest], holders_of[rarest + 1]):
            r = holders[at]
            whole = True
            for i in range(lo, hi):
                whole = whole and held[r, items[i]]
            if not whole:
                continue
            count += 1
            for i in range(lo, hi):
                raised += levels[r, items[i]]
                parted += broken[r, items[i]]
        if count:
            distance[t] = 0.5 * raised / (count * (hi - lo))
            if related:
                distance[t] += 0.5 * parted / (count * related)
        for r in range(len(shown)):
            whole = True
            for i in range(lo, hi):
                if not shown[r, items[i]]:
                    whole = False
                    break
            if whole:
                support[t] += 1
    return support, distance

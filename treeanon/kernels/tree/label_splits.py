"""What a record says about one published label that is split off another: counts, and the record sets they stand for.

A *slot* is the number of a published label; slot[x] is that of the label that value x is published as, -1 for none. The
nodes of the slot `part` were published under slot `rest` (-1: not at all) until now.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Bytes, Flags, Ints, Longs, Shorts, Tinies, Words
from treeanon.kernels.jit import njit
from treeanon.kernels.tree.record_sets import DENSE

_HELD, _BY_PART, _BY_REST = 1, 2, 4


@njit
def _look(
    base: int,
    size: int,
    parent: Ints | Shorts,
    label: Ints | Shorts,
    slot: Ints,
    part: int,
    rest: int,
    relations: bool,
    own: Ints,
    held: Ints,
    marks: Bytes,
) -> int:
    """List the distinct slots of a record in `held`, and mark those that stand in a relation with part or rest.

    The caller clears the marks of the slots that are listed.
    """
    count = 0
    for i in range(size):
        s = slot[label[base + i]]
        own[i] = s
        if s >= 0 and marks[s] == 0:
            marks[s] = _HELD
            held[count] = s
            count += 1
    if relations:
        for i in range(size):
            s = own[i]
            if s < 0 or (s != part and s != rest):
                continue
            mark = _BY_PART if s == part else _BY_REST
            # Relations go both ways: to all that is above the node, and to all below it.
            j = parent[base + i]
            while j >= 0:
                if own[j] >= 0:
                    marks[own[j]] |= mark
                j = parent[base + j]
            # Preorder: what hangs under a node follows it.
            j = i + 1
            while j < size and parent[base + j] >= i:
                if own[j] >= 0:
                    marks[own[j]] |= mark
                j += 1
    return count


@njit
def count_part(
    offsets: Longs,
    parent: Ints | Shorts,
    label: Ints | Shorts,
    slot: Ints,
    slots: int,
    records: Ints,
    part: int,
    rest: int,
    relations: bool,
    listed: bool,
) -> tuple[npt.NDArray[np.int32], Ints, Ints, Ints, Flags]:
    """Per slot: records shared with part, those in a relation with it, and what `rest` loses of both; and touched ones.

    The rows of the first result: shared, related, lost, lost relations, records in which `rest` loses anything. The
    second lists the records that lose the label of `rest`. If they are to be listed, the others hold for every relation
    of part with a slot the record, the slot, and whether `rest` loses it.
    """
    # Records by slot, by its marks there, and by whether the record has no node of `rest` any more.
    counts = np.zeros((slots, 16), np.int32)
    touched_with = np.zeros(slots, np.int32)
    marks = np.zeros(slots, np.uint8)
    biggest = 0
    nodes = 0
    for r in records:
        biggest = max(biggest, offsets[r + 1] - offsets[r])
        nodes += offsets[r + 1] - offsets[r]
    own, held = np.empty(biggest, np.int32), np.empty(biggest, np.int32)
    lost_label = np.empty(len(records) if rest >= 0 else 0, np.int32)
    lost_labels = 0
    room = nodes if listed else 0
    at_record, at_slot, is_lost = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.bool_)
    filled = 0
    for r in records:
        base, size = offsets[r], offsets[r + 1] - offsets[r]
        count = _look(base, size, parent, label, slot, part, rest, relations, own, held, marks)
        marks[part] = 0
        # The rest loses its label in records in which no other node of it is left.
        touched = rest >= 0 and marks[rest] == 0
        if touched:
            lost_label[lost_labels] = r
            lost_labels += 1
        gone = 8 if touched else 0
        for i in range(count):
            y = held[i]
            mark = marks[y]
            counts[y, mark + gone] += 1
            if mark & _BY_PART:
                # A relation is lost where only the nodes that leave `rest` stood in one with y.
                lost = rest >= 0 and y != rest and not mark & _BY_REST
                touched = touched or lost
                if listed:
                    at_record[filled], at_slot[filled], is_lost[filled] = r, y, lost
                    filled += 1
        for i in range(count):
            marks[held[i]] = 0
            if touched:
                touched_with[held[i]] += 1
    out = np.zeros((5, slots), np.int32)
    for y in range(slots):
        out[4, y] = touched_with[y]
        for code in range(16 if y != part else 0):
            out[0, y] += counts[y, code]
            if code & _BY_PART:
                out[1, y] += counts[y, code]
            if y != rest and code & 8:
                out[2, y] += counts[y, code]
            if rest >= 0 and y != rest and code & _BY_PART and not code & _BY_REST:
                out[3, y] += counts[y, code]
    return out, lost_label[:lost_labels], at_record[:filled], at_slot[:filled], is_lost[:filled]


@njit
def is_rare_beside(
    offsets: Longs,
    label: Ints | Shorts,
    holders: Ints,
    starts: Longs,
    slot: Ints,
    slots: int,
    part: int,
    end: int,
    k: int,
) -> bool:
    """Return whether some slot is held by at least one, but fewer than k, of the records of label `part`.

    The label's nodes are those of the labels from `part` to `end`, as `list_holders` lists them. For labels of few
    nodes.
    """
    both, last = np.zeros(slots, np.int32), np.full(slots, -1, np.int32)
    counted = np.empty(starts[end] - starts[part], np.int32)
    count = 0
    for r in holders[starts[part] : starts[end]]:
        known = False
        for j in range(count):
            known = known or counted[j] == r
        if known:
            continue
        counted[count] = r
        count += 1
        for i in range(offsets[r], offsets[r + 1]):
            x = label[i]
            s = slot[x]
            if s >= 0 and last[s] != r and not part <= x < end:
                last[s] = r
                both[s] += 1
    for s in range(slots):
        if 0 < both[s] < k:
            return True
    return False


@njit
def fill_part(
    at_record: Ints,
    at_slot: Ints,
    is_lost: Flags,
    set_of: Ints,
    kind: Tinies,
    at: Longs,
    rows: Words,
    lists: Ints,
    gone: Ints,
    gone_at: Longs,
) -> None:
    """Fill the sets of the relations that `count_part` listed (set_of[y], -1: none), and lists what `rest` loses.

    The records that lose their relation of `rest` with y go to gone[gone_at[y]:gone_at[y + 1]].
    """
    filled, gone_filled = np.zeros(len(set_of), np.int64), gone_at.copy()
    for i in range(len(at_record)):
        r, y = at_record[i], at_slot[i]
        chosen = set_of[y]
        if chosen >= 0:
            if kind[chosen] == DENSE:
                rows[at[chosen], r >> 6] |= np.uint64(1) << np.uint64(r & 63)
            else:
                lists[at[chosen] + filled[y]] = r
                filled[y] += 1
        if is_lost[i]:
            gone[gone_filled[y]] = r
            gone_filled[y] += 1


@njit
def change_bits(rows: Words, row: int, records: Ints, on: bool) -> None:
    """Set or clears the records in a bitmap."""
    for r in records:
        bit = np.uint64(1) << np.uint64(r & 63)
        if on:
            rows[row, r >> 6] |= bit
        else:
            rows[row, r >> 6] &= ~bit


@njit
def without(lists: Ints, start: int, size: int, gone: Ints, goal: int) -> None:
    """Copy an ascending list to lists[goal:], leaving out what is in the ascending `gone`."""
    j = 0
    for i in range(start, start + size):
        # Both lists ascend: one pass over each.
        while j < len(gone) and gone[j] < lists[i]:
            j += 1
        if j < len(gone) and gone[j] == lists[i]:
            continue
        lists[goal] = lists[i]
        goal += 1


@njit
def list_holders(offsets: Longs, label: Ints | Shorts, labels: int) -> tuple[Ints, Longs]:
    """Return for each label in turn the records of its nodes, ascending, one a node, and where each label begins."""
    starts = np.zeros(labels + 1, np.int64)
    for x in label:
        starts[x + 1] += 1
    for x in range(labels):
        starts[x + 1] += starts[x]
    holders = np.empty(len(label), np.int32)
    at = starts[:-1].copy()
    for r in range(len(offsets) - 1):
        for i in range(offsets[r], offsets[r + 1]):
            holders[at[label[i]]] = r
            at[label[i]] += 1
    return holders, starts


@njit
def supports(offsets: Longs, label: Ints, above: Ints) -> tuple[Ints, Longs]:
    """Return for every label the records and the nodes with it or something below it; above[x] is its parent, -1 at
    roots.
    """
    records, nodes = np.zeros(len(above), np.int32), np.zeros(len(above), np.int64)
    last = np.full(len(above), -1, np.int64)
    for r in range(len(offsets) - 1):
        for i in range(offsets[r], offsets[r + 1]):
            x = label[i]
            while x >= 0:
                nodes[x] += 1
                if last[x] != r:
                    last[x] = r
                    records[x] += 1
                x = above[x]
    return records, nodes


@njit
def pair_supports(
    offsets: Longs,
    parent: Ints | Shorts,
    label: Ints | Shorts,
    above: Ints,
    number: Ints,
    count: int,
    relations: bool,
    start: int,
    stop: int,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return for every two of `count` numbered labels the records that hold both, and those where they stand in a
    relation.

    A record holds a label if it has the label or something below it. number[x] is -1 for labels that do not matter.
    """
    both = np.zeros((count, count), np.int32)
    related = np.zeros((count, count), np.int32)
    last = np.full((count, count) if relations else (1, 1), -1, np.int32)
    is_held = np.zeros(count, np.bool_)
    held = np.empty(count, np.int32)
    for r in range(start, stop):
        base = offsets[r]
        filled = 0
        for i in range(base, offsets[r + 1]):
            x = label[i]
            while x >= 0:
                a = number[x]
                if a >= 0 and not is_held[a]:
                    is_held[a] = True
                    held[filled] = a
                    filled += 1
                x = above[x]
            if not relations:
                continue
            j = parent[i]
            while j >= 0:
                x = label[i]
                while x >= 0:
                    a = number[x]
                    y = label[base + j]
                    # Each pair of labels that the two nodes stand for, counted once a record.
                    while y >= 0 and a >= 0:
                        b = number[y]
                        if b >= 0 and last[a, b] != r:
                            last[a, b] = r
                            related[a, b] += 1
                            related[b, a] += 1
                        y = above[y]
                    x = above[x]
                j = parent[base + j]
        for i in range(filled):
            a = held[i]
            is_held[a] = False
            both[a, a] += 1
            for j in range(i):
                b = held[j]
                if a < b:
                    both[a, b] += 1
                else:
                    both[b, a] += 1
    for a in range(count):
        for b in range(a):
            both[a, b] = both[b, a]
    return both, related


@njit
def fill_pairs(
    offsets: Longs,
    parent: Ints | Shorts,
    label: Ints | Shorts,
    above: Ints,
    number: Ints,
    set_of: npt.NDArray[np.int32],
    kind: Tinies,
    at: Longs,
    rows: Words,
    lists: Ints,
    filled: Longs,
    start: int,
    stop: int,
) -> None:
    """Fill the record sets of labels (set_of[a, a]) and of their relations (set_of[a, b]; -1: not wanted).

    filled[s] is how many records the list of set s holds so far. Bitmaps are filled by words, so that several threads
    may fill them if their records do not share one.
    """
    count = len(set_of)
    last = np.full((count, count), -1, np.int32)
    for r in range(start, stop):
        base = offsets[r]
        for i in range(base, offsets[r + 1]):
            j = i - base
            while j >= 0:
                x = label[i]
                while x >= 0:
                    a = number[x]
                    y = label[base + j]
                    while y >= 0 and a >= 0:
                        b = number[y]
                        if b >= 0 and (base + j != i or a == b) and last[a, b] != r:
                            last[a, b] = r
                            chosen = set_of[a, b]
                            if chosen >= 0:
                                if kind[chosen] == DENSE:
                                    rows[at[chosen], r >> 6] |= np.uint64(1) << np.uint64(r & 63)
                                else:
                                    lists[at[chosen] + filled[chosen]] = r
                                    filled[chosen] += 1
                        y = above[y]
                    x = above[x]
                j = parent[base + j]

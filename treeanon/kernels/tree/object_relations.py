"""Relations of whole objects: which labels some object of a record holds together, by the depth of the object.

Forests come as in `kernels.tree.objects`: the labels 1 to `types` are objects. A relation of kind d is one in an object
at depth d, counted from the objects of the record itself; of two labels, kind and classes tell the type of the object.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Ints, Longs, Shorts, Tinies, Words
from treeanon.kernels.jit import njit
from treeanon.kernels.sorting import sort
from treeanon.kernels.tree.record_sets import DENSE

Kinds = npt.NDArray[np.int32]
"""Three axes: two labels, and the kind of their relation."""


@njit
def _set_bits(
    base: int,
    first: int,
    size: int,
    parent: Ints | Shorts,
    label: Ints | Shorts,
    above: Ints,
    number: Ints,
    place: Ints,
    bits: Words,
) -> None:
    """Set the bits of the places of all that the object at `first` holds, and of what is above these labels."""
    for w in range(len(bits)):
        bits[w] = 0
    j = first + 1
    while j < size and parent[base + j] >= first:
        x = label[base + j]
        while x >= 0:
            if number[x] >= 0:
                p = place[number[x]]
                bits[p >> 6] |= np.uint64(1) << np.uint64(p & 63)
            x = above[x]
        j += 1


@njit
def _depth_of(base: int, node: int, parent: Ints | Shorts) -> int:
    depth = 0
    up = parent[base + node]
    while up >= 0:
        depth += 1
        up = parent[base + up]
    return depth


@njit
def _related_places(
    base: int,
    size: int,
    parent: Ints | Shorts,
    label: Ints | Shorts,
    above: Ints,
    number: Ints,
    place: Ints,
    held: Ints,
    filled: int,
    types: int,
    kinds: int,
    related: npt.NDArray[np.uint64],
    bits: Words,
) -> None:
    """Fill, for every place and kind, the bits of the places that some object of the record holds together with it."""
    words = (filled + 63) >> 6
    for p in range(filled):
        place[held[p]] = p
        for d in range(related.shape[1]):
            for w in range(words):
                related[p, d, w] = 0
    for i in range(size):
        if not 0 < label[base + i] <= types:
            continue
        depth = _depth_of(base, i, parent)
        if depth >= kinds:
            continue
        _set_bits(base, i, size, parent, label, above, number, place, bits[:words])
        for p in range(filled):
            if (bits[p >> 6] >> np.uint64(p & 63)) & np.uint64(1):
                for w in range(words):
                    related[p, depth, w] |= bits[w]


@njit
def _held_numbers(
    base: int, size: int, label: Ints | Shorts, above: Ints, number: Ints, is_held: Flags, held: Ints
) -> int:
    """List the numbers of the labels of a record, and of what is above them; `is_held` is left as it was."""
    filled = 0
    for i in range(size):
        x = label[base + i]
        while x >= 0:
            a = number[x]
            if a >= 0 and not is_held[a]:
                is_held[a] = True
                held[filled] = a
                filled += 1
            x = above[x]
    for p in range(filled):
        is_held[held[p]] = False
    return filled


@njit
def _roomy(related: npt.NDArray[np.uint64], filled: int, kinds: int) -> npt.NDArray[np.uint64]:
    """Return work space for so many places."""
    if filled <= len(related):
        return related
    return np.empty((2 * filled, kinds, (2 * filled + 63) >> 6), np.uint64)


@njit
def object_pairs(
    offsets: Longs,
    parent: Ints | Shorts,
    label: Ints | Shorts,
    above: Ints,
    number: Ints,
    count: int,
    types: int,
    kinds: int,
    start: int,
    stop: int,
) -> tuple[npt.NDArray[np.int32], Kinds]:
    """Return for every two of `count` numbered labels the records that hold both, and those where an object does.

    A record holds a label if it has the label or something below it. number[x] is -1 for labels that do not matter.
    """
    both = np.zeros((count, count), np.int32)
    related = np.zeros((count, count, kinds), np.int32)
    is_held, place = np.zeros(count, np.bool_), np.zeros(count, np.int32)
    held = np.empty(count, np.int32)
    space = np.empty((64, kinds, 1), np.uint64)
    for r in range(start, stop):
        base, size = offsets[r], offsets[r + 1] - offsets[r]
        filled = _held_numbers(base, size, label, above, number, is_held, held)
        space = _roomy(space, filled, kinds)
        bits = np.empty((filled + 63) >> 6, np.uint64)
        _related_places(base, size, parent, label, above, number, place, held, filled, types, kinds, space, bits)
        for p in range(filled):
            a = held[p]
            both[a, a] += 1
            for q in range(p):
                b = held[q]
                both[a, b] += 1
                both[b, a] += 1
                for d in range(kinds):
                    if (space[p, d, q >> 6] >> np.uint64(q & 63)) & np.uint64(1):
                        related[a, b, d] += 1
                        related[b, a, d] += 1
    return both, related


@njit
def fill_object_pairs(
    offsets: Longs,
    parent: Ints | Shorts,
    label: Ints | Shorts,
    above: Ints,
    number: Ints,
    set_of: Kinds,
    kind: Tinies,
    at: Longs,
    rows: Words,
    lists: Ints,
    filled: Longs,
    types: int,
    start: int,
    stop: int,
) -> None:
    """Fill the record sets of labels (set_of[a, a, 0]) and of relations (set_of[a, b, d]; -1: not wanted).

    filled[s] is how many records the list of set s holds so far. Bitmaps are filled by words, so that several threads
    may fill them if their records do not share one.
    """
    count, kinds = len(set_of), set_of.shape[2]
    is_held, place = np.zeros(count, np.bool_), np.zeros(count, np.int32)
    held = np.empty(count, np.int32)
    space = np.empty((64, kinds, 1), np.uint64)
    for r in range(start, stop):
        base, size = offsets[r], offsets[r + 1] - offsets[r]
        many = _held_numbers(base, size, label, above, number, is_held, held)
        space = _roomy(space, many, kinds)
        bits = np.empty((many + 63) >> 6, np.uint64)
        _related_places(base, size, parent, label, above, number, place, held, many, types, kinds, space, bits)
        for p in range(many):
            for q in range(p + 1):
                for d in range(kinds):
                    if p == q:
                        wanted = d == 0
                    else:
                        wanted = bool((space[p, d, q >> 6] >> np.uint64(q & 63)) & np.uint64(1))
                    chosen = set_of[held[p], held[q], d] if wanted else -1
                    if chosen < 0:
                        continue
                    if kind[chosen] == DENSE:
                        rows[at[chosen], r >> 6] |= np.uint64(1) << np.uint64(r & 63)
                    else:
                        lists[at[chosen] + filled[chosen]] = r
                        filled[chosen] += 1


@njit
def _look_at_objects(
    base: int,
    size: int,
    parent: Ints | Shorts,
    label: Ints | Shorts,
    slot: Ints,
    part: int,
    rest: int,
    types: int,
    kinds: int,
    held: Ints,
    is_held: Flags,
    by_part: Ints,
    by_rest: Ints,
) -> int:
    """List the distinct slots of a record in `held`, and mark the kinds of their relations with part and rest."""
    # Marks of slots are only valid while the slot is held: the caller clears `is_held` alone.
    count = 0
    for i in range(size):
        s = slot[label[base + i]]
        if s >= 0 and not is_held[s]:
            is_held[s] = True
            by_part[s] = 0
            by_rest[s] = 0
            held[count] = s
            count += 1
    for i in range(size):
        if kinds == 0 or not 0 < label[base + i] <= types:
            continue
        has_part, has_rest = False, False
        j = i + 1
        while j < size and parent[base + j] >= i:
            s = slot[label[base + j]]
            has_part |= s == part
            has_rest |= s >= 0 and s == rest
            j += 1
        if not has_part and not has_rest:
            continue
        depth = _depth_of(base, i, parent)
        if depth >= kinds:
            continue
        bit = np.int32(1) << np.int32(depth)
        for inner in range(i + 1, j):
            s = slot[label[base + inner]]
            if s >= 0:
                if has_part:
                    by_part[s] |= bit
                if has_rest:
                    by_rest[s] |= bit
    return count


@njit
def count_object_part(
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
    types: int,
    kinds: int,
) -> tuple[npt.NDArray[np.int32], Kinds, Ints, Ints, Ints, Flags]:
    """Return what `count_part` returns, where objects stay whole: relations have a kind, and two tables of their own.

    The first result has the rows shared, lost, and records in which `rest` loses anything; the second, by slot and
    kind, the records in a relation with part, and those in which `rest` loses it. What is listed names slot y and kind
    d as y * kinds + d.
    """
    out, related = np.zeros((3, slots), np.int32), np.zeros((2, slots, kinds), np.int32)
    is_held = np.zeros(slots, np.bool_)
    by_part, by_rest = np.zeros(slots, np.int32), np.zeros(slots, np.int32)
    biggest, nodes = 0, 0
    for r in records:
        biggest = max(biggest, offsets[r + 1] - offsets[r])
        nodes += offsets[r + 1] - offsets[r]
    held = np.empty(biggest, np.int32)
    lost_label = np.empty(len(records) if rest >= 0 else 0, np.int32)
    lost_labels = 0
    room = nodes * kinds if listed else 0
    at_record, at_slot, is_lost = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.bool_)
    filled = 0
    looked_at = kinds if relations else 0
    for r in records:
        base, size = offsets[r], offsets[r + 1] - offsets[r]
        count = _look_at_objects(
            base, size, parent, label, slot, part, rest, types, looked_at, held, is_held, by_part, by_rest
        )
        # The rest loses its label in records in which no other node of it is left.
        left = rest >= 0 and is_held[rest]
        touched = rest >= 0 and not left
        if touched:
            lost_label[lost_labels] = r
            lost_labels += 1
        for i in range(count):
            y = held[i]
            if y == part:
                continue
            out[0, y] += 1
            if rest >= 0 and y != rest and not left:
                out[1, y] += 1
            for d in range(looked_at):
                if not (by_part[y] >> d) & 1:
                    continue
                # A relation is lost where only the nodes that leave the rest stood in one with y.
                lost = rest >= 0 and y != rest and not (by_rest[y] >> d) & 1
                related[0, y, d] += 1
                if listed:
                    at_record[filled], at_slot[filled], is_lost[filled] = r, y * kinds + d, lost
                    filled += 1
                if lost:
                    related[1, y, d] += 1
                    touched = True
        for i in range(count):
            if touched:
                out[2, held[i]] += 1
            is_held[held[i]] = False
    return out, related, lost_label[:lost_labels], at_record[:filled], at_slot[:filled], is_lost[:filled]


@njit
def left_out_of_objects(
    offsets: Longs,
    parent: Ints,
    label: Ints,
    types: int,
    rules_of: Longs,
    rules: Ints,
    trigger: Ints,
    lower: Ints,
    kind: Ints,
) -> Flags:
    """The nodes that rules leave out, one rule after another: lower[i] in each object kind[i] that holds trigger[i].

    The numbers of the rules that leave out label x are rules[rules_of[x]:rules_of[x + 1]], ascending. What a rule
    leaves out triggers none that comes after it.
    """
    out = np.zeros(len(label), np.bool_)
    wanted = np.zeros(len(trigger), np.bool_)
    chosen = np.empty(len(trigger), np.int64)
    for r in range(len(offsets) - 1):
        base, size = offsets[r], offsets[r + 1] - offsets[r]
        many = 0
        for i in range(size):
            for at in range(rules_of[label[base + i]], rules_of[label[base + i] + 1]):
                if not wanted[rules[at]]:
                    wanted[rules[at]] = True
                    chosen[many] = rules[at]
                    many += 1
        sort(chosen, 0, many)
        for number in range(many):
            rule = chosen[number]
            wanted[rule] = False
            for i in range(size):
                if label[base + i] != kind[rule]:
                    continue
                holds = False
                j = i + 1
                while j < size and parent[base + j] >= i:
                    holds |= label[base + j] == trigger[rule] and not out[base + j]
                    j += 1
                if not holds:
                    continue
                for inner in range(i + 1, j):
                    if label[base + inner] == lower[rule]:
                        out[base + inner] = True
    return out


@njit
def count_object_relations(
    offsets: Longs, parent: Ints, label: Ints, class_of: Ints, classes: int, types: int, kinds: int
) -> Longs:
    """Return for every two classes (a <= b) and kind the different pairs of labels of every record that an object
    holds, summed over the records.
    """
    out = np.zeros((classes, classes, kinds), np.int64)
    number = np.arange(len(class_of)).astype(np.int32)
    number[: types + 1] = -1
    above = np.full(len(class_of), -1, np.int32)
    is_held, place = np.zeros(len(class_of), np.bool_), np.zeros(len(class_of), np.int32)
    held = np.empty(len(class_of), np.int32)
    space = np.empty((64, kinds, 1), np.uint64)
    for r in range(len(offsets) - 1):
        base, size = offsets[r], offsets[r + 1] - offsets[r]
        filled = _held_numbers(base, size, label, above, number, is_held, held)
        space = _roomy(space, filled, kinds)
        bits = np.empty((filled + 63) >> 6, np.uint64)
        _related_places(base, size, parent, label, above, number, place, held, filled, types, kinds, space, bits)
        for p in range(filled):
            for q in range(p):
                for d in range(kinds):
                    if (space[p, d, q >> 6] >> np.uint64(q & 63)) & np.uint64(1):
                        a, b = class_of[held[p]], class_of[held[q]]
                        out[min(a, b), max(a, b), d] += 1
    return out

"""Looks for a combination that breaks an extended guarantee: joint attackers, l-diversity, negative knowledge.

An *element* is a slot (the number of a published label), or slots + slot for "does not have it". The persons of a
combination are listed, ascending, one element or relation after another.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Ints, Longs, Tinies, Words
from treeanon.kernels.jit import njit
from treeanon.kernels.tree.published_records import (
    MOST,
    Table,
    Trees,
    jointly_held,
    jointly_held_in_objects,
    room_for_names,
)
from treeanon.kernels.tree.record_sets import DENSE, has

Sets = tuple[Tinies, Longs, Ints, Words, Ints]
"""kind, at, size, rows, lists: record sets as in record_sets."""

Values = tuple[Longs, Ints, Ints, int]
"""The distinct sensitive values of every record: where they start, their numbers, the class of each, the classes."""

_APART = 16


@njit
def members(sets: Sets, chosen: int, wanted: bool, records: int, out: Ints) -> int:
    """Lists the records of a set, or those that are not in it; their number."""
    kind, at, size, rows, lists = sets
    count = 0
    if kind[chosen] == DENSE:
        for r in range(records):
            if has(rows, at[chosen], r) == wanted:
                out[count] = r
                count += 1
        return count
    if wanted:
        for i in range(at[chosen], at[chosen] + size[chosen]):
            out[count] = lists[i]
            count += 1
        return count
    i, stop = at[chosen], at[chosen] + size[chosen]
    for r in range(records):
        if i < stop and lists[i] == r:
            i += 1
        else:
            out[count] = r
            count += 1
    return count


@njit
def _those_in(sets: Sets, chosen: int, wanted: bool, group: Ints, length: int, out: Ints) -> int:
    """Lists those of a group that are in a set, or that are not; their number."""
    kind, at, size, rows, lists = sets
    count = 0
    if kind[chosen] == DENSE:
        for i in range(length):
            if has(rows, at[chosen], group[i]) == wanted:
                out[count] = group[i]
                count += 1
        return count
    j, stop = at[chosen], at[chosen] + size[chosen]
    if wanted and size[chosen] * _APART < length:
        low = 0
        while j < stop:
            record = lists[j]
            high = length
            while low < high:
                middle = (low + high) >> 1
                if group[middle] < record:
                    low = middle + 1
                else:
                    high = middle
            if low < length and group[low] == record:
                out[count] = record
                count += 1
            j += 1
        return count
    for i in range(length):
        record = group[i]
        while j < stop and lists[j] < record:
            j += 1
        if (j < stop and lists[j] == record) == wanted:
            out[count] = record
            count += 1
    return count


@njit
def _are_left(group: Ints, length: int, values: Values, without: int, l: int, seen: Ints, others: Ints) -> bool:  # noqa: E741
    """Return whether l values of a class are left in a group without those that hold one of them."""
    starts, codes, class_of, _ = values
    left = 0
    for i in range(length):
        first, last = starts[group[i]], starts[group[i] + 1]
        holds = False
        for j in range(first, last):
            holds |= codes[j] == without
        if holds:
            continue
        for j in range(first, last):
            code = codes[j]
            if class_of[code] == class_of[without] and seen[code] >= 0:
                seen[code] = -1 - seen[code]
                others[left] = code
                left += 1
        if left >= l:
            break
    for i in range(left):
        seen[others[i]] = -1 - seen[others[i]]
    return left >= l


@njit
def _is_diverse(group: Ints, length: int, values: Values, l: int, frequency: bool, seen: Ints, met: Table) -> bool:  # noqa: E741
    """Return whether a group is l-diverse in every sensitive class: no value is held by more than 1/l of its persons,
    or l values are left without those that hold any one of them. `seen` is work space of all zeros, and is left so.
    """
    starts, codes, _, _ = values
    filled = largest = 0
    for i in range(length):
        for j in range(starts[group[i]], starts[group[i] + 1]):
            code = codes[j]
            if seen[code] == 0:
                met[0, filled] = code
                filled += 1
            seen[code] += 1
            largest = max(largest, seen[code])
    enough = largest * l <= length
    if not frequency:
        enough = True
        for i in range(filled):
            if not _are_left(group, length, values, met[0, i], l, seen, met[1]):
                enough = False
                break
    for i in range(filled):
        seen[met[0, i]] = 0
    return bool(enough)


@njit
def breaks(
    prefixes: Table,
    parted: bool,
    others: Ints,
    slots: int,
    label_set: Ints,
    relation_set: npt.NDArray[np.int32],
    shared: Table,
    home: Table,
    side: Ints,
    deniable: Flags,
    sets: Sets,
    trees: Trees,
    slot: Ints,
    values: Values,
    k: int,
    m: int,
    n: int,
    l: int,  # noqa: E741
    frequency: bool,
    joint: bool,
) -> bool:
    """Return whether a combination that begins with one of the prefixes, and may go on with `others`, breaks the
    guarantee.

    Where objects stay whole, home[slot, kind] is the type of objects that a relation of a label, of a kind, speaks of;
    else it is empty. Slots of classes side[a] and side[b] may be known not to be related, the second below the first,
    if deniable[side[a], side[b]]; where objects stay whole: that no object of a type holds both. Prefixes are rows of
    elements; what an earlier prefix begins with is left out of later ones. `parted`: prefixes are three slots, and only
    joint supports are looked at, with the first slot's relations to the other two. (One function: its stacks and work
    space would have to go through all parts.)
    """
    offsets = trees[0]
    records = len(offsets) - 1
    most = min(n, relation_set.shape[2] * (m * (m - 1) // 2))
    groups = np.empty((m, records), np.int32)
    # The records that hold the chosen elements up to each depth; below, those that hold the relations too.
    lengths = np.zeros(m, np.int64)
    narrowed = np.empty((most + 1, records if most else 0), np.int32)
    narrow = np.zeros(most + 1, np.int64)
    signed = len(deniable) > 0
    jointly = np.empty(records if joint else 0, np.int32)
    nodes = offsets[records] if joint else 0
    own, up, first = np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes, np.int32)
    table = np.empty(room_for_names(offsets) if joint else 0, np.int32)
    done = np.zeros(records if joint else 0, np.bool_)
    seen, met = np.zeros(len(values[2]), np.int32), np.empty((2, len(values[2])), np.int32)
    chosen = np.empty(MOST, np.int32)
    at = np.zeros(MOST + 1, np.int64)
    # Of each relation the two places in `chosen`, and twice its kind, and one more if it is denied.
    kinds = relation_set.shape[2]
    pairs = np.empty(3 * kinds * MOST * MOST, np.int32)
    ends = np.empty(3 * kinds * MOST * MOST, np.int32)
    taken = np.zeros(most + 2, np.int64)
    enough = k if l == 1 else records + 1
    given = prefixes.shape[1]
    for p in range(len(prefixes)):
        # A depth-first walk over elements, with a position in `others` for each depth in place of recursion.
        depth = 0
        looking = False
        at[given] = 0
        while True:
            # The next element: of the prefix, then of the others.
            if depth < given:
                element = prefixes[p, depth]
            else:
                if at[depth] == len(others) or depth == m:
                    depth -= 1
                    if depth < given:
                        break
                    at[depth] += 1
                    continue
                element = others[at[depth]]
                fits = True
                for a in range(depth):
                    # A label and its absence exclude each other; two labels that no record shares hold nothing
                    # together.
                    if chosen[a] % slots == element % slots:
                        fits = False
                    elif chosen[a] < slots and element < slots and shared[chosen[a], element] == 0:
                        fits = False
                if not parted:
                    # What an earlier prefix began with has been gone through with all that can follow.
                    for q in range(p):
                        if prefixes[q, 0] == element:
                            fits = False
                if not fits:
                    at[depth] += 1
                    continue
            wanted = element < slots
            held = label_set[element % slots]
            chosen[depth] = element
            if depth == 0:
                lengths[0] = members(sets, held, wanted, records, groups[0])
            else:
                lengths[depth] = _those_in(sets, held, wanted, groups[depth - 1], lengths[depth - 1], groups[depth])
            length = lengths[depth]
            if length == 0:
                if depth < given:
                    break
                at[depth] += 1
                continue
            if not parted:
                if length < k:
                    return True
                # The same records as before have the same sensitive values: diversity need not be counted again.
                same = depth > 0 and length == lengths[depth - 1]
                if l > 1 and not same and not _is_diverse(groups[depth], length, values, l, frequency, seen, met):
                    return True
            count = depth + 1
            looking = n > 0 and count > 1 and not (parted and count < given)
            # Its relations: all sets of them, from the label group down.
            pair_count = 0
            if looking:
                for b in range(1, count):
                    for a in range(b):
                        if chosen[a] >= slots or chosen[b] >= slots:
                            continue
                        for kind in range(kinds):
                            if relation_set[chosen[a], chosen[b], kind] >= 0:
                                pairs[3 * pair_count], pairs[3 * pair_count + 1] = a, b
                                pairs[3 * pair_count + 2] = 2 * kind
                                pair_count += 1
            # Denied ones come last; what nobody has nobody is known to lack.
            related = pair_count
            for j in range(related if signed else 0):
                for a, b in ((pairs[3 * j], pairs[3 * j + 1]), (pairs[3 * j + 1], pairs[3 * j])):
                    if deniable[side[chosen[a]], side[chosen[b]]]:
                        pairs[3 * pair_count], pairs[3 * pair_count + 1] = a, b
                        pairs[3 * pair_count + 2] = pairs[3 * j + 2] + 1
                        pair_count += 1
            if parted and looking:
                # Both relations of the prefix come first, unless one was ended.
                looking = pair_count > 1 and pairs[0] == 0 and pairs[1] == 1 and pairs[3] == 0 and pairs[4] == 2
            looking = looking and pair_count > 0
            size = 0
            taken[0] = 0
            while looking:
                if taken[size] == pair_count or size == most:
                    size -= 1
                    if size < 0:
                        break
                    taken[size] += 1
                    continue
                # Sets of relations are walked through in the same way: `size` of them are chosen, the last at
                # taken[size - 1].
                one = taken[size]
                if parted and size < 2 and one != size:
                    break
                a, b = pairs[3 * one], pairs[3 * one + 1]
                is_denied = pairs[3 * one + 2] & 1 == 1
                held = relation_set[chosen[a], chosen[b], pairs[3 * one + 2] >> 1]
                before = groups[depth] if size == 0 else narrowed[size - 1]
                length = lengths[depth] if size == 0 else narrow[size - 1]
                narrow[size] = _those_in(sets, held, not is_denied, before, length, narrowed[size])
                left = narrow[size]
                # Below one node it may be missing where it is below another.
                if left == 0 and not (joint and is_denied):
                    taken[size] += 1
                    continue
                ends[3 * size], ends[3 * size + 1], ends[3 * size + 2] = a, b, pairs[3 * one + 2]
                if not parted and left > 0:
                    if left < k:
                        return True
                    if (
                        l > 1
                        and left != length
                        and not _is_diverse(narrowed[size], left, values, l, frequency, seen, met)
                    ):
                        return True
                size += 1
                if joint and (size > 1 or is_denied):
                    # Only relations that share a label can be witnessed apart, and denied ones: otherwise joint and
                    # independent supports agree.
                    used, met_again, denied = 0, is_denied, size
                    for j in range(size):
                        if ends[3 * j + 2] & 1 == 1:
                            denied = min(denied, j)
                        for e in range(2):
                            if (used >> ends[3 * j + e]) & 1:
                                met_again = True
                            used |= 1 << ends[3 * j + e]
                    found = 0
                    if len(home) > 0:
                        # Relations of one type speak of one object, whether or not they share a label.
                        found = jointly_held_in_objects(
                            narrowed[size - 1], narrow[size - 1], enough, trees, slot, home, chosen, ends, size, jointly
                        )
                    elif met_again:
                        found = jointly_held(
                            groups[depth] if denied == 0 else narrowed[denied - 1],
                            lengths[depth] if denied == 0 else narrow[denied - 1],
                            enough,
                            trees,
                            slot,
                            own,
                            up,
                            first,
                            table,
                            done,
                            chosen,
                            ends,
                            size,
                            denied,
                            used,
                            jointly,
                        )
                    if 0 < found < k:
                        return True
                    if l > 1 and found > 0 and not _is_diverse(jointly, found, values, l, frequency, seen, met):
                        return True
                taken[size] = one + 1
            depth += 1
            if depth >= given:
                at[depth] = at[depth - 1] + 1 if depth > given else 0
    return False

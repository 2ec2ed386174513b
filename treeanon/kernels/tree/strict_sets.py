"""Looks for a combination that breaks an extended guarantee: joint attackers, l-diversity, negative knowledge.

An *element* is a slot (the number of a published label), or slots + slot for "does not have it". The persons of a
combination are listed, ascending, one element or relation after another.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Ints, Longs, SetArrays
from treeanon.kernels.jit import njit
from treeanon.kernels.tree.published_records import (
    MOST,
    Table,
    Trees,
    jointly_held,
    jointly_held_in_objects,
    room_for_names,
)
from treeanon.kernels.tree.record_sets import DENSE, Relations, has

Values = tuple[Longs, Ints, Ints, int]
"""The distinct sensitive values of every record: where they start, their numbers, the class of each, the classes."""

_APART = 16


@njit
def members(sets: SetArrays, chosen: int, wanted: bool, records: int, out: Ints) -> int:
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
def _those_in(sets: SetArrays, chosen: int, wanted: bool, group: Ints, length: int, out: Ints) -> int:
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


Labels = tuple[Ints, Relations, Table, Ints]
"""The record set of every slot, and of every relation of two slots, of each kind (-1: nobody has it); the number of
records that two slots share; the slot of every label.
"""

Sides = tuple[Table, Ints, Flags]
"""home, side, deniable. Where objects stay whole, home[slot, kind] is the type of objects that a relation of a label,
of a kind, speaks of; else it is empty. Slots of classes side[a] and side[b] may be known not to be related, the second
below the first, if deniable[side[a], side[b]]; where objects stay whole: that no object of a type holds both.
"""

Asked = tuple[int, int, int, int, bool, bool]
"""k, m, n and l; whether diversity is by frequency; whether one embedding must witness all relations."""

_Diverse = tuple[Values, int, bool, Ints, Table]
"""The sensitive values, l, whether by frequency, and work space of `_is_diverse`."""

_Narrowed = tuple[Table, Longs, Ints, Longs]
"""Work space: the records that hold the first so many relations, their number, each one's ends and kind, its place."""

_Joint = tuple[Trees, Ints, Table, Ints, Ints, Ints, Ints, Flags, Ints]
"""The trees, the slot of every label, `home`, and work space for joint supports, the last of it for records."""


@njit
def _is_alike(group: Ints, length: int, diverse: _Diverse) -> bool:
    """Return whether a group is not diverse."""
    values, l, frequency, seen, met = diverse  # noqa: E741
    return l > 1 and not _is_diverse(group, length, values, l, frequency, seen, met)


@njit
def _fits(chosen: Ints, depth: int, element: int, slots: int, shared: Table) -> bool:
    """Return whether an element may follow: a label and its absence exclude each other; two labels that no record
    shares hold nothing together.
    """
    for a in range(depth):
        if chosen[a] % slots == element % slots:
            return False
        if chosen[a] < slots and element < slots and shared[chosen[a], element] == 0:
            return False
    return True


@njit
def _list_relations(
    relation_set: Relations, chosen: Ints, count: int, slots: int, side: Ints, deniable: Flags, pairs: Ints
) -> int:
    """List the relations of the chosen elements, denied ones last, and return their number.

    Each is the two places in `chosen`, and twice its kind, and one more if it is denied. What nobody has nobody is
    known to lack.
    """
    filled = 0
    for b in range(1, count):
        for a in range(b):
            if chosen[a] >= slots or chosen[b] >= slots:
                continue
            for kind in range(relation_set.shape[2]):
                if relation_set[chosen[a], chosen[b], kind] >= 0:
                    pairs[3 * filled], pairs[3 * filled + 1], pairs[3 * filled + 2] = a, b, 2 * kind
                    filled += 1
    related = filled if len(deniable) > 0 else 0
    for j in range(related):
        for a, b in ((pairs[3 * j], pairs[3 * j + 1]), (pairs[3 * j + 1], pairs[3 * j])):
            if deniable[side[chosen[a]], side[chosen[b]]]:
                pairs[3 * filled], pairs[3 * filled + 1], pairs[3 * filled + 2] = a, b, pairs[3 * j + 2] + 1
                filled += 1
    return filled


@njit
def _jointly_found(
    group: Ints, length: int, chosen: Ints, size: int, enough: int, narrowed: _Narrowed, joint: _Joint
) -> int:
    """Return the records, counted up to `enough`, in which the same nodes witness all of the first relations, and list
    them; 0 where that says no more than independent supports do.
    """
    records, narrow, ends, _ = narrowed
    trees, slot, home, own, up, first, table, done, found = joint
    if len(home) > 0:
        # Relations of one type speak of one object, whether or not they share a label.
        return jointly_held_in_objects(
            records[size - 1], narrow[size - 1], enough, trees, slot, home, chosen, ends, size, found
        )
    # Only relations that share a label can be witnessed apart, and denied ones: otherwise joint and independent
    # supports agree.
    used, is_met_again, denied = 0, ends[3 * size - 1] & 1 == 1, size
    for j in range(size):
        if ends[3 * j + 2] & 1 == 1:
            denied = min(denied, j)
        for e in range(2):
            if (used >> ends[3 * j + e]) & 1:
                is_met_again = True
            used |= 1 << ends[3 * j + e]
    if not is_met_again:
        return 0
    if denied > 0:
        # Below one node it may be missing where it is below another: denied relations narrow nothing here.
        group, length = records[denied - 1], narrow[denied - 1]
    return jointly_held(
        group, length, enough, trees, slot, own, up, first, table, done, chosen, ends, size, denied, used, found
    )


@njit
def _relations_break(
    group: Ints,
    length: int,
    chosen: Ints,
    pairs: Ints,
    count: int,
    parted: bool,
    sets: SetArrays,
    relation_set: Relations,
    k: int,
    is_joint: bool,
    enough: int,
    diverse: _Diverse,
    narrowed: _Narrowed,
    joint: _Joint,
) -> bool:
    """Return whether some of `count` relations break the guarantee in a group that holds the chosen elements.

    All sets of them are walked through, depth first: `size` of them are chosen, the last at taken[size - 1].
    """
    records, narrow, ends, taken = narrowed
    most = len(narrow) - 1
    size = 0
    taken[0] = 0
    while True:
        if taken[size] == count or size == most:
            size -= 1
            if size < 0:
                return False
            taken[size] += 1
            continue
        one = taken[size]
        if parted and size < 2 and one != size:
            return False
        a, b, kind = pairs[3 * one], pairs[3 * one + 1], pairs[3 * one + 2]
        is_denied = kind & 1 == 1
        held = relation_set[chosen[a], chosen[b], kind >> 1]
        before = group if size == 0 else records[size - 1]
        those = length if size == 0 else narrow[size - 1]
        left = _those_in(sets, held, not is_denied, before, those, records[size])
        narrow[size] = left
        # Below one node it may be missing where it is below another.
        if left == 0 and not (is_joint and is_denied):
            taken[size] += 1
            continue
        ends[3 * size], ends[3 * size + 1], ends[3 * size + 2] = a, b, kind
        if not parted and left > 0:
            if left < k or (left != those and _is_alike(records[size], left, diverse)):
                return True
        size += 1
        if is_joint and (size > 1 or is_denied):
            found = _jointly_found(group, length, chosen, size, enough, narrowed, joint)
            if 0 < found < k or (found > 0 and _is_alike(joint[-1], found, diverse)):
                return True
        taken[size] = one + 1


@njit
def breaks(
    prefixes: Table,
    parted: bool,
    others: Ints,
    slots: int,
    labels: Labels,
    sides: Sides,
    sets: SetArrays,
    trees: Trees,
    values: Values,
    asked: Asked,
) -> bool:
    """Return whether a combination that begins with one of the prefixes, and may go on with `others`, breaks the
    guarantee.

    Prefixes are rows of elements; what an earlier prefix begins with is left out of later ones. `parted`: prefixes are
    three slots, and only joint supports are looked at, with the first slot's relations to the other two.
    """
    label_set, relation_set, shared, slot = labels
    home, side, deniable = sides
    k, m, n, l, frequency, is_joint = asked  # noqa: E741
    offsets = trees[0]
    records = len(offsets) - 1
    kinds = relation_set.shape[2]
    most = min(n, kinds * (m * (m - 1) // 2))
    enough = k if l == 1 else records + 1
    given = prefixes.shape[1]
    # The records that hold the chosen elements up to each depth; `narrowed`: those that hold the relations too.
    groups, lengths = np.empty((m, records), np.int32), np.zeros(m, np.int64)
    pairs, ends = np.empty(3 * kinds * MOST * MOST, np.int32), np.empty(3 * kinds * MOST * MOST, np.int32)
    within = np.empty((most + 1, records if most else 0), np.int32)
    narrowed = (within, np.zeros(most + 1, np.int64), ends, np.zeros(most + 2, np.int64))
    diverse = (values, l, frequency, np.zeros(len(values[2]), np.int32), np.empty((2, len(values[2])), np.int32))
    nodes, those = (offsets[records], records) if is_joint else (0, 0)
    room, table = np.empty((3, nodes), np.int32), np.empty(room_for_names(offsets) if is_joint else 0, np.int32)
    those_done, found = np.zeros(those, np.bool_), np.empty(those, np.int32)
    joint = (trees, slot, home, room[0], room[1], room[2], table, those_done, found)
    chosen, at = np.empty(MOST, np.int32), np.zeros(MOST + 1, np.int64)
    for p in range(len(prefixes)):
        # A depth-first walk over elements, with a position in `others` for each depth in place of recursion.
        depth = 0
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
                # What an earlier prefix began with has been gone through with all that can follow.
                is_begun = not parted and (prefixes[:p, 0] == element).any()
                if is_begun or not _fits(chosen, depth, element, slots, shared):
                    at[depth] += 1
                    continue
            held, wanted = label_set[element % slots], element < slots
            chosen[depth] = element
            if depth == 0:
                length = members(sets, held, wanted, records, groups[0])
            else:
                length = _those_in(sets, held, wanted, groups[depth - 1], lengths[depth - 1], groups[depth])
            lengths[depth] = length
            if length == 0:
                if depth < given:
                    break
                at[depth] += 1
                continue
            if not parted:
                # The same records as before have the same sensitive values: diversity need not be counted again.
                is_new = depth == 0 or length != lengths[depth - 1]
                if length < k or (is_new and _is_alike(groups[depth], length, diverse)):
                    return True
            depth += 1
            count = 0
            if n > 0 and depth > 1 and not (parted and depth < given):
                count = _list_relations(relation_set, chosen, depth, slots, side, deniable, pairs)
            # Both relations of a parted prefix come first, unless one was ended.
            is_whole = count > 1 and pairs[0] == 0 and pairs[1] == 1 and pairs[3] == 0 and pairs[4] == 2
            if count > 0 and (is_whole or not parted):
                if _relations_break(
                    groups[depth - 1], length, chosen, pairs, count, parted, sets, relation_set, k, is_joint, enough,
                    diverse, narrowed, joint,
                ):  # fmt: skip
                    return True
            if depth >= given:
                at[depth] = at[depth - 1] + 1 if depth > given else 0
    return False

"""ValueCheck and StructureCheck on record sets: combinations that some records hold, but fewer than k.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section III:
`rare_values` is Algorithm 1, `broken` the body of Algorithm 2, `next_broken` lines 2 to 4 of Algorithm 3.

Record sets are numbers as in `record_sets`. The sets 0 .. m-1 are work space: row and list number i of the store
belong to set i, lists with room for `room` records.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Ints, Longs, Tinies, Words
from treeanon.kernels.jit import njit
from treeanon.kernels.tree.embeddings import joint_support
from treeanon.kernels.tree.record_sets import DENSE, SPARSE, has, ones, shared
from treeanon.kernels.tree.synopsis import Table


@njit
def _intersect(
    kind: Tinies, at: Longs, size: Ints, rows: Words, lists: Ints, one: int, other: int, room: int, out: int
) -> int:
    """Make work set `out` the records that two sets share; how many these are."""
    if kind[one] == DENSE and kind[other] == DENSE:
        held = np.uint64(0)
        for w in range(rows.shape[1]):
            word = rows[at[one], w] & rows[at[other], w]
            rows[out, w] = word
            held += ones(word)
        count = int(held)
        kind[out], at[out], size[out] = DENSE, out, count
        if count <= room // 4:
            kind[out], at[out] = SPARSE, out * room
            filled = out * room
            for w in range(rows.shape[1]):
                word = rows[out, w]
                while word != np.uint64(0):
                    lowest = word & (~word + np.uint64(1))
                    lists[filled] = (w << 6) + np.int64(ones(lowest - np.uint64(1)))
                    filled += 1
                    word ^= lowest
        return count
    if kind[one] == DENSE or (kind[other] == SPARSE and size[other] < size[one]):
        one, other = other, one
    count = 0
    base = out * room
    place = at[other]
    stop = place + size[other]
    for i in range(at[one], at[one] + size[one]):
        record = lists[i]
        if kind[other] == DENSE:
            held_too = has(rows, at[other], record)
        else:
            while place < stop and lists[place] < record:
                place += 1
            held_too = place < stop and lists[place] == record
        if held_too:
            lists[base + count] = record
            count += 1
    kind[out], at[out], size[out] = SPARSE, base, count
    return count


@njit
def rare_values(
    kind: Tinies, at: Longs, size: Ints, rows: Words, lists: Ints, room: int, chosen: Ints, fresh: int, k: int, m: int
) -> bool:
    """Return whether up to m of the chosen sets, one of the first `fresh` among them, share a record but fewer than k.

    (ValueCheck, Algorithm 1 of the paper, for what specializing one node can have changed.)
    """
    taken = np.zeros(m, np.int64)
    pair = np.empty(2, np.int32)
    depth = 0
    taken[0] = -1
    while depth >= 0:
        taken[depth] += 1
        here = taken[depth]
        if here >= (fresh if depth == 0 else len(chosen)):
            depth -= 1
            continue
        if depth == 0:
            support = int(size[chosen[here]])
        else:
            pair[0] = chosen[taken[0]] if depth == 1 else depth - 1
            pair[1] = chosen[here]
            if depth + 1 == m:
                support = shared(kind, at, size, rows, lists, pair, 2, k)
            else:
                support = _intersect(kind, at, size, rows, lists, pair[0], pair[1], room, depth)
        if support == 0:
            continue
        if support < k:
            return True
        if depth + 1 < m:
            taken[depth + 1] = here
            depth += 1
    return False


@njit
def broken(
    kind: Tinies,
    at: Longs,
    size: Ints,
    rows: Words,
    lists: Ints,
    label_set: Ints,
    relation_set: Table,
    labels: Ints,
    count: int,
    upper: Ints,
    lower: Ints,
    number: int,
    k: int,
    joint: bool,
    offsets: Longs,
    synopsis_node: Ints,
    node_of: Ints,
    into: Ints,
    parent: Ints,
    place: Ints,
    class_of: Ints,
    chosen: Ints,
) -> bool:
    """Return whether some records, but fewer than k, hold these labels and relations (Algorithm 2 of the paper,
    StructureCheck).

    The relations go from labels[upper[i]] to labels[lower[i]]; labels that they do not speak of count too. `chosen`
    is work space. (Long for its arguments: a search calls it millions of times, and they are all arrays.)
    """
    # Who holds a relation holds its labels: only labels without a relation are counted for themselves.
    filled = 0
    covered = 0
    for i in range(number):
        chosen[filled] = relation_set[labels[upper[i]], labels[lower[i]]]
        if chosen[filled] < 0 or size[chosen[filled]] == 0:
            return False
        filled += 1
        covered |= (1 << upper[i]) | (1 << lower[i])
    for i in range(count):
        if not (covered >> i) & 1:
            chosen[filled] = label_set[labels[i]]
            filled += 1
    support = shared(kind, at, size, rows, lists, chosen, filled, k)
    if support < k or number < 2 or not joint:
        return 0 < support < k
    support = joint_support(
        kind,
        at,
        size,
        rows,
        lists,
        chosen,
        filled,
        offsets,
        synopsis_node,
        node_of,
        into,
        parent,
        place,
        class_of,
        labels,
        count,
        upper,
        lower,
        number,
        k,
    )
    return 0 < support < k


@njit
def next_broken(
    kind: Tinies,
    at: Longs,
    size: Ints,
    rows: Words,
    lists: Ints,
    room: int,
    label_set: Ints,
    relation_set: Table,
    changed: Table,
    since: int,
    fresh: Flags,
    k: int,
    m: int,
    n: int,
    joint: bool,
    offsets: Longs,
    synopsis_node: Ints,
    node_of: Ints,
    into: Ints,
    parent: Ints,
    place: Ints,
    class_of: Ints,
    state: Ints,
    upper: Ints,
    lower: Ints,
) -> int:
    """Return the number of relations of the next combination that fails StructureCheck; 0 if there is none any more.

    Combinations come in the order of lines 2 to 4 of the paper's Algorithm 3: by the number of labels, labels
    ascending, by the number of relations, relations by their places. `state` says where to go on, and then holds what
    was found: the number of labels, then the labels; `upper` and `lower` the relations, as places in these labels.
    Skipped are combinations that cannot fail: those with no fresh label, and without a relation that changed at `since`
    or later. (One function: it can stop anywhere and go on.)
    """
    count = len(label_set)
    # Hot labels are fresh ones, and ends of relations that changed: a combination without any cannot fail anew.
    hot = fresh.copy()
    last_hot = -1
    for x in range(count):
        for y in range(count):
            if changed[x, y] >= since:
                hot[x] = True
                hot[y] = True
    for x in range(count):
        if hot[x]:
            last_hot = x
    if last_hot < 0:
        return 0
    # Where the last call stopped: its labels are chosen again, and relations up to its own are passed over.
    resumed = state[0] > 0
    before = upper.copy(), lower.copy()
    before_number = state[m + 1]
    chosen = np.empty(m + n + 64, np.int32)
    labels = np.empty(m, np.int32)
    warm = np.zeros(m + 1, np.bool_)
    slot_upper = np.empty(m * m, np.int32)
    slot_lower = np.empty(m * m, np.int32)
    slot_hot = np.empty(m * m, np.bool_)
    taken = np.empty(max(n, 1) + 1, np.int64)
    begin = state[0] if resumed else 2
    for total in range(begin, m + 1):
        depth = 0
        labels[0] = -1
        if resumed:
            for i in range(total):
                labels[i] = state[1 + i]
                warm[i + 1] = warm[i] or hot[labels[i]]
                if total > 3 and 1 <= i < total - 1:
                    _intersect(
                        kind, at, size, rows, lists, label_set[labels[0]] if i == 1 else i - 1, label_set[labels[i]],
                        room, i,
                    )  # fmt: skip
            depth = total - 1
            labels[depth] -= 1
        while depth >= 0:
            labels[depth] += 1
            here = labels[depth]
            # Not enough labels are left for the rest of the combination.
            if here > count - (total - depth):
                depth -= 1
                continue
            warm[depth + 1] = warm[depth] or hot[here]
            # No hot label can follow any more.
            if not warm[depth + 1] and here >= last_hot:
                depth -= 1
                continue
            if depth + 1 < total:
                # The records of a prefix are kept, so that prefixes that nobody holds are left at once.
                if total > 3 and depth >= 1:
                    one = label_set[labels[0]] if depth == 1 else depth - 1
                    if _intersect(kind, at, size, rows, lists, one, label_set[here], room, depth) == 0:
                        continue
                labels[depth + 1] = here
                depth += 1
                continue
            if not warm[total]:
                continue
            # With a fresh label all sets of relations matter, else only those with a changed one.
            whole = False
            for i in range(total):
                whole = whole or fresh[labels[i]]
            slots = 0
            worth = whole
            for i in range(total):
                for j in range(total):
                    if i == j:
                        continue
                    number = relation_set[labels[i], labels[j]]
                    if number < 0 or size[number] == 0:
                        continue
                    slot_upper[slots] = i
                    slot_lower[slots] = j
                    slot_hot[slots] = changed[labels[i], labels[j]] >= since
                    worth = worth or slot_hot[slots]
                    slots += 1
            again = resumed
            resumed = False
            if not worth:
                continue
            for number in range(before_number if again else 1, min(n, slots) + 1):
                # All ways to take `number` of the relations, in ascending order.
                at_slot = 0
                taken[0] = -1
                while at_slot >= 0:
                    taken[at_slot] += 1
                    if taken[at_slot] > slots - (number - at_slot):
                        at_slot -= 1
                        continue
                    if at_slot + 1 < number:
                        taken[at_slot + 1] = taken[at_slot]
                        at_slot += 1
                        continue
                    needed = whole
                    for i in range(number):
                        upper[i] = slot_upper[taken[i]]
                        lower[i] = slot_lower[taken[i]]
                        needed = needed or slot_hot[taken[i]]
                    if not needed:
                        continue
                    if again and number == before_number:
                        # Go on after the relations that the last call returned.
                        later = False
                        for i in range(number):
                            ours = upper[i] * m + lower[i]
                            theirs = before[0][i] * m + before[1][i]
                            if ours != theirs:
                                later = ours > theirs
                                break
                        if not later:
                            continue
                    if broken(
                        kind, at, size, rows, lists, label_set, relation_set, labels, total, upper, lower, number, k,
                        joint, offsets, synopsis_node, node_of, into, parent, place, class_of, chosen,
                    ):  # fmt: skip
                        state[0] = total
                        state[1 : 1 + total] = labels[:total]
                        state[m + 1] = number
                        return number
        resumed = False
    return 0

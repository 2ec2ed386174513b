"""ValueCheck and StructureCheck on record sets: combinations that some records hold, but fewer than k.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Sections
III-B and III-C: `rare_values` is Algorithm 1, `broken` the body of Algorithm 2, `next_broken` lines 2 to 4 of Algorithm
3: a loop over sets of labels (`_next_labels`), and one over choices of their relations (`_next_relations`).

Record sets are numbers as in `record_sets`. The sets 0 .. m-1 are work space: row and list number i of the store
belong to set i, lists with room for `room` records.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Ints, Longs, SetArrays, Tinies, Words
from treeanon.kernels.jit import njit
from treeanon.kernels.tree.embeddings import Places, joint_support
from treeanon.kernels.tree.record_sets import DENSE, SPARSE, has, ones, shared
from treeanon.kernels.tree.synopsis import Table

Published = tuple[Ints, Table, Table]
"""The labels of a cut: the record set of each, that of every relation (-1: nobody has it), and the number of the
disassociation that changed each relation last (0: none).
"""

Asked = tuple[int, int, int, bool]
"""k, m, n: k records for up to m labels with up to n relations; and whether one embedding must witness all of them."""


@njit
def _list_bits(row: Ints, lists: Ints, filled: int) -> None:
    """List the records of a bitmap."""
    for w in range(len(row)):
        word = row[w]
        while word != np.uint64(0):
            lowest = word & (~word + np.uint64(1))
            lists[filled] = (w << 6) + np.int64(ones(lowest - np.uint64(1)))
            filled += 1
            word ^= lowest


@njit
def _intersect(sets: SetArrays, one: int, other: int, room: int, out: int) -> int:
    """Make work set `out` the records that two sets share; how many these are."""
    kind, at, size, rows, lists = sets
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
            _list_bits(rows[out], lists, out * room)
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
def rare_values(sets: SetArrays, room: int, chosen: Ints, fresh: int, k: int, m: int) -> bool:
    """Return whether up to m of the chosen sets, one of the first `fresh` among them, share a record but fewer than k.

    (ValueCheck, Algorithm 1 of the paper, for what specializing one node can have changed.)
    """
    kind, at, size, rows, lists = sets
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
                support = _intersect(sets, pair[0], pair[1], room, depth)
        if support == 0:
            continue
        if support < k:
            return True
        if depth + 1 < m:
            taken[depth + 1] = here
            depth += 1
    return False


@njit
def _held_by(
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
    enough: int,
    chosen: Ints,
) -> tuple[int, int]:
    """Return the records, counted up to `enough`, that hold labels and relations, and how many sets `chosen` has then.

    (It takes arrays one by one: it is called for every combination, and tuples of them would cost a third of the time.)
    """
    # Who holds a relation holds its labels: only labels without a relation are counted for themselves.
    filled = 0
    covered = 0
    for i in range(number):
        chosen[filled] = relation_set[labels[upper[i]], labels[lower[i]]]
        if chosen[filled] < 0 or size[chosen[filled]] == 0:
            return 0, 0
        filled += 1
        covered |= (1 << upper[i]) | (1 << lower[i])
    for i in range(count):
        if not (covered >> i) & 1:
            chosen[filled] = label_set[labels[i]]
            filled += 1
    return shared(kind, at, size, rows, lists, chosen, filled, enough), filled


@njit
def broken(
    sets: SetArrays,
    published: Published,
    places: Places,
    asked: Asked,
    labels: Ints,
    count: int,
    upper: Ints,
    lower: Ints,
    number: int,
    chosen: Ints,
) -> bool:
    """Return whether some records, but fewer than k, hold these labels and relations (Algorithm 2 of the paper,
    StructureCheck).

    The relations go from labels[upper[i]] to labels[lower[i]]; labels that they do not speak of count too. `chosen`
    is work space.
    """
    kind, at, size, rows, lists = sets
    label_set, relation_set, _ = published
    k, _, _, joint = asked
    support, filled = _held_by(
        kind, at, size, rows, lists, label_set, relation_set, labels, count, upper, lower, number, k, chosen
    )
    if joint and number > 1 and support >= k:
        support = joint_support(sets, chosen, filled, places, labels, count, upper, lower, number, k)
    return 0 < support < k


@njit
def _hot_labels(changed: Table, since: int, fresh: Flags) -> Flags:
    hot = fresh.copy()
    for x in range(len(fresh)):
        for y in range(len(fresh)):
            if changed[x, y] >= since:
                hot[x] = True
                hot[y] = True
    return hot


@njit
def _keep_prefix(sets: SetArrays, label_set: Ints, room: int, labels: Ints, depth: int) -> int:
    """Keep the records that hold the first labels, up to that at `depth`, in work set `depth`; how many these are."""
    one = label_set[labels[0]] if depth == 1 else depth - 1
    return _intersect(sets, one, label_set[labels[depth]], room, depth)


@njit
def _next_labels(
    sets: SetArrays, label_set: Ints, room: int, hot: Flags, last_hot: int, labels: Ints, total: int, depth: int
) -> bool:
    """Move on to the next `total` ascending labels of which one is hot, from that at `depth` on; False at the end."""
    count = len(label_set)
    warm = 0
    for i in range(depth):
        warm += hot[labels[i]]
    while depth >= 0:
        here = labels[depth] + 1
        labels[depth] = here
        # Not enough labels are left for the rest, or no hot one can follow any more.
        if here > count - (total - depth) or (warm == 0 and here > last_hot):
            depth -= 1
            if depth >= 0:
                warm -= hot[labels[depth]]
        elif depth + 1 == total:
            if warm > 0 or hot[here]:
                return True
        # Prefixes that nobody holds are left at once; to look for them is worth it for four labels and more.
        elif total <= 3 or depth == 0 or _keep_prefix(sets, label_set, room, labels, depth) > 0:
            warm += hot[here]
            depth += 1
            labels[depth] = here
    return False


@njit
def _find_slots(
    size: Ints,
    relation_set: Table,
    changed: Table,
    since: int,
    labels: Ints,
    total: int,
    whole: bool,
    slots: Table,
    is_changed: Flags,
) -> int:
    """Fill the slots with the relations that some records hold between the labels, and say which have changed.

    How many these are is returned, or 0 where none of them matters.
    """
    filled = 0
    for i in range(total):
        for j in range(total):
            if i == j:
                continue
            number = relation_set[labels[i], labels[j]]
            if number < 0 or size[number] == 0:
                continue
            slots[0, filled], slots[1, filled] = i, j
            is_changed[filled] = changed[labels[i], labels[j]] >= since
            whole = whole or is_changed[filled]
            filled += 1
    return filled if whole else 0


@njit
def _begin(taken: Longs, number: int) -> None:
    """Stand before the first choice."""
    for i in range(number):
        taken[i] = i
    taken[number - 1] -= 1


@njit
def _is_after(upper: Ints, lower: Ints, before_upper: Ints, before_lower: Ints, number: int) -> bool:
    """Return whether relations come after others, by their places."""
    for i in range(number):
        if upper[i] != before_upper[i]:
            return bool(upper[i] > before_upper[i])
        if lower[i] != before_lower[i]:
            return bool(lower[i] > before_lower[i])
    return False


@njit
def _next_relations(
    slots: Table, is_changed: Flags, taken: Longs, filled: int, whole: bool, number: int, upper: Ints, lower: Ints
) -> bool:
    """Move on to the next `number` of the relations in the slots, in ascending order; False at the end.

    `taken` are the slots in hand. `whole`: all sets of relations matter, else only those with a changed one.
    """
    while True:
        at = number - 1
        while at >= 0 and taken[at] == filled - number + at:
            at -= 1
        if at < 0:
            return False
        taken[at] += 1
        for i in range(at + 1, number):
            taken[i] = taken[i - 1] + 1
        needed = whole
        for i in range(number):
            upper[i], lower[i] = slots[0, taken[i]], slots[1, taken[i]]
            needed = needed or is_changed[taken[i]]
        if needed:
            return True


@njit
def next_broken(
    sets: SetArrays,
    room: int,
    published: Published,
    places: Places,
    asked: Asked,
    since: int,
    fresh: Flags,
    state: Ints,
    upper: Ints,
    lower: Ints,
) -> int:
    """Return the number of relations of the next combination that fails StructureCheck; 0 if there is none any more.

    Combinations come in the order of lines 2 to 4 of the paper's Algorithm 3: by the number of labels, labels
    ascending, by the number of relations, relations by their places. `state` says where to go on, and then holds what
    was found: the number of labels, then the labels; `upper` and `lower` the relations, as places in these labels.
    Skipped are combinations that cannot fail: those with no fresh label, and without a relation that changed at `since`
    or later.
    """
    k, m, n, joint = asked
    kind, at, size, rows, lists = sets
    label_set, relation_set, changed = published
    hot = _hot_labels(changed, since, fresh)
    last_hot = len(hot) - 1
    while last_hot >= 0 and not hot[last_hot]:
        last_hot -= 1
    labels, chosen = np.empty(m, np.int32), np.empty(m + n + 64, np.int32)
    slots, is_changed, taken = np.empty((2, m * m), np.int32), np.zeros(m * m, np.bool_), np.empty(n + 1, np.int64)
    # Where the last call stopped: its labels are taken again, and relations up to its own are passed over.
    before_upper, before_lower = upper.copy(), lower.copy()
    passed = int(state[m + 1]) if state[0] > 0 else 0
    for total in range(max(state[0], 2), m + 1 if last_hot >= 0 else 0):
        labels[0] = -1
        depth = 0
        is_ready = passed > 0
        if is_ready:
            labels[:total] = state[1 : 1 + total]
            for i in range(1, total - 1 if total > 3 else 1):
                _keep_prefix(sets, label_set, room, labels, i)
        while is_ready or _next_labels(sets, label_set, room, hot, last_hot, labels, total, depth):
            is_ready = False
            depth = total - 1
            # With a fresh label all sets of relations matter.
            whole = False
            for i in range(total):
                whole = whole or fresh[labels[i]]
            filled = _find_slots(size, relation_set, changed, since, labels, total, whole, slots, is_changed)
            for number in range(max(passed, 1), min(n, filled) + 1):
                _begin(taken, number)
                while _next_relations(slots, is_changed, taken, filled, whole, number, upper, lower):
                    if number == passed and not _is_after(upper, lower, before_upper, before_lower, number):
                        continue
                    support, used = _held_by(
                        kind, at, size, rows, lists, label_set, relation_set, labels, total, upper, lower, number, k,
                        chosen,
                    )  # fmt: skip
                    if joint and number > 1 and support >= k:
                        support = joint_support(sets, chosen, used, places, labels, total, upper, lower, number, k)
                    if 0 < support < k:
                        state[0] = total
                        state[1 : 1 + total] = labels[:total]
                        state[m + 1] = number
                        return number
            passed = 0
    return 0

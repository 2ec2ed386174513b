"""The trees of single records as they are published, and whether the same nodes of one witness several relations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints, Longs
from treeanon.kernels.jit import njit

Table = npt.NDArray[np.int32]
Trees = tuple[Longs, Ints, Ints, npt.NDArray[np.bool_]]
"""offsets, parent, label, and whether a label is of a class that a combination may speak of."""

MOST = 8
"""The most labels of a combination."""


@njit
def _publish(
    trees: Trees,
    slot: Ints,
    renamed: int,
    name: int,
    record: int,
    base: int,
    own: Ints,
    up: Ints,
    first: Ints,
    table: Ints,
) -> None:
    """Merge the nodes of one record as they are published; slot `renamed` counts as slot `name` (-1: not published).

    Nodes with the same labels from the root on are one: own[base + i] is the slot of node i if it is the first of them,
    else -1; up[base + i] is the node above, and first[base + i] the node that i is merged into. Nodes of other classes
    keep their place. `table` finds equal siblings; its length is a power of two.
    """
    offsets, parent, label, known = trees
    start = offsets[record]
    size = offsets[record + 1] - start
    room = 2
    while room < 2 * size:
        room *= 2
    table[:room] = -1
    for i in range(size):
        above = np.int64(parent[start + i])
        if above >= 0:
            above = np.int64(first[base + above] if first[base + above] >= 0 else up[base + above])
        up[base + i] = above
        first[base + i] = own[base + i] = -1
        x = label[start + i]
        named = -2 - np.int64(x)
        if known[x]:
            named = np.int64(name if slot[x] == renamed else slot[x])
            if named < 0:
                continue
        place = (above * 31 + named * 17) & (room - 1)
        while True:
            other = table[place]
            if other < 0:
                table[place] = i
                first[base + i] = i
                own[base + i] = named
                break
            if up[base + other] == above and own[base + other] == named:
                first[base + i] = other
                break
            place = (place + 1) & (room - 1)


@njit
def _is_above(up: Ints, base: int, a: int, b: int) -> bool:
    """Return whether one of two nodes lies above the other."""
    low, high = min(a, b), max(a, b)
    while high > low:
        high = up[base + high]
    return low == high


@njit
def _is_clear(base: int, size: int, own: Ints, up: Ints, node: int, slot: int) -> bool:
    """Return whether no node of a slot stands below a node."""
    for i in range(node + 1, size):
        if own[base + i] == slot and _is_above(up, base, node, i):
            return False
    return True


@njit
def _embeds(
    base: int, size: int, own: Ints, up: Ints, chosen: Ints, ends: Ints, relations: int, denied: int, used: int
) -> bool:
    """Return whether a record has one node for each chosen slot in `used` (bits) so that all relations hold between
    them.

    Relation i is between chosen[ends[3 * i]] and chosen[ends[3 * i + 1]], the first of which comes first. From relation
    `denied` on they are denied: no node of the second is below that of the first.
    """
    # Backtracking: the slots in turn get the next node that fits those chosen before.
    turn = np.empty(MOST, np.int64)
    node = np.empty(MOST, np.int64)
    turns = 0
    for a in range(MOST):
        if (used >> a) & 1:
            turn[turns] = a
            turns += 1
    depth = 0
    node[turn[0]] = -1
    while depth >= 0:
        a = turn[depth]
        i = node[a] + 1
        while i < size:
            if own[base + i] == chosen[a]:
                fits = True
                for j in range(relations):
                    if j >= denied:
                        fits = ends[3 * j] != a or _is_clear(base, size, own, up, i, chosen[ends[3 * j + 1]])
                    elif ends[3 * j + 1] == a:
                        fits = _is_above(up, base, node[ends[3 * j]], i)
                    if not fits:
                        break
                if fits:
                    break
            i += 1
        if i == size:
            depth -= 1
            continue
        node[a] = i
        depth += 1
        if depth == turns:
            return True
        node[turn[depth]] = -1
    return False


@njit
def jointly_held(
    group: Ints,
    length: int,
    enough: int,
    trees: Trees,
    slot: Ints,
    own: Ints,
    up: Ints,
    first: Ints,
    table: Ints,
    done: npt.NDArray[np.bool_],
    chosen: Ints,
    ends: Ints,
    relations: int,
    denied: int,
    used: int,
    out: Ints,
) -> int:
    """Lists those of a group in whom the same nodes witness all relations; it stops at `enough`."""
    offsets = trees[0]
    count = 0
    for i in range(length):
        r = group[i]
        if not done[r]:
            done[r] = True
            _publish(trees, slot, -2, -2, r, offsets[r], own, up, first, table)
        if _embeds(offsets[r], offsets[r + 1] - offsets[r], own, up, chosen, ends, relations, denied, used):
            out[count] = r
            count += 1
            if count == enough:
                break
    return count


@njit
def jointly_held_in_objects(
    group: Ints,
    length: int,
    enough: int,
    trees: Trees,
    slot: Ints,
    home: Table,
    chosen: Ints,
    ends: Ints,
    relations: int,
    out: Ints,
) -> int:
    """List those of a group in whom, for each type, one object holds all that its relations speak of."""
    offsets, parent, label = trees[0], trees[1], trees[2]
    tops, masks = np.empty(relations, np.int32), np.zeros(relations, np.int32)
    many = labels = 0
    for j in range(relations):
        a, b = ends[3 * j], ends[3 * j + 1]
        labels = max(labels, a + 1, b + 1)
        top = home[chosen[a], ends[3 * j + 2] >> 1]
        at = 0
        while at < many and tops[at] != top:
            at += 1
        if at == many:
            tops[at] = top
            many += 1
        masks[at] |= (1 << a) | (1 << b)
    biggest = 0
    for i in range(length):
        biggest = max(biggest, offsets[group[i] + 1] - offsets[group[i]])
    held = np.empty(biggest, np.int32)
    count = 0
    for i in range(length):
        base = offsets[group[i]]
        size = offsets[group[i] + 1] - base
        held[:size] = 0
        # What an object holds lies after it.
        for node in range(size - 1, -1, -1):
            own = slot[label[base + node]]
            for c in range(labels):
                if own >= 0 and chosen[c] == own:
                    held[node] |= 1 << c
            if parent[base + node] >= 0:
                held[parent[base + node]] |= held[node]
        found = True
        for at in range(many):
            some = False
            for node in range(size):
                some |= label[base + node] == tops[at] and held[node] & masks[at] == masks[at]
            found &= some
        if found:
            out[count] = group[i]
            count += 1
            if count == enough:
                break
    return count


@njit
def room_for_names(offsets: Longs) -> int:
    """Return the length of a table in which the names of any record's nodes are found: a power of two."""
    biggest, room = 1, 2
    for r in range(len(offsets) - 1):
        biggest = max(biggest, offsets[r + 1] - offsets[r])
    while room < 2 * biggest:
        room *= 2
    return room


@njit
def parted_by(
    records: Ints, part: int, rest: int, slots: int, every: bool, trees: Trees, slot: Ints
) -> npt.NDArray[np.int64]:
    """Return relations y ⇝ c and y ⇝ d that had the same node y in a record until slot `part` was told from `rest`.

    They are (y * slots + c) * slots + d, with c < d, some of them more than once. `every`: also those of nodes y that
    were parted, even if the two still meet elsewhere in the record.
    """
    offsets = trees[0]
    biggest = 0
    for r in records:
        biggest = max(biggest, offsets[r + 1] - offsets[r])
    # Both states of one record at a time: its own small forest.
    own, up, first = np.empty(biggest, np.int32), np.empty(biggest, np.int32), np.empty(biggest, np.int32)
    own_then, up_then, first_then = (
        np.empty(biggest, np.int32),
        np.empty(biggest, np.int32),
        np.empty(biggest, np.int32),
    )
    table = np.empty(room_for_names(offsets), np.int32)
    count_of = np.zeros(slots, np.int32)
    below = np.empty(biggest, np.int32)
    out = np.empty(1024, np.int64)
    filled = 0
    for r in records:
        size = offsets[r + 1] - offsets[r]
        _publish(trees, slot, -2, -2, r, 0, own, up, first, table)
        _publish(trees, slot, part, rest, r, 0, own_then, up_then, first_then, table)
        for i in range(size):
            if own[i] >= 0:
                count_of[own[i]] += 1
            if own_then[i] >= 0:
                count_of[own_then[i]] -= 1
        for i in range(size):
            y = own_then[i]
            if y < 0 or y == part or y == rest or count_of[y] == 0:
                continue
            # What lay below the node when it was one, as it is published now.
            count = 0
            for j in range(i + 1, size):
                if own[j] >= 0 and first_then[j] > i and _is_above(up_then, 0, i, first_then[j]):
                    below[count] = j
                    count += 1
            for one in range(count):
                for two in range(one):
                    c, d = own[below[one]], own[below[two]]
                    if c == d or c == part or d == part or c == rest or d == rest:
                        continue
                    if not every and _meet(own, up, size, y, c, d):
                        continue
                    if filled == len(out):
                        larger = np.empty(2 * filled, np.int64)
                        larger[:filled] = out
                        out = larger
                    out[filled] = (np.int64(y) * slots + min(c, d)) * slots + max(c, d)
                    filled += 1
        for i in range(size):
            if own[i] >= 0:
                count_of[own[i]] = 0
            if own_then[i] >= 0:
                count_of[own_then[i]] = 0
    return out[:filled]


@njit
def _meet(own: Ints, up: Ints, size: int, y: int, c: int, d: int) -> bool:
    """Return whether a record has a node y with c and d below it."""
    for i in range(size):
        if own[i] != c:
            continue
        above = up[i]
        while above >= 0 and own[above] != y:
            above = up[above]
        if above < 0:
            continue
        for j in range(above + 1, size):
            if own[j] == d and _is_above(up, 0, above, j):
                return True
    return False

"""Every group of persons that an attacker can form: joint witnesses, diversity, and what patterns fail.

The walk is that of kernels/verify.py; here every relation set is looked at on its own, which takes longer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.verify.counting import (
    NOBODY,
    Mask,
    Stack,
    bits_of,
    extend,
    kinds_of,
    next_choice,
    room,
    some_whole,
    table_size,
)
from treeanon.kernels.verify.joint import joint_holder, witnesses
from treeanon.kernels.verify.knowledge import rows_of_first

Table = npt.NDArray[np.int64]

KEYS = 3
"""Columns of a failure table that say what fails; the count and the least number of persons follow."""


@njit
def _find(table: Table, a: Mask, b: Mask, c: Mask) -> int:
    """The line of a key, or the empty line where it belongs."""
    odd = np.uint64(0xBF58476D1CE4E5B9)
    state = ((np.uint64(a) * odd) ^ np.uint64(b)) * odd ^ np.uint64(c)
    state = (state ^ (state >> np.uint64(31))) * odd
    at: Mask = np.int64(state >> np.uint64(33)) & (len(table) - 1)
    while table[at, 3] != 0 and (table[at, 0] != a or table[at, 1] != b or table[at, 2] != c):
        at = (at + 1) & (len(table) - 1)
    return int(at)


@njit
def _told(
    table: Table, used: int, names: Ints, depth: int, group: Ints, wanted: Mask, kind: int, persons: int
) -> tuple[Table, int]:
    """The failure table with one more combination, and its number of lines; it grows when half full."""
    if 2 * used >= len(table):
        grown = np.zeros((2 * len(table), 5), np.int64)
        for i in range(len(table)):
            if table[i, 3] != 0:
                at = _find(grown, table[i, 0], table[i, 1], table[i, 2])
                for j in range(5):
                    grown[at, j] = table[i, j]
        table = grown
    a = np.int64(0)
    b = np.int64(0)
    for i in range(depth):
        if i < 4:
            a |= np.int64(group[names[i]]) << (16 * i)
        else:
            b |= np.int64(group[names[i]]) << (16 * (i - 4))
    c = np.int64(wanted) | np.int64(depth) << 28 | np.int64(kind) << 32
    at = _find(table, a, b, c)
    if table[at, 3] == 0:
        used += 1
        table[at, 0], table[at, 1], table[at, 2], table[at, 4] = a, b, c, persons
    table[at, 3] += 1
    table[at, 4] = min(table[at, 4], persons)
    return table, used


@njit
def _least_l(
    stack: Stack,
    lo: int,
    hi: int,
    wanted: Mask,
    joint: bool,
    masks: Longs,
    ends: Longs,
    own: Ints,
    weight: Ints,
    held_start: Longs,
    held: Ints,
    held_class: Ints,
    counts: Longs,
    touched: Ints,
    frequency: bool,
    persons: int,
    out: Longs,
) -> None:
    """Fills `out` with the largest l that holds of a group, per sensitive class; -1 where it holds no value of it."""
    used = 0
    for e in range(lo, hi):
        if stack[e, 3] & wanted != wanted or (joint and not joint_holder(e - lo, wanted, masks, ends)):
            continue
        row = own[stack[e, 0]]
        for i in range(held_start[row], held_start[row + 1]):
            if counts[held[i]] == 0:
                touched[used] = held[i]
                used += 1
            counts[held[i]] += weight[row]
    out[:] = 0
    for i in range(used):
        value = touched[i]
        if frequency:
            out[held_class[value]] = max(out[held_class[value]], counts[value])
        else:
            out[held_class[value]] += 1
        counts[value] = 0
    for c in range(len(out)):
        if out[c] == 0:
            out[c] = -1
        elif frequency:
            out[c] = persons // out[c]


@njit
def group_failures(
    start: Longs,
    item: Ints,
    known: Ints,
    rel_start: Longs,
    rel: Longs,
    weight: Ints,
    begin: Longs,
    holder: Ints,
    place: Ints,
    several: Flags,
    record: Longs,
    node_begin: Longs,
    nodes: Ints,
    held_start: Longs,
    held: Ints,
    held_class: Ints,
    offsets: Longs,
    parent: Ints,
    group: Ints,
    firsts: Ints,
    m: int,
    n: int,
    k: int,
    joint: bool,
    l: int,  # noqa: E741
    frequency: bool,
    every: bool,
    diverse: Longs,
) -> tuple[int, Table]:
    """The least number of persons behind a combination, and all that fails by pattern.

    `every` looks at all sets of up to m labels and n relations, where the largest ones do not decide or do not tell.
    `diverse` gets the least l per sensitive class. (One function: it has the state of a walk.)
    """
    items = len(begin) - 1
    longest: Mask = np.int64(0)
    for c in firsts:
        longest = max(longest, begin[c + 1] - begin[c])
    most_nodes = 1
    for i in range(len(node_begin) - 1):
        most_nodes = max(most_nodes, node_begin[i + 1] - node_begin[i])
    stack = np.empty((4 * longest + 64, 4), np.int32)
    slots = np.zeros(table_size(longest, m), np.int32)
    kind, persons, slot = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    where, chosen = np.empty(64, np.int64), np.empty(64, np.int64)
    count, places = np.zeros(items, np.int64), np.empty(8, np.int64)
    kid_item, kid_start = np.empty((m, items), np.int32), np.empty((m, items + 1), np.int64)
    kids, at = np.zeros(m + 1, np.int64), np.zeros(m + 1, np.int64)
    names = np.zeros(8, np.int32)
    plain, mixed = np.empty(longest, np.int64), np.empty(longest, np.int64)
    choices = np.empty((8, most_nodes), np.int32)
    masks, ends = np.empty(longest + 64, np.int64), np.empty(longest, np.int64)
    counts, touched = np.zeros(len(held_class), np.int64), np.empty(len(held_class), np.int32)
    of_group, weakest = np.empty(len(diverse), np.int64), np.empty(len(diverse), np.int64)
    table: Table = np.zeros((64, 5), np.int64)
    used: Mask = np.int64(0)
    nothing: Mask = np.int64(0)
    best = NOBODY
    for first in firsts:
        own = holder[begin[first] : begin[first + 1]]
        own_place = place[begin[first] : begin[first + 1]]
        first_node = start[own] + own_place
        its_start, its_item, its_rel, width, its_weight, whole = rows_of_first(
            start, item, known, rel_start, rel, weight, own, own_place
        )
        hi = len(own)
        for e in range(hi):
            stack[e, 0], stack[e, 1], stack[e, 2], stack[e, 3] = e, 0, -1, 0
        lo: Mask = np.int64(0)
        depth: Mask = np.int64(1)
        names[0] = first
        while depth > 0:
            if every or depth == m or some_whole(stack, lo, hi, whole, depth):
                found = kinds_of(stack, lo, hi, its_weight, slots, kind, persons, slot)
                for j in range(found):
                    plain[j] = persons[j]
                mixed_up = 0
                if joint and depth > 2:
                    masks, mixed_up = witnesses(
                        stack,
                        lo,
                        hi,
                        depth,
                        own,
                        first_node,
                        several,
                        record,
                        offsets,
                        parent,
                        node_begin,
                        nodes,
                        choices,
                        masks,
                        ends,
                        mixed,
                    )
                for i in range(mixed_up):
                    e = lo + mixed[i]
                    j = 0
                    while kind[j] != stack[e, 3]:
                        j += 1
                    plain[j] -= its_weight[stack[e, 0]]
                for j in range(found):
                    # Nothing that all of a kind hold, jointly if they do, can be rarer than they are.
                    if l == 1 and plain[j] >= max(k, best):
                        continue
                    bits = bits_of(kind[j], where)
                    size = 0 if every or mixed_up > 0 else min(n, bits)
                    while size <= min(n, bits):
                        for i in range(size):
                            chosen[i] = i
                        going = True
                        while going:
                            wanted = np.int64(0)
                            for i in range(size):
                                wanted |= np.int64(1) << where[chosen[i]]
                            going = next_choice(chosen, size, bits)
                            total = 0
                            together = 0
                            seen = False
                            for i in range(found):
                                if kind[i] & wanted == wanted:
                                    if i < j:
                                        seen = True
                                        break
                                    total += persons[i]
                                    together += plain[i]
                            if seen:
                                continue
                            for i in range(mixed_up):
                                if joint_holder(mixed[i], wanted, masks, ends):
                                    together += its_weight[stack[lo + mixed[i], 0]]
                            least = together if together > 0 else total
                            best = min(best, least)
                            if least < k:
                                table, used = _told(table, used, names, depth, group, wanted, nothing, least)
                            if l == 1:
                                continue
                            weakest[:] = 0
                            for again in range(2 if 0 < together < total else 1):
                                size_of = together if again else total
                                _least_l(
                                    stack,
                                    lo,
                                    hi,
                                    wanted,
                                    again == 1,
                                    masks,
                                    ends,
                                    own,
                                    weight,
                                    held_start,
                                    held,
                                    held_class,
                                    counts,
                                    touched,
                                    frequency,
                                    size_of,
                                    of_group,
                                )
                                for c in range(len(of_group)):
                                    if of_group[c] >= 0:
                                        diverse[c] = min(diverse[c], of_group[c])
                                        if of_group[c] < l:
                                            weakest[c] = size_of
                            for c in range(len(weakest)):
                                if weakest[c] > 0:
                                    table, used = _told(table, used, names, depth, group, wanted, 1 + c, weakest[c])
                        size += 1
            if depth < m:
                top = hi if depth == 1 else kid_start[depth - 1, kids[depth - 1]]
                stack = room(stack, lo, hi, top, its_start)
                begun, starts = kid_item[depth], kid_start[depth]
                kids[depth] = extend(
                    stack, lo, hi, top, depth, its_start, its_item, its_rel, width, count, begun, starts, places
                )
                at[depth] = -1
                depth += 1
            # On to the next sibling, or up.
            while depth > 1:
                at[depth - 1] += 1
                if at[depth - 1] < kids[depth - 1]:
                    lo = kid_start[depth - 1, at[depth - 1]]
                    hi = kid_start[depth - 1, at[depth - 1] + 1]
                    names[depth - 1] = kid_item[depth - 1, at[depth - 1]]
                    break
                depth -= 1
            if depth == 1:
                break
    return best, table

"""Every group of persons that an attacker can form: joint witnesses, diversity, and what patterns fail.

The walk is that of counting.py; here every relation set is looked at on its own, which takes longer. Of a set's
relations `wanted` has a bit each, and `state` says of each of these bits whether the relation is known to be there or
not to be.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.verify.counting import (
    DENIED,
    KEYS,
    NOBODY,
    Mask,
    Stack,
    bits_of,
    deniable_pairs,
    extend,
    kinds_of,
    next_choice,
    noted,
    room,
    some_whole,
    table_size,
)
from treeanon.kernels.verify.joint import joint_holder, witnesses
from treeanon.kernels.verify.knowledge import rows_of_first

Table = npt.NDArray[np.int64]


@njit
def _is_in(stack: Stack, e: int, lo: int, wanted: Mask, state: Mask, joint: bool, masks: Longs, ends: Longs) -> bool:
    """Whether the row of an entry is in the group of a combination."""
    if joint:
        return bool(joint_holder(e - lo, (wanted & state) | (wanted & ~state) << DENIED, masks, ends))
    return bool((stack[e, 3] ^ state) & wanted == 0)


@njit
def _left_without(
    stack: Stack,
    lo: int,
    hi: int,
    wanted: Mask,
    state: Mask,
    joint: bool,
    masks: Longs,
    ends: Longs,
    own: Ints,
    held_start: Longs,
    held: Ints,
    value: int,
    class_of: Ints,
    seen: npt.NDArray[np.bool_],
    others: Ints,
) -> int:
    """How many values of a sensitive class are left in a group when all that hold one of them are taken away."""
    left = 0
    for e in range(lo, hi):
        if not _is_in(stack, e, lo, wanted, state, joint, masks, ends):
            continue
        row = own[stack[e, 0]]
        holds = False
        for i in range(held_start[row], held_start[row + 1]):
            holds |= held[i] == value
        if holds:
            continue
        for i in range(held_start[row], held_start[row + 1]):
            other = held[i]
            if class_of[other] == class_of[value] and not seen[other]:
                seen[other] = True
                others[left] = other
                left += 1
    for i in range(left):
        seen[others[i]] = False
    return left


@njit
def _least_l(
    stack: Stack,
    lo: int,
    hi: int,
    wanted: Mask,
    state: Mask,
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
        if not _is_in(stack, e, lo, wanted, state, joint, masks, ends):
            continue
        row = own[stack[e, 0]]
        for i in range(held_start[row], held_start[row + 1]):
            if counts[held[i]] == 0:
                touched[used] = held[i]
                used += 1
            counts[held[i]] += weight[row]
    out[:] = -1
    seen = np.zeros(0 if frequency else len(held_class), np.bool_)
    others = np.empty(len(seen), np.int32)
    for i in range(used):
        value = touched[i]
        largest = persons // counts[value]
        if not frequency:
            largest = _left_without(
                stack, lo, hi, wanted, state, joint, masks, ends, own, held_start, held, value, held_class, seen, others
            )
        before = out[held_class[value]]
        out[held_class[value]] = largest if before < 0 else min(before, largest)
    for i in range(used):
        counts[touched[i]] = 0


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
    side: Ints,
    deniable: Flags,
    firsts: Ints,
    m: int,
    n: int,
    k: int,
    joint: bool,
    l: int,  # noqa: E741
    frequency: bool,
    every: bool,
    diverse: Longs,
    label: Ints,
    types: int,
    kinds: int,
) -> tuple[int, Table]:
    """The least number of persons behind a combination, and all that fails by pattern.

    `every` looks at all sets of up to m labels and n relations, where the largest ones do not decide or do not tell.
    Relations that a person lacks count too, where `deniable` says so (see counting.py). `diverse` gets the least l per
    sensitive class. (One function: it has the state of a walk.)
    """
    items = len(begin) - 1
    longest: Mask = np.int64(0)
    for c in firsts:
        longest = max(longest, begin[c + 1] - begin[c])
    most_nodes = 1
    for i in range(len(node_begin) - 1):
        most_nodes = max(most_nodes, node_begin[i + 1] - node_begin[i])
    stack = np.empty((4 * longest + 64, 4), np.int32)
    slots = np.zeros(table_size(longest, kinds * (m * (m - 1) // 2)), np.int32)
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
    table: Table = np.zeros((64, KEYS + 2), np.int64)
    used: Mask = np.int64(0)
    nothing: Mask = np.int64(0)
    best = NOBODY
    for first in firsts:
        own = holder[begin[first] : begin[first + 1]]
        own_place = place[begin[first] : begin[first + 1]]
        first_node = start[own] + own_place
        its_start, its_item, its_rel, width, its_weight, whole = rows_of_first(
            start, item, known, rel_start, rel, weight, own, own_place, kinds
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
                down = deniable_pairs(names, depth, side, deniable, False, kinds)
                up = deniable_pairs(names, depth, side, deniable, True, kinds)
                free = down | up
                mixed_up = 0
                if joint and (depth > 2 or free):
                    masks, mixed_up = witnesses(
                        stack,
                        lo,
                        hi,
                        depth,
                        down,
                        up,
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
                        label,
                        types,
                        kinds,
                    )
                for i in range(mixed_up):
                    e = lo + mixed[i]
                    j = 0
                    while kind[j] != stack[e, 3]:
                        j += 1
                    plain[j] -= its_weight[stack[e, 0]]
                # The combinations of a kind, and those that only one embedding of a row witnesses: there something is
                # missing below one node that is below another of the same label.
                turns = found
                if free and mixed_up:
                    turns += ends[mixed[mixed_up - 1]]
                for turn in range(turns):
                    if turn < found:
                        facts = kind[turn] | (free & ~kind[turn]) << DENIED
                        # Nothing that all of a kind hold, jointly if they do, can be rarer than they are.
                        if l == 1 and plain[turn] >= max(k, best):
                            continue
                    else:
                        facts = masks[turn - found]
                    state = facts & ((np.int64(1) << DENIED) - 1)
                    bits = bits_of(state | facts >> DENIED, where)
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
                                if (kind[i] ^ state) & wanted == 0:
                                    if i < turn:
                                        seen = True
                                        break
                                    total += persons[i]
                                    together += plain[i]
                            for i in range(turn - found):
                                asked = (wanted & state) | (wanted & ~state) << DENIED
                                seen |= masks[i] & asked == asked
                            if seen:
                                continue
                            for i in range(mixed_up):
                                asked = (wanted & state) | (wanted & ~state) << DENIED
                                if joint_holder(mixed[i], asked, masks, ends):
                                    together += its_weight[stack[lo + mixed[i], 0]]
                            least = min(together, total) if together > 0 and total > 0 else max(together, total)
                            best = min(best, least)
                            if least < k:
                                denied = wanted & ~state
                                table, used = noted(
                                    table, used, names, depth, group, wanted & state, denied, nothing, least
                                )
                            if l == 1:
                                continue
                            weakest[:] = 0
                            for again in range(2):
                                size_of = together if again else total
                                if size_of == 0 or (again and (mixed_up == 0 or (together == total and not free))):
                                    continue
                                _least_l(
                                    stack,
                                    lo,
                                    hi,
                                    wanted,
                                    state,
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
                                    table, used = noted(
                                        table,
                                        used,
                                        names,
                                        depth,
                                        group,
                                        wanted & state,
                                        wanted & ~state,
                                        1 + c,
                                        weakest[c],
                                    )
                        size += 1
            if depth < m:
                top = hi if depth == 1 else kid_start[depth - 1, kids[depth - 1]]
                stack = room(stack, lo, hi, top, its_start)
                begun, starts = kid_item[depth], kid_start[depth]
                kids[depth] = extend(
                    stack, lo, hi, top, depth, its_start, its_item, its_rel, width, count, begun, starts, places, kinds
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

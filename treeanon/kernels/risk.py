"""Decides for single persons by how few labels and relations they can be singled out, against all other persons.

The rows are those of verify_rows.py, without absences. Of the labels that a person holds every set of up to `m` is
looked at, by the walk of verify.py, and every set of the relations between them that the person has. A set of
relations is a mask with a bit for every pair i < j of the set's labels and every kind d, at
kinds * j(j-1)/2 + d * j + i.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.risk_patterns import counted
from treeanon.kernels.verify.counting import Mask, Stack, count_last, extend, room

Rows = tuple[Longs, Ints, Ints, Longs, Longs, Ints]
"""start, item, known, rel_start, rel, weight: see verify_rows.py."""

Holders = tuple[Longs, Ints]
"""begin, holder: the rows that hold an item are holder[begin[item]:begin[item + 1]]."""

MOST = 4
"""The most labels of a set: six pairs, so that sets of relations are few."""

MOST_BITS = 12
"""The most bits of a mask."""

NEVER = 127
"""The level of somebody whom nothing singles out."""

Notes = tuple[Ints, Ints, Longs, Flags, Ints, Longs]
"""level, single, smaller, rare, minimal, persons: what was found out about a person, and room to find it."""


@njit
def _first_from(item: Ints, first: int, end: int, wanted: int) -> int:
    """Return where the first of ascending items is that is not below the wanted one; numba's own is dear to compile."""
    while first < end:
        middle = (first + end) >> 1
        if item[middle] < wanted:
            first = middle + 1
        else:
            end = middle
    return first


@njit
def _is_any_decided(level: Ints) -> bool:
    """Return whether somebody is singled out."""
    for found in level:
        if found < NEVER:
            return True
    return False


@njit
def sharing(
    rows: Rows, holder: Ints, row: int, first: int, last: int, slot: Ints, pairs: bool, kinds: int
) -> tuple[Longs, Ints, Longs, int, Ints]:
    """The rows that hold an item of one row, cut down to the items from there to `last` that the one row holds too.

    Of the row `last` is the first one itself, or the last of all.

    Starts, items (as places in the one row, `slot` of the item), relation words (how many an item has) and weights; the
    one row comes first. Where only `pairs` are looked at, which all have the first item in them, the other relations
    are left out: of persons with very many labels they are by far the most.
    """
    start, item, known, rel_start, rel, weight = rows
    count = len(holder)
    begin, out_weight = np.zeros(count + 1, np.int64), np.empty(count, np.int32)
    # Items ascend in every row: what comes before the first one need not be looked at.
    since, until = np.empty(count, np.int64), np.empty(count, np.int64)
    mine = item[start[row] + first]
    order = np.empty(count, np.int32)
    order[0] = row
    filled = 1
    for h in range(count):
        # Of a part of the holders the row need not be one: then it takes the place of the last.
        if holder[h] != row and filled < count:
            order[filled] = holder[h]
            filled += 1
    longest = 1
    for e in range(count):
        s = order[e]
        out_weight[e] = weight[s]
        since[e] = _first_from(item, start[s], start[s + 1], mine) - start[s]
        until[e] = start[s + 1] - start[s] if last > first else since[e] + 1
        shared = 0
        for p in range(since[e], until[e]):
            if slot[item[start[s] + p]] >= 0:
                shared += 1
        begin[e + 1] = begin[e] + shared
        longest = max(longest, shared)
    width = 1 if pairs else (longest + 63) >> 6
    out_item = np.empty(begin[-1], np.int32)
    out_rel = np.zeros(begin[-1] * kinds * width, np.int64)
    at = np.empty(longest, np.int64)
    for e in range(count):
        s = order[e]
        words = (known[s] + 63) >> 6
        found = 0
        for p in range(since[e], until[e]):
            there = slot[item[start[s] + p]]
            if there < 0:
                continue
            out_item[begin[e] + found] = there
            for d in range(kinds):
                to = ((begin[e] + found) * kinds + d) * width
                of = rel_start[s] + (p * kinds + d) * words
                for b in range(min(found, 1) if pairs else found):
                    bit = (rel[of + (at[b] >> 6)] >> (at[b] & 63)) & 1
                    out_rel[to + (b >> 6)] |= bit << (b & 63)
            at[found] = p
            found += 1
    return begin, out_item, out_rel, width, out_weight


@njit
def own_relations(rows: Rows, row: int, places: Longs, size: int, kinds: int) -> int:
    """The relations that a row has between the labels at these places of it."""
    words = (rows[2][row] + 63) >> 6
    mask = 0
    for j in range(1, size):
        for d in range(kinds):
            at = rows[3][row] + (places[j] * kinds + d) * words
            for i in range(j):
                if (rows[4][at + (places[i] >> 6)] >> (places[i] & 63)) & 1:
                    mask |= 1 << (kinds * (j * (j - 1) // 2) + d * j + i)
    return mask


@njit
def subset_number(places: Longs, size: int, without: int, labels: int) -> int:
    """The number of a set of up to three places without one of them (-1: with all), smaller sets first."""
    number = taken = 0
    for i in range(size):
        if i != without:
            taken += 1
            place = places[i]
            if taken == 1:
                number += place
            elif taken == 2:
                number += labels + place * (place - 1) // 2
            else:
                number += labels * (labels - 1) // 2 + place * (place - 1) * (place - 2) // 6
    return number


@njit
def is_minimal(rare: Flags, mask: int, places: Longs, size: int, labels: int, smaller: Longs, kinds: int) -> bool:
    """Whether no part of a set of labels with these relations is rare; `rare` tells it of masks of the same labels."""
    covered = 0
    for j in range(1, size):
        for at in range(kinds * j):
            bit = 1 << (kinds * (j * (j - 1) // 2) + at)
            if mask & bit:
                if rare[mask ^ bit]:
                    return False
                covered |= (1 << (at % j)) | (1 << j)
    if size == 1:
        return True
    for v in range(size):
        # Without a label that a relation speaks of, the relation is gone too, and was gone alone above.
        if (covered >> v) & 1:
            continue
        left = 0
        for j in range(1, size):
            for at in range(kinds * j):
                if (mask >> (kinds * (j * (j - 1) // 2) + at)) & 1:
                    i = at % j
                    a, b = i - (i > v), j - (j > v)
                    left |= 1 << (kinds * (b * (b - 1) // 2) + (at // j) * b + a)
        if (smaller[subset_number(places, size, v, labels)] >> left) & 1:
            return False
    return True


@njit
def relations_in(mask: int) -> int:
    """The number of relations in a mask."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@njit
def add_supersets(persons: Longs, own: int) -> None:
    """Turns the persons who have just the relations of a mask, a part of `own`, into those who have at least these."""
    left = own
    while left:
        bit = left & -left
        left ^= bit
        others = own ^ bit
        mask = 0
        while True:
            persons[mask] += persons[mask | bit]
            mask = (mask - others) & others
            if not mask:
                break


@njit
def judge(
    own: int, places: Longs, size: int, n: int, k: int, labels: int, notes: Notes, deepest: int, kinds: int
) -> int:
    """Notes what one set of labels tells of a person, where `persons` have all of it and just the relations of a mask.

    `level` and `single` get its size where fewer than k, and nobody else, share it with a number of relations;
    `minimal` the relations with which it is dangerous while no part of it is; their number is returned.
    """
    level, single, smaller, rare, minimal, persons = notes
    add_supersets(persons, own)
    found = 0
    known = np.int64(0)
    mask = 0
    while True:
        rare[mask] = False
        taken = relations_in(mask)
        if persons[mask] < k:
            rare[mask] = True
            if size < deepest:
                known |= np.int64(1) << np.int64(mask)
            if taken <= n:
                level[taken] = min(level[taken], size)
                if is_minimal(rare, mask, places, size, labels, smaller, kinds):
                    minimal[found] = mask
                    found += 1
        if persons[mask] < 2 and taken <= n:
            single[taken] = min(single[taken], size)
        # The next part of the relations, in ascending order.
        mask = (mask - own) & own
        if not mask:
            break
    if size < deepest:
        smaller[subset_number(places, size, -1, labels)] = known
    return found


@njit
def look_at_entries(
    rows: Rows,
    row: int,
    places: Longs,
    stack: Stack,
    lo: int,
    hi: int,
    weight: Ints,
    size: int,
    n: int,
    k: int,
    notes: Notes,
    deepest: int,
    kinds: int,
) -> int:
    """Judges the set of the entries lo to hi."""
    persons = notes[5]
    persons[:] = 0
    own = own_relations(rows, row, places, size, kinds)
    for e in range(lo, hi):
        persons[stack[e, 3] & own] += weight[stack[e, 0]]
    return judge(own, places, size, n, k, rows[2][row], notes, deepest, kinds)


@njit
def look_at_cells(
    rows: Rows, row: int, places: Longs, cells: Ints, first: int, size: int, n: int, k: int, notes: Notes, kinds: int
) -> int:
    """Judges the set whose persons are counted by relations in the cells from `first` on, and empties these."""
    persons = notes[5]
    persons[:] = 0
    own = own_relations(rows, row, places, size, kinds)
    for mask in range(1 << (kinds * (size * (size - 1) // 2))):
        persons[mask & own] += cells[first + mask]
        cells[first + mask] = 0
    return judge(own, places, size, n, k, rows[2][row], notes, size, kinds)


@njit
def sets_up_to(labels: int, most: int) -> int:
    """The number of sets of one to `most` of so many labels, `most` up to three."""
    number = labels
    if most > 1:
        number += labels * (labels - 1) // 2
    if most > 2:
        number += labels * (labels - 1) * (labels - 2) // 6
    return number


@njit
def decide_row(
    rows: Rows,
    holders: Holders,
    group: Ints,
    row: int,
    stamp: int,
    times: int,
    deepest: int,
    n: int,
    k: int,
    slot: Ints,
    level: Ints,
    single: Ints,
    table: Longs,
    used: int,
    relation_kinds: int,
    large: int,
    enough: bool,
) -> tuple[Longs, int]:
    """Decides one row; the table of patterns with those of the row, and how many there are.

    What at least `large` rows hold is first looked for in a part of them: where all sets have k persons already there,
    none is rare. With `enough` it is enough to know that some set is rare, and `level` says of what size one is: the
    rarest labels are looked at first, and the table is not filled.
    """
    begin, item = rows[0][row], rows[1]
    labels: Mask = np.int64(rows[2][row])
    # What is never looked at holds something that is known to be rare: so it is taken for rare.
    smaller = np.full(sets_up_to(labels, deepest), -1, np.int64)
    bits = relation_kinds * (deepest * (deepest - 1) // 2)
    minimal, places = np.empty(1 << bits, np.int32), np.empty(8, np.int64)
    rare, persons = np.zeros(1 << bits, np.bool_), np.zeros(1 << bits, np.int64)
    kids, at = np.zeros(MOST + 1, np.int64), np.zeros(MOST + 1, np.int64)
    kid_item, kid_start = np.empty((MOST, labels), np.int32), np.empty((MOST, labels + 1), np.int64)
    count, chain, stack = np.zeros(labels, np.int64), np.empty(8, np.int64), np.empty((64, 4), np.int32)
    kinds: Mask = np.int64(relation_kinds)
    cells, seen = np.zeros(labels << bits, np.int32), np.zeros(labels, np.bool_)
    few_level, few_single = np.empty_like(level), np.empty_like(single)
    step: Mask = np.int64(0)
    in_part = True
    while step < labels:
        # From the last label up, and so every set after all of its parts.
        first = step if enough else labels - 1 - step
        c = item[begin + first]
        holder = holders[1][holders[0][c] : holders[0][c + 1]]
        in_part = in_part and len(holder) >= large
        if in_part:
            # Rows come in the order of their hashes, which says nothing of them.
            holder = holder[: max(len(holder) >> 4, k)]
            few_level[:], few_single[:] = NEVER, NEVER
            notes = (few_level, few_single, smaller, rare, minimal, persons)
        else:
            notes = (level, single, smaller, rare, minimal, persons)
        last = labels - 1 if deepest > 1 else first
        start, names, rel, width, weight = sharing(rows, holder, row, first, last, slot, deepest < 3, kinds)
        if len(stack) < len(holder):
            stack = np.empty((2 * len(holder), 4), np.int32)
        lo: Mask = np.int64(0)
        hi: Mask = np.int64(len(holder))
        for e in range(hi):
            stack[e, 0], stack[e, 1], stack[e, 2], stack[e, 3] = e, 0, -1, 0
        depth: Mask = np.int64(1)
        places[0] = first
        while depth > 0:
            found = look_at_entries(rows, row, places, stack, lo, hi, weight, depth, n, k, notes, deepest, kinds)
            for j in range(0 if in_part or enough else found):
                table, used = counted(table, used, group, item, begin, places, depth, minimal[j], stamp, times, kinds)
            total = persons[0]
            if in_part and _is_any_decided(few_level):
                break
            # Sets with more labels are rare as well, and can do no more than single the person out alone.
            further = depth < deepest and total > 1 and (total >= k or (single[0] > depth + 1 and not enough))
            if further and depth == deepest - 1:
                final = kid_item[depth]
                many = count_last(
                    stack, lo, hi, depth, start, names, rel, width, weight, cells, bits, seen, final, chain, kinds
                )
                for i in range(many - 1, -1, -1):
                    places[depth] = final[i]
                    cell: Mask = np.int64(final[i]) << bits
                    found = look_at_cells(rows, row, places, cells, cell, depth + 1, n, k, notes, kinds)
                    for j in range(0 if in_part or enough else found):
                        table, used = counted(
                            table, used, group, item, begin, places, depth + 1, minimal[j], stamp, times, kinds
                        )
            elif further:
                top = hi if depth == 1 else kid_start[depth - 1, kids[depth - 1]]
                stack = room(stack, lo, hi, top, start)
                some, starts = kid_item[depth], kid_start[depth]
                at[depth] = kids[depth] = extend(
                    stack, lo, hi, top, depth, start, names, rel, width, count, some, starts, chain, kinds
                )
                depth += 1
            # On to the sibling before, or up; siblings ascend, as the person's own entry comes first.
            while depth > 1:
                at[depth - 1] -= 1
                j = at[depth - 1]
                if j >= 0:
                    lo, hi = kid_start[depth - 1, j], kid_start[depth - 1, j + 1]
                    places[depth - 1] = kid_item[depth - 1, j]
                    break
                depth -= 1
            if depth == 1:
                break
        if in_part and _is_any_decided(few_level):
            in_part = False
            continue
        in_part = True
        step += 1
        if enough and _is_any_decided(level):
            break
    return table, used


@njit
def decide(
    rows: Rows,
    holders: Holders,
    group: Ints,
    chosen: Ints,
    times: Ints,
    deepest: Ints,
    n: int,
    k: int,
    kinds: int,
    large: int,
    enough: bool,
) -> tuple[Ints, Ints, Longs]:
    """For the chosen rows the least number of labels that singles them out, by the number of relations from 0 to n.

    Twice: among fewer than k persons, and alone; NEVER where none does. Sets of more than deepest[i] labels are not
    looked at for row chosen[i]. The third is the table of dangerous patterns, as risk_patterns.py has it, in which the
    row counts for times[i] persons. For `large` and `enough` see decide_row.
    """
    level = np.full((len(chosen), n + 1), NEVER, np.int32)
    single = np.full((len(chosen), n + 1), NEVER, np.int32)
    table = np.zeros((256, 4), np.int64)
    used = 0
    slot = np.full(len(group), -1, np.int32)
    start, item = rows[0], rows[1]
    for i in range(len(chosen)):
        row = chosen[i]
        # Persons who are alike hide each other, whatever is known.
        if rows[5][row] >= k:
            continue
        for p in range(rows[2][row]):
            slot[item[start[row] + p]] = p
        table, used = decide_row(
            rows,
            holders,
            group,
            row,
            i + 1,
            times[i],
            deepest[i],
            n,
            k,
            slot,
            level[i],
            single[i],
            table,
            used,
            kinds,
            large,
            enough,
        )
        for p in range(rows[2][row]):
            slot[item[start[row] + p]] = -1
        for j in range(n):
            level[i, j + 1] = min(level[i, j + 1], level[i, j])
            single[i, j + 1] = min(single[i, j + 1], single[i, j])
    return level, single, table

"""Counting, over all sets of labels that persons hold, how many persons hold them and what stands above what.

A depth-first walk over sets of items in ascending order. An *entry* of the stack is one row that holds all of the
current set: (row, place of the last item, entry of the set without it, relations). Relations are a bit for every pair
i < j of the set's items and every kind d of `kinds`, at kinds·j(j-1)/2 + d·j + i; merged trees have one kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit

Stack = npt.NDArray[np.int32]
Table = npt.NDArray[np.int64]

Mask = Any
"""A whole number of 64 bits, of which each means something (compiled and not, types differ)."""

DENIED = 31
"""Above the bits of relations those of relations that are known not to be there, where both stand in one word."""

NOBODY = 2**31 - 1
"""More persons than there can be."""

KEYS = 4
"""Columns of a failure table that say what fails; the count and the least number of persons follow."""


@njit
def related(rel: Longs, number: int, kinds: int, width: int, places: Longs, depth: int) -> Mask:
    """A bit for each of the places of a row to which an item is related, one kind after another.

    The words of item `number` begin at rel[number * kinds * width], `width` of each kind.
    """
    bits = np.int64(0)
    for d in range(kinds):
        at = (number * kinds + d) * width
        if width == 1:
            word = rel[at]
            for i in range(depth):
                bits |= ((word >> places[i]) & 1) << (d * depth + i)
        else:
            for i in range(depth):
                bits |= ((rel[at + (places[i] >> 6)] >> (places[i] & 63)) & 1) << (d * depth + i)
    return bits


@njit
def room(stack: Stack, lo: int, hi: int, top: int, start: Longs) -> Stack:
    """A stack with the same entries and room for all extensions of the entries lo to hi, above `top`."""
    need = top
    for e in range(lo, hi):
        row = stack[e, 0]
        need += start[row + 1] - start[row] - stack[e, 1] - 1
    if need <= len(stack):
        return stack
    grown = np.empty((need + need // 2, 4), np.int32)
    for e in range(top):
        for i in range(4):
            grown[e, i] = stack[e, i]
    return grown


@njit
def extend(
    stack: Stack,
    lo: int,
    hi: int,
    top: int,
    depth: int,
    start: Longs,
    item: Ints,
    rel: Longs,
    width: int,
    count: Longs,
    kid_item: Ints,
    kid_start: Longs,
    places: Longs,
    kinds: int,
) -> int:
    """The number of items that extend the set of the entries lo to hi, which has `depth` items.

    It lays out their entries: those of the set with kid_item[j] come to stand at kid_start[j] to kid_start[j + 1],
    from `top` on.
    """
    kids = 0
    for e in range(lo, hi):
        row = stack[e, 0]
        for i in range(start[row] + stack[e, 1] + 1, start[row + 1]):
            c = item[i]
            if count[c] == 0:
                kid_item[kids] = c
                kids += 1
            count[c] += 1
    at = top
    for j in range(kids):
        kid_start[j] = at
        at += count[kid_item[j]]
        count[kid_item[j]] = kid_start[j]
    kid_start[kids] = at
    shift = np.int64(kinds * (depth * (depth - 1) // 2))
    for e in range(lo, hi):
        row = stack[e, 0]
        mask = stack[e, 3]
        chain = e
        for i in range(depth - 1, -1, -1):
            places[i] = stack[chain, 1]
            chain = stack[chain, 2]
        base = start[row]
        for p in range(stack[e, 1] + 1, start[row + 1] - base):
            bits = related(rel, base + p, kinds, width, places, depth)
            c = item[base + p]
            to = count[c]
            count[c] = to + 1
            stack[to, 0] = row
            stack[to, 1] = p
            stack[to, 2] = e
            stack[to, 3] = mask | (bits << shift)
    for j in range(kids):
        count[kid_item[j]] = 0
    return kids


@njit
def count_last(
    stack: Stack,
    lo: int,
    hi: int,
    depth: int,
    start: Longs,
    item: Ints,
    rel: Longs,
    width: int,
    weight: Ints,
    cells: Ints,
    bits: int,
    seen: Flags,
    kid_item: Ints,
    places: Longs,
    kinds: int,
) -> int:
    """The number of items that extend the set of the entries lo to hi, where nothing extends it further.

    It counts persons by item and relation mask of `bits` bits at once, in `cells`, instead of laying out entries.
    """
    kids = 0
    shift = np.int64(kinds * (depth * (depth - 1) // 2))
    for e in range(lo, hi):
        row = stack[e, 0]
        mask = np.int64(stack[e, 3])
        persons = weight[row]
        chain = e
        for i in range(depth - 1, -1, -1):
            places[i] = stack[chain, 1]
            chain = stack[chain, 2]
        base = start[row]
        for p in range(stack[e, 1] + 1, start[row + 1] - base):
            related_to = related(rel, base + p, kinds, width, places, depth)
            c = np.int64(item[base + p])
            if not seen[c]:
                seen[c] = True
                kid_item[kids] = c
                kids += 1
            cells[(c << bits) | mask | (related_to << shift)] += persons
    for j in range(kids):
        seen[kid_item[j]] = False
    return kids


@njit
def some_whole(stack: Stack, lo: int, hi: int, whole: Ints, depth: int) -> bool:
    """Whether the set of the entries, of `depth` items, is all that some row holds."""
    for e in range(lo, hi):
        if whole[stack[e, 0]] == depth:
            return True
    return False


@njit
def kinds_in(cells: Ints, lo: int, hi: int, kind: Longs, persons: Longs) -> int:
    """The number of cells in use from lo to hi, which are emptied; `kind` and `persons` get their place and content."""
    found = 0
    for at in range(lo, hi):
        if cells[at]:
            kind[found] = at - lo
            persons[found] = cells[at]
            found += 1
            cells[at] = 0
    return found


@njit
def kinds_of(
    stack: Stack, lo: int, hi: int, weight: Ints, table: Ints, kind: Longs, persons: Longs, slot: Longs
) -> int:
    """The number of different relation masks among the entries; `kind` and `persons` get them and who holds them."""
    found = 0
    last = len(table) - 1
    for e in range(lo, hi):
        mask = stack[e, 3]
        at = mask if mask <= last else (mask ^ (mask >> 9) ^ (mask >> 18)) & last
        while table[at] != 0 and kind[table[at] - 1] != mask:
            at = (at + 1) & last
        if table[at] == 0:
            kind[found] = mask
            persons[found] = 0
            slot[found] = at
            found += 1
            table[at] = found
        persons[table[at] - 1] += weight[stack[e, 0]]
    for j in range(found):
        table[slot[j]] = 0
    return found


@njit
def next_choice(chosen: Longs, size: int, bits: int) -> bool:
    """Goes to the next choice of `size` of `bits` things, in lexical order; False after the last one."""
    i = size - 1
    while i >= 0 and chosen[i] == bits - size + i:
        i -= 1
    if i < 0:
        return False
    chosen[i] += 1
    for j in range(i + 1, size):
        chosen[j] = chosen[j - 1] + 1
    return True


@njit
def bits_of(mask: Mask, where: Longs) -> int:
    """The number of bits set in a mask; `where` gets their numbers."""
    found = 0
    number = 0
    while mask >> number:
        if (mask >> number) & 1:
            where[found] = number
            found += 1
        number += 1
    return found


@njit
def deniable_pairs(names: Ints, depth: int, side: Ints, deniable: Flags, later: bool, kinds: int) -> Mask:
    """A bit for every pair of a set's items of which an attacker may know that one is *not* above the other.

    `side` is the class of an item, and deniable[a, b] says that of b it may be known that it is not below a. The upper
    one of such a pair is the item with the smaller number, or with `later` the other one. Where objects stay whole,
    there is a bit for each of the `kinds` of relations: that no object holds both.
    """
    bits = np.int64(0)
    if len(deniable) == 0:
        return bits
    for j in range(1, depth):
        for i in range(j):
            upper, lower = (side[names[j]], side[names[i]]) if later else (side[names[i]], side[names[j]])
            if deniable[upper, lower]:
                for kind in range(kinds):
                    bits |= np.int64(1) << np.int64(kinds * (j * (j - 1) // 2) + kind * j + i)
    return bits


@njit
def table_size(longest: int, bits: int) -> int:
    """A power of two with twice the room for the different relation masks, of so many bits, of the longest list of
    entries.
    """
    masks = min(longest, 1 << min(bits, 28))
    size = 256
    while size < 2 * masks:
        size *= 2
    return size


@njit
def _line_of(table: Table, a: Mask, b: Mask, c: Mask, d: Mask) -> int:
    """The line of a key, or the empty line where it belongs."""
    odd = np.uint64(0xBF58476D1CE4E5B9)
    state = (((np.uint64(a) * odd) ^ np.uint64(b)) * odd ^ np.uint64(c)) * odd ^ np.uint64(d)
    state = (state ^ (state >> np.uint64(31))) * odd
    at: Mask = np.int64(state >> np.uint64(33)) & (len(table) - 1)
    while table[at, 4] != 0 and (table[at, 0] != a or table[at, 1] != b or table[at, 2] != c or table[at, 3] != d):
        at = (at + 1) & (len(table) - 1)
    return int(at)


@njit
def noted(
    table: Table,
    used: int,
    names: Ints,
    depth: int,
    group: Ints,
    wanted: Mask,
    denied: Mask,
    kind: int,
    persons: int,
) -> tuple[Table, int]:
    """The failure table with one more combination, and its number of lines; it grows when half full."""
    if 2 * used >= len(table):
        grown = np.zeros((2 * len(table), KEYS + 2), np.int64)
        for i in range(len(table)):
            if table[i, 4] != 0:
                at = _line_of(grown, table[i, 0], table[i, 1], table[i, 2], table[i, 3])
                for j in range(KEYS + 2):
                    grown[at, j] = table[i, j]
        table = grown
    a = np.int64(0)
    b = np.int64(0)
    for i in range(depth):
        if i < 4:
            a |= np.int64(group[names[i]]) << (16 * i)
        else:
            b |= np.int64(group[names[i]]) << (16 * (i - 4))
    c = np.int64(wanted) | np.int64(depth) << 32 | np.int64(kind) << 36
    d = np.int64(denied)
    at = _line_of(table, a, b, c, d)
    if table[at, 4] == 0:
        used += 1
        table[at, 0], table[at, 1], table[at, 2], table[at, 3], table[at, 5] = a, b, c, d, persons
    table[at, 4] += 1
    table[at, 5] = min(table[at, 5], persons)
    return table, used

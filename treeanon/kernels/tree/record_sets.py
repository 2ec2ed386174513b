"""Sets of records, dense as bitmaps or sparse as sorted lists, and how many records several of them share.

They answer whether a combination is rare: labels and relations that some records hold together, but fewer than k.

A set is a number s: kind[s] is DENSE (row at[s] of `rows`) or SPARSE (`lists[at[s] : at[s] + size[s]]`, ascending).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints, Longs, Tinies, Words
from treeanon.kernels.jit import njit

DENSE = 0
SPARSE = 1

_BLOCK = 32


@njit
def ones(word: np.uint64) -> np.uint64:
    """Return the number of bits set in a word."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit
def has(rows: Words, row: int, record: int) -> bool:
    """Return whether a bitmap holds a record."""
    return bool((rows[row, record >> 6] >> np.uint64(record & 63)) & np.uint64(1))


@njit
def _shared_dense(rows: Words, at: Longs, chosen: Ints, count: int, enough: int) -> int:
    words = rows.shape[1]
    found = np.uint64(0)
    first, second = rows[at[chosen[0]]], rows[at[chosen[1]]]
    # In blocks: counting may stop early, and the test for it does not slow every word down.
    start = 0
    while start < words:
        stop = min(start + _BLOCK, words)
        if count == 2:
            for w in range(start, stop):
                found += ones(first[w] & second[w])
        elif count == 3:
            third = rows[at[chosen[2]]]
            for w in range(start, stop):
                found += ones(first[w] & second[w] & third[w])
        else:
            for w in range(start, stop):
                word = first[w] & second[w]
                for i in range(2, count):
                    word &= rows[at[chosen[i]], w]
                found += ones(word)
        if found >= enough:
            return enough
        start = stop
    return int(found)


@njit
def _shared_sparse(
    kind: Tinies, at: Longs, size: Ints, rows: Words, lists: Ints, chosen: Ints, count: int, base: int, enough: int
) -> int:
    place = np.zeros(count, np.int64)
    found = 0
    for i in range(at[chosen[base]], at[chosen[base]] + size[chosen[base]]):
        record = lists[i]
        every = True
        for j in range(count):
            if j == base:
                continue
            other = chosen[j]
            if kind[other] == DENSE:
                if not has(rows, at[other], record):
                    every = False
                    break
            else:
                begin, stop = at[other], size[other]
                # Lists ascend, so that the place in each only moves forward.
                while place[j] < stop and lists[begin + place[j]] < record:
                    place[j] += 1
                if place[j] == stop:
                    return found
                if lists[begin + place[j]] != record:
                    every = False
                    break
        if every:
            found += 1
            if found >= enough:
                return enough
    return found


@njit
def shared(kind: Tinies, at: Longs, size: Ints, rows: Words, lists: Ints, chosen: Ints, count: int, enough: int) -> int:
    """Return the number of records that the first `count` of the chosen sets share; at `enough` it stops counting."""
    if count == 1:
        return min(int(size[chosen[0]]), enough)
    base = -1
    for i in range(count):
        if kind[chosen[i]] == SPARSE and (base < 0 or size[chosen[i]] < size[chosen[base]]):
            base = i
    if base < 0:
        return _shared_dense(rows, at, chosen, count, enough)
    return _shared_sparse(kind, at, size, rows, lists, chosen, count, base, enough)


@njit
def distinct_records(records: Ints, marks: Words) -> Ints:
    """Return the distinct records, ascending. `marks` is work space of all zeros, and is left so."""
    # Only the words between the least and the greatest record are read and cleared.
    low, high = len(marks), -1
    distinct = 0
    for r in records:
        word, bit = r >> 6, np.uint64(1) << np.uint64(r & 63)
        if marks[word] & bit == np.uint64(0):
            marks[word] |= bit
            distinct += 1
            low, high = min(low, word), max(high, word)
    out = np.empty(distinct, np.int32)
    filled = 0
    for w in range(low, high + 1):
        word = marks[w]
        marks[w] = np.uint64(0)
        while word != np.uint64(0):
            lowest = word & (~word + np.uint64(1))
            out[filled] = (w << 6) + np.int64(ones(lowest - np.uint64(1)))
            filled += 1
            word ^= lowest
    return out


Table = npt.NDArray[np.int32]

Relations = npt.NDArray[np.int32]
"""Three axes: two labels, and the kind of their relation (merged trees have one kind)."""

MOST = 8
"""The most labels of a combination."""


@njit
def _chosen_sets(
    labels: Ints, count: int, pairs: Ints, mask: int, label_set: Ints, relation_set: Relations, out: Ints
) -> int:
    """Lists the record sets of the relations in `mask`, and of the labels that none of them speaks of."""
    # Who holds a relation holds its labels, so that these need no sets of their own.
    covered = 0
    filled = 0
    i = 0
    while mask >> i:
        if (mask >> i) & 1:
            a, b, d = pairs[3 * i], pairs[3 * i + 1], pairs[3 * i + 2]
            covered |= (1 << a) | (1 << b)
            out[filled] = relation_set[labels[a], labels[b], d]
            filled += 1
        i += 1
    for a in range(count):
        if not (covered >> a) & 1:
            out[filled] = label_set[labels[a]]
            filled += 1
    return filled


@njit
def _next_mask(mask: int) -> int:
    """Return the next larger number with as many bits set."""
    lowest = mask & -mask
    ripple = mask + lowest
    return ripple | (((mask ^ ripple) >> 2) // lowest)


@njit
def rare_mask(
    labels: Ints,
    count: int,
    related: Relations,
    label_set: Ints,
    relation_set: Relations,
    kind: Tinies,
    at: Longs,
    size: Ints,
    rows: Words,
    lists: Ints,
    n: int,
    k: int,
    pairs: Ints,
    good: Longs,
) -> int:
    """Return what the labels hold together: -1 nothing, -2 all their combinations are safe, else relations that are
    rare.

    Relations are bits of a mask, in the order that `pairs` is filled with. The largest sets of relations come first:
    if one is held by k records, so are its subsets; if none holds one, its subsets still have to be looked at.
    """
    pair_count = 0
    if n > 0:
        for a in range(count):
            for b in range(a + 1, count):
                for d in range(related.shape[2]):
                    if related[labels[a], labels[b], d] > 0:
                        pairs[3 * pair_count], pairs[3 * pair_count + 1], pairs[3 * pair_count + 2] = a, b, d
                        pair_count += 1
    chosen = np.empty(count + n + 1, np.int32)
    goods = 0
    for taken in range(min(n, pair_count), -1, -1):
        mask = (1 << taken) - 1
        last = mask << (pair_count - taken)
        all_good = True
        while True:
            # A set of relations whose superset k records hold is held by them too.
            known = False
            for i in range(goods):
                if good[i] & mask == mask:
                    known = True
                    break
            if not known:
                sets = _chosen_sets(labels, count, pairs, mask, label_set, relation_set, chosen)
                held = shared(kind, at, size, rows, lists, chosen, sets, k)
                if held >= k:
                    if goods < len(good):
                        good[goods] = mask
                        goods += 1
                elif held > 0:
                    return mask
                else:
                    all_good = False
            if mask == last:
                break
            mask = _next_mask(mask)
        if all_good:
            return -2
    return -2 if goods > 0 else -1


_NUMBER_BITS = 12
"""In so many bits the numbers of labels are packed into one; labels of a set that is remembered have no larger ones."""

_MOST_REMEMBERED = 5
"""Sets of so many labels at most are remembered: their numbers, packed, fit in 64 bits with a sign and a verdict."""


@njit
def _packed(labels: Ints, count: int, number: Ints) -> int:
    """Return the numbers of labels as one, whatever their order; -1 if one has no number, or there are too many."""
    if count > _MOST_REMEMBERED:
        return -1
    packed, before = 0, 1 << _NUMBER_BITS
    for _ in range(count):
        largest = -1
        for a in range(count):
            given = number[labels[a]]
            if given < 0:
                return -1
            if largest < given < before:
                largest = int(given)
        packed = packed << _NUMBER_BITS | largest
        before = largest
    return packed


@njit
def _place_of(packed: int, places: int) -> int:
    """Return where a verdict on a set is remembered, among so many places: a power of two."""
    mixed = np.uint64(packed) * np.uint64(0x9E3779B97F4A7C15)
    return int(mixed >> np.uint64(20)) & (places - 1)


@njit
def rare_with(
    part: int,
    others: Ints,
    shared_records: Table,
    related: Relations,
    label_set: Ints,
    relation_set: Relations,
    kind: Tinies,
    at: Longs,
    size: Ints,
    rows: Words,
    lists: Ints,
    m: int,
    n: int,
    k: int,
    most: int,
    out: Ints,
    number: Ints,
    remembered: Longs,
) -> int:
    """Look for rare combinations of 3 to m labels, `part` and some of `others`; the number found, `most` at most.

    `number` has the numbers of labels whose records never change, -1 for others; what was found safe of those, or held
    by nobody, is `remembered`, and not counted again. Threads may share it: a place holds one whole verdict or another.

    `out` gets for each the number of labels, the number of relations, the labels, and the ends and the kind of each
    relation; it stops where `out` is full. One combination of relations is given for a set of labels. Pairs of labels
    are passed over.
    """
    stack = np.empty(MOST + 1, np.int64)
    labels = np.empty(MOST, np.int32)
    pairs = np.empty(2 * MOST * MOST * related.shape[2], np.int32)
    good = np.empty(2048, np.int64)
    labels[0] = part
    depth = 1
    stack[1] = 0
    found = 0
    filled = 0
    while depth >= 1:
        i = stack[depth]
        if i >= len(others):
            depth -= 1
            if depth >= 1:
                stack[depth] += 1
            continue
        y = others[i]
        together = True
        for a in range(1, depth):
            if shared_records[labels[a], y] == 0:
                together = False
                break
        if not together:
            stack[depth] += 1
            continue
        labels[depth] = y
        count = depth + 1
        mask = -2
        if count >= 3:
            packed = _packed(labels, count, number) if len(remembered) else -1
            place = _place_of(packed, len(remembered)) if packed >= 0 else 0
            if packed >= 0 and remembered[place] >> 1 == packed:
                mask = -2 + (remembered[place] & 1)
            else:
                mask = rare_mask(
                    labels, count, related, label_set, relation_set, kind, at, size, rows, lists, n, k, pairs, good
                )
                if packed >= 0 and mask < 0:
                    remembered[place] = packed << 1 | (mask + 2)
        if mask >= 0:
            first = filled
            if first + 2 + count + 3 * n > len(out):
                return found
            out[first] = count
            filled += 2
            for a in range(count):
                out[filled] = labels[a]
                filled += 1
            i = 0
            while mask >> i:
                if (mask >> i) & 1:
                    out[filled], out[filled + 1] = labels[pairs[3 * i]], labels[pairs[3 * i + 1]]
                    out[filled + 2] = pairs[3 * i + 2]
                    filled += 3
                i += 1
            out[first + 1] = (filled - first - 2 - count) // 3
            found += 1
            if found == most:
                return found
        if mask == -2 and count < m:
            depth += 1
            stack[depth] = stack[depth - 1] + 1
        else:
            stack[depth] += 1
    return found

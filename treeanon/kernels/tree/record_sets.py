"""Sets of records, dense as bitmaps or sparse as sorted lists, and how many records several of them share.

A set is a number s: kind[s] is DENSE (row at[s] of `rows`) or SPARSE (`lists[at[s] : at[s] + size[s]]`, ascending).
"""

from __future__ import annotations

import numpy as np

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

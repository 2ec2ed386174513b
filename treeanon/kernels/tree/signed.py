"""Counted sets as what an attacker may know who also knows what a person lacks, for the rounds of an engine.

Persons who hold what P says and lack what Q says are counted by inclusion and exclusion: from those who hold P, those
who hold P and one of Q are taken away, those who hold P and two of Q are added, and so on. So every counted set is
listed beside each set P that it holds more than; what it holds more, labels M or relations E, is its surplus.

Sets are two words as in `treeanon.kernels.tree.spread`. So is a surplus: the labels M as such, and for every relation
of E the bit that it would have in P.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.tree.spread import Word

_WORD = 62


@njit
def _packed(codes: Longs, many: int, bits: int) -> tuple[Word, Word]:
    """Return two words with labels, each plus 1."""
    per_word = _WORD // bits
    first, second = np.int64(0), np.int64(0)
    for j in range(many):
        if j < per_word:
            first |= codes[j] << np.int64(j * bits)
        else:
            second |= codes[j] << np.int64((j - per_word) * bits)
    return first, second


@njit
def _moved(mask: Word, place: Longs, labels: int, kinds: int) -> Word:
    """Return relation bits of labels for those of them that have a new place (-1: none)."""
    found = np.int64(0)
    for j in range(labels):
        for i in range(j):
            for d in range(kinds):
                if (mask >> np.int64(kinds * (j * (j - 1) // 2) + d * j + i)) & 1:
                    found |= np.int64(1) << np.int64(kinds * (place[j] * (place[j] - 1) // 2) + d * place[j] + place[i])
    return found


@njit
def with_surplus(
    first: Longs,
    second: Longs,
    m: int,
    bits: int,
    kinds: int,
    negative: Flags,
    deniable: Flags,
    group: Longs,
) -> tuple[Longs, Longs]:
    """Return rows of four words (a set P, a surplus), and the number of the counted set that each is of.

    `negative` says of each label whether a person may be known to lack it; deniable[a, b] says it of relations between
    labels of these groups, `group` has that of every label. Every set is listed once as P itself, without surplus.
    """
    per_word = _WORD // bits
    shift = max(m - per_word, 0) * bits
    low = (np.int64(1) << np.int64(bits)) - 1
    rows, owner = np.empty((len(first) * 2 + 16, 4), np.int64), np.empty(len(first) * 2 + 16, np.int64)
    codes, kept, more = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64)
    place = np.empty(m, np.int64)
    filled = 0
    for s in range(len(first)):
        labels = 0
        for j in range(m):
            if j < per_word:
                code = (first[s] >> np.int64(j * bits)) & low
            else:
                code = (second[s] >> np.int64((j - per_word) * bits)) & low
            if code:
                codes[labels] = code
                labels += 1
        mask = second[s] >> np.int64(shift)
        free, tied = np.int64(0), np.int64(0)
        for j in range(labels):
            for i in range(j):
                for d in range(kinds):
                    bit = np.int64(1) << np.int64(kinds * (j * (j - 1) // 2) + d * j + i)
                    if mask & bit:
                        tied |= (np.int64(1) << np.int64(i)) | (np.int64(1) << np.int64(j))
                        if deniable[group[codes[i] - 1], group[codes[j] - 1]]:
                            free |= bit
        for chosen in range(1 << labels):
            if chosen & tied:
                continue
            allowed, many, few = True, 0, 0
            for j in range(labels):
                place[j] = many
                if (chosen >> j) & 1:
                    allowed = allowed and negative[codes[j] - 1]
                    more[few] = codes[j]
                    few += 1
                else:
                    kept[many] = codes[j]
                    many += 1
            if not allowed:
                continue
            one, two = _packed(kept, many, bits)
            three, four = _packed(more, few, bits)
            ended = free
            while True:
                if filled == len(rows):
                    grown, owners = np.empty((2 * filled, 4), np.int64), np.empty(2 * filled, np.int64)
                    grown[:filled], owners[:filled] = rows, owner
                    rows, owner = grown, owners
                rows[filled, 0] = one
                rows[filled, 1] = two | (_moved(mask & ~ended, place, labels, kinds) << np.int64(shift))
                rows[filled, 2] = three
                rows[filled, 3] = four | (_moved(ended, place, labels, kinds) << np.int64(shift))
                owner[filled] = s
                filled += 1
                if ended == 0:
                    break
                ended = (ended - 1) & free
    return rows[:filled].copy(), owner[:filled].copy()

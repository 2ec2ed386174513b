"""All sets of labels that persons hold, with relations between them, for the check of parts of a collection.

A set is two words that are the same in every part: the labels in ascending order, each plus 1 and `bits` wide, as many
in the first word as fit, and above the rest in the second word a bit for every relation, at j(j-1)/2 + i for i < j.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.verify.counting import Mask, bits_of, next_choice, related

_WORD = 62


@njit
def _with_relations(
    words: Longs, many: int, first: int, second: int, mask: int, n: int, shift: int, where: Longs, chosen: Longs
) -> tuple[Longs, int]:
    """The words of a set of labels with each choice of at most n of its relations, after those there are."""
    bits = bits_of(mask, where)
    for relations in range(min(n, bits) + 1):
        for i in range(relations):
            chosen[i] = i
        going = True
        while going:
            wanted = np.int64(0)
            for i in range(relations):
                wanted |= np.int64(1) << where[chosen[i]]
            if many == len(words):
                more = np.empty((2 * many, 2), np.int64)
                more[:many] = words
                words = more
            words[many, 0] = first
            words[many, 1] = second | (wanted << shift)
            many += 1
            going = relations > 0 and next_choice(chosen, relations, bits)
    return words, many


@njit
def words_of_row(
    start: Longs, item: Ints, rel_start: Longs, rel: Longs, r: int, m: int, n: int, bits: int, words: Longs
) -> tuple[Longs, int]:
    """The words of all sets of 1 to m items and 0 to n relations of a row, and how many there are."""
    per_word = _WORD // bits
    shift = max(m - per_word, 0) * bits
    places, begin = np.zeros(8, np.int64), np.zeros(8, np.int64)
    first, second, mask = np.zeros(9, np.int64), np.zeros(9, np.int64), np.zeros(9, np.int64)
    where, chosen = np.empty(64, np.int64), np.empty(64, np.int64)
    size = start[r + 1] - start[r]
    width = (size + 63) >> 6
    kinds: Mask = np.int64(1)
    many, depth = 0, 0
    while depth >= 0:
        p = begin[depth]
        if p >= size:
            depth -= 1
            continue
        begin[depth] = p + 1
        code = np.int64(item[start[r] + p]) + 1
        first[depth + 1], second[depth + 1] = first[depth], second[depth]
        if depth < per_word:
            first[depth + 1] |= code << (depth * bits)
        else:
            second[depth + 1] |= code << ((depth - per_word) * bits)
        found = related(rel[rel_start[r] :], p, kinds, width, places, depth)
        mask[depth + 1] = mask[depth] | (np.int64(found) << (depth * (depth - 1) // 2))
        words, many = _with_relations(
            words, many, first[depth + 1], second[depth + 1], mask[depth + 1], n, shift, where, chosen
        )
        places[depth] = p
        if depth + 1 < m:
            depth += 1
            begin[depth] = p + 1
    return words, many


@njit
def words_of_rows(
    start: Longs, item: Ints, rel_start: Longs, rel: Longs, m: int, n: int, bits: int
) -> tuple[Longs, Longs]:
    """Return the two words of every set of 1 to m items and 0 to n relations, as often as a row holds it.

    Row r owns item[start[r]:start[r + 1]], ascending, and the relation words from rel_start[r] on.
    """
    first, second = np.empty(1024, np.int64), np.empty(1024, np.int64)
    words = np.empty((64, 2), np.int64)
    filled = 0
    for r in range(len(start) - 1):
        words, many = words_of_row(start, item, rel_start, rel, r, m, n, bits, words)
        if filled + many > len(first):
            room = 2 * (filled + many)
            more_first, more_second = np.empty(room, np.int64), np.empty(room, np.int64)
            more_first[:filled], more_second[:filled] = first[:filled], second[:filled]
            first, second = more_first, more_second
        for i in range(many):
            first[filled + i], second[filled + i] = words[i, 0], words[i, 1]
        filled += many
    return first[:filled].copy(), second[:filled].copy()

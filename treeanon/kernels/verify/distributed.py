"""Counting, part of the records after part, how many persons hold two labels, and one above the other.

A node can stand for two labels at once: the one that it is published as, and a finer one that it might be.

Counting, one part of the records after another, how many persons hold every set of labels with relations between.

A set is two words that are the same in every part: the labels in ascending order, each plus 1 and `bits` wide, as many
in the first word as fit, and above the rest in the second word a bit for every relation, at j(j-1)/2 + i for i < j.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.verify.counting import bits_of, next_choice, related

Table = npt.NDArray[np.int64]
"""Rows of (first word, second word, persons); persons are 0 where a row is free. As many rows as a power of two."""


_WORD = 62


@njit
def place_of(table: Table, first: int, second: int) -> Any:
    """The row of a set, or the free one where it belongs."""
    state = np.uint64(first) * np.uint64(0x9E3779B97F4A7C15)
    state ^= state >> np.uint64(29)
    state = (state ^ np.uint64(second)) * np.uint64(0xBF58476D1CE4E5B9)
    state ^= state >> np.uint64(32)
    last = len(table) - 1
    at: Any = np.int64(state & np.uint64(last))
    while table[at, 2] != 0 and (table[at, 0] != first or table[at, 1] != second):
        at = (at + 1) & last
    return at


@njit
def roomy(table: Table, needed: int) -> Table:
    """A table of the same sets that is at most half full with so many."""
    size = len(table)
    while size < 2 * needed:
        size *= 2
    if size == len(table):
        return table
    out = np.zeros((size, 3), np.int64)
    for i in range(len(table)):
        if table[i, 2] != 0:
            at = place_of(out, table[i, 0], table[i, 1])
            out[at, 0], out[at, 1], out[at, 2] = table[i, 0], table[i, 1], table[i, 2]
    return out


@njit
def add_words(table: Table, words: Longs, many: int) -> int:
    """Counts one more holder of every set; how many sets are new."""
    new = 0
    for i in range(many):
        at = place_of(table, words[i, 0], words[i, 1])
        if table[at, 2] == 0:
            table[at, 0], table[at, 1] = words[i, 0], words[i, 1]
            new += 1
        table[at, 2] += 1
    return new


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
        found = related(rel, rel_start[r] + p * width, width, places, depth)
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
def count_sets(
    start: Longs, item: Ints, rel_start: Longs, rel: Longs, m: int, n: int, bits: int, table: Table, used: int
) -> tuple[Table, int]:
    """The table with every set of 1 to m items and 0 to n relations of these rows added, and the rows of it in use.

    Row r owns item[start[r]:start[r + 1]], ascending, and the relation words from rel_start[r] on, as verify_rows has
    them.
    """
    words = np.empty((64, 2), np.int64)
    for r in range(len(start) - 1):
        words, many = words_of_row(start, item, rel_start, rel, r, m, n, bits, words)
        table = roomy(table, used + many)
        used += add_words(table, words, many)
    return table, used


@njit
def needed(
    start: Longs,
    item: Ints,
    rel_start: Longs,
    rel: Longs,
    m: int,
    n: int,
    bits: int,
    table: Table,
    used: int,
    least: int,
) -> tuple[Flags, Table, int]:
    """Which rows are needed so that of every set the first `least` holders are there, or all if there are fewer.

    The table has the sets of needed rows that came before; it is given back with these. Rows are needed that hold a set
    that fewer than `least` before them hold; whether others are left out before makes no difference to that. So parts
    can be thinned each by itself, and what is left of them together again.
    """
    out = np.zeros(len(start) - 1, np.bool_)
    words = np.empty((64, 2), np.int64)
    for r in range(len(out)):
        words, many = words_of_row(start, item, rel_start, rel, r, m, n, bits, words)
        for i in range(many):
            if table[place_of(table, words[i, 0], words[i, 1]), 2] < least:
                out[r] = True
                break
        if out[r]:
            table = roomy(table, used + many)
            used += add_words(table, words, many)
    return out, table, used


def fits(m: int, bits: int) -> bool:
    """Whether sets of m labels of so many bits, and their relations, fit into the two words."""
    rest = max(m - _WORD // bits, 0)
    return rest * bits + m * (m - 1) // 2 <= _WORD


def set_of_words(first: int, second: int, m: int, bits: int) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """The labels of a set, and its relations as pairs of their places.

    >>> set_of_words(1 | 3 << 4, 1, 2, 4)
    ((0, 2), ((0, 1),))
    """
    per_word, low = _WORD // bits, (1 << bits) - 1
    shift = max(m - per_word, 0) * bits
    codes = [first >> i * bits & low for i in range(min(m, per_word))]
    codes += [second >> i * bits & low for i in range(max(m - per_word, 0))]
    labels = tuple(code - 1 for code in codes if code)
    mask = second >> shift
    pairs = tuple((i, j) for j in range(len(labels)) for i in range(j) if mask >> (j * (j - 1) // 2 + i) & 1)
    return labels, pairs


Counts = npt.NDArray[np.int32]


@njit
def count_pairs(offsets: Longs, parent: Ints, coarse: Ints, fine: Ints, shared: Counts, related: Counts) -> None:
    """Adds the pairs of some records: shared[x, y] and related[x, y] for x < y, and the holders of x at shared[x, x].

    `coarse` and `fine` have a slot for every node, or -1; slots are places in the tables.
    """
    slots = len(shared)
    seen = np.full(slots, -1, np.int64)
    held = np.empty(slots, np.int32)
    keys = np.empty(1024, np.int64)
    for r in range(len(offsets) - 1):
        base, many, pairs = offsets[r], 0, 0
        for i in range(base, offsets[r + 1]):
            for x in (coarse[i], fine[i]):
                if x < 0:
                    continue
                if seen[x] != r:
                    seen[x] = r
                    held[many] = x
                    many += 1
                up = parent[i]
                while up >= 0:
                    for y in (coarse[base + up], fine[base + up]):
                        if y >= 0 and y != x:
                            if pairs == len(keys):
                                grown = np.empty(2 * pairs, np.int64)
                                grown[:pairs] = keys
                                keys = grown
                            keys[pairs] = np.int64(min(x, y)) * slots + max(x, y)
                            pairs += 1
                    up = parent[base + up]
        for i in range(many):
            shared[held[i], held[i]] += 1
            for j in range(i):
                shared[min(held[i], held[j]), max(held[i], held[j])] += 1
        found = np.sort(keys[:pairs])
        for i in range(pairs):
            if i == 0 or found[i] != found[i - 1]:
                related[found[i] // slots, found[i] % slots] += 1

"""Counting, one part of the records after another, for the rounds of an engine that has no place for all records.

A set is two words that are the same in every part: the labels in ascending order, each plus 1 and `bits` wide, as many
in the first word as fit, and above the rest in the second word a bit for every relation, at j(j-1)/2 + i for i < j.
Where objects stay whole a relation has one of several kinds, the depth d of an object that holds both labels: then its
bit is at kinds * j(j-1)/2 + d * j + i.

Pairs of labels are counted where a node can stand for two at once: the one that it is published as, and a finer one
that it might be. The check of what was written shares nothing of this: see `treeanon.kernels.verify.supports`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.sorting import sort

Table = npt.NDArray[np.int64]
"""Rows of (first word, second word, persons); persons are 0 where a row is free. As many rows as a power of two."""


Word = Any
"""A whole number of 64 bits (compiled and not, types differ)."""

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
def _append(words: Longs, many: int, first: Word, second: Word, taken: int) -> Longs:
    """Return the words with one more set, of which `taken` relations are in it."""
    if many == len(words):
        more = np.empty((2 * many, 3), np.int64)
        more[:many] = words
        words = more
    words[many, 0], words[many, 1], words[many, 2] = first, second, taken
    return words


@njit
def _depth_in(parent: Ints, base: int, node: int) -> int:
    """Return how many nodes are above a node of a record."""
    depth = 0
    up = parent[base + node]
    while up >= 0:
        depth += 1
        up = parent[base + up]
    return depth


@njit
def _labels_together(
    offsets: Longs,
    parent: Ints,
    label: Ints,
    number: Ints,
    r: int,
    place: Longs,
    many: int,
    types: int,
    kinds: int,
) -> Longs:
    """Return, for all pairs of places of a record's labels, a bit for every kind d of which one object holds both.

    The labels 1 to `types` are objects; in preorder what an object holds follows it.
    """
    found = np.zeros((many, many), np.int64)
    base, size = offsets[r], offsets[r + 1] - offsets[r]
    is_held, held = np.zeros(many, np.bool_), np.empty(many, np.int64)
    for i in range(size):
        if not 0 < label[base + i] <= types:
            continue
        depth = _depth_in(parent, base, i)
        if depth >= kinds:
            continue
        filled = 0
        j = i + 1
        while j < size and parent[base + j] >= i:
            x = number[label[base + j]]
            if x >= 0 and not is_held[place[x]]:
                is_held[place[x]] = True
                held[filled] = place[x]
                filled += 1
            j += 1
        bit = np.int64(1) << np.int64(depth)
        for p in range(filled):
            is_held[held[p]] = False
            for q in range(p):
                found[held[p], held[q]] |= bit
                found[held[q], held[p]] |= bit
    return found


@njit
def _related_labels(offsets: Longs, parent: Ints, label: Ints, number: Ints, r: int, place: Longs, many: int) -> Longs:
    """Return, for all pairs of places of a record's labels, 1 where one stands above the other at some node."""
    found = np.zeros((many, many), np.int64)
    base = offsets[r]
    for i in range(base, offsets[r + 1]):
        lower = number[label[i]]
        up = parent[i]
        while up >= 0 and lower >= 0:
            upper = number[label[base + up]]
            if upper >= 0 and upper != lower:
                found[place[lower], place[upper]] = 1
                found[place[upper], place[lower]] = 1
            up = parent[base + up]
    return found


@njit
def words_of_record(
    offsets: Longs,
    parent: Ints,
    label: Ints,
    number: Ints,
    r: int,
    m: int,
    n: int,
    bits: int,
    types: int,
    kinds: int,
    place: Longs,
    words: Longs,
) -> tuple[Longs, int]:
    """Return the words of all sets of 1 to m labels and 0 to n relations of a record, and how many there are.

    With `types` objects stay whole, and relations are of so many kinds. `number` numbers the labels that are counted;
    `place` is work space, -1 for every one of them, and left so.
    """
    held = np.empty(offsets[r + 1] - offsets[r], np.int64)
    labels = 0
    for i in range(offsets[r], offsets[r + 1]):
        x = number[label[i]]
        if x >= 0 and place[x] < 0:
            place[x] = 0
            held[labels] = x
            labels += 1
    sort(held, 0, labels)
    for p in range(labels):
        place[held[p]] = p
    if types > 0:
        related = _labels_together(offsets, parent, label, number, r, place, labels, types, kinds)
    else:
        related = _related_labels(offsets, parent, label, number, r, place, labels)
    for p in range(labels):
        place[held[p]] = -1
    per_word = _WORD // bits
    shift = max(m - per_word, 0) * bits
    chosen = np.empty(m, np.int64)
    many = 0
    for size in range(1, min(m, labels) + 1):
        for j in range(size):
            chosen[j] = j
        going = True
        while going:
            first, second = np.int64(0), np.int64(0)
            for j in range(size):
                if j < per_word:
                    first |= (held[chosen[j]] + 1) << (j * bits)
                else:
                    second |= (held[chosen[j]] + 1) << ((j - per_word) * bits)
            begin = many
            words = _append(words, many, first, second, 0)
            many += 1
            # Every relation doubles the sets so far, but for those that have n already.
            for j in range(size):
                for i in range(j):
                    if n == 0 or related[chosen[i], chosen[j]] == 0:
                        continue
                    for d in range(kinds):
                        if not (related[chosen[i], chosen[j]] >> d) & 1:
                            continue
                        bit = np.int64(1) << (shift + kinds * (j * (j - 1) // 2) + d * j + i)
                        for w in range(begin, many):
                            if words[w, 2] < n:
                                words = _append(words, many, first, words[w, 1] | bit, words[w, 2] + 1)
                                many += 1
            at = size - 1
            while at >= 0 and chosen[at] == labels - size + at:
                at -= 1
            going = at >= 0
            if going:
                chosen[at] += 1
                for j in range(at + 1, size):
                    chosen[j] = chosen[j - 1] + 1
    return words, many


@njit
def count_sets(
    offsets: Longs,
    parent: Ints,
    label: Ints,
    number: Ints,
    labels: int,
    m: int,
    n: int,
    bits: int,
    types: int,
    kinds: int,
    table: Table,
    used: int,
) -> tuple[Table, int]:
    """Return the table with every set of these records added, and the rows of it in use."""
    words, place = np.empty((64, 3), np.int64), np.full(labels, -1, np.int64)
    for r in range(len(offsets) - 1):
        words, many = words_of_record(offsets, parent, label, number, r, m, n, bits, types, kinds, place, words)
        table = roomy(table, used + many)
        used += add_words(table, words, many)
    return table, used


@njit
def needed(
    offsets: Longs,
    parent: Ints,
    label: Ints,
    number: Ints,
    labels: int,
    m: int,
    n: int,
    bits: int,
    types: int,
    kinds: int,
    table: Table,
    used: int,
    least: int,
) -> tuple[Flags, Table, int]:
    """Return which records are needed so that of every set the first `least` holders are there, or all if fewer.

    The table has the sets of needed records that came before; it is given back with these. Records are needed that hold
    a set that fewer than `least` before them hold; whether others are left out before makes no difference to that. So
    parts can be thinned each by itself, and what is left of them together again.
    """
    out = np.zeros(len(offsets) - 1, np.bool_)
    words, place = np.empty((64, 3), np.int64), np.full(labels, -1, np.int64)
    for r in range(len(out)):
        words, many = words_of_record(offsets, parent, label, number, r, m, n, bits, types, kinds, place, words)
        for i in range(many):
            if table[place_of(table, words[i, 0], words[i, 1]), 2] < least:
                out[r] = True
                break
        if out[r]:
            table = roomy(table, used + many)
            used += add_words(table, words, many)
    return out, table, used


@njit
def holdings(
    offsets: Longs,
    parent: Ints,
    label: Ints,
    number: Ints,
    labels: int,
    m: int,
    n: int,
    bits: int,
    types: int,
    kinds: int,
    table: Table,
) -> tuple[Longs, int]:
    """Return rows of a record and of the number of a set of the table that it holds, and how many rows there are."""
    found, filled = np.empty((64, 3), np.int64), 0
    words, place = np.empty((64, 3), np.int64), np.full(labels, -1, np.int64)
    for r in range(len(offsets) - 1):
        words, many = words_of_record(offsets, parent, label, number, r, m, n, bits, types, kinds, place, words)
        for i in range(many):
            at = place_of(table, words[i, 0], words[i, 1])
            if table[at, 2] != 0:
                found = _append(found, filled, r, table[at, 2], 0)
                filled += 1
    return found, filled


@njit
def table_of(first: Longs, second: Longs) -> Table:
    """Return a table with these sets, numbered from 1."""
    table = roomy(np.zeros((1 << 8, 3), np.int64), len(first) + 1)
    for i in range(len(first)):
        at = place_of(table, first[i], second[i])
        table[at, 0], table[at, 1], table[at, 2] = first[i], second[i], i + 1
    return table


def words_of_set(
    labels: tuple[int, ...], relations: tuple[tuple[int, int, int], ...], m: int, bits: int, kinds: int = 1
) -> tuple[int, int]:
    """The words of a set of ascending labels, with relations as pairs of their places and a kind.

    >>> words_of_set((0, 2), ((0, 1, 0),), 2, 4) == (1 | 3 << 4, 1)
    True
    """
    per_word = _WORD // bits
    first = sum(label + 1 << j * bits for j, label in enumerate(labels[:per_word]))
    second = sum(label + 1 << j * bits for j, label in enumerate(labels[per_word:]))
    mask = sum(1 << kinds * (j * (j - 1) // 2) + d * j + i for i, j, d in relations)
    return first, second | mask << max(m - per_word, 0) * bits


def fits(m: int, bits: int, kinds: int = 1) -> bool:
    """Whether sets of m labels of so many bits, and their relations, fit into the two words."""
    rest = max(m - _WORD // bits, 0)
    return rest * bits + kinds * (m * (m - 1) // 2) <= _WORD


def set_of_words(
    first: int, second: int, m: int, bits: int, kinds: int = 1
) -> tuple[tuple[int, ...], tuple[tuple[int, int, int], ...]]:
    """The labels of a set, and its relations as pairs of their places and a kind.

    >>> set_of_words(1 | 3 << 4, 1, 2, 4), set_of_words(1 | 3 << 4, 2, 2, 4, kinds=2)
    (((0, 2), ((0, 1, 0),)), ((0, 2), ((0, 1, 1),)))
    """
    per_word, low = _WORD // bits, (1 << bits) - 1
    shift = max(m - per_word, 0) * bits
    codes = [first >> i * bits & low for i in range(min(m, per_word))]
    codes += [second >> i * bits & low for i in range(max(m - per_word, 0))]
    labels = tuple(code - 1 for code in codes if code)
    mask = second >> shift
    pairs = tuple(
        (i, j, d)
        for j in range(len(labels))
        for i in range(j)
        for d in range(kinds)
        if mask >> (kinds * (j * (j - 1) // 2) + d * j + i) & 1
    )
    return labels, pairs


Counts = npt.NDArray[np.int32]
Kinds = npt.NDArray[np.int32]
"""Three axes: two slots, and the kind of their relation."""


@njit
def _noted(keys: Longs, many: int, key: int) -> Longs:
    """Return the keys with one more."""
    if many == len(keys):
        grown = np.empty(2 * many, np.int64)
        grown[:many] = keys
        keys = grown
    keys[many] = key
    return keys


@njit
def count_pairs(offsets: Longs, parent: Ints, coarse: Ints, fine: Ints, shared: Counts, related: Kinds) -> None:
    """Adds the pairs of some records: shared[x, y] and related[x, y, 0] for x < y, and at shared[x, x] who holds x.

    `coarse` and `fine` have a slot for every node, or -1; slots are places in the tables.
    """
    slots = len(shared)
    seen = np.full(slots, -1, np.int64)
    held = np.empty(slots, np.int32)
    keys = np.empty(1024, np.int64)
    for r in range(len(offsets) - 1):
        base, pairs = offsets[r], 0
        for i in range(base, offsets[r + 1]):
            for x in (coarse[i], fine[i]):
                if x < 0:
                    continue
                up = parent[i]
                while up >= 0:
                    for y in (coarse[base + up], fine[base + up]):
                        if y >= 0 and y != x:
                            keys = _noted(keys, pairs, np.int64(min(x, y)) * slots + max(x, y))
                            pairs += 1
                    up = parent[base + up]
        _add_pairs(coarse, fine, base, offsets[r + 1], r, seen, held, shared)
        _add_related(keys, pairs, 1, related)


@njit
def count_object_pairs(
    offsets: Longs,
    parent: Ints,
    label: Ints,
    coarse: Ints,
    fine: Ints,
    types: int,
    shared: Counts,
    related: Kinds,
) -> None:
    """Adds the same of whole objects: related[x, y, d] counts the records that have an object at depth d with both."""
    slots, kinds = related.shape[0], related.shape[2]
    seen, within = np.full(slots, -1, np.int64), np.zeros(slots, np.bool_)
    held = np.empty(slots, np.int32)
    keys = np.empty(1024, np.int64)
    for r in range(len(offsets) - 1):
        base, size, pairs = offsets[r], offsets[r + 1] - offsets[r], 0
        for i in range(size):
            if not 0 < label[base + i] <= types:
                continue
            depth = _depth_in(parent, base, i)
            if depth >= kinds:
                continue
            filled = 0
            j = i + 1
            while j < size and parent[base + j] >= i:
                for x in (coarse[base + j], fine[base + j]):
                    if x >= 0 and not within[x]:
                        within[x] = True
                        held[filled] = x
                        filled += 1
                j += 1
            for p in range(filled):
                x = held[p]
                within[x] = False
                for q in range(p):
                    y = held[q]
                    key = np.int64(min(x, y)) * slots + max(x, y)
                    keys = _noted(keys, pairs, key * kinds + depth)
                    pairs += 1
        _add_pairs(coarse, fine, base, offsets[r + 1], r, seen, held, shared)
        _add_related(keys, pairs, kinds, related)


@njit
def _add_pairs(
    coarse: Ints, fine: Ints, start: int, stop: int, r: int, seen: Longs, held: Ints, shared: Counts
) -> None:
    """Add the pairs of slots that a record holds; `seen` has the last record that holds a slot."""
    many = 0
    for i in range(start, stop):
        for x in (coarse[i], fine[i]):
            if x >= 0 and seen[x] != r:
                seen[x] = r
                held[many] = x
                many += 1
    for i in range(many):
        shared[held[i], held[i]] += 1
        for j in range(i):
            shared[min(held[i], held[j]), max(held[i], held[j])] += 1


@njit
def _add_related(keys: Longs, many: int, kinds: int, related: Kinds) -> None:
    """Add each different key once: a pair of slots and a kind."""
    slots = len(related)
    sort(keys, 0, many)
    for i in range(many):
        if i == 0 or keys[i] != keys[i - 1]:
            pair = keys[i] // kinds
            related[pair // slots, pair % slots, keys[i] % kinds] += 1

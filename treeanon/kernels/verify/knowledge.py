"""What an attacker may know of every person, as flat rows: the labels that occur, and which stand above which.

A row's items are ascending; the first `known` of them are labels, what follows are absences (negative knowledge). Bit q
of the words of item p (q < p, both labels) says that the labels of p and q stand one above the other somewhere in the
tree. Which one is above follows from their classes. Where objects stay whole an item has such words for every kind of
relation, one kind after another: bit q of kind d says that some object at depth d holds both labels.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit

Content = TypeVar("Content", Ints, Longs)

_POSITIVE = 2**63 - 1
"""All bits of a word but the sign."""


@njit
def row_sizes(offsets: Longs, label: Ints, code: Ints, items: int) -> tuple[Ints, Longs]:
    """For every record the number of its distinct items, and for every item the number of records that hold it.

    `code` gives the item of a label, -1 where the label is not counted.
    """
    sizes = np.zeros(len(offsets) - 1, np.int32)
    holders = np.zeros(items, np.int64)
    seen = np.full(items, -1, np.int64)
    for r in range(len(sizes)):
        for i in range(offsets[r], offsets[r + 1]):
            c = code[label[i]]
            if c >= 0 and seen[c] != r:
                seen[c] = r
                sizes[r] += 1
                holders[c] += 1
    return sizes, holders


@njit
def _sort(values: Ints, lo: int, hi: int) -> None:
    """Sorts values[lo:hi] (by Shell's way: short to compile, and rows are short)."""
    gap = 1
    while gap < (hi - lo) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(lo + gap, hi):
            value = values[i]
            j = i
            while j - gap >= lo and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3


@njit
def distinct_items(offsets: Longs, label: Ints, code: Ints, items: int, start: Longs, absent: Ints) -> Ints:
    """The items of every record in ascending order; record r has room from start[r] on.

    Of the items `absent` those that a record does not hold are added, numbered from `items` on.
    """
    out = np.empty(start[-1], np.int32)
    seen = np.full(items, -1, np.int64)
    for r in range(len(start) - 1):
        at = start[r]
        for i in range(offsets[r], offsets[r + 1]):
            c = code[label[i]]
            if c >= 0 and seen[c] != r:
                seen[c] = r
                out[at] = c
                at += 1
        _sort(out, start[r], at)
        for number in range(len(absent)):
            if seen[absent[number]] != r:
                out[at] = items + number
                at += 1
    return out


@njit
def relations(
    offsets: Longs,
    parent: Ints,
    label: Ints,
    code: Ints,
    items: int,
    start: Longs,
    item: Ints,
    known: Ints,
    rel_start: Longs,
    group: Ints,
    above: Flags,
) -> tuple[Longs, Flags, bool]:
    """The relation words of every row, which rows hold a label at several nodes, and whether the class tree is kept.

    `group` is the class of a label; above[a, d] says that class a lies above class d.
    """
    words = np.zeros(rel_start[-1], np.int64)
    several = np.zeros(len(known), np.bool_)
    place = np.zeros(items, np.int32)
    for r in range(len(known)):
        base = offsets[r]
        width = (known[r] + 63) >> 6
        for p in range(known[r]):
            place[item[start[r] + p]] = p
        nodes = 0
        for i in range(base, offsets[r + 1]):
            c = code[label[i]]
            if c >= 0:
                nodes += 1
            up = parent[i]
            while up >= 0:
                higher = label[base + up]
                if not above[group[higher], group[label[i]]]:
                    return words, several, False
                a = code[higher]
                if c >= 0 and a >= 0:
                    p = max(place[a], place[c])
                    q = min(place[a], place[c])
                    words[rel_start[r] + p * width + (q >> 6)] |= np.int64(1) << np.int64(q & 63)
                up = parent[base + up]
        several[r] = nodes > known[r]
    return words, several, True


@njit
def object_relations(
    offsets: Longs,
    parent: Ints,
    label: Ints,
    code: Ints,
    items: int,
    start: Longs,
    item: Ints,
    known: Ints,
    rel_start: Longs,
    group: Ints,
    above: Ints,
    types: int,
    kinds: int,
) -> tuple[Longs, bool]:
    """The relation words of every row where objects stay whole, and whether each node lies under what holds its class.

    The labels 1 to `types` are objects. above[a] is the class that class a lies under, 0 for those of the record itself
    and for `*`; a record's objects are at depth 0.
    """
    words = np.zeros(rel_start[-1], np.int64)
    place = np.zeros(items, np.int32)
    widest = 1
    for r in range(len(known)):
        widest = max(widest, (known[r] + 63) >> 6)
    bits = np.zeros(widest, np.int64)
    for r in range(len(known)):
        base, size = offsets[r], offsets[r + 1] - offsets[r]
        width = (known[r] + 63) >> 6
        for p in range(known[r]):
            place[item[start[r] + p]] = p
        for i in range(size):
            own, up = label[base + i], parent[base + i]
            if group[own] == 0 or up < 0:
                if up >= 0 or above[group[own]] != 0:
                    return words, False
            elif label[base + up] > types or group[label[base + up]] != above[group[own]]:
                return words, False
            if not 0 < own <= types:
                continue
            depth = 0
            while up >= 0:
                depth += 1
                up = parent[base + up]
            if depth >= kinds:
                continue
            bits[:width] = 0
            # In preorder what an object holds follows it.
            j = i + 1
            while j < size and parent[base + j] >= i:
                c = code[label[base + j]]
                if c >= 0:
                    bits[place[c] >> 6] |= np.int64(1) << np.int64(place[c] & 63)
                j += 1
            j = i + 1
            while j < size and parent[base + j] >= i:
                c = code[label[base + j]]
                if c >= 0:
                    p = place[c]
                    at = rel_start[r] + (np.int64(p) * kinds + depth) * width
                    for w in range(p >> 6):
                        words[at + w] |= bits[w]
                    words[at + (p >> 6)] |= bits[p >> 6] & ((np.int64(1) << np.int64(p & 63)) - 1)
                j += 1
    return words, True


@njit
def _same(a: Longs | Ints, a_lo: int, a_hi: int, b_lo: int, b_hi: int) -> bool:
    if a_hi - a_lo != b_hi - b_lo:
        return False
    for i in range(a_hi - a_lo):
        if a[a_lo + i] != a[b_lo + i]:
            return False
    return True


@njit
def row_hashes(start: Longs, item: Ints, rel_start: Longs, rel: Longs, held_start: Longs, held: Ints) -> Longs:
    """A 64-bit number for every row, equal for equal rows."""
    out = np.empty(len(start) - 1, np.int64)
    odd = np.uint64(0xBF58476D1CE4E5B9)
    for r in range(len(out)):
        state = np.uint64(0x9E3779B97F4A7C15)
        for i in range(start[r], start[r + 1]):
            state = (state ^ np.uint64(item[i])) * odd
            state ^= state >> np.uint64(29)
        for i in range(rel_start[r], rel_start[r + 1]):
            state = (state ^ np.uint64(rel[i])) * odd
            state ^= state >> np.uint64(29)
        for i in range(held_start[r], held_start[r + 1]):
            state = (state ^ np.uint64(held[i])) * odd
            state ^= state >> np.uint64(29)
        out[r] = np.int64(state)
    return out


@njit
def equal_rows(
    order: Longs,
    hashes: Longs,
    start: Longs,
    item: Ints,
    rel_start: Longs,
    rel: Longs,
    held_start: Longs,
    held: Ints,
    apart: Flags,
) -> tuple[Longs, Ints]:
    """One row of every kind, and how many there are of the kind; rows that are `apart` stand for themselves.

    `order` sorts the hashes. Equal hashes are compared in full with the row kept last: a missed merge costs only time.
    """
    chosen = np.empty(len(order), np.int64)
    weight = np.ones(len(order), np.int32)
    kinds = 0
    for i in range(len(order)):
        r = order[i]
        if kinds > 0 and not apart[r]:
            s = chosen[kinds - 1]
            if (
                hashes[r] == hashes[s]
                and not apart[s]
                and _same(item, start[r], start[r + 1], start[s], start[s + 1])
                and _same(rel, rel_start[r], rel_start[r + 1], rel_start[s], rel_start[s + 1])
                and _same(held, held_start[r], held_start[r + 1], held_start[s], held_start[s + 1])
            ):
                weight[kinds - 1] += 1
                continue
        chosen[kinds] = r
        kinds += 1
    return chosen[:kinds].copy(), weight[:kinds].copy()


@njit
def stretches(start: Longs, content: Content, chosen: Longs) -> tuple[Longs, Content]:
    """The starts and the content of the chosen stretches."""
    out_start = np.zeros(len(chosen) + 1, np.int64)
    for i in range(len(chosen)):
        out_start[i + 1] = out_start[i] + start[chosen[i] + 1] - start[chosen[i]]
    out = np.empty(out_start[-1], content.dtype)
    for i in range(len(chosen)):
        for j in range(out_start[i + 1] - out_start[i]):
            out[out_start[i] + j] = content[start[chosen[i]] + j]
    return out_start, out


@njit
def holders_of(start: Longs, item: Ints, items: int, m: int) -> tuple[Longs, Ints, Ints, npt.NDArray[np.float64]]:
    """For every item the rows that hold it and where in the row, and how much work the sets that begin with it are."""
    begin = np.zeros(items + 1, np.int64)
    work = np.zeros(items, np.float64)
    for i in range(len(item)):
        begin[item[i] + 1] += 1
    for c in range(items):
        begin[c + 1] += begin[c]
    fill = begin[:-1].copy()
    rows = np.empty(len(item), np.int32)
    places = np.empty(len(item), np.int32)
    for r in range(len(start) - 1):
        for i in range(start[r], start[r + 1]):
            c = item[i]
            rows[fill[c]] = r
            places[fill[c]] = i - start[r]
            fill[c] += 1
            ways = 1.0
            rest = start[r + 1] - i - 1
            for j in range(min(m - 1, rest)):
                ways = ways * (rest - j) / (j + 1)
            work[c] += ways
    return begin, rows, places, work


@njit
def nodes_of_items(
    offsets: Longs, label: Ints, code: Ints, items: int, start: Longs, item: Ints, known: Ints, record: Longs
) -> tuple[Longs, Ints]:
    """For every item of every row the nodes that carry it, as positions in the row's record."""
    begin = np.zeros(len(item) + 1, np.int64)
    place = np.zeros(items, np.int64)
    fill = begin
    nodes = np.empty(0, np.int32)
    for again in range(2):
        for r in range(len(known)):
            base = offsets[record[r]]
            for p in range(start[r], start[r] + known[r]):
                place[item[p]] = p
            for i in range(base, offsets[record[r] + 1]):
                c = code[label[i]]
                if c >= 0:
                    if again == 0:
                        begin[place[c] + 1] += 1
                    else:
                        nodes[fill[place[c]]] = i - base
                        fill[place[c]] += 1
        if again == 0:
            for p in range(len(item)):
                begin[p + 1] += begin[p]
            fill = begin[:-1].copy()
            nodes = np.empty(begin[-1], np.int32)
    return begin, nodes


@njit
def rows_of_first(
    start: Longs,
    item: Ints,
    known: Ints,
    rel_start: Longs,
    rel: Longs,
    weight: Ints,
    holder: Ints,
    place: Ints,
    kinds: int,
) -> tuple[Longs, Ints, Longs, int, Ints, Ints]:
    """The starts, items, relation words (how many an item has of each kind), weights and full sizes of the rows that
    hold an item.

    The rows begin at that item: what comes before it plays no part, and what is left lies close together in memory.
    """
    out_start = np.zeros(len(holder) + 1, np.int64)
    out_weight, whole = np.empty(len(holder), np.int32), np.empty(len(holder), np.int32)
    width = 1
    for i in range(len(holder)):
        row = holder[i]
        out_start[i + 1] = out_start[i] + start[row + 1] - start[row] - place[i]
        out_weight[i] = weight[row]
        whole[i] = start[row + 1] - start[row]
        width = max(width, (known[row] - place[i] + 63) >> 6)
    out_item = np.empty(out_start[-1], np.int32)
    out_rel = np.zeros(out_start[-1] * width * kinds, np.int64)
    for i in range(len(holder)):
        row = holder[i]
        first = np.int64(place[i])
        to = out_start[i]
        size = out_start[i + 1] - to
        for p in range(size):
            out_item[to + p] = item[start[row] + first + p]
        words = (known[row] + 63) >> 6
        if words == 1:
            # Bit 63 is never set, as bits are below their item's place: the shift brings in zeros.
            for p in range(min(size, known[row] - first)):
                for d in range(kinds):
                    out_rel[((to + p) * kinds + d) * width] = rel[rel_start[row] + (first + p) * kinds + d] >> first
        else:
            skipped, shift = first >> 6, first & 63
            for p in range(min(size, known[row] - first)):
                for d in range(kinds):
                    at = rel_start[row] + ((first + p) * kinds + d) * words
                    goal = ((to + p) * kinds + d) * width
                    # Word by word: bit by bit, a thousand labels a person would take a thousand times a thousand steps
                    # for each of them. Shifts to the right bring in zeros, also where bit 63 is set.
                    for w in range((p + 63) >> 6):
                        word = rel[at + skipped + w]
                        if shift > 0:
                            word = ((word >> 1) & _POSITIVE) >> (shift - 1)
                            if skipped + w + 1 < words:
                                word |= rel[at + skipped + w + 1] << (64 - shift)
                        out_rel[goal + w] = word
    return out_start, out_item, out_rel, width, out_weight, whole

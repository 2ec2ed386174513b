"""The least number of persons who share what one of them has, and the sets of labels that the rows of a part hold.

The check of a whole collection asks for the first. Parts of a collection are counted apart: a set is two words that
are the same in every part: the labels in ascending order, each plus 1 and `bits` wide, as many in the first word as
fit, and above the rest in the second word a bit for every relation, at kinds * j(j-1)/2 + d * j + i for i < j and its
kind d (see `knowledge`; of merged trees there is one kind).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.verify.counting import (
    Mask,
    bits_of,
    count_last,
    deniable_pairs,
    extend,
    kinds_in,
    kinds_of,
    next_choice,
    related,
    room,
    some_whole,
    table_size,
)
from treeanon.kernels.verify.knowledge import rows_of_first

_CELLS = 1 << 23

_WORD = 62


@njit
def _least_of(
    kinds: int, kind: Longs, persons: Longs, n: int, best: int, free: Mask, where: Longs, chosen: Longs
) -> int:
    """The least number of persons, if below `best`, that share a person's relations, or n of them if there are more.

    Of the pairs in `free` it may be known, too, that a person has no such relation.
    """
    known = np.int64(0)
    for j in range(kinds):
        known |= kind[j]
    for j in range(kinds):
        # All that hold what kind j holds are at least kind j itself.
        if persons[j] >= best:
            continue
        # What nobody has nobody need be known to lack.
        bits = bits_of(kind[j] | (free & known), where)
        size = min(n, bits)
        for i in range(size):
            chosen[i] = i
        going = True
        while going:
            wanted = np.int64(0)
            for i in range(size):
                wanted |= np.int64(1) << where[chosen[i]]
            total = 0
            for i in range(kinds):
                if (kind[i] ^ kind[j]) & wanted == 0:
                    total += persons[i]
            best = min(best, total)
            going = next_choice(chosen, size, bits)
    return best


@njit
def least_support(
    start: Longs,
    item: Ints,
    known: Ints,
    rel_start: Longs,
    rel: Longs,
    weight: Ints,
    begin: Longs,
    holder: Ints,
    place: Ints,
    firsts: Ints,
    side: Ints,
    deniable: Flags,
    m: int,
    n: int,
    shared: Longs,
    kinds: int,
) -> tuple[int, int]:
    """The least number of persons who share m labels with n relations that one of them has, and the label sets counted.

    Relations that a person lacks count too, where `deniable` says so (see deniable_pairs).

    Counts the sets whose first item is in `firsts`. Smaller sets matter only where a person has no more labels (what
    a person holds less of, at least as many persons hold), and fewer relations only where there are no more.
    """
    items = len(begin) - 1
    # Plain 0 and 1 are types of their own to the compiler, which would compile what they are passed to twice.
    longest: Mask = np.int64(0)
    for c in firsts:
        longest = max(longest, begin[c + 1] - begin[c])
    stack = np.empty((4 * longest + 64, 4), np.int32)
    bits = kinds * (m * (m - 1) // 2)
    table = np.zeros(table_size(longest, bits), np.int32)
    size = max(longest, 64)
    kind, persons, slot = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    where, chosen = np.empty(64, np.int64), np.empty(64, np.int64)
    count, places = np.zeros(items, np.int64), np.empty(8, np.int64)
    kid_item, kid_start = np.empty((m, items), np.int32), np.empty((m, items + 1), np.int64)
    kids, at = np.zeros(m + 1, np.int64), np.zeros(m + 1, np.int64)
    best = shared[0]
    sets = 0
    at_once = 1 < m < 5 and items << bits < _CELLS
    cells = np.zeros(items << bits if at_once else 0, np.int32)
    seen = np.zeros(items, np.bool_)
    path = np.zeros(8, np.int32)
    for first in firsts:
        best = min(best, shared[0])
        path[0] = first
        own, own_place = holder[begin[first] : begin[first + 1]], place[begin[first] : begin[first + 1]]
        its_start, its_item, its_rel, width, its_weight, whole = rows_of_first(
            start, item, known, rel_start, rel, weight, own, own_place, kinds
        )
        hi = len(own)
        for e in range(hi):
            stack[e, 0], stack[e, 1], stack[e, 2], stack[e, 3] = e, 0, -1, 0
        lo: Mask = np.int64(0)
        depth: Mask = np.int64(1)
        while depth > 0:
            if depth == m or some_whole(stack, lo, hi, whole, depth):
                sets += 1
                found = kinds_of(stack, lo, hi, its_weight, table, kind, persons, slot)
                free = deniable_pairs(path, depth, side, deniable, False, kinds)
                free |= deniable_pairs(path, depth, side, deniable, True, kinds)
                best = _least_of(found, kind, persons, n, best, free, where, chosen)
            if at_once and depth == m - 1:
                names = kid_item[depth]
                found = count_last(
                    stack,
                    lo,
                    hi,
                    depth,
                    its_start,
                    its_item,
                    its_rel,
                    width,
                    its_weight,
                    cells,
                    bits,
                    seen,
                    names,
                    places,
                    kinds,
                )
                sets += found
                for j in range(found):
                    cell: Mask = np.int64(names[j]) << bits
                    used = kinds_in(cells, cell, cell + (1 << bits), kind, persons)
                    path[depth] = names[j]
                    free = deniable_pairs(path, depth + 1, side, deniable, False, kinds)
                    free |= deniable_pairs(path, depth + 1, side, deniable, True, kinds)
                    best = _least_of(used, kind, persons, n, best, free, where, chosen)
            elif depth < m:
                top = hi if depth == 1 else kid_start[depth - 1, kids[depth - 1]]
                stack = room(stack, lo, hi, top, its_start)
                names, begins = kid_item[depth], kid_start[depth]
                kids[depth] = extend(
                    stack, lo, hi, top, depth, its_start, its_item, its_rel, width, count, names, begins, places, kinds
                )
                at[depth] = -1
                depth += 1
            # On to the next sibling, or up.
            while depth > 1:
                at[depth - 1] += 1
                if at[depth - 1] < kids[depth - 1]:
                    lo = kid_start[depth - 1, at[depth - 1]]
                    hi = kid_start[depth - 1, at[depth - 1] + 1]
                    path[depth - 1] = kid_item[depth - 1, at[depth - 1]]
                    break
                depth -= 1
            if depth == 1:
                break
        shared[0] = min(shared[0], best)
    return best, sets


@njit
def count_pairs(
    start: Longs, item: Ints, rel_start: Longs, rel: Longs, weight: Ints, items: int, kinds: int, first: int, stop: int
) -> npt.NDArray[np.int32]:
    """The persons of some rows by pairs of labels: table[a, b, 0] hold a and b, a < b, table[a, b, 1 + d] related.

    table[a, a, 0] hold a, and table[a, a, 1] nothing else. Where no one has more than two of few labels to know, this
    is all there is to count.
    """
    table = np.zeros((items, items, 1 + kinds), np.int32)
    for r in range(first, stop):
        size = start[r + 1] - start[r]
        width = (size + 63) >> 6
        for p in range(size):
            own = item[start[r] + p]
            table[own, own, 0] += weight[r]
            if size == 1:
                table[own, own, 1] += weight[r]
            for q in range(p):
                other = item[start[r] + q]
                table[other, own, 0] += weight[r]
                for d in range(kinds):
                    if (rel[rel_start[r] + (p * kinds + d) * width + (q >> 6)] >> (q & 63)) & 1:
                        table[other, own, 1 + d] += weight[r]
    return table


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
    start: Longs,
    item: Ints,
    rel_start: Longs,
    rel: Longs,
    r: int,
    m: int,
    n: int,
    bits: int,
    kinds: int,
    words: Longs,
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
        found = related(rel[rel_start[r] :], p, kinds, width, places, depth)
        mask[depth + 1] = mask[depth] | (np.int64(found) << (kinds * (depth * (depth - 1) // 2)))
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
    start: Longs, item: Ints, rel_start: Longs, rel: Longs, m: int, n: int, bits: int, kinds: int
) -> tuple[Longs, Longs]:
    """Return the two words of every set of 1 to m items and 0 to n relations, as often as a row holds it.

    Row r owns item[start[r]:start[r + 1]], ascending, and the relation words from rel_start[r] on.
    """
    first, second = np.empty(1024, np.int64), np.empty(1024, np.int64)
    words = np.empty((64, 2), np.int64)
    filled = 0
    for r in range(len(start) - 1):
        words, many = words_of_row(start, item, rel_start, rel, r, m, n, bits, kinds, words)
        if filled + many > len(first):
            room = 2 * (filled + many)
            more_first, more_second = np.empty(room, np.int64), np.empty(room, np.int64)
            more_first[:filled], more_second[:filled] = first[:filled], second[:filled]
            first, second = more_first, more_second
        for i in range(many):
            first[filled + i], second[filled + i] = words[i, 0], words[i, 1]
        filled += many
    return first[:filled].copy(), second[:filled].copy()

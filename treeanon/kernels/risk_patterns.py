"""Counts the persons of every pattern of classes that singles somebody out, in an open table.

A line of the table is: the classes of the labels, ascending, 16 bits each and counted from 1 (0: no more); the related
pairs among them, ascending, 8 bits each, counted from 1 (0: no more): the upper 4 are the kind of the relation, then
come 2 for the place of the first class in the line (of equal classes the first) and 2 for that of the second; the
persons; and who was counted last. Empty lines are zeros.

Counts for every published row the persons of a population whom it may be of.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.verify.counting import Mask


@njit
def line_of(table: Longs, a: Mask, b: Mask) -> Mask:
    """The line of a pattern, or the empty one where it belongs."""
    last = len(table) - 1
    odd = np.int64(0x9E3779B97F4A7C1)
    mixed = (np.int64(a) ^ (np.int64(b) << np.int64(7))) * odd
    at = (mixed ^ (mixed >> np.int64(29))) & last
    while table[at, 0] != 0 and (table[at, 0] != a or table[at, 1] != b):
        at = (at + 1) & last
    return at


@njit
def grown(table: Longs) -> Longs:
    """The same lines in a table of twice the size."""
    out = np.zeros((2 * len(table), 4), np.int64)
    for i in range(len(table)):
        if table[i, 0] != 0:
            at = line_of(out, table[i, 0], table[i, 1])
            for j in range(4):
                out[at, j] = table[i, j]
    return out


@njit
def pattern_of(
    group: Ints, item: Ints, start: int, places: Longs, size: int, mask: int, kinds: int
) -> tuple[Mask, Mask]:
    """The classes and the related pairs of a set of labels with these relations, as a line has them."""
    order, classes = np.empty(size, np.int64), np.empty(size, np.int64)
    for i in range(size):
        own = np.int64(group[item[start + places[i]]]) + 1
        j = i
        while j > 0 and classes[j - 1] > own:
            classes[j], order[j] = classes[j - 1], order[j - 1]
            j -= 1
        classes[j], order[j] = own, i
    rank = np.empty(size, np.int64)
    a = np.int64(0)
    for j in range(size):
        a |= classes[j] << np.int64(16 * j)
        rank[order[j]] = rank[order[j - 1]] if j > 0 and classes[j] == classes[j - 1] else j
    many = np.zeros(16 * kinds, np.int64)
    for j in range(1, size):
        for at in range(kinds * j):
            if (mask >> (kinds * (j * (j - 1) // 2) + at)) & 1:
                one, other = rank[at % j], rank[j]
                many[16 * (at // j) + (min(one, other) << 2) + max(one, other)] += 1
    b = np.int64(0)
    filled = 0
    for pair in range(16 * kinds):
        for _ in range(many[pair]):
            b |= np.int64(pair + 1) << np.int64(8 * filled)
            filled += 1
    return a, b


@njit
def counted(
    table: Longs,
    used: int,
    group: Ints,
    item: Ints,
    start: int,
    places: Longs,
    size: int,
    mask: int,
    stamp: int,
    times: int,
    kinds: int,
) -> tuple[Longs, int]:
    """The table in which `times` persons more have a pattern, unless `stamp` has been counted for it, and its lines."""
    a, b = pattern_of(group, item, start, places, size, mask, kinds)
    at = line_of(table, a, b)
    if table[at, 0] == 0:
        if 2 * used >= len(table):
            table = grown(table)
            at = line_of(table, a, b)
        table[at, 0], table[at, 1] = a, b
        used += 1
    if table[at, 3] != stamp:
        table[at, 3] = stamp
        table[at, 2] += times
    return table, used


@njit
def count_fitting(
    begin: Longs, end: Longs, rows: Ints, people: Ints, persons: Longs, fits: Flags, first: Longs, width: Longs
) -> Longs:
    """For row i how many of people begin[i] to end[i] fit it in all columns, each counted as so many persons.

    `rows` and `people` have a value for each column. Value v of a row and w of somebody fit in column c if
    fits[first[c] + v * width[c] + w] says so.
    """
    out = np.zeros(len(begin), np.int64)
    for i in range(len(begin)):
        for j in range(begin[i], end[i]):
            fine = True
            for c in range(len(first)):
                if not fits[first[c] + rows[i, c] * width[c] + people[j, c]]:
                    fine = False
                    break
            if fine:
                out[i] += persons[j]
    return out

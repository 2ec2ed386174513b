"""Loops over tables as packed keys: finding distinct rows, and rolling their counts up a lattice of generalizations.

A key is one or more 64-bit words with a field of bits for each column. `fields` has a row for each column that changes:
the word and shift of its field, the mask of its width, and where in `maps` the codes start that its codes become.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Ints, Longs, Tinies
from treeanon.kernels.jit import njit

_MIX = np.uint64(0x9E3779B97F4A7C15)


@njit
def add_field(keys: Longs, codes: Ints, missing: int, word: int, shift: int) -> None:
    """Write a column of codes into a field of all keys; -1 becomes `missing`."""
    for i in range(len(codes)):
        code = missing if codes[i] < 0 else int(np.int64(codes[i]))
        keys[i, word] |= code << shift


@njit
def _slots(entries: int) -> int:
    bits = 3
    while (1 << bits) < 2 * entries:
        bits += 1
    return bits


@njit
def distinct(keys: Longs) -> tuple[Ints, Longs, Ints]:
    """Return the first row of each distinct key, how many rows have it, and the number of the key of each row."""
    rows = len(keys)
    bits = min(_slots(rows), 16)
    table = np.full(1 << bits, -1, np.int32)
    first = np.empty(rows, np.int32)
    counts = np.zeros(rows, np.int64)
    number = np.empty(rows, np.int32)
    found = 0
    for i in range(rows):
        # Open addressing with linear probing: the table stays at most half full.
        if 2 * found >= len(table):
            bits += 2
            table = np.full(1 << bits, -1, np.int32)
            for g in range(found):
                at = _place(keys, first[g], bits)
                while table[at] >= 0:
                    at = (at + 1) & (len(table) - 1)
                table[at] = g
        at = _place(keys, i, bits)
        g = table[at]
        while g >= 0 and not _equal(keys, i, first[g]):
            at = (at + 1) & (len(table) - 1)
            g = table[at]
        if g < 0:
            g = found
            table[at] = g
            first[g] = i
            found += 1
        number[i] = g
        counts[g] += 1
    return first[:found].copy(), counts[:found].copy(), number


@njit
def _place(keys: Longs, i: int, bits: int) -> int:
    state = np.uint64(0)
    for w in range(keys.shape[1]):
        state = (state ^ np.uint64(keys[i, w])) * _MIX
        state ^= state >> np.uint64(32)
    return int(np.int64((state * _MIX) >> np.uint64(64 - bits)))


@njit
def _equal(keys: Longs, i: int, j: int) -> bool:
    for w in range(keys.shape[1]):
        if keys[i, w] != keys[j, w]:
            return False
    return True


@njit
def roll(
    keys: Longs,
    counts: Longs,
    fields: Longs,
    maps: Longs,
    table: Ints,
    out_keys: Longs,
    out_counts: Longs,
    number: Ints,
) -> int:
    """Write the distinct keys after generalization and their counts; return how many there are.

    `number`, unless it is empty, gets for each key the one that it becomes. `table` is work space, with at least 4 (and
    8) times as many entries as there are keys.
    """
    if keys.shape[1] > 1:
        return _roll_words(keys, counts, fields, maps, table, out_keys, out_counts, number)
    bits = _slots(len(keys))
    last = (1 << bits) - 1
    table[: last + 1] = -1
    numbered = len(number) > 0
    found = 0
    for i in range(len(keys)):
        key = keys[i, 0]
        for f in range(len(fields)):
            # The code in a field is exchanged for its generalization by a xor of both.
            code = (key >> fields[f, 1]) & fields[f, 2]
            key ^= (code ^ maps[fields[f, 3] + code]) << fields[f, 1]
        # Multiplicative hashing; the upper bits are the best mixed.
        state = np.uint64(key) * _MIX
        state ^= state >> np.uint64(32)
        at = int(np.int64((state * _MIX) >> np.uint64(64 - bits)))
        g = table[at]
        while g >= 0 and out_keys[g, 0] != key:
            at = (at + 1) & last
            g = table[at]
        if g < 0:
            g = found
            table[at] = g
            out_keys[g, 0] = key
            out_counts[g] = 0
            found += 1
        out_counts[g] += counts[i]
        if numbered:
            number[i] = g
    return found


@njit
def _roll_words(
    keys: Longs,
    counts: Longs,
    fields: Longs,
    maps: Longs,
    table: Ints,
    out_keys: Longs,
    out_counts: Longs,
    number: Ints,
) -> int:
    """`roll` for keys of several words."""
    bits = _slots(len(keys))
    last = (1 << bits) - 1
    table[: last + 1] = -1
    numbered = len(number) > 0
    found = 0
    for i in range(len(keys)):
        # The key is made where it stays if it is new.
        out_keys[found] = keys[i]
        for f in range(len(fields)):
            w, shift = fields[f, 0], fields[f, 1]
            code = (out_keys[found, w] >> shift) & fields[f, 2]
            out_keys[found, w] ^= (code ^ maps[fields[f, 3] + code]) << shift
        at = _place(out_keys, found, bits)
        g = table[at]
        while g >= 0 and not _equal(out_keys, g, found):
            at = (at + 1) & last
            g = table[at]
        if g < 0:
            g = found
            table[at] = g
            out_counts[g] = 0
            found += 1
        out_counts[g] += counts[i]
        if numbered:
            number[i] = g
    return found


@njit
def probe(
    keys: Longs,
    counts: Longs,
    fields: Longs,
    maps: Longs,
    table: Ints,
    out_keys: Longs,
    out_counts: Longs,
    number: Ints,
    least: int,
) -> tuple[int, int]:
    """Return how many are in groups of less than `least` after generalization, and how many groups are not."""
    found = roll(keys, counts, fields, maps, table, out_keys, out_counts, number)
    lost = 0
    published = 0
    for g in range(found):
        if out_counts[g] < least:
            lost += out_counts[g]
        else:
            published += 1
    return lost, published


@njit
def sum_costs(keys: Longs, counts: Longs, taken: Flags, fields: Longs, costs: Longs) -> float:
    """Return the sum over the keys taken of their counts times the costs of their codes; `costs` lies as `maps`
    does.
    """
    total = 0.0
    for i in range(len(keys)):
        if taken[i]:
            cost = 0.0
            for f in range(len(fields)):
                code = (keys[i, fields[f, 0]] >> fields[f, 1]) & fields[f, 2]
                cost += costs[fields[f, 3] + code]
            total += counts[i] * cost
    return total


@njit
def persons_in(pair_tuple: Ints, pair_person: Ints, number: Ints, groups: int) -> Longs:
    """Return how many different persons each group of tuples has; pairs are in the order of persons."""
    out = np.zeros(groups, np.int64)
    seen = np.full(groups, -1, np.int32)
    for i in range(len(pair_tuple)):
        g = number[pair_tuple[i]]
        if seen[g] != pair_person[i]:
            seen[g] = pair_person[i]
            out[g] += 1
    return out


@njit
def persons_losing(pair_tuple: Ints, pair_person: Ints, number: Ints, holds: Flags) -> int:
    """Return how many persons have a row in a group that does not hold; pairs are in the order of persons."""
    lost = 0
    last = -1
    for i in range(len(pair_tuple)):
        if pair_person[i] != last and not holds[number[pair_tuple[i]]]:
            last = pair_person[i]
            lost += 1
    return lost


@njit
def histogram(group: Ints, groups: int, value: Ints, counts: Longs, person: Ints) -> tuple[Longs, Ints, Longs, Longs]:
    """Return starts, values and counts of the histogram of each group; entries come in ascending order of values.

    An entry counts for `counts`; where `person` is not empty, for one if the person is not that of the entry before it
    with the same group and value (persons ascend within a value). Group -1 is left out. Also: how much each group has
    in all, which is the number of its persons unless `person` says that they may have several values.
    """
    place = np.zeros(groups + 1, np.int64)
    for i in range(len(group)):
        if group[i] >= 0:
            place[group[i] + 1] += 1
    for g in range(groups):
        place[g + 1] += place[g]
    # A counting sort by group, which keeps the order of values within each.
    order = np.empty(place[groups], np.int32)
    following = place[:-1].copy()
    for i in range(len(group)):
        g = group[i]
        if g >= 0:
            order[following[g]] = i
            following[g] += 1
    starts = np.zeros(groups + 1, np.int64)
    values = np.empty(len(order), np.int32)
    out_counts = np.zeros(len(order), np.int64)
    sums = np.zeros(groups, np.int64)
    filled = 0
    for g in range(groups):
        last = -1
        for j in range(place[g], place[g + 1]):
            i = order[j]
            same = j > place[g] and value[i] == values[filled - 1]
            if not same:
                values[filled] = value[i]
                filled += 1
            if len(person) == 0:
                out_counts[filled - 1] += counts[i]
                sums[g] += counts[i]
            elif not same or person[i] != last:
                out_counts[filled - 1] += 1
                sums[g] += 1
                last = person[i]
        starts[g + 1] = filled
    return starts, values[:filled].copy(), out_counts[:filled].copy(), sums


@njit
def smallest_below(vectors: Ints, sizes: Longs, stored: int, vector: Ints) -> int:
    """Return the place of the vector with the least size that is nowhere above this one; -1 if there is none."""
    best = -1
    for i in range(stored):
        # Sizes are compared first: that is cheaper than the vectors.
        if best >= 0 and sizes[i] >= sizes[best]:
            continue
        below = True
        for c in range(len(vector)):
            if vectors[i, c] > vector[c]:
                below = False
                break
        if below:
            best = i
    return best


@njit
def meeting_levels(levels: Ints, codes: Ints, outliers: Longs, out: Tinies) -> None:
    """Write for each outlier and tuple the lowest level at which their codes are equal; one above the top if never."""
    for i in range(len(outliers)):
        own = codes[outliers[i]]
        for j in range(len(codes)):
            level = 0
            while level < len(levels) and levels[level, own] != levels[level, codes[j]]:
                level += 1
            out[i, j] = level


@njit
def required_suppression(distances: Tinies, rows: Longs, outliers: Longs, vector: Tinies, k: int) -> int:
    """Return how many rows are of outliers to which fewer than k rows become equal at a vector of levels."""
    required = 0
    for i in range(len(outliers)):
        near = 0
        for j in range(len(rows)):
            equal = True
            for c in range(len(vector)):
                if distances[i, j, c] > vector[c]:
                    equal = False
                    break
            if equal:
                near += rows[j]
                # Enough rows become equal: how many more does not matter.
                if near >= k:
                    break
        if near < k:
            required += rows[outliers[i]]
    return required

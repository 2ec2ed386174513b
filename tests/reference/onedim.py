"""Hilbert curves, losses of groups and best partitions, said plainly and by trying everything."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from itertools import product
from random import Random

from treeanon.hierarchy import Hierarchy
from treeanon.schema.model import ClassSpec
from treeanon.table import Column, Table


def hilbert_place(point, bits):
    """How far along the curve a cell lies: the halves of the cube in the order of a Gray code, every second of its
    parts passed backwards.
    """
    if bits == 0:
        return 0
    top = [x >> (bits - 1) for x in point]
    low = [x - (t << (bits - 1)) for x, t in zip(point, top, strict=True)]
    for axis, is_high in enumerate(top):
        if is_high:
            low[0] = 2 ** (bits - 1) - 1 - low[0]
        else:
            low[0], low[axis] = low[axis], low[0]
    digit, bit = 0, 0
    for is_high in top:
        bit ^= is_high
        digit = 2 * digit + bit
    cells = 2 ** (len(point) * (bits - 1))
    below = hilbert_place(low, bits - 1)
    return digit * cells + (cells - 1 - below if digit % 2 else below)


def textbook_place(x, y, bits):
    """The same in two dimensions, as most books have it."""
    place = 0
    for level in range(bits - 1, -1, -1):
        half = 1 << level
        right, up = int(x & half > 0), int(y & half > 0)
        place += half * half * ((3 * right) ^ up)
        if not up:
            if right:
                x, y = half - 1 - (x & (half - 1)), half - 1 - (y & (half - 1))
            x, y = y, x
        x, y = x & (half - 1), y & (half - 1)
    return place


PATHS = [
    [["1", "low", "*"], ["3", "low", "*"], ["4", "high", "*"], ["8", "high", "*"]],
    [["x", "xy", "xyz", "*"], ["y", "xy", "xyz", "*"], ["z", "xyz", "*"], ["w", "*"]],
    [["p", "*"], ["q", "*"], ["r", "*"]],
    [["only"]],
]


def random_table(rnd: Random, rows: int, *, inner: bool = False) -> Table:
    """A few columns, some of them of integers; with missing values, and inner nodes if asked for."""
    rnd = Random(rnd.getrandbits(32))
    columns = []
    for number in range(rnd.randint(1, 3)):
        paths = rnd.choice(PATHS)
        hierarchy = Hierarchy.from_paths(paths)
        values = [path[0] for path in paths]
        if inner and rnd.random() < 0.3:
            values = list(hierarchy.texts)
        kind = "integer" if paths is PATHS[0] and values[0] == "1" and rnd.random() < 0.7 else "text"
        texts = ["" if rnd.random() < 0.1 else rnd.choice(values) for _ in range(rows)]
        spec = ClassSpec(f"c{number}", type=kind, hierarchy=hierarchy)
        columns.append(Column(spec, hierarchy, hierarchy.encode(texts)))
    return Table(tuple(columns))


def leaves_of(hierarchy, text):
    return [
        leaf
        for leaf in hierarchy.texts
        if not hierarchy.children(hierarchy.code(leaf))
        and hierarchy.code(text) in hierarchy.ancestors(hierarchy.code(leaf))
    ]


def lowest(hierarchy, texts):
    """The lowest node above all texts."""
    above = reduce(lambda a, b: [v for v in a if v in b], [hierarchy.ancestors(hierarchy.code(t)) for t in texts])
    return hierarchy.texts[above[0]]


def loss(column, texts, form, style):
    """The NCP of a group's values in one column, when published."""
    hierarchy = column.hierarchy
    leaves = leaves_of(hierarchy, hierarchy.root)
    known = {text for text in texts if text is not None}
    numeric = column.spec.type == "integer"
    by_value = form == "free" and numeric
    form = ("taxonomy" if numeric else "set") if form == "free" else form
    only_leaves = all(t is None or t in leaves for t in column.texts())
    if style == "auto":
        style = "ranges" if numeric else "hierarchy" if hierarchy.height > 1 else "sets"
    style = style if only_leaves else "hierarchy"
    if not known:
        return Fraction(0)
    if None in texts:
        return Fraction(int(style != "hierarchy" or len(leaves) > 1))
    span = max(len(leaves) - 1, 1)
    if form == "set" and style == "sets":
        return Fraction(len(known) - 1, span)
    if style != "hierarchy" and numeric:
        numbers = sorted(map(int, leaves))
        low, high = min(map(int, known)), max(map(int, known))
        if form == "set":
            return Fraction(numbers.index(high) - numbers.index(low), span)
        return Fraction(high - low, numbers[-1] - numbers[0])
    if style == "ranges" and form == "set":
        places = [leaves.index(text) for text in known]
        return Fraction(max(places) - min(places), span)
    below = leaves_of(hierarchy, lowest(hierarchy, known))
    if by_value:
        numbers, held = sorted(map(int, leaves)), sorted(map(int, below))
        return Fraction(held[-1] - held[0], numbers[-1] - numbers[0])
    covered = len(below)
    if form == "set":
        return Fraction(covered - 1, span)
    return Fraction(covered, len(leaves)) if covered > 1 else Fraction(0)


def group_loss(table, rows, form, style):
    texts = [column.texts() for column in table.quasi]
    return len(rows) * sum(
        loss(column, [own[r] for r in rows], form, style) for column, own in zip(table.quasi, texts, strict=True)
    )


def best_run(costs, rows, k):
    """The least cost of cutting the rows, as they follow each other, into groups of k and more of any size."""
    least = {0: 0}
    for stop in range(1, rows + 1):
        ways = [least[start] + costs(start, stop) for start in range(stop - k + 1) if start in least]
        if ways:
            least[stop] = min(ways)
    return least.get(rows)


def partitions(items):
    """All partitions of a list."""
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for i in range(len(rest)):
            yield [*rest[:i], [items[0], *rest[i]], *rest[i + 1 :]]


def expected_loss(column, texts, k, form, style):
    """The mean loss of k values drawn with replacement."""
    return sum(loss(column, list(drawn), form, style) for drawn in product(texts, repeat=k)) / len(texts) ** k


def entropy(sizes):
    return -sum(size / sum(sizes) * math.log2(size / sum(sizes)) for size in sizes)

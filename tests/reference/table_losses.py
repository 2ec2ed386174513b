"""Losses of tables, and best suppressions, said row by row and by trying everything."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from treeanon.hierarchy import Hierarchy
from treeanon.table import Table

PATHS = [
    [["a", "*"], ["b", "*"]],
    [
        ["1", "1-2", "1-4", "*"],
        ["2", "1-2", "1-4", "*"],
        ["3", "3-4", "1-4", "*"],
        ["4", "3-4", "1-4", "*"],
        ["5", "*"],
    ],
    [["x", "xy", "*"], ["y", "xy", "*"], ["z", "*", "*"]],
    [["only"]],
    [["p", "*"], ["q", "*"], ["r", "*"], ["s", "*"]],
]


@st.composite
def tables(draw, max_rows=7, max_columns=3, leaves_only=True, min_rows=0, paths=PATHS):
    """Small tables over known hierarchies, with missing values."""
    rows = draw(st.integers(min_rows, max_rows))
    columns = {}
    for i in range(draw(st.integers(1, max_columns))):
        hierarchy = Hierarchy.from_paths(draw(st.sampled_from(paths)))
        nodes = hierarchy.leaf_nodes if leaves_only else range(len(hierarchy))
        values = [None, *(hierarchy.texts[v] for v in nodes)]
        columns[f"c{i}"] = (draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows)), hierarchy)
    return Table.of_texts(columns)


def leaves(column, text):
    """The texts of the leaves under a text."""
    hierarchy = column.hierarchy
    return {h for h in hierarchy.texts if not hierarchy.children(hierarchy.code(h)) and text in chain(hierarchy, h)}


def chain(hierarchy, text):
    return [hierarchy.texts[v] for v in hierarchy.ancestors(hierarchy.code(text))]


def ncp(column, text, form):
    if text is None:
        return Fraction(0)
    covered, whole = len(leaves(column, text)), len(leaves(column, column.hierarchy.root))
    if form == "set":
        return Fraction(covered - 1, whole - 1) if whole > 1 else Fraction(0)
    return Fraction(0) if covered == 1 else Fraction(covered, whole)


def gcp(table, suppressed, form):
    cells = [ncp(column, text, form) for column in table.quasi for text in column.texts()]
    number = (len(table) + suppressed) * len(table.quasi)
    return (sum(cells) + suppressed * len(table.quasi)) / number if number else Fraction(0)


def levels_up(column, text):
    """By how many levels of a full-domain generalization a leaf must go up to become this text."""
    if text is None or not column.hierarchy.children(column.hierarchy.code(text)):
        return 0
    return column.hierarchy.height - (len(chain(column.hierarchy, text)) - 1)


def precision(table, suppressed):
    columns = [column for column in table.quasi if column.hierarchy.height]
    cells = [Fraction(levels_up(c, text), c.hierarchy.height) for c in columns for text in c.texts()]
    number = (len(table) + suppressed) * len(columns)
    return 1 - (sum(cells) + suppressed * len(columns)) / number if number else Fraction(1)


def groups(rows):
    return Counter(tuple(row) for row in rows)


def dm(rows, k, whole):
    """Of all rows, where those of groups smaller than k are suppressed."""
    return sum(n * n if n >= k else n * whole for n in groups(rows).values())


def cm(rows, labels, k):
    cost = 0
    for row, n in groups(rows).items():
        of_group = Counter(label for other, label in zip(rows, labels, strict=True) if other == row)
        cost += n - max(of_group.values()) if n >= k else n
    return cost


def partitions(items, k):
    """Every way to put items into groups of at least k."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for size in range(k - 1, len(rest) + 1):
        for others in combinations(rest, size):
            left = [item for item in rest if item not in others]
            for tail in partitions(left, k):
                yield [(first, *others), *tail]


def fewest_cells(rows, k):
    """The least number of cells to suppress for k-anonymity."""

    def cost(group):
        return len(group) * sum(len({rows[i][c] for i in group}) > 1 for c in range(len(rows[0])))

    return min(sum(map(cost, parts)) for parts in partitions(tuple(range(len(rows))), k))


def fewest_columns(rows, columns, k, most):
    """For the least number of columns to suppress: (columns, rows in groups smaller than k, minus groups left)."""
    for size in range(columns + 1):
        found = []
        for gone in combinations(range(columns), size):
            sizes = groups([row[c] for c in range(columns) if c not in gone] for row in rows).values()
            out = sum(n for n in sizes if n < k)
            if out <= most:
                found.append((size, out, -sum(n >= k for n in sizes)))
        if found:
            return min(found)
    raise AssertionError("no set will do")


def all_cuts(columns):
    """Every way to cut ordered columns of values into intervals: a mapping of value to interval per column."""
    if not columns:
        yield []
        return
    values = columns[0]
    for mask in range(1 << max(len(values) - 1, 0)):
        number, of_value = 0, {}
        for i, value in enumerate(values):
            number += bool(i and mask >> (i - 1) & 1)
            of_value[value] = number
        for rest in all_cuts(columns[1:]):
            yield [of_value, *rest]


def best_cut(table, k, cost, most):
    """The least cost of all cuts of the quasi columns that suppress at most so many rows."""
    codes = [np.where(c.codes < 0, len(c.hierarchy), c.codes).tolist() for c in table.quasi]
    rows = list(zip(*codes, strict=True))
    best = None
    for cut in all_cuts([sorted(set(column)) for column in codes]):
        recoded = [tuple(of[value] for of, value in zip(cut, row, strict=True)) for row in rows]
        out = sum(n for n in groups(recoded).values() if n < k)
        if out <= most:
            found = cost(recoded)
            best = found if best is None else min(best, found)
    return best

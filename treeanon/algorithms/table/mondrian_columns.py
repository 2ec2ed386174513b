"""A table's quasi columns as ranks of ordered values, with what groups of these lose as they are published."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.algorithms.table.options import STYLES, Style
from treeanon.algorithms.table.recoding import style_of
from treeanon.errors import UsageError
from treeanon.kernels.table.mondrian_columns import NODES, RANGES, SETS, UNIT, Shape
from treeanon.kernels.tree.forest import Flags, Ints, Longs
from treeanon.metrics.table.ncp import Floats, lowest_common, node_ncp
from treeanon.metrics.table.ranges import rank_places
from treeanon.table import Column, Table
from treeanon.table.covers import value_ranks
from treeanon.table.table import MISSING


@dataclass(frozen=True)
class Ordered:
    """A column's values in their order: `codes` of those that occur, a missing one first, and the rank of every code.

    Numbers are in their own order where ranges or sets are published, all other values in that of the hierarchy, which
    puts together what lies below one node. `own` is what each value loses by itself (or, of ranges, where in the whole
    it lies), `between` what the node above it and the one before it loses.
    """

    kind: int
    codes: Ints
    rank_of: Ints
    own: Ints
    between: Ints
    steps: int

    @classmethod
    def of(cls, column: Column, style: Style) -> Ordered:
        """The values of a column that is published in a style."""
        size = len(column.hierarchy)
        counts = np.bincount(column.codes + 1, minlength=size + 1)
        used = np.flatnonzero(counts).astype(np.int32) - 1
        style = style_of(Column(column.spec, column.hierarchy, used), style)
        kind = {"hierarchy": NODES, "ranges": RANGES, "sets": SETS}[style]
        if kind != NODES:
            ranks = np.append(value_ranks(column.hierarchy), -1)
            used = used[np.argsort(ranks[used], kind="stable")]
        rank_of = np.zeros(size + 1, np.int32)
        rank_of[used] = np.arange(len(used), dtype=np.int32)
        steps = max(int(column.hierarchy.leaf_count[0]) - 1, 1)
        own, between = np.zeros(len(used)), np.zeros(len(used))
        if kind == NODES and len(used):
            shares = node_ncp(column, "set")
            own = shares[used]
            above = lowest_common(column.hierarchy, np.maximum(used[:-1], 0), np.maximum(used[1:], 0))
            between[1:] = shares[np.where(used[:-1] == MISSING, 0, above)]
        elif kind == RANGES:
            places = rank_places(column)
            places = np.arange(steps + 1) / steps if places is None else places
            own = np.append(places, 0.0)[np.append(value_ranks(column.hierarchy), -1)[used]]
        return cls(kind, used, rank_of, _units(own), _units(between), steps)


def _units(shares: Floats) -> Ints:
    units: Ints = np.rint(shares * UNIT).astype(np.int32)
    return units


def ordered_columns(table: Table, style: Style) -> tuple[list[Ordered], Shape]:
    """The quasi columns, and the same as kernels know it."""
    if style not in STYLES:
        raise UsageError(f"there is no style {style!r} of published values; there is: {', '.join(STYLES)}")
    found = [Ordered.of(column, style) for column in table.quasi]
    sizes = [len(one.codes) for one in found]
    offset = np.append(0, np.cumsum(sizes)).astype(np.int64)
    deepest = max([size for one, size in zip(found, sizes, strict=True) if one.kind == NODES], default=1)
    jump = np.zeros((max(deepest.bit_length(), 1), int(offset[-1])), np.int32)
    for one, at in zip(found, offset.tolist(), strict=False):
        if one.kind == NODES:
            _fill(jump[:, at : at + len(one.codes)], one.between)
    return found, Shape(
        np.array([one.kind for one in found], np.int32),
        offset,
        np.concatenate([one.own for one in found]).astype(np.int32),
        jump,
        np.array([one.steps for one in found], np.int64),
        np.array([MISSING in one.codes[:1] for one in found], np.bool_),
    )


def _fill(jump: Ints, between: Ints) -> None:
    """Writes the greatest of each 2**b in a row of `between` to row b."""
    jump[0] = between
    for bit in range(1, len(jump)):
        half = 1 << (bit - 1)
        jump[bit] = jump[bit - 1]
        np.maximum(jump[bit, :-half], jump[bit - 1, half:], out=jump[bit, :-half])


def ranked_rows(table: Table, columns: list[Ordered], sensitive: Ints | None = None) -> Ints:
    """A line per row: its rank in each quasi column, that of its sensitive value (0: none), and its number."""
    data = np.zeros((len(table), len(columns) + 2), np.int32)
    for c, (column, ordered) in enumerate(zip(table.quasi, columns, strict=True)):
        data[:, c] = ordered.rank_of[column.codes]
    if sensitive is not None:
        data[:, -2] = sensitive
    data[:, -1] = np.arange(len(table), dtype=np.int32)
    return data


def numbered(data: Ints, starts: Flags) -> Longs:
    """The group of every row, where rows of a group lie side by side in `data` and `starts` says where one begins."""
    group = np.empty(len(data), np.int64)
    group[data[:, -1]] = np.cumsum(starts) - 1
    return group

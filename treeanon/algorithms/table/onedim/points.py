"""Rows of a table as points, a dimension a quasi column."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Floats, Ints, Longs
from treeanon.table import Column, Table
from treeanon.table.covers import value_ranks

_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Points:
    """points[r, c] is the rank of row r's value in the c-th quasi column, from 0 to sizes[c] - 1.

    Numbers rank by value, other values as the hierarchy has them, inner nodes before what is below them. A missing
    value ranks after all others.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"x": (["9", "10", None], Hierarchy.flat(["10", "9"]))})
    >>> Points.of(table).points.tolist(), Points.of(table).sizes.tolist()
    ([[0], [1], [2]], [3])
    """

    points: Ints
    sizes: Longs

    @classmethod
    def of(cls, table: Table) -> Points:
        """Return the points of a table's rows."""
        found = [column_ranks(column) for column in table.quasi]
        points = np.empty((len(table), len(found)), np.int32)
        for c, (ranks, _size) in enumerate(found):
            points[:, c] = ranks
        return cls(points, np.array([size for _ranks, size in found], np.int64))

    def __len__(self) -> int:
        return len(self.points)

    @property
    def scale(self) -> Floats:
        """What a step counts in each dimension, so that all are equally long."""
        return 1.0 / np.maximum(self.sizes - 1, 1)


def column_ranks(column: Column) -> tuple[Ints, int]:
    """Return the rank of every row's value, and how many ranks there are."""
    codes = column.codes
    ranks = value_ranks(column.hierarchy)
    seen = np.unique(codes)
    has_missing = len(seen) > 0 and seen[0] < 0
    if (ranks[seen[seen >= 0]] < 0).any():
        ranks = np.arange(len(column.hierarchy), dtype=np.int32)
    values = int(ranks.max(initial=0)) + 1
    return np.append(ranks, np.int32(values))[codes], values + has_missing


def in_blocks(task: Callable[[slice], None], rows: int) -> None:
    """Run the task for all rows, block by block, on all cores: kernels hold no interpreter lock."""
    blocks = [slice(start, min(start + _BLOCK, rows)) for start in range(0, rows, _BLOCK)]
    if len(blocks) < 2:
        for block in blocks:
            task(block)
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _done in pool.map(task, blocks):
            pass


def sorted_rows(keys: list[npt.NDArray[np.generic]]) -> Longs:
    """Return the rows sorted by the keys, the first of which counts most."""
    return np.argsort(keys[0]) if len(keys) == 1 else np.lexsort(keys[::-1])


def tuple_keys(points: Points, columns: Longs) -> list[npt.NDArray[np.generic]]:
    """Return keys by which rows sort lexicographically, as few as 64 bits each allow."""
    keys: list[npt.NDArray[np.generic]] = []
    key, room = np.zeros(len(points), np.int64), 1
    for c in columns.tolist():
        size = int(points.sizes[c])
        if room * size >= 2**63:
            keys.append(key)
            key, room = np.zeros(len(points), np.int64), 1
        key = key * size + points.points[:, c]
        room *= size
    return [*keys, key]

"""Published values as runs of the values that they stand for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.kernels.tree.forest import Ints, Longs
from treeanon.table import Column
from treeanon.table.covers import value_ranks


@dataclass(frozen=True)
class Runs:
    """For each published value v the ranks of leaves low[r] .. high[r], for all r of starts[v] .. starts[v + 1] - 1.

    Runs of a value ascend. The rank after all leaves is that of a missing value.
    """

    starts: Longs
    low: Ints
    high: Ints

    @property
    def counts(self) -> Longs:
        """How many leaves each value stands for; a missing value counts as one."""
        sizes = np.append(0, np.cumsum(self.high.astype(np.int64) - self.low + 1))
        return np.diff(sizes[self.starts])


def runs_of(column: Column, *, missing: bool) -> Runs:
    """The runs of all published values that occur in a column, by code, and at the end of the missing value.

    Where the input has `missing` values, the root of the hierarchy may stand for one too. What does not occur has no
    runs.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> column = Table.of_texts({"x": (["3", "*"], Hierarchy.flat(["3", "1", "2"]))}).columns[0]
    >>> runs = runs_of(column, missing=True)
    >>> runs.starts.tolist(), runs.low.tolist(), runs.high.tolist(), runs.counts.tolist()
    ([0, 1, 2, 2, 2, 3], [0, 2, 3], [3, 2, 3], [4, 1, 0, 0, 1])
    """
    leaves = len(column.hierarchy.leaf_nodes)
    found: list[list[tuple[int, int]]] = [[] for _ in range(column.size)] + [[(leaves, leaves)]]
    for code in np.unique(column.codes[column.codes >= 0]).tolist():
        held, with_missing = _cover(column, code) if column.covers is not None else _node(column, code)
        held = np.append(held, leaves) if with_missing and missing else held
        # What can only be missing, in a column that has no missing values, stands for what nobody asks for.
        found[code] = _runs_in(held) if len(held) else [(leaves, leaves)]
    pairs = [pair for runs in found for pair in runs]
    low, high = (np.array([pair[end] for pair in pairs], np.int32) for end in (0, 1))
    return Runs(np.append(0, np.cumsum([len(runs) for runs in found])).astype(np.int64), low, high)


def _node(column: Column, code: int) -> tuple[Longs, bool]:
    ranks = value_ranks(column.hierarchy)[column.hierarchy.leaves(code)].astype(np.int64)
    return np.sort(ranks), code == 0


def _cover(column: Column, code: int) -> tuple[Longs, bool]:
    covers = column.covers
    assert covers is not None
    members = covers.members[covers.starts[code] : covers.starts[code + 1]].astype(np.int64)
    if not len(members):
        members = np.arange(covers.low[code], covers.high[code] + 1)
    return members, bool(covers.missing[code])


def _runs_in(ranks: Longs) -> list[tuple[int, int]]:
    """The first and last of each run of numbers that follow each other."""
    breaks = np.flatnonzero(np.diff(ranks) != 1)
    firsts = ranks[np.append(0, breaks + 1)]
    return list(zip(firsts.tolist(), ranks[np.append(breaks, len(ranks) - 1)].tolist(), strict=True))

"""Which originals every published tuple covers: a k-regular bipartite graph.

After FREE (k-anonymization by freeform generalization): every published tuple covers k originals, and every original is
covered by k published tuples, so that each of them can be its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treeanon.algorithms.table.options import Style
from treeanon.algorithms.table.recoding import recoded_members
from treeanon.kernels.table.freeform_prices import Prices, tuple_costs
from treeanon.kernels.tree.forest import Ints, Longs
from treeanon.table import Column, Table


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """edges[j] has the k originals, by their row, that published tuple j covers; each original is in k of them.

    Which original is behind a published tuple is not said here.

    >>> graph = Graph(np.array([[0, 1], [1, 2], [2, 0]], np.int32))
    >>> graph, graph.is_regular
    (<Graph: 3 tuples, each covering 2>, True)
    >>> Graph(np.array([[0, 0], [1, 1]], np.int32)).is_regular
    False
    """

    edges: Ints

    def __repr__(self) -> str:
        return f"<Graph: {len(self):,} tuples, each covering {self.k:,}>"

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def k(self) -> int:
        """How many originals a published tuple covers."""
        return int(self.edges.shape[1])

    @property
    def is_regular(self) -> bool:
        """Whether every published tuple covers k different originals, and each of them is covered by k."""
        if not self.edges.size:
            return True
        inside = self.edges.min() >= 0 and self.edges.max() < len(self)
        own = np.sort(self.edges, axis=1)
        return bool(
            inside
            and (own[:, 1:] != own[:, :-1]).all()
            and (np.bincount(self.edges.ravel(), minlength=len(self)) == self.k).all()
        )

    def published(self, table: Table, style: Style = "auto") -> tuple[Column, ...]:
        """The quasi columns of the published tuples: each has a value that covers its originals.

        >>> from treeanon.hierarchy import Hierarchy
        >>> table = Table.of_texts({"x": (["1", "2", "4"], Hierarchy.flat(["1", "2", "3", "4"]))})
        >>> Graph(np.array([[0, 1], [1, 2], [2, 0]], np.int32)).published(table, "ranges")[0].texts()
        ['1 … 2', '2 … 4', '1 … 4']
        """
        offsets = np.arange(0, self.edges.size + 1, self.k, dtype=np.int64)
        return recoded_members(table, offsets, self.edges.ravel().astype(np.int64), style)

    def gcp(self, prices: Prices) -> float:
        """The mean NCP of the published tuples, 0 to 1, by the prices of the table's rows."""
        columns = max(len(prices.kinds), 1)
        return float(tuple_costs(prices, self.edges).sum()) / (max(len(self), 1) * columns)


def rings(rows: Longs, sizes: Longs, k: int) -> Ints:
    """The edges of rings: rows in an order, cut into groups of these sizes, each at least k, in each of which a tuple
    covers a row and the k - 1 after it, and the last rows are followed by the first.

    >>> rings(np.array([3, 1, 2, 0, 4]), np.array([2, 3]), 2).tolist()
    [[0, 4], [1, 3], [2, 0], [3, 1], [4, 2]]
    """
    place = np.arange(len(rows))
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    within = (place - starts)[:, None] + np.arange(k)
    found = rows[starts[:, None] + within % np.repeat(sizes, sizes)[:, None]]
    edges = np.empty((len(rows), k), np.int32)
    edges[rows] = found
    return edges

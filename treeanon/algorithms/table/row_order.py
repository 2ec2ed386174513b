"""The rows of a table in an order that says nothing of them but what their quasi columns do.

A file's rows may come in an order that tells of what is sensitive: sorted by diagnosis, say. Searches must decide
between rows that are alike, and between tuples that cost the same, and do so by the numbers of the rows. Who knows both
could tell which ways to match rows and tuples such a file can not have led to. So rows are sorted by their values
first, and those that are alike come in random order: then no graph, and no partition by a search that looks at quasi
columns alone, depends on more than these and chance.
"""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.table.freeform.matchings import Randomness
from treeanon.kernels.tree.forest import Longs
from treeanon.table import Table


def unordered_rows(table: Table, randomness: Randomness) -> Longs:
    """The numbers of the rows, sorted by the quasi columns; those of rows that are alike in random order.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"x": ("bab", Hierarchy.flat("ab"))})
    >>> unordered_rows(table, Randomness()).tolist() in ([1, 0, 2], [1, 2, 0])
    True
    """
    rows = randomness.order(len(table))
    return rows[np.lexsort([column.codes[rows] for column in table.quasi])]

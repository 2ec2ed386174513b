"""Rows spread evenly over boxes of cells, added up in the cells that a query looks at.

The cells looked at are a tree: nodes are numbered level by level, node n is one cell of its level's column, and its
children are the nodes child[n] .. child[n + 1] - 1, in ascending order; nodes of the last level have none. A path from
the top is a cell of the query.
"""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Floats, Ints, Longs
from treeanon.kernels.jit import njit, read_only


def spread(
    lines: Longs, weights: Floats, starts: Longs, low: Ints, high: Ints, cell: Ints, child: Longs, last: int
) -> Floats:
    """Return what falls into each cell of the query, a node of the last level, which begins at node `last`.

    Line i is a box, lines[i, j] its value in column j; each of its cells gets weights[i]. Value v is the cells from
    low[r] to high[r] for all r of starts[v] .. starts[v + 1] - 1.

    >>> lines, starts = np.array([[0, 2], [1, 2]]), np.array([0, 1, 2, 3])
    >>> low, high = np.array([[0, 2, 1], [1, 2, 1]], np.int32)
    >>> cells, child = np.array([0, 2, 1, 0], np.int32), np.array([2, 3, 4])
    >>> spread(lines, np.array([0.5, 1.0]), starts, low, high, cells, child, 2).tolist()
    [0.5, 0.0]
    """
    return _spread(last, *read_only(lines, weights, starts, low, high, cell, child))


@njit
def _spread(
    last: int, lines: Longs, weights: Floats, starts: Longs, low: Ints, high: Ints, cell: Ints, child: Longs
) -> Floats:
    columns = lines.shape[1]
    # What is no child of another is at the top; of a single level that is all.
    top = child[0] if columns > 1 else len(cell)
    out = np.zeros(len(cell) - last, np.float64)
    run = np.empty(columns, np.int64)
    at = np.empty(columns, np.int64)
    end = np.empty(columns, np.int64)
    for i in range(len(lines)):
        depth = 0
        run[0] = starts[lines[i, 0]]
        end[0] = top
        at[0] = _first(cell, 0, end[0], low[run[0]])
        while depth >= 0:
            if at[depth] == end[depth] or cell[at[depth]] > high[run[depth]]:
                run[depth] += 1
                if run[depth] == starts[lines[i, depth] + 1]:
                    depth -= 1
                else:
                    at[depth] = _first(cell, at[depth], end[depth], low[run[depth]])
                continue
            node = at[depth]
            at[depth] += 1
            if depth == columns - 1:
                out[node - last] += weights[i]
                continue
            depth += 1
            run[depth] = starts[lines[i, depth]]
            end[depth] = child[node + 1]
            at[depth] = _first(cell, child[node], end[depth], low[run[depth]])
    return out


@njit
def _first(cell: Ints, begin: int, end: int, least: int) -> int:
    """Return the first node from begin on whose cell is no less than the least."""
    while begin < end:
        middle = (begin + end) // 2
        if cell[middle] < least:
            begin = middle + 1
        else:
            end = middle
    return begin

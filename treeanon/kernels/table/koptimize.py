"""The loop of k-Optimize: what each value would bring that may still be added to an anonymization."""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit


@njit
def try_values(
    ranks: Ints,
    weights: Longs,
    labels: Longs,
    floor: Longs,
    group: Longs,
    groups: int,
    column: Longs,
    bound: Longs,
    k: int,
    penalty: int,
) -> tuple[Longs, Longs, Longs, Longs, Flags]:
    """Return for each value (a column and the rank from which on it is another interval) what comes of adding it.

    Gives a lower bound of the cost of all that holds it, its own cost, the rows suppressed, how many groups it splits,
    and whether it is of use: whether it leaves one of these with a part of at least k.

    Each tuple stands for `weights` rows, of which `labels` have each label (no columns: cost DM), is in a group, and
    costs at least its `floor` unless its group is suppressed; then a row costs `penalty`.
    """
    values, tuples, kinds = len(column), len(weights), labels.shape[1]
    lower, cost = np.zeros(values, np.int64), np.zeros(values, np.int64)
    out, splits = np.zeros(values, np.int64), np.zeros(values, np.int64)
    is_useful = np.zeros(values, np.bool_)
    sizes = np.zeros((groups, 2), np.int64)
    held = np.zeros((groups, 2, kinds), np.int64)
    for t in range(values):
        c, b = column[t], bound[t]
        # One pass over the tuples splits every group by this value alone.
        sizes[:] = 0
        held[:] = 0
        for i in range(tuples):
            side = 1 if ranks[i, c] >= b else 0
            sizes[group[i], side] += weights[i]
            for j in range(kinds):
                held[group[i], side, j] += labels[i, j]
        for g in range(groups):
            if sizes[g, 0] and sizes[g, 1]:
                splits[t] += 1
                # A value of which both parts are always too small splits nothing that is published.
                if sizes[g, 0] >= k or sizes[g, 1] >= k:
                    is_useful[t] = True
            for side in range(2):
                size = sizes[g, side]
                if size < k:
                    out[t] += size
                elif kinds:
                    cost[t] += size - held[g, side].max()
                else:
                    cost[t] += size * size
        # The bound counts the floor of every row that need not be suppressed, the cost what its group costs now.
        cost[t] += out[t] * penalty
        lower[t] = out[t] * penalty
        for i in range(tuples):
            side = 1 if ranks[i, c] >= b else 0
            if sizes[group[i], side] >= k:
                lower[t] += floor[i]
    return lower, cost, out, splits, is_useful

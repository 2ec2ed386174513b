"""What any graph costs at least: a bound by which to tell how far from the least a search can be.

Let every row have a worth, any number. The tuples of a graph cover each row k times: so they cost as much as all rows
are worth k times, and what is left of each tuple's cost when the worth of its rows is taken from it. None of the n
tuples has less left than the one of all possible tuples that has least. So no graph costs less than

    k · (worth of all rows) + n · (the least that is left of any tuple).

That holds for every worth. The dual of the linear program over tuples gives one for which the bound is near to what the
program costs; and the least that is left is found by a walk through all tuples that leaves out only what cannot be it.
"""

from __future__ import annotations

import time

import numpy as np

from treeanon.algorithms.table.freeform.exchange_master import Demand, Pool, priced
from treeanon.algorithms.table.freeform.exchange_parts import Tuples
from treeanon.kernels.table.exchange_columns import Floats
from treeanon.kernels.table.exchange_walk import worthiest
from treeanon.kernels.table.freeform_prices import tuple_costs

_SHARES = 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002
_ROUNDS, _LOOKS = 20, 1_000_000


def least_cost(tuples: Tuples, seconds: float = 60.0, *, looks: int = _LOOKS) -> float:
    """A cost that no graph over the rows of these tuples is below: theirs, and all others that cover as much.

    What has been found in the time, the first step of which may take longer. No more than `looks` beginnings of tuples
    are looked at for every class to begin with: where that is not enough the bound is lower.
    """
    end, k = time.monotonic() + seconds, tuples.members.shape[1]
    if k == 1 or not len(tuples):
        return 0.0
    need = np.bincount(tuples.members.ravel(), minlength=len(tuples.most)).astype(np.int64)
    demand = Demand(tuples.prices, need, tuples.most, k)
    pool, worth, width = Pool.begun(demand, tuples.members)
    best = 0.0
    for share in _SHARES:
        added = 1
        while added and time.monotonic() < end:
            found = priced(demand, pool, worth, width, _ROUNDS, lambda: False)
            worth, width = (worth, width) if found is None else (found[2], _ROUNDS * float(abs(worth).mean()) / 1000)
            bound, added = _bound(demand, pool, worth, share, looks)
            best = max(best, bound)
    return best


def _bound(demand: Demand, pool: Pool, worth: Floats, share: float, looks: int) -> tuple[float, int]:
    """The bound that these worths give, and how many tuples were found for the pool that would be worth more.

    Only tuples of which less is left than nothing, by a share of the mean cost, are looked for.
    """
    whole = float(demand.need @ worth)
    below = -share * max(whole, 0.0) / demand.tuples - 1e-12
    begin = np.arange(len(worth))
    members, left, is_sure = worthiest(demand.prices, demand.most, worth, begin, demand.k, below, looks)
    chosen = members[left < below]
    added = pool.add(chosen, tuple_costs(demand.prices, chosen)) if len(chosen) else 0
    # No member is worth more than the first, and nothing costs less than nothing.
    left = np.where(is_sure, left, np.minimum(left, -demand.k * np.maximum(worth, 0.0)))
    return whole + demand.tuples * float(left.min()), added

"""The best tuples for some demand: a linear program whose columns are tuples, which are made as they are needed.

A tuple that is published x times covers each of its members x times; what is looked for is the least cost by which
every class is covered as often as it must be. With x as fractions that is a linear program. Its dual says what each
class is worth, and which tuples are missing: those that cost less than their members are worth. In the end x is made
whole, tuple by tuple, the program being solved again for what is left.

The program is solved by SciPy (HiGHS); tuples that are missing are found by a heuristic, so it need not be the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Floats, Ints, Longs
from treeanon.kernels.table.exchange_walk import worthwhile
from treeanon.kernels.table.freeform_prices import Prices, tuple_costs

_ROUNDS, _AGAIN = 40, 4
_WIDTH, _NARROWER, _LEAST = 4.0, 0.8, 0.02
_SMALL = 1e-7
_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Demand:
    """Every class must be covered need[v] times in all, and at most most[v] times by a tuple of k members."""

    prices: Prices
    need: Longs
    most: Ints
    k: int

    @property
    def tuples(self) -> int:
        """How many tuples are published."""
        return int(self.need.sum()) // self.k


@dataclass
class Pool:
    """Tuples that could be published: their members, ascending, a row each, and what they cost."""

    members: Ints
    costs: Floats

    @classmethod
    def of(cls, members: Ints, prices: Prices) -> Pool:
        """Return the pool of these tuples."""
        known = np.unique(np.sort(members, axis=1), axis=0)
        return cls(known, tuple_costs(prices, known))

    @classmethod
    def begun(cls, demand: Demand, members: Ints) -> tuple[Pool, Floats, float]:
        """Return a pool of tuples and others like them, what classes may be worth, and how far that may be wrong."""
        pool = cls.of(members, demand.prices)
        worth, width = _fair_worth(demand, members)
        for share in (0.6, 0.8, 1.0):
            _extend(demand, pool, worth * share, np.arange(len(worth)))
        return pool, worth, width

    def add(self, members: Ints, costs: Floats) -> int:
        """Add those that are new; return how many these are."""
        before = len(self.costs)
        both = np.concatenate([self.members, members])
        _, first = np.unique(both, axis=0, return_index=True)
        first.sort()
        self.members = both[first]
        self.costs = np.concatenate([self.costs, costs])[first]
        return len(self.costs) - before


@dataclass(frozen=True, eq=False)
class Solved:
    """How often each tuple of a pool is published, as a fraction; what every class is worth; what has no tuple yet."""

    times: Floats
    worth: Floats
    missing: float


def solved(pool: Pool, need: Longs, worth: Floats, width: float) -> Solved | None:
    """Return the linear program over the tuples of a pool, by which no class is worth more or less than `width` from
    before.

    What is not covered then costs that, and so does what is covered too often. None if the solver does not end well.
    """
    from scipy.optimize import linprog

    count, classes = len(pool.members), len(need)
    costs = np.concatenate([pool.costs, worth + width, width - worth])
    # Without bounds a class that was worth too much could be covered too often without end.
    above = np.concatenate([np.full(count, np.inf), need, need])
    bounds = np.stack([np.zeros(len(above)), above], axis=1)
    equal = _covering(pool.members, classes)
    found = linprog(costs, A_eq=equal, b_eq=need.astype(np.float64), bounds=bounds, method="highs-ds")
    if found.status != 0:
        return None
    return Solved(found.x[:count], np.asarray(found.eqlin.marginals), float(found.x[count:].sum()))


def _covering(members: Ints, classes: int) -> Any:
    """Return which classes each tuple covers, and how often; then one column for a class, and one for less of it."""
    from scipy.sparse import csc_matrix

    is_first = np.ones(members.shape, np.bool_)
    is_first[:, 1:] = members[:, 1:] != members[:, :-1]
    first = np.append(np.flatnonzero(is_first), members.size)
    own = np.arange(classes)
    times = np.concatenate([np.diff(first), np.ones(classes), -np.ones(classes)])
    rows = np.concatenate([members[is_first], own, own])
    starts = np.append(0, np.cumsum(np.append(is_first.sum(axis=1), np.ones(2 * classes, np.int64))))
    return csc_matrix((times, rows, starts), shape=(classes, len(members) + 2 * classes))


def best_tuples(demand: Demand, members: Ints, is_over: Callable[[], bool]) -> Ints | None:
    """Return tuples that cover as much as these do, and perhaps cost less; None if there is no time or the solver
    fails.

    They are not compared with those given.
    """
    pool, worth, width = Pool.begun(demand, members)
    need, left, taken = demand.need.copy(), demand.tuples, list[Ints]()
    while left:
        rest = replace(demand, need=need, most=np.minimum(demand.most, need).astype(np.int32))
        found = priced(rest, pool, worth, width, _ROUNDS if not taken else _AGAIN, is_over)
        if found is None:
            return None if is_over() else np.concatenate([*taken, _filled(need, left, demand.k)])
        own, times, worth = found
        before = left
        whole = np.floor(times + _SMALL)
        left = _take(demand, own, whole, need, left, taken, left)
        likely = np.argsort(whole - times, kind="stable")[: int((times - whole > _SMALL).sum())]
        quota = max(int(_SHARE * (times - whole).sum()), 1)
        left = _take(demand, own[likely], np.ones(len(likely)), need, left, taken, quota)
        if left == before:
            break
    return np.concatenate([*taken, _filled(need, left, demand.k)])


def priced(
    demand: Demand, pool: Pool, worth: Floats, width: float, rounds: int, is_over: Callable[[], bool]
) -> tuple[Ints, Floats, Floats] | None:
    """Return how often, as a fraction, to publish each of some tuples, and what classes are worth then.

    Tuples that are missing are made and added to the pool. None if there is no time or the solver fails.
    """
    least = _LEAST * width / _WIDTH
    begin = np.flatnonzero(demand.need > 0)
    solution = None
    for _round in range(rounds):
        if is_over():
            return None
        fits = _fitting(pool, demand.need)
        own = Pool(pool.members[fits], pool.costs[fits])
        found = solved(own, demand.need, worth, width) if len(own.costs) else None
        if found is None:
            break
        worth, width = found.worth, max(width * _NARROWER, least)
        solution = own.members, found.times, worth
        if _extend(demand, pool, worth, begin) <= len(begin) // 100 and found.missing < 1:
            break
    return solution


def _fair_worth(demand: Demand, members: Ints) -> tuple[Floats, float]:
    """Return what classes are worth if the members of a tuple share its cost, and how far that may be wrong at
    first.
    """
    costs = tuple_costs(demand.prices, members) / demand.k
    worth = np.bincount(members.ravel(), np.repeat(costs, demand.k), len(demand.need)) / demand.need
    return worth, _WIDTH * float(worth.mean()) + 1e-6


def _extend(demand: Demand, pool: Pool, worth: Floats, begin: Longs) -> int:
    """Add tuples that cost less than their members are worth; return how many."""
    members, costs, left = worthwhile(demand.prices, demand.most, worth, begin, demand.k)
    chosen = left < -_SMALL
    return pool.add(members[chosen], costs[chosen]) if chosen.any() else 0


def _fitting(pool: Pool, need: Longs) -> npt.NDArray[np.bool_]:
    """Return which tuples cover no class more often than is still needed."""
    members = pool.members
    count = np.ones(len(members), np.int64)
    fits = need[members[:, 0]] >= 1
    for j in range(1, members.shape[1]):
        count = np.where(members[:, j] == members[:, j - 1], count + 1, 1)
        fits &= need[members[:, j]] >= count
    return fits


def _take(demand: Demand, members: Ints, times: Floats, need: Longs, left: int, taken: list[Ints], quota: int) -> int:
    """Take tuples as often as is said, `quota` at most, each only if the others can still be made; return how many are
    left to be made. What is needed changes in place.
    """
    for q in np.flatnonzero(times > 0).tolist():
        own, count = np.unique(members[q], return_counts=True)
        # So many tuples as are left then can cover every class as often as it needs.
        room, each = demand.most * left - need, demand.most.astype(np.int64)
        each[own] -= count
        asks = each > 0
        limits = (
            int(times[q]),
            quota,
            left,
            int((need[own] // count).min()),
            int((room[asks] // each[asks]).min(initial=left)),
        )
        copies = min(limits)
        if copies > 0:
            need[own] -= copies * count
            left -= copies
            quota -= copies
            taken.append(np.repeat(members[q : q + 1], copies, axis=0))
    return left


def _filled(need: Longs, left: int, k: int) -> Ints:
    """Return the tuples that are left, classes dealt out to them one after the other."""
    dealt = np.repeat(np.arange(len(need)), need)
    return np.ascontiguousarray(dealt.reshape(k, left).T).astype(np.int32) if left else np.empty((0, k), np.int32)

"""Tuples that give all members away and get others: who gets which is an assignment at the least cost.

After Hungarian of FREE, which makes tuples so, member by member. Here it is also a way to improve on tuples: each gives
one member away, any of them, and what it has given costs no more when all are given out again as is best. That is an
exchange among all tuples at once, of which exchanges between two are the simplest case.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from treeanon.kernels.table.exchange_offers import NEVER, fill_offers
from treeanon.kernels.table.freeform_prices import Floats, Prices
from treeanon.kernels.tree.forest import Ints, Longs

_PATIENCE = 2


def reassigned(prices: Prices, members: Ints, most: Ints, seed: int, is_over: Callable[[], bool]) -> Ints:
    """The members after rounds of giving one away and getting one, as long as that pays; they never cost more."""
    count, k = members.shape
    members, rnd = members.copy(), np.random.default_rng(seed)
    costs = np.empty((count, count))
    idle = 0
    while idle < _PATIENCE * k and not is_over():
        idle += 1
        # Every member is given away once in k rounds.
        if idle % k == 1 or k == 1:
            members = np.ascontiguousarray(rnd.permuted(members, axis=1))
        given = np.full(count, idle % k)
        gained = _assign(prices, members, given, most, costs)
        if gained > 1e-9:
            idle = idle % k
    return members


def made_anew(prices: Prices, members: Ints, most: Ints, places: Longs, is_over: Callable[[], bool]) -> Ints | None:
    """Other tuples that cover as much, made member by member; None if there is no time, or no way.

    `places` says where classes are in an order: what is given out in one round comes from everywhere in it.
    """
    count, k = members.shape
    flat = members.ravel()
    found = np.ascontiguousarray(flat[np.argsort(places[flat], kind="stable")].reshape(count, k))
    costs = np.empty((count, count))
    for number in range(1, k):
        if is_over():
            return None
        begun = np.ascontiguousarray(found[:, : number + 1])
        _assign(prices, begun, np.full(count, number), most, costs)
        found[:, number] = begun[:, number]
        if costs.max() >= NEVER and not _fits(found[:, : number + 1], most):
            return None
    return found


def _assign(prices: Prices, members: Ints, given: Longs, most: Ints, costs: Floats) -> float:
    """Gives out again, in place, what the tuples give away, at the least cost; returns what is gained."""
    from scipy.optimize import linear_sum_assignment

    fill_offers(prices, members, given, most, costs)
    rows = np.arange(len(members))
    taken = linear_sum_assignment(costs)[1]
    gained = float(costs[rows, rows].sum() - costs[rows, taken].sum())
    members[rows, given] = members[taken, given[taken]]
    return gained


def _fits(members: Ints, most: Ints) -> bool:
    """Whether no tuple covers a class more often than it has rows."""
    own = np.sort(members, axis=1)
    run, fits = np.ones(len(own), np.int64), np.ones(len(own), np.bool_)
    for j in range(1, own.shape[1]):
        run = np.where(own[:, j] == own[:, j - 1], run + 1, 1)
        fits &= run <= most[own[:, j]]
    return bool(fits.all())

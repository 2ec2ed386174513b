"""Exchanges of edges between published tuples that each cover k rows, so that these cost less.

Rows that are alike make a class, and a tuple covers some rows of a class, whichever: members[t] has the classes of the
k rows that tuple t covers, no class more often than it has rows. When two tuples exchange a member, every row is still
covered as often as before.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.kernels.jit import njit
from treeanon.kernels.sorting import sort
from treeanon.kernels.table.freeform_prices import Prices
from treeanon.kernels.table.orders import RANGES, SETS

_SCALE = 1.0 / (1 << 53)


class Near(NamedTuple):
    """Orders of the classes in which those that are alike lie near each other: classes[o] is the o-th order, and
    places[o] where in it each class is. Partners are looked for at most `reach` from a class.
    """

    classes: Ints
    places: Ints
    reach: int


class Slots(NamedTuple):
    """The tuples that cover each class: those of class v are tuples[starts[v]:starts[v + 1]], one for every member."""

    starts: Longs
    tuples: Ints


def slots_of(members: Ints, classes: int) -> Slots:
    """Return which tuples cover each of the classes."""
    flat = members.ravel()
    order = np.argsort(flat, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(flat, minlength=classes))).astype(np.int64)
    return Slots(starts, (order // members.shape[1]).astype(np.int32))


@njit
def _random(state: Longs) -> int:
    """Return the next random number of 63 bits: xorshift of a state that is not 0."""
    x = np.uint64(state[0])
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = np.int64(x)
    return int(np.int64(x >> np.uint64(1)))


@njit
def _below(state: Longs, limit: int) -> int:
    return (_random(state) >> 20) % limit


@njit
def _unit(state: Longs) -> float:
    return (_random(state) >> 10) * _SCALE


@njit
def _ends(values: Ints, members: Ints, c: int, t: int, a: int) -> tuple[int, int, bool]:
    """Return the least and the greatest value of a tuple without its member a, -1 without any; whether some are
    missing.
    """
    low, high, missing = -1, -1, False
    for j in range(members.shape[1]):
        if j == a:
            continue
        value = int(values[members[t, j], c])
        if value < 0:
            missing = True
        elif high < 0:
            low, high = value, value
        else:
            low, high = min(low, value), max(high, value)
    return low, high, missing


@njit
def _ends_cost(prices: Prices, c: int, low: int, high: int, missing: bool, value: int) -> float:
    """Return what a range or a node costs that covers all from low to high (none if that is negative), and one value
    more.
    """
    if value < 0:
        missing = True
    elif high < 0:
        low, high = value, value
    else:
        low, high = min(low, value), max(high, value)
    if high < 0:
        return 0.0
    if missing:
        return float(prices.mixed[c])
    at = prices.starts[c]
    if prices.kinds[c] == RANGES:
        return float(prices.shares[at + high] - prices.shares[at + low])
    while high >= prices.end[at + low]:
        low = prices.parent[at + low]
    return float(prices.shares[at + low])


@njit
def _set_cost(prices: Prices, c: int, members: Ints, t: int, a: int, instead: int) -> float:
    """Return what a set costs with another value in place of that of member a, where some may be missing."""
    distinct, missing, k = 0, False, members.shape[1]
    for j in range(k):
        value = instead if j == a else prices.values[members[t, j], c]
        if value < 0:
            missing = True
            continue
        is_new = 1
        for i in range(j):
            if (instead if i == a else prices.values[members[t, i], c]) == value:
                is_new = 0
                break
        distinct += is_new
    if distinct == 0:
        return 0.0
    return float(prices.mixed[c] if missing else (distinct - 1) * prices.shares[prices.starts[c]])


_MISSING = 2


@njit
def _set_change(values: Ints, members: Ints, c: int, t: int, a: int, old: int, new: int) -> int:
    """Return how many values more a set has with another one in place of that of member a; _MISSING if some are
    missing.
    """
    has_old, has_new, missing = False, False, old < 0 or new < 0
    for j in range(members.shape[1]):
        if j == a:
            continue
        value = values[members[t, j], c]
        if value == old:
            has_old = True
        elif value == new:
            has_new = True
        elif value < 0:
            missing = True
        # With both among the others nothing changes, whatever else is there.
        if has_old and has_new:
            return 0
    return _MISSING if missing else int(has_old) - int(has_new)


@njit
def change(prices: Prices, members: Ints, t: int, a: int, other: int) -> float:
    """Return how much more a tuple costs when it covers a row of another class in place of its member a."""
    found = 0.0
    own = members[t, a]
    values, kinds = prices.values, prices.kinds
    for c in range(len(kinds)):
        old, new = values[own, c], values[other, c]
        if old == new:
            continue
        if kinds[c] != SETS:
            low, high, missing = _ends(values, members, c, t, a)
            if missing or high < 0 or min(old, new) < low or max(old, new) > high:
                found += _ends_cost(prices, c, low, high, missing, new) - _ends_cost(prices, c, low, high, missing, old)
            continue
        more = _set_change(values, members, c, t, a, old, new)
        if more == _MISSING:
            found += _set_cost(prices, c, members, t, a, new) - _set_cost(prices, c, members, t, a, old)
        elif more:
            found += more * prices.shares[prices.starts[c]]
    return found


@njit
def _has_room(members: Ints, t: int, a: int, other: int, most: int) -> bool:
    """Return whether a tuple covers fewer rows of a class than there are; not counting its member a."""
    for j in range(members.shape[1]):
        most -= j != a and members[t, j] == other
    return most > 0


@njit
def _replace(tuples: Ints, start: int, old: int, new: int) -> None:
    """Put a tuple in the place of another one among those that cover a class."""
    while tuples[start] != old:
        start += 1
    tuples[start] = new


@njit
def exchange(
    prices: Prices,
    members: Ints,
    slots: Slots,
    most: Ints,
    near: Near,
    live: Longs,
    heat: float,
    tries: int,
    state: Longs,
) -> float:
    """Exchange members of the tuples, in place; returns how much more all tuples cost then.

    One of two tuples is always one of those `live`; a class near one of its members is looked for among the members of
    the other, or near the other's members. What makes tuples dearer by x is accepted with probability exp(-x / heat).
    (One function: a call of each part would cost more than the part.)
    """
    found, k, orders = 0.0, members.shape[1], len(near.classes)
    if len(live) == 0 or orders == 0:
        return found
    reach = math.log(near.reach)
    for _try in range(tries):
        # Draw a member of a live tuple, and a class near it, or near another member of the tuple that gives it.
        t, a = int(live[_below(state, len(live))]), _below(state, k)
        own, o = members[t, a], _below(state, orders)
        # Short ways are drawn as often as long ones: the logarithm of the distance is uniform.
        way = int(math.exp(_unit(state) * reach))
        bits = _random(state) >> 30
        is_near_others = bits & 1 == 1
        place = near.places[o, members[t, _below(state, k)] if is_near_others else own]
        place += way if bits & 2 else -way
        if place < 0 or place >= near.classes.shape[1]:
            continue
        other = near.classes[o, place]
        first, last = slots.starts[other], slots.starts[other + 1]
        u = int(slots.tuples[first + _below(state, last - first)])
        b = _below(state, k)
        if is_near_others:
            while members[u, b] != other:
                b = b + 1 if b + 1 < k else 0
        else:
            other = members[u, b]
        if u == t or other == own:
            continue
        if not _has_room(members, t, a, other, most[other]) or not _has_room(members, u, b, own, most[own]):
            continue
        # Metropolis' rule, drawn as the growth that would just be accepted, before the growth is computed.
        limit = -heat * math.log(1.0 - _unit(state)) + 1e-12
        more = change(prices, members, t, a, other) + change(prices, members, u, b, own)
        if more > limit:
            continue
        members[t, a], members[u, b] = other, own
        # The lists of tuples by class follow the exchange.
        _replace(slots.tuples, slots.starts[own], t, u)
        _replace(slots.tuples, slots.starts[other], u, t)
        found += more
    return found


@njit
def dealt(members: Ints, starts: Longs, rows: Longs) -> Ints:
    """Return the rows that each tuple covers: those of class v are rows[starts[v]:starts[v + 1]], dealt out one by one.

    A tuple gets different rows of a class if it has no more members of it than there are: they follow each other.
    """
    out = np.empty_like(members)
    given = starts[:-1].copy()
    for t in range(len(members)):
        own = members[t].copy()
        sort(own, 0, len(own))
        for j in range(len(own)):
            v = own[j]
            out[t, j] = rows[given[v]]
            given[v] = given[v] + 1 if given[v] + 1 < starts[v + 1] else starts[v]
    return out

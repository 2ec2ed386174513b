"""Published tuples of classes of rows that are alike, improved part by part, on all cores.

A part is some tuples, with the classes that they cover: whatever is exchanged within it, every row is still covered as
often as before. Parts are cut from orders of the classes, other ones with other borders every time.

Tuples that give all members away and get others: who gets which is an assignment at the least cost.

After Hungarian of K. Doka, M. Xue, D. Tsoumakos and P. Karras, "k-anonymization by freeform generalization" (ASIA CCS
2015), which makes tuples so, member by member. Here it is also a way to improve on tuples: each gives one member away,
any of them, and what it has given costs no more when all are given out again as is best. That is an exchange among all
tuples at once, of which exchanges between two are the simplest case.

What any graph costs at least: a bound by which to tell how far from the least a search can be.

Let every row have a worth, any number. The tuples of a graph cover each row k times: so they cost as much as all rows
are worth k times, and what is left of each tuple's cost when the worth of its rows is taken from it. None of the n
tuples has less left than the one of all possible tuples that has least. So no graph costs less than

k · (worth of all rows) + n · (the least that is left of any tuple).

That holds for every worth. The dual of the linear program over tuples gives one for which the bound is near to what the
program costs; and the least that is left is found by a walk through all tuples that leaves out only what cannot be it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from treeanon.algorithms.table.freeform.exchange_master import Demand, Pool, best_tuples, priced
from treeanon.algorithms.table.freeform.graph import prices_within
from treeanon.arrays import Floats, Ints, Longs, unique_values
from treeanon.kernels.table.exchange import Near, exchange, slots_of
from treeanon.kernels.table.exchange_walk import HARD, NEVER, fill_offers, worthiest
from treeanon.kernels.table.freeform_prices import Prices, tuple_costs

_PATIENCE = 2
_GUIDED, _SOFT, _IDLE = 100, 0.6, 10


def guided(prices: Prices, members: Ints, most: Ints, seed: int, is_over: Callable[[], bool]) -> Ints:
    """Return the members after rounds of giving any one away and getting one, in which values that are rare in a tuple
    cost more than others at first; they may cost more in the end.

    A value that several members of a tuple have cannot leave it in one round, and nothing is gained before the last
    has left. Where what is rare costs more than what is frequent, they leave one by one. The longer it takes, the less
    that counts; at last only what a round really gains.
    """
    count, k = members.shape
    members, rnd = members.copy(), np.random.default_rng(seed)
    costs = np.empty((count, count))
    share = np.append(0.0, 1.0 / np.arange(1, k + 1))
    for soft in np.linspace(_SOFT, 0.0, _GUIDED):
        if is_over():
            return members
        _assign(prices, members, rnd.integers(0, k, size=(count,)), most, costs, share * soft)
    idle = 0
    while idle < _IDLE and not is_over():
        idle = 0 if _assign(prices, members, rnd.integers(0, k, size=(count,)), most, costs) > 1e-9 else idle + 1
    return members


def reassigned(prices: Prices, members: Ints, most: Ints, seed: int, is_over: Callable[[], bool]) -> Ints:
    """Return the members after rounds of giving one away and getting one, as long as that pays; they never cost
    more.
    """
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
    """Return other tuples that cover as much, made member by member; None if there is no time, or no way.

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


def _assign(prices: Prices, members: Ints, given: Longs, most: Ints, costs: Floats, soft: Floats = HARD) -> float:
    """Give out again, in place, what the tuples give away, at the least cost; return what is gained.

    `soft` is that of `fill_offers`; the gain is then told in what it asks for.
    """
    from scipy.optimize import linear_sum_assignment

    fill_offers(prices, members, given, most, soft, costs)
    rows = np.arange(len(members))
    taken = linear_sum_assignment(costs)[1]
    gained = float(costs[rows, rows].sum() - costs[rows, taken].sum())
    members[rows, given] = members[taken, given[taken]]
    return gained


def _fits(members: Ints, most: Ints) -> bool:
    """Return whether no tuple covers a class more often than it has rows."""
    own = np.sort(members, axis=1)
    run, fits = np.ones(len(own), np.int64), np.ones(len(own), np.bool_)
    for j in range(1, own.shape[1]):
        run = np.where(own[:, j] == own[:, j - 1], run + 1, 1)
        fits &= run <= most[own[:, j]]
    return bool(fits.all())


Deadline = Callable[[], bool]

_TRIES = 1 << 17
_COSTS_NOTHING = 1e-12
_REACH = 40


@dataclass(frozen=True, eq=False)
class Tuples:
    """The tuples of some classes: members[t] has the classes that tuple t covers, at most most[v] rows of class v.

    places[o] says where classes are in an order in which those that are alike lie near each other.
    """

    prices: Prices
    members: Ints
    most: Ints
    places: Ints

    def __len__(self) -> int:
        return len(self.members)

    @property
    def costs(self) -> Floats:
        """What every tuple costs."""
        return tuple_costs(self.prices, self.members)

    def part(self, chosen: Longs) -> Tuples:
        """Return some of the tuples, as if there were no others."""
        found, members = np.unique(self.members[chosen], return_inverse=True)
        classes = found.astype(np.int64)
        return Tuples(
            prices_within(self.prices, classes),
            np.ascontiguousarray(members.reshape(len(chosen), -1).astype(np.int32)),
            self.most[classes],
            self.places[:, classes].argsort(axis=1).argsort(axis=1).astype(np.int32),
        )

    @property
    def near(self) -> Near:
        """The orders, for exchanges."""
        classes = self.places.argsort(axis=1).astype(np.int32)
        return Near(classes, self.places, max(min(_REACH, len(self.most) - 1), 2))


def by_exchanges(tuples: Tuples, heats: Iterable[float], tries: int, seed: int, is_over: Deadline) -> Ints:
    """Return the members after exchanges at one heat after the other, so many tries each for every costly tuple's
    member.
    """
    members = tuples.members.copy()
    slots, near = slots_of(members, len(tuples.most)), tuples.near
    state = np.array([seed * 7919 + 88172645463325252], np.int64)
    for heat in heats:
        live = np.flatnonzero(tuple_costs(tuples.prices, members) > _COSTS_NOTHING)
        left = len(live) * members.shape[1] * tries
        while left > 0 and not is_over():
            now = min(left, _TRIES)
            exchange(tuples.prices, members, slots, tuples.most, near, live, heat, now, state)
            left -= now
    return members


class Programs:
    """Linear programs over parts of the tuples of a table; one that is asked for again is not solved again.

    Of few classes all tuples are one part, the same in every round that gains nothing. The last is kept alone.
    """

    def __init__(self) -> None:
        self._last: tuple[bytes, Ints | None] = b"", None

    def improved(self, tuples: Tuples, seed: int, is_over: Deadline) -> Ints | None:
        """Return the members as a program has them, then given out again; None if it came to no end."""
        own = np.sort(tuples.members, axis=1)
        asked = own[np.lexsort(own.T)].tobytes() + tuples.prices.values.tobytes()
        known, found = self._last
        if asked != known:
            need = np.bincount(tuples.members.ravel(), minlength=len(tuples.most)).astype(np.int64)
            demand = Demand(tuples.prices, need, tuples.most, tuples.members.shape[1])
            found = best_tuples(demand, tuples.members, is_over)
            self._last = asked, found
        return None if found is None else reassigned(tuples.prices, found, tuples.most, seed, is_over)


def by_assignments(tuples: Tuples, is_over: Deadline) -> Ints | None:
    """Return the members made anew along an order; None if that has not come to its end."""
    return made_anew(tuples.prices, tuples.members, tuples.most, tuples.places[0], is_over)


def by_giving(tuples: Tuples, seed: int, is_over: Deadline) -> Ints:
    """Return the members after they have been given out again, guided to where tuples lose what is rare in them."""
    return guided(tuples.prices, tuples.members, tuples.most, seed, is_over)


def improved(
    tuples: Tuples, parts: list[Longs], work: Callable[[Tuples, int], Ints | None], is_over: Deadline
) -> float:
    """Do the work for parts of the tuples, on all cores, and keeps in place what costs less; returns what is gained.

    No tuple is in two parts. The work is given a number of its own for every part.
    """

    def task(number: int) -> tuple[float, Ints | None]:
        if is_over():
            return 0.0, None
        part = tuples.part(parts[number])
        before = float(part.costs.sum())
        found = work(part, number)
        return (0.0, None) if found is None else (before - float(tuple_costs(part.prices, found).sum()), found)

    gained = 0.0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for chosen, (gain, found) in zip(parts, pool.map(task, range(len(parts))), strict=True):
            if found is not None and gain > 1e-9:
                classes = unique_values(tuples.members[chosen])
                tuples.members[chosen] = classes[found]
                gained += gain
    return gained


def along(tuples: Tuples, o: int) -> Longs:
    """Return the tuples by the place of their middle member in an order of the classes."""
    places = tuples.places[o % len(tuples.places)]
    k = tuples.members.shape[1]
    middle = np.partition(places[tuples.members], k // 2, axis=1)[:, k // 2]
    return np.argsort(middle, kind="stable")


def cut_by_count(rows: Longs, size: int, shift: float) -> list[Longs]:
    """Return the tuples in parts of that size, the first of which is smaller by that share of it."""
    first = int(size * shift)
    borders = [*range(size - first, len(rows), size)]
    return [part for part in np.split(rows, borders) if len(part) > 1]


def cut_by_classes(tuples: Tuples, rows: Longs, size: int, shift: float) -> list[Longs]:
    """Return the tuples in parts that cover about so many different classes each."""
    members = tuples.members[rows]
    first = np.full(len(tuples.most), len(rows), np.int64)
    np.minimum.at(first, members.ravel(), np.repeat(np.arange(len(rows)), members.shape[1]))
    begun = np.cumsum(np.bincount(first, minlength=len(rows) + 1)[: len(rows)])
    parts = np.floor(begun / size + shift).astype(np.int64)
    borders = np.flatnonzero(np.diff(parts)) + 1
    return [part for part in np.split(rows, borders) if len(part) > 1]


_SHARES = 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.0005, 0.0
_ROUNDS, _WIDTH, _LOOKS = 8, 0.16, 1_000_000


def least_cost(tuples: Tuples, seconds: float = 60.0, *, looks: int = _LOOKS) -> float:
    """Return a cost that no graph over the rows of these tuples is below: theirs, and all others that cover as much.

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
            worth, width = (worth, width) if found is None else (found[2], _WIDTH * float(abs(worth).mean()))
            bound, added = _bound(demand, pool, worth, share, looks)
            best = max(best, bound)
    return best


def _bound(demand: Demand, pool: Pool, worth: Floats, share: float, looks: int) -> tuple[float, int]:
    """Return the bound that these worths give, and how many tuples were found for the pool that would be worth more.

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

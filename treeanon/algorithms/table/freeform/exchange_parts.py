"""Published tuples of classes of rows that are alike, improved part by part, on all cores.

A part is some tuples, with the classes that they cover: whatever is exchanged within it, every row is still covered as
often as before. Parts are cut from orders of the classes, other ones with other borders every time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from treeanon.algorithms.table.freeform.exchange_assign import made_anew, reassigned
from treeanon.algorithms.table.freeform.exchange_master import Demand, best_tuples
from treeanon.algorithms.table.freeform.prices import prices_within
from treeanon.kernels.table.exchange import Near, costly, exchange, slots_of
from treeanon.kernels.table.exchange_columns import Floats
from treeanon.kernels.table.freeform_prices import Prices, tuple_costs
from treeanon.kernels.tree.forest import Ints, Longs

Deadline = Callable[[], bool]

_TRIES = 1 << 17
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
        """Some of the tuples, as if there were no others."""
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
    """The members after exchanges at one heat after the other, so many tries each for every costly tuple's member."""
    members = tuples.members.copy()
    slots, near = slots_of(members, len(tuples.most)), tuples.near
    state = np.array([seed * 7919 + 88172645463325252], np.int64)
    for heat in heats:
        live = costly(tuples.prices, members)
        left = len(live) * members.shape[1] * tries
        while left > 0 and not is_over():
            now = min(left, _TRIES)
            exchange(tuples.prices, members, slots, tuples.most, near, live, heat, now, state)
            left -= now
    return members


def by_program(tuples: Tuples, seed: int, is_over: Deadline) -> Ints | None:
    """The members as a linear program over tuples has them, then given out again; None if it came to no end."""
    need = np.bincount(tuples.members.ravel(), minlength=len(tuples.most)).astype(np.int64)
    demand = Demand(tuples.prices, need, tuples.most, tuples.members.shape[1])
    found = best_tuples(demand, tuples.members, is_over)
    return None if found is None else reassigned(tuples.prices, found, tuples.most, seed, is_over)


def by_assignments(tuples: Tuples, is_over: Deadline) -> Ints | None:
    """The members made anew along an order; None if that has not come to its end."""
    return made_anew(tuples.prices, tuples.members, tuples.most, tuples.places[0], is_over)


def by_giving(tuples: Tuples, seed: int, is_over: Deadline) -> Ints:
    """The members after all have been given out again, as often as that pays."""
    return reassigned(tuples.prices, tuples.members, tuples.most, seed, is_over)


def improved(
    tuples: Tuples, parts: list[Longs], work: Callable[[Tuples, int], Ints | None], is_over: Deadline
) -> float:
    """Does the work for parts of the tuples, on all cores, and keeps in place what costs less; returns what is gained.

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
                classes = np.unique(tuples.members[chosen])
                tuples.members[chosen] = classes[found]
                gained += gain
    return gained


def along(tuples: Tuples, o: int) -> Longs:
    """The tuples by the place of their middle member in an order of the classes."""
    places = tuples.places[o % len(tuples.places)]
    k = tuples.members.shape[1]
    middle = np.partition(places[tuples.members], k // 2, axis=1)[:, k // 2]
    return np.argsort(middle, kind="stable")


def cut_by_count(rows: Longs, size: int, shift: float) -> list[Longs]:
    """The tuples in parts of that size, the first of which is smaller by that share of it."""
    first = int(size * shift)
    borders = [*range(size - first, len(rows), size)]
    return [part for part in np.split(rows, borders) if len(part) > 1]


def cut_by_classes(tuples: Tuples, rows: Longs, size: int, shift: float) -> list[Longs]:
    """The tuples in parts that cover about so many different classes each."""
    members = tuples.members[rows]
    first = np.full(len(tuples.most), len(rows), np.int64)
    np.minimum.at(first, members.ravel(), np.repeat(np.arange(len(rows)), members.shape[1]))
    begun = np.cumsum(np.bincount(first, minlength=len(rows) + 1)[: len(rows)])
    parts = np.floor(begun / size + shift).astype(np.int64)
    borders = np.flatnonzero(np.diff(parts)) + 1
    return [part for part in np.split(rows, borders) if len(part) > 1]

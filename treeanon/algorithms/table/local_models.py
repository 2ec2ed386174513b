"""Local recoding for models that look at sensitive values, and the end of every local recoding: all classes hold."""

from __future__ import annotations

import numpy as np

from treeanon.algorithms.table.group_checker import RowGroupChecker, Tuples
from treeanon.algorithms.table.problem import Problem
from treeanon.arrays import Flags, Ints, Longs
from treeanon.errors import GuaranteeError
from treeanon.kernels.table.local import Vertices, cheapest_first
from treeanon.kernels.table.local_moves import Classes, LocalTuples, described, partners, place_rest

EASE = 0.05
"""What classes cost is told apart by so much only: it saves half of the looks, and loses nothing to speak of."""

_GROWTH = 1.4


class ClassChecker:
    """Check classes of tuples for the models of a problem."""

    def __init__(self, problem: Problem, tuples: Tuples) -> None:
        self._checker = RowGroupChecker(problem)
        self._tuple_of = tuples.tuple_of
        self._tuples = len(tuples)

    def holds(self, class_of: Ints, count: int, chosen: Longs | None = None) -> Flags:
        """Return whether each class satisfies all models; what is empty does. `class_of` is of all tuples, or those
        chosen.
        """
        of = class_of
        if chosen is not None:
            of = np.full(self._tuples, -1, np.int32)
            of[chosen] = class_of
        of_row = of[self._tuple_of]
        rows = np.flatnonzero(of_row >= 0)
        used, numbers = np.unique(of_row[rows], return_inverse=True)
        flags = np.ones(count, np.bool_)
        if len(rows):
            flags[used] = self._checker.holds(numbers, len(used), None if len(rows) == len(of_row) else rows)
        return flags


def walk_with_models(
    data: LocalTuples, vertices: Vertices, chosen: Longs, checker: ClassChecker, least: int
) -> tuple[Ints, int, int]:
    """Return classes of these tuples that satisfy the models, as `cheapest_first` has them: -1 where none is found.

    The walk knows sizes only. Classes of it that fail are taken apart, and walked again for larger ones, which have
    more different values.
    """
    every = len(data.codes)
    class_of = np.full(every, -1, np.int32)
    count = looks = 0
    while True:
        left = class_of < 0
        rows = int(data.weights[left].sum())
        if rows < least:
            return class_of, count, looks
        found, classes, own_looks = cheapest_first(data.codes, data.weights, left, vertices, least, EASE, None)
        looks += own_looks
        number = np.where(checker.holds(found, classes, chosen), np.arange(classes), -1)
        kept = np.flatnonzero(number >= 0)
        number[kept] = np.arange(len(kept)) + count
        own = np.append(number, -1)[found]
        class_of = np.where(own >= 0, own, class_of).astype(np.int32)
        count += len(kept)
        least = max(least + 1, int(least * _GROWTH))


def settled(problem: Problem, tuples: Tuples, data: LocalTuples, class_of: Ints, count: int) -> Classes:
    """Return the classes, with all tuples in them that are not left out: all satisfy the models.

    What is in none goes where it costs least. What fails then is merged with what costs least, or left out where that
    costs less and may be.
    """
    rest = np.flatnonzero(class_of < 0).astype(np.int32)
    if not count:
        class_of, count, rest = np.zeros_like(class_of), 1, rest[:0]
    classes = described(class_of, count, data)
    place_rest(rest, problem.max_suppressed, data, classes)
    checker = ClassChecker(problem, tuples)
    fallback: Classes | None = None
    while True:
        fails = np.flatnonzero(~checker.holds(classes.of, len(classes.sizes))).astype(np.int32)
        if not len(fails):
            return classes
        room = problem.max_suppressed - int(data.weights[classes.of < 0].sum())
        if fallback is None and classes.sizes[fails].sum() <= room:
            fallback = _without(classes, fails, data)
        if np.count_nonzero(classes.sizes) == 1:
            if fallback is None:
                names = ", ".join(model.name for model in problem.models)
                raise GuaranteeError(f"not even all rows together satisfy {names}")
            return fallback
        classes = _merged(classes, fails, room, data)


def _without(classes: Classes, gone: Ints, data: LocalTuples) -> Classes:
    """Return the classes when the tuples of some are left out."""
    class_of = np.where(np.isin(classes.of, gone), -1, classes.of).astype(np.int32)
    return described(class_of, len(classes.sizes), data)


def _merged(classes: Classes, fails: Ints, room: int, data: LocalTuples) -> Classes:
    """Return the classes after those that fail are merged, each with the cheapest other one, or left out.

    One that has got another already is as it is: it may hold now.
    """
    into = np.arange(len(classes.sizes), dtype=np.int32)
    has_changed = np.zeros(len(into), np.bool_)
    found, more = partners(fails, data, classes)
    lost = classes.sizes * (data.codes.shape[1] - classes.costs)
    for g, other, cost in zip(fails.tolist(), found.tolist(), more.tolist(), strict=True):
        if has_changed[g]:
            continue
        while other >= 0 and into[other] != other:
            other = int(into[other])
        if cost > lost[g] and classes.sizes[g] <= room:
            into[g] = -1
            room -= int(classes.sizes[g])
        elif other >= 0:
            into[g] = other
            has_changed[other] = True
        has_changed[g] = True
    while True:
        following = np.append(into, -1)[into]
        if np.array_equal(following, into):
            break
        into = following
    return described(np.append(into, np.int32(-1))[classes.of], len(into), data)

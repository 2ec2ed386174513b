"""The best vector by a loss that can only grow from level to level: a search with bounds, exact.

Among equals the one that suppresses the fewest persons is taken. The columns are fixed one after the other. What the
others can still reach without exceeding the best loss found bounds the subtree: where even that vector must suppress
too many, all below it must, and nothing in the subtree can be better.
"""

from __future__ import annotations

import math

from treeanon.algorithms.table.lattice import FullDomainResult, Lattice
from treeanon.algorithms.table.objective import Objective, objective_named
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.rollup import Vector
from treeanon.table.controls import weights_by_name

_EPSILON = 1e-12
"""Losses that differ by less are equal: sums of the same shares in another order."""


def search(problem: Problem, *, loss: str | Objective = "gcp") -> FullDomainResult:
    """Return the solution with the least loss (height, gcp, gcp_set, precision), and of those with the least
    suppression.
    """
    lattice = Lattice(problem)
    objective = objective_named(loss, weights_by_name(problem.table)) if isinstance(loss, str) else loss
    run = _Search(lattice, objective)
    best = run.run()
    return FullDomainResult.of(lattice, "optimal", best, loss=objective.name, value=run.loss)


class _Search:
    """One search: the best vector so far, its loss and what it suppresses."""

    def __init__(self, lattice: Lattice, objective: Objective) -> None:
        self.lattice, self.objective = lattice, objective
        self.limit = lattice.problem.max_suppressed
        self.costs = [levels.tolist() for levels in objective.level_costs(lattice)]
        order = lattice.order
        # What the columns from a place of the order on cost at least.
        self.rest = [sum(self.costs[c][0] for c in order[i:]) for i in range(len(order) + 1)]
        self.best: Vector = lattice.top
        self.loss, self.suppressed = math.inf, 0

    def run(self) -> Vector:
        """Return the best vector of the lattice."""
        self.lattice.require_top()
        self._offer(self.lattice.top)
        self._offer(self.lattice.bottom)
        self._descend()
        self._visit(list(self.lattice.bottom), 0, 0.0)
        if self.loss == math.inf:
            raise self.lattice.unsolvable()
        return self.best

    def _base(self, vector: Vector) -> float:
        return float(sum(self.costs[c][level] for c, level in enumerate(vector)))

    def _offer(self, vector: Vector) -> None:
        """Take a vector if it is satisfied and better."""
        suppressed, base = self.lattice.evaluate(vector).suppressed, self._base(vector)
        if suppressed > self.limit or base > self.loss + _EPSILON:
            return
        loss = self.objective.loss(self.lattice, vector, base)
        worth, held = (suppressed, sum(vector)), (self.suppressed, sum(self.best))
        if loss < self.loss - _EPSILON or (loss <= self.loss + _EPSILON and worth < held):
            self.best, self.loss, self.suppressed = vector, loss, suppressed

    def _descend(self) -> None:
        """A first good vector: from the top down, to the best of what is one step lower and satisfied."""
        at = self.lattice.top
        while True:
            held = [(v, self.lattice.evaluate(v).suppressed) for v in self.lattice.below(at)]
            held = [(v, suppressed) for v, suppressed in held if suppressed <= self.limit]
            if not held:
                return
            at = min(held, key=lambda one: (self._base(one[0]), one[1], one[0]))[0]
            self._offer(at)

    def _visit(self, levels: list[int], place: int, cost: float) -> None:
        """Try all vectors that have the first columns of the order at these levels, at this cost."""
        order = self.lattice.order
        column = order[place]
        if place == len(order) - 1:
            for level in range(self._highest(place, cost, 0.0), -1, -1):
                levels[column] = level
                if cost + self.costs[column][level] <= self.loss + _EPSILON:
                    if not self.lattice.may_hold(tuple(levels)):
                        break
                    self._offer(tuple(levels))
            levels[column] = 0
            return
        for level in range(self._highest(place, cost, self.rest[place + 1]), -1, -1):
            levels[column] = level
            below = cost + self.costs[column][level]
            if below + self.rest[place + 1] <= self.loss + _EPSILON and self._may_hold(levels, place + 1, below):
                self._visit(levels, place + 1, below)
        levels[column] = 0

    def _highest(self, place: int, cost: float, rest: float, margin: float = _EPSILON) -> int:
        """Return the highest level of the column at a place that does not exceed the best loss; -1 if none."""
        costs = self.costs[self.lattice.order[place]]
        level = len(costs) - 1
        while level >= 0 and cost + costs[level] + rest > self.loss + margin:
            level -= 1
        return level

    def _may_hold(self, levels: list[int], place: int, cost: float) -> bool:
        """Return whether a better vector can have the first columns at these levels."""
        top = self._highest_of_all(levels, place, cost, _EPSILON)
        if top is None or (lost := self.lattice.bound(top, place)) > self.limit:
            return False
        if lost >= self.suppressed:
            # As good as the best in loss would not be enough.
            below = self._highest_of_all(levels, place, cost, -_EPSILON)
            if below is None or self.lattice.bound(below, place) > self.limit:
                return False
        return self.lattice.may_hold(top, place)

    def _highest_of_all(self, levels: list[int], place: int, cost: float, margin: float) -> Vector | None:
        """Return the vector in which every other column is as high as it alone could be; None if one cannot be."""
        order, top = self.lattice.order, list(levels)
        for i in range(place, len(order)):
            others = self.rest[place] - self.costs[order[i]][0]
            top[order[i]] = self._highest(i, cost, others, margin)
            if top[order[i]] < 0:
                return None
        return tuple(top)

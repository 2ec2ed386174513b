"""Models of a whole release and of a population, for searches over the lattice of levels.

The population is rolled up to the same vectors as the table: how many of its persons fit a group is exact.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treeanon.algorithms.table.group_checker import Tuples
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.rollup import RolledUp, Rollup
from treeanon.arrays import Flags, Longs
from treeanon.privacy.models.model import Model
from treeanon.privacy.models.whole import People, PopulationModel, WholeModel, is_of_whole


def split_models(problem: Problem) -> tuple[Problem, WholeChecker | None]:
    """Return the problem with the models of single groups, and a checker of the others, if there are any."""
    others = [model for model in problem.models if is_of_whole(model)]
    if not others:
        return problem, None
    alone = tuple(model for model in problem.models if not is_of_whole(model))
    return replace(problem, models=alone), WholeChecker(problem, others)


class WholeChecker:
    """The models of a problem that no group by itself decides."""

    def __init__(self, problem: Problem, models: list[Model]) -> None:
        self._whole = [model for model in models if isinstance(model, WholeModel)]
        columns = problem.table.quasi
        self._behind = [
            (model, _Behind(model.people(columns))) for model in models if isinstance(model, PopulationModel)
        ]
        # A group that is left out can raise the mean of the others, and is found by those who fit nothing else.
        self.is_monotone = problem.max_suppressed == 0 and all(model.is_monotone for model in models)

    def published(self, rolled: RolledUp, sizes: Longs, holds: Flags) -> Flags:
        """Return which groups can be published, of those of a vector that hold by themselves."""
        for model, behind in self._behind:
            persons, others = behind.of(rolled)
            holds = holds & model.holds_behind(sizes, persons)
            if model.needs_everybody and (others or persons[~holds].any()):
                return np.zeros(len(holds), np.bool_)
        if holds.any() and not all(model.holds_together(sizes[holds]) for model in self._whole):
            return np.zeros(len(holds), np.bool_)
        return holds


class _Behind:
    """The persons of a population by vector."""

    def __init__(self, people: People) -> None:
        tuples = Tuples.of(people.table)
        weights = np.bincount(tuples.tuple_of, people.weights, len(tuples)).astype(np.int64)
        self._persons = people.persons
        self._rollup = Rollup(replace(tuples, rows=weights))

    def of(self, rolled: RolledUp) -> tuple[Longs, int]:
        """Return how many persons fit each group of a vector, and how many fit none."""
        there = self._rollup.stage(rolled.vector)
        both = np.concatenate([rolled.keys, there.keys])
        number = np.unique(both, axis=0, return_inverse=True)[1].ravel()
        persons = np.zeros(int(number.max(initial=-1)) + 1, np.int64)
        persons[number[len(rolled.keys) :]] = there.rows
        found: Longs = persons[number[: len(rolled.keys)]]
        return found, self._persons - int(found.sum())

"""What the workers make of their records: a solution in the labels that all share, small enough to be sent to each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeanon.algorithms.tree.solution import Solution
from treeanon.arrays import Ints
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.spark.reading import Dataset
from treeanon.spark.records import Batches, forests_of


@dataclass(frozen=True, eq=False)
class Recipe:
    """A solution as arrays: for every label the published one, the relations to end in order, classes to withhold."""

    mapping: Ints
    upper: Ints
    lower: Ints
    withheld: tuple[str, ...]

    @classmethod
    def of(cls, solution: Solution, dataset: Dataset) -> Recipe:
        """The recipe that does what a solution says."""
        classes = dataset.classes
        nothing = np.empty(0, np.int32)
        empty = Forest(dataset.schema, classes, np.zeros(1, np.int64), nothing, nothing)
        cut: Any = STAR if STAR in (solution.cut or {}) else solution.cut
        upper = np.array([classes.label(*pair[0]) for pair in solution.disassociated], np.int32)
        lower = np.array([classes.label(*pair[1]) for pair in solution.disassociated], np.int32)
        return cls(empty.cut_map(cut), upper, lower, solution.withheld)

    def apply(self, forest: Forest) -> Forest:
        """What is published of a forest."""
        projected = forest.without(self.withheld).relabel(self.mapping)
        return projected.disassociate_labels(self.upper, self.lower)

    def broadcast(self, dataset: Dataset) -> BroadcastRecipe:
        """The recipe as the workers have it."""
        return BroadcastRecipe(dataset.frame.sparkSession.sparkContext.broadcast(self), dataset.shapes)


@dataclass(frozen=True)
class BroadcastRecipe:
    """A recipe, and the classes that it is for, as the workers have them."""

    recipe: Any
    shapes: Any

    def both(self, batches: Batches) -> Iterator[tuple[Forest, Forest]]:
        """The records of rows, before and after."""
        for before in self.before(batches):
            yield before, self.recipe.value.apply(before)

    def before(self, batches: Batches) -> Iterator[Forest]:
        """The records of rows, as they are."""
        yield from forests_of(batches, *self.shapes.value)

    def after(self, batches: Batches) -> Iterator[Forest]:
        """The records of rows, as they are published."""
        for _, after in self.both(batches):
            yield after

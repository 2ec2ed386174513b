"""A solution in the labels that all workers share, small enough to be broadcast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeanon.algorithms.tree.solution import Label, Solution
from treeanon.arrays import Ints
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.spark.reading import Dataset
from treeanon.spark.records import Batches, forests_of


@dataclass(frozen=True, eq=False)
class Recipe:
    """A solution as arrays: the published label for each label, relations to disassociate, rules of leaving out."""

    mapping: Ints
    upper: Ints
    lower: Ints
    triggers: Ints
    left_out: Ints
    withheld: tuple[str, ...]

    @classmethod
    def of(cls, solution: Solution, dataset: Dataset) -> Recipe:
        """Return the recipe of a solution."""
        classes = dataset.classes
        nothing = np.empty(0, np.int32)
        empty = Forest(dataset.schema, classes, np.zeros(1, np.int64), nothing, nothing)
        cut: Any = STAR if STAR in (solution.cut or {}) else solution.cut

        def ends(pairs: Sequence[tuple[Label, Label]]) -> tuple[Ints, Ints]:
            labels = np.array([[classes.label(*label) for label in pair] for pair in pairs], np.int32).reshape(-1, 2)
            return np.ascontiguousarray(labels[:, 0]), np.ascontiguousarray(labels[:, 1])

        upper, lower = ends(solution.disassociated)
        triggers, left_out = ends([rule[:2] for rule in solution.left_out])
        return cls(empty.cut_map(cut), upper, lower, triggers, left_out, solution.withheld)

    def apply(self, forest: Forest) -> Forest:
        """Return the published records of a forest."""
        projected = forest.without(self.withheld).relabel(self.mapping)
        moved = projected.disassociate_labels(self.upper, self.lower)
        return moved.leave_out_labels(self.triggers, self.left_out)

    def broadcast(self, dataset: Dataset) -> BroadcastRecipe:
        """Return the recipe, broadcast to the workers."""
        return BroadcastRecipe(dataset.frame.sparkSession.sparkContext.broadcast(self), dataset.shapes)


@dataclass(frozen=True)
class BroadcastRecipe:
    """A broadcast recipe, with the schema and classes of its dataset."""

    recipe: Any
    shapes: Any

    def both(self, batches: Batches) -> Iterator[tuple[Forest, Forest]]:
        """Yield the records of rows, before and after."""
        for before in self.before(batches):
            yield before, self.recipe.value.apply(before)

    def before(self, batches: Batches) -> Iterator[Forest]:
        """Yield the original records of rows."""
        yield from forests_of(batches, *self.shapes.value)

    def after(self, batches: Batches) -> Iterator[Forest]:
        """Yield the published records of rows."""
        for _, after in self.both(batches):
            yield after

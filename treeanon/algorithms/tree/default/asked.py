"""The objective `queries`: what will be asked of the release is answered with little error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from treeanon.algorithms.tree.default.greedy_walk import WalkResult
from treeanon.algorithms.tree.default.objective import Objective
from treeanon.arrays import Floats, Ints, Longs
from treeanon.forest import Forest
from treeanon.metrics import label_losses
from treeanon.privacy import Guarantee
from treeanon.queries.workload import Workload

_TIE = 1e-3
"""What the ordinary loss counts for beside the error: it decides where nothing is asked."""

MOST_RECORDS = 10_000
"""Walks are judged by a sample of so many persons."""


class QueriesObjective(Objective):
    """The mean relative error of the estimates from a release, and a little of the ordinary loss."""

    guides = (("class", "rpd"), ("hierarchy", "rpd"))
    beside = True

    def __init__(
        self,
        before: Forest,
        guarantee: Guarantee,
        weights: Mapping[str, float] | None = None,
        queries: Sequence[str] = (),
    ) -> None:
        super().__init__(before, guarantee, weights)
        self.asked = Workload(before, queries)
        self._chosen: Longs | None = None
        if len(before) > MOST_RECORDS:
            drawn = np.random.default_rng(0).choice(len(before), MOST_RECORDS, replace=False)
            self._chosen = np.sort(drawn).astype(np.int64)

    @property
    def of_step(self) -> None:
        """Only the trees tell it."""
        return None

    def of_others(self, before: Forest) -> Objective:
        """Return the same objective of other persons."""
        return QueriesObjective(before, self.guarantee, self.by_name, self.asked.texts)

    @cached_property
    def _sample(self) -> tuple[Forest, Workload]:
        """The persons by whom walks are judged, and the queries with what is true of them."""
        if self._chosen is None:
            return self.before, self.asked
        some = self.before.take(self._chosen)
        return some, Workload(some, self.asked.texts)

    def of_walk(self, walked: WalkResult) -> float:
        """Return the cost of publishing what a walk ended with, in a sample of the persons."""
        some, asked = self._sample
        error = asked.errors(asked.near_estimates(walked.release(some))).mean()
        return float(error) + _TIE * super().of_walk(walked)

    def of_release(self, after: Forest, kept: Longs | None = None) -> float:
        """Return the cost of a release."""
        return self.asked.error(after) + _TIE * super().of_release(after, kept)

    def prices(self, held: Ints) -> Floats:
        """Return for every label how much a record that publishes it adds to the error."""
        ordinary = _TIE * label_losses(self.before.classes) / max(len(self.before), 1)
        return self.asked.doubts + ordinary

    def relations_per_gain(self, walked: WalkResult, *, with_nodes: bool = False) -> float:
        """Return how many relations of records cost as much as one unit of a walk's gain: each is one record less."""
        return float(np.mean(self.asked.scale))

    def told(self, after: Forest, usual: Forest | None, kept: Longs | None = None) -> dict[str, Any]:
        """Return the mean error of the release, and of that of the least ordinary loss."""
        by_loss = {} if usual is None else {"by_loss": self.asked.error(usual)}
        measure = {"measure": "query error", "value": self.asked.error(after), **by_loss}
        return {"objective": {**measure, "queries": len(self.asked.texts)}}

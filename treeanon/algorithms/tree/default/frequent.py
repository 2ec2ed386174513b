"""The objective `mining`: of the frequent subtrees of the input as many as can be are still to be seen in the release.

The input is mined once. What a walk publishes is judged exactly, by the records that still show each of these subtrees
(ML² of O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data", IEEE TKDE 2015, Section
II-E), but for the relations that it ended, which the release tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from treeanon.algorithms.tree.default.greedy_walk import WalkResult
from treeanon.algorithms.tree.default.objective import Objective
from treeanon.arrays import Floats, Ints, Longs
from treeanon.forest import Forest
from treeanon.kernels.tree.subtrees import reaching_bits
from treeanon.metrics import label_losses
from treeanon.metrics.mining import FrequentSubtrees
from treeanon.metrics.values import label_depths, label_parents
from treeanon.privacy import Guarantee

_TIE = 1e-4
"""What the ordinary loss counts for beside ML²: it decides between equals, and where nothing is frequent."""


class MiningObjective(Objective):
    """ML², from 0 to 1, and among equals the ordinary loss."""

    guides = (("class", "rpd"), ("hierarchy", "rpd"))
    beside = True

    def __init__(self, before: Forest, guarantee: Guarantee, weights: Mapping[str, float] | None = None) -> None:
        super().__init__(before, guarantee, weights)
        self.mined = FrequentSubtrees.of(before)
        self._paths = [level.paths_of(self.mined.before) for level in self.mined.levels]
        self._depth = label_depths(before.classes)
        has_below = np.bincount(np.maximum(label_parents(before.classes), 0), minlength=len(before.classes)) > 0
        self._general = bool(has_below[before.label].any())

    @property
    def of_step(self) -> None:
        """Only the trees tell it; what is finer never costs more."""
        return None

    def of_others(self, before: Forest) -> Objective:
        """Return the same objective of other persons."""
        return MiningObjective(before, self.guarantee, self.by_name)

    def of_walk(self, walked: WalkResult) -> float:
        """Return the cost of publishing what a walk ended with, if relations that it ended were kept."""
        if self._general:  # what is generalized may show what was a general value before
            return self.of_release(walked.release(self.before))
        return 1 - self._shown(walked.mapping) + _TIE * super().of_walk(walked)

    def of_release(self, after: Forest, kept: Longs | None = None) -> float:
        """Return the cost of a release."""
        return 1 - self.mined.shown(after, kept) + _TIE * super().of_release(after, kept)

    def relations_per_gain(self, walked: WalkResult, *, with_nodes: bool = False) -> float:
        """Return how many relations of records cost as much as one unit of a walk's gain, one subtree."""
        return float(self.mined.need)

    def told(self, after: Forest, usual: Forest | None, kept: Longs | None = None) -> dict[str, Any]:
        """Return ML² of the release, and of that of the least ordinary loss."""
        by_loss = {} if usual is None else {"by_loss": 1 - self.mined.shown(usual)}
        return {"objective": {"measure": "ML2", "value": 1 - self.mined.shown(after, kept), **by_loss}}

    def _shown(self, mapping: Ints) -> float:
        """Return the share of frequent subtrees that are shown if labels are published so (-1: not at all)."""
        own = np.arange(len(mapping))
        deep = np.where(mapping < 0, -1, self._depth[mapping])
        # Labels that stay what they are are told exactly, however few levels lie above them.
        reach = np.where((mapping == own) | ~self._known, self._depth.max() + 1, deep).astype(np.int32)
        trees = self.mined.before
        return self.mined.share_of(
            [
                reaching_bits(trees.offsets, trees.parent, trees.label, reach, at.level, paths, len(at.label))
                for at, paths in zip(self.mined.levels, self._paths, strict=True)
            ]
        )

    def prices(self, held: Ints) -> Floats:
        """Return for every label what publishing no more than it loses, in frequent subtrees a record.

        A subtree is worth 1, shared evenly by the labels that it needs: what a label gains beside the one above it is
        what it is worth by all subtrees.
        """
        classes = self.before.classes
        worth = np.zeros(len(classes))
        for level in self.mined.levels:
            worth += _shares(level.label, level.starts, level.paths, len(classes))
        loss = np.zeros(len(classes))
        up, held = label_parents(classes), np.maximum(held, 1)
        for label in range(1, len(classes)):
            if up[label] > 0:
                loss[label] = loss[up[label]] - worth[label] / held[label]
        scale = max(float(worth.sum()), 1.0) / max(float(held.sum()), 1.0)
        return loss + _TIE * scale * label_losses(classes)


def _shares(label: Ints, starts: Longs, paths: Ints, labels: int) -> Floats:
    """Return what every label is worth by some subtrees, each of which is worth 1, shared by its labels."""
    of = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    pairs = np.unique(np.stack([of, label[paths]]), axis=1) if len(of) else np.zeros((2, 0), np.int64)
    size = np.bincount(pairs[0], minlength=max(len(starts) - 1, 1))
    return np.bincount(pairs[1], weights=1 / size[pairs[0]], minlength=labels).astype(np.float64)

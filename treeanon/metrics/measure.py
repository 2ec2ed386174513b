"""Everything that a release of trees has lost, measured at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from treeanon.forest import Forest
from treeanon.kernels.tree.forest import Longs, hash_records
from treeanon.metrics.labels import Scope
from treeanon.metrics.path_distance import rpd
from treeanon.metrics.relations import relations_kept
from treeanon.metrics.values import Weights, value_loss


@dataclass(frozen=True)
class Counts:
    """What a collection holds: persons, nodes, different trees, and different values by class."""

    records: int
    nodes: int
    trees: int
    values: Mapping[str, int]


@dataclass(frozen=True)
class Losses:
    """What a release has lost against its input.

    `value_loss` is 0 for what is published as it was and 1 for class roots, `relations_kept` the share of the input's
    ancestor-descendant pairs that can still be seen, `rpd` the relative path distance of the release (lower is better).
    """

    value_loss: float
    value_loss_by_class: Mapping[str, float]
    relations_kept: float
    relations_kept_by_pair: Mapping[str, float]
    rpd: float
    before: Counts
    after: Counts

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, as solutions and `--json` have it."""
        return asdict(self)


def counts(forest: Forest) -> Counts:
    """The records, nodes, different trees and different values of a collection."""
    classes = forest.classes
    used = np.bincount(forest.label, minlength=len(classes))[1:] > 0
    values = np.bincount(classes.class_of[1:][used], minlength=len(classes.names)).tolist()
    trees = len(np.unique(hash_records(forest.offsets, forest.parent, forest.label, 1)))
    return Counts(len(forest), forest.nodes, trees, dict(zip(classes.names, values, strict=True)))


def measure(
    before: Forest,
    after: Forest,
    kept: Longs | None = None,
    *,
    weights: Weights | None = None,
    scope: Scope = "class",
) -> Losses:
    """All losses of a release, where record i of `after` comes from record kept[i] of `before` (None: from i).

    Records that were not kept have lost all their values and relations; the RPD speaks of the published ones alone.
    `weights` says what a label of a class counts for in the total value loss (1 if silent).

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> forest = ta.Forest.from_records(schema, [[["disease", "flu", []]], [["disease", "acne", []]]])
    >>> losses = measure(forest, forest.project({"disease": ["*"]}))
    >>> losses.value_loss, losses.relations_kept, losses.rpd, losses.after.trees
    (1.0, 1.0, 1.0, 1)
    """
    values = value_loss(before, after, kept, weights=weights)
    relations = relations_kept(before, after, kept)
    return Losses(
        values.total,
        values.by_class,
        relations.total,
        relations.by_pair,
        rpd(after, scope),
        counts(before),
        counts(after),
    )

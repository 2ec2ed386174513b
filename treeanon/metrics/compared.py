"""A release of trees as it was read, measured against its original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treeanon.forest import Forest
from treeanon.forest.compared import in_terms_of
from treeanon.forest.merged import comparable
from treeanon.metrics.measure import Losses, measure, measure_unmatched
from treeanon.metrics.values import Scope, Weights


@dataclass(frozen=True)
class ComparedTrees:
    """Losses of a release, both collections by the same classes, and nodes that nobody in the original can have."""

    losses: Losses
    original: Forest
    published: Forest
    strange: Mapping[str, int]


def compared_trees(
    original: Forest,
    raw: Forest,
    *,
    weights: Weights | None = None,
    scope: Scope = "class",
    in_order: bool = False,
) -> ComparedTrees:
    """Return what a release has lost; `raw` has its values as they stand, its records in the original's order or any.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> forest = ta.Forest.from_records(schema, [[["disease", "flu", []]], [["disease", "acne", []]]])
    >>> compared_trees(forest, forest.project({"disease": ["*"]})).losses.value_loss
    1.0
    """
    original = comparable(original, raw)
    published, strange = in_terms_of(original, raw)
    losses = (measure if in_order else measure_unmatched)(original, published, weights=weights, scope=scope)
    return ComparedTrees(losses, original, published, strange)

"""A release of trees as it was read, measured against its original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treeanon.forest import Forest
from treeanon.forest.compared import in_terms_of
from treeanon.forest.merged import comparable, merged
from treeanon.metrics.measure import Losses, measure, measure_unmatched, relation_counts
from treeanon.metrics.values import Scope, Weights


@dataclass(frozen=True)
class ComparedTrees:
    """Losses of a release, both collections by the same classes, and nodes that nobody in the original can have.

    `raw` has the release's values as they stand. `recognized` says that both were merged because the release relates
    values of an object that no object of the original does, and the schema leaves it open what objects are.
    """

    losses: Losses
    original: Forest
    published: Forest
    strange: Mapping[str, int]
    raw: Forest
    recognized: bool = False


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
    recognized = _are_merged(original, published)
    if recognized:
        original, raw = merged(original), merged(raw)
        published, strange = in_terms_of(original, raw)
    losses = (measure if in_order else measure_unmatched)(original, published, weights=weights, scope=scope)
    return ComparedTrees(losses, original, published, strange, raw, recognized)


def _are_merged(original: Forest, published: Forest) -> bool:
    # A release of whole objects relates no more values than they did, however general it is.
    if not original.classes.types or not original.schema.input.objects_open:
        return False
    return bool((relation_counts(published) > relation_counts(original)).any())

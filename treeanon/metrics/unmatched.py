"""What a release has lost when nobody says which of its records came from which of the input.

A written release has its records in random order. Relations kept, RPD and ML² are of totals, and need no more; the
value loss needs to know what a record held only where the input has general values itself, or persons were left out.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.kernels.tree.losses import count_records_with
from treeanon.metrics.labels import Scope
from treeanon.metrics.measure import Losses, counts
from treeanon.metrics.path_distance import rpd
from treeanon.metrics.relations import relations_kept
from treeanon.metrics.values import ValueLoss, Weights, loss_of_counts


def value_loss_unmatched(before: Forest, after: Forest, *, weights: Weights | None = None) -> ValueLoss:
    """The value loss of a release by how many records hold each label, here and there.

    It is `value_loss` where the input holds leaves only and nobody was left out. A general label of the input counts as
    published as it was in as many records as had it. Those left out lost what the mean person has; a class of which
    nothing is published is lost entirely.
    """
    classes = before.classes
    held, shown = (count_records_with(one.offsets, one.label, len(classes)) for one in (before, after))
    same = np.minimum(held, shown)
    there = np.bincount(classes.class_of[1:], shown[1:], len(classes.names)) > 0
    gone = 1 - len(after) / max(len(before), 1)
    lost = np.zeros(len(classes))
    lost[1:] = held[1:] * np.where(there[classes.class_of[1:]], gone, 1.0)
    return loss_of_counts(classes, shown - same, same, lost, weights)


def measure_unmatched(
    before: Forest, after: Forest, *, weights: Mapping[str, float] | None = None, scope: Scope = "class"
) -> Losses:
    """All losses of a release whose records come in any order, some perhaps left out; UsageError if it has more.

    As `measure`, but for the value loss: see `value_loss_unmatched`.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> forest = ta.Forest.from_records(schema, [[["disease", "flu", []]], [["disease", "acne", []]]])
    >>> [measure_unmatched(forest, forest.take(chosen)).value_loss for chosen in ([1, 0], [1])]
    [0.0, 0.5]
    """
    if len(after) > len(before):
        raise UsageError(f"a release of {len(after):,} records cannot have been made of {len(before):,}")
    values = value_loss_unmatched(before, after, weights=weights)
    relations = relations_kept(before, after, np.arange(len(after)))
    return Losses(
        values.total,
        values.by_class,
        relations.total,
        relations.by_pair,
        rpd(after, scope),
        counts(before),
        counts(after),
    )

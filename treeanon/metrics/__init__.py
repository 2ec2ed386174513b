"""What a release has lost: value loss, relations kept, RPD, and the mining losses ML² and dML²."""

from treeanon.metrics.measure import (
    Counts,
    Losses,
    RelationsKept,
    counts,
    measure,
    measure_unmatched,
    relation_counts,
    relations_kept,
)
from treeanon.metrics.mining import MiningLevel, MiningLoss, dtree, ml2
from treeanon.metrics.objects import ObjectsKept, objects_kept, share_whole
from treeanon.metrics.values import (
    ValueLoss,
    label_losses,
    label_parents,
    level_sizes,
    rpd,
    rpd_of_records,
    value_loss,
    value_loss_alone,
    value_loss_of_supports,
)

__all__ = [
    "Counts",
    "Losses",
    "MiningLevel",
    "MiningLoss",
    "ObjectsKept",
    "RelationsKept",
    "ValueLoss",
    "counts",
    "dtree",
    "label_losses",
    "label_parents",
    "level_sizes",
    "measure",
    "measure_unmatched",
    "ml2",
    "objects_kept",
    "relation_counts",
    "relations_kept",
    "rpd",
    "rpd_of_records",
    "share_whole",
    "value_loss",
    "value_loss_alone",
    "value_loss_of_supports",
]

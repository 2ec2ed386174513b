"""What a release has lost: value loss, relations kept, RPD, and the mining losses ML² and dML²."""

from treeanon.loss.labels import label_losses, label_parents, level_sizes
from treeanon.loss.measure import Counts, Losses, counts, measure
from treeanon.loss.mining import MiningLevel, MiningLoss, dtree, ml2
from treeanon.loss.path_distance import rpd, rpd_of_records
from treeanon.loss.relations import RelationsKept, relation_counts, relations_kept
from treeanon.loss.unmatched import measure_unmatched
from treeanon.loss.values import ValueLoss, value_loss, value_loss_alone, value_loss_of_supports

__all__ = [
    "Counts",
    "Losses",
    "MiningLevel",
    "MiningLoss",
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
    "relation_counts",
    "relations_kept",
    "rpd",
    "rpd_of_records",
    "value_loss",
    "value_loss_alone",
    "value_loss_of_supports",
]

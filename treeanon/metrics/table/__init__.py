"""What a release of a table has lost: NCP and GCP, DM, CM, average class size, precision, height, queries."""

from treeanon.metrics.table.groups import (
    average_class_size,
    classification,
    discernibility,
    height,
    node_levels,
    precision,
)
from treeanon.metrics.table.measure import FlatLosses, measure
from treeanon.metrics.table.ncp import Form, gcp, ncp, node_ncp
from treeanon.metrics.table.queries import QueryLoss, permuted_query_loss, query_loss
from treeanon.metrics.table.use import (
    Accuracy,
    ColumnStatistics,
    Correlation,
    Statistics,
    classifier_accuracy,
    statistics,
)

__all__ = [
    "Accuracy",
    "ColumnStatistics",
    "Correlation",
    "FlatLosses",
    "Form",
    "QueryLoss",
    "Statistics",
    "average_class_size",
    "classification",
    "classifier_accuracy",
    "discernibility",
    "gcp",
    "height",
    "measure",
    "ncp",
    "node_levels",
    "node_ncp",
    "permuted_query_loss",
    "precision",
    "query_loss",
    "statistics",
]

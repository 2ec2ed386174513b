"""What a release of a table has lost: NCP and GCP, DM, CM, average class size, precision, height, queries."""

from treeanon.loss.flat.classification import classification
from treeanon.loss.flat.measure import FlatLosses, measure
from treeanon.loss.flat.ncp import Form, gcp, ncp, node_ncp
from treeanon.loss.flat.queries import QueryLoss, permuted_query_loss, query_loss
from treeanon.loss.flat.sizes import average_class_size, discernibility
from treeanon.loss.flat.steps import height, node_levels, precision

__all__ = [
    "FlatLosses",
    "Form",
    "QueryLoss",
    "average_class_size",
    "classification",
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
]

"""Who can be singled out in records as they are, by how much knowledge: for trees and for tables."""

from treeanon.risks.api import risk
from treeanon.risks.model import Combination, Risk, RowRisk, Share
from treeanon.risks.tables import risk_of_table
from treeanon.risks.trees import risk_of_trees
from treeanon.verifier.population import population_counts

__all__ = [
    "Combination",
    "Risk",
    "RowRisk",
    "Share",
    "population_counts",
    "risk",
    "risk_of_table",
    "risk_of_trees",
]

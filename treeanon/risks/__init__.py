"""Who can be singled out in records as they are, by how much knowledge: for trees and for tables."""

from treeanon.risks.asking import risk
from treeanon.risks.model import Combination, Risk, RowRisk, Share
from treeanon.risks.tables import people_behind, risk_of_table
from treeanon.risks.trees import risk_of_trees

__all__ = [
    "Combination",
    "Risk",
    "RowRisk",
    "Share",
    "people_behind",
    "risk",
    "risk_of_table",
    "risk_of_trees",
]

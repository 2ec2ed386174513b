"""Who can be singled out in records as they are, by how much knowledge: for trees and for tables."""

from treeanon.risks.model import Combination, Risk, RowRisk, Share

__all__ = ["Combination", "Risk", "RowRisk", "Share"]

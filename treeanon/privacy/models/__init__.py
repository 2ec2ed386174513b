"""Privacy models of flat tables: what a group of rows that look alike must satisfy. One file for each kind."""

from treeanon.privacy.models.distribution import BetaLikeness, DeltaDisclosure, TCloseness
from treeanon.privacy.models.k_anonymity import AlphaKAnonymity, KAnonymity, PSensitiveKAnonymity
from treeanon.privacy.models.l_diversity import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    RecursiveDiversity,
)
from treeanon.privacy.models.model import Model
from treeanon.privacy.models.population import AverageRisk, DeltaPresence, KMap, PopulationUniqueness

__all__ = [
    "AlphaKAnonymity",
    "AverageRisk",
    "BetaLikeness",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctDiversity",
    "EntropyDiversity",
    "FrequencyDiversity",
    "KAnonymity",
    "KMap",
    "Model",
    "PSensitiveKAnonymity",
    "PopulationUniqueness",
    "RecursiveDiversity",
    "TCloseness",
]

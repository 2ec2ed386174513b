"""Privacy models of flat tables: what a group of rows that look alike must satisfy. One file each."""

from treeanon.privacy.models.alpha_k import AlphaKAnonymity
from treeanon.privacy.models.average_risk import AverageRisk
from treeanon.privacy.models.beta_likeness import BetaLikeness
from treeanon.privacy.models.delta_disclosure import DeltaDisclosure
from treeanon.privacy.models.delta_presence import DeltaPresence
from treeanon.privacy.models.k_anonymity import KAnonymity
from treeanon.privacy.models.k_map import KMap
from treeanon.privacy.models.l_diversity import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    RecursiveDiversity,
)
from treeanon.privacy.models.model import Model
from treeanon.privacy.models.p_sensitive_k import PSensitiveKAnonymity
from treeanon.privacy.models.population_uniqueness import PopulationUniqueness
from treeanon.privacy.models.t_closeness import TCloseness

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

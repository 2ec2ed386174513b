"""The experiments of 1D §7 as data: what varies, what is fixed, which algorithms, and what is measured.

Ghinita, Karras, Kalnis, Mamoulis: A framework for efficient data anonymization under privacy and accuracy constraints,
TODS 34(2), 2009. Numbers follow the order of its experiments, one measure each: k-anonymity (22-25), ℓ-diversity
(26-29), correlation (30-31), the accuracy-constrained problem (32-33), queries (34-36). The paper may spread a panel
over its figures otherwise, and its tables are real and larger: compare shapes and ratios, never numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

Vary = Literal["k", "l", "quasi", "rows", "correlation", "max_loss", "level"]
Measure = Literal[
    "gcp", "gcp_set", "il1", "ilmax", "average_ncp", "maximum_ncp", "volume", "seconds", "privacy", "divergence"
]
LOSSES: tuple[Measure, ...] = ("gcp", "gcp_set", "il1", "ilmax", "average_ncp", "maximum_ncp", "volume")
"""The losses that figures can show."""

LABELS: Mapping[str, str] = {
    "k": "k",
    "l": "ℓ",
    "quasi": "quasi-identifiers",
    "rows": "rows",
    "correlation": "correlation α",
    "max_loss": "maximum GCP",
    "level": "columns of the group-by, besides the sensitive one",
    "gcp": "GCP",
    "gcp_set": "GCP, by sets",
    "il1": "IL₁: mean extent",
    "ilmax": "IL∞: largest extent",
    "average_ncp": "mean NCP of a group",
    "maximum_ncp": "weighted maximum NCP of a group",
    "volume": "weighted average volume",
    "seconds": "seconds",
    "privacy": "ℓ reached",
    "divergence": "KL divergence",
}
"""Labels of the axes."""


@dataclass(frozen=True)
class Line:
    """One line of a figure: an algorithm with its options, the guarantee, and the kind of release."""

    name: str
    algorithm: str
    privacy: Literal["k", "l", "loss"]
    options: tuple[tuple[str, Any], ...] = ()
    publish: Literal["generalized", "permuted"] = "generalized"


@dataclass(frozen=True)
class Setting:
    """The parameters of a run. `rows` is a share of the requested rows; `quasi` takes the first columns."""

    data: Literal["census", "synthetic"] = "census"
    rows: float = 1.0
    quasi: int = 7
    k: int = 50
    l: int = 10  # noqa: E741 - its name in the literature
    correlation: float = 0.0
    max_loss: float = 0.0
    level: int = 1


@dataclass(frozen=True)
class Figure:
    """One figure: `vary` takes the `values` in turn, `setting` holds the fixed parameters."""

    number: int
    title: str
    vary: Vary
    values: tuple[float, ...]
    measure: Measure
    lines: tuple[Line, ...]
    setting: Setting = field(default_factory=Setting)


_K_LINES = (
    Line("Hilbert", "hilbert", "k"),
    Line("iDistance", "idistance", "k"),
    Line("Hilbert, fast", "hilbert-fast", "k"),
    Line("iDistance, fast", "idistance-fast", "k"),
    Line("Mondrian", "mondrian", "k"),
    Line("TopDown", "topdown", "k"),
    Line("best order", "onedim", "k"),
    Line("local", "local", "k"),
)
_L_LINES = (
    Line("Hilbert", "onedim-l", "l", (("order", "hilbert"),)),
    Line("iDistance", "onedim-l", "l", (("order", "idistance"),)),
    Line("Mondrian", "mondrian", "l"),
    Line("TopDown", "topdown", "l"),
    Line("best order", "onedim-l", "l"),
    Line("local", "local", "l"),
)
_DUAL_LINES = (
    Line("Hilbert", "onedim-dual", "loss", (("order", "hilbert"),)),
    Line("IPCSD of Hilbert", "onedim-dual", "loss", (("order", "hilbert"), ("method", "ipcsd"))),
    Line("IPCSD of Mondrian", "onedim-dual", "loss", (("method", "ipcsd"), ("primal", "mondrian"))),
    Line("best order", "onedim-dual", "loss"),
)
_QUERY_LINES = (
    Line("Hilbert, permuted", "onedim-l", "l", (("order", "hilbert"),), "permuted"),
    Line("Anatomy", "anatomy", "l", (), "permuted"),
    Line("Hilbert, generalized", "onedim-l", "l", (("order", "hilbert"),)),
    Line("Mondrian, generalized", "mondrian", "l"),
    Line("Mondrian, permuted", "mondrian", "l", (), "permuted"),
)
_KS = (10, 20, 50, 100)
_LS = (2, 4, 6, 8, 10, 13)
_QUASI = (2, 3, 4, 5, 6, 7)
_ROWS = (0.2, 0.4, 0.6, 0.8, 1.0)
_ALPHAS = (0.0, 0.2, 0.4, 0.6, 0.8)
_LOSSES = (0.02, 0.05, 0.1, 0.15, 0.2)
_EVEN = Setting("synthetic", quasi=3, l=5)
_THREE = Setting(quasi=3)
_FEW = Setting(l=5)

_ALL = (
    Figure(22, "k-anonymity: loss against k", "k", _KS, "gcp", _K_LINES),
    Figure(23, "k-anonymity: time against k", "k", _KS, "seconds", _K_LINES),
    Figure(24, "k-anonymity: loss against the number of columns", "quasi", _QUASI, "gcp", _K_LINES),
    Figure(25, "k-anonymity: time against the number of rows", "rows", _ROWS, "seconds", _K_LINES),
    Figure(26, "ℓ-diversity: loss against ℓ", "l", _LS, "gcp", _L_LINES),
    Figure(27, "ℓ-diversity: time against ℓ", "l", _LS, "seconds", _L_LINES),
    Figure(28, "ℓ-diversity: loss against the number of columns", "quasi", _QUASI, "gcp", _L_LINES),
    Figure(29, "ℓ-diversity: time against the number of rows", "rows", _ROWS, "seconds", _L_LINES),
    Figure(30, "ℓ-diversity: loss against correlation", "correlation", _ALPHAS, "gcp", _L_LINES, _EVEN),
    Figure(31, "ℓ-diversity: time against correlation", "correlation", _ALPHAS, "seconds", _L_LINES, _EVEN),
    Figure(32, "accuracy first: ℓ against the loss allowed", "max_loss", _LOSSES, "privacy", _DUAL_LINES, _THREE),
    Figure(33, "accuracy first: time against the loss allowed", "max_loss", _LOSSES, "seconds", _DUAL_LINES, _THREE),
    Figure(34, "queries: divergence against their columns", "level", (1, 2, 3, 4, 5), "divergence", _QUERY_LINES, _FEW),
    Figure(35, "queries: divergence against ℓ", "l", _LS, "divergence", _QUERY_LINES, Setting(level=3)),
    Figure(36, "queries: divergence against the number of rows", "rows", _ROWS, "divergence", _QUERY_LINES,
           Setting(l=5, level=3)),
)  # fmt: skip

FIGURES: Mapping[int, Figure] = MappingProxyType({figure.number: figure for figure in _ALL})
"""All figures by number."""

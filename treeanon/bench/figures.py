"""The experiments of 1D §7 as data: what varies, what is fixed, which algorithms, and what is measured.

Ghinita, Karras, Kalnis, Mamoulis: A framework for efficient data anonymization under privacy and accuracy constraints,
TODS 34(2), 2009. Figures have the paper's numbers, and its panels: k-anonymity (22-24), ℓ-diversity (25-27),
correlation (28), other losses (29-31), the accuracy-constrained problem (32-34), and queries (35, 36). Its tables are
real and larger: compare shapes and ratios, never numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

Vary = Literal["k", "l", "quasi", "rows", "correlation", "max_loss", "level"]
Measure = Literal[
    "gcp",
    "gcp_set",
    "il1",
    "ilmax",
    "average_ncp",
    "maximum_ncp",
    "maximum_share",
    "volume",
    "seconds",
    "privacy",
    "divergence",
]
LOSSES: tuple[Measure, ...] = (
    "gcp", "gcp_set", "il1", "ilmax", "average_ncp", "maximum_ncp", "maximum_share", "volume",
)  # fmt: skip
"""The losses that figures of GCP can show instead."""

LABELS: Mapping[str, str] = {
    "k": "k",
    "l": "ℓ",
    "quasi": "quasi-identifiers",
    "rows": "rows",
    "correlation": "correlation α",
    "max_loss": "largest NCP of a group",
    "level": "columns of the group-by, besides the sensitive one",
    "gcp": "GCP",
    "gcp_set": "GCP, by sets",
    "il1": "IL₁: mean extent of a group",
    "ilmax": "IL∞: largest extent of a group",
    "average_ncp": "average NCP of a group",
    "maximum_ncp": "weighted maximum NCP",
    "maximum_share": "weighted maximum NCP, as a share of the rows",
    "volume": "weighted average volume",
    "seconds": "seconds",
    "privacy": "privacy PM reached",
    "divergence": "KL divergence",
}
"""Labels of the axes."""

ALL_QUASI = 7
"""How many quasi-identifiers the census has."""


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
    """The parameters of a run. `rows` is a share of the requested rows; `quasi` is how many columns are taken: of the
    census these of `projection`, counted from 0, or else the first.
    """

    data: Literal["census", "synthetic"] = "census"
    rows: float = 1.0
    quasi: int = ALL_QUASI
    k: int = 50
    l: int = 10  # noqa: E741 - its name in the literature
    correlation: float = 0.0
    max_loss: float = 0.0
    level: int = 2
    projection: tuple[int, ...] = ()


@dataclass(frozen=True)
class Panel:
    """One panel of a figure of any paper: `vary` takes the `values` in turn."""

    number: int
    panel: str
    title: str
    vary: str
    values: tuple[float, ...]
    measure: str

    @property
    def name(self) -> str:
        """Number and panel.

        >>> FIGURES[22][0].name
        '22a'
        """
        return f"{self.number}{self.panel}"


@dataclass(frozen=True)
class Figure(Panel):
    """A panel of 1D: its lines, and in `setting` the parameters that are fixed."""

    vary: Vary
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
    Line("AC", "onedim-dual", "loss", (("order", "hilbert"),)),
    Line("IPCSD over 1-D", "onedim-dual", "loss", (("order", "hilbert"), ("method", "ipcsd"))),
    Line("IPCSD over Mondrian", "onedim-dual", "loss", (("method", "ipcsd"), ("primal", "mondrian"))),
)
_ANATOMY = Line("Anatomy", "anatomy", "l", (), "permuted")
_GENERALIZED = (*_L_LINES[:3], _ANATOMY)
_PERMUTED = (*(replace(line, publish="permuted") for line in _L_LINES[:3]), _ANATOMY)

_Values = tuple[float, ...]

_KS = (10, 20, 50, 100)
_LS = (2, 4, 6, 8, 10, 13)
_QUASI = (2, 3, 4, 5, 6, 7)
_ROWS = (1 / 8, 1 / 4, 1 / 2, 1.0)
_ALPHAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
_BOUNDS = (0.2, 0.3, 0.4, 0.5, 0.6)
_LEVELS = (1, 2, 3, 4, 5)
_SYNTHETIC = Setting("synthetic", quasi=4, l=5)
_DUAL = Setting(quasi=3, max_loss=0.4)

_OVER: Mapping[Vary, str] = {
    "k": "k", "l": "ℓ", "quasi": "the number of columns", "rows": "the number of rows", "correlation": "correlation",
    "max_loss": "the NCP allowed", "level": "the columns of queries",
}  # fmt: skip
_OF: Mapping[Measure, str] = {"gcp": "loss", "seconds": "time", "privacy": "privacy", "divergence": "divergence"}


def _panels(
    number: int,
    what: str,
    panels: Iterable[tuple[Vary, _Values, Measure]],
    lines: tuple[Line, ...],
    setting: Setting | None = None,
) -> Iterable[Figure]:
    for panel, (vary, values, measure) in zip("abcd", panels, strict=False):
        title = f"{what}: {_OF.get(measure, LABELS[measure])} against {_OVER[vary]}"
        yield Figure(number, panel, title, vary, values, measure, lines, setting or Setting())


def _loss_and_time(
    number: int,
    what: str,
    vary: Vary,
    values: tuple[float, ...],
    lines: tuple[Line, ...],
    setting: Setting | None = None,
) -> Iterable[Figure]:
    first: Measure = "privacy" if lines is _DUAL_LINES else "gcp"
    return _panels(number, what, ((vary, values, first), (vary, values, "seconds")), lines, setting)


def _over_l_and_rows(number: int, measure: Measure) -> Iterable[Figure]:
    return _panels(number, "ℓ-diversity", (("l", _LS, measure), ("rows", _ROWS, measure)), _L_LINES)


def _queries(number: int, what: str, lines: tuple[Line, ...]) -> Iterable[Figure]:
    over: tuple[tuple[Vary, tuple[float, ...]], ...] = (
        ("l", _LS),
        ("level", _LEVELS),
        ("quasi", _QUASI),
        ("rows", _ROWS),
    )
    return _panels(number, what, ((vary, values, "divergence") for vary, values in over), lines)


_ALL = (
    *_loss_and_time(22, "k-anonymity", "k", _KS, _K_LINES),
    *_loss_and_time(23, "k-anonymity", "rows", _ROWS, _K_LINES),
    *_loss_and_time(24, "k-anonymity", "quasi", _QUASI, _K_LINES),
    *_loss_and_time(25, "ℓ-diversity", "l", _LS, _L_LINES),
    *_loss_and_time(26, "ℓ-diversity", "rows", _ROWS, _L_LINES),
    *_loss_and_time(27, "ℓ-diversity", "quasi", _QUASI, _L_LINES),
    *_loss_and_time(28, "ℓ-diversity", "correlation", _ALPHAS, _L_LINES, _SYNTHETIC),
    *_over_l_and_rows(29, "maximum_ncp"),
    *_over_l_and_rows(30, "average_ncp"),
    *_over_l_and_rows(31, "volume"),
    *_loss_and_time(32, "accuracy first", "max_loss", _BOUNDS, _DUAL_LINES, _DUAL),
    *_loss_and_time(33, "accuracy first", "quasi", _QUASI, _DUAL_LINES, _DUAL),
    *_loss_and_time(34, "accuracy first", "rows", _ROWS, _DUAL_LINES, _DUAL),
    *_queries(35, "queries of generalized releases", _GENERALIZED),
    *_queries(36, "queries of permuted releases", _PERMUTED),
)

FIGURES: Mapping[int, tuple[Figure, ...]] = MappingProxyType(
    {number: tuple(figure for figure in _ALL if figure.number == number) for number in range(22, 37)}
)
"""The panels of all figures by number."""

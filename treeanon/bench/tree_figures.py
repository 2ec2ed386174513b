"""The experiments of the paper on trees as data: what varies, what is fixed, which searches, and what is measured.

O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section IV.
Figures have the paper's numbers: GCS against its beam g (15, 16), ACS and GCS over |D| (17), and against k, m, n and
|D| the RPD (18), ML² (19), dML² (20) and seconds (21). What the paper fixes while one parameter varies is not all
given: here it is k = 20, m = 3, n = 2 and g = 2. Our default search is a line beside the paper's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from treeanon.bench.figures import Panel

Vary = Literal["g", "k", "m", "n", "records"]
Measure = Literal["rpd", "ml2", "dml2", "seconds"]

LABELS: Mapping[str, str] = {
    "g": "g, the beam of GCS",
    "k": "k",
    "m": "m, values known",
    "n": "n, relations known",
    "records": "records",
    "rpd": "RPD",
    "ml2": "ML²",
    "dml2": "dML²",
    "seconds": "seconds",
}
"""Labels of the axes."""


@dataclass(frozen=True)
class Line:
    """One line of a figure: a search with its parameters."""

    name: str
    algorithm: str
    parameters: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Setting:
    """The parameters of a run. `records` is a share of those asked for; `g` is for GCS alone."""

    k: int = 20
    m: int = 3
    n: int = 2
    records: float = 1.0
    g: int = 2


@dataclass(frozen=True)
class Figure(Panel):
    """A panel of the paper: its lines; all that does not vary is as in `setting`.

    >>> FIGURES[18][0].name, FIGURES[15][0].name
    ('18a', '15')
    """

    vary: Vary
    measure: Measure
    lines: tuple[Line, ...]
    setting: Setting = field(default_factory=Setting)


# The paper's own figures of RPDa come out with the levels of all hierarchies.
_SCOPE = (("scope", "hierarchy"),)
GCS = Line("GCS", "gcs", _SCOPE)
ACS = Line("ACS", "acs", _SCOPE)
OCS = Line("OCS", "ocs", _SCOPE)
MIRACLE = Line("MiRaCle", "miracle")
CHOSEN = Line("GCS, least RPD", "gcs", (("scope", "both"), ("choose", "rpd")))
DEFAULT = Line("default", "maximal")

_BY_G = (GCS, ACS)
_RIVALS = (GCS, CHOSEN, OCS, MIRACLE, DEFAULT)

_GS = (1, 2, 4, 8, 16)
_RECORDS = (1 / 8, 1 / 4, 1 / 2, 1.0)
_OVER: tuple[tuple[str, Vary, tuple[float, ...]], ...] = (
    ("a", "k", (5, 10, 20, 50, 100, 300)),
    ("b", "m", (2, 3, 4, 5, 6)),
    ("c", "n", (0, 1, 2, 3)),
    ("d", "records", _RECORDS),
)


def _rivals(number: int, measure: Measure) -> Iterable[Figure]:
    for panel, vary, values in _OVER:
        name = "|D|" if vary == "records" else vary
        yield Figure(number, panel, f"{LABELS[measure]} against {name}", vary, values, measure, _RIVALS)


_ALL = (
    Figure(15, "", "RPD against the beam of GCS", "g", _GS, "rpd", _BY_G),
    Figure(16, "", "time against the beam of GCS", "g", _GS, "seconds", _BY_G),
    Figure(17, "", "time of ACS and GCS against |D|", "records", _RECORDS, "seconds", _BY_G),
    *_rivals(18, "rpd"),
    *_rivals(19, "ml2"),
    *_rivals(20, "dml2"),
    *_rivals(21, "seconds"),
)

FIGURES: Mapping[int, tuple[Figure, ...]] = MappingProxyType(
    {number: tuple(figure for figure in _ALL if figure.number == number) for number in range(15, 22)}
)
"""The panels of all figures by number."""

LINEAR = "growth in step with |D|"
"""What the seconds of a line would be if they grew as the records do, from its first number on."""

CLAIMS: Mapping[int, tuple[tuple[str, str | float], ...]] = MappingProxyType(
    {
        15: (("GCS", "ACS"),),
        16: (("GCS", "ACS"),),
        17: (("GCS", "ACS"), ("GCS", LINEAR)),
        18: (("GCS", "OCS"), ("GCS", "MiRaCle")),
        19: (("GCS", "OCS"), ("GCS", "MiRaCle")),
        20: (("GCS", 0.11), ("GCS", "MiRaCle")),
        21: (("GCS", "OCS"),),
    }
)
"""By figure: a line that is nowhere above another line, or above a number."""

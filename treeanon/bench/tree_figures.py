"""The experiments of the paper on trees: what varies, what is fixed, which searches, what is measured; and their runs.

O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section IV.
Figures have the paper's numbers: GCS against its beam g (15, 16), ACS and GCS over |D| (17), and against k, m, n and
|D| the RPD (18), ML² (19), dML² (20) and seconds (21). What the paper fixes while one parameter varies is not all
given: here it is k = 20, m = 3, n = 2 and g = 2. Our default search is a line beside the paper's.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from treeanon.algorithms.tree.registry import tree_algorithm_named
from treeanon.algorithms.tree.solution import Result
from treeanon.bench.figures import Panel
from treeanon.bench.run import FigureResult
from treeanon.bench.tpch import trees
from treeanon.errors import GuaranteeError, TreeanonError, UsageError
from treeanon.forest import Forest
from treeanon.metrics import ml2
from treeanon.metrics.values import rpd
from treeanon.privacy import Guarantee
from treeanon.progress import Progress
from treeanon.verifier.tree import verify

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


_WARM = Setting(k=3, m=2, n=1)
_WARM_RECORDS = 300


@dataclass(frozen=True)
class Collection:
    """What Table I of the paper tells of its data."""

    records: int
    nodes: int
    labels: int
    depth: int

    @classmethod
    def of(cls, forest: Forest) -> Collection:
        """Describe a forest."""
        depth = max(int(hierarchy.depth.max(initial=0)) + 1 for hierarchy in forest.classes.hierarchies)
        return cls(len(forest), forest.nodes, len(forest.classes) - 1, depth)

    @property
    def sentence(self) -> str:
        """The description in words.

        >>> Collection(10, 45, 276, 4).sentence
        'Table I. 10 records, 4.5 nodes a record on average, 276 labels in hierarchies of up to 4 levels'
        """
        mean = self.nodes / max(self.records, 1)
        return (
            f"Table I. {self.records:,} records, {mean:.1f} nodes a record on average, {self.labels:,} labels in"
            f" hierarchies of up to {self.depth} levels"
        )


@dataclass(frozen=True)
class _Numbers:
    measures: Mapping[Measure, float]
    note: str = ""


class _Bench:
    """Runs searches on the first records of a collection, each once."""

    def __init__(self, forest: Forest, limit: float | None) -> None:
        self.forest, self.limit = forest, limit
        self._found: dict[tuple[Line, Setting], _Numbers | TreeanonError] = {}
        self._warm: set[str] = set()

    def numbers(self, line: Line, setting: Setting) -> _Numbers:
        """Return what a search costs and loses; an error says why there is nothing."""
        setting = setting if line.algorithm == "gcs" else replace(setting, g=Setting().g)
        if (line, setting) not in self._found:
            try:
                self._found[line, setting] = self._measured(line, setting)
            except TreeanonError as problem:
                self._found[line, setting] = problem
        found = self._found[line, setting]
        if isinstance(found, TreeanonError):
            raise found
        return found

    def _measured(self, line: Line, setting: Setting) -> _Numbers:
        if line.algorithm not in self._warm:
            # The first search of its kind compiles or loads kernels.
            self._warm.add(line.algorithm)
            self._searched(line, _WARM, self.forest[:_WARM_RECORDS])
        forest = self.forest[: max(1, round(len(self.forest) * setting.records))]
        seconds, found = self._searched(line, setting, forest)
        guarantee = found.solution.guarantee
        if not verify(found.forest, guarantee).holds:
            raise GuaranteeError("the release fails its check")
        mined = ml2(forest, found.forest, found.kept)
        measures: dict[Measure, float] = {
            "rpd": rpd(found.forest), "seconds": seconds, "ml2": mined.ml2, "dml2": mined.dml2,
        }  # fmt: skip
        early = f"ended after {self.limit:g} s with the best so far" if found.report.get("ended_early") else ""
        return _Numbers(measures, early)

    def _searched(self, line: Line, setting: Setting, forest: Forest) -> tuple[float, Result]:
        """Return the seconds of a search, and what it found, for the guarantee as the paper has it."""
        algorithm = tree_algorithm_named(line.algorithm)
        given: dict[str, Any] = dict(line.parameters)
        if algorithm.takes("g"):
            given["g"] = setting.g
        if self.limit is not None and algorithm.takes("budget"):
            given["budget"] = self.limit
        guarantee = Guarantee(setting.k, setting.m, setting.n, as_published=True)
        started = time.perf_counter()
        found: Result = algorithm.search(forest, guarantee, **given)
        return time.perf_counter() - started, found


def run_trees(
    figures: Iterable[Figure],
    records: int,
    *,
    parquet: Path | None = None,
    seed: int = 0,
    limit: float | None = None,
    progress: Progress | None = None,
) -> tuple[Collection, list[FigureResult]]:
    """Run figures on up to `records` trees of TPC-H tables in a folder, or of an invented collection.

    The paper's searches end after `limit` seconds with the best so far, which a note tells.
    """
    if records < 1:
        raise UsageError("records must be at least 1")
    figures = list(figures)
    forest = trees(records, parquet, seed)
    bench = _Bench(forest, limit)
    total = sum(len(figure.values) * len(figure.lines) for figure in figures)
    done, results = 0, []
    for figure in figures:
        lines: dict[str, list[float | None]] = {line.name: [] for line in figure.lines}
        notes: dict[str, list[str]] = {}
        for value in figure.values:
            for line in figure.lines:
                lines[line.name].append(_number(bench, figure, line, value, notes))
                done += 1
                if progress is not None:
                    progress(done, total)
        shown = [round(len(forest) * value) if figure.vary == "records" else value for value in figure.values]
        texts = [f"{note}: {', '.join(where)}" for note, where in notes.items()]
        results.append(FigureResult(figure, shown, lines, texts))
    return Collection.of(forest), results


def _number(bench: _Bench, figure: Figure, line: Line, value: float, notes: dict[str, list[str]]) -> float | None:
    """Return the number of a line at a value, None if there is none, and note what is to be said of it."""
    varied: dict[str, Any] = {figure.vary: value if figure.vary == "records" else int(value)}
    place = f"{figure.vary} = {max(1, round(len(bench.forest) * value)) if figure.vary == 'records' else int(value):,}"
    try:
        found = bench.numbers(line, replace(figure.setting, **varied))
    except TreeanonError as problem:
        notes.setdefault(f"{line.name}: {problem}", []).append(place)
        return None
    if found.note:
        notes.setdefault(f"{line.name} {found.note}", []).append(place)
    return found.measures[figure.measure]

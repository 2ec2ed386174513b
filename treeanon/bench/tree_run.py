"""Runs the figures of the paper on trees: each search that they need is run once, and its release is checked.

O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section IV.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from treeanon.algorithms.tree.registry import tree_algorithm_named
from treeanon.algorithms.tree.solution import Result
from treeanon.bench.run import FigureResult
from treeanon.bench.tpch import trees
from treeanon.bench.tree_figures import Figure, Line, Measure, Setting
from treeanon.errors import GuaranteeError, TreeanonError, UsageError
from treeanon.forest import Forest
from treeanon.metrics import ml2
from treeanon.metrics.values import rpd
from treeanon.privacy import Guarantee
from treeanon.progress import Progress
from treeanon.verifier.tree import verify

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

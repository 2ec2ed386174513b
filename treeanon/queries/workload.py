"""A workload: the queries that somebody will ask of a release, and how far its estimates are from the truth.

Its file has one query a line, in the language of `treeanon query` (see `grammar`); what follows a `#` at the beginning
of a line is a comment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from treeanon.arrays import Floats
from treeanon.errors import FileError, UsageError
from treeanon.forest import Forest
from treeanon.queries.grammar import Condition, Formula, conditions, parse
from treeanon.queries.trees import PublishedTrees, count_trees, counted

FLOOR = 0.01
"""An error is relative to the truth, or to this share of the persons where that is more."""


def queries_in(given: str | Path | Sequence[str]) -> tuple[str, ...]:
    """Return the texts of queries, of a file if its path is given; UsageError for one that cannot be understood.

    >>> queries_in(["age 30-40", "disease = Flu under hospital = H1"])
    ('age 30-40', 'disease = Flu under hospital = H1')
    >>> queries_in(["age 30-40", "age >"])
    Traceback (most recent call last):
    treeanon.errors.UsageError: queries, number 2: query, character 6: a value is expected
    """
    lines: list[tuple[str, str]]
    if isinstance(given, str | Path):
        lines = [
            (f"{given}, line {number}", line.strip())
            for number, line in enumerate(_read(Path(given)).splitlines(), 1)
            if line.strip() and not line.lstrip().startswith("#")
        ]
    else:
        lines = [(f"queries, number {number}", text) for number, text in enumerate(given, 1)]
    if not lines:
        raise UsageError(f"{given}: no query" if isinstance(given, str | Path) else "queries: there is none")
    for place, text in lines:
        _parsed(place, text)
    return tuple(text for _, text in lines)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as problem:
        raise FileError(f"{path}: cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not a text file in UTF-8") from None


def _parsed(place: str, text: str) -> Formula:
    try:
        return parse(text)
    except UsageError as problem:
        raise UsageError(f"{place}: {problem}") from None


@dataclass(frozen=True)
class _Everything:
    """What there is to tell of trees that are published as they are: nothing."""

    cut: Any = None
    withheld: tuple[str, ...] = ()
    disassociated: tuple[Any, ...] = ()
    left_out: tuple[Any, ...] = ()


class Workload:
    """Queries with their true answers in an input of trees.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> forest = ta.Forest.from_records(schema, [[["disease", "flu", []]], [["disease", "acne", []]]])
    >>> asked = Workload(forest, ["disease = flu", "disease in (flu, acne)"])
    >>> general = forest.project({"disease": ["*"]})
    >>> asked.truth.tolist(), asked.error(forest), round(asked.error(general), 3)
    ([1.0, 2.0], 0.0, 0.167)
    """

    def __init__(self, before: Forest, texts: Sequence[str]) -> None:
        self.before, self.texts = before, tuple(texts)
        self._trees = PublishedTrees(before, _Everything({}), [])
        self.formulas: list[Formula] = []
        truth = []
        for number, text in enumerate(texts, 1):
            self.formulas.append(_parsed(f"queries, number {number}", text))
            try:
                self._trees.ask(conditions(self.formulas[-1]))
                truth.append(counted(self._trees, self.formulas[-1])[1])
            except UsageError as problem:
                raise UsageError(f"queries, number {number}: {problem}") from None
        self.truth: Floats = np.array(truth, np.float64)
        self.scale = np.maximum(self.truth, max(FLOOR * len(before), 1.0))

    def estimates(self, after: Forest) -> Floats:
        """Return what would be estimated from a release."""
        return np.array([count_trees(after, formula)[0] for formula in self.formulas])

    def near_estimates(self, after: Forest) -> Floats:
        """Return the same, quickly: published values are read as if those of the input were there to see."""
        trees = PublishedTrees(after, _Everything({}), [], self._trees)
        return np.array([counted(trees, formula)[0] for formula in self.formulas])

    def errors(self, estimates: Floats) -> Floats:
        """Return the relative error of every query."""
        return np.abs(estimates - self.truth) / self.scale

    def error(self, after: Forest) -> float:
        """Return the mean relative error of a release; persons that it lacks satisfy no query."""
        return float(self.errors(self.estimates(after)).mean())

    def compared(self, after: Forest) -> dict[str, Any]:
        """Return as plain data what is true of every query, what a release lets one estimate, and the mean error."""
        estimates = self.estimates(after)
        errors = self.errors(estimates)
        columns = zip(self.texts, self.truth.tolist(), estimates.tolist(), errors.tolist(), strict=True)
        answers = [
            {"query": text, "before": int(truth), "estimate": estimate, "error": error}
            for text, truth, estimate, error in columns
        ]
        return {"error": float(errors.mean()), "queries": answers}

    @cached_property
    def doubts(self) -> Floats:
        """Return for every label how much a record that holds it adds to the error, at most: for walks to look at.

        Of a value that stands for those that satisfy a condition and for others a count is a guess; no value is told
        better than all that it stands for.
        """
        classes = self.before.classes
        out = np.zeros(len(classes))
        for formula, scale in zip(self.formulas, self.scale, strict=True):
            for condition in dict.fromkeys(conditions(formula)):
                out += self._doubt(condition) / scale
        return out / len(self.formulas)

    def _doubt(self, condition: Condition) -> Floats:
        classes = self.before.classes
        out = np.zeros(len(classes))
        index = self._trees.domains[condition][0]
        first, hierarchy = int(classes.first[index]), classes.hierarchies[index]
        share = [self._trees.readings(condition, first + at).get(1, 0.0) for at in range(len(hierarchy))]
        found = 4 * np.array(share) * (1 - np.array(share))
        for at in range(len(hierarchy) - 1, 0, -1):
            above = int(hierarchy.parent[at])
            found[above] = max(found[above], found[at])
        out[first : first + len(hierarchy)] = found
        return out

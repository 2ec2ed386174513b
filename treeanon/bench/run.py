"""Figures run: every search that they need is done once, its release is checked, and all asked of it is measured."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from treeanon.algorithms.flat.found import Found
from treeanon.algorithms.flat.problem import Problem
from treeanon.algorithms.flat.registry import FLAT_ALGORITHMS
from treeanon.bench.census import census
from treeanon.bench.figures import FIGURES, Figure, Line, Measure, Setting
from treeanon.bench.synthetic import synthetic
from treeanon.errors import GuaranteeError, TreeanonError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.trees import Longs
from treeanon.loss.flat import gcp, permuted_query_loss, query_loss
from treeanon.loss.flat.groups import groups_of
from treeanon.privacy.models import FrequencyDiversity, KAnonymity, Model, check
from treeanon.schema.model import ClassSpec
from treeanon.table import Column, Table

Progress = Callable[[int, int | None], None]
_SMALL = 300
_SPAN = re.compile("([0-9]{1,4})(?:-([0-9]{1,4}))?")
_QUICK, _REPEATS = 1.0, 3


@dataclass(frozen=True)
class Drawn:
    """A figure that was run: a number (None: there is none) for every line and value, and what is to be said of it."""

    figure: Figure
    values: Sequence[float]
    lines: Mapping[str, Sequence[float | None]]
    notes: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, as `--json` has it."""
        figure = self.figure
        head = {"figure": figure.number, "title": figure.title, "vary": figure.vary, "measure": figure.measure}
        return (
            head
            | {"values": list(self.values), "lines": {k: list(v) for k, v in self.lines.items()}}
            | {"notes": list(self.notes)}
        )


def chosen(text: str) -> list[Figure]:
    """The figures that a text such as `22-24,30` names.

    >>> [figure.number for figure in chosen("22-24,30")]
    [22, 23, 24, 30]
    """
    numbers: set[int] = set()
    for part in text.split(","):
        span = _SPAN.fullmatch(part.strip())
        if span is None:
            raise UsageError("figures are named by their numbers, such as 22-24,30")
        first, last = int(span[1]), int(span[2] or span[1])
        if first > last or not {first, last} <= set(FIGURES):
            raise UsageError(f"there are the figures {min(FIGURES)} to {max(FIGURES)}")
        numbers |= set(range(first, last + 1))
    return [FIGURES[number] for number in sorted(numbers)]


def run(figures: Iterable[Figure], rows: int, *, seed: int = 0, progress: Progress | None = None) -> list[Drawn]:
    """The figures, measured on tables of up to so many rows; what cannot be run is left out, with a note."""
    figures = list(figures)
    if rows < 1:
        raise UsageError("there must be at least one row")
    bench = _Bench(rows, seed)
    for figure in figures:
        for line, setting in _points(figure):
            bench.want(line, setting, figure.measure)
    bench.measure(progress)
    return [_drawn(figure, bench) for figure in figures]


def _points(figure: Figure) -> Iterator[tuple[Line, Setting]]:
    for line in figure.lines:
        for value in figure.values:
            varied: dict[str, Any] = {figure.vary: value}
            yield line, replace(figure.setting, **varied)


def _drawn(figure: Figure, bench: _Bench) -> Drawn:
    lines: dict[str, list[float | None]] = {}
    notes: dict[str, None] = {}
    for line, setting in _points(figure):
        value, note = bench.found(line, setting, figure.measure)
        lines.setdefault(line.name, []).append(value)
        if note:
            notes[f"{line.name}: {note}"] = None
    values = [value * bench.rows if figure.vary == "rows" else value for value in figure.values]
    kept = {name: own for name, own in lines.items() if any(value is not None for value in own)}
    return Drawn(figure, values, kept, tuple(notes))


_Key = tuple[Line, Setting]
_Wanted = tuple[Measure, int]


@dataclass
class _Bench:
    """What is to be measured of which searches, and what came out."""

    rows: int
    seed: int
    wanted: dict[_Key, set[_Wanted]] = field(default_factory=dict)
    numbers: dict[tuple[_Key, _Wanted], float] = field(default_factory=dict)
    notes: dict[_Key, str] = field(default_factory=dict)
    _tables: dict[Setting, Table] = field(default_factory=dict)
    _warm: set[Line] = field(default_factory=set)

    def want(self, line: Line, setting: Setting, measure: Measure) -> None:
        """Notes that a measure of a search is needed."""
        self.wanted.setdefault(_key(line, setting), set()).add(_asked(setting, measure))

    def found(self, line: Line, setting: Setting, measure: Measure) -> tuple[float | None, str]:
        """What came out, and what is to be said of it."""
        key = _key(line, setting)
        return self.numbers.get((key, _asked(setting, measure))), self.notes.get(key, "")

    def measure(self, progress: Progress | None) -> None:
        """Does all searches, and measures what is needed."""
        for done, (key, asked) in enumerate(self.wanted.items()):
            try:
                self._one(*key, asked)
            except TreeanonError as problem:
                # The tables are invented: a message tells nothing of anybody.
                self.notes[key] = str(problem)
            if progress is not None:
                progress(done + 1, len(self.wanted))

    def _one(self, line: Line, setting: Setting, asked: set[_Wanted]) -> None:
        algorithm = FLAT_ALGORITHMS.get(line.algorithm)
        if algorithm is None:
            raise UsageError(f"left out: there is no algorithm {line.algorithm!r} here")
        options = dict(line.options) | ({"max_loss": setting.max_loss} if line.privacy == "loss" else {})
        algorithm.check(options)
        if line not in self._warm:
            # The first search of a kind waits for its kernels to be compiled or loaded. Few rows may not do for it.
            with suppress(TreeanonError):
                _searched(line, setting, _table(setting, min(_SMALL, self.rows), self.seed), options)
            self._warm.add(line)
        table = self._table(setting)
        best, found = _searched(line, setting, table, options)
        for _ in range(_REPEATS - 1 if best < _QUICK else 0):
            best = min(best, _searched(line, setting, table, options)[0])
        release = _Release(line, setting, table, found)
        release.check()
        for measure, level in asked:
            number = best if measure == "seconds" else release.number(measure, level)
            self.numbers[(line, setting), (measure, level)] = number

    def _table(self, setting: Setting) -> Table:
        only = Setting(setting.data, setting.rows, setting.quasi, correlation=setting.correlation)
        if only not in self._tables:
            if len(self._tables) > 8:
                self._tables.clear()
            self._tables[only] = _table(setting, max(1, round(self.rows * setting.rows)), self.seed)
        return self._tables[only]


def _key(line: Line, setting: Setting) -> _Key:
    """A search: what it is not asked for is left out, so that figures share it."""
    unasked: dict[str, Any] = {"k": 1, "l": 1, "max_loss": 0.0, "level": 1}
    asked = {"k": "k", "l": "l", "loss": "max_loss"}[line.privacy]
    return line, replace(setting, **{name: value for name, value in unasked.items() if name != asked})


def _asked(setting: Setting, measure: Measure) -> _Wanted:
    return measure, setting.level if measure == "divergence" else 0


def _table(setting: Setting, rows: int, seed: int) -> Table:
    if setting.data == "census":
        return census(rows, seed, quasi=setting.quasi)
    return synthetic(rows, seed, correlation=setting.correlation, quasi=setting.quasi)


def _models(line: Line, setting: Setting) -> tuple[Model, ...]:
    if line.privacy == "k":
        return (KAnonymity(setting.k),)
    return (FrequencyDiversity(setting.l),) if line.privacy == "l" else ()


def _searched(line: Line, setting: Setting, table: Table, options: Mapping[str, Any]) -> tuple[float, Found]:
    problem = Problem(table, _models(line, setting))
    search: Callable[..., Found] = FLAT_ALGORITHMS[line.algorithm].search
    started = time.perf_counter()
    found = search(problem, **options)
    return time.perf_counter() - started, found


class _Release:
    """What a search publishes, and what is measured of it."""

    def __init__(self, line: Line, setting: Setting, table: Table, found: Found) -> None:
        self.line, self.setting, self.table = line, setting, table
        self.models = _models(line, setting) or found.models
        self.group: Longs | None = None
        if line.publish == "permuted":
            self.group = getattr(found, "group", None)
            if self.group is None:
                raise UsageError("its result has no groups, so nothing can be permuted")
            rows = np.flatnonzero(self.group >= 0)
            self.released = _by_group(table.take(rows), self.group[rows])
        else:
            self.released, _rows = found.recoded(table)

    def check(self) -> None:
        """GuaranteeError if the release lacks what it was to have."""
        for checked in check(self.released, self.models):
            if not checked.holds:
                raise GuaranteeError(f"the release fails its check: {checked.sentence}")

    def number(self, measure: Measure, level: int) -> float:
        """What a measure says of the release."""
        if measure == "privacy":
            return diversity(self.released)
        if measure == "divergence" and self.group is not None:
            return permuted_query_loss(self.table, self.group, level).mean
        if measure == "divergence":
            return query_loss(self.table, self.released, level).mean
        return gcp(self.released, len(self.table) - len(self.released))


def _by_group(table: Table, group: Longs) -> Table:
    """What an attacker knows of a permuted release: which group a row is in, and the sensitive values of the group."""
    numbers = np.unique(group, return_inverse=True)[1]
    hierarchy = Hierarchy.flat(map(str, range(int(numbers.max(initial=-1)) + 1)))
    column = Column(ClassSpec("group", hierarchy=hierarchy), hierarchy, (numbers + 1).astype(np.int32))
    return Table((column, *table.sensitive))


def diversity(table: Table) -> float:
    """The ℓ that a table has: how many times the most frequent sensitive value of a group fits into it, at the least.

    >>> from treeanon.hierarchy import Hierarchy
    >>> columns = {"sex": ("ffmm", Hierarchy.flat("fm")), "ill": ("aabc", Hierarchy.flat("abc"))}
    >>> diversity(Table.of_texts(columns, {"ill": "sensitive"})), diversity(Table.of_texts(columns).take(np.array([0])))
    (1.0, inf)
    """
    least = float("inf")
    numbers, groups = groups_of(table)
    sizes = np.bincount(numbers, minlength=groups)
    for column in table.sensitive:
        both, parts = groups_of(table, [*table.quasi, column])
        most = np.zeros(groups, np.int64)
        owner = np.zeros(parts, np.int64)
        owner[both] = numbers
        np.maximum.at(most, owner, np.bincount(both, minlength=parts))
        least = min(least, float((sizes / most).min(initial=np.inf)))
    return least

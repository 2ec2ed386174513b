"""Runs figures: each search that they need is run once, and its release is checked and measured.

With a time limit, searches run in a separate process, as compiled kernels cannot be interrupted.
"""

from __future__ import annotations

import multiprocessing
import re
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from statistics import fmean
from types import TracebackType
from typing import Any, Literal, Protocol, TypeVar

from treeanon.bench.figures import ALL_QUASI, Figure, Line, Measure, Panel, Setting
from treeanon.bench.measuring import MeasureKey, Measuring, Numbers
from treeanon.errors import TreeanonError, UsageError
from treeanon.progress import Progress

Answer = tuple[Literal["warm", "failed", "done"], Any, float]
"""The kind of answer, its content, and the seconds that it took."""
_START = 300.0
"""Seconds for the process to start and to compile kernels."""


class SeparateProcess:
    """Measures as `Measuring` does, but in a separate process and with a time limit for each search and its measures.

    Compiling or loading kernels does not count.
    """

    def __init__(self, rows: int, seed: int, seconds: float) -> None:
        if seconds <= 0:
            raise UsageError("the time limit of a search must be more than 0 seconds")
        self.rows, self.seed, self.seconds = rows, seed, seconds
        self._running: tuple[BaseProcess, Connection] | None = None

    def numbers(self, line: Line, setting: Setting, wanted: Iterable[MeasureKey]) -> Numbers:
        """Run a search and return the requested measures; an error says why there are none."""
        connection = self._connection()
        connection.send((line, setting, set(wanted)))
        self._answer(connection, max(_START, self.seconds))
        kind, content, took = self._answer(connection, self.seconds)
        if took > self.seconds:
            raise self._late(self.seconds)
        if kind == "failed":
            raise TreeanonError(content)
        found: Numbers = content
        return found

    def __enter__(self) -> SeparateProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _connection(self) -> Connection:
        if self._running is None:
            context = multiprocessing.get_context("spawn")
            own, other = context.Pipe()
            process = context.Process(target=_serve, args=(other, self.rows, self.seed), daemon=True)
            process.start()
            other.close()
            self._running = process, own
        return self._running[1]

    def _answer(self, connection: Connection, seconds: float) -> Answer:
        """Return the next answer of the process; raise an error after the time limit, or if the process has ended."""
        try:
            if connection.poll(seconds):
                answer: Answer = connection.recv()
                return answer
        except EOFError:
            self._end()
            raise TreeanonError("its process ended unexpectedly") from None
        self._end()
        raise self._late(seconds)

    def _late(self, seconds: float) -> TreeanonError:
        return TreeanonError(f"left out: took longer than {seconds:g} s")

    def _end(self) -> None:
        if self._running is not None:
            process, connection = self._running
            self._running = None
            process.kill()
            process.join()
            connection.close()


def _serve(connection: Connection, rows: int, seed: int) -> None:
    """Serve searches in the separate process: answer each when its kernels are ready and when it is done."""
    # Ctrl-C is handled by the parent process, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    measuring = Measuring(rows, seed)
    while True:
        try:
            line, setting, wanted = connection.recv()
        except EOFError:
            return
        measuring.warm_up(line, setting)
        connection.send(("warm", None, 0.0))
        begun = time.perf_counter()
        kind: Literal["failed", "done"] = "done"
        content: Any
        try:
            content = measuring.numbers(line, setting, wanted)
        except TreeanonError as problem:
            kind, content = "failed", str(problem)
        connection.send((kind, content, time.perf_counter() - begun))


_SPAN = re.compile("([0-9]{1,4})(?:-([0-9]{1,4}))?")


@dataclass(frozen=True)
class FigureResult:
    """The result of a figure: a number (None: missing) for every line and value, and notes."""

    figure: Panel
    values: Sequence[float]
    lines: Mapping[str, Sequence[float | None]]
    notes: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data for `--json`."""
        figure = self.figure
        return {
            "figure": figure.number,
            "panel": figure.panel,
            "title": figure.title,
            "vary": figure.vary,
            "measure": figure.measure,
            "values": list(self.values),
            "lines": {name: list(own) for name, own in self.lines.items()},
            "notes": list(self.notes),
        }


F = TypeVar("F", bound=Panel)


def chosen(text: str, figures: Mapping[int, Sequence[F]]) -> list[F]:
    """Return the panels of the figures that a text such as `22-24,30` selects.

    >>> from treeanon.bench.figures import FIGURES
    >>> [figure.name for figure in chosen("22-23,30", FIGURES)]
    ['22a', '22b', '23a', '23b', '30a', '30b']
    """
    numbers: set[int] = set()
    for part in text.split(","):
        span = _SPAN.fullmatch(part.strip())
        if span is None:
            raise UsageError("select figures by number, such as 22-24,30")
        first, last = int(span[1]), int(span[2] or span[1])
        if first > last or not {first, last} <= set(figures):
            raise UsageError(f"choose figures from {min(figures)} to {max(figures)}")
        numbers |= set(range(first, last + 1))
    return [figure for number in sorted(numbers) for figure in figures[number]]


Projections = Literal["all", "first"]


def run(
    figures: Iterable[Figure],
    rows: int,
    *,
    projections: Projections = "all",
    seed: int = 0,
    loss: Measure = "gcp",
    limit: float | None = None,
    progress: Progress | None = None,
) -> list[FigureResult]:
    """Run figures on tables of up to `rows` rows; what cannot be run is left out, with a note.

    With fewer columns than the census has, a number is the mean over all projections to so many of them, as in the
    paper, or that of the first columns alone. Figures of GCP show the measure `loss`. A search that takes longer than
    `limit` seconds is ended and has no number; all searches then run in a separate process.
    """
    figures = [replace(figure, measure=loss) if figure.measure == "gcp" else figure for figure in figures]
    if rows < 1:
        raise UsageError("rows must be at least 1")
    bench = _Bench()
    for figure in figures:
        for line, setting in _points(figure):
            for projected in _projected(setting, projections):
                bench.want(line, projected, figure.measure)
    if limit is None:
        bench.measure(Measuring(rows, seed), progress)
    else:
        with SeparateProcess(rows, seed, limit) as apart:
            bench.measure(apart, progress)
    return [_drawn(figure, bench, rows, projections) for figure in figures]


def _points(figure: Figure) -> Iterator[tuple[Line, Setting]]:
    for line in figure.lines:
        for value in figure.values:
            varied: dict[str, Any] = {figure.vary: value}
            yield line, replace(figure.setting, **varied)


def _projected(setting: Setting, projections: Projections) -> Iterator[Setting]:
    """Return the setting for each projection whose mean is its number."""
    if setting.data != "census" or projections == "first":
        yield setting
        return
    for columns in combinations(range(ALL_QUASI), setting.quasi):
        yield replace(setting, projection=() if setting.quasi == ALL_QUASI else columns)


def _drawn(figure: Figure, bench: _Bench, rows: int, projections: Projections) -> FigureResult:
    lines: dict[str, list[float | None]] = {}
    notes: dict[str, None] = {}
    for line, setting in _points(figure):
        found = [bench.found(line, one, figure.measure) for one in _projected(setting, projections)]
        own = [value for value, _ in found if value is not None]
        # A mean over some of the projections would be of other tables than that of another line.
        lines.setdefault(line.name, []).append(fmean(own) if len(own) == len(found) else None)
        notes |= {f"{line.name}: {note}": None for _, note in found if note}
    values = [value * rows if figure.vary == "rows" else value for value in figure.values]
    kept = {name: own for name, own in lines.items() if any(value is not None for value in own)}
    return FigureResult(figure, values, kept, tuple(notes))


_Key = tuple[Line, Setting]


class _Measurer(Protocol):
    def numbers(self, line: Line, setting: Setting, wanted: Iterable[MeasureKey]) -> Numbers: ...


@dataclass
class _Bench:
    """The measures needed of each search, and their results."""

    wanted: dict[_Key, set[MeasureKey]] = field(default_factory=dict)
    numbers: dict[_Key, Numbers] = field(default_factory=dict)
    notes: dict[_Key, str] = field(default_factory=dict)

    def want(self, line: Line, setting: Setting, measure: Measure) -> None:
        """Register a measure of a search."""
        self.wanted.setdefault(_key(line, setting), set()).add(_measure_key(setting, measure))

    def found(self, line: Line, setting: Setting, measure: Measure) -> tuple[float | None, str]:
        """Return the number, if there is one, and the note."""
        key = _key(line, setting)
        return self.numbers.get(key, {}).get(_measure_key(setting, measure)), self.notes.get(key, "")

    def measure(self, measurer: _Measurer, progress: Progress | None) -> None:
        """Run all searches and measure what is needed."""
        for done, (key, wanted) in enumerate(self.wanted.items()):
            try:
                self.numbers[key] = measurer.numbers(*key, wanted)
            except TreeanonError as problem:
                # The tables are synthetic, so that messages reveal nothing.
                self.notes[key] = str(problem)
            if progress is not None:
                progress(done + 1, len(self.wanted))


def _key(line: Line, setting: Setting) -> _Key:
    """Return the key of a search, without irrelevant parameters, so that figures share searches."""
    unasked: dict[str, Any] = {"k": 1, "l": 1, "max_loss": 0.0, "level": 1}
    wanted = {"k": "k", "l": "l", "loss": "max_loss"}[line.privacy]
    return line, replace(setting, **{name: value for name, value in unasked.items() if name != wanted})


def _measure_key(setting: Setting, measure: Measure) -> MeasureKey:
    return measure, setting.level if measure == "divergence" else 0

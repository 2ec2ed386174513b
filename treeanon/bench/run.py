"""Figures run: every search that they need is done once, its release is checked, and all asked of it is measured.

Searches in a process of their own, which is ended when one takes too long: kernels cannot be interrupted.
"""

from __future__ import annotations

import multiprocessing
import re
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Literal, Protocol

from treeanon.bench.figures import FIGURES, Figure, Line, Measure, Setting
from treeanon.bench.measuring import MeasureKey, Measuring, Numbers
from treeanon.errors import TreeanonError, UsageError
from treeanon.progress import Progress

Answer = tuple[Literal["warm", "failed", "done"], Any, float]
"""What there is to say, with what content, after how many seconds."""
_START = 300.0
"""Seconds for a process to start and for kernels to be compiled."""


class SeparateProcess:
    """Measures as `Measuring` does, but in another process. A search, with what is measured of it, has so many seconds.

    The time for kernels to be compiled or loaded does not count.
    """

    def __init__(self, rows: int, seed: int, seconds: float) -> None:
        if seconds <= 0:
            raise UsageError("the time limit of a search must be more than 0 seconds")
        self.rows, self.seed, self.seconds = rows, seed, seconds
        self._running: tuple[BaseProcess, Connection] | None = None

    def numbers(self, line: Line, setting: Setting, asked: Iterable[MeasureKey]) -> Numbers:
        """What a search is asked for; an error tells why there is nothing."""
        connection = self._connection()
        connection.send((line, setting, set(asked)))
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
        """What the process says next; an error if it says nothing for so long, or is gone."""
        try:
            if connection.poll(seconds):
                told: Answer = connection.recv()
                return told
        except EOFError:
            self._end()
            raise TreeanonError("its process ended before it was done") from None
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
    """What the other process does: answers each search twice, when its kernels are there and when it is done."""
    # An interrupt is for the process that waits: it ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    measuring = Measuring(rows, seed)
    while True:
        try:
            line, setting, asked = connection.recv()
        except EOFError:
            return
        measuring.warm_up(line, setting)
        connection.send(("warm", None, 0.0))
        begun = time.perf_counter()
        kind: Literal["failed", "done"] = "done"
        content: Any
        try:
            content = measuring.numbers(line, setting, asked)
        except TreeanonError as problem:
            kind, content = "failed", str(problem)
        connection.send((kind, content, time.perf_counter() - begun))


_SPAN = re.compile("([0-9]{1,4})(?:-([0-9]{1,4}))?")


@dataclass(frozen=True)
class FigureResult:
    """A figure that was run: a number (None: there is none) for every line and value, and what is to be said of it."""

    figure: Figure
    values: Sequence[float]
    lines: Mapping[str, Sequence[float | None]]
    notes: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data, as `--json` has it."""
        figure = self.figure
        return {
            "figure": figure.number,
            "title": figure.title,
            "vary": figure.vary,
            "measure": figure.measure,
            "values": list(self.values),
            "lines": {name: list(own) for name, own in self.lines.items()},
            "notes": list(self.notes),
        }


def chosen(text: str) -> list[Figure]:
    """Return the figures that a text such as `22-24,30` names.

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


def run(
    figures: Iterable[Figure],
    rows: int,
    *,
    seed: int = 0,
    loss: Measure = "gcp",
    limit: float | None = None,
    progress: Progress | None = None,
) -> list[FigureResult]:
    """Return the figures, measured on tables of up to so many rows; what cannot be run is left out, with a note.

    Figures of loss show the `loss` told. A search that takes longer than `limit` seconds is ended, and has no number;
    then all are done in a process of their own.
    """
    figures = [replace(figure, measure=loss) if figure.measure == "gcp" else figure for figure in figures]
    if rows < 1:
        raise UsageError("there must be at least one row")
    bench = _Bench()
    for figure in figures:
        for line, setting in _points(figure):
            bench.want(line, setting, figure.measure)
    if limit is None:
        bench.measure(Measuring(rows, seed), progress)
    else:
        with SeparateProcess(rows, seed, limit) as apart:
            bench.measure(apart, progress)
    return [_drawn(figure, bench, rows) for figure in figures]


def _points(figure: Figure) -> Iterator[tuple[Line, Setting]]:
    for line in figure.lines:
        for value in figure.values:
            varied: dict[str, Any] = {figure.vary: value}
            yield line, replace(figure.setting, **varied)


def _drawn(figure: Figure, bench: _Bench, rows: int) -> FigureResult:
    lines: dict[str, list[float | None]] = {}
    notes: dict[str, None] = {}
    for line, setting in _points(figure):
        value, note = bench.found(line, setting, figure.measure)
        lines.setdefault(line.name, []).append(value)
        if note:
            notes[f"{line.name}: {note}"] = None
    values = [value * rows if figure.vary == "rows" else value for value in figure.values]
    kept = {name: own for name, own in lines.items() if any(value is not None for value in own)}
    return FigureResult(figure, values, kept, tuple(notes))


_Key = tuple[Line, Setting]


class _Measurer(Protocol):
    def numbers(self, line: Line, setting: Setting, asked: Iterable[MeasureKey]) -> Numbers: ...


@dataclass
class _Bench:
    """What is to be measured of which searches, and what came out."""

    wanted: dict[_Key, set[MeasureKey]] = field(default_factory=dict)
    numbers: dict[_Key, Numbers] = field(default_factory=dict)
    notes: dict[_Key, str] = field(default_factory=dict)

    def want(self, line: Line, setting: Setting, measure: Measure) -> None:
        """Notes that a measure of a search is needed."""
        self.wanted.setdefault(_key(line, setting), set()).add(_asked(setting, measure))

    def found(self, line: Line, setting: Setting, measure: Measure) -> tuple[float | None, str]:
        """What came out, and what is to be said of it."""
        key = _key(line, setting)
        return self.numbers.get(key, {}).get(_asked(setting, measure)), self.notes.get(key, "")

    def measure(self, measurer: _Measurer, progress: Progress | None) -> None:
        """Do all searches, and measures what is needed."""
        for done, (key, asked) in enumerate(self.wanted.items()):
            try:
                self.numbers[key] = measurer.numbers(*key, asked)
            except TreeanonError as problem:
                # The tables are invented: a message tells nothing of anybody.
                self.notes[key] = str(problem)
            if progress is not None:
                progress(done + 1, len(self.wanted))


def _key(line: Line, setting: Setting) -> _Key:
    """Return a search: what it is not asked for is left out, so that figures share it."""
    unasked: dict[str, Any] = {"k": 1, "l": 1, "max_loss": 0.0, "level": 1}
    asked = {"k": "k", "l": "l", "loss": "max_loss"}[line.privacy]
    return line, replace(setting, **{name: value for name, value in unasked.items() if name != asked})


def _asked(setting: Setting, measure: Measure) -> MeasureKey:
    return measure, setting.level if measure == "divergence" else 0

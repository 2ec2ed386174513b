"""Searches in a process of their own, which is ended when one takes too long: kernels cannot be interrupted."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Iterable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Literal

from treeanon.bench.figures import Line, Setting
from treeanon.bench.measuring import Measuring, Numbers, Wanted
from treeanon.errors import TreeanonError, UsageError

Told = tuple[Literal["warm", "failed", "done"], Any, float]
"""What there is to say, with what content, after how many seconds."""
_START = 300.0
"""Seconds for a process to start and for kernels to be compiled."""


class Apart:
    """Measures as `Measuring` does, but in another process. A search, with what is measured of it, has so many seconds.

    The time for kernels to be compiled or loaded does not count.
    """

    def __init__(self, rows: int, seed: int, seconds: float) -> None:
        if seconds <= 0:
            raise UsageError("the time limit of a search must be more than 0 seconds")
        self.rows, self.seed, self.seconds = rows, seed, seconds
        self._running: tuple[BaseProcess, Connection] | None = None

    def numbers(self, line: Line, setting: Setting, asked: Iterable[Wanted]) -> Numbers:
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

    def __enter__(self) -> Apart:
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

    def _answer(self, connection: Connection, seconds: float) -> Told:
        """What the process says next; an error if it says nothing for so long, or is gone."""
        try:
            if connection.poll(seconds):
                told: Told = connection.recv()
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

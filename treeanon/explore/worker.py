"""A process of its own for searches: the page stays quick, and a search that nobody waits for any more is ended."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from treeanon.errors import TreeanonError
from treeanon.kernels.jit import watch

PATIENCE = 0.4
"""Seconds that a canceled search has to end by itself, before its process is ended and another one begun."""

_WAKE = 0.02

Check = Callable[..., None]
"""Called now and then by work, it ends the work that nobody wants any more; what it is given is not looked at."""

Task = Callable[..., Any]
"""A function of a module: called with the worker's own state, a `Check`, and arguments."""


class Superseded(Exception):
    """The result is not wanted any more."""


class Failed(Exception):
    """The work ended in an error; its message holds no value of the data. If `lasting`, it would do so again."""

    def __init__(self, message: str, lasting: bool = False) -> None:
        super().__init__(message, lasting)
        self.message, self.lasting = message, lasting

    def __str__(self) -> str:
        return self.message


class Worker:
    """One process that works at one task at a time; `state` is made there by `make(*arguments)`, once."""

    def __init__(self, make: Callable[..., Any], *arguments: Any) -> None:
        self._make, self._arguments = make, arguments
        self._lock = threading.Lock()
        self._process: Any = None
        self._pipe: Connection | None = None
        self._closed = False
        self._compiling = multiprocessing.get_context("spawn").Value("i", 0)
        self.restarts = -1
        with self._lock:
            self._begin()

    def _begin(self) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._pipe, there = spawning.Pipe()
        self._compiling.value = 0
        self._process = spawning.Process(
            target=_work, args=(there, self._compiling, self._make, self._arguments), daemon=True
        )
        self._process.start()
        there.close()
        self.restarts += 1

    def _end(self) -> None:
        assert self._pipe is not None
        self._pipe.close()
        self._process.kill()
        self._process.join()

    def run(self, task: Task, *arguments: Any, wanted: Callable[[], bool] = lambda: True) -> Any:
        """What the task returns or raises; Superseded as soon as it is not wanted any more."""
        with self._lock:
            if self._closed or not wanted():
                raise Superseded
            assert self._pipe is not None
            try:
                self._pipe.send((task, arguments))
                return self._answer(wanted)
            except (EOFError, OSError):
                # The process is gone: killed by the system for want of memory, or by hand.
                if self._closed:
                    raise Superseded from None
                self._end()
                self._begin()
                raise Failed("the search was ended by the system; perhaps there was not enough memory") from None

    def _answer(self, wanted: Callable[[], bool]) -> Any:
        assert self._pipe is not None
        while not self._pipe.poll(_WAKE):
            if not wanted() or self._closed:
                self._cancel()
                raise Superseded
        good, result = self._pipe.recv()
        if good:
            return result
        raise result

    @property
    def compiling(self) -> bool:
        """Whether kernels are being compiled, which takes long the first time."""
        return bool(self._compiling.value > 0)

    def _cancel(self) -> None:
        """Asks the work to end, and ends its process if it does not: but not amid what had to be compiled again."""
        assert self._pipe is not None
        self._pipe.send(None)
        until = time.monotonic() + PATIENCE
        while not self._closed and (self.compiling or time.monotonic() < until):
            if self._pipe.poll(_WAKE):
                self._pipe.recv()
                return
            if self.compiling:
                until = time.monotonic() + PATIENCE
        self._end()
        if not self._closed:
            self._begin()

    def close(self) -> None:
        """End the process, whatever it is at."""
        self._closed = True
        with self._lock:
            self._end()


def _work(pipe: Connection, compiling: Any, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """The life of the process: tasks come by the pipe, and None, which cancels the one that is worked at."""
    # Ctrl-C reaches all processes of a terminal; it is the first one that ends this one, by closing the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    canceled = threading.Event()

    def listen() -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                message = pipe.recv()
                if message is None:
                    canceled.set()
                else:
                    canceled.clear()
                    tasks.put(message)
        # Whoever wanted the results is gone.
        os._exit(0)

    def check(*_: object) -> None:
        if canceled.is_set():
            raise Superseded

    def count(more: int) -> None:
        with compiling.get_lock():
            compiling.value += more

    threading.Thread(target=listen, daemon=True).start()
    watch(count)
    state = make(*arguments)
    while True:
        answer = _done(state, check, *tasks.get())
        with contextlib.suppress(OSError):
            pipe.send(answer)


def _done(state: Any, check: Check, task: Task, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    """Return whether a task succeeded, and its result or error."""
    try:
        return True, task(state, check, *arguments)
    except Superseded:
        return False, Superseded()
    except TreeanonError as problem:
        return False, Failed(str(problem), lasting=True)
    except MemoryError:
        return False, Failed("out of memory")
    except Exception as problem:
        # Its message may hold a value of the data; its kind does not.
        return False, Failed(f"internal error: {type(problem).__name__}; please report it")

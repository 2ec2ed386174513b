"""A separate process for searches: the page stays responsive, and abandoned searches are ended."""

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
"""Seconds that a canceled search is given to end, before its process is replaced."""

_WAKE = 0.02

Check = Callable[..., None]
"""Called regularly by work, it ends abandoned work; its arguments are ignored."""

Task = Callable[..., Any]
"""A module-level function, called with the worker's state, a `Check`, and arguments."""


class Superseded(Exception):
    """The result is no longer wanted."""


class Failed(Exception):
    """The work failed; the message holds no value of the data. If `lasting`, it would fail again."""

    def __init__(self, message: str, lasting: bool = False) -> None:
        super().__init__(message, lasting)
        self.message, self.lasting = message, lasting

    def __str__(self) -> str:
        return self.message


class Worker:
    """A process that runs one task at a time; its state is created there once, by `make(*arguments)`."""

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
        """Run a task and return its result or raise its error; Superseded as soon as it is no longer wanted."""
        with self._lock:
            if self._closed or not wanted():
                raise Superseded
            assert self._pipe is not None
            try:
                self._pipe.send((task, arguments))
                return self._answer(wanted)
            except (EOFError, OSError):
                # The process was killed, by the system for lack of memory or by the user.
                if self._closed:
                    raise Superseded from None
                self._end()
                self._begin()
                raise Failed("the search was killed; there may not be enough memory") from None

    def renew(self, task: Task, *arguments: Any) -> None:
        """Change the state by a task, and have later processes begin with these arguments."""
        self._arguments = arguments
        with contextlib.suppress(Failed):
            # A process that had to be replaced begins with the new arguments anyway.
            self.run(task, *arguments)

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
        """Whether kernels are being compiled, which takes some time."""
        return bool(self._compiling.value > 0)

    def _cancel(self) -> None:
        """Ask the work to end, and kill its process if it does not; not while it compiles, as that would have to be
        repeated.
        """
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
        """End the process, whatever it is doing."""
        self._closed = True
        with self._lock:
            self._end()


def _work(pipe: Connection, compiling: Any, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Run in the process: receive tasks through the pipe, and None, which cancels the current task."""
    # Ctrl-C reaches all processes of a terminal; the parent process ends this one by closing the pipe.
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
        # The parent process has ended.
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
        # The message may hold a value of the data; the type of the error does not.
        return False, Failed(f"internal error: {type(problem).__name__}; please report this bug")

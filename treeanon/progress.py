"""Long work: progress callbacks, and work that Ctrl-C can interrupt at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")

Progress = Callable[[int, int | None], None]
"""A callback that takes the amount done and the total amount (None: unknown)."""

_POLL_SECONDS = 0.2
"""Seconds between two checks of work in a background thread."""

_CLEANUP_SECONDS = 60.0
"""Seconds that work is given to clean up after a signal."""

_THREAD_NAME = "treeanon: long work"


class _Stopped(BaseException):
    """Ends work that has been abandoned. Not an Exception, so that nothing handles it as an error."""


def stage(progress: Progress | None, name: str) -> Progress | None:
    """Return the callback for the named stage: from the method `stage` of `progress`, if it has one.

    >>> report = []
    >>> stage(lambda done, total: report.append((done, total)), "checking")(1, 2)
    >>> report
    [(1, 2)]
    """
    named: Callable[[str], Progress] | None = getattr(progress, "stage", None)
    return progress if named is None else named(name)


def run_interruptibly(
    work: Callable[[Progress], T],
    progress: Progress | None = None,
    end: Callable[[], None] | None = None,
    finish: threading.Event | None = None,
) -> T:
    """Run work in a background thread so that Ctrl-C can interrupt it even in a compiled loop; return its result.

    The work receives a callback for its progress, which also ends abandoned work. If `progress` has a method `tick`, it
    is called regularly. After a signal, `end` is called until the work has ended and cleaned up. Work that can give its
    best so far looks at `finish`: the first Ctrl-C sets it, and the work is waited for; the next one interrupts. Only
    the main thread receives signals: in other threads the work runs directly.

    >>> run_interruptibly(lambda progress: 1 + 1)
    2
    """
    is_abandoned = threading.Event()

    def report(done: int, total: int | None) -> None:
        if is_abandoned.is_set():
            raise _Stopped
        if progress is not None:
            progress(done, total)

    if threading.current_thread() is not threading.main_thread():
        return work(report)
    found: Future[T] = Future()

    def run() -> None:
        try:
            found.set_result(work(report))
        except BaseException as problem:
            found.set_exception(problem)

    thread = threading.Thread(target=run, name=_THREAD_NAME, daemon=True)
    tick: Callable[[], None] | None = getattr(progress, "tick", None)
    try:
        _wait_for(thread, found, tick, finish)
    except BaseException:
        is_abandoned.set()
        if end is not None and thread.ident is not None:
            _wait_for_cleanup(found, end)
        raise
    return found.result()


def _wait_for(
    thread: threading.Thread, found: Future[T], tick: Callable[[], None] | None, finish: threading.Event | None
) -> None:
    """Start work and wait for it; the first Ctrl-C asks work that can to finish with what it has."""
    while True:
        try:
            # A signal may come while it starts: then it is running, and is waited for.
            if thread.ident is None:
                thread.start()
            while not wait([found], _POLL_SECONDS).done:
                if tick is not None:
                    tick()
            return
        except KeyboardInterrupt:
            if finish is None or finish.is_set():
                raise
            finish.set()


def _wait_for_cleanup(found: Future[T], end: Callable[[], None]) -> None:
    """Ask work to end and wait for it, until a time limit or another signal."""
    until = time.monotonic() + _CLEANUP_SECONDS
    while not wait([found], _POLL_SECONDS).done and time.monotonic() < until:
        end()


def is_work_abandoned() -> bool:
    """Return whether abandoned work is still running; an ending process should not wait for it."""
    return any(thread.name == _THREAD_NAME for thread in threading.enumerate())

"""Long work: who is told how far it is, and how a signal ends it at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")

Progress = Callable[[int, int | None], None]
"""Is told how much is done, and of how much: None where nobody knows."""

_POLL_SECONDS = 0.2
"""Seconds between two looks at work that is done apart."""

_CLEANUP_SECONDS = 60.0
"""Seconds that work has to clean up, where it is told to end."""

_THREAD_NAME = "treeanon: long work"


class _Stopped(BaseException):
    """Nobody waits for the work any more. No error, so that nothing takes it for one."""


def stage(progress: Progress | None, name: str) -> Progress | None:
    """What is told how far the stage of that name is: what draws may have a method `stage`, which gives that.

    >>> report = []
    >>> stage(lambda done, total: report.append((done, total)), "checking")(1, 2)
    >>> report
    [(1, 2)]
    """
    named: Callable[[str], Progress] | None = getattr(progress, "stage", None)
    return progress if named is None else named(name)


def run_interruptibly(
    work: Callable[[Progress], T], progress: Progress | None = None, end: Callable[[], None] | None = None
) -> T:
    """What the work gives, done in a thread of its own, so that a signal need not wait for the end of a compiled loop.

    The work is given what it has to tell how far it is; that is also where it ends if nobody waits for it any more.
    What draws may have a method `tick`, which is called now and then. Where `end` is given, it is called after a signal
    until the work has ended, and so has cleaned up. Only the main thread gets signals: for others the work is done
    where they are.

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
        thread.start()
        while not wait([found], _POLL_SECONDS).done:
            if tick is not None:
                tick()
    except BaseException:
        is_abandoned.set()
        if end is not None and thread.ident is not None:
            _wait_for_cleanup(found, end)
        raise
    return found.result()


def _wait_for_cleanup(found: Future[T], end: Callable[[], None]) -> None:
    """Have work end, and waits for it; not for ever, and not if there is another signal."""
    until = time.monotonic() + _CLEANUP_SECONDS
    while not wait([found], _POLL_SECONDS).done and time.monotonic() < until:
        end()


def is_work_abandoned() -> bool:
    """Return whether work goes on for which nobody waits any more; a process that ends then should not wait for it
    either.
    """
    return any(thread.name == _THREAD_NAME for thread in threading.enumerate())

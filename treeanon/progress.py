"""Long work: progress callbacks, and work that Ctrl-C can interrupt at once."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")

Progress = Callable[[int, int | None], None]
"""A callback that takes the amount done and the total amount (None: unknown)."""

STAGES = logging.getLogger("treeanon.stages")
"""A line of the log for each stage that has ended: its name, how much it was, and seconds."""

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
    thread, found = _thread_of(lambda: work(report))
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


def in_background(work: Callable[[], T]) -> Callable[[], T]:
    """Begin work beside what follows, and return what waits for its result; an ending process does not wait.

    >>> in_background(lambda: 1 + 1)()
    2
    """
    thread, found = _thread_of(work)
    thread.start()
    return found.result


def beside(work: Callable[[], T], jobs: int | None) -> Callable[[], T]:
    """Return what gives the result of work, which begins at once where there may be more than one thread."""
    return work if jobs == 1 else in_background(work)


def _thread_of(work: Callable[[], T]) -> tuple[threading.Thread, Future[T]]:
    """Return a thread for work, not started yet, and its result to come."""
    found: Future[T] = Future()

    def run() -> None:
        try:
            found.set_result(work())
        except BaseException as problem:
            found.set_exception(problem)

    return threading.Thread(target=run, name=_THREAD_NAME, daemon=True), found


def in_turn(work: Callable[[A], B], items: Iterable[A], jobs: int) -> Iterator[tuple[A, B]]:
    """Yield each item with what `work` makes of it, in their order, while threads work on those that follow.

    Only a few items are ahead of the one that was yielded. An error of the items comes after all before it, as if
    there were one thread.

    >>> list(in_turn(lambda number: number * 2, [1, 2, 3], jobs=2))
    [(1, 2), (2, 4), (3, 6)]
    """
    if jobs == 1:
        for item in items:
            yield item, work(item)
        return
    waiting: deque[tuple[A, Future[B]]] = deque()
    problem: Exception | None = None
    with ThreadPoolExecutor(jobs) as pool:
        given = iter(items)
        while True:
            try:
                item = next(given)
            except StopIteration:
                break
            except Exception as failed:
                problem = failed
                break
            waiting.append((item, pool.submit(work, item)))
            if len(waiting) > jobs:
                first, found = waiting.popleft()
                yield first, found.result()
        while waiting:
            first, found = waiting.popleft()
            yield first, found.result()
    if problem is not None:
        raise problem


def is_work_abandoned() -> bool:
    """Return whether abandoned work is still running; an ending process should not wait for it."""
    return any(thread.name == _THREAD_NAME for thread in threading.enumerate())


class Bar:
    """One line with the stage and the progress of long work, in a notebook or a terminal; nothing elsewhere.

    It is given as `progress` to whatever takes that, and is there from half a second on until the block ends. If the
    total is known, it shows the share and the estimated time left, by the pace since the total was first reported;
    else the amount done and the time elapsed.

    Parameters
        label: what is done.
        unit: what is counted.
        draw: a function that replaces the line by a text, empty at the end; by default what the place allows.

    >>> with Bar("searching") as bar:
    ...     bar(1, 2)
    """

    def __init__(
        self, label: str = "working", unit: str = "steps", *, draw: Callable[[str], None] | None = None
    ) -> None:
        self.unit, self.drawn = unit, 0.0
        self._put = _place() if draw is None else draw
        # One thread may report progress while another closes the line.
        self._lock, self._is_closed = threading.Lock(), False
        self._begin(label)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self, label: str) -> None:
        self.label, self.started = label, time.monotonic()
        self.done = 0
        self.total: int | None = None
        self.first = (self.started, 0)

    def __call__(self, done: int, total: int | None) -> None:
        """Draw the progress, at most ten times a second."""
        with self._lock:
            if total is not None and self.total is None:
                self.first = (time.monotonic(), done)
            self.done, self.total = done, total
            self._draw(0.1)

    def stage(self, label: str) -> Bar:
        """Start the next stage in the same line."""
        with self._lock:
            self._log()
            self._begin(label)
            if self.drawn:
                self._draw(0.0, 0.0)
        return self

    def tick(self) -> None:
        """Draw the time elapsed, where nothing else shows that work goes on."""
        with self._lock:
            if self.total is None:
                self._draw(1.0)

    def close(self) -> None:
        """Clear the line."""
        with self._lock:
            self._is_closed = True
            if self.drawn and self._put is not None:
                self._put("")
            self._log()

    def _log(self) -> None:
        """Log that the stage has ended; of a search the numbers are only shares of what it may try."""
        amount = self.total or self.done
        counted = f"{amount:,} {self.unit}, " if self.unit != "steps" and amount else ""
        STAGES.info("%s: %s%.1f s", self.label, counted, time.monotonic() - self.started)

    def _draw(self, pause: float, silent: float = 0.5) -> None:
        now = time.monotonic()
        if self._put is None or self._is_closed or now - self.started < silent or now - self.drawn < pause:
            return
        self.drawn = now
        self._put(self._text(now))

    def _text(self, now: float) -> str:
        """Return the line as it is to be shown now."""
        if self.total:
            share = min(self.done / self.total, 1.0)
            width = round(20 * share)
            return f"{self.label} [{'#' * width}{'.' * (20 - width)}] {share:4.0%}{self._left(now)}"
        done = f"{self.done:,} {self.unit} in " if self.done else ""
        return f"{self.label}: {done}{now - self.started:,.0f} s"

    def _left(self, now: float) -> str:
        """Return the time left; nothing while the pace is not known yet."""
        begun, done = self.first
        if now - begun < 1 or self.done <= done or not self.total:
            return ""
        return f", {(now - begun) * max(self.total - self.done, 0) / (self.done - done):,.0f} s left"


def _place() -> Callable[[str], None] | None:
    """Return what draws a line here: an output of a notebook's cell, or standard error; None where nobody looks."""
    if type(sys.stdout).__module__.startswith("ipykernel"):
        return _NotebookLine()
    if sys.stderr is None or not sys.stderr.isatty():
        return None

    def draw(text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    return draw


class _NotebookLine:
    """An output of a notebook's cell that is replaced each time; it is empty in the end."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, text: str) -> None:
        from IPython.display import display

        shown = {"text/plain": text}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(shown, raw=True)

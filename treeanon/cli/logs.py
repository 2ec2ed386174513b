"""The log of commands, by Python's `logging`: stages, counts and seconds, never a value of the data."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import click

from treeanon.progress import Bar

LOG = logging.getLogger("treeanon")
PROGRESS = LOG.getChild("progress")
"""A line from time to time for a stage that takes long, where no terminal shows a bar."""

SECONDS = 10.0
"""Seconds between these lines."""


_IN_LIBRARY = ContextVar("in_library", default=False)


@contextmanager
def as_library() -> Iterator[None]:
    """Let a command print nothing: it runs for `treeanon.run`, whose caller decides what becomes of the log."""
    token = _IN_LIBRARY.set(True)
    try:
        yield
    finally:
        _IN_LIBRARY.reset(token)


def is_library() -> bool:
    """Return whether a command runs for `treeanon.run`."""
    return _IN_LIBRARY.get()


class _Lines(logging.Handler):
    """Writes lines to what is standard error when they are written."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(self.format(record), err=True)


@contextmanager
def _shown(log: logging.Logger) -> Iterator[None]:
    handler, level = _Lines(), log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


@contextmanager
def show_log(*, quiet: bool) -> Iterator[None]:
    """Write the log to standard error, unless `quiet`."""
    if quiet:
        yield
        return
    with _shown(LOG):
        yield


@contextmanager
def show_progress() -> Iterator[None]:
    """Write lines about progress to standard error, unless the whole log goes somewhere."""
    if PROGRESS.hasHandlers():
        yield
        return
    with _shown(PROGRESS):
        yield


class _Warnings(_Lines):
    """Writes warnings, unless the whole log is written and has them."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("warning: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        if not LOG.handlers:
            super().emit(record)


@contextmanager
def show_warnings(*, quiet: bool) -> Iterator[None]:
    """Write the warnings of writers to standard error, unless `quiet`; commands in commands do so once."""
    handler = logging.NullHandler() if quiet else _Warnings()
    log = LOG.getChild("warnings")
    if log.handlers or is_library():
        yield
        return
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


class LoggedBar(Bar):
    """Progress as lines of a log, one every ten seconds, where there is no terminal."""

    def __init__(self, label: str, unit: str) -> None:
        super().__init__(label, unit, draw=_log)

    def _draw(self, pause: float, silent: float = 0.5) -> None:
        super()._draw(SECONDS, SECONDS)

    def _text(self, now: float) -> str:
        share = f", {min(self.done / self.total, 1.0):.0%}" if self.total else ""
        done = f"{self.done:,} {self.unit} in " if self.done and not self.total else ""
        return f"{self.label}: {done}{now - self.started:,.0f} s{share}{self._left(now)}"


def _log(text: str) -> None:
    if text:
        PROGRESS.info("%s", text)

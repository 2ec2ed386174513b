"""Print messages, progress and results; notes about what reading left out; the log of jobs."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import click

from treeanon.errors import FileError
from treeanon.progress import Bar
from treeanon.shown import counted as counted

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


@contextmanager
def progress_bar(label: str, *, quiet: bool, unit: str = "steps") -> Iterator[Bar | None]:
    """Provide a progress callback that draws on standard error, or logs there now and then if that is no terminal.

    `unit` is what is counted. None if `quiet`.
    """
    if is_library():
        with LoggedBar(label, unit) as bar:
            yield bar
    elif quiet:
        yield None
    elif sys.stderr.isatty():
        with Bar(label, unit, draw=_draw) as bar:
            yield bar
    else:
        with show_progress(), LoggedBar(label, unit) as bar:
            yield bar


def _draw(text: str) -> None:
    click.echo(f"\r\x1b[K{text}", err=True, nl=False)


def say(text: str, *, quiet: bool) -> None:
    """Print a message on standard error."""
    if not (quiet or is_library()):
        # Names of files and classes may hold what would steer the terminal.
        click.echo("\n".join(map(printable, text.split("\n"))), err=True)


def print_result(values: Mapping[str, Any], *, as_json: bool) -> None:
    """Print a result as JSON, if --json is given."""
    if as_json and not is_library():
        if sys.stdout is None:
            raise FileError("standard output is closed")
        click.echo(json.dumps(values, indent=2, ensure_ascii=False))


def reading_notes(counts: Mapping[str, Any]) -> list[str]:
    """Return lines about what reading left out."""
    lines = []
    for key, noun, words in (
        ("skipped_records", "malformed record", "skipped"),
        ("records_with_duplicate_keys", "record", "with duplicate JSON keys; the last value was used"),
        ("ignored_files", "file", "of other formats or kinds ignored"),
    ):
        if counts.get(key):
            lines.append(f"{counted(counts[key], noun)} {words}")
    for key, rows in counts.get("dangling_keys", {}).items():
        strict = " (an error with --strict)" if "rows_in_circles" in counts else ""
        lines.append(f"{rows:,} rows refer to a missing row by {key}{strict}")
    for key, objects in counts.get("dangling_references", {}).items():
        lines.append(f"{objects:,} references by {key} name nothing in their document, or one of several; left out")
    for key, objects in counts.get("references_not_written", {}).items():
        lines.append(f"{objects:,} objects do not refer by {key} to what they can only mean; the key is not written")
    for key, objects in counts.get("listed_again", {}).items():
        lines.append(f"{objects:,} references by {key} name what another list has, too; published in each")
    for key, rows in counts.get("rows_in_circles", {}).items():
        lines.append(f"{rows:,} rows refer to each other in a cycle by {key}; these references are ignored")
    for table, rows in counts.get("rows_of_nobody", {}).items():
        lines.append(f"{rows:,} rows of {table} belong to no record")
    for name, times in counts.get("unknown_values_suppressed", {}).items():
        lines.append(f"class {name}: {times:,} values that its hierarchy does not contain were suppressed")
    if moved := counts.get("shifted_dates"):
        from treeanon.forest.report import shift_lines

        lines += shift_lines(moved)
    for name, facets in counts.get("facets", {}).items():
        lines += [line for facet, found in facets.items() for line in _facet_lines(name, facet, found)]
    lines += [f"Not read: {what}" for what in counts.get("left_out", ())]
    if tables := counts.get("tables_not_read"):
        lines.append(f"Tables not published, because no path leads through them: {', '.join(tables)}")
    if counts.get("dropped"):
        lines.append("Not published, because the schema does not name or withholds it:")
        lines.extend(dropped_lines(counts["dropped"]))
    return lines


def _facet_lines(name: str, facet: str, found: Mapping[str, int]) -> Iterator[str]:
    """Yield what is to be told of a facet that not all values have."""
    reasons = [
        f"records disagree on {counted(found['disagree'], 'value')}" if found["disagree"] else "",
        f"{counted(found['missing'], 'value')} stand without it somewhere" if found["missing"] else "",
    ]
    told = " and ".join(filter(None, reasons))
    if told:
        yield f"class {name}: facet {facet} is published for {counted(found['values'], 'value')}: {told}"


def dropped_lines(paths: Mapping[str, int], most: int = 12) -> list[str]:
    """Return a line for each path that was dropped, the most frequent first."""
    lines = [f"  {times:>9,}  {printable(path)}" for path, times in list(paths.items())[:most]]
    if len(paths) > most:
        lines.append(f"  … and {len(paths) - most} more paths (--json lists all)")
    return lines


def printable(text: str) -> str:
    """Return the text with control characters escaped, safe to show on a terminal."""
    from treeanon.hierarchy.files import printable as escape

    return escape(text)

"""Print messages, progress and results."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    pass


@contextmanager
def progress_bar(label: str, *, quiet: bool, unit: str = "steps") -> Iterator[Bar | None]:
    """A progress callback that draws on standard error; None unless that is a terminal. `unit` is what is counted."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar = Bar(label, unit)
    try:
        yield bar
    finally:
        bar.close()


class Bar:
    """One line that tells what long work does and how far it is; nothing for work of under half a second.

    Where the whole is known: the share, and how long the rest takes at the pace since that was first told. Else what is
    done, and for how long.
    """

    def __init__(self, label: str, unit: str = "steps") -> None:
        self.unit, self.drawn = unit, 0.0
        # Work may be told of by one thread and the line be taken away by another.
        self._lock, self._is_closed = threading.Lock(), False
        self._begin(label)

    def _begin(self, label: str) -> None:
        self.label, self.started = label, time.monotonic()
        self.done = 0
        self.total: int | None = None
        self.first = (self.started, 0)

    def __call__(self, done: int, total: int | None) -> None:
        """Draws how far the work is, ten times a second at most."""
        with self._lock:
            if total is not None and self.total is None:
                self.first = (time.monotonic(), done)
            self.done, self.total = done, total
            self._draw(0.1)

    def stage(self, label: str) -> Bar:
        """The same line for what is done now."""
        with self._lock:
            self._begin(label)
            if self.drawn:
                self._draw(0.0, 0.0)
        return self

    def tick(self) -> None:
        """Draws the time that has passed, where nothing else tells that work goes on."""
        with self._lock:
            if self.total is None:
                self._draw(1.0)

    def close(self) -> None:
        """Takes the line away."""
        with self._lock:
            self._is_closed = True
            if self.drawn:
                click.echo("\r\x1b[K", err=True, nl=False)

    def _draw(self, pause: float, silent: float = 0.5) -> None:
        now = time.monotonic()
        if self._is_closed or now - self.started < silent or now - self.drawn < pause:
            return
        self.drawn = now
        if self.total:
            share = min(self.done / self.total, 1.0)
            width = round(20 * share)
            text = f"{self.label} [{'#' * width}{'.' * (20 - width)}] {share:4.0%}{self._left(now)}"
        else:
            text = (
                f"{self.label}: "
                + (f"{self.done:,} {self.unit} in " if self.done else "")
                + f"{now - self.started:,.0f} s"
            )
        click.echo(f"\r\x1b[K{text}", err=True, nl=False)

    def _left(self, now: float) -> str:
        """How long the rest takes; nothing where the pace is not known yet."""
        begun, done = self.first
        if now - begun < 1 or self.done <= done or not self.total:
            return ""
        return f", {(now - begun) * max(self.total - self.done, 0) / (self.done - done):,.0f} s left"


def say(text: str, *, quiet: bool) -> None:
    """Tells something on standard error."""
    if not quiet:
        # Names of files and classes may hold what would steer the terminal.
        click.echo("\n".join(map(printable, text.split("\n"))), err=True)


def result(values: Mapping[str, Any], *, as_json: bool) -> None:
    """Prints a result as JSON, if asked for."""
    if as_json:
        click.echo(json.dumps(values, indent=2, ensure_ascii=False))


def told_reading(counts: Mapping[str, Any]) -> list[str]:
    """Lines that tell what reading left out."""
    lines = []
    for key, words in (
        ("skipped_records", "broken records skipped"),
        ("records_with_duplicate_keys", "records hold a JSON key twice; the last one counted"),
        ("ignored_files", "files of other kinds ignored"),
    ):
        if counts.get(key):
            lines.append(f"{counts[key]:,} {words}")
    for key, rows in counts.get("dangling_keys", {}).items():
        lines.append(f"{rows:,} rows refer to a row that is not there, by {key} (--strict refuses them)")
    for key, rows in counts.get("rows_in_circles", {}).items():
        lines.append(f"{rows:,} rows refer to each other in circles, by {key}: these references are left out")
    for table, rows in counts.get("rows_of_nobody", {}).items():
        lines.append(f"{rows:,} rows of {table} belong to no person")
    for name, times in counts.get("unknown_values_suppressed", {}).items():
        lines.append(f"class {name}: {times:,} values unknown to its hierarchy became its root")
    lines += [f"left out: {what}" for what in counts.get("left_out", ())]
    if tables := counts.get("tables_not_read"):
        lines.append(f"not published, because no path goes through them: the tables {', '.join(tables)}")
    if counts.get("dropped"):
        lines.append("not published, because the schema does not name it or withholds it:")
        lines.extend(told_dropped(counts["dropped"]))
    return lines


def told_dropped(paths: Mapping[str, int], most: int = 12) -> list[str]:
    """Lines that tell what was dropped, the most frequent first."""
    lines = [f"  {times:>9,}  {printable(path)}" for path, times in list(paths.items())[:most]]
    if len(paths) > most:
        lines.append(f"  … and {len(paths) - most} more paths (--json lists all)")
    return lines


def printable(text: str) -> str:
    """A text with control characters escaped, safe to show on a terminal."""
    from treeanon.hierarchy.show import printable as escape

    return escape(text)


def counted(number: int, thing: str) -> str:
    """A number of things, in words."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"

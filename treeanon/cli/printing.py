"""Print messages, progress and results; notes about what reading left out."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click


@contextmanager
def progress_bar(label: str, *, quiet: bool, unit: str = "steps") -> Iterator[Bar | None]:
    """Provide a progress callback that draws on standard error; None unless that is a terminal.

    `unit` is what is counted.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar = Bar(label, unit)
    try:
        yield bar
    finally:
        bar.close()


class Bar:
    """One line with the stage and the progress of long work; nothing for work of under half a second.

    If the total is known, it shows the share and the estimated time left, by the pace since the total was first
    reported; else the amount done and the time elapsed.
    """

    def __init__(self, label: str, unit: str = "steps") -> None:
        self.unit, self.drawn = unit, 0.0
        # One thread may report progress while another closes the line.
        self._lock, self._is_closed = threading.Lock(), False
        self._begin(label)

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
        """Return the time left; nothing while the pace is not known yet."""
        begun, done = self.first
        if now - begun < 1 or self.done <= done or not self.total:
            return ""
        return f", {(now - begun) * max(self.total - self.done, 0) / (self.done - done):,.0f} s left"


def say(text: str, *, quiet: bool) -> None:
    """Print a message on standard error."""
    if not quiet:
        # Names of files and classes may hold what would steer the terminal.
        click.echo("\n".join(map(printable, text.split("\n"))), err=True)


def print_result(values: Mapping[str, Any], *, as_json: bool) -> None:
    """Print a result as JSON, if --json is given."""
    if as_json:
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
    from treeanon.hierarchy.show import printable as escape

    return escape(text)


def counted(number: int, thing: str) -> str:
    """Return a number with its noun: 1 record, 2 records."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"

"""Options of readers and writers, the same for every format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from treeanon.errors import DataError
from treeanon.forest.report import ReadReport

MAX_RECORD_BYTES = 64 << 20
"""The longest record that is read; longer ones are taken for an attack or a wrong format."""

MAX_DOCUMENT_BYTES = 2 << 30
"""The longest JSON document, which is held in memory; NDJSON has no such limit."""

BATCH_RECORDS = 20_000
"""Records that a reader hands over at once."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read: what to do with a broken record, and whether repeated JSON keys are errors.

    In a collection a file that is no document at all is a broken record too. `delimiter` is that of a CSV file (empty:
    its header decides).
    """

    on_error: Literal["error", "skip"] = "error"
    strict: bool = False
    jobs: int = 1
    delimiter: str = ""
    collection: bool = False
    advance: Callable[[int], None] | None = None


@contextmanager
def broken_files(options: ReadOptions, report: ReadReport) -> Iterator[None]:
    """Count a file of a collection that cannot be read as skipped, where broken records are to be skipped."""
    try:
        yield
    except DataError:
        if not options.collection or options.on_error == "error":
            raise
        report.skipped += 1

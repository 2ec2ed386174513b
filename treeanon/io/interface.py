"""Protocols of the readers and writers of formats, their options, and the formats that file names stand for.

A new format implements `Reader` and `DocumentWriter`; the table of formats is `treeanon.formats`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, cast

from treeanon.errors import DataError, UsageError
from treeanon.forest import Batch, Forest
from treeanon.forest.report import ReadReport
from treeanon.formats import FORMATS, Format, names_of, the_format
from treeanon.io.relational.urls import is_database, shown
from treeanon.io.sources import Source, plain_name
from treeanon.schema import Schema

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


class Reader(Protocol):
    """Reader of documents of a format."""

    def __call__(
        self, sources: Sequence[Source], schema: Schema, options: ReadOptions, report: ReadReport, /
    ) -> Iterator[Batch]:
        """Yield the records of the sources in batches, and count in the report what is left out.

        What is broken is a DataError that names the source and the place, never a value.
        """


class RecordTexts(Protocol):
    """Maker of the texts of records."""

    def records(self, forest: Forest) -> list[str]:
        """Return the texts of the records of a part of the forest."""


@dataclass(frozen=True)
class Document:
    """How texts of records become a document: before, between and after them; and a file of one record.

    `line` wraps the text of a record, given its fresh number.
    """

    head: str
    joint: str
    tail: str
    line: Callable[[int, str], str] = lambda number, text: text
    single: Callable[[str], str] = lambda text: text + "\n"


@dataclass(frozen=True)
class DocumentWriter:
    """Writer of documents of a format: the texts of a forest's records, and the document that they become."""

    texts: Callable[[Forest, Schema], RecordTexts]
    document: Callable[[Schema], Document]


LINES = Document("", "\n", "\n")
"""A document of which each line is one record."""


def document_format(name: str) -> Format:
    """Return the format of documents of that name; UsageError lists what there is."""
    form = FORMATS.named(name)
    if not form.is_document:
        raise UsageError(f"{name} is no format of documents; choose from {', '.join(names_of('documents'))}")
    return form


def reader_of(name: str) -> Reader:
    """Return the reader of a format of documents."""
    return cast(Reader, document_format(name).function("reader"))


def writer_of(name: str) -> DocumentWriter:
    """Return the writer of a format of documents."""
    return cast(DocumentWriter, document_format(name).function("writer"))


def format_of_name(path: str | Path) -> Format | None:
    """Return the format that a file name, or the URL of a database, means, if any.

    >>> format_of_name("out/patients.xml.gz").name, format_of_name("p.trees.jsonl").name, format_of_name("folder")
    ('xml', 'trees', None)
    """
    if is_database(str(path)):
        return the_format("by_url")
    name = plain_name(shown(str(path)))
    found = [form for form in FORMATS.values() if name.endswith(form.endings)]
    # `.trees.jsonl` ends in `.jsonl` too: the longest ending wins.
    return max(found, key=lambda form: max(len(e) for e in form.endings if name.endswith(e)), default=None)

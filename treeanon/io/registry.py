"""The formats: how each is read, how its documents begin and end, and which file names mean it.

A new format is a module with a reader and a text for each record, and one entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from treeanon.errors import UsageError
from treeanon.forest import Batch, Forest, ReadReport
from treeanon.io.documents.json_document import read_json, read_ndjson
from treeanon.io.documents.json_write import JsonDialect, json_text
from treeanon.io.documents.row_texts import RowWriter
from treeanon.io.documents.trees_file import TreeTexts, read_trees
from treeanon.io.documents.xml_document import read_xml
from treeanon.io.documents.xml_write import XmlDialect, xml_attribute
from treeanon.io.options import ReadOptions
from treeanon.io.relational.urls import is_database
from treeanon.io.sources import Source, plain_name
from treeanon.schema import Schema


class RecordTexts(Protocol):
    """Gives the texts of records."""

    def records(self, forest: Forest) -> list[str]:
        """The texts of the records of a part of the forest."""


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
class Format:
    """One format, and the endings of its files.

    Those that are no documents are tables: one of rows, or several tied by foreign keys.
    """

    name: str
    endings: tuple[str, ...]


@dataclass(frozen=True)
class DocumentFormat(Format):
    """A format of documents: its reader, and its writer."""

    read: Callable[[Sequence[Source], Schema, ReadOptions, ReadReport], Iterator[Batch]]
    texts: Callable[[Forest, Schema], RecordTexts]
    document: Callable[[Schema], Document]


def _used(forest: Forest) -> np.ndarray:
    used = np.zeros(len(forest.classes), bool)
    used[forest.label] = True
    return used


class _JsonTexts:
    """JSON objects without the comma that rows end in."""

    def __init__(self, forest: Forest, schema: Schema) -> None:
        self.rows = RowWriter(schema.layout, forest.classes, _used(forest), JsonDialect(schema.layout))

    def records(self, forest: Forest) -> list[str]:
        """The texts of the records of a part of the forest."""
        return [text[:-1] for text in self.rows.records(forest)]


def _json_document(schema: Schema) -> Document:
    names = schema.input.record.names if schema.input.record else ()
    before = "".join("{" + json_text(name) + ":" for name in names)
    return Document(before + "[\n", ",\n", "\n]" + "}" * len(names) + "\n")


_XML_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def record_element(schema: Schema) -> str:
    """The name of the element that is one person."""
    names = schema.input.record.names if schema.input.record else ()
    return names[-1] if names else "record"


def _xml_texts(forest: Forest, schema: Schema) -> RecordTexts:
    dialect = XmlDialect(schema.layout, record_element(schema))
    return RowWriter(schema.layout, forest.classes, _used(forest), dialect)


def _xml_document(schema: Schema) -> Document:
    names = schema.input.record.names if schema.input.record else ()
    spaces = "".join(
        f" {'xmlns:' + prefix if prefix else 'xmlns'}={xml_attribute(uri)}"
        for prefix, uri in sorted(schema.input.namespaces.items())
        if prefix != "xml"
    )
    outer = names[:-1]
    before = "".join(f"<{name}{spaces if i == 0 else ''}>" for i, name in enumerate(outer))
    after = "".join(f"</{name}>" for name in reversed(outer))
    root = record_element(schema)

    def single(text: str) -> str:
        return f"{_XML_HEAD}<{root}{spaces}{text.removeprefix('<' + root)}\n"

    return Document(f"{_XML_HEAD}{before}\n", "\n", f"\n{after}\n", single=single)


def _tree_line(number: int, text: str) -> str:
    return f'{{"id":{number},"tree":{text}}}'


_LINES = Document("", "\n", "\n")

FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        DocumentFormat("json", (".json",), read_json, _JsonTexts, _json_document),
        DocumentFormat("ndjson", (".ndjson", ".jsonl"), read_ndjson, _JsonTexts, lambda schema: _LINES),
        DocumentFormat("xml", (".xml",), read_xml, _xml_texts, _xml_document),
        DocumentFormat(
            "trees",
            (".trees.jsonl",),
            read_trees,
            lambda forest, schema: TreeTexts(forest),
            lambda schema: Document("", "\n", "\n", _tree_line, lambda text: _tree_line(1, text) + "\n"),
        ),
        Format("csv", (".csv", ".tsv")),
        Format("parquet", (".parquet",)),
        Format("tables", ("datapackage.json",)),
        Format("sqlite", (".sqlite", ".sqlite3", ".db")),
        Format("database", ()),
    )
}


def format_named(name: str) -> Format:
    """The format of that name; UsageError lists what there is."""
    if name not in FORMATS:
        raise UsageError(f"there is no format {name!r}; there is: {', '.join(FORMATS)}")
    return FORMATS[name]


def document_format(name: str) -> DocumentFormat:
    """The format of documents of that name; UsageError lists what there is."""
    form = format_named(name)
    if not isinstance(form, DocumentFormat):
        known = ", ".join(other.name for other in FORMATS.values() if isinstance(other, DocumentFormat))
        raise UsageError(f"{name} is no format of documents; there is: {known}")
    return form


def format_of_name(path: str | Path) -> Format | None:
    """The format that a file name, or the URL of a database, means, if any.

    >>> format_of_name("out/patients.xml.gz").name, format_of_name("p.trees.jsonl").name, format_of_name("folder")
    ('xml', 'trees', None)
    """
    if is_database(str(path)):
        return FORMATS["database"]
    name = plain_name(str(path))
    found = [form for form in FORMATS.values() if name.endswith(form.endings)]
    # `.trees.jsonl` ends in `.jsonl` too: the longest ending wins.
    return max(found, key=lambda form: max(len(e) for e in form.endings if name.endswith(e)), default=None)

"""What several files of persons hold beyond what is read of them, kind by kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from treeanon.arrays import Longs
from treeanon.forest import Forest
from treeanon.forest.facets import with_facets
from treeanon.formats import FORMATS, NESTED, Format
from treeanon.io.beyond.documents import Records, look_at_documents
from treeanon.io.beyond.findings import Findings
from treeanon.io.beyond.tables import look_at_metadata, look_at_open_rows
from treeanon.io.columns.parquet import ParquetFile
from treeanon.io.files import Kind, as_lines, lines_of_parquet, opened_rows, rows_of_files, written_name
from treeanon.io.interface import ReadOptions
from treeanon.io.persons import as_files
from treeanon.io.sources import Sources, plain_name
from treeanon.kernels.tree.forest import drop_nodes
from treeanon.schema import Schema
from treeanon.schema.files import ID_CLASS, REFERENCE_CLASS, ties_rows
from treeanon.schema.persons import KEY_CLASS
from treeanon.table.reductions import flatten


def look_at_files(
    source: str | Path, schema: Schema, form: Format, data: Forest, options: ReadOptions, found: Findings
) -> None:
    """Count what several files hold beyond the records that were read of them."""
    if data.report is not None:
        # A reference of a release leads somewhere.
        found.add("keys", sum(data.report.dangling.values()))
    made: dict[str, Forest] | None = None
    for kind in rows_of_files(source, schema, form, options):
        if kind.part.is_persons:
            persons = _numbers(kind.rows, KEY_CLASS, len(kind.rows))
            found.add("keys", len(kind.rows) - len(persons))
            if len(persons) == len(kind.rows):
                made = _made(data, persons, schema)
        _look_at_keys(kind, found)
        if made is not None:
            _compare(with_facets(kind.rows), made[kind.part.spec.name], found)
        name = written_name(kind.part.spec, form)
        found.add("file-names", sum(plain_name(_base(item.name)) != name.lower() for item in kind.items))
        _look_at_texts(kind, form, options, found)


def _base(name: str) -> str:
    return name.replace(":", "/").replace("\\", "/").rpartition("/")[2]


def _made(data: Forest, persons: list[int], schema: Schema) -> dict[str, Forest]:
    """Return the rows of each kind as a release would have them, of persons with these numbers."""

    def orders(count: int) -> Longs:
        return np.array(persons) - 1 if count == len(persons) else np.arange(count)

    return {spec.name: rows for spec, rows in as_files(with_facets(data), orders, schema)}


def _numbers(rows: Forest, name: str, most: int) -> list[int]:
    """Return the values of a class in the order of the rows, if they are different numbers from 1 to `most`."""
    texts = _texts(rows, name)
    numbers = {str(number): number for number in range(1, most + 1)}
    known = [numbers[text] for text in texts if text in numbers]
    return known if len(set(known)) == len(texts) else []


def _texts(rows: Forest, name: str) -> list[str]:
    if name not in rows.classes.names:
        return []
    at = rows.classes.names.index(name)
    return rows.classes.texts_of(at, rows.label[rows.classes.class_of[rows.label] == at])


def _look_at_keys(kind: Kind, found: Findings) -> None:
    """Count rows of nobody, and names and references that are more than numbers of rows."""
    rows = kind.rows
    found.add("nulls", len(rows) - len(_texts(rows, KEY_CLASS)))
    names = _texts(rows, ID_CLASS)
    found.add("keys", len(names) - len(_numbers(rows, ID_CLASS, len(rows))))
    lists = [(one.name, one.prefix) for one in kind.lists]
    for name, prefix in ((KEY_CLASS, kind.prefix), (REFERENCE_CLASS, kind.prefix_above), *lists):
        for text in _texts(rows, name):
            number = text.removeprefix(prefix)
            is_one = text.startswith(prefix) and number.isascii() and number.isdigit() and number[0] != "0"
            found.add("keys", int(not is_one or len(number) > 9))


def _compare(rows: Forest, made: Forest, found: Findings) -> None:
    """Count rows that a release would have once, or in another form."""
    found.add("repeats", max(0, len(rows) - len(made)))
    found.add("form", int(len(rows) <= len(made) and _bare(rows) != _bare(made)))
    for name in rows.classes.names:
        if ties_rows(name) and name != REFERENCE_CLASS:
            found.add("keys", abs(len(_texts(rows, name)) - len(_texts(made, name))))


def _bare(rows: Forest) -> Forest:
    """Return rows without what keys lead from and to, which a release has in an order of chance."""
    names = [at for at, name in enumerate(rows.classes.names) if ties_rows(name)]
    dropped = np.isin(rows.classes.class_of[rows.label], names)
    trees = drop_nodes(rows.offsets, rows.parent, rows.label, dropped)
    return Forest(rows.schema, rows.classes, *trees, None)


def _look_at_texts(kind: Kind, form: Format, options: ReadOptions, found: Findings) -> None:
    """Count how the files of a kind are written otherwise than those of a release."""
    rows = kind.rows
    if form.is_document:
        look_at_documents(
            Sources(tuple(kind.items), False), Records(rows, form, kind.broken, kind.part.spec.name), found
        )
        return
    if not form.delimited:
        lines = replace(rows, schema=as_lines(rows.schema))
        parts = tuple(part for item in kind.items for part in lines_of_parquet(item))
        look_at_documents(Sources(parts, False), Records(lines, FORMATS[NESTED], kind.broken), found)
    start = 0
    for item in kind.items:
        with opened_rows(item, form, options) as file:
            if form.delimited:
                stop = start + file.read(file.table, [kind.part.spec.person.steps[-1].name or ""]).num_rows
                look_at_open_rows(file, rows.schema, flatten(rows[start:stop]), found)
                start = stop
            for part in file.parts():
                if isinstance(part, ParquetFile):
                    look_at_metadata(part, found)

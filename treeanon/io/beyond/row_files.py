"""What files of rows hold beyond what is read of them."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treeanon.io.beyond.findings import Findings
from treeanon.io.columns.csv_fast import DelimitedFile
from treeanon.io.columns.parquet import ParquetFile
from treeanon.io.columns.texts import coded
from treeanon.io.relational.open import open_rows
from treeanon.schema import Schema
from treeanon.table import Column, Table

if TYPE_CHECKING:
    import pyarrow as pa

_PLAIN = re.compile(rb'"?[A-Za-z0-9.-]+"?')
_OWN_METADATA = {b"pandas", b"ARROW:schema", b"PARQUET:field_id"}


def look_at_rows(
    source: str | Path, format: str, delimiter: str, called: str | None, schema: Schema, table: Table, found: Findings
) -> None:
    """Count what files of rows hold beyond the table that was read of them."""
    headers = {spec.name: spec.path.steps[-1].name or "" for spec in schema.classes if spec.path is not None}
    with closing(open_rows(source, format, called=called, delimiter=delimiter)) as file:
        for column in table.columns:
            header = headers.get(column.name, column.header)
            found.add("spellings", _other_spellings(column, file.read(file.table, [header])[header]))
        for part in file.parts():
            if isinstance(part, DelimitedFile):
                _look_at_text(part, frozenset(headers.values()), found)
            else:
                _look_at_metadata(part, found)


def _other_spellings(column: Column, given: pa.ChunkedArray) -> int:
    """Return how many values of a column are written otherwise than they would be.

    White space around typed values is counted when they are read.
    """
    codes, texts = coded(given)
    own, values = column.codes, column.values
    pairs, times = np.unique(np.stack([codes, own]), axis=1, return_counts=True)
    typed = column.spec.type != "text"
    return sum(
        count
        for code, value, count in zip(*pairs.tolist(), times.tolist(), strict=True)
        if code >= 0 and value >= 0 and (texts[code].strip() if typed else texts[code]) != values[value]
    )


def _look_at_text(part: DelimitedFile, named: frozenset[str], found: Findings) -> None:
    """Count quotes, and ends of lines, that are not the same in all rows."""
    end = 0
    ends: list[int] = []
    chosen = [(at, name) for at, name in enumerate(part.columns) if name in named]
    quote = part.form.quote
    for number, row in enumerate(part.raw_rows()):
        ends.append(row.end - end - len(row.text))
        end = row.end
        if number and quote:
            _look_at_quotes(part, row.text, chosen, found)
    for gap in ends[:-1]:
        found.uniform("white-space", "end of a line", gap)


def _look_at_quotes(part: DelimitedFile, row: bytes, chosen: list[tuple[int, str]], found: Findings) -> None:
    values = _raw(part, row)
    for at, name in chosen:
        value = values[at]
        if value in (b"", b'""'):
            found.uniform("nulls", ("no value", name), value)
        elif _PLAIN.fullmatch(value):
            found.uniform("spellings", ("quotes", name), value.startswith(part.form.quote))


def _raw(part: DelimitedFile, row: bytes) -> list[bytes]:
    """Return the values of a row with their quotes."""
    form = part.form
    if form.quote not in row:
        return row.split(form.delimiter)
    values, at = [], 0
    while found := form.field.match(row, at):
        values.append(found.group())
        at = found.end() + 1
        if found.end() >= len(row):
            break
    return values


def _look_at_metadata(part: ParquetFile, found: Findings) -> None:
    """Count what a Parquet file says of itself, beside what its writers add."""
    for metadata in (part.schema.metadata, *(field.metadata for field in part.schema)):
        found.add("metadata", len((metadata or {}).keys() - _OWN_METADATA))

"""What tables tied by keys, and files of rows, hold beyond what is read of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.forest.facets import with_facets
from treeanon.formats import TABLE_FILES
from treeanon.io.beyond.findings import Findings
from treeanon.io.columns.texts import coded, shielded
from treeanon.io.relational.plan import make_plan
from treeanon.io.relational.reading import resolved
from treeanon.io.relational.source import TableSource, open_tables
from treeanon.io.relational.writing import make_tables
from treeanon.schema import Schema
from treeanon.schema.facets import facet_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from treeanon.io.columns.row_files import RowFiles


import re
from typing import TYPE_CHECKING

from treeanon.io.columns.arrow import ParquetFile
from treeanon.io.columns.csv_fast import DelimitedFile
from treeanon.io.relational.source import open_rows
from treeanon.table import Column, Table

if TYPE_CHECKING:
    import pyarrow as pa


def look_at_tables(
    source: str | Path, format: str, called: str | None, schema: Schema, forest: Forest, found: Findings
) -> None:
    """Count what tables hold beyond the forest that was read of them."""
    with closing(open_tables(source, format, called=called)) as tables:
        found_schema = resolved(schema, tables)
        try:
            made = make_tables(with_facets(forest), facet_schema(found_schema), np.arange)
        except UsageError:  # a release cannot have this form
            return
        valued = make_plan(facet_schema(found_schema)).valued
        known = tables.tables()
        safe = schema.csv_safe and _is_delimited(tables)
        for table in made:
            if table.name in known:
                columns = [name for name in valued(table.name) if name in known[table.name].columns]
                _compare(tables, table.name, columns, table.data, found, safe)
        # What was deleted is still there until its page is used again.
        found.add("metadata", getattr(tables, "free", 0))


def _is_delimited(source: TableSource) -> bool:
    """Return whether tables are files of CSV or TSV."""
    return source.files in TABLE_FILES and not TABLE_FILES[source.files].by_column


def _compare(
    tables: TableSource, name: str, columns: list[str], written: pa.Table, found: Findings, safe: bool
) -> None:
    own = tables.read(name, columns)
    rows = own.num_rows if columns else tables.read(name, list(tables.tables()[name].columns[:1])).num_rows
    if rows != written.num_rows:
        found.add("repeats" if rows > written.num_rows else "form", abs(rows - written.num_rows))
        return
    for column in columns:
        if column in written.column_names:
            theirs = _texts(written[column], safe)
            found.add("spellings", (_texts(own[column]) - theirs).total())


def _texts(column: pa.ChunkedArray, safe: bool = False) -> Counter[str]:
    """Return how often each text occurs in a column, as it is written where spreadsheets are to find no formulas."""
    codes, texts = coded(column)
    texts = list(map(shielded, texts)) if safe else texts
    counts = np.bincount(codes[codes >= 0], minlength=len(texts)).tolist()
    return Counter(_counted(texts, counts))


def _counted(texts: Iterable[str], counts: list[int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text, times in zip(texts, counts, strict=True):
        found[text] = found.get(text, 0) + times
    return found


_PLAIN = re.compile(rb'"?[A-Za-z0-9.-]+"?')
_OWN_METADATA = {b"pandas", b"ARROW:schema", b"PARQUET:field_id"}


def look_at_rows(
    source: str | Path, format: str, delimiter: str, called: str | None, schema: Schema, table: Table, found: Findings
) -> None:
    """Count what files of rows hold beyond the table that was read of them."""
    with closing(open_rows(source, format, called=called, delimiter=delimiter)) as file:
        look_at_open_rows(file, schema, table, found)


def look_at_open_rows(file: RowFiles, schema: Schema, table: Table, found: Findings) -> None:
    """Count the same of files that are open."""
    headers = {spec.name: spec.path.steps[-1].name or "" for spec in schema.classes if spec.path is not None}
    safe = schema.csv_safe and _is_delimited(file)
    for column in table.columns:
        header = headers.get(column.name, column.header)
        found.add("spellings", _other_spellings(column, file.read(file.table, [header])[header], safe))
    for part in file.parts():
        if isinstance(part, DelimitedFile):
            _look_at_text(part, frozenset(headers.values()), found)
        else:
            look_at_metadata(part, found)


def _other_spellings(column: Column, given: pa.ChunkedArray, safe: bool) -> int:
    """Return how many values of a column are written otherwise than they would be.

    White space around typed values is counted when they are read.
    """
    codes, texts = coded(given)
    own, values = column.codes, list(map(shielded, column.values)) if safe else column.values
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


def look_at_metadata(part: ParquetFile, found: Findings) -> None:
    """Count what a Parquet file says of itself, beside what its writers add."""
    for metadata in (part.schema.metadata, *(field.metadata for field in part.schema)):
        found.add("metadata", len((metadata or {}).keys() - _OWN_METADATA))

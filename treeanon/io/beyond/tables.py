"""What tables tied by keys hold beyond what is read of them."""

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
from treeanon.formats import FORMATS
from treeanon.io.beyond.findings import Findings
from treeanon.io.columns.texts import coded
from treeanon.io.relational.open import open_tables
from treeanon.io.relational.plan import make_plan
from treeanon.io.relational.reading import resolved
from treeanon.io.relational.source import TableSource
from treeanon.io.relational.writing import make_tables
from treeanon.schema import Schema
from treeanon.schema.facets import facet_schema

if TYPE_CHECKING:
    import pyarrow as pa

_FREE_PAGES = slice(36, 40)


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
        for table in made:
            if table.name in known:
                columns = [name for name in valued(table.name) if name in known[table.name].columns]
                _compare(tables, table.name, columns, table.data, found)
    magic = FORMATS[format].magic
    if magic and Path(source).is_file():
        with Path(source).open("rb") as stream:
            head = stream.read(100)
        if head.startswith(magic):
            # What was deleted is still there until its page is used again.
            found.add("metadata", int.from_bytes(head[_FREE_PAGES], "big"))


def _compare(tables: TableSource, name: str, columns: list[str], written: pa.Table, found: Findings) -> None:
    own = tables.read(name, columns)
    rows = own.num_rows if columns else tables.read(name, list(tables.tables()[name].columns[:1])).num_rows
    if rows != written.num_rows:
        found.add("repeats" if rows > written.num_rows else "form", abs(rows - written.num_rows))
        return
    for column in columns:
        if column in written.column_names:
            theirs = _texts(written[column])
            found.add("spellings", (_texts(own[column]) - theirs).total())


def _texts(column: pa.ChunkedArray) -> Counter[str]:
    """Return how often each text occurs in a column."""
    codes, texts = coded(column)
    counts = np.bincount(codes[codes >= 0], minlength=len(texts)).tolist()
    return Counter(_counted(texts, counts))


def _counted(texts: Iterable[str], counts: list[int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text, times in zip(texts, counts, strict=True):
        found[text] = found.get(text, 0) + times
    return found

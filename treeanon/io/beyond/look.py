"""What any input holds beyond what was read of it: by its format, and by what reading has left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from treeanon.forest import Forest
from treeanon.forest.facets import with_facets
from treeanon.formats import Format
from treeanon.io.beyond.documents import Records, look_at_documents
from treeanon.io.beyond.findings import Findings
from treeanon.io.beyond.person_files import look_at_files
from treeanon.io.columns.read_table import read_table
from treeanon.io.interface import ReadOptions
from treeanon.io.persons import as_rows
from treeanon.io.reading import input_format, read
from treeanon.io.sources import find_sources, follows_links
from treeanon.schema import Schema
from treeanon.schema.persons import KEY_CLASS, by_row
from treeanon.table import Table
from treeanon.table.reductions import flatten


@follows_links
def look_beyond(
    source: str | Path,
    schema: Schema,
    data: Forest | Table,
    *,
    format: str | None = None,
    delimiter: str = "",
    on_error: Literal["error", "skip"] = "error",
    called: str | None = None,
) -> Findings:
    """Return what an input holds beyond what was read of it by a schema, as a forest or as a table.

    It is read once more, record by record, and compared with what would be written of what was read: what differs is
    what a reader of the file sees, and a check of the forest or table does not.

    >>> import tempfile, treeanon as ta
    >>> path = Path(tempfile.mkdtemp(), "out.ndjson")
    >>> _ = path.write_text('{"age":"34"}\\n{"age":"34","mail":null}\\n{"age":"34","age":"34"}\\n')
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "age"\\npath = "age"')
    >>> dict(look_beyond(path, schema, ta.read(path, schema)).counts)
    {'fields': 1, 'repeated-keys': 1}
    """
    found = Findings()
    if isinstance(data, Forest) and not data.classes.types:
        schema = schema.merged
    form = input_format(source, schema, format)
    report = data.report
    if report is not None:
        found.add_report(report)
    if schema.files and not form.names_classes:
        assert isinstance(data, Forest)
        look_at_files(source, schema, form, data, ReadOptions(on_error, delimiter=delimiter), found)
        found.counts = +found.counts
        return found
    if schema.input.person is not None and not form.names_classes:
        again = {"format": format, "delimiter": delimiter, "on_error": on_error, "called": called}
        schema = by_row(schema, "integer")
        if form.is_rows and isinstance(data, Table):
            data = read_table(source, schema, published=True, **again)  # type: ignore[arg-type]
            _look_at_keys(data.column(KEY_CLASS).texts(), found)
        else:
            rows = read(source, schema, **again)  # type: ignore[arg-type]
            _look_at_persons(rows, data, found)
            data = rows
    if form.is_rows:
        from treeanon.io.beyond.tables import look_at_rows

        table = flatten(data) if isinstance(data, Forest) else data
        look_at_rows(source, form.name, delimiter, called, schema, table, found)
    else:
        if isinstance(data, Table):
            data = read(source, schema, format=format, on_error=on_error, called=called)
        _look_at_trees(source, form, schema, data, found, called)
    if report is not None and report.unknown:
        # They were read as general values, and are reported as what they are.
        found.counts.pop("spellings", None)
    found.counts = +found.counts
    return found


def _look_at_persons(rows: Forest, data: Forest | Table, found: Findings) -> None:
    """Count keys of persons that are more than numbers, and rows that a release would have once, or in another form."""
    own = rows.classes.class_of[rows.label] == rows.classes.names.index(KEY_CLASS)
    labels = rows.label[own]
    _, first = np.unique(labels, return_index=True)
    keys = rows.classes.texts_of(rows.classes.index(KEY_CLASS), labels[np.sort(first)])
    known = rows.classes.texts_of(rows.classes.index(KEY_CLASS), labels)
    if not _look_at_keys([*known, *[None] * (len(rows) - len(labels))], found) or not isinstance(data, Forest):
        return
    made = as_rows(data, np.array(keys, np.int64) - 1)
    found.add("repeats", max(0, len(rows) - len(made)))
    found.add("form", int(len(rows) <= len(made) and made != with_facets(rows)))


def _look_at_keys(keys: Sequence[str | None], found: Findings) -> bool:
    """Count keys that are more than the numbers of persons, and rows without one; return whether there are none."""
    times = Counter(keys)
    nulls = times.pop(None, 0)
    numbers = {str(number) for number in range(1, len(times) + 1)}
    strange = sum(count for key, count in times.items() if key not in numbers)
    found.add("keys", strange)
    found.add("nulls", nulls)
    return not strange and not nulls


def _look_at_trees(
    source: str | Path, form: Format, schema: Schema, forest: Forest, found: Findings, called: str | None
) -> None:
    if form.is_relational:
        from treeanon.io.beyond.tables import look_at_tables

        look_at_tables(source, form.name, called, schema, forest, found)
    else:
        broken = frozenset() if forest.report is None else frozenset(forest.report.broken)
        sources = find_sources(source, form.endings, called=called)
        look_at_documents(sources, Records(forest, form, broken), found)

"""What any input holds beyond what was read of it: by its format, by what reading has left out, and file by file.

Also what tables tied by keys, and files of rows, hold beyond what is read of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from treeanon.arrays import Longs
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.forest.facets import with_facets
from treeanon.formats import FORMATS, NESTED, TABLE_FILES, Format
from treeanon.io.beyond.documents import Records, look_at_documents
from treeanon.io.beyond.findings import Findings
from treeanon.io.columns.arrow import ParquetFile
from treeanon.io.columns.csv_fast import DelimitedFile
from treeanon.io.columns.read_table import read_table
from treeanon.io.columns.texts import coded, shielded
from treeanon.io.files import Kind, as_lines, is_written_name, lines_of_parquet, opened_rows, rows_of_files
from treeanon.io.interface import ReadOptions
from treeanon.io.persons import as_files, as_rows
from treeanon.io.reading import input_format, read
from treeanon.io.relational.plan import make_plan
from treeanon.io.relational.reading import resolved
from treeanon.io.relational.source import TableSource, open_rows, open_tables
from treeanon.io.relational.writing import make_tables
from treeanon.io.sources import Sources, find_sources, follows_links, plain_name
from treeanon.kernels.tree.forest import drop_nodes
from treeanon.schema import Schema
from treeanon.schema.facets import facet_schema
from treeanon.schema.persons import ID_CLASS, KEY_CLASS, REFERENCE_CLASS, by_row, ties_rows
from treeanon.table import Column, Table
from treeanon.table.reductions import flatten

if TYPE_CHECKING:
    import pyarrow as pa

    from treeanon.io.columns.row_files import RowFiles


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
                _compare_tables(tables, table.name, columns, table.data, found, safe)
        # What was deleted is still there until its page is used again.
        found.add("metadata", getattr(tables, "free", 0))


def _is_delimited(source: TableSource) -> bool:
    """Return whether tables are files of CSV or TSV."""
    return source.files in TABLE_FILES and not TABLE_FILES[source.files].by_column


def _compare_tables(
    tables: TableSource, name: str, columns: list[str], written: pa.Table, found: Findings, safe: bool
) -> None:
    own = tables.read(name, columns)
    rows = own.num_rows if columns else tables.read(name, list(tables.tables()[name].columns[:1])).num_rows
    if rows != written.num_rows:
        found.add("repeats" if rows > written.num_rows else "form", abs(rows - written.num_rows))
        return
    for column in columns:
        if column in written.column_names:
            theirs = _table_texts(written[column], safe)
            found.add("spellings", (_table_texts(own[column]) - theirs).total())


def _table_texts(column: pa.ChunkedArray, safe: bool = False) -> Counter[str]:
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
        _look_at_ids(kind, found)
        if made is not None:
            _compare(with_facets(kind.rows), made[kind.part.spec.name], found)
        names = [plain_name(_base(item.name)) for item in kind.items]
        found.add("file-names", sum(not is_written_name(name, kind.part.spec, form) for name in names))
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


def _look_at_ids(kind: Kind, found: Findings) -> None:
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
        look_at_tables(source, form.name, called, schema, forest, found)
    else:
        broken = frozenset() if forest.report is None else frozenset(forest.report.broken)
        sources = find_sources(source, form.endings, called=called)
        look_at_documents(sources, Records(forest, form, broken), found)

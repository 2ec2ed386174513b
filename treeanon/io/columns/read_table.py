"""Reads tables from files of rows, and from any other input of a schema."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from treeanon.arrays import Ints
from treeanon.errors import DataError
from treeanon.forest.build import ForestBuilder, hierarchy_for
from treeanon.forest.persons import RowBatches, numbered, without_key
from treeanon.forest.report import Origin
from treeanon.forest.tables import Batch
from treeanon.hierarchy import Hierarchy
from treeanon.io.columns.csv_dialect import given_delimiter
from treeanon.io.columns.row_files import RowSource, read_rows
from treeanon.io.interface import ReadOptions
from treeanon.io.reading import input_format, read
from treeanon.io.relational.source import open_rows
from treeanon.io.relational.urls import is_remote, refuse_other_urls, shown
from treeanon.io.sources import follows_links
from treeanon.progress import Progress
from treeanon.schema import ClassSpec, Schema
from treeanon.schema.facets import without_facets
from treeanon.schema.load import SchemaLike, schema_of
from treeanon.schema.persons import by_row
from treeanon.table.covers import Covers, cover_of, covers_of, parsed, value_ranks
from treeanon.table.reductions import flatten, in_one_spelling
from treeanon.table.table import Column, Table


@follows_links
def read_table(
    source: str | Path,
    schema: SchemaLike,
    *,
    format: str | None = None,
    delimiter: str = "",
    on_error: Literal["error", "skip"] = "error",
    strict: bool = False,
    show_values: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
    published: bool = False,
    called: str | None = None,
) -> Table:
    """Return the table of a CSV or Parquet file, a folder of such parts, or any input in which each class occurs at
    most once a person.

    Every published class is a column of nodes of its hierarchy (built from the values where the schema has a builder),
    rows as they are stored; a sensitive column of numbers has one spelling for each. Options are those of `read`.
    UsageError where a class occurs several times: `flatten` with reductions. Of a release, which is `published`, quasi
    values may also be ranges ("20 … 34") and sets ('["a","b"]'). `called` is the file's name, if that is to be another.

    >>> import tempfile, pathlib, treeanon as ta
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age;town\\n34;Ulm\\n;Bonn\\n")
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "csv"\\n[[class]]\\nname = "age"\\npath = "age"')
    >>> table = read_table(path, schema)
    >>> list(table.rows()), table.report.dropped.paths()
    ([('34',), (None,)], {'town': 2})
    """
    schema = schema_of(schema)
    refuse_other_urls(str(source))
    called = called or (shown(str(source)) if is_remote(str(source)) else None)
    form = input_format(source, schema, format)
    if not form.is_rows:
        forest = read(
            source, schema, format=format, delimiter=delimiter, on_error=on_error, strict=strict,
            show_values=show_values, jobs=jobs, progress=progress,
        )  # fmt: skip
        return flatten(forest)
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, None)

    delimiter = given_delimiter(delimiter, form.name)
    with closing(open_rows(source, form.name, advance, called=called, delimiter=delimiter)) as file:
        found = replace(schema, input=replace(schema.input, format=form.name, delimiter=file.delimiter))
        options = ReadOptions(on_error, strict, jobs)
        table = table_of_rows(file, found, options, show_values=show_values, published=published)
    assert table.report is not None
    table.report.origin = Origin(str(source), found, delimiter, on_error == "skip")
    return table


def table_of_rows(
    source: RowSource, schema: Schema, options: ReadOptions, *, show_values: bool = False, published: bool = False
) -> Table:
    """Return the table of a source of rows, by a schema of rows; `published` as for `read_table`.

    Facets are not read: groups share sets of values, which say nothing of the facets of one.
    """
    schema = without_facets(schema)
    plain = replace(schema, input=replace(schema.input, person=None))
    builder = _Published(plain) if published else _Columns(plain)
    persons = None if schema.input.person is None else _Persons(schema, options)
    batch = read_rows(source, plain if persons is None else persons.reads, options, builder.report)
    if persons is not None:
        batch = persons.taken_out(batch, builder)
    builder.add(batch)
    builder.report.delimiter = schema.input.delimiter
    if not builder.records:
        raise DataError("holds no row", source=source.name)
    table = builder.table(show_values=show_values)
    return table if persons is None else replace(table, person=persons.person, person_header=persons.header)


class _Persons:
    """The persons of rows, by the column that says whose each is."""

    def __init__(self, schema: Schema, options: ReadOptions) -> None:
        assert schema.input.person is not None
        self.reads = by_row(schema)
        self.rows = RowBatches(self.reads.layout, schema.input, skip=options.on_error == "skip")
        self.header = schema.input.person.steps[-1].name or ""

    def taken_out(self, batch: Batch, builder: ForestBuilder) -> Batch:
        """Return a batch of rows without the column of the persons, by the layout of a builder."""
        builder.report.skipped += self.rows.add(batch)
        self.person = numbered(self.rows.keys, self.rows.digests)[0]
        builder.report.rows = self.rows.count
        return without_key(self.rows.united(), self.rows.names, builder.layout)


class _Columns(ForestBuilder):
    """Builder of columns from batches of rows, without a tree for each row."""

    def table(self, *, show_values: bool) -> Table:
        found = []
        for index, published in enumerate(self.layout.classes):
            hierarchy, nodes = self._resolve(index, show_values)
            parts = [
                np.append(own, -1).astype(np.int32)[batch.tables[0].codes[index]]
                for own, batch in zip(nodes, self._parts(), strict=True)
            ]
            codes: Ints = np.concatenate(parts)
            found.append(in_one_spelling(self._column(index, published.spec, hierarchy, codes)))
        return Table(tuple(found), report=self.report)

    def _column(self, index: int, spec: ClassSpec, hierarchy: Hierarchy, codes: Ints) -> Column:
        return Column(spec, hierarchy, codes)


class _Published(_Columns):
    """Builder of columns of a release, whose values may be ranges and sets of values."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self.covers: dict[int, Covers] = {}
        self.known: frozenset[str] = frozenset()

    def _resolve(self, index: int, show_values: bool) -> tuple[Hierarchy, list[Ints]]:
        spec = self.layout.classes[index].spec
        self.known = frozenset()
        parts = list(self._parts())
        texts = dict.fromkeys(text for part in parts for text in part.texts[index] if text)
        fixed = spec.hierarchy if isinstance(spec.hierarchy, Hierarchy) else None
        said = {
            text: found
            for text in texts
            if (fixed is None or fixed.find(text) is None) and (found := parsed(text)) is not None
        }
        if spec.role != "quasi" or not said:
            return super()._resolve(index, show_values)
        single = [text for text in texts if text not in said]
        members = [value for values, _, _ in said.values() for value in values]
        hierarchy = fixed or hierarchy_for(spec, [list(dict.fromkeys([*single, *members]))])
        ranks = value_ranks(hierarchy)
        plain = {text: ([text], False, False) for text in single}
        held = {text: cover_of(hierarchy, ranks, what) for text, what in (said | plain).items()}
        known = {text: one for text, one in held.items() if one is not None}
        if len(known) < len(held):
            # Unknown values are reported as for any other input, except for known ranges and sets.
            self.known = frozenset(known)
            return super()._resolve(index, show_values)
        self.covers[index] = covers_of(hierarchy, known)
        code = {text: i for i, text in enumerate(known)} | {"": -1}
        return hierarchy, [np.array([code[text] for text in part.texts[index]], np.int32) for part in parts]

    def handle_unknown(self, spec: ClassSpec, unknown: Counter[str], *, show_values: bool) -> None:
        """Handle unknown values as the base class does, unless they are known ranges or sets."""
        strange = {text: times for text, times in unknown.items() if text not in self.known}
        super().handle_unknown(spec, Counter(strange), show_values=show_values)

    def _column(self, index: int, spec: ClassSpec, hierarchy: Hierarchy, codes: Ints) -> Column:
        return Column(spec, hierarchy, codes, self.covers.get(index))

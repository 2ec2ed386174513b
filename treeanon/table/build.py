"""Tables out of files of rows, and out of whatever else a schema reads."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from treeanon.errors import DataError
from treeanon.forest.build import ForestBuilder
from treeanon.io.options import ReadOptions
from treeanon.io.reading import input_format, read
from treeanon.io.tables.one_file import OneFile
from treeanon.io.tables.rows import RowSource, read_rows
from treeanon.io.tables.urls import refuse_other_urls
from treeanon.kernels.trees import Ints
from treeanon.schema import Schema
from treeanon.schema.model import FLAT
from treeanon.table.flatten import flatten
from treeanon.table.table import Column, Table


def read_table(
    source: str | Path,
    schema: Schema,
    *,
    format: str | None = None,
    on_error: Literal["error", "skip"] = "error",
    strict: bool = False,
    show_values: bool = False,
    jobs: int = 1,
    progress: Callable[[int, int | None], None] | None = None,
) -> Table:
    """The table of a CSV or Parquet file, or of any other input that has each class at most once a person.

    Every published class is a column of nodes of its hierarchy (built from the values where the schema has a builder),
    rows as they are stored. Options are those of `read`. UsageError where a class occurs several times: `flatten` with
    reductions.

    >>> import tempfile, pathlib, treeanon as ta
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age;town\\n34;Ulm\\n;Bonn\\n")
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "csv"\\n[[class]]\\nname = "age"\\npath = "age"')
    >>> table = read_table(path, schema)
    >>> list(table.rows()), table.report.dropped.paths()
    ([('34',), (None,)], {'town': 2})
    """
    refuse_other_urls(str(source))
    form = input_format(source, schema, format)
    if form.name not in FLAT:
        forest = read(
            source, schema, format=format, on_error=on_error, strict=strict, show_values=show_values, jobs=jobs,
            progress=progress,
        )  # fmt: skip
        return flatten(forest)
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, None)

    with closing(OneFile(source, form.name, advance)) as file:
        found = replace(schema, input=replace(schema.input, format=form.name, delimiter=file.delimiter))
        return table_of_rows(file, found, ReadOptions(on_error, strict, jobs), show_values=show_values)


def table_of_rows(source: RowSource, schema: Schema, options: ReadOptions, *, show_values: bool = False) -> Table:
    """The table of a source of rows, by a schema of rows."""
    builder = _Columns(schema)
    builder.add(read_rows(source, schema, options, builder.report))
    if not builder.records:
        raise DataError("holds no row", source=source.name)
    return builder.table(show_values=show_values)


class _Columns(ForestBuilder):
    """Makes columns of batches of rows, without planting a tree for each."""

    def table(self, *, show_values: bool) -> Table:
        found = []
        for index, published in enumerate(self.layout.classes):
            hierarchy, nodes = self._resolve(index, show_values)
            parts = [
                np.append(own, -1).astype(np.int32)[batch.tables[0].codes[index]]
                for own, batch in zip(nodes, self._parts(), strict=True)
            ]
            codes: Ints = np.concatenate(parts)
            found.append(Column(published.spec, hierarchy, codes))
        return Table(tuple(found), report=self.report)

"""Conversion between tables and the data frames of other libraries."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from treeanon.errors import SchemaError, UsageError
from treeanon.formats import ROWS
from treeanon.io.columns.arrow_stream import ArrowFrame, FrameSource
from treeanon.io.columns.input_types import in_input_types, input_types
from treeanon.io.columns.read_table import table_of_rows
from treeanon.io.columns.write_table import to_arrow
from treeanon.io.options import ReadOptions
from treeanon.randomness import shuffled
from treeanon.schema import Schema
from treeanon.schema.derive import as_released
from treeanon.schema.load import SchemaLike, schema_of
from treeanon.table.table import Table

if TYPE_CHECKING:
    import pyarrow as pa


def table_of(frame: ArrowFrame, schema: SchemaLike, *, show_values: bool = False, published: bool = False) -> Table:
    """Return the table of anything with an Arrow C stream: a frame of pandas (2.2 or later), polars, pyarrow or DuckDB.

    The classes of the schema are columns of the frame, whatever format the schema says, if only no path goes deeper.
    Of a release, which is `published`, quasi values may also be ranges ("20 … 34") and sets ('["a","b"]'), and
    pseudonyms are plain values.

    >>> import pyarrow as pa, treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "csv"\\n[[class]]\\nname = "age"\\npath = "age"')
    >>> table_of(pa.table({"age": [34, None]}), schema).column("age").texts()
    ['34', None]
    >>> table_of(pa.table({"age": ["34 … 41"]}), schema, published=True).columns[0].size
    1
    """
    found = schema_of(schema)
    rows = as_rows(as_released(found) if published else found)
    return table_of_rows(FrameSource(frame), rows, ReadOptions(), show_values=show_values, published=published)


def as_rows(schema: Schema) -> Schema:
    """Return the schema of the same classes in rows; UsageError where one is not in a column of its own.

    >>> text = 'version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "age"\\npath = "visits[].age"'
    >>> schema = Schema.loads(text)
    >>> as_rows(schema)
    Traceback (most recent call last):
    treeanon.errors.UsageError: rows have columns, but these classes of the schema have other paths: age
    """
    if schema.input.is_flat:
        return schema
    rows = replace(
        schema, input=replace(schema.input, format=ROWS, record=None, keys=(), relations=None, namespaces={})
    )
    deeper = [
        spec.name
        for spec in schema.classes
        if spec.published
        and (spec.path is None or spec.path.attribute or len(spec.path.steps) != 1 or spec.path.steps[0].repeated)
    ]
    try:
        deeper += [c.name for c in rows.layout.classes if c.parent >= 0 and c.name not in deeper]
    except SchemaError as problem:
        raise UsageError(str(problem)) from None
    if deeper:
        raise UsageError(f"rows have columns, but these classes of the schema have other paths: {', '.join(deeper)}")
    return rows


def to_frame_like(table: Table, frame: Any, *, shuffle: bool = True, seed: int | None = None) -> Any:
    """Return the table as a frame of the same library, its rows in random order unless that is not wanted.

    pandas and polars give their DataFrame, DuckDB a relation of the same connection; pyarrow, and whatever else has an
    Arrow C stream, gives a pyarrow Table.
    Nothing is imported that is not there already. Columns that are published as they are have the types that they have
    there (truth values, dates, times, numbers), whose values are not needed for that.

    >>> import pyarrow as pa
    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"sex": (["F"], Hierarchy.flat(["F", "M"]))})
    >>> to_frame_like(table, pa.table({"sex": ["M"]})).to_pylist()
    [{'sex': 'F'}]
    """
    made = to_arrow(table, shuffled(len(table), seed) if shuffle else None)
    return frame_like(typed_like(made, table, frame), frame)


def typed_like(made: pa.Table, table: Table, data: Any) -> pa.Table:
    """Return a published table as Arrow has it, what is no quasi-identifier in the types of a frame or of dicts."""
    kept = [column.header for column in table.columns if column.role != "quasi" and not column.spec.pseudonym]
    return in_input_types(made, input_types(data, kept)) if kept else made


def frame_like(made: pa.Table, frame: Any) -> Any:
    """Return an Arrow table as a frame of the same library as another frame; see `to_frame_like`."""
    libraries = {base.__module__.partition(".")[0] for base in type(frame).__mro__}
    if "pandas" in libraries and "pandas" in sys.modules:
        return made.to_pandas()
    if "polars" in libraries and "polars" in sys.modules:
        return sys.modules["polars"].from_arrow(made)
    if libraries & {"duckdb", "_duckdb"} and "duckdb" in sys.modules:
        return _relation(made, frame)
    return made


def _relation(made: pa.Table, relation: Any) -> Any:
    """Return an Arrow table as a DuckDB relation of the same connection as another, so that both can be joined."""
    import pyarrow as pa

    treeanon_release_in_arrow = made  # noqa: F841 - found by DuckDB
    try:
        # DuckDB finds the table by the name of the variable; a relation alone knows its connection.
        found = relation.query("treeanon_input", "SELECT * FROM treeanon_release_in_arrow")
        # A table of the database that has this name would be found first, and is not the release.
        if pa.table(found).cast(made.schema).equals(made):
            return found
    except Exception:
        # The owner of the connection may have forbidden it to look at Python's variables.
        pass
    return sys.modules["duckdb"].from_arrow(made)

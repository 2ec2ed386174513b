"""Conversion between tables and the data frames of other libraries, with the types that columns had there."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from treeanon.errors import SchemaError, UsageError
from treeanon.formats import ROWS
from treeanon.io.columns.arrow import ArrowFrame, DictSource, FrameSource, is_text
from treeanon.io.columns.python_values import value_text
from treeanon.io.columns.read_table import table_of_rows
from treeanon.io.columns.texts import Unreadable, coded
from treeanon.io.columns.write_table import to_arrow
from treeanon.io.interface import ReadOptions
from treeanon.randomness import shuffled
from treeanon.schema import Schema
from treeanon.schema.derive import as_released
from treeanon.schema.load import SchemaLike, schema_of
from treeanon.table.table import Table

if TYPE_CHECKING:
    import pyarrow as pa


def input_types(frame: Any, names: Collection[str]) -> dict[str, pa.DataType]:
    """Return the types of these columns of a frame, or of rows given as dicts, where it has them.

    >>> import pyarrow as pa
    >>> input_types(pa.table({"smokes": [True], "age": [34]}), ["smokes", "town"])
    {'smokes': DataType(bool)}
    """
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        schema = frame.schema
    elif isinstance(frame, Sequence):
        known = {name: () for row in frame for name in row if name in names}
        schema = DictSource(frame).read("rows", list(known)).schema
    elif hasattr(frame, "__arrow_c_stream__"):
        schema = pa.RecordBatchReader.from_stream(frame).schema
    else:
        return {}
    return {name: schema.field(name).type for name in names if schema.get_field_index(name) >= 0}


def in_input_types(made: pa.Table, kinds: Mapping[str, pa.DataType]) -> pa.Table:
    """Return a table with columns in these types, as far as their values allow.

    >>> import pyarrow as pa
    >>> in_input_types(pa.table({"smokes": ["true", None], "age": ["34", "30-39"]}), {"smokes": pa.bool_()}).to_pylist()
    [{'smokes': True, 'age': '34'}, {'smokes': None, 'age': '30-39'}]
    """
    for name, kind in kinds.items():
        place = made.schema.get_field_index(name)
        if place >= 0 and (found := _converted(made.column(place), kind)) is not None:
            made = made.set_column(place, name, found)
    return made


def _converted(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array | None:
    """Return a column in another type; None where a value would not be read as the text that it has now."""
    import pyarrow as pa
    import pyarrow.types as of

    if column.type == kind or is_text(kind) or of.is_nested(kind) or of.is_null(kind) or of.is_dictionary(kind):
        return None
    encoded = column.combine_chunks().dictionary_encode()
    texts = encoded.dictionary.cast(pa.string())
    try:
        values = texts.cast(kind)
        codes, again = coded(pa.chunked_array([values]))
    except (pa.ArrowException, Unreadable, ValueError):
        return None
    said = [again[code] if code >= 0 else None for code in codes.tolist()]
    return values.take(encoded.indices) if said == texts.to_pylist() else None


def nested_in_input_types(rows: pa.StructArray, like: pa.Schema, paths: Collection[tuple[str, ...]]) -> pa.StructArray:
    """Return nested rows of texts, leaves at these paths in the types of another schema if all values allow it.

    >>> import pyarrow as pa
    >>> rows = pa.array([{"visits": [{"paid": "true"}]}])
    >>> like = pa.table({"visits": [[{"paid": False}]]}).schema
    >>> nested_in_input_types(rows, like, [("visits", "paid")]).to_pylist()
    [{'visits': [{'paid': True}]}]
    """
    import pyarrow as pa

    try:
        wanted = _wanted(rows.type, pa.struct(list(like)), (), frozenset(paths))
        if wanted == rows.type:
            return rows
        found = rows.cast(wanted)
    except (pa.ArrowException, ValueError):
        return rows
    both = zip(found.to_pylist(), rows.to_pylist(), strict=True)
    return found if all(_said(new) == old for new, old in both) else rows


def _wanted(
    made: pa.DataType, like: pa.DataType, path: tuple[str, ...], paths: frozenset[tuple[str, ...]]
) -> pa.DataType:
    import pyarrow as pa
    import pyarrow.types as of

    if of.is_struct(made):
        if not of.is_struct(like):
            return made
        theirs = {field.name: field.type for field in like}
        fields = [
            pa.field(f.name, _wanted(f.type, theirs[f.name], (*path, f.name), paths) if f.name in theirs else f.type)
            for f in made
        ]
        return pa.struct(fields)
    if of.is_list(made):
        inner = like.value_type if of.is_nested(like) and hasattr(like, "value_type") else None
        return made if inner is None else pa.list_(_wanted(made.value_type, inner, path, paths))
    is_plain = not (is_text(like) or of.is_nested(like) or of.is_null(like) or of.is_dictionary(like))
    return like if is_plain and path in paths else made


def _said(value: Any) -> Any:
    """Return a nested value with texts for all that it holds."""
    if isinstance(value, dict):
        return {name: _said(item) for name, item in value.items()}
    if isinstance(value, list):
        return list(map(_said, value))
    return value if value is None or isinstance(value, str) else value_text(value)


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
